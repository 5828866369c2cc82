"""Writes a run as ``.eval`` logs for Inspect."""

from __future__ import annotations

import argparse
import sys

from ..errors import LudexError
from .logs import write_log


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m ludex.inspect", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="name, folder or bundle of the run")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE.eval",
        help="log to write; several candidates get FILE-AGENT.eval each",
    )
    parser.add_argument(
        "--data", default="./ludex-data", metavar="DIR", help="data folder [%(default)s]"
    )
    args = parser.parse_args()
    try:
        paths = write_log(args.run, args.out, data=args.data)
    except LudexError as error:
        sys.exit(f"error: {error}")
    for path in paths:
        print(path)


if __name__ == "__main__":
    main()
