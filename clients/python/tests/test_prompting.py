"""Prompts built by the server, which do not depend on the form of the position."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

import ludex
from ludex.openspiel import states


def test_snapshot_state_and_moves_yield_same_prompt(program: str) -> None:
    moves = [(-1, 2), (-1, 0), (0, 1)]
    with ludex.serve() as server, ludex.Client(server.url) as client:
        env = client.open("kuhn_poker", chance="client")
        env.reset()
        game = states.load_game("kuhn_poker", url=server.url)
        state = game.new_initial_state()
        for _, action in moves:
            env.step(action)
            state.apply_action(action)
        positions: list[Any] = [env.snapshot(), state, moves]
        game.close()
        told = ludex.prompts("kuhn_poker", positions, client=client)
    assert told[0] == told[1] == told[2] == ludex.prompt("kuhn_poker", moves)
    assert (told[0].seat, told[0].legal) == (1, [0, 1])
    assert [message["role"] for message in told[0].messages] == ["system", "user"]
    assert all(name in told[0].text for name in told[0].names)


def test_prompt_accepts_params_seat_and_method(program: str) -> None:
    small = ludex.prompt("breakthrough", params={"rows": 5, "columns": 4})
    assert ludex.prompt("breakthrough(rows=5,columns=4)") == small
    assert small != ludex.prompt("breakthrough")
    second = ludex.prompt("iterated_prisoners_dilemma(num_repetitions=3)", [(-2, [0, 1])], seat=1)
    assert second.seat == 1
    thinking = ludex.prompt("tic_tac_toe", prompting="cot")
    assert thinking.text != ludex.prompt("tic_tac_toe").text


def test_invalid_position_raises_bad_field(program: str) -> None:
    with pytest.raises(ludex.LudexError, match="move 1: ") as caught:
        ludex.prompt("tic_tac_toe", [(0, 4), (1, 4)])
    assert caught.value.code == "bad_snapshot"
    with pytest.raises(ludex.LudexError, match="did you mean tic_tac_toe"):
        ludex.prompt("tic_tac_to")


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        ("tic_tac_toe", []),
        ("tic_tac_toe", [[0, 4], [1, 0]]),
        ("kuhn_poker", [[-1, 2], [-1, 0], [0, 1]]),
        ("iterated_prisoners_dilemma(num_repetitions=3)", [[-2, [0, 1]]]),
    ],
)
def test_prompt_equals_that_of_the_program(program: str, game: str, moves: list[Any]) -> None:
    command = [program, "games", "prompt", game, "--agent", "llm model=none history=4"]
    line = json.dumps({"h": moves})
    done = subprocess.run(command, input=line, capture_output=True, text=True, check=True)
    wanted = ludex.Prompt(**json.loads(done.stdout))
    assert ludex.prompt(game, moves, history=4) == wanted


@pytest.mark.parametrize("game", ["texas_holdem", "bargaining", "negotiation"])
def test_first_prompt_follows_the_chance_outcomes_of_the_seed(program: str, game: str) -> None:
    command = [program, "games", "prompt", game, "--seed", "7"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    messages = ludex.prompt(game, seed=7).messages
    assert printed == "\n".join(f"[{m['role']}]\n\n{m['content']}\n" for m in messages)
