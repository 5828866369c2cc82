"""The environment for TRL: its tool, its rows, and the threads and processes of the trainers."""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from PIL import Image
from transformers.utils import get_json_schema

import ludex
import ludex.trl
from ludex.llm import Episode, Reward

GAME = "connect_four"
# A server that does not exist.
NOWHERE = "ws://127.0.0.1:1"


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


def first_legal(question: str) -> str:
    return question.partition("Legal moves:\n")[2].split("\n")[0].split(", ")[0]


def rollout(environment: Any, run: Callable[..., Any], row: dict[str, Any]) -> tuple[Any, ...]:
    """Play an episode as a trainer does, where ``run`` executes each call."""
    texts = [run(environment.reset, **row)]
    for _ in range(40):
        if not first_legal(texts[-1]):
            break
        texts.append(run(environment.play, answer=first_legal(texts[-1])))
    return texts, run(environment.get_reward)


def in_turn(call: Callable[..., Any], **arguments: Any) -> Any:
    return call(**arguments)


def work(pickled: bytes, rows: list[dict[str, Any]], queue: Any) -> None:
    """Stand in for the rollout worker of ``AsyncGRPOTrainer``, in a spawned process."""
    factory = pickle.loads(pickled)
    with ThreadPoolExecutor(8) as rollouts, ThreadPoolExecutor(8) as tools:

        def in_pool(call: Callable[..., Any], **arguments: Any) -> Any:
            return tools.submit(call, **arguments).result()

        environments = [factory() for _ in rows]
        pool = [in_pool] * len(rows)
        queue.put(list(rollouts.map(rollout, environments, pool, rows)))


def test_public_methods_are_the_tool_and_the_reward() -> None:
    environment = ludex.trl.environment(GAME, url=NOWHERE)()
    # As the trainers list them.
    found = [name for name, _ in inspect.getmembers(type(environment), inspect.isfunction)]
    assert [name for name in found if not name.startswith("_")] == ["get_reward", "play", "reset"]
    schema = get_json_schema(environment.play)["function"]
    assert schema["name"] == "play"
    assert schema["parameters"]["required"] == ["answer"]
    assert schema["parameters"]["properties"]["answer"]["type"] == "string"
    assert schema["description"]


def test_environment_connects_on_its_first_reset() -> None:
    environment = ludex.trl.environment(GAME, url=NOWHERE)()
    with pytest.raises(RuntimeError, match="reset"):
        environment.get_reward()
    with pytest.raises(ludex.LudexError, match="connection_lost"):
        environment.reset(seed=1)


def test_spawned_worker_with_threads_plays_the_same_episodes(url: str) -> None:
    factory = ludex.trl.environment(GAME, "random", url=url, reward=Reward("unit"))
    rows = ludex.trl.rows(GAME, 8, url=url)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=work, args=(pickle.dumps(factory), rows, queue))
    worker.start()
    found = queue.get(timeout=120)
    worker.join()
    environment = factory()
    assert found == [rollout(environment, in_turn, row) for row in rows]
    assert {reward for _, reward in found} <= {0.0, 0.5, 1.0}
    assert all("The game is over." in texts[-1] for texts, _ in found)


def test_texts_equal_those_of_the_episode(url: str) -> None:
    (row, _) = ludex.trl.rows(GAME, 2, "eval", url=url)
    environment = ludex.trl.environment(GAME, url=url)()
    text = environment.reset(**row)
    with ludex.Client(url) as client, Episode(client, GAME, seed=row["seed"]) as episode:
        assert row["prompt"][0] == {"role": "system", "content": episode.system}
        assert text == episode.question
        # Without the rules in the prompt of the row, they are part of the observation.
        again = environment.reset(seed=row["seed"], prompt=[{"role": "user", "content": "Play."}])
        assert again == f"{episode.system}\n\n{episode.question}"
        for answer in ("nonsense", first_legal(episode.question)):
            episode.answer(answer)
            assert environment.play(answer) == episode.question
        assert environment.episode.metrics == episode.metrics


def test_answers_after_the_end_are_errors_of_the_tool(url: str) -> None:
    environment = ludex.trl.environment(GAME, url=url, tries=1, reward=Reward(penalty=0.5))()
    environment.reset(seed=3)
    assert environment.play("nonsense") == "The game is over. Your return is -1."
    assert environment.get_reward() == -1.5
    with pytest.raises(ludex.LudexError, match="env_over"):
        environment.play("nonsense")


def test_pictures_are_blocks_before_the_text(url: str) -> None:
    environment = ludex.trl.environment(GAME, url=url, pictures=128)()
    blocks = environment.reset(seed=1)
    assert [block["type"] for block in blocks] == ["image", "text"]
    assert isinstance(blocks[0]["image"], Image.Image)
    assert blocks[0]["image"].size == (128, 128)
    after = environment.play(first_legal(blocks[1]["text"]))
    assert after[0]["image"].tobytes() != blocks[0]["image"].tobytes()


def test_rows_of_the_splits_have_no_seed_in_common(url: str) -> None:
    splits = ("train", "eval")
    train, held_out = (ludex.trl.rows("kuhn_poker", 20, one, url=url) for one in splits)  # type: ignore[arg-type]
    assert {row["seat"] for row in train} == {0, 1}
    assert not {row["seed"] for row in train} & {row["seed"] for row in held_out}


def test_chats_become_calls_of_the_tool(url: str) -> None:
    with ludex.Client(url) as client, Episode(client, GAME, seed=2) as episode:
        for _ in range(2):
            episode.answer(first_legal(episode.question))
        chat = episode.messages
    talk = ludex.trl.as_tool_calls(chat)
    assert [m["role"] for m in talk] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    calls = [m["tool_calls"][0]["function"] for m in talk if m["role"] == "assistant"]
    answers = [m["content"] for m in chat if m["role"] == "assistant"]
    assert [call["arguments"]["answer"] for call in calls] == answers
    assert [m["content"] for m in talk if m["role"] == "tool"] == [
        m["content"] for m in chat[2:] if m["role"] == "user"
    ]
