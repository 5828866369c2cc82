"""Message types are generated from the JSON Schema of the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ludex

PACKAGE = Path(ludex.__file__).parent
GENERATOR = Path(__file__).parents[1] / "tools/generate_types.py"


def test_message_types_match_schema() -> None:
    done = subprocess.run(
        [sys.executable, str(GENERATOR)], capture_output=True, check=True, encoding="utf-8"
    )
    current = (PACKAGE / "_messages.py").read_text(encoding="utf-8")
    assert current == done.stdout, "_messages.py is outdated: run tests/run --bless"
