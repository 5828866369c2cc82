from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import one_world
import pytest

from ludex.process import find_program


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    """Return the server's program; these tests run on request and fail without it."""
    assert os.environ.get("LUDEX_BIN"), "name the server's program in LUDEX_BIN"
    return find_program()


@contextmanager
def running_stub(program: str, *options: str) -> Iterator[str]:
    """Start a stub of a model; yield the base URL of its endpoint."""
    command = [program, "check", "llm-stub", *options, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture(scope="session")
def stub(program: str) -> Iterator[str]:
    """Start a stub whose replies are malformed now and then; return the spec of its agent."""
    with running_stub(program, "--agent", "anchor level=1", "--malformed", "0.15") as url:
        yield f"llm model=stub base_url={url} stub=true"


@pytest.fixture(scope="session")
def endpoint(program: str) -> Iterator[str]:
    """Start a stub that plays random legal moves; return its base URL."""
    with running_stub(program) as url:
        yield url


@pytest.fixture(scope="session")
def world_model() -> Iterator[str]:
    """Start the model of the comparison of the doors; return its base URL."""
    with one_world.running_model() as url:
        yield url
