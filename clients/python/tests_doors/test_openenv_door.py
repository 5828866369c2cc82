"""OpenEnv's own package on a server: its validator passes, its clients play unmodified."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import one_world
import pytest
from openenv import GenericEnvClient
from openenv.core.client_types import StepResult

import ludex
from ludex.llm import Episode, Reward

FOLDER = Path(__file__).resolve().parents[2] / "openenv"
NIM = "nim%28pile_sizes%3D1%3B2%29"


@pytest.fixture(scope="module")
def server(program: str) -> Iterator[ludex.Server]:
    with ludex.serve() as server:
        yield server


def url(server: ludex.Server, game: str) -> str:
    return f"{server.url.replace('ws://', 'http://')}/openenv/{game}"


def validate(*arguments: str) -> str:
    """Run ``openenv validate`` and return its report."""
    command = [sys.executable, "-m", "openenv.cli", "validate", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("game", ["tic_tac_toe", "bargaining", NIM])
def test_validator_passes_on_url(server: ludex.Server, game: str) -> None:
    report = validate("--url", url(server, game))
    assert "Verdict: PASS" in report
    assert "FAIL" not in report


def test_validator_passes_on_folder() -> None:
    assert "Verdict: PASS" in validate(str(FOLDER), "--level", "static")
    # Levels that need Docker are skipped.
    report = validate(str(FOLDER))
    assert "FAIL" not in report
    assert "ERROR" not in report


def test_example_of_the_docs_plays(server: ludex.Server) -> None:
    page = (FOLDER.parents[1] / "docs" / "openenv.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    example = example.replace("http://127.0.0.1:7878", server.url.replace("ws://", "http://"))
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[0] in ("0.0", "0.5", "1.0")


def answer(result: StepResult[dict[str, Any]]) -> dict[str, str]:
    return {"answer": f"I choose this.\nAnswer: {result.observation['legal'][0]}"}


@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", NIM])
def test_sync_client_plays_as_episodes_of_ludex(server: ludex.Server, game: str) -> None:
    name = "nim(pile_sizes=1;2)" if game == NIM else game
    with (
        GenericEnvClient(base_url=url(server, game)).sync() as env,
        ludex.Client(server.url) as own,
        Episode(own, name, seed=0, reward=Reward(scale="unit")) as episode,
    ):
        for seed in range(6):
            seat = seed % 2
            result = env.reset(seed=seed, seat=seat, scale="unit", episode_id=f"e{seed}")
            episode.reset(seed, seat=seat)
            assert result.observation["system"] == episode.system
            assert result.reward is None
            while not result.done:
                assert result.observation["prompt"] == episode.question
                text = answer(result)
                result = env.step(text)
                episode.answer(text["answer"])
            assert episode.over
            assert result.reward == episode.reward
            assert result.metadata == episode.metrics
            state = env.state()
            assert (state["episode_id"], state["seed"], state["seat"]) == (
                f"e{seed}",
                seed,
                seat,
            )
            assert state["step_count"] == episode.metrics["moves"]


def test_async_clients_play_at_once(server: ludex.Server) -> None:
    async def play(seed: int) -> tuple[int, float]:
        steps = 0
        async with GenericEnvClient(base_url=url(server, "connect_four")) as env:
            result = await env.reset(seed=seed)
            while not result.done:
                result = await env.step(answer(result))
                steps += 1
        return steps, result.reward

    async def both() -> list[tuple[int, float]]:
        return await asyncio.gather(*[play(seed % 16) for seed in range(32)])

    played = asyncio.run(both())
    assert played[:16] == played[16:]
    assert {reward for _, reward in played} <= {-1.0, 0.0, 1.0}


def test_refusals_and_forfeits_reach_the_client(server: ludex.Server) -> None:
    with GenericEnvClient(base_url=url(server, "tic_tac_toe")).sync() as env:
        env.reset(seed=1, tries=2, penalty=0.5)
        result = env.step({"answer": "no idea"})
        assert not result.done
        assert result.observation["refusal"] in result.observation["prompt"]
        result = env.step({"answer": "x(9,9)"})
        assert (result.done, result.reward, result.metadata["forfeit"]) == (True, -2.0, True)
        with pytest.raises(RuntimeError, match="EXECUTION_ERROR"):
            env.step({"answer": "x(0,0)"})
        with pytest.raises(RuntimeError, match=r"seat: expected.*VALIDATION_ERROR"):
            env.reset(seat=7)
        assert not env.reset(seed=1).done


def test_errors_of_sessions_reach_the_client(server: ludex.Server) -> None:
    with (
        GenericEnvClient(base_url=url(server, "tic_tac_two")).sync() as env,
        pytest.raises(RuntimeError, match=r"tic_tac_toe.*FACTORY_ERROR"),
    ):
        env.reset()


def test_moves_may_be_documents(server: ludex.Server) -> None:
    with GenericEnvClient(base_url=url(server, "bargaining")).sync() as env:
        result = env.reset(seed=3)
        assert result.observation["prompt"]
        refused = env.step({"answer": '{"offer": "everything"}'})
        assert refused.observation["refusal"]


def test_matches_equal_those_of_the_evaluation(
    program: str, world_model: str, tmp_path: Path
) -> None:
    world = one_world.reference(program, world_model, tmp_path / "reference")
    played = []
    options = {"opponents": one_world.OPPONENT, "record": True, **one_world.SETTINGS}
    with (
        ludex.serve(tmp_path / "store") as server,
        GenericEnvClient(base_url=url(server, one_world.GAME)).sync() as env,
    ):
        for match in world.matches:
            result = env.reset(seed=match.seed, seat=match.seat, **options)
            messages = [{"role": "system", "content": result.observation["system"]}]
            while not result.done:
                request = result.observation["prompt"]
                answer = one_world.answer_of(request)
                messages += [
                    {"role": "user", "content": request},
                    {"role": "assistant", "content": answer},
                ]
                result = env.step({"answer": answer})
            played.append(one_world.match_of(match.seed, match.seat, messages, result.reward))
    assert played == world.matches
    assert one_world.recorded_moves(program, tmp_path / "store") == world.moves
