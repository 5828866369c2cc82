"""Train sb3-contrib's MaskablePPO in connect_four against opponents of the server.

    pip install 'ludex[sb3,examples]'
    python maskable_ppo_connect_four.py                  # a few minutes on two cores
    python maskable_ppo_connect_four.py --steps 20000    # a short trial run

The training, the measurement and the outputs are those of ppo_connect_four.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from ppo_connect_four import (
    ANCHORS,
    CLIP,
    ENTROPY,
    EPOCHS,
    GAME,
    GAMMA,
    LAMBDA,
    LEARNING_RATE,
    MINIBATCH,
    ROLLOUT,
    draw,
    evaluate,
    options_of,
)
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

import ludex


def policy_of(model: MaskablePPO) -> Callable[[Any, Any], Any]:
    """Return a policy: a function of observations and masks."""

    def policy(obs: Any, mask: Any) -> Any:
        actions, _ = model.predict(obs, action_masks=mask == 1)
        return actions

    return policy


class Course(BaseCallback):
    """A callback that adds stronger opponents, and plays the anchors periodically."""

    def __init__(self, options: argparse.Namespace, url: str) -> None:
        super().__init__()
        self.options, self.url = options, url
        self.steps: list[int] = []
        self.curves: dict[str, list[float]] = {opponent: [] for opponent in ANCHORS}
        self.begun, self.warm = time.monotonic(), True

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.warm and self.num_timesteps >= self.options.steps * 0.15:
            self.warm = False
            self.training_env.env_method("set_opponent", ANCHORS)

    def _on_rollout_start(self) -> None:
        # Here the update from the last rollout is done.
        if self.num_timesteps >= (len(self.steps) + 1) * self.options.steps / 10:
            self.measure()

    def measure(self) -> None:
        """Play the anchors."""
        self.steps.append(self.num_timesteps)
        policy = policy_of(self.model)
        for opponent, rates in self.curves.items():
            rates.append(evaluate(policy, opponent, self.url, self.options.games))
        wins = ", ".join(f"{name} {rates[-1]:.0%}" for name, rates in self.curves.items())
        seconds = time.monotonic() - self.begun
        print(f"{self.num_timesteps:>9} steps, {seconds:4.0f} s: wins against {wins}")


def main() -> None:
    """Train, then play matches against the anchors."""
    options = options_of(__doc__, 400_000)
    url = options.url or ludex.serve().url  # the server ends with this program
    envs = ludex.sb3.LudexVecEnv(GAME, options.envs, opponent="random", seat="alternate", url=url)
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=ROLLOUT,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        learning_rate=lambda left: LEARNING_RATE * max(0.05, left),
        ent_coef=ENTROPY,
        gamma=GAMMA,
        gae_lambda=LAMBDA,
        clip_range=CLIP,
        policy_kwargs={"net_arch": [256, 256], "activation_fn": torch.nn.ReLU},
        seed=options.seed,
        device="cpu",
    )
    course = Course(options, url)
    model.learn(options.steps, callback=course)
    course.measure()
    envs.close()
    model.save(options.out / "maskable_ppo_connect_four")
    path = options.out / "maskable_ppo_connect_four.png"
    draw(path, course.steps, course.curves, "MaskablePPO in connect_four")
    print(ludex.rate(policy_of(model), GAME, anchors=[0, 1, 2, 3], games=options.games, url=url))


if __name__ == "__main__":
    main()
