"""Networks of the program as agents of a server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import ludex

PPO = "net file=ludex:connect_four_ppo"


def add(program: str, data: Path, name: str, spec: str) -> None:
    command = [program, "agents", "add", name, "--spec", spec, "--data", str(data)]
    subprocess.run(command, check=True, capture_output=True)


def test_named_network_plays_environments_and_matches(program: str, tmp_path: Path) -> None:
    add(program, tmp_path, "mine", PPO)
    with ludex.serve(tmp_path) as server, ludex.Client(server.url) as client:
        state = client.open("connect_four", seats=["agent", "mine"]).reset(seed=1)
        assert state.legal == list(range(7))
        with pytest.raises(ludex.LudexError, match="offered by the operator"):
            client.open("connect_four", seats=["agent", PPO])
        with pytest.raises(ludex.LudexError, match="cannot play tic_tac_toe"):
            client.open("tic_tac_toe", seats=["agent", "mine"])
        (result,) = ludex.play(
            server.url, game="connect_four", agent=lambda turn: turn.legal[0], against="mine"
        )
        assert result.reason == "finished"


def test_server_does_not_start_without_the_file_of_a_network(program: str, tmp_path: Path) -> None:
    add(program, tmp_path, "mine", "net file=missing.onnx")
    command = [program, "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "agent mine: file=missing.onnx: No such file" in done.stderr
