"""Train PPO with action masks in connect_four against opponents of the server, in one file.

    pip install 'ludex[examples]'
    python ppo_connect_four.py                  # two or three minutes on two cores
    python ppo_connect_four.py --steps 20000    # a short trial run

The first opponent is `random`. Later each episode draws its opponent: `random`, or alpha-beta
search of depth 1, 2 or 3. Then the trained policy plays matches and is rated against the game's
anchors. The curves (ppo_connect_four.png) and the network (ppo_connect_four.pt) go to --out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import ludex

GAME = "connect_four"
ENV = "ludex/ConnectFour-v1"
ANCHORS = ["random", "alphabeta depth=1", "alphabeta depth=2", "alphabeta depth=3"]
ROLLOUT = 32
EPOCHS = 4
MINIBATCH = 512
GAMMA, LAMBDA, CLIP, ENTROPY, LEARNING_RATE = 0.99, 0.95, 0.2, 0.01, 1e-3


class Network(nn.Module):
    """A network with two hidden layers, a policy head and a value head."""

    def __init__(self, inputs: int, actions: int, hidden: int = 256) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.policy = nn.Linear(hidden, actions)
        self.value = nn.Linear(hidden, 1)
        nn.init.zeros_(self.policy.weight)

    def forward(self, obs: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log probabilities of the actions and the value; illegal actions get -1e9."""
        body = self.body(obs.float())
        logits = self.policy(body).masked_fill(mask == 0, -1e9)
        return torch.log_softmax(logits, dim=1), self.value(body).squeeze(1)


def policy_of(network: Network, *, greedy: bool = False) -> Callable[[Any, Any], Any]:
    """Return a policy, a function of observations and masks, for opponents and ``ludex.rate``."""

    @torch.no_grad()
    def policy(obs: Any, mask: Any) -> Any:
        logp, _ = network(torch.as_tensor(obs), torch.as_tensor(mask))
        if greedy:
            return logp.argmax(dim=1).numpy()
        return torch.distributions.Categorical(logits=logp).sample().numpy()

    return policy


