"""A language-model agent with its own memory plays a suite.

The server plans, plays and judges the matches; this program prompts the model. Each seat of a match
is one conversation, which contains all earlier requests and replies of the seat. After a match the
model writes a note to itself, and the notes are part of every later conversation. Conversations and
notes are stored in a folder, so the same command continues after an interruption.

Every answer reports its calls, tokens and dollars in the notes of the move. The record of the match
stores these numbers as self-reported, since the server cannot check them.

    ludex check llm-stub --listen 127.0.0.1:8000          # or any OpenAI-compatible endpoint
    python scaffold.py --endpoint http://127.0.0.1:8000/v1 --model little
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ludex

FORM = "Think first. Then end with one line:\nAnswer: <one of the legal moves, word for word>"
REFLECT = "The match is over: {outcome}. Write one sentence to yourself for later matches."
NOTES_SHOWN = 20


class Endpoint:
    """An endpoint with OpenAI's chat completions API."""

    def __init__(
        self, url: str, model: str, key: str | None, price_in: float, price_out: float
    ) -> None:
        self._url = url.rstrip("/") + "/chat/completions"
        self._model = model
        self._key = key
        self._prices = (price_in, price_out)

    def ask(self, messages: list[dict[str, str]]) -> tuple[str, Spent]:
        """Make one call, and return the reply and its usage."""
        body = json.dumps({"model": self._model, "messages": messages}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        if self._key:
            request.add_header("Authorization", f"Bearer {self._key}")
        with urllib.request.urlopen(request, timeout=120) as answer:
            reply = json.load(answer)
        usage = reply.get("usage") or {}
        tokens = (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
        dollars = sum(n * price for n, price in zip(tokens, self._prices, strict=True)) / 1e6
        return reply["choices"][0]["message"]["content"] or "", Spent(1, *tokens, dollars)


class Spent:
    """Usage of calls: tokens, calls and dollars."""

    def __init__(
        self, calls: int = 0, tokens_in: int = 0, tokens_out: int = 0, dollars: float = 0.0
    ) -> None:
        self.calls, self.tokens_in, self.tokens_out = calls, tokens_in, tokens_out
        self.dollars = dollars

    def add(self, other: Spent) -> None:
        """Add the usage of other calls."""
        self.calls += other.calls
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.dollars += other.dollars

    def notes(self) -> dict[str, Any]:
        """Return the notes of a move that report this usage."""
        tokens = {"in": self.tokens_in, "out": self.tokens_out}
        return {"calls": self.calls, "tokens": tokens, "cost": self.dollars}


class Rules(dict[str, str]):
    """The rules pages of the games."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def __missing__(self, game: str) -> str:
        with ludex.Client(self._url) as client:
            spec = client.describe(game, rules_text=True)
        self[game] = f"You play {spec.string}.\n\n{spec.text}"
        return self[game]


class Scaffold:
    """The agent: an awaitable function of turns."""

    def __init__(self, endpoint: Endpoint, memory: Path, rules: Mapping[str, str]) -> None:
        self._endpoint = endpoint
        self._memory = memory
        self._rules = rules
        self._over: list[tuple[tuple[str, int], str]] = []
        self._unreported = Spent()
        self.total = Spent()
        memory.mkdir(parents=True, exist_ok=True)

    async def __call__(self, turn: ludex.Turn) -> str:
        """Return the move chosen by the model."""
        while self._over:
            await self._reflect(*self._over.pop())
        seat = (turn.match, turn.seat)
        kept = self._kept(seat)
        question = [turn.turn, turn.attempt]
        if kept["question"] != question:
            kept["talk"] = kept["talk"] or [self._system(turn.game)]
            kept["talk"].append({"role": "user", "content": self._question(turn)})
            text = await self._call(kept["talk"])
            kept["talk"].append({"role": "assistant", "content": text})
            # Usage for reflections is reported with the next move.
            spent, self._unreported = self._unreported, Spent()
            kept |= {"question": question, "notes": {**spent.notes(), "analysis": text[:2000]}}
            self._file(seat).write_text(json.dumps(kept))
        # A reply that was stored but not sent before an interruption is reused, not paid for twice.
        turn.notes.update(kept["notes"])
        text = str(kept["talk"][-1]["content"])
        # A reply without a legal move is sent unchanged; the server refuses it with the reason, and
        # the model is called again.
        return text.rpartition("Answer:")[2].strip() or text[-200:]

    def saw(self, event: Mapping[str, Any]) -> None:
        """Record the end of a match. The model writes its note before its next move."""
        if event["type"] == "match_end":
            seat = (event["match"], event["seat"])
            self._over.append((seat, ", ".join(event["outcome"])))

    async def _reflect(self, seat: tuple[str, int], outcome: str) -> None:
        talk = self._kept(seat)["talk"]
        if talk:
            talk.append({"role": "user", "content": REFLECT.format(outcome=outcome)})
            note = " ".join((await self._call(talk)).split())
            with (self._memory / "notes.txt").open("a") as notes:
                notes.write(note + "\n")
            self._file(seat).unlink()

    async def _call(self, talk: list[dict[str, str]]) -> str:
        text, spent = await asyncio.to_thread(self._endpoint.ask, talk)
        self._unreported.add(spent)
        self.total.add(spent)
        return text

    def _file(self, seat: tuple[str, int]) -> Path:
        """Return the file of a match and seat: an agent may have several seats of a match."""
        return self._memory / f"{seat[0]}-{seat[1]}.json"

    def _kept(self, seat: tuple[str, int]) -> dict[str, Any]:
        """Return the conversation of a seat, the turn of its last reply, and its notes."""
        file = self._file(seat)
        empty: dict[str, Any] = {"question": None, "notes": {}, "talk": []}
        kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else empty
        return kept

    def _system(self, game: str) -> dict[str, str]:
        notes = self._memory / "notes.txt"
        lines = notes.read_text().splitlines()[-NOTES_SHOWN:] if notes.exists() else []
        mine = "\n".join(f"- {line}" for line in lines) or "- none yet"
        return {
            "role": "system",
            "content": f"{self._rules[game]}\n\nYour notes from earlier matches:\n{mine}\n\n{FORM}",
        }

    def _question(self, turn: ludex.Turn) -> str:
        parts = []
        if turn.refusal is not None:
            parts.append(f"That was refused: {turn.refusal.message}")
        moves = "\n".join(f"- {name}" for name in turn.names or [])
        parts += [f"You are seat {turn.seat}.\n{turn.view['text']}", f"Legal moves:\n{moves}", FORM]
        return "\n\n".join(parts)


def main() -> None:
    """Play the suite and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", required=True, help="base URL, such as http://host/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--price-in", type=float, default=0.0, help="dollars per million tokens")
    parser.add_argument("--price-out", type=float, default=0.0)
    parser.add_argument("--url", help="a Ludex server; by default one for this program")
    parser.add_argument("--data", default="ludex-data", help="its data folder")
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--run", default="scaffold")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--memory", type=Path, default=Path("memory"))
    args = parser.parse_args()

    endpoint = Endpoint(
        args.endpoint, args.model, os.environ.get("OPENAI_API_KEY"), args.price_in, args.price_out
    )
    with contextlib.ExitStack() as ending:
        # The data folder and the run persist after the server ends.
        url = args.url or ending.enter_context(ludex.serve(args.data)).url
        scaffold = Scaffold(endpoint, args.memory / args.run, Rules(url))
        result = ludex.evaluate(
            url,
            args.suite,
            scaffold,
            args.run,
            kind="llm",
            scale=args.scale,
            only=args.only,
            views=["text", "texts"],
            on_event=scaffold.saw,
        )
    print(result)
    print(json.dumps(scaffold.total.notes()))


if __name__ == "__main__":
    main()
