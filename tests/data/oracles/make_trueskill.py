"""Writes what the package `trueskill` 0.4.5 makes of games between teams, for tests/tests/runs/skills.rs.

    python make_trueskill.py | gzip -n9 > trueskill.json.gz
    zcat ../records/2026-11-23-undercover.jsonl.gz | python make_trueskill.py undercover | gzip -n9 > undercover_skills.json.gz
"""

import json
import random
import sys

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


def skilled(games: list, skills: dict) -> None:
    """Rates the games one after another; `skills` has a rating for each player."""
    for played in games:
        names = list(dict.fromkeys(played["teams"]))  # tied teams are compared in this order
        groups = [[seat for seat, team in zip(played["seats"], played["teams"]) if team == name] for name in names]
        score = dict(zip(played["teams"], played["scores"]))
        ranks = [-score[name] for name in names]
        after = env.rate([[skills[p] for p in group] for group in groups], ranks=ranks, min_delta=1e-12)
        for group, ratings in zip(groups, after):
            for player, rating in zip(group, ratings):
                skills[player] = rating


def drawn() -> list:
    series = []
    for length in [1] * 40 + [60] * 4:
        games = [game() for _ in range(length)]
        skills = {player: Rating() for player in range(PLAYERS)}
        skilled(games, skills)
        series.append({"games": games, "skills": [[s.mu, s.sigma] for s in skills.values()]})
    return series


def undercover() -> dict:
    """Records of undercover with one against four: whose return is not that of the others is the undercover."""
    records = [json.loads(line) for line in sys.stdin]
    records.sort(key=lambda record: (record["ended"], record["started"], record["episode"]))
    out = {}
    for name, roles in [("plain", ["", ""]), ("by_role", ["/other", "/undercover"])]:
        games = []
        for record in records:
            returns = record["returns"]
            teams = [int(returns.count(value) == 1) for value in returns]
            seats = [seat["name"] + roles[team] for seat, team in zip(record["seats"], teams)]
            games.append({"seats": seats, "teams": teams, "scores": returns})
        skills = {player: Rating() for played in games for player in played["seats"]}
        skilled(games, skills)
        out[name] = {player: [s.mu, s.sigma] for player, s in skills.items()}
    return {"games": len(records), "skills": out}


print(json.dumps(undercover() if sys.argv[1:] == ["undercover"] else drawn()))
