"""CFR+ over the whole tree of a small game, and its exploitability.

    pip install 'ludex[baselines]'
    python cfr.py --game kuhn_poker --steps 1000 --export kuhn_poker.onnx

The tree is fetched once from the server, as states that can be copied (`ludex.openspiel.states`),
and becomes arrays: an iteration passes down and up its levels. The policy file is the average
policy as an exact table: each unit of the hidden layer recognizes one observation. With `--view
info`, the observation is the information state, and the agent is `net file=FILE view=info
temperature=1`. With `--view tensor`, information states with equal observations share a row,
weighted by reach, so a second exploitability is printed for the file. `--measure` prints the
exploitability of any policy file and solves nothing.

Sources: M. Zinkevich et al., "Regret Minimization in Games with Incomplete Information", NIPS 2007;
CFR+: O. Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014 (arXiv:1407.5042).
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import ludex.onnx
from ludex.openspiel import states

Array = np.ndarray[Any, np.dtype[Any]]


class Tree:
    """The tree of a game: a row per node, the root first, in order of depth.

    Attributes:
        parent: row of the parent.
        player: player who moves at the parent; -1 for chance.
        infoset: information state of the parent; -1 for chance.
        action: action at the parent; 0 for chance.
        chance: probability of the outcome; 1 after a player's action.
        returns: returns at the end, ``[nodes, players]``; 0 at inner nodes.
        levels: slices of the rows of each depth, without the root.
        legal: legal actions of the information states, ``bool [infosets, A]``.
        owner: players of the information states.
        obs: observations of the information states.
    """

    def __init__(self, game: states.Game, view: ludex.onnx.View) -> None:
        index: dict[str, int] = {}
        legal: list[list[int]] = []
        owner: list[int] = []
        obs: list[list[float]] = []
        rows: list[tuple[int, int, int, int, float]] = [(0, -1, -1, 0, 1.0)]
        returns = [[0.0] * game.num_players()]
        self.levels: list[slice] = []
        level = [(0, game.new_initial_state())]
        while level:
            children = []
            for row, state in level:
                if state.is_terminal():
                    returns[row] = state.returns()
                    continue
                player, infoset, moves = -1, -1, []
                if state.is_chance_node():
                    moves = state.chance_outcomes()
                else:
                    player = state.current_player()
                    moves = [(action, 1.0) for action in state.legal_actions()]
                    name = state.information_state_string()
                    infoset = index.setdefault(name, len(index))
                    if infoset == len(legal):
                        legal.append(state.legal_actions())
                        owner.append(player)
                        obs.append(state.tensor(view))
                for move, probability in moves:
                    children.append((len(rows), state.child(move)))
                    action = 0 if player < 0 else move
                    rows.append((row, player, infoset, action, probability))
                    returns.append([0.0] * game.num_players())
            if children:
                self.levels.append(slice(children[0][0], len(rows)))
            level = children
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        self.parent, self.player, self.infoset, self.action, self.chance = columns
        self.returns, self.owner, self.obs = np.array(returns), np.array(owner), np.array(obs)
        self.legal = np.zeros((len(index), game.num_distinct_actions()), bool)
        for infoset, actions in enumerate(legal):
            self.legal[infoset, actions] = True

    def probabilities(self, policy: Array) -> Array:
        """Return the probability of each node from its parent."""
        return np.where(self.player < 0, self.chance, policy[self.infoset, self.action])

    def reaches(self, policy: Array) -> tuple[Array, Array]:
        """Return for each node and player the reach of the player, and that of all others."""
        count = self.returns.shape[1]
        one = self.probabilities(policy)
        factors = np.ones((len(one), count + 1))
        factors[np.arange(len(one)), self.player] = one  # chance is the last column
        reach = np.ones_like(factors)
        for level in self.levels:
            reach[level] = reach[self.parent[level]] * factors[level]
        others = [np.delete(reach, player, axis=1).prod(axis=1) for player in range(count)]
        return reach[:, :count], np.stack(others, axis=1)

    def values(self, policy: Array) -> Array:
        """Return the expected returns at each node, ``[nodes, players]``."""
        one = self.probabilities(policy)[:, None]
        values: Array = self.returns.copy()
        for level in reversed(self.levels):
            np.add.at(values, self.parent[level], one[level] * values[level])
        return values

    def exploitability(self, policy: Array) -> float:
        """Return the mean gain of the players' best responses over the policy."""
        count = self.returns.shape[1]
        _, others = self.reaches(policy)
        gains = self.values(policy)[0] * -1.0
        for player in range(count):
            best, worth = policy.copy(), self.returns[:, player].copy()
            for level in reversed(self.levels):
                mine = np.arange(level.start, level.stop)[self.player[level] == player]
                gain = np.where(self.legal, 0.0, -np.inf)
                at = self.infoset[mine], self.action[mine]
                np.add.at(gain, at, others[self.parent[mine], player] * worth[mine])
                here = np.unique(self.infoset[mine])
                best[here] = np.eye(gain.shape[1])[gain[here].argmax(axis=1)]
                one = self.probabilities(best)[level]
                np.add.at(worth, self.parent[level], one * worth[level])
            gains[player] += worth[0]
        return float(gains.mean())


