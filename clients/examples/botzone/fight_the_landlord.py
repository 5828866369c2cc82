"""Botzone bot for FightTheLandlord and FightTheLandlord2: leads its lowest cards, beats singles,
pairs and trios with the lowest possible cards, and never beats a partner's play.

    ludex match fight_the_landlord --seat 'botzone cmd="python3 fight_the_landlord.py"' --seat random --seat random

Cards are numbers: 0 to 51 are 3, 4, ... A, 2 with four suits each, 52 and 53 are the jokers. A
response is a list of cards; [] is a pass. In FightTheLandlord2 the first response is a bid, 0 to 3.
"""

import json


def rank(card):
    return card // 4 if card < 52 else card - 39


def by_rank(cards):
    groups = {}
    for card in sorted(cards):
        groups.setdefault(rank(card), []).append(card)
    return groups


def bid(request):
    """Bids one per two cards above the king, or zero if another player has bid as much."""
    wanted = min(3, sum(card >= 44 for card in request["own"]) // 2)
    return wanted if wanted > max(request["bid"], default=0) else 0


def hand_now(match, opened):
    hand = list(match["requests"][0]["own"])
    if opened.get("landlord") == opened.get("pos") and "pos" in opened:
        hand += opened["publiccard"]
    played = [card for response in match["responses"] if isinstance(response, list) for card in response]
    return [card for card in hand if card not in played]


def position(match, opened):
    """Returns the number of seats from the landlord to this bot."""
    if "pos" in opened:
        return (opened["pos"] - opened["landlord"]) % 3
    # Without bids, the landlord has 20 cards; the first plays show how far the landlord is.
    if len(match["requests"][0]["own"]) == 20:
        return 0
    return 1 if not opened["history"][0] else 2


def choose(match):
    now = match["requests"][-1]
    if "bid" in now:
        return bid(now)
    opened = next(r for r in match["requests"] if "publiccard" in r)
    groups = by_rank(hand_now(match, opened))
    before, last = now["history"]
    to_beat, seats_back = (last, 1) if last else (before, 2)
    if not to_beat:
        lowest = min(groups)
        return groups[lowest][:3] if len(groups[lowest]) < 4 else groups[lowest][:1]
    place = position(match, opened)
    if place != 0 and (place - seats_back) % 3 != 0:
        return []
    ranks = {rank(card) for card in to_beat}
    if len(ranks) == 1 and len(to_beat) <= 3:
        for r in sorted(groups):
            if r > max(ranks) and len(to_beat) <= len(groups[r]) < 4:
                return groups[r][: len(to_beat)]
    return []


print(json.dumps({"response": choose(json.loads(input()))}))
