"""Code of the page on training language models, by section."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "llm-training.md"


def code(section: str, language: str) -> list[str]:
    """Return the code blocks of a section in a language.

    The installation is that of the test environment, so lines with ``pip install`` are omitted.
    """
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    lines = [[line for line in b.splitlines() if "pip install" not in line] for b in blocks]
    found = ["\n".join(block) for block in lines if block]
    assert found, f"{section} has no code in {language}"
    return found


def listed_versions() -> dict[str, str]:
    """Return the versions of the packages in the table of the page."""
    table = PAGE.read_text().partition("\n## Versions\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \|", table, re.MULTILINE))


def run_commands(section: str, folder: Path, **variables: str) -> str:
    """Run the commands of a section in a folder; return what they print."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-c", "\n".join(code(section, "sh"))],
        cwd=folder,
        env={**os.environ, **variables, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