def normalized(weights: Array, legal: Array) -> Array:
    """Return policies proportional to the weights; uniform where all weights are 0."""
    total = weights.sum(axis=1, keepdims=True)
    uniform = legal / legal.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), uniform)


class Solver:
    """CFR+ with alternating updates and linear weights of the iterations."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.steps, self.seconds = tree, 0, 0.0
        self.regrets, self.average = np.zeros(tree.legal.shape), np.zeros(tree.legal.shape)

    def step(self) -> None:
        """Update the regrets of each player, and add to the average policy."""
        tree = self.tree
        self.steps += 1
        for player in range(tree.returns.shape[1]):
            policy = normalized(self.regrets, tree.legal)
            own, others = tree.reaches(policy)
            values = tree.values(policy)[:, player]
            mine = np.flatnonzero(tree.player == player)
            parent, at = tree.parent[mine], (tree.infoset[mine], tree.action[mine])
            np.add.at(self.regrets, at, others[parent, player] * (values[mine] - values[parent]))
            np.maximum(self.regrets, 0.0, out=self.regrets)
            np.add.at(self.average, at, self.steps * own[parent, player] * policy[at])

    def table(self) -> tuple[Array, Array, Array]:
        """Return distinct observations, a policy for each, and that policy by infoset."""
        tree, policy = self.tree, normalized(self.average, self.tree.legal)
        distinct, row = np.unique(tree.obs, axis=0, return_inverse=True)
        own, others = tree.reaches(policy)
        mine = np.flatnonzero(tree.player >= 0)
        parent, at = tree.parent[mine], (tree.infoset[mine], tree.action[mine])
        reach = (own * others)[parent, tree.player[mine]]
        merged = np.zeros((len(distinct), policy.shape[1]))
        np.add.at(merged, (row[at[0]], at[1]), (reach + 1e-12) * policy[at])
        merged /= merged.sum(axis=1, keepdims=True)
        return distinct, merged, merged[row]


class Table(nn.Module):
    """A table of logits by observations of whole numbers."""

    def __init__(self, obs: Array, policy: Array) -> None:
        super().__init__()
        known = torch.tensor(obs, dtype=torch.float32)
        # |x - o|^2 = |x|^2 - 2 x o + |o|^2 is 0 for the same observation and at least 1 otherwise.
        self.weight = nn.Parameter(2 * known.T)
        self.bias = nn.Parameter(1 - known.square().sum(dim=1))
        self.ones = nn.Parameter(torch.ones(known.shape[1], 1))
        self.logits = nn.Parameter(torch.tensor(policy, dtype=torch.float32).clamp(min=1e-9).log())

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Return logits; all 0 for an unknown observation."""
        near = torch.relu(obs @ self.weight + self.bias - (obs * obs) @ self.ones)
        return near @ self.logits


