"""OpenSpiel's own algorithms on games of a real server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludex

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is missing (pip install open_spiel)")

from open_spiel.python import policy, rl_environment, vector_env  # noqa: E402
from open_spiel.python.algorithms import cfr, exploitability, mcts  # noqa: E402
from open_spiel.python.rl_agent import StepOutput  # noqa: E402

# Warnings of OpenSpiel about its own dependencies are ignored.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


@pytest.fixture
def load(url: str) -> Iterator[Any]:
    opened: list[Any] = []

    def load(game: str, **params: Any) -> Any:
        opened.append(ludex.openspiel.load_game(game, params, url=url))
        return opened[-1]

    yield load
    for game in opened:
        game.close()


def test_cfr_and_exploitability_match_openspiel_kuhn_poker(load: Any) -> None:
    values = []
    for game in (load("kuhn_poker"), pyspiel.load_game("kuhn_poker")):
        solver = cfr.CFRSolver(game)
        for _ in range(30):
            solver.evaluate_and_update_policy()
        average = solver.average_policy()
        values.append(
            [
                exploitability.exploitability(game, average),
                exploitability.nash_conv(game, average, use_cpp_br=True),
                exploitability.nash_conv(game, average, use_cpp_br=False),
                exploitability.nash_conv(game, policy.UniformRandomPolicy(game)),
            ]
        )
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert 0 < values[0][0] < 0.05


def test_mcts_finds_winning_move(load: Any) -> None:
    game = load("tic_tac_toe")
    rng = np.random.RandomState(1)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    bot = mcts.MCTSBot(game, 2.0, 100, evaluator, solve=True, random_state=rng)
    state = game.new_initial_state()
    for action in (0, 4, 1, 8):
        state.apply_action(action)
    assert state.action_to_string(bot.step(state)) == "x(0,2)"


GAMES = {
    "kuhn_poker": {"players": 3},
    "leduc_poker": {},
    "liars_dice": {},
    "connect_four": {},
    "breakthrough": {},
}


@pytest.mark.parametrize("name", GAMES)
def test_states_match_openspiel(load: Any, name: str) -> None:
    ours, theirs = load(name, **GAMES[name]), pyspiel.load_game(name, GAMES[name])
    known: dict[str, set[str]] = defaultdict(set)
    rng = np.random.default_rng(1)
    for _ in range(5):
        state, other = ours.new_initial_state(), theirs.new_initial_state()
        while not other.is_terminal():
            assert state.current_player() == other.current_player()
            assert state.legal_actions() == other.legal_actions()
            assert state.is_chance_node() == other.is_chance_node()
            if state.is_chance_node():
                assert dict(state.chance_outcomes()) == pytest.approx(dict(other.chance_outcomes()))
            elif theirs.get_type().provides_information_state_string:
                seat = other.current_player()
                key = f"{seat} {other.information_state_string(seat)}"
                known[key].add(state.information_state_string(seat))
            action = int(rng.choice(other.legal_actions()))
            state = state.child(action)
            other.apply_action(action)
        assert state.is_terminal()
        assert state.returns() == other.returns()
        assert state.rewards() == other.rewards()
        assert state.history() == other.history()
        again = ours.new_initial_state(state.position.serialize())
        assert again.history() == state.history()
    assert all(len(strings) == 1 for strings in known.values())


def test_state_applies_joint_move(load: Any) -> None:
    game = load("iterated_prisoners_dilemma", num_repetitions=2)
    state = game.new_initial_state()
    assert state.is_simultaneous_node()
    assert [state.legal_actions(player) for player in (0, 1)] == [[0, 1], [0, 1]]
    state.apply_actions([0, 1])
    assert state.returns() == [0.0, 10.0]


def test_openspiel_environment_accepts_game(load: Any) -> None:
    env = rl_environment.Environment(load("kuhn_poker"))
    env.seed(1)
    step = env.reset()
    while not step.last():
        step = env.step([step.observations["legal_actions"][step.current_player()][0]])
    assert sum(step.rewards) == 0.0


def test_openspiel_vector_env_accepts_environments(url: str) -> None:
    envs = [ludex.openspiel.rl_environment.Environment("tic_tac_toe", url=url) for _ in range(3)]
    vector = vector_env.SyncVectorEnv(envs)
    steps, ends = vector.reset(), 0
    for _ in range(20):
        moves = [s.observations["legal_actions"][s.current_player()][0] for s in steps]
        outputs = [StepOutput(action=move, probs=[]) for move in moves]
        steps, _, done, _ = vector.step(outputs, reset_if_done=True)
        ends += sum(done)
        assert all(step.first() == over for step, over in zip(steps, done, strict=True))
    assert ends >= 6
    for env in envs:
        env.close()
