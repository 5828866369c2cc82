"""Games and suites as tasks of Inspect (``inspect_ai``), and runs as ``.eval`` logs for its viewer.

``inspect eval ludex/connect_four`` and ``inspect eval ludex/suite`` run the tasks, which are in
:mod:`ludex.inspect.tasks`.

::

    ludex.inspect.write_log("first-try", "logs/first-try.eval")

``python -m ludex.inspect first-try --out logs/first-try.eval`` does the same, and ``inspect view
--log-dir logs`` opens the viewer.
"""

from __future__ import annotations

from ..optional_imports import import_optional

import_optional("inspect_ai", "inspect")

from .logs import write_log  # noqa: E402

__all__ = ["write_log"]
