"""A server program that tests kill and start again."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path


class Restarted:
    """A server on one port that can be killed and started again."""

    def __init__(self, program: str, data: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"ws://{address}"
        self.kills = 0
        self._command = [program, "serve", "--listen", address, "--data", str(data), "--json"]
        self._command.append("--until-stdin-closes")
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["url"] == self.url
        return process

    def again(self) -> None:
        self.kills += 1
        self.stop()
        self._process = self._start()

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Restarted:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
