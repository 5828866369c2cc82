"""Prints facts of the last stage of a Containerfile as variables of bash: USER, VOLUME, PROGRAM, HEALTHCHECK, COMMAND.

HEALTHCHECK and COMMAND are arrays; COMMAND is the entry point with its arguments.
"""

import json
import shlex
import sys
from pathlib import Path


def instructions(text: str) -> list[tuple[str, str]]:
    """Returns the instructions, each as its name and its arguments on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in joined.splitlines()]


def main() -> None:
    """Prints the variables of the Containerfile in the first argument."""
    stage: dict[str, str] = {}
    for name, arguments in instructions(Path(sys.argv[1]).read_text()):
        if name == "FROM":
            stage = {}
        if name == "COPY" and arguments.endswith("/ludex"):
            stage["PROGRAM"] = arguments.split()[-1]
        stage[name] = arguments
    _, _, probe = stage["HEALTHCHECK"].partition("CMD ")
    command = json.loads(stage["ENTRYPOINT"]) + json.loads(stage["CMD"])
    for name in ("USER", "VOLUME", "PROGRAM"):
        print(f"{name}={shlex.quote(stage[name])}")
    print(f"HEALTHCHECK=({shlex.join(json.loads(probe))})")
    print(f"COMMAND=({shlex.join(command)})")


if __name__ == "__main__":
    main()
