"""Gateway: an endpoint with OpenAI's chat completions, behind which is the model of Inspect."""

from __future__ import annotations

import asyncio
import contextvars
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.util import JSONSchema

# Longest request, in bytes.
MAX_REQUEST = 8 << 20

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


class Caller:
    """A sample whose program calls the gateway.

    Attributes:
        key: the key of the program's requests.
        messages: the conversation, with each request and reply once.
        failure: the first error of a call, such as a limit of the task.
    """

    def __init__(self) -> None:
        self.key = secrets.token_hex(16)
        self.messages: list[ChatMessage] = []
        self.failure: Exception | None = None
        self._loop = asyncio.get_running_loop()
        # The calls of a sample belong to its transcript and its limits.
        self._context = contextvars.copy_context()

    def reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Call the model from a thread of the gateway, and return the reply of the endpoint."""
        return self._context.copy().run(
            lambda: asyncio.run_coroutine_threadsafe(self._generate(body), self._loop).result()
        )

    async def _generate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        messages: list[ChatMessage] = [
            MESSAGES[message["role"]](content=message["content"]) for message in body["messages"]
        ]
        output = await get_model().generate(messages, config=_config(body))
        if not self.messages:
            self.messages += messages[:-1]
        self.messages += [messages[-1], output.message]
        return _completion(output)


class Gateway:
    """A server on this machine, started by the first caller; it ends with the process."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Base URL of the endpoint; the first access starts the server."""
        if self._server is None:
            handler = type("Handler", (_Handler,), {"callers": self._callers})
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
            threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @contextmanager
    def caller(self) -> Iterator[Caller]:
        """Admit the program of the current sample."""
        caller = Caller()
        self._callers[caller.key] = caller
        try:
            yield caller
        finally:
            del self._callers[caller.key]


class _Handler(BaseHTTPRequestHandler):
    """Requests of programs; the key of a request names its sample."""

    callers: Mapping[str, Caller]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request for a completion."""
        length = int(self.headers.get("Content-Length") or 0)
        caller = self.callers.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        if caller is None or length > MAX_REQUEST:
            # The body is not read, so the connection cannot be used again.
            self.close_connection = True
            self._send(
                413 if caller else 401, {"error": {"message": "unknown key or long request"}}
            )
            return
        body = json.loads(self.rfile.read(length))
        try:
            self._send(200, caller.reply(body))
        except Exception as error:
            # Inspect has retried the call, so the program need not; the sample raises the error.
            caller.failure = caller.failure or error
            self._send(400, {"error": {"message": f"{type(error).__name__}: {error}"}})

    def _send(self, status: int, reply: Mapping[str, Any]) -> None:
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


def _config(body: Mapping[str, Any]) -> GenerateConfig:
    """Return the settings of a request that the program made; the task's own fill the rest."""
    form = (body.get("response_format") or {}).get("json_schema")
    return GenerateConfig(
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        response_schema=None
        if form is None
        else ResponseSchema(
            name=form["name"],
            json_schema=JSONSchema.model_validate(form["schema"]),
            strict=form.get("strict"),
        ),
    )


def _completion(output: ModelOutput) -> dict[str, Any]:
    """Return an output in the form of the endpoint."""
    usage = output.usage
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (0, 0)
    message = {"role": "assistant", "content": output.completion}
    reason = "length" if output.stop_reason == "max_tokens" else "stop"
    return {
        "id": "ludex",
        "object": "chat.completion",
        "model": output.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }
