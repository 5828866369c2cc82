"""Writes what the package `trueskill` 0.4.5 makes of games between teams, for tests/tests/runs/skills.rs.

    python make_trueskill.py | gzip -n9 > trueskill.json.gz
"""

import json
import random

from trueskill import Rating, TrueSkill

# The sizes of the teams: two seats, three and five, one against two and against four, two against two, three pairs.
SHAPES = [[1, 1], [1, 1, 1], [1, 1, 1, 1, 1], [1, 2], [1, 4], [2, 2], [2, 2, 2]]
PLAYERS = 8
draw = random.Random(15)
env = TrueSkill()


def game() -> dict:
    shape = draw.choice(SHAPES)
    seats = draw.sample(range(PLAYERS), sum(shape))
    teams = [team for team, size in enumerate(shape) for _ in range(size)]
    order = draw.sample(range(len(seats)), len(seats))
    scores = [draw.choice([-1.0, 0.0, 1.0, 2.0]) for _ in shape]
    return {
        "seats": [seats[i] for i in order],
        "teams": [teams[i] for i in order],
        "scores": [scores[teams[i]] for i in order],
    }


series = []
for length in [1] * 40 + [60] * 4:
    games = [game() for _ in range(length)]
    skills = [Rating() for _ in range(PLAYERS)]
    for played in games:
        names = list(dict.fromkeys(played["teams"]))  # tied teams are compared in this order
        groups = [[seat for seat, team in zip(played["seats"], played["teams"]) if team == name] for name in names]
        score = dict(zip(played["teams"], played["scores"]))
        ranks = [-score[name] for name in names]
        after = env.rate([[skills[p] for p in group] for group in groups], ranks=ranks, min_delta=1e-12)
        for group, ratings in zip(groups, after):
            for player, rating in zip(group, ratings):
                skills[player] = rating
    series.append({"games": games, "skills": [[s.mu, s.sigma] for s in skills]})
print(json.dumps(series))
