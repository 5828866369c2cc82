"""Log file whose samples are written one by one.

``write_eval_log`` of Inspect writes all samples of a log at once and needs them in memory. Here
each sample is written when it is ready, as a member of the zip file, and Inspect writes the header.
"""

from __future__ import annotations

import contextlib
import os
import zipfile
from pathlib import Path
from types import TracebackType

from inspect_ai.log import EvalLog, EvalSample, condense_sample, write_eval_log


class LogFile:
    """Log in progress; its file appears at ``path`` when it is finished.

    Attributes:
        path: path of the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f".{path.name}.part")
        self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_DEFLATED)
        # Summaries of the samples as JSON, with the position of each sample.
        self._summaries: list[tuple[int, bytes]] = []

    def __enter__(self) -> LogFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        with contextlib.suppress(FileNotFoundError):
            self._part.unlink()

    def add(self, sample: EvalSample, order: int) -> None:
        """Write a sample; ``order`` is its position in the list of samples."""
        sample = condense_sample(sample)
        name = f"samples/{sample.id}_epoch_{sample.epoch}.json"
        self._zip.writestr(name, sample.model_dump_json(exclude_none=True))
        summary = sample.summary().model_dump_json(exclude_none=True)
        self._summaries.append((order, summary.encode()))

    def finish(self, header: EvalLog) -> None:
        """Write the list of samples and the header, and move the file to its path."""
        summaries = b",".join(text for _, text in sorted(self._summaries))
        self._zip.writestr("summaries.json", b"[" + summaries + b"]")
        self._zip.close()
        write_eval_log(header, self._part, format="eval", header_only=True)
        os.replace(self._part, self.path)
