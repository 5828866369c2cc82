"""The Gymnasium adapter with a real server."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import ludex
from ludex.adapters.registration import env_name
from ludex.catalogue import GAMES
from ludex.columns import Array
from ludex.gymnasium import LudexEnv, LudexVectorEnv


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def first_legal(obs: Array, mask: Array) -> Any:
    assert obs.flags.writeable
    assert mask.flags.writeable
    assert mask.dtype == np.int8
    assert mask.any(axis=1).all()
    return mask.argmax(axis=1)


def last_legal(obs: Array, mask: Array) -> Any:
    return (mask * np.arange(1, mask.shape[1] + 1)).argmax(axis=1)


def tit_for_tat(obs: Array, mask: Array) -> Any:
    """Play like the server agent of this name, from the view of the last round."""
    theirs = obs[:, 0, 1]
    return np.where(theirs.any(axis=1), theirs.argmax(axis=1), 0)


# Gymnasium's environment checker.


@pytest.mark.parametrize("game", list(GAMES))
def test_each_game_passes_env_checker(url: str, game: str) -> None:
    name = f"ludex/{env_name(game)}-v{GAMES[game]}"
    opponents: list[Any] = ["random", ["random", first_legal]]
    for opponent, seat in zip(opponents, (0, "random"), strict=True):
        env = gymnasium.make(name, url=url, opponent=opponent, seat=seat, render_mode="ansi")
        check_env(env.unwrapped, skip_render_check=find_spec("resvg_py") is None)
        env.close()


def test_env_plays_one_episode(url: str) -> None:
    env: Any = gymnasium.make(
        f"ludex/ConnectFour-v{GAMES['connect_four']}",
        url=url,
        params={"rows": 5},
        opponent=first_legal,
        render_mode="ansi",
    )
    obs, info = env.reset(seed=1)
    assert obs.shape == (2, 5, 7)
    assert (info["seat"], info["action_mask"].tolist()) == (0, [1] * 7)
    assert env.unwrapped.action_masks().dtype == np.bool_
    for step in range(1, 4):
        obs, *told, info = env.step(6)
        assert told == [0.0, False, False]
        assert (obs[0].sum(), obs[1].sum()) == (step, step), "both have moved"
        assert not info["illegal"]
    assert "x" in env.render()
    obs, *told, info = env.step(6)
    assert told == [1.0, True, False], "four stand above each other"
    assert not info["action_mask"].any()
    with pytest.raises(ludex.LudexError, match="env_over"):
        env.step(0)
    env.close()
    env.close()


def test_opponent_on_first_seat_moves_during_reset(url: str) -> None:
    for opponent in (first_legal, "random"):
        env = LudexEnv("connect_four", url=url, opponent=opponent, seat=1)
        obs, info = env.reset(seed=1)
        assert (info["seat"], obs[0].sum(), obs[1].sum()) == (1, 0, 1)
        env.close()


@pytest.mark.parametrize("action", [9, -1, 0, 10**12])
@pytest.mark.parametrize("opponent", ["random", first_legal])
def test_illegal_action_loses_episode(url: str, action: int, opponent: Any) -> None:
    env = LudexEnv("tic_tac_toe", url=url, opponent=opponent, max_steps=7)
    _, info = env.reset(seed=3)
    assert not info["illegal"]
    env.step(int(info["action_mask"].nonzero()[0][0]))
    obs, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["illegal"]) == (-1.0, True, False, True)
    assert not info["action_mask"].any()
    assert env.observation_space.contains(obs)
    _, info = env.reset()
    assert not info["illegal"]
    env.close()


def test_returned_arrays_are_copies(url: str) -> None:
    env = LudexEnv("tic_tac_toe", url=url)
    obs, info = env.reset(seed=0)
    obs[:], info["action_mask"][:] = 9, 0
    assert env.action_masks().all()
    assert env.step(0)[0].max() == 1
    vec = LudexVectorEnv("tic_tac_toe", 2, url=url)
    batch, infos = vec.reset(seed=0)
    batch[:], infos["action_mask"][:] = 9, 0
    assert vec.action_masks().all()
    assert vec.step(np.array([0, 0]))[0].max() == 1
    env.close()
    vec.close()


# Vector environments match single environments.

FIELDS: list[tuple[str, Any, Any]] = [
    ("connect_four", "random", "alternate"),
    ("connect_four", first_legal, "random"),
    ("kuhn_poker", ["random", first_legal, last_legal, "mcts sims=2"], "random"),
    ("iterated_prisoners_dilemma", [tit_for_tat, "random"], "alternate"),
    ("kuhn_poker", "random", 1),
]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(("game", "opponent", "seat"), FIELDS)
def test_vector_env_matches_single_envs(
    url: str, game: str, opponent: Any, seat: Any, mode: AutoresetMode
) -> None:
    count, rng = 5, np.random.default_rng(4)

    def one() -> LudexEnv:
        return LudexEnv(game, url=url, opponent=opponent, seat=seat, max_steps=30)

    apart = SyncVectorEnv([one] * count, autoreset_mode=mode)
    whole = LudexVectorEnv(
        game,
        count,
        url=url,
        opponent=opponent,
        seat=seat,
        max_steps=30,
        autoreset_mode=mode.value,
    )
    assert whole.single_observation_space == apart.single_observation_space
    assert whole.action_space == apart.action_space
    shown: Any = whole.reset(seed=100)
    expected: Any = apart.reset(seed=100)
    over = np.zeros(count, np.bool_)
    ended, seats = 0, set()
    for step in range(60):
        assert data_equivalence(shown, expected, exact=True), step
        assert whole.observation_space.contains(shown[0])
        mask = np.array(shown[-1]["action_mask"])
        seats |= set(shown[-1]["seat"].tolist())
        if mode is AutoresetMode.DISABLED and over.any():
            told = whole.reset(options={"reset_mask": over.copy()})
            wanted = apart.reset(options={"reset_mask": over.copy()})
            assert np.array_equal(told[0], wanted[0])
            mask = told[1]["action_mask"]
            assert np.array_equal(mask[over], wanted[1]["action_mask"][over])
        actions = (rng.random(mask.shape) * (mask + 1e-9)).argmax(axis=1)
        if step % 13 == 5:
            actions[step % count] = 999  # illegal
        shown, expected = whole.step(actions), apart.step(actions)
        over = shown[2] | shown[3]
        ended += int(over.sum())
    assert ended > 2 * count
    assert len(seats) == (1 if isinstance(seat, int) else 2)
    apart.close()
    whole.close()


def test_callable_opponent_matches_server_agent(url: str) -> None:
    """Episodes do not depend on where the opponent runs."""
    rng = np.random.default_rng(5)
    for seat in (0, 1, "alternate", "random"):
        served, ours = (
            LudexVectorEnv(
                "iterated_prisoners_dilemma",
                16,
                url=url,
                opponent=opponent,
                seat=seat,
                autoreset_mode=AutoresetMode.SAME_STEP,
            )
            for opponent in ("tit_for_tat", tit_for_tat)
        )
        shown: Any = ours.reset(seed=8)
        expected: Any = served.reset(seed=8)
        for _ in range(40):
            assert data_equivalence(shown, expected, exact=True)
            actions = rng.integers(0, 2, 16)
            shown, expected = ours.step(actions), served.step(actions)
        ours.close()
        served.close()


def test_episode_seed_draws_opponent(url: str) -> None:
    pool: list[Any] = ["random", first_legal, last_legal]
    whole = LudexVectorEnv("tic_tac_toe", 300, url=url, opponent=pool)
    _, infos = whole.reset(seed=0)
    drawn = infos["opponent"]
    assert sorted(set(drawn.tolist())) == [0, 1, 2]
    assert (np.bincount(drawn) > 70).all()
    part = LudexVectorEnv("tic_tac_toe", 7, url=url, opponent=pool)
    assert np.array_equal(part.reset(seed=100)[1]["opponent"], drawn[100:107])
    # Each episode has its own draw; an equal seed repeats the draws.
    assert not np.array_equal(part.reset()[1]["opponent"], drawn[100:107])
    assert np.array_equal(part.reset(seed=100)[1]["opponent"], drawn[100:107])
    whole.close()
    part.close()


def test_new_opponent_plays_next_episode(url: str) -> None:
    asked: list[str] = []

    def named(name: str) -> Callable[[Array, Array], Any]:
        def policy(obs: Array, mask: Array) -> Any:
            asked.extend([name] * len(mask))
            return mask.argmax(axis=1)

        return policy

    env = LudexVectorEnv(
        "tic_tac_toe", 2, url=url, opponent=named("old"), autoreset_mode="Disabled"
    )
    env.reset(seed=0)
    env.set_opponent(named("new"))
    env.step(np.array([8, 8]))
    assert set(asked) == {"old"}
    asked.clear()
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(np.array([8, 7]))
    assert sorted(asked) == ["new", "old"]
    asked.clear()
    env.set_opponent(["random", "mcts sims=1"])
    env.reset()
    env.step(np.array([8, 8]))
    assert not asked
    with pytest.raises(ludex.LudexError) as caught:
        env.set_opponent("rondom")
    assert (caught.value.code, caught.value.nearest) == ("unknown_agent", "random")
    env.set_opponent("random")
    env.reset()
    env.close()


def test_pool_with_one_opponent_equals_single_opponent(url: str) -> None:
    """An opponent plays equal episodes alone, after a replacement, and in a pool."""

    def run(opponents: list[Any]) -> list[Any]:
        env = LudexVectorEnv("kuhn_poker", 8, url=url, opponent=opponents[0], seat="random")
        env.reset(seed=1)
        for opponent in opponents[1:]:
            env.set_opponent(opponent)
        env.reset(seed=50)
        rng = np.random.default_rng(0)
        rows = [env.step(rng.integers(0, 2, 8)) for _ in range(25)]
        env.close()
        return rows

    plain = run(["random"])
    assert data_equivalence(run([first_legal, "mcts sims=3", ["random"]]), plain, exact=True)
    assert data_equivalence(run([["mcts sims=3", first_legal], "random"]), plain, exact=True)


def test_vector_env_spans_several_servers(url: str) -> None:
    with ludex.serve() as other:
        spread, whole = (
            LudexVectorEnv("kuhn_poker", 9, url=where, opponent=["random", first_legal])
            for where in ([url, other.url], url)
        )
        rng = np.random.default_rng(1)
        assert data_equivalence(spread.reset(seed=5), whole.reset(seed=5), exact=True)
        for _ in range(20):
            actions = rng.integers(0, 2, 9)
            assert data_equivalence(spread.step(actions), whole.step(actions), exact=True)
        spread.close()
        whole.close()


# Ids and options.


def test_ids_are_registered_in_any_import_order() -> None:
    for order in ("gymnasium, ludex", "ludex, gymnasium"):
        code = f"import {order}; print(gymnasium.spec('ludex/TicTacToe-v1').kwargs)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "{'game': 'tic_tac_toe', 'rules': 1}\n", done.stderr


def test_make_vec_opens_vector_env(url: str) -> None:
    envs = gymnasium.make_vec(
        "ludex/TicTacToe-v1",
        num_envs=3,
        url=url,
        opponent="random",
        seat="alternate",
        render_mode="ansi",
    )
    assert isinstance(envs, LudexVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    rendered = envs.render()
    assert rendered is not None
    assert len(rendered) == 3
    kept = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    kept.reset(seed=0)
    for _ in range(12):
        mask = envs.action_masks()
        kept.step(mask.argmax(axis=1))
    listed = gymnasium.wrappers.vector.DictInfoToList(envs)
    _, info = listed.reset(seed=0)
    assert [sorted(one) for one in info] == [["action_mask", "illegal", "opponent", "seat"]] * 3
    kept.close()


def test_human_mode_prints_text_in_terminal(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = gymnasium.make("ludex/TicTacToe-v1", url=url, render_mode="human")
    env.reset(seed=0)
    shown = capsys.readouterr().out
    assert shown.count("...") == 3
    assert shown.startswith("you are x; moves so far: 0\n")
    env.step(4)
    assert capsys.readouterr().out.startswith("you are x; moves so far: 2\n")
    env.close()


class _Handle:
    def __init__(self, cell: list[ludex.Picture]) -> None:
        self.cell = cell

    def update(self, picture: ludex.Picture) -> None:
        self.cell[-1] = picture


def test_human_mode_displays_picture_in_notebook(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = types.SimpleNamespace(kernel=object(), execution_count=1)
    cells: dict[int, list[ludex.Picture]] = {}

    def display(picture: ludex.Picture, *, display_id: bool) -> _Handle:
        assert display_id
        cell = cells.setdefault(shell.execution_count, [])
        cell.append(picture)
        return _Handle(cell)

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    env = gymnasium.make("ludex/TicTacToe-v1", url=url, render_mode="human")
    env.reset(seed=0)
    (first,) = cells[1]
    env.step(4)
    (second,) = cells[1]
    assert "x to move" in first.svg
    assert first.svg != second.svg
    shell.execution_count = 2
    env.reset(seed=0)
    assert [picture.svg for picture in cells[2]] == [first.svg]
    assert capsys.readouterr().out == ""
    # IPython in a terminal displays no pictures.
    del shell.kernel
    env.reset(seed=0)
    assert capsys.readouterr().out.startswith("you are x; moves so far: 0\n")
    env.close()


def test_invalid_arguments_name_fault(url: str) -> None:
    with pytest.raises(ludex.LudexError, match="expected version 9 of the rules"):
        LudexEnv("tic_tac_toe", url=url, rules=9)
    with pytest.raises(ludex.LudexError) as caught:
        LudexEnv("tic_tac_toe", url=url, opponent="randon")
    assert caught.value.code == "unknown_agent"
    with pytest.raises(ValueError, match=r"seat: got 2; allowed: 0\.\.1, 'alternate' or 'random'"):
        LudexEnv("tic_tac_toe", url=url, seat=2)
    for invalid in (3, [], [3]):
        with pytest.raises(TypeError, match="opponent"):
            LudexEnv("tic_tac_toe", url=url, opponent=invalid)  # type: ignore[arg-type]
    makers: list[Any] = [gymnasium.make, gymnasium.make_vec]
    for make in makers:
        with pytest.raises(TypeError, match=r"unknown argument 'rows'; .* params=\{'rows': 5\}"):
            make("ludex/ConnectFour-v1", rows=5)
    env = LudexVectorEnv("tic_tac_toe", 2, url=url, opponent=lambda obs, mask: mask[:, 0] + 99)
    with pytest.raises(ludex.LudexError, match="there is no episode yet"):
        env.step(np.array([0, 0]))
    env.reset(seed=0)
    for wrong in ([0], [[0, 0]], [0.5, 0.5]):
        with pytest.raises(ValueError, match="actions: expected 2 integers"):
            env.step(np.array(wrong))
    with pytest.raises(ValueError, match="opponent: got illegal action 100; allowed:"):
        env.step(np.array([1, 1]))
    with pytest.raises(ValueError, match="seed: expected 2, one per environment"):
        env.reset(seed=[1, 2, 3])
    env.close()


WORKERS = """
import os
import gymnasium, ludex.shared_server
def make():
    env = gymnasium.make("ludex:ludex/TicTacToe-v1")
    os.write(1, f"{ludex.shared_server.shared_url()} {ludex.shared_server._server.pid}\\n".encode())
    return env
if __name__ == "__main__":
    for env in [make(), make()]:
        env.close()
    vec = gymnasium.vector.AsyncVectorEnv([make, make], context="CONTEXT")
    vec.reset(seed=0)
    vec.close()
"""


@pytest.mark.parametrize(("context", "servers"), [("fork", 1), ("spawn", 3)])
def test_each_process_has_one_local_server(
    program: str, tmp_path: Path, context: str, servers: int
) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS.replace("CONTEXT", context))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    started = [line.split() for line in done.stdout.splitlines()]
    assert len(started) == 5
    assert len({url for url, _ in started}) == servers
    for pid in {int(pid) for _, pid in started}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
