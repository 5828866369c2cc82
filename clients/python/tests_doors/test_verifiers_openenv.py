"""The task set ``openenv`` of verifiers plays on a server, unmodified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import ludex

pytest.importorskip("openenv", reason="the task set needs openenv: verifiers[openenv]")


class Model(BaseHTTPRequestHandler):
    """Endpoint of a model that plays the first legal move, as JSON in the second seat."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = request["messages"][-1]["content"]
        text = text if isinstance(text, str) else "".join(part["text"] for part in text)
        observation = json.loads(text)["observation"]
        move = observation["legal"][0]
        reply = json.dumps({"move": move}) if observation["seat"] else f"I see.\nAnswer: {move}"
        head = {
            "id": "m",
            "created": 0,
            "model": request["model"],
            "object": "chat.completion.chunk",
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        delta = {"role": "assistant", "content": reply}
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        self.send_response(200)
        if request.get("stream"):
            events = [f"data: {json.dumps(head | chunk)}\n\n" for chunk in chunks]
            body, kind = "".join([*events, "data: [DONE]\n\n"]), "text/event-stream"
        else:
            choice = {"index": 0, "message": delta, "finish_reason": "stop"}
            whole = {"object": "chat.completion", "choices": [choice], "usage": usage}
            body, kind = json.dumps(head | whole), "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_task_set_plays_unmodified(program: str, model: str, tmp_path: Path) -> None:
    with ludex.serve() as server:
        base = f"{server.url.replace('ws://', 'http://')}/openenv/tic_tac_toe"
        settings = f"""
            model = "first-move"
            push = false
            [client]
            base_url = "{model}"
            api_key_var = "MODEL_KEY"
            [env.taskset]
            id = "openenv"
            base_url = "{base}"
            resets = [{{seed = 1, scale = "unit"}}, {{seed = 2, seat = 1}}]
            [env.player.runtime]
            type = "subprocess"
            [env.player.harness]
            id = "null"
        """
        (tmp_path / "settings.toml").write_text(settings)
        command = [str(Path(sys.executable).parent / "vf-eval"), "@", "settings.toml", "--no-rich"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "MODEL_KEY": "none"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (traces,) = tmp_path.glob("outputs/*/traces.jsonl")
        episodes = [json.loads(line) for line in traces.read_text().splitlines()]
        assert len(episodes) == 2
        played = {episode["task"]["data"]["idx"]: episode["traces"][0] for episode in episodes}
        rewards = [played[idx]["rewards"]["openenv_reward"]["score"] for idx in range(2)]
        assert expected(server.url) == rewards


def expected(url: str) -> list[float]:
    """Return the rewards of the first legal moves, as the Python client plays them."""
    rewards = []
    with ludex.Client(url) as client:
        for seed, seat in [(1, 0), (2, 1)]:
            seats = ["random", "random"]
            seats[seat] = "agent"
            env = client.open("tic_tac_toe", seats=seats)
            state = env.reset(seed)
            while not state.over:
                state = env.step(int(state.legal[0]))
            value = state.returns[seat]
            rewards.append((value + 1) / 2 if seat == 0 else value)
    return rewards
