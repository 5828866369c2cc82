"""Values of other programs for small cases; writes values.json beside itself, which the tests of the metrics read.

Needs trueskill, scipy, numpy, networkx, open_spiel and cvxpy. The numbers that go in are written here or drawn from a seed.
"""

import fractions
import json
import math
import pathlib
import random

import networkx as nx
import numpy as np
import scipy.stats
import trueskill
from open_spiel.python.algorithms.nash_averaging import _max_entropy_symmetric_nash
from open_spiel.python.egt import alpharank

rng = random.Random(19)


def of_trueskill():
    """Games one after another: seats, scores, teams; skills after all of them."""
    env = trueskill.TrueSkill(draw_probability=0.10)
    cases = []
    duels = [([a, b], [s, 1 - s], []) for a, b, s in [(0, 1, 1), (1, 2, 0.5), (2, 0, 1), (0, 1, 0), (2, 1, 1), (0, 2, 0.5)]]
    free = [([0, 1, 2, 3], [4, 3, 2, 1], []), ([3, 2, 1, 0], [1, 4, 2, 3], []), ([1, 3, 0, 2], [3, 1, 2, 0], [])]
    teams = [
        ([0, 1, 2, 3, 4], [1, 1, 1, 1, -1], [0, 0, 0, 0, 1]),
        ([4, 3, 2, 1, 0], [-1, -1, -1, -1, 1], [0, 0, 0, 0, 1]),
        ([0, 2, 1], [2, -1, -1], [0, 1, 1]),
        ([3, 4, 0], [-2, 1, 1], [0, 1, 1]),
    ]
    for name, games, players in [("duels", duels, 3), ("free for all", free, 4), ("teams", teams, 5)]:
        skills = [env.create_rating() for _ in range(players)]
        for seats, scores, allied in games:
            allied = allied or list(range(len(seats)))
            groups = {}
            for seat, team in enumerate(allied):
                groups.setdefault(team, []).append(seat)
            order = list(groups.values())
            score = [scores[own[0]] for own in order]
            ranks = [sum(other > own for other in score) for own in score]
            after = env.rate([[skills[seats[s]] for s in own] for own in order], ranks=ranks)
            for own, new in zip(order, after, strict=True):
                for s, skill in zip(own, new, strict=True):
                    skills[seats[s]] = skill
        games = [{"seats": a, "scores": b, "teams": c} for a, b, c in games]
        cases.append({"name": name, "players": players, "games": games, "skills": [[s.mu, s.sigma] for s in skills]})
    return cases


def of_pairs():
    lists = [
        [(1, 2), (2, 1), (3, 4), (4, 3), (5, 7)],
        [(0.1 * k, math.sin(k)) for k in range(12)],
        [(1, 1), (1, 2), (2, 2), (3, 2), (3, 5), (4, 5)],
        [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(20)],
    ]
    out = []
    for pairs in lists:
        x, y = zip(*pairs, strict=True)
        pearson, spearman = scipy.stats.pearsonr(x, y), scipy.stats.spearmanr(x, y)
        values = {"pearson": pearson[0], "p": pearson[1], "spearman": spearman[0], "spearman_p": spearman[1]}
        out.append({"pairs": pairs, **{k: float(v) for k, v in values.items()}})
    return out


def of_quantiles():
    lists = [[3], [1, 2], [4, 1, 3, 2], [2.5, -1, 7, 7, 0, 3, 11, 0.25], [rng.random() for _ in range(101)]]
    at = [0, 0.25, 0.5, 0.75, 1]
    return [{"values": v, "quantiles": [float(np.quantile(v, q)) for q in at], "mean": float(np.mean(v))} for v in lists]


def of_graphs():
    """Undirected ties are left out. Longest circles are counted over all simple ones."""
    graphs = []
    for n, share in [(4, 1.0), (5, 0.7), (6, 1.0), (7, 0.5), (8, 0.8), (9, 0.45)]:
        edges = []
        for a in range(n):
            for b in range(a + 1, n):
                if rng.random() < share:
                    edges.append([a, b] if rng.random() < 0.5 else [b, a])
        edges.sort()
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(map(tuple, edges))
        circles = list(nx.simple_cycles(graph))
        parts = [len(c) for c in nx.strongly_connected_components(graph)]
        back, longest_back = depth_first(graph)
        graphs.append({
            "n": n,
            "edges": edges,
            "triangles": sum(len(c) == 3 for c in circles),
            "components": len(parts),
            "largest": max(parts),
            "simple": sum(len(c) <= 6 for c in circles),
            "longest": max(map(len, circles), default=0),
            "dfs": back,
            "dfs_longest": longest_back,
        })
    return graphs


