"""Compares the metrics that the alerts and the dashboard use with those of a server that has played a match.

Usage: metric_names.py LUDEX_BIN FILE...
"""

import base64
import json
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

METRIC = re.compile(r"\b(?:ludex|process)_[a-z_]+\b(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*\\?"')
# Prometheus adds these labels to every series.
ADDED = {"job", "instance"}


def used(text: str) -> dict[str, set[str]]:
    """Returns the metrics in `text`, each with the labels that its selectors name."""
    found: dict[str, set[str]] = {}
    for match in METRIC.finditer(text):
        name = match[0].split("{")[0]
        found.setdefault(name, set()).update(LABEL.findall(match[1] or ""))
    return found


def queries(file: Path) -> str:
    """Returns the lines of an alert file or a dashboard that have queries."""
    text = file.read_text()
    if file.suffix != ".json":
        return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("- alert:", "- name:")))
    dashboard = json.loads(text)
    lines = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    lines += [query["expr"] for query in dashboard["annotations"]["list"]]
    return "\n".join(lines)


def join(program: str, url: str, *options: str) -> int:
    """Plays one match as a client and returns the exit code."""
    command = [program, "join", url, "--game", "tic_tac_toe", "--agent", "random", "--against", "random", *options]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode


def break_off(url: str) -> None:
    """Opens a session and sends a frame beyond the limit, so that the server closes the connection."""
    host, port = url.removeprefix("ws://").split(":")
    hello = b'{"type":"hello","id":1,"protocol":[1],"client":"probe","agent":{"name":"probe"}}'
    upgrade = (
        f"GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as peer:
        peer.sendall(upgrade.encode() + bytes([0x81, 0x80 | len(hello)]) + bytes(4) + hello)
        received = b""
        while b'"welcome"' not in received:
            part = peer.recv(65536)
            assert part, f"expected a welcome, got {received!r}"
            received += part
        peer.sendall(bytes([0x82, 0xFF]) + (1 << 40).to_bytes(8, "big") + bytes(4))
        while peer.recv(65536):
            pass


def rendered(program: str) -> dict[str, set[str]]:
    """Returns the metrics of a server after a match, a refused client and a closed connection, each with its labels."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "serve", "--listen", "127.0.0.1:0", "--data", f"{folder}/data", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"]
            assert join(program, url) == 0, "a match was not played"
            assert join(program, url, "--token", "lx_" + "A" * 43) != 0, "a wrong token was accepted"
            break_off(url)
            with urllib.request.urlopen(url.replace("ws:", "http:") + "/metrics", timeout=10) as reply:
                return used(reply.read().decode())
        finally:
            server.terminate()
            server.wait(timeout=60)


def main() -> None:
    """Exits with 1 if a file uses a metric or a label that the server does not render."""
    program, files = sys.argv[1], [Path(name) for name in sys.argv[2:]]
    there = rendered(program)
    faults = []
    for file in files:
        names = used(queries(file))
        assert names, f"{file}: expected metrics"
        for name, labels in sorted(names.items()):
            if name not in there:
                faults.append(f"{file}: the server has no metric {name}")
            elif unknown := labels - there[name] - ADDED:
                faults.append(f"{file}: {name} has no label {', '.join(sorted(unknown))}")
        print(f"{file}: {len(names)} metrics")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
