from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def program() -> str:
    """The real server's program; its tests are skipped, visibly, where there is none."""
    named = os.environ.get("LUDEX_BIN")
    if named:
        return named
    missing = (
        "LUDEX_BIN is not set: build the server (cargo build) and name the program, "
        "e.g. LUDEX_BIN=target/debug/ludex"
    )
    if os.environ.get("CI") or os.environ.get("LUDEX_REQUIRE_BIN"):
        pytest.fail(missing)
    # Who works on the client alone may have no Rust. tests/run and CI name the program, and
    # LUDEX_REQUIRE_BIN=1 makes its lack a failure.
    pytest.skip(missing)
