"""Text of a page in a headless Chromium, over the DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.sync.client import connect

SECONDS = 60.0


def wait_for_text(url: str, *wanted: str) -> str:
    """Open a page and return its text once it contains all of ``wanted``."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is missing")
    command = [chromium, "--headless", "--disable-gpu", "--remote-debugging-port=0"]
    if os.getuid() == 0:  # the sandbox refuses the superuser
        command.append("--no-sandbox")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}", url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return _text(Path(profile, "DevToolsActivePort"), wanted)
        finally:
            process.terminate()
            process.wait()


def _text(port_file: Path, wanted: tuple[str, ...]) -> str:
    deadline = time.monotonic() + SECONDS
    while not port_file.exists() or not port_file.read_text():
        assert time.monotonic() < deadline, "chromium did not start"
        time.sleep(0.1)
    port = port_file.read_text().splitlines()[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as reply:
        page = next(one for one in json.load(reply) if one["type"] == "page")
    text = ""
    with connect(page["webSocketDebuggerUrl"], max_size=None) as socket:
        while time.monotonic() < deadline:
            call = {"id": 1, "method": "Runtime.evaluate"}
            call["params"] = {"expression": "document.body ? document.body.innerText : ''"}
            socket.send(json.dumps(call))
            text = json.loads(socket.recv())["result"]["result"]["value"]
            if all(word in text for word in wanted):
                return text
            time.sleep(0.3)
    raise AssertionError(f"expected {wanted} on the page, got {text}")
