from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from ludex.process import find_program


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    """Return the server's program; these tests run on request and fail without it."""
    assert os.environ.get("LUDEX_BIN"), "name the server's program in LUDEX_BIN"
    return find_program()


@pytest.fixture(scope="session")
def stub(program: str) -> Iterator[str]:
    """Start a stub of a model, whose replies are malformed now and then; return its spec."""
    command = [program, "check", "llm-stub", "--agent", "anchor level=1", "--malformed", "0.15"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield f"llm model=stub base_url={url} stub=true"
        process.terminate()
