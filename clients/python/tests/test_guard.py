"""Forks, threads, interrupts, closed clients and dead servers raise errors."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludex
from ludex.gymnasium import LudexEnv, LudexVectorEnv
from ludex.transport.session import Session

REPEATS = 200


@pytest.fixture(scope="module")
def url(program: str) -> Iterator[str]:
    with ludex.serve() as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[ludex.Client]:
    with ludex.Client(url) as client:
        yield client


def code_of(do: Callable[[], object]) -> str:
    """Return the code of the error that a call raises; empty without an error."""
    try:
        do()
    except ludex.LudexError as error:
        return error.code
    return ""


# Processes.


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_child_gets_error_and_parent_keeps_replies(client: ludex.Client) -> None:
    env = client.open("connect_four", views=["text"])
    env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # reader threads of servers
        for _ in range(REPEATS):
            before = env.reset()
            child = os.fork()
            if not child:
                told = code_of(lambda: env.step(0)) == "wrong_process"
                client.close()  # closes only the child's copy
                os._exit(0 if told else 1)
            after = env.step(6)
            assert os.waitpid(child, 0)[1] == 0
            assert (before.length, after.length) == (0, 1)
            assert env.text(0).splitlines()[-1][-1] != env.text(0).splitlines()[-1][0]


# Threads.


def test_threads_never_swap_replies(client: ludex.Client) -> None:
    faults: list[str] = []
    played = [0, 0]

    def work(which: int) -> None:
        env = lonely(lambda: client.open("connect_four", {"columns": 4 + which}))
        for _ in range(REPEATS):
            state = lonely(env.reset)
            if len(state.legal) != 4 + which or state.length != 0:
                faults.append(f"thread {which}: {state}")
            state = lonely(lambda: env.step(which))
            if state.length != 1:
                faults.append(f"thread {which}: {state}")
            played[which] += 1

    def lonely(do: Callable[[], Any]) -> Any:
        while True:
            try:
                return do()
            except ludex.LudexError as error:
                if error.code != "busy":
                    faults.append(repr(error))
                    raise

    threads = [threading.Thread(target=work, args=[which]) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert played == [REPEATS, REPEATS]


def test_concurrent_use_raises_busy(client: ludex.Client) -> None:
    env = client.open("tic_tac_toe")
    env.reset()
    guard = client._session._guard
    other = threading.Thread(target=guard.enter)
    other.start()
    other.join()
    with pytest.raises(ludex.LudexError, match="a client for each thread") as caught:
        env.step(4)
    assert caught.value.code == "busy"
    guard.leave()
    assert env.step(4).length == 1


# Interrupts.


def interrupted(do: Callable[[], object], at: int) -> tuple[bool, bool]:
    """Run ``do`` with an interrupt at the ``at``-th signal check of Python.

    Return whether Python reached that check, and whether ``do`` completed: Python discards an
    exception that is raised during garbage collection.
    """
    places, armed = 0, True

    def look(frame: Any, event: str, arg: Any) -> None:
        nonlocal places, armed
        if armed and event in ("call", "c_call", "c_return"):
            places += 1
            if places == at:
                armed = False
                raise KeyboardInterrupt

    whole = False
    sys.setprofile(look)
    try:
        do()
        whole = True
        sys.setprofile(None)
    except KeyboardInterrupt:
        sys.setprofile(None)
    return not armed and places == at, whole


def everywhere(step: Callable[[], object], check: Callable[[int], None]) -> int:
    """Interrupt ``step`` at each of its signal checks in turn, at least ``REPEATS`` times.

    ``check`` gets the number of the signal check, or 0 if the step completed.
    """
    times = 0
    while times < REPEATS:
        at, more = 0, True
        while more:
            at += 1
            more, whole = interrupted(step, at)
            check(0 if whole else at)
        times += at
    gc.collect()  # sockets that an interrupt left open
    return times


# Python warns about resources that an interrupt left open.
swallowed = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)


@swallowed
def test_interrupted_step_never_yields_wrong_state(client: ludex.Client) -> None:
    env = client.open("connect_four")
    env.reset(seed=1)
    refused = 0

    def check(at: int) -> None:
        nonlocal refused
        lengths: list[int] = []
        told = code_of(lambda: lengths.append(env.step(6).length))
        # Without an error, this move was played and the interrupted move was not.
        played = [1] if at else [2]
        assert (told, lengths) in (("interrupted", []), ("", played)), at
        refused += told == "interrupted"
        assert env.reset().length == 0, at

    assert everywhere(lambda: env.step(0), check) >= REPEATS
    assert refused >= REPEATS / 2
    assert client.open("nim").reset().length == 0


@swallowed
def test_interrupted_reset_discards_batches_in_flight(client: ludex.Client) -> None:
    vec = client.open_vec("connect_four", 3, autoreset="disabled")

    def rollout() -> None:
        vec.reset(seed=1)
        vec.send([0, 1, 2])
        vec.send([3, 3, 3])
        vec.recv()
        vec.recv()

    def check(at: int) -> None:
        assert code_of(lambda: vec.step([6, 6, 6], [0, 1, 2])) in ("interrupted", "", "env_over")
        assert vec.reset(seed=1).length.tolist() == [0, 0, 0], at
        assert vec.step([0, 0, 0]).length.tolist() == [1, 1, 1], at

    rollout()
    assert everywhere(lambda: vec.reset(seed=1), check) >= REPEATS

    def look(at: int) -> None:
        while vec.in_flight and not vec._unconfirmed:
            vec.recv()  # an interrupt between the calls leaves batches in flight
        vec.reset(seed=1)
        assert vec.in_flight == 0
        vec.send([0, 0, 0])
        assert vec.recv().length.tolist() == [1, 1, 1], at

    assert everywhere(rollout, look) >= REPEATS


@swallowed
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_masked_policy_stays_legal_after_interrupt(url: str, mode: str) -> None:
    envs = LudexVectorEnv("tic_tac_toe", 4, url=url, autoreset_mode=mode)
    _, infos = envs.reset(seed=1)
    mask: Any = infos["action_mask"]

    def step() -> None:
        nonlocal mask
        _, _, _, _, infos = envs.step(mask.argmax(axis=1))
        mask = infos["action_mask"]
        assert not infos["illegal"].any()

    def check(at: int) -> None:
        nonlocal mask
        told = code_of(step)
        assert told in ("", "interrupted"), at
        _, infos = envs.reset(seed=at)
        mask = infos["action_mask"]

    assert everywhere(step, check) >= REPEATS
    envs.close()


def test_failing_opponent_requires_reset(url: str) -> None:
    calls = 0

    def clumsy(obs: Any, mask: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ZeroDivisionError
        return mask.argmax(axis=1)

    env = LudexEnv("tic_tac_toe", url=url, opponent=clumsy)
    env.reset(seed=1)
    with pytest.raises(ZeroDivisionError):
        env.step(4)
    assert code_of(lambda: env.step(5)) == "interrupted"
    env.reset()
    env.step(5)
    env.close()


def test_step_succeeds_after_invalid_argument(url: str, client: ludex.Client) -> None:
    vec = client.open_vec("tic_tac_toe", 2)
    vec.reset()
    with pytest.raises(ValueError, match="expected integers"):
        vec.step([0.5, 1.5])
    vec.step([0, 1])
    envs = LudexVectorEnv("tic_tac_toe", 2, url=url)
    envs.reset()
    with pytest.raises(ValueError, match="expected 2 integers"):
        envs.step(np.zeros(3, np.int64))
    envs.step(np.zeros(2, np.int64))
    envs.close()


# Shutdown.


def test_closed_client_raises_closed(url: str) -> None:
    client = ludex.Client(url)
    env = client.open("tic_tac_toe")
    env.reset()
    client.close()
    for do in (lambda: env.step(0), client.games, lambda: client.open("nim")):
        with pytest.raises(ludex.LudexError, match="this client is closed; open a new one"):
            do()
    env.close()
    client.close()
    single = LudexEnv("tic_tac_toe", url=url)
    single.reset()
    single.close()
    assert code_of(lambda: single.step(0)) == "closed"


@pytest.mark.parametrize("end", ["kill", "close"])
def test_dead_local_server_raises_at_once(program: str, end: str) -> None:
    with ludex.serve() as server, ludex.Client(server.url, patience=3600) as client:
        env = client.open("tic_tac_toe")
        env.reset()
        getattr(server, end)()
        with pytest.raises(
            ludex.LudexError, match="has exited, which ended its environments"
        ) as caught:
            env.step(0)
        assert caught.value.code == "connection_lost"


def test_unreachable_server_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludex.transport.session.WARN_AFTER_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ludex.LudexError, match="connection_lost"):
        ludex.Client(f"ws://127.0.0.1:{port}", patience=0.2)
    assert "no server answers" in caplog.text
    assert "patience" in caplog.text


# The parent prints the data folder of its server, and is killed.
KILLED = """
import os, signal, sys, ludex
server = ludex.serve()
print(server.data, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is needed")
def test_server_ends_with_parent_process(program: str) -> None:
    parent = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    data = Path(parent.stdout.strip())
    assert data.is_absolute()
    # The folder is removed last.
    deadline = time.monotonic() + 60
    while data.exists():
        assert time.monotonic() < deadline, "the server outlives its parent"
        time.sleep(0.02)


# Values.


@pytest.mark.parametrize("seed", [5.5, -1, 2**64, 2**70, "7", True])
def test_invalid_seed_raises_bad_seed(url: str, client: ludex.Client, seed: Any) -> None:
    env, vec = client.open("nim"), client.open_vec("nim", 2)
    assert code_of(lambda: env.reset(seed)) == "bad_seed"
    assert code_of(lambda: vec.reset(seed)) == "bad_seed"
    assert code_of(lambda: vec.reset(seeds=[seed, 1])) == "bad_seed"
    assert code_of(lambda: env.clone(seed=seed)) == "bad_seed"
    envs = LudexVectorEnv("nim", 2, url=url)
    wrong: Any = seed if seed != "7" else 7.5  # a string is a sequence
    assert code_of(lambda: envs._learner_envs.reset(wrong)) == "bad_seed"
    assert code_of(lambda: envs._learner_envs.reset([seed, 1])) == "bad_seed"
    envs.close()


def test_numpy_and_maximum_seeds_are_accepted(client: ludex.Client) -> None:
    env = client.open("pig")
    env.reset(np.int64(5))
    env.reset(2**64 - 1)
    assert env.step(0).length >= 1


def test_pickling_connection_raises_type_error(url: str, client: ludex.Client) -> None:
    single, batch = LudexEnv("nim", url=url), LudexVectorEnv("nim", 2, url=url)
    for thing in (client, client.open("nim"), client.open_vec("nim", 2), single, batch):
        for carry in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match=r"snapshot\(\) and restore\(\)"):
                carry(thing)
    single.close()
    batch.close()