class PPO:
    """The network, its optimizer, and its training environments."""

    def __init__(self, envs: Any, seed: int, total: int) -> None:
        torch.manual_seed(seed)
        self.envs = envs
        space = envs.single_observation_space
        self.network = Network(int(np.prod(space.shape)), int(envs.single_action_space.n))
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, eps=1e-5)
        self.total, self.steps = total, 0
        self.obs, infos = envs.reset(seed=seed)
        self.mask = infos["action_mask"]

    def iterate(self) -> None:
        """Collect a rollout and update; the learning rate decreases linearly to zero."""
        for group in self.optimiser.param_groups:
            group["lr"] = LEARNING_RATE * max(0.05, 1 - self.steps / self.total)
        self.learn(*self.collect())

    @torch.no_grad()
    def collect(self) -> tuple[torch.Tensor, ...]:
        """Play ``ROLLOUT`` steps in every environment."""
        n = self.envs.num_envs
        obs = np.empty((ROLLOUT, *self.obs.shape), self.obs.dtype)
        masks = np.empty((ROLLOUT, *self.mask.shape), self.mask.dtype)
        actions = torch.empty((ROLLOUT, n), dtype=torch.int64)
        logps, values = torch.empty((ROLLOUT, n)), torch.empty((ROLLOUT + 1, n))
        rewards, over = np.empty((ROLLOUT, n), np.float32), np.empty((ROLLOUT, n), np.float32)
        for t in range(ROLLOUT):
            obs[t], masks[t] = self.obs, self.mask
            logp, values[t] = self.network(torch.as_tensor(obs[t]), torch.as_tensor(masks[t]))
            actions[t] = torch.distributions.Categorical(logits=logp).sample()
            logps[t] = logp.gather(1, actions[t, :, None]).squeeze(1)
            # The opponents move inside step(); environments are reset automatically.
            self.obs, rewards[t], ended, cut, infos = self.envs.step(actions[t].numpy())
            self.mask, over[t] = infos["action_mask"], ended | cut
        _, values[ROLLOUT] = self.network(torch.as_tensor(self.obs), torch.as_tensor(self.mask))
        self.steps += ROLLOUT * n
        advantages = torch.zeros((ROLLOUT, n))
        last = torch.zeros(n)
        for t in reversed(range(ROLLOUT)):
            running = 1 - torch.as_tensor(over[t])
            delta = torch.as_tensor(rewards[t]) + GAMMA * values[t + 1] * running - values[t]
            last = delta + GAMMA * LAMBDA * running * last
            advantages[t] = last
        targets = advantages + values[:-1]
        rows = [torch.as_tensor(obs), torch.as_tensor(masks), actions, logps, advantages, targets]
        return tuple(column.flatten(0, 1) for column in rows)

    def learn(
        self,
        obs: torch.Tensor,
        mask: torch.Tensor,
        action: torch.Tensor,
        before: torch.Tensor,
        advantage: torch.Tensor,
        target: torch.Tensor,
    ) -> None:
        """Update the network by PPO's clipped objective."""
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(obs)).split(MINIBATCH):
                logp, value = self.network(obs[rows], mask[rows])
                ratio = (logp.gather(1, action[rows, None]).squeeze(1) - before[rows]).exp()
                gain = torch.minimum(
                    ratio * advantage[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[rows]
                )
                entropy = -(logp.exp() * logp.clamp(min=-20)).sum(dim=1)
                loss = -gain.mean() + 0.5 * (value - target[rows]).square().mean()
                loss = loss - ENTROPY * entropy.mean()
                self.optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimiser.step()


def evaluate(
    policy: Callable[[Any, Any], Any], opponent: Any, url: str, games: int = 200, seed: int = 10**6
) -> float:
    """Play two episodes, one on each seat, in ``games / 2`` environments; return the win rate.

    The policy's first move is random. Otherwise all games would be equal, since search is
    deterministic, and a policy that knows one winning line would get a perfect score.
    """
    envs: Any = gymnasium.make_vec(
        ENV,
        num_envs=games // 2,
        opponent=opponent,
        seat="alternate",
        url=url,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    rng = np.random.default_rng(seed)
    obs, infos = envs.reset(seed=seed)
    first = np.ones(envs.num_envs, bool)
    ended, wins = np.zeros(envs.num_envs, int), 0
    while (ended < 2).any():
        mask = infos["action_mask"]
        any_move = (rng.random(mask.shape) * mask).argmax(axis=1)
        actions = np.where(first, any_move, policy(obs, mask))
        obs, reward, over, cut, infos = envs.step(actions)
        first = over | cut
        wins += int((reward[first & (ended < 2)] > 0).sum())
        ended += first
    envs.close()
    return wins / (2 * envs.num_envs)


def draw(path: Path, steps: list[int], curves: dict[str, list[float]], title: str) -> None:
    """Plot win rates over steps to a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, values in curves.items():
        axes.plot(steps, values, marker=".", label=name)
    axes.set(xlabel="steps", ylabel="share of wins", ylim=(0, 1), title=title)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
    print(f"curves: {path}")


def train(options: argparse.Namespace, url: str) -> Network:
    """Train, evaluate periodically, and plot the curves."""
    envs: Any = gymnasium.make_vec(
        ENV,
        num_envs=options.envs,
        opponent="random",
        seat="alternate",
        url=url,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    ppo = PPO(envs, options.seed, options.steps)
    steps: list[int] = []
    curves: dict[str, list[float]] = {opponent: [] for opponent in ANCHORS}
    begun, iterations, warm = time.monotonic(), 0, True
    every = max(1, options.steps // (ROLLOUT * options.envs) // 10)
    while ppo.steps < options.steps:
        if warm and ppo.steps >= options.steps * 0.15:
            warm = False
            envs.set_opponent(ANCHORS)  # each episode draws one of them
        ppo.iterate()
        iterations += 1
        if iterations % every == 0 or ppo.steps >= options.steps:
            steps.append(ppo.steps)
            for opponent, rates in curves.items():
                rates.append(evaluate(policy_of(ppo.network), opponent, url, options.games))
            wins = ", ".join(f"{name} {rates[-1]:.0%}" for name, rates in curves.items())
            print(f"{ppo.steps:>9} steps, {time.monotonic() - begun:4.0f} s: wins against {wins}")
    envs.close()
    torch.save(ppo.network.state_dict(), options.out / "ppo_connect_four.pt")
    draw(options.out / "ppo_connect_four.png", steps, curves, "PPO in connect_four")
    return ppo.network


def options_of(description: str | None, steps: int) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=steps, help=f"steps in all [{steps}]")
    parser.add_argument("--envs", type=int, default=128, help="environments [128]")
    parser.add_argument("--games", type=int, default=200, help="games of an evaluation [200]")
    parser.add_argument("--seed", type=int, default=1, help="seed [1]")
    parser.add_argument("--url", help="a server; by default a local one is started")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the results [.]")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main() -> None:
    """Train, then play matches against the anchors."""
    options = options_of(__doc__, 400_000)
    url = options.url or ludex.serve().url  # the server ends with this program
    network = train(options, url)
    # In matches, the policy has one seat, its own view, and a clock.
    print(ludex.rate(policy_of(network), GAME, anchors=[0, 1, 2, 3], games=options.games, url=url))


if __name__ == "__main__":
    main()
