"""The code for TRL on the page on training language models."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import trl
from page import code, listed_versions
from transformers.utils import get_json_schema

import ludex.trl

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import grpo_tic_tac_toe as example


def test_code_of_the_page_trains(program: str, tmp_path: Path) -> None:
    rows = [{"messages": row["prompt"]} for row in ludex.trl.rows("tic_tac_toe", 1)]
    tool = get_json_schema(ludex.trl.environment("tic_tac_toe")().play)
    tokenizer = example.new_tokenizer(rows, tool)
    config = trl.GRPOConfig(
        **example.options(tmp_path, "grpo", 0), max_steps=1, max_completion_length=32
    )
    names: dict[str, Any] = {"tokenizer": tokenizer, "config": config}
    names["model"] = example.new_model(tokenizer)
    for block in code("TRL", "python"):
        exec(block, names)
    (step, *_) = names["trainer"].state.log_history
    assert step["rewards/GameEnvironment/mean"] == -1


def test_page_lists_the_installed_versions() -> None:
    listed = listed_versions()
    for package in ("trl", "transformers"):
        assert version(package) == listed[package]