def depth_first(graph):
    """networkx labels the edges of a depth-first search; a reverse edge closes a circle if its end is still open."""
    depth, open_nodes, back, longest = {}, set(), 0, 0
    for a, b, kind in nx.dfs_labeled_edges(graph):
        if kind == "forward":
            depth[b] = 0 if a == b else depth[a] + 1
            open_nodes.add(b)
        elif kind == "reverse":
            open_nodes.remove(b)
        elif b in open_nodes:
            back += 1
            longest = max(longest, depth[a] - depth[b] + 1)
    return back, longest


def scores_of(n):
    table = [[0.5] * n for _ in range(n)]
    for a in range(n):
        for b in range(a + 1, n):
            table[a][b] = rng.randrange(0, 21) / 20
            table[b][a] = 1 - table[a][b]
    return table


def of_alpha_rank():
    out = []
    for n, alpha, m in [(3, 1.0, 50), (4, 0.3, 10), (5, 2.0, 20), (6, 0.1, 50)]:
        table = scores_of(n)
        masses = alpharank.compute([np.array(table)], m=m, alpha=alpha)[2]
        out.append({"payoffs": table, "alpha": alpha, "m": m, "masses": [float(x) for x in masses]})
    return out


def exact(game, masses):
    """The equilibrium in fractions. The solver's masses say what is played; equal strategies share what one of them would have."""
    game = [[fractions.Fraction(x).limit_denominator(10**6) for x in row] for row in game]
    played = [k for k, mass in enumerate(masses) if mass > 1e-6]
    alike = {}
    for k in played:
        alike.setdefault(tuple(game[k]), []).append(k)
    first = [group[0] for group in alike.values()]
    # Every strategy that is played gets 0 against p, and p sums to 1: Gaussian elimination.
    rows = [[game[i][j] for j in first] + [fractions.Fraction(0)] for i in first]
    rows.append([fractions.Fraction(1)] * (len(first) + 1))
    for column in range(len(first)):
        pivot = next(r for r in range(column, len(rows)) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for r in range(len(rows)):
            if r != column:
                rows[r] = [x - rows[r][column] * y for x, y in zip(rows[r], rows[column])]
    out = [0.0] * len(game)
    for row, group in zip(rows, alike.values()):
        for k in group:
            out[k] = float(row[-1] / len(group))
    return out


def of_nash():
    out = []
    paper = [[0, 1, -1], [-1, 0, 1], [1, -1, 0]]
    games = [paper, [[0, 4.6, -4.6], [-4.6, 0, 4.6], [4.6, -4.6, 0]]]
    for n in [3, 4, 5, 6, 8]:
        table = scores_of(n)
        # Ordered differences, so that the matrix is antisymmetric to the bit.
        game = [[0.0] * n for _ in range(n)]
        for a in range(n):
            for b in range(a + 1, n):
                game[a][b] = table[a][b] - table[b][a]
                game[b][a] = -game[a][b]
        games.append(game)
    # Copies of the first: many equilibria.
    copied = [row[:1] + row for row in paper]
    games.append([copied[0][:], *copied])
    for game in games:
        game = np.array(game, dtype=float)
        masses = [float(x) for x in _max_entropy_symmetric_nash(game, eps=0.0)[:, 0]]
        out.append({"game": game.tolist(), "masses": masses, "exact": exact(game.tolist(), masses)})
    return out


values = {
    "trueskill": of_trueskill(),
    "pairs": of_pairs(),
    "quantiles": of_quantiles(),
    "graphs": of_graphs(),
    "alpha_rank": of_alpha_rank(),
    "nash": of_nash(),
}
path = pathlib.Path(__file__).with_name("values.json")
path.write_text(json.dumps(values, indent=1) + "\n")