def test_every_adapter_accepts_patience(url: str) -> None:
    def session(thing: Any) -> Session:
        return thing._client._session  # type: ignore[no-any-return]

    single, batch = (
        LudexEnv("nim", url=url, patience=7),
        LudexVectorEnv("nim", 2, url=url, patience=7),
    )
    aec = ludex.pettingzoo.aec("nim", url=url, patience=7)
    parallel = ludex.pettingzoo.parallel("nim", url=url, patience=7)
    step = ludex.openspiel.rl_environment.Environment("nim", url=url, patience=7)
    things = (
        single._learner_envs,
        batch._learner_envs,
        aec.unwrapped._env,
        parallel._env,
        step._env,
    )
    assert [session(thing).patience for thing in things] == [7.0] * 5
    for env in (single, batch, aec, parallel, step):
        env.close()


# Adapters.


def test_infos_are_numpy_and_autoreset_mode_is_attribute(url: str) -> None:
    env = LudexEnv("connect_four", url=url)
    infos = [env.reset(seed=1)[1], env.step(3)[4]]
    for info in infos:
        assert all(isinstance(value, (np.ndarray, np.generic)) for value in info.values())
    env.close()
    envs = LudexVectorEnv("nim", 2, url=url, autoreset_mode="SameStep")
    assert envs.autoreset_mode is envs.metadata["autoreset_mode"]
    envs.close()


