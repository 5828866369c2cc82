"""Train a language model with GRPO in tic_tac_toe: first on supervised data, then by play.

    pip install 'ludex[trl]'
    python grpo_tic_tac_toe.py                       # a few minutes on two cores
    python grpo_tic_tac_toe.py --data sft.jsonl      # rows with a conversation, `messages`

The model is a tiny Qwen3 with random weights, and its tokenizer is trained on the data, so nothing
is downloaded. Supervised steps teach it to call the tool `play`. In GRPO, the reward is the result
of the game and the share of legal moves, which rises with the default seed, and with others by
little. The same arguments give the same numbers.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import torch
import trl
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, set_seed
from transformers.utils import get_json_schema

import ludex
from ludex.llm import Episode, Reward, seed_rows

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

GAME = "tic_tac_toe"
# Short prompts and answers, since the model is small.
SETTINGS: dict[str, Any] = {"rules": "none", "format": "text"}
SPECIAL = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SPECIAL += ["<|im_start|>", "<think>", "</think>"]
# A move is a word, so that it has a token of its own.
WORDS = r"[xo]\(\d,\d\)| (?=[xo]\()| ?\w+|\s+|[^\w\s]+"
# So have the words that the template adds to a call.
WORDS_OF_TEMPLATE = 'system user assistant {"name": "play", "arguments": {"answer": "Answer: '
TEMPLATE = "qwen3_instruct_2507.jinja"
# Each step of GRPO plays the same starts, so that the shares of the steps can be compared.
STARTS, GENERATIONS = 6, 8


def supervised_rows(url: str, episodes: int) -> list[dict[str, Any]]:
    """Return conversations of random legal moves."""
    draw = torch.Generator().manual_seed(0)
    rows = []
    with ludex.Client(url) as client, Episode(client, GAME, **SETTINGS) as episode:
        for row in seed_rows(episodes):
            episode.reset(**row)
            while not episode.over:
                legal = episode.question.partition("Legal moves:\n")[2].partition("\n\n")[0]
                moves = legal.splitlines()
                at = int(torch.randint(len(moves), (1,), generator=draw))
                episode.answer(f"Answer: {moves[at]}")
            rows.append({"messages": episode.messages})
    return rows


def conversations(rows: list[dict[str, Any]], tool: dict[str, Any]) -> Dataset:
    """Return the rows as the model sees them in GRPO: its answers are calls of the tool."""
    as_tool_calls = ludex.trl.as_tool_calls
    return Dataset.from_list(
        [{"messages": as_tool_calls(row["messages"]), "tools": [tool]} for row in rows]
    )


def new_tokenizer(rows: list[dict[str, Any]], tool: dict[str, Any]) -> Any:
    """Return a tokenizer that is trained on the texts of the rows."""
    bpe = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(WORDS), "isolated")
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([split, whole])
    bpe.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_end|>", *SPECIAL]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1024, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    template = (Path(trl.__file__).parent / "chat_templates" / TEMPLATE).read_text()
    contents = [message["content"] for row in rows for message in row["messages"]]
    bpe.train_from_iterator([WORDS_OF_TEMPLATE, json.dumps(tool), *contents], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = template
    return tokenizer


def new_model(tokenizer: Any) -> Any:
    """Return a small model with random weights."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=4096,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            tie_word_embeddings=True,
        )
    )


def legal_share(environments: list[Any], **columns: Any) -> list[float]:
    """Return the share of legal moves among the answers of each rollout.

    A rollout that ends before its game has one answer without a move.
    """
    shares = []
    for environment in environments:
        episode = environment.episode
        moves = episode.metrics["moves"]
        shares.append(moves / (moves + episode.refused + (not episode.over)))
    return shares


def options(out: Path, name: str, seed: int, **more: Any) -> dict[str, Any]:
    """Return the arguments of both trainers."""
    return {
        "output_dir": str(out / name),
        "seed": seed,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "report_to": [],
        "logging_steps": 1,
        "disable_tqdm": True,
        **more,
    }


def main() -> None:
    """Train, and print the share of legal moves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="JSON Lines with `messages`; default: made here")
    parser.add_argument("--url", help="a Ludex server; by default one for this program")
    parser.add_argument("--warm-up", type=int, default=120, help="supervised steps")
    parser.add_argument("--steps", type=int, default=14, help="steps of GRPO")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("grpo"))
    args = parser.parse_args()

    set_seed(args.seed)
    torch.set_num_threads(1)
    url = args.url or ludex.serve().url
    if args.data:
        rows = [json.loads(line) for line in args.data.read_text().splitlines()]
    else:
        rows = supervised_rows(url, 400)
    # One refused answer is enough to lose.
    environment = ludex.trl.environment(
        GAME, "random", url=url, tries=1, reward=Reward("unit"), **SETTINGS
    )
    tool = get_json_schema(environment().play)
    tokenizer = new_tokenizer(rows, tool)
    model = new_model(tokenizer)

    warm_up = trl.SFTTrainer(
        model,
        processing_class=tokenizer,
        train_dataset=conversations(rows, tool),
        args=trl.SFTConfig(
            **options(args.out, "sft", args.seed),
            per_device_train_batch_size=8,
            max_steps=args.warm_up,
            learning_rate=4e-3,
            lr_scheduler_type="constant",
            assistant_only_loss=True,
        ),
    )
    warm_up.train()

    play = trl.GRPOTrainer(
        model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(ludex.trl.rows(GAME, STARTS, url=url, **SETTINGS)),
        reward_funcs=[legal_share],
        args=trl.GRPOConfig(
            **options(args.out, "grpo", args.seed),
            per_device_train_batch_size=STARTS * GENERATIONS,
            num_generations=GENERATIONS,
            max_steps=args.steps,
            max_completion_length=512,
            max_tool_calling_iterations=6,
            learning_rate=4e-4,
            lr_scheduler_type="constant",
            beta=0.0,
        ),
        environment_factory=environment,
    )
    play.train()
    log = play.state.log_history
    curve = [entry["rewards/legal_share/mean"] for entry in log if "reward" in entry]
    quarter = max(len(curve) // 4, 1)
    first, last = sum(curve[:quarter]) / quarter, sum(curve[-quarter:]) / quarter
    print(f"legal moves: {first:.1%} in the first quarter, {last:.1%} in the last")


if __name__ == "__main__":
    main()
