"""Finding, starting and stopping the server program, with a stub script."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

import ludex
from ludex.process import find_program

PROGRAM = """#!{python}
import json, os, sys, time
args = sys.argv[1:]
data = args[args.index("--data") + 1]
open(os.path.join(data, "args"), "w").write(" ".join(args))
{body}
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stub program is a script with #!")


def program(folder: Path, body: str) -> str:
    path = folder / "ludex"
    path.write_text(PROGRAM.format(python=sys.executable, body=body))
    path.chmod(0o755)
    return str(path)


def test_serve_removes_temporary_folder_on_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = 'print(json.dumps({"url": "ws://127.0.0.1:9", "more": 1}), flush=True); time.sleep(60)'
    monkeypatch.setenv("LUDEX_BIN", program(tmp_path, body))
    with ludex.serve(args=["--agent", "me=random"]) as server:
        assert server.url == "ws://127.0.0.1:9"
        assert server.running
        assert (server.data / "args").read_text() == (
            f"serve --listen 127.0.0.1:0 --data {server.data} --json "
            "--until-stdin-closes --temporary --agent me=random"
        )
        os.kill(server.pid, 0)
    assert not server.running
    assert not server.data.exists()
    server.close()


def test_serve_keeps_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = 'print(json.dumps({"url": "ws://127.0.0.1:9"}), flush=True); time.sleep(60)'
    monkeypatch.setenv("LUDEX_BIN", program(tmp_path, body))
    data = tmp_path / "data"
    data.mkdir()
    with ludex.serve(data) as server:
        server.kill()
        assert not server.running
    assert (data / "args").exists()


def test_serve_removes_folders_of_killed_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        'import fcntl; lock = open(os.path.join(data, "ludex.lock"), "w")\n'
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        'print(json.dumps({"url": "ws://127.0.0.1:9"}), flush=True); time.sleep(60)'
    )
    monkeypatch.setenv("LUDEX_BIN", program(tmp_path, body))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = tmp_path / "ludex-serve-data"
    own.mkdir()
    (own / "ludex.lock").touch()
    with ludex.serve() as running, ludex.serve() as killed:
        killed.kill()
        with ludex.serve():
            assert killed.data.exists(), "a server may just have created it"
        for folder in (running.data, killed.data, own):
            os.utime(folder, (0, 0))
        with ludex.serve():
            assert not killed.data.exists()
            assert running.data.exists()
            assert own.exists()


def test_failed_start_quotes_server_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = 'sys.stderr.write("the port is taken"); sys.exit(1)'
    monkeypatch.setenv("LUDEX_BIN", program(tmp_path, body))
    with pytest.raises(ludex.LudexError, match="the port is taken") as caught:
        ludex.serve()
    assert caught.value.code == "internal"


def test_missing_program_error_names_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDEX_BIN", str(tmp_path / "none"))
    with pytest.raises(ludex.LudexError, match="is not an executable file") as caught:
        ludex.serve()
    assert caught.value.code == "not_installed"


def test_program_is_found_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LUDEX_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    path = program(tmp_path, "")
    assert find_program() == path