def test_same_step_autoreset_costs_one_message(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    envs = LudexVectorEnv("tic_tac_toe", 8, url=url, autoreset_mode="SameStep", seat="alternate")
    _, infos = envs.reset(seed=1)
    sent: list[str] = []
    post = Session._post

    def count(self: Session, kind: str, bound: bool, fields: Any) -> int:
        sent.append(kind)
        return post(self, kind, bound, fields)

    monkeypatch.setattr(Session, "_post", count)
    ends = 0
    for _ in range(60):
        _, _, terminated, truncated, infos = envs.step(infos["action_mask"].argmax(axis=1))
        ends += int((terminated | truncated).sum())
    assert sent == ["step"] * 60
    assert ends > 60
    envs.close()


@pytest.mark.parametrize("mode", ["rgb", "foo"])
def test_unknown_render_mode_raises_value_error(url: str, mode: str) -> None:
    makers: list[Callable[..., Any]] = [
        LudexEnv,
        LudexVectorEnv,
        ludex.pettingzoo.aec,
        ludex.pettingzoo.parallel,
    ]
    for make in makers:
        with pytest.raises(ValueError, match=r"render_mode: got .*; allowed: 'ansi'"):
            make("nim", url=url, render_mode=mode)


def test_temporary_server_rejects_nonempty_folder(program: str, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    command = [program, "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--temporary"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "expected a new or empty folder" in done.stderr
    assert (tmp_path / "mine").read_text() == "kept"
