from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def program() -> str:
    """Return the server program; tests that need it fail without it."""
    named = os.environ.get("LUDEX_BIN")
    if not named:
        pytest.fail(
            "LUDEX_BIN is not set: build the server (cargo build) and name the program, "
            "e.g. LUDEX_BIN=target/debug/ludex"
        )
    return named
