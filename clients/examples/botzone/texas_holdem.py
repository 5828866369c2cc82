"""Botzone bot for TexasHoldem2p: calls with a pair or a high card, raises with more, folds the rest.

    ludex match 'texas_holdem(preset=botzone)' --seat 'botzone cmd="python3 texas_holdem.py"' --seat random

A response is an integer: -1 folds, 0 calls or checks, -2 is all-in, and any other number is the
chips that the bot puts in now.
"""

import json
from collections import Counter


def to_call(request):
    """Returns the chips needed to call, computed from the blinds and the history; None after an all-in."""
    dealer = request["dealer_id"]
    bets, street = {dealer: 100, 1 - dealer: 50}, 0
    for move in request["history"]:
        if move["round"] != street:
            bets, street = {0: 0, 1: 0}, move["round"]
        player = move["player_id"]
        if move["action_type"] == "allin":
            return None
        if move["action_type"] == "call":
            bets[player] = bets[1 - player]
        elif move["action_type"] == "raise":
            bets[player] += move["action"]
    if [0, 3, 4, 5][street] != len(request["public_cards"]):
        return 0
    return bets[1 - request["my_id"]] - bets[request["my_id"]]


def strength(request):
    """Returns the strength of the hand: 0 nothing, 1 a pair or a high card, 2 better."""
    own = [card // 4 for card in request["my_cards"]]
    board = [card // 4 for card in request["public_cards"]]
    made = sorted(Counter(own + board).values(), reverse=True)
    if made[0] >= 3 or made[:2] == [2, 2] or (own[0] == own[1] and own[0] >= 8):
        return 2
    return 1 if made[0] == 2 or max(own) >= 9 else 0


def choose(request):
    cost, hand = to_call(request), strength(request)
    if cost is None:
        return -2 if hand == 2 else -1
    if hand == 2 and not any(m["action_type"] == "raise" for m in request["history"]):
        # 400 is twice the largest bet, so it is a valid raise in any round.
        return 400 if request["my_chips"] > 400 else 0
    if cost == 0 or (hand >= 1 and cost < request["my_chips"] // (10 if hand == 1 else 1)):
        return 0
    return -1


print(json.dumps({"response": choose(json.loads(input())["requests"][-1])}))
