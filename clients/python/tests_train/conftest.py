from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

import ludex

# The networks are too small for a second thread.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Start a real server; these tests run on request and fail without its program."""
    assert os.environ.get("LUDEX_BIN"), "name the server's program in LUDEX_BIN"
    with ludex.serve() as server:
        yield server.url
