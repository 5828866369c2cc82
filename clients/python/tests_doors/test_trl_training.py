"""TRL's own trainer with the environment: the matches of the reference, and the example."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import one_world
import torch
import trl
from datasets import Dataset
from transformers.utils import get_json_schema

import ludex
import ludex.trl

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import grpo_tic_tac_toe as example  # noqa: E402


class ScriptedTrainer(trl.GRPOTrainer):  # type: ignore[misc]
    """A trainer whose model's tokens come from the stub; all else is TRL's."""

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **options: Any) -> Any:
        found = []
        self.texts: list[str] = getattr(self, "texts", [])
        self.matches: list[one_world.Match] = getattr(self, "matches", [])
        for ids in prompt_ids:
            text = self._tokenizer.decode(ids)
            self.texts.append(text)
            episode = self._episode_of(text)
            reply = "Well played."
            if episode is not None:
                answer = one_world.answer_of(episode.question)
                call = json.dumps({"name": "play", "arguments": {"answer": answer}})
                reply = f"<tool_call>\n{call}\n</tool_call>"
            found.append(self._tokenizer(f"{reply}<|im_end|>")["input_ids"])
        return found, None

    def _episode_of(self, text: str) -> Any:
        """Return the running episode whose texts the model has seen, in this order."""
        for environment in self.environments:
            episode = environment.episode
            prompts = [m["content"] for m in episode.messages if m["role"] != "assistant"]
            at = [text.find(prompt) for prompt in prompts]
            seen = -1 not in at and at == sorted(at)
            if seen and not episode.over and text.count("Legal moves:\n") == len(at) - 1:
                return episode
        return None

    def _calculate_rewards(self, *args: Any, **options: Any) -> Any:
        for environment in self.environments:
            own = environment.episode
            match = one_world.match_of(own.seed, own.seat, own.messages, own.value)
            self.matches.append(match)
        return super()._calculate_rewards(*args, **options)


def test_matches_equal_those_of_the_evaluation(
    program: str, world_model: str, tmp_path: Path
) -> None:
    world = one_world.reference(program, world_model, tmp_path / "reference")
    with one_world.recording_server(tmp_path / "store") as url:
        seeds = list(dict.fromkeys(match.seed for match in world.matches))
        options = {"url": url, **one_world.SETTINGS}
        rows = ludex.trl.rows(one_world.GAME, 100, seeds=seeds, **options)
        environment = ludex.trl.environment(
            one_world.GAME, one_world.OPPONENT, record=True, **options
        )
        tool = get_json_schema(environment().play)
        tokenizer = example.new_tokenizer(example.supervised_rows(url, 20), tool)
        torch.manual_seed(0)
        trainer = ScriptedTrainer(
            example.new_model(tokenizer),
            processing_class=tokenizer,
            train_dataset=Dataset.from_list([{**row, "seed": str(row["seed"])} for row in rows]),
            args=trl.GRPOConfig(
                **example.options(tmp_path, "grpo", 0),
                per_device_train_batch_size=2 * len(rows),
                num_generations=2,
                max_completion_length=2000,
                max_steps=1,
            ),
            environment_factory=environment,
        )
        trainer.train()
    # Each group of two rollouts has one seed.
    assert sorted(trainer.matches, key=repr) == sorted(2 * world.matches, key=repr)
    assert one_world.recorded_moves(program, tmp_path / "store") == world.moves


def test_example_raises_the_share_of_legal_moves(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "grpo_tic_tac_toe.py"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shares = [float(share) for share in re.findall(r"(\d+\.\d)%", done.stdout)]
    assert len(shares) == 2, done.stdout
    assert shares[1] > shares[0]
