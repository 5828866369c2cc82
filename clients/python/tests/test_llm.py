"""Episodes of language models, and the prompts and answers of environments."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import ludex
import ludex.aio
from ludex.llm import (
    AsyncEpisode,
    AsyncSelfPlayEpisode,
    Episode,
    Reward,
    SelfPlayEpisode,
    seed_rows,
)

BAD = "I would rather not say."
CHANCE_STARTS = ["texas_holdem", "bargaining", "negotiation", "kuhn_poker"]


@pytest.fixture(scope="module")
def client(program: str) -> Iterator[ludex.Client]:
    with ludex.serve() as server, ludex.Client(server.url) as connected:
        yield connected


def first_legal(episode: Episode) -> str:
    first = episode._state.legal[0]
    legal = episode.env.action_texts([first if isinstance(first, int) else first[0]])
    return f"<think>Let me see.</think>\nAnswer: {legal[0]}"


def play(episode: Episode) -> Episode:
    while not episode.over:
        read = episode.answer(first_legal(episode))
        assert read.ok, (read, episode.question)
    return episode


def test_episode_plays_to_the_end_in_both_seats(client: ludex.Client) -> None:
    for seat in (0, 1):
        with Episode(client, "tic_tac_toe", seat=seat, seed=5) as episode:
            play(episode)
            moves = int(episode.metrics["moves"])
            roles = [message["role"] for message in episode.messages]
            assert roles == ["system", *["user", "assistant"] * moves]
            assert "This conversation lasts for the whole game." in episode.system
            assert ("You are o" in episode.messages[1]["content"]) == (seat == 1)
            assert episode.question == ""
            assert episode.reward in (-1.0, 0.0, 1.0)
            assert episode.metrics["finished"] == 1
            with pytest.raises(ludex.LudexError, match="env_over"):
                episode.answer("x(0,0)")


def test_episode_is_a_function_of_its_seed(client: ludex.Client) -> None:
    with Episode(client, "connect_four", "random", seed=3) as episode:
        first = play(episode).messages
        episode.reset(4)
        other = play(episode).messages
        episode.reset(3)
        assert play(episode).messages == first != other
        episode.reset(3, seat=1)
        assert episode.seat == 1
        assert play(episode).messages != first


def test_model_without_moves_loses_after_its_tries(client: ludex.Client) -> None:
    reward = Reward(penalty=0.25)
    with Episode(client, "tic_tac_toe", seed=1, tries=2, reward=reward) as episode:
        before = episode.env.snapshot()
        assert episode.answer(BAD).verdict == "unparsed"
        assert episode.env.snapshot() == before
        assert episode.refusal.startswith("You have answered this question before")
        assert episode.refusal in episode.question
        assert episode.answer(first_legal(episode)).ok
        assert episode.refusal == ""
        assert "refused" not in episode.question
        verdicts = [episode.answer(text).verdict for text in ("", "Answer: o(2,2)")]
        assert verdicts == ["empty", "unparsed"]
        assert episode.over
        assert episode.metrics["forfeit"] == 1
        assert episode.reward == -1 - 3 * 0.25
        assert "(no answer)" in [message["content"] for message in episode.messages]


def test_rewards_are_scaled_and_bounded(client: ludex.Client) -> None:
    spec = client.describe("tic_tac_toe")
    assert [Reward("unit").of(spec, value, 0) for value in (-1, 0, 1)] == [0, 0.5, 1]
    assert Reward("unit", penalty=0.5).of(spec, 0, 2) == 0
    assert Reward(divisor=100).of(spec, 250, 0) == 2.5
    with pytest.raises(ValueError, match="divisor"):
        Reward("unit", divisor=2)
    with pytest.raises(ValueError, match="scale"):
        Reward("points")  # type: ignore[arg-type]


@pytest.mark.parametrize("game", CHANCE_STARTS)
def test_episode_starts_at_the_first_turn_of_the_model(client: ludex.Client, game: str) -> None:
    for seat in (0, 1):
        with Episode(
            client, game, seat=seat, seed=2, reward=Reward("unit"), max_steps=8
        ) as episode:
            assert episode.question
            play(episode)
            assert 0 <= episode.reward <= 1


def test_episode_accepts_opponents_by_seat_and_simultaneous_moves(client: ludex.Client) -> None:
    with Episode(client, "kuhn_poker(players=3)", ["random", "random"], seat=1) as episode:
        play(episode)
    with Episode(client, "iterated_prisoners_dilemma(num_repetitions=3)", seat=1) as episode:
        assert play(episode).metrics["moves"] >= 1
    with pytest.raises(ValueError, match="opponents: expected 2"):
        Episode(client, "kuhn_poker(players=3)", ["random"])
    with pytest.raises(ValueError, match="seat"):
        Episode(client, "tic_tac_toe", seat=2)


def test_separate_requests_have_no_earlier_messages(client: ludex.Client) -> None:
    with Episode(client, "tic_tac_toe", prompting="prompt", history=4, seed=0) as episode:
        episode.answer(first_legal(episode))
        assert [message["role"] for message in episode.messages] == ["system", "user"]
        assert "The last moves, oldest first:" in episode.question


def test_documents_are_answers(client: ludex.Client) -> None:
    with Episode(client, "bargaining(talk=true)", seed=1) as episode:
        read = episode.answer('{"move": {"offer": [70, 0, 0], "say": "More."}}')
        assert read.verdict == "illegal"
        assert read.issues[0]["path"] == "/offer/0"
        read = episode.answer('{"move": {"offer": [0, 0, 0], "say": "Take it."}}')
        assert read.ok
        assert read.document == {"offer": [0, 0, 0], "say": "Take it."}


def test_async_episode_equals_episode(client: ludex.Client) -> None:
    with Episode(client, "connect_four", seed=9) as episode:
        wanted = play(episode)

    async def run() -> tuple[Any, ...]:
        async with await ludex.aio.connect(client._session.urls) as own:
            episodes = [await AsyncEpisode.open(own, "connect_four", seed=9) for _ in range(3)]

            async def one(episode: AsyncEpisode) -> None:
                async with episode:
                    while not episode.over:
                        legal = await episode._run(first_legal)
                        await episode.answer(legal)

            await asyncio.gather(*map(one, episodes))
            return tuple((e.messages, e.reward, e.metrics) for e in episodes)

    assert set(map(repr, asyncio.run(run()))) == {
        repr((wanted.messages, wanted.reward, wanted.metrics))
    }


def test_batches_have_prompts_and_read_answers(client: ludex.Client) -> None:
    vec = client.open_vec("tic_tac_toe", 3, seats=["agent", "random"], views=["prompt"])
    batch = vec.reset(seed=0)
    assert batch.prompt is not None
    assert [len(prompt or []) for prompt in batch.prompt] == [2, 2, 2]
    answers = [ludex.Answer("Answer: x(1,1)"), ludex.Answer(BAD), None]
    batch = vec.step(answers)
    assert batch.answers is not None
    first, second, third = batch.answers
    assert first is not None
    assert first.action == 4
    assert second is not None
    assert second.verdict == "unparsed"
    assert third is None
    assert batch.length.tolist() == [2, 0, 0]
    assert batch.prompt is not None
    assert second.message in (batch.prompt[1] or [])[-1]["content"]
    with pytest.raises(TypeError, match="answers and None"):
        vec.step([ludex.Answer("x"), 1, 2])
    vec.close()


def test_prompts_count_in_the_limit_of_a_batch(client: ludex.Client) -> None:
    with pytest.raises(ludex.LudexError) as caught:
        client.open_vec("tic_tac_toe", 10_000, views=["prompt"])
    assert (caught.value.code, caught.value.path) == ("limit", "count")
    for settings in ({"prompting": "loud"}, {"model": "m"}):
        with pytest.raises(ludex.LudexError, match="prompt") as caught:
            client.open("tic_tac_toe", prompt=settings)
        assert caught.value.code == "bad_field"


def test_environment_reads_answers_without_playing(client: ludex.Client) -> None:
    env = client.open("tic_tac_toe")
    env.reset()
    read = env.read_answer("I take {'it'}.\n\\boxed{x(1,1)}")
    assert (read.verdict, read.action, read.text, read.message) == ("ok", 4, "x(1,1)", "")
    assert env.step(0).length == 1
    assert env.prompt(prompting="cot") != env.prompt()
    for seat, settings, code in [(0, {}, "bad_field"), (1, {"moves": 1}, "bad_field")]:
        with pytest.raises(ludex.LudexError) as caught:
            env.prompt(seat, **settings)
        assert caught.value.code == code
    with pytest.raises(ludex.LudexError) as caught:
        env.step(answer="x" * 70_000)
    assert caught.value.code == "too_large"
    env.close()


def test_rules_need_no_position(client: ludex.Client) -> None:
    for game in ["chess", *CHANCE_STARTS]:
        text = ludex.rules(game, client=client)
        assert "## The rules" in text
        assert "## Your answer" in text
    assert ludex.rules("chess", client=client, rules="short") != ludex.rules("chess", client=client)


def test_models_play_each_other(client: ludex.Client) -> None:
    with SelfPlayEpisode(client, "tic_tac_toe", seed=1, tries=2) as episode:
        assert (episode.seats, episode.waiting) == ([0, 1], [0])
        assert episode.answer({0: "x(1,1)"})[0].ok
        assert episode.waiting == [1]
        with pytest.raises(ValueError, match=r"expected seats \[1\]"):
            episode.answer({0: "x(0,0)"})
        for text in ("o(0,0)", "x(0,1)", "o(2,2)", "x(2,1)"):
            (seat,) = episode.waiting
            assert episode.answer({seat: text})[seat].ok
        assert episode.over
        assert [episode.reward(seat) for seat in (0, 1)] == [1, -1]
        roles = [message["role"] for message in episode.messages(1)]
        assert roles == ["system", "user", "assistant", "user", "assistant"]
        assert episode.metrics(1)["moves"] == 2
        episode.reset(2)
        for _ in range(2):
            episode.answer({0: BAD})
        assert [episode.reward(seat) for seat in (0, 1)] == [-1, 1]
        assert [episode.metrics(seat)["forfeit"] for seat in (0, 1)] == [1, 0]
    with pytest.raises(ValueError, match="seat 'agent'"):
        SelfPlayEpisode(client, "tic_tac_toe", ["random", "random"])


def test_legal_answers_of_a_joint_turn_stay_pending(client: ludex.Client) -> None:
    with SelfPlayEpisode(client, "iterated_prisoners_dilemma(num_repetitions=2)") as episode:
        assert episode.waiting == [0, 1]
        before = episode.messages(0)
        reads = episode.answer({0: "Defect", 1: BAD})
        assert [reads[seat].verdict for seat in (0, 1)] == ["ok", "unparsed"]
        assert (episode.waiting, episode.messages(0)) == ([1], before)
        assert BAD in episode.messages(1)[-1]["content"]
        episode.answer({1: "Cooperate"})
        assert episode.waiting == [0, 1]
        assert [message["role"] for message in episode.messages(0)] == [
            *("system", "user", "assistant", "user")
        ]
        assert episode.env.snapshot()
        counts = [episode.metrics(seat) for seat in (0, 1)]
        assert [(one["moves"], one["unparsed"]) for one in counts] == [(1, 0), (1, 1)]


def test_async_self_play_equals_self_play(client: ludex.Client) -> None:
    line = ["x(1,1)", "o(0,0)", "x(0,1)", "o(2,2)", "x(2,1)"]

    async def run() -> list[list[dict[str, str]]]:
        async with (
            await ludex.aio.connect(client._session.urls) as own,
            await AsyncSelfPlayEpisode.open(own, "tic_tac_toe", seed=1) as episode,
        ):
            for text in line:
                await episode.answer({episode.waiting[0]: text})
            assert episode.over
            return [episode.messages(seat) for seat in (0, 1)]

    with SelfPlayEpisode(client, "tic_tac_toe", seed=1) as episode:
        for text in line:
            episode.answer({episode.waiting[0]: text})
        assert asyncio.run(run()) == [episode.messages(seat) for seat in (0, 1)]


def test_splits_have_no_seed_in_common() -> None:
    train, held_out = seed_rows(6), seed_rows(6, "eval")
    assert [tuple(row.values()) for row in train[:3]] == [(0, 0), (0, 1), (1, 0)]
    assert seed_rows(4, first=2) == train[2:]
    assert not {row["seed"] for row in train} & {row["seed"] for row in held_out}
    assert [row["seat"] for row in seed_rows(4, players=3)] == [0, 1, 2, 0]
    assert seed_rows(3, seeds=[7, 9]) == [*seed_rows(2, seeds=[7]), {"seed": 9, "seat": 0}]
    with pytest.raises(ValueError, match="split"):
        seed_rows(1, "test")  # type: ignore[arg-type]
