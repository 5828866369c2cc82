"""MCP: the official Python client plays over standard input and over HTTP."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import one_world
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import ludex

MODES = ["legacy", "auto"]


async def play(client: Client, **begin: Any) -> dict[str, Any]:
    """Play a game with the first legal move, after a refused one, and return the last result."""
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert {"begin", "join", "play", "position", "resign"} <= tools
    begun = await client.call_tool("begin", {"game": "tic_tac_toe", **begin})
    assert not begun.is_error
    state: dict[str, Any] = begun.structured_content
    refused = await client.call_tool("play", {"id": state["id"], "answer": "x(7,7)"})
    assert refused.is_error
    assert "x(7,7)" in refused.content[-1].text
    while not state["over"]:
        prompt = state["messages"][-1]["content"]
        move = prompt.split("Legal moves:\n")[1].split("\n")[0]
        played = await client.call_tool("play", {"id": state["id"], "answer": move})
        assert not played.is_error
        assert played.structured_content["move"] == move
        state = played.structured_content
    return state


@pytest.mark.parametrize("mode", MODES)
def test_client_plays_over_standard_input(program: str, tmp_path: Path, mode: str) -> None:
    async def run() -> dict[str, Any]:
        command = StdioServerParameters(
            command=program, args=["mcp", "--data", str(tmp_path / "store")]
        )
        async with Client(stdio_client(command), mode=mode) as client:
            return await play(client, opponent="anchor level=1", seed=3)

    state = asyncio.run(run())
    records = tmp_path / "records.jsonl"
    export = [program, "export", "--data", str(tmp_path / "store")]
    records.write_text(subprocess.run(export, check=True, capture_output=True, text=True).stdout)
    verified = subprocess.run([program, "verify", str(records)], capture_output=True, text=True)
    assert "1 episode verified" in verified.stdout, verified
    assert len(state["returns"]) == 2


@pytest.mark.parametrize("mode", MODES)
def test_client_plays_over_http(mode: str) -> None:
    async def run(url: str) -> dict[str, Any]:
        async with Client(url, mode=mode) as client:
            return await play(client)

    with ludex.serve() as server:
        assert asyncio.run(run(mcp_url(server)))["over"]


def test_game_is_found_by_its_id_after_a_reconnect() -> None:
    async def run(url: str) -> None:
        async with Client(url) as client:
            begun = await client.call_tool("begin", {"game": "nim"})
        async with Client(url) as client:
            found = await client.call_tool("position", {"id": begun.structured_content["id"]})
        assert found.structured_content["messages"] == begun.structured_content["messages"][-1:]

    with ludex.serve() as server:
        asyncio.run(run(mcp_url(server)))


def test_prompts_equal_those_of_environments() -> None:
    async def run(url: str) -> Any:
        async with Client(url) as client:
            begun = await client.call_tool("begin", {"game": "kuhn_poker", "seed": 7})
        return begun

    with ludex.serve() as server, ludex.Client(server.url) as client:
        begun = asyncio.run(run(mcp_url(server)))
        with ludex.llm.Episode(client, "kuhn_poker", seed=7) as episode:
            assert begun.structured_content["messages"] == episode.messages
            texts = [block.text for block in begun.content]
            assert [message["content"] for message in episode.messages] == texts[-2:]


def test_rules_are_resources_and_pictures_are_images() -> None:
    async def run(url: str) -> None:
        async with Client(url) as client:
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert "ludex://games/chess/rules" in uris
            rules = await client.read_resource("ludex://games/chess/rules")
            assert "chess" in rules.contents[0].text.lower()
            begun = await client.call_tool("begin", {"game": "connect_four"})
            arguments = {"id": begun.structured_content["id"], "picture": "image"}
            image = (await client.call_tool("position", arguments)).content[-1]
            assert (image.type, image.mime_type) == ("image", "image/svg+xml")

    with ludex.serve() as server:
        asyncio.run(run(mcp_url(server)))


def test_token_is_a_header(program: str, tmp_path: Path) -> None:
    add = [program, "admin", "token", "add", "--data", str(tmp_path), "--owner", "ann"]
    token = subprocess.run(add, check=True, capture_output=True, text=True).stdout.split()[-1]

    async def run(url: str) -> None:
        async with Client(url) as client:
            refused = await client.call_tool("begin", {"game": "nim"})
            assert refused.is_error
            assert "unauthorized" in refused.content[0].text
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport: AbstractAsyncContextManager[Any] = streamable_http_client(
                url, http_client=http
            )
            async with Client(transport) as client:
                begun = await client.call_tool("begin", {"game": "nim"})
                own = await client.call_tool("own_games", {})
        assert own.structured_content["games"][0]["id"] == begun.structured_content["id"]

    with ludex.serve(data=tmp_path) as server:
        asyncio.run(run(mcp_url(server)))


def test_lines_in_the_book_play(program: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    assert len(code.strip().splitlines()) <= 12
    path = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) in (-1.0, 0.0, 1.0)


def test_matches_equal_those_of_the_evaluation(
    program: str, world_model: str, tmp_path: Path
) -> None:
    world = one_world.reference(program, world_model, tmp_path / "reference")

    async def play_match(client: Client, match: one_world.Match) -> one_world.Match:
        begin = {"game": one_world.GAME, "opponent": one_world.OPPONENT}
        begin |= {"seed": match.seed, "seat": match.seat, "prompt": one_world.SETTINGS}
        state = (await client.call_tool("begin", begin)).structured_content
        messages = list(state["messages"])
        while not state["over"]:
            answer = one_world.answer_of(messages[-1]["content"])
            messages.append({"role": "assistant", "content": answer})
            call = {"id": state["id"], "answer": answer}
            state = (await client.call_tool("play", call)).structured_content
            messages += state.get("messages", [])
        return one_world.match_of(match.seed, match.seat, messages, state["return"])

    async def run(url: str) -> list[one_world.Match]:
        async with Client(url) as client:
            return [await play_match(client, match) for match in world.matches]

    with ludex.serve(tmp_path / "store") as server:
        assert asyncio.run(run(mcp_url(server))) == world.matches
    assert one_world.recorded_moves(program, tmp_path / "store") == world.moves


def mcp_url(server: ludex.Server) -> str:
    return server.url.replace("ws://", "http://") + "/mcp"