def measure(tree: Tree, file: str) -> float:
    """Return the exploitability of a policy file that plays by its probabilities."""
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (logits,) = session.run(["policy"], {"obs": tree.obs.astype(np.float32)})
    weights = np.exp(logits - np.where(tree.legal, logits, -np.inf).max(axis=1, keepdims=True))
    return tree.exploitability(normalized(weights * tree.legal, tree.legal))


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--game", default="kuhn_poker", help="game string [kuhn_poker]")
    add("--seed", type=int, default=1, help="unused: nothing is random")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, default=1000, help="iterations in all [1000]")
    budget.add_argument("--minutes", type=float, help="minutes in all, instead of --steps")
    add("--until", type=int, default=0, metavar="STEPS", help="stop early, at this many iterations")
    add("--track", metavar="DIR", help="write event files of TensorBoard to this folder")
    add("--checkpoint", type=Path, metavar="FILE", help="continue from this file, and save to it")
    add("--export", type=Path, metavar="FILE", help="write the policy to this ONNX file")
    add("--save-every", type=int, default=100, help="iterations between two saves [100]")
    add("--view", choices=["info", "tensor"], default="info", help="array of the file [info]")
    add("--measure", metavar="FILE", help="print the exploitability of this ONNX file only")
    add("--url", help="URL of a server [a local one]")
    return parser.parse_args()


def main() -> None:
    """Solve until the budget is spent."""
    args = parse_args()
    game = states.load_game(args.game, url=args.url)
    solver = Solver(Tree(game, args.view))
    print(f"{len(solver.tree.parent)} nodes, {len(solver.tree.legal)} information states")
    if args.measure:
        ludex.onnx.check(args.measure, game.spec, view=args.view)
        print(f"exploitability of the file {measure(solver.tree, args.measure):.5f}")
        return
    if args.checkpoint and args.checkpoint.exists():
        with np.load(args.checkpoint) as state:
            solver.regrets, solver.average = state["regrets"], state["average"]
            solver.steps, solver.seconds = int(state["counts"][0]), float(state["counts"][1])
    writer: Any = None
    if args.track:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(args.track)
    begun = time.monotonic() - solver.seconds
    while True:
        solver.seconds = time.monotonic() - begun
        spent = solver.seconds / 60 / args.minutes if args.minutes else solver.steps / args.steps
        over = spent >= 1 or 0 < args.until <= solver.steps
        if solver.steps % args.save_every == 0 or over:
            save(solver, args, game.spec, writer)
        if over:
            break
        solver.step()
    game.close()


def save(solver: Solver, args: argparse.Namespace, spec: ludex.Spec, writer: Any) -> None:
    """Print the exploitability, and write the checkpoint and the policy file."""
    obs, policy, by_infoset = solver.table()
    exact = solver.tree.exploitability(normalized(solver.average, solver.tree.legal))
    shared = solver.tree.exploitability(by_infoset)
    print(f"{solver.steps:>9} steps, {solver.seconds:4.0f} s: exploitability {exact:.5f}, ", end="")
    print(f"of the file {shared:.5f}", flush=True)
    if writer:
        writer.add_scalar("exploitability", exact, solver.steps)
        writer.add_scalar("exploitability_of_file", shared, solver.steps)
    if args.checkpoint:
        temporary = args.checkpoint.with_suffix(".tmp.npz")
        counts = np.array([solver.steps, solver.seconds])
        np.savez(temporary, regrets=solver.regrets, average=solver.average, counts=counts)
        os.replace(temporary, args.checkpoint)
    if args.export:
        ludex.onnx.export(Table(obs, policy), args.export, spec, heads=["policy"], view=args.view)


if __name__ == "__main__":
    main()
