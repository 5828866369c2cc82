"""Inspect's log viewer as a process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = 60.0


@contextmanager
def running_viewer(folder: Path) -> Iterator[str]:
    """Start the viewer of a folder of logs; yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("inspect"), "view", "start", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--log-dir", folder]
    viewer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                urllib.request.urlopen(url).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "the viewer did not start"
                time.sleep(0.2)
        yield url
    finally:
        viewer.terminate()
        viewer.wait()
