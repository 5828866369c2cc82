"""Document moves, single and joint, in the game ``naming`` of the example crate."""

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ludex

# A separate program serves the game; tests/run builds it and sets its path.
PROGRAM = os.environ.get("OWN_GAME_BIN")
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="OWN_GAME_BIN is not set: cargo build -p own-game"
)


class Host:
    """Server of the example on a fixed port, which tests can kill and restart."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        self.folder = folder
        self.start()

    def start(self) -> None:
        command = [str(PROGRAM), "serve", "--listen", f"127.0.0.1:{self.port}"]
        command += ["--data", str(self.folder / "data"), "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.kill()


def record_of(host: Host, result: ludex.MatchResult) -> dict[str, Any]:
    """Return the record of a match, verified by the program."""
    with urllib.request.urlopen(host.url.replace("ws:", "http:") + str(result.record)) as answer:
        line = answer.read()
    file = host.folder / "episodes.jsonl"
    file.write_bytes(line.strip() + b"\n")
    subprocess.run([str(PROGRAM), "verify", str(file)], check=True)
    record: dict[str, Any] = json.loads(line)
    return record


def test_env_accepts_documents_in_joint_moves(host: Host) -> None:
    with ludex.Client(host.url) as client:
        env = client.open("naming")
        state = env.reset(seed=1)
        assert (state.to_move, env.schema(), env.schema(1)) == (-2, "name", "name")
        # An invalid document of one seat is reported with its path, and the state is unchanged.
        with pytest.raises(ludex.LudexError, match="illegal_action") as refused:
            env.step([{"number": 12, "x": 1}, 3])
        assert [issue["path"] for issue in refused.value.issues] == ["/number", "/x"]
        with pytest.raises(ludex.LudexError, match="illegal_action"):
            env.step([{"number": 7}, None])
        state = env.step([{"number": 7}, 3])
        assert (state.to_move, env.struct()["numbers"]) == (0, [7, 3])
        assert (env.schema(), env.schema(1)) == ("swap/first", None)
        kept = env.snapshot()
        state = env.step({"swap": True, "say": "so be it"})
        assert (state.over, state.returns) == (True, [-4.0, 4.0])
        # The snapshot includes the document.
        state = env.restore(kept)
        assert (state.to_move, env.struct()["numbers"]) == (0, [7, 3])
        # In a text, the last object or the name of an action is used.
        assert env.step('I say ```{"swap": false, "say": "no"}```.').returns == [4.0, -4.0]
        env.restore(kept)
        assert env.step("swap").returns == [-4.0, 4.0]


def two(host: Host, agents: list[Any], **options: Any) -> list[list[ludex.MatchResult]]:
    """Match two clients through a queue, each with its agent."""
    results: list[Any] = [None, None]

    def play(k: int) -> None:
        extra = {"seat": k, "game": "naming", "queue": "q", "name": f"player-{k}", **options}
        results[k] = ludex.play(host.url, agent=agents[k], patience=30, **extra)

    threads = [threading.Thread(target=play, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(results), results
    return results


def test_match_accepts_documents_in_joint_moves(host: Host) -> None:
    told: list[Any] = []

    def first(turn: ludex.Turn) -> Any:
        if turn.refusal is not None:
            told.append((turn.refusal.code, [i["path"] for i in turn.refusal.issues]))
        told.append(turn.schema)
        if turn.phase == "name":
            return {"number": 8}
        valid = {"swap": False, "say": "thanks"}
        answers: list[Any] = [{"swap": 1, "say": 2, "x": 3}, {**valid, "say": "Please"}, valid]
        return answers[turn.attempt]

    def second(turn: ludex.Turn) -> Any:
        return ["I do not know", 2][turn.attempt]

    results = two(host, [first, second])
    assert told == [
        "name",
        "swap/first",
        ("illegal_action", ["/say", "/swap", "/x"]),
        "swap/first",
        ("illegal_action", ["/say"]),
        "swap/first",
    ]
    [result] = results[0]
    assert (result.returns, result.reason) == ([6.0, -6.0], "finished")
    names, words, swap = [e for e in record_of(host, result)["events"] if e["kind"] == "move"]
    assert (names["document"], names["more"]) == ({"number": 8}, True)
    assert (words["action"], [t["code"] for t in words["tries"]]) == (2, ["unparsed"])
    assert swap["document"] == {"swap": False, "say": "thanks"}
    flaws = [(t["document"]["say"], [i.get("code") for i in t["issues"]]) for t in swap["tries"]]
    assert flaws == [(2, ["type", "type", "additionalProperties"]), ("Please", ["begging"])]


def test_joint_turn_survives_server_kill(host: Host) -> None:
    asked: list[tuple[int, int]] = []
    answered = threading.Event()

    def first(turn: ludex.Turn) -> Any:
        asked.append((turn.turn, turn.attempt))
        answered.set()
        return {"number": 9} if turn.phase == "name" else "keep"

    def second(turn: ludex.Turn) -> Any:
        assert answered.wait(10)
        # The other document has been accepted and stored.
        time.sleep(0.5)
        host.kill()
        host.start()
        return {"number": 4}

    results = two(host, [first, second], rated=True)
    [result] = results[0]
    assert (result.returns, result.reason) == ([5.0, -5.0], "finished")
    assert asked == [(0, 0), (1, 0)]
    moves = [e for e in record_of(host, result)["events"] if e["kind"] == "move"]
    assert [move.get("document") for move in moves] == [{"number": 9}, {"number": 4}, None]
