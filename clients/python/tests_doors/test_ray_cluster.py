"""A local Ray cluster of three nodes, one of which dies in the middle."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

import ludex
import ludex.ray
from ludex.gymnasium import LudexVectorEnv

# Nodes cannot import this module.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

AGENTS = ["mcts sims=20", "random"]
GAME = "connect_four"
COUNT = 5
WAIT_SECONDS = 120.0

# Times and the digests over them, in which two runs of one machine differ, too; and the entry in
# the log of a shard that was played again where its first attempt had left matches.
TIMES = re.compile(
    r'\d{4}-\d\d-\d\dT[\d:.]+Z|"ms": ?[0-9]+|\{"at":"[^"]*","what":"resumed"\}\n'
    r'|"(?:records_)?digest": ?"[0-9a-f]{64}"|"calls_sha256": ?"[0-9a-f]{64}"|sha256:[0-9a-f]{64}'
)


class Nodes:
    """The cluster, with a temporary folder for all of its processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._added = 0
        self.cluster = Cluster(initialize_head=True, head_node_args=self._settings())
        ray.init(address=self.cluster.address, log_to_driver=False)
        self.workers = [self.add() for _ in range(2)]

    def _settings(self) -> dict[str, Any]:
        # Processes of a node inherit its name.
        self._added += 1
        return {
            "num_cpus": 1,
            "object_store_memory": 100_000_000,
            "include_dashboard": False,
            "env_vars": {"LUDEX_TEST_NODE": f"node-{self._added}"},
        }

    def name(self, node: Any) -> str:
        return str(node._ray_params.env_vars["LUDEX_TEST_NODE"])

    def add(self) -> Any:
        node = self.cluster.add_node(**self._settings())
        self.cluster.wait_for_nodes()
        return node

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)

    def programs(self, *words: str, node: str = "") -> list[int]:
        """Return the ids of running processes of the program that contain ``words``."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                line = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                own = (process / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            ours = f"TMPDIR={self.folder}\0" in own and f"LUDEX_TEST_NODE={node}" in own
            if ours and line[0] == os.environ["LUDEX_BIN"] and set(words) <= set(line):
                found.append(int(process.name))
        return found

    def await_programs(self, *words: str, node: str = "", some: bool) -> None:
        """Wait until there is such a process, or none."""
        end = time.monotonic() + WAIT_SECONDS
        while bool(self.programs(*words, node=node)) is not some:
            assert time.monotonic() < end, f"{words}: expected {'a process' if some else 'none'}"
            time.sleep(0.02)

    def await_change(self, servers: ludex.ray.Servers) -> None:
        """Wait until the death of a node or a server is noticed."""
        end = time.monotonic() + WAIT_SECONDS
        while not servers.refresh():
            assert time.monotonic() < end, "expected another set of servers"
            time.sleep(0.1)

    def folders(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("ludex-*"))

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture
def nodes(
    program: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Nodes]:
    # Ray's sockets need a short path.
    monkeypatch.setenv("RAY_TMPDIR", tempfile.gettempdir())
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    nodes = Nodes(folder)
    try:
        yield nodes
    finally:
        nodes.close()
    nodes.await_programs(some=False)


def age(folder: Path) -> None:
    """Make the folders of killed servers old enough for their removal."""
    for path in folder.glob("ludex-serve-*"):
        os.utime(path, (0, 0))


def files(run: Path) -> dict[str, str]:
    """Return the files of a run without times."""
    paths = [path for path in run.rglob("*") if path.is_file() and path.name != "lock"]
    return {
        str(path.relative_to(run)): TIMES.sub("", path.read_text(encoding="utf-8"))
        for path in paths
    }


def play_alone(program: str, folder: Path, suite: str, run: str, *more: str) -> Path:
    """Play a run by one process in ``folder``; return the folder of the run."""
    agents = [part for agent in AGENTS for part in ("--agent", agent)]
    command = [program, "evaluate", "--suite", suite, "--run", run, *agents, *more]
    folder.mkdir()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "ludex-data" / "runs" / run


def test_killed_node_loses_no_match(
    program: str, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ["--scale", "0.5"]
    whole = play_alone(program, tmp_path / "alone", "quick", "r", "--jobs", "1", *more)
    victim = nodes.workers[0]
    finished: list[tuple[int, int]] = []

    def on_shard(done: int, shards: int) -> None:
        finished.append((done, shards))
        if done == 3:
            nodes.await_programs("evaluate", node=nodes.name(victim), some=True)
            nodes.kill(victim)

    (tmp_path / "cluster").mkdir()
    monkeypatch.chdir(tmp_path / "cluster")
    with ludex.ray.Servers() as servers:
        assert len(servers.urls) == 3
        run = ludex.ray.evaluate("quick", AGENTS, "r", shards=12, args=more, on_shard=on_shard)
        if len(servers.urls) == 3:
            nodes.await_change(servers)
        assert len(servers.urls) == 2
        age(nodes.folder)
    assert finished == [(done, 12) for done in range(1, 13)]
    assert files(Path("ludex-data/runs/r")) == files(whole)
    assert len(run.rows("episodes")) == len((whole / "episodes.jsonl").read_text().splitlines())
    nodes.await_programs(some=False)
    assert nodes.folders() == []


def test_tournament_equals_run_of_one_machine(
    program: str, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    game = "connect_four(rows=4,columns=4)"
    run = ludex.ray.tournament(game, AGENTS, "cup", blocks=6, shards=4, storage="storage")
    assert len(run.rows("episodes")) == 12
    suite = tmp_path / "ludex-data" / "runs" / "cup" / "suite.toml"
    whole = play_alone(program, tmp_path / "alone", str(suite), "cup", "--jobs", "1")
    assert files(Path("ludex-data/runs/cup")) == files(whole)
    # The storage has the shards, from which another call only merges.
    before = sorted(Path("storage/runs").rglob("episodes.jsonl"))
    assert len(before) == 4
    changed = [path.stat().st_mtime_ns for path in before]
    ludex.ray.tournament(game, AGENTS, "cup", blocks=6, shards=4, storage="storage", data="second")
    assert [path.stat().st_mtime_ns for path in before] == changed
    assert files(Path("second/runs/cup")).keys() == files(whole).keys()
    assert nodes.folders() == []


def test_invalid_evaluations_are_refused(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ludex.LudexError, match="did you mean random") as caught:
        ludex.ray.evaluate("quick", ["randm"], "r", shards=2)
    assert caught.value.code == "bad_field"
    with pytest.raises(ludex.LudexError, match="--stop-at-ci"):
        ludex.ray.evaluate("quick", ["random"], "r", shards=2, args=["--stop-at-ci", "30"])
    with pytest.raises(ValueError, match="at least one spec"):
        ludex.ray.evaluate("quick", "random")
    with pytest.raises(ValueError, match="at least two specs"):
        ludex.ray.tournament(GAME, ["random"])
    with pytest.raises(ValueError, match="at least 1, got 1 and 0"):
        ludex.ray.evaluate("quick", ["random"], shards=0)
    Path("ludex-data/runs/r").mkdir(parents=True)
    with pytest.raises(ludex.LudexError, match="contains a run"):
        ludex.ray.evaluate("quick", ["random"], "r")
    assert nodes.folders() == []


def test_servers_follow_cluster(nodes: Nodes) -> None:
    with ludex.ray.Servers() as servers:
        first = servers.by_node
        assert len(set(servers.urls)) == 3
        assert not servers.refresh()
        joined = nodes.add()
        assert servers.refresh()
        assert set(servers.by_node) == {*first, joined.node_id}
        nodes.kill(nodes.workers[0])
        nodes.await_change(servers)
        assert set(servers.by_node) == {*first, joined.node_id} - {nodes.workers[0].node_id}
        # A server that dies is started again at another URL.
        with ludex.Client(servers.by_node[joined.node_id].url):
            pass
        (one, *_) = nodes.programs("serve", node=nodes.name(joined))
        lost = servers.by_node[joined.node_id]
        os.kill(one, signal.SIGKILL)
        nodes.await_change(servers)
        assert servers.by_node[joined.node_id] != lost
        with ludex.Client(servers.by_node[joined.node_id].url) as client:
            assert client.describe(GAME).game == GAME
        age(nodes.folder)
    nodes.await_programs(some=False)
    assert nodes.folders() == []


def test_servers_of_nodes_require_tokens(nodes: Nodes) -> None:
    with ludex.ray.Servers(listen="node") as servers:
        with pytest.raises(ludex.LudexError, match="unauthorized"):
            ludex.Client(servers.urls)
        with ludex.Client(servers.urls, servers.tokens) as client:
            assert client.scopes == ["gym"]
            assert client.open_vec(GAME, 3).reset(seed=0).obs.shape[0] == 3
    with pytest.raises(ValueError, match="allowed: 'loopback', 'node'"):
        ludex.ray.Servers(listen="0.0.0.0")  # type: ignore[arg-type]


def first_legal(obs: Any, mask: Any) -> Any:
    return mask.argmax(axis=1)


def steps(envs: LudexVectorEnv, infos: dict[str, Any], count: int) -> list[Any]:
    seen = []
    for _ in range(count):
        obs, reward, *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
        seen.append((obs.tolist(), reward.tolist()))
    return seen


def test_vector_env_survives_killed_node(nodes: Nodes) -> None:
    with ludex.serve() as server:
        alone = LudexVectorEnv(GAME, COUNT, opponent="random", url=server.url)
        expected = [steps(alone, alone.reset(seed=seed)[1], 8) for seed in (1, 2, 3)]
        alone.close()
    with ludex.ray.Servers() as servers:
        envs = ludex.ray.vector_env(servers, GAME, COUNT, opponent="random", patience=1.0)
        assert steps(envs, envs.reset(seed=1)[1], 8) == expected[0]
        nodes.kill(nodes.workers[0])
        with pytest.raises(ludex.LudexError, match="connection_lost"):
            step_forever(envs)
        assert steps(envs, envs.reset(seed=2)[1], 8) == expected[1]
        assert len(servers.urls) == 2
        nodes.add()
        assert steps(envs, envs.reset(seed=3)[1], 8) == expected[2]
        assert len(servers.urls) == 3
        envs.close()


def step_forever(envs: LudexVectorEnv) -> None:
    while True:
        envs.step(np.zeros(COUNT, np.int64))


def test_rollouts_equal_local_environments(nodes: Nodes) -> None:
    with (
        ludex.ray.Servers() as servers,
        ludex.ray.Rollouts(servers, GAME, COUNT, seed=7, num_cpus=0.5) as rollouts,
        ludex.serve() as server,
    ):
        batches = rollouts.rollout(first_legal, 6, version=4)
        batches += rollouts.rollout(first_legal, 3, version=5)
        assert [(batch.actor, batch.version) for batch in batches] == [
            *((actor, 4) for actor in range(3)),
            *((actor, 5) for actor in range(3)),
        ]
        for actor in range(3):
            envs = LudexVectorEnv(GAME, COUNT, url=server.url, autoreset_mode="SameStep")
            obs, infos = envs.reset(seed=7 + COUNT * actor)
            for batch in (batches[actor], batches[actor + 3]):
                assert np.array_equal(batch.obs[0], obs)
                for row, action in enumerate(batch.action):
                    assert np.array_equal(action, batch.mask[row].argmax(axis=1))
                    obs, reward, terminated, truncated, infos = envs.step(action)
                    assert np.array_equal(batch.obs[row + 1], obs)
                    assert np.array_equal(batch.mask[row + 1], infos["action_mask"])
                    assert np.array_equal(batch.reward[row], reward)
                    assert np.array_equal(batch.terminated[row], terminated)
                    assert np.array_equal(batch.truncated[row], truncated)
            envs.close()


def test_rollouts_survive_lost_actor_and_node(nodes: Nodes, tmp_path: Path) -> None:
    mark = tmp_path / "killed"

    def die_once(obs: Any, mask: Any) -> Any:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return mask.argmax(axis=1)
        os.kill(os.getpid(), signal.SIGKILL)

    def broken(obs: Any, mask: Any) -> Any:
        raise RuntimeError("broken policy")

    with (
        ludex.ray.Servers() as servers,
        ludex.ray.Rollouts(servers, GAME, COUNT, num_cpus=0.5) as rollouts,
    ):
        batches = rollouts.rollout(die_once, 4)
        assert mark.exists()
        assert len(batches) == 3
        assert 3 in [batch.actor for batch in batches], "a new actor has new seeds"
        nodes.kill(nodes.workers[0])
        nodes.await_change(servers)
        assert len(rollouts.rollout(first_legal, 4)) == 2
        nodes.add()
        assert len(rollouts.rollout(first_legal, 4)) == 3
        with pytest.raises(RuntimeError, match="broken policy"):
            rollouts.rollout(broken, 1)
        with pytest.raises(ValueError, match="at least 1"):
            rollouts.rollout(first_legal, 0)
        with (
            ludex.ray.Rollouts(servers, "connect_for", 1, num_cpus=0) as wrong,
            pytest.raises(ludex.LudexError, match="connect_four"),
        ):
            wrong.rollout(first_legal, 1)
