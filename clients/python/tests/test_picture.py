"""Pictures of environments, turns and adapters, and their pixels."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from fake_server import FakeServer
from gymnasium.wrappers import RenderCollection

import ludex
import ludex.aio
from ludex.columns import Array
from ludex.optional_imports import import_optional
from ludex.picture import Picture

rasterised = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("resvg_py", "PIL")),
    reason="the rasterizer is missing (pip install 'ludex[render]')",
)

# Like the server's pictures: colors are variables with values for light and dark.
BOARD = """<svg xmlns="http://www.w3.org/2000/svg" class="ludex" viewBox="0 0 100 50" \
font-family="system-ui,Arial,sans-serif" fill="none"><title>t</title><style>\
.ludex .f-wood{fill:var(--ludex-wood,#e3bf83)}.ludex .f-ink{fill:var(--ludex-ink,#22252b)}\
@media(prefers-color-scheme:dark){.ludex .f-wood{fill:var(--ludex-wood,#000000)}}</style>\
<rect class="f-wood" width="100" height="50"/>%s</svg>"""
WOOD, WHITE, INK = [0xE3, 0xBF, 0x83], [255, 255, 255], [0x22, 0x25, 0x2B]


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def is_frame(frame: Any) -> bool:
    return (
        isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.shape == (640, 640, 3)
    )


def test_envs_and_turns_return_pictures() -> None:
    with FakeServer() as server, ludex.Client(server.url) as client:
        env, vec = client.open("race"), client.open_vec("race", 2)
        env.reset(seed=1)
        vec.reset(seed=1)
        for picture in (env.picture(0), vec.picture(1, 0)):
            assert picture == Picture("<svg>0</svg>", {1: ["a", "b"]})
            assert picture._repr_svg_() == "<svg>0</svg>"
        views = [frame for frame in server.received if frame["type"] == "view"]
        assert [(v["views"], v["i"], v["seat"]) for v in views] == [
            (["picture"], 0, 0),
            (["picture"], 1, 0),
        ]

        async def awaited() -> Picture:
            async with await ludex.aio.connect(server.url) as other:
                one = await other.open("race")
                await one.reset(seed=1)
                shown: Picture = await one.picture(0)
                return shown

        assert asyncio.run(awaited()).svg == "<svg>0</svg>"


def test_batches_reject_picture_view(url: str) -> None:
    with (
        ludex.Client(url) as client,
        pytest.raises(ludex.LudexError, match="batches do not support pictures") as refused,
    ):
        client.open_vec("tic_tac_toe", 1, views=["picture"])
    assert refused.value.code == "bad_field"


def test_turn_returns_requested_picture(url: str) -> None:
    shown: list[Picture | None] = []

    def agent(turn: ludex.Turn) -> int:
        shown.append(turn.picture)
        return turn.legal[0]

    ludex.play(url, game="tic_tac_toe", agent=agent, against="random", views=["picture"])
    first = shown[0]
    assert first is not None
    assert first.svg.startswith("<svg ")
    assert all(first.gestures.values())
    shown.clear()
    ludex.play(url, game="tic_tac_toe", agent=agent, against="random")
    assert set(shown) == {None}


@rasterised
def test_pixels_have_constant_size_and_light_colors() -> None:
    pixels = Picture(BOARD % "").array()
    assert is_frame(pixels)
    # Twice as wide as high: centered, with white above and below.
    assert pixels[10, 320].tolist() == pixels[630, 320].tolist() == WHITE
    assert pixels[170, 5].tolist() == pixels[470, 635].tolist() == WOOD
    assert Picture(BOARD % "").array(size=64).shape == (64, 64, 3)
    tall = BOARD.replace("0 0 100 50", "0 0 25 50")
    assert Picture(tall % "").array().shape == (640, 640, 3)


@rasterised
@pytest.mark.skipif(
    not Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf").exists(),
    reason="the font DejaVu Sans is not in /usr/share/fonts",
)
@pytest.mark.parametrize("group", ["<g>", '<g font-family="ui-monospace,monospace">'])
def test_text_is_rasterized(group: str) -> None:
    words = f'{group}<text class="f-ink" x="10" y="30">White to move</text></g>'
    pixels = Picture(BOARD % words).array()
    assert (pixels == INK).all(axis=2).sum() > 100


def test_missing_rasterizer_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, *args: Any, **names: Any) -> Any:
        return import_optional("no_such_rasteriser", *args, **names)

    monkeypatch.setattr("ludex.picture.import_optional", missing)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ludex\[render\]'"):
        gymnasium.make("ludex/TicTacToe-v1", url=url, render_mode="rgb_array")


# With a real server: each adapter renders the position after the last move.


@rasterised
@pytest.mark.parametrize("game", ["TicTacToe", "TexasHoldem", "IteratedPrisonersDilemma"])
def test_render_collection_collects_frames(url: str, game: str) -> None:
    name = next(name for name in gymnasium.registry if name.startswith(f"ludex/{game}-v"))
    env = RenderCollection(gymnasium.make(name, url=url, render_mode="rgb_array"))
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        over = terminated or truncated
    frames: list[Array] = env.render()  # type: ignore[assignment]
    assert len(frames) > 1
    assert all(map(is_frame, frames))
    assert (frames[0] != frames[-1]).any()
    env.close()


@rasterised
def test_record_video_writes_file(url: str, tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="moviepy is missing (pip install moviepy)")
    folder = tmp_path / "videos"
    inner = gymnasium.make("ludex/TicTacToe-v1", url=url, render_mode="rgb_array")
    env: Any = gymnasium.wrappers.RecordVideo(inner, str(folder), lambda episode: True)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    env.close()
    assert [path.suffix for path in folder.iterdir() if path.stat().st_size] == [".mp4"]


def test_each_adapter_renders_svg(url: str) -> None:
    one = gymnasium.make("ludex/TicTacToe-v1", url=url, render_mode="svg")
    many = ludex.gymnasium.LudexVectorEnv("tic_tac_toe", 2, url=url, render_mode="svg")
    both = ludex.self_play.SelfPlayVectorEnv("tic_tac_toe", 2, url=url, render_mode="svg")
    together = ludex.pettingzoo.parallel("iterated_prisoners_dilemma", url=url, render_mode="svg")
    turns = ludex.pettingzoo.aec("tic_tac_toe", url=url, render_mode="svg")
    shown: list[Any] = []
    envs: list[Any] = [one, many, both, together, turns]
    for env in envs:
        env.reset(seed=1)
        picture = env.render()
        shown.extend(picture if isinstance(picture, tuple) else [picture])
        env.close()
    assert len(shown) == 7
    assert all(isinstance(picture, Picture) and "<svg" in picture.svg for picture in shown)


@rasterised
def test_vector_envs_render_frames(url: str) -> None:
    envs: list[Any] = [
        ludex.gymnasium.LudexVectorEnv(
            "tic_tac_toe",
            2,
            url=url,
            render_mode="rgb_array",
        ),
        ludex.self_play.SelfPlayVectorEnv("tic_tac_toe", 2, url=url, render_mode="rgb_array"),
    ]
    for env in envs:
        env.reset(seed=1)
        frames = env.render()
        assert len(frames) == 2
        assert all(map(is_frame, frames))
        env.close()
