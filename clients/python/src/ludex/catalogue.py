"""The games and the versions of their rules; a test checks that this list is current.

Generated: tests/run --bless
"""

GAMES: dict[str, int] = {
    "tic_tac_toe": 1,
    "connect_four": 1,
    "nim": 1,
    "breakthrough": 1,
    "gomoku": 1,
    "reversi": 1,
    "ataxx": 1,
    "go": 1,
    "chess": 1,
    "pig": 1,
    "kuhn_poker": 1,
    "leduc_poker": 1,
    "texas_holdem": 1,
    "liars_dice": 1,
    "fight_the_landlord": 1,
    "hanabi": 1,
    "mcr_mahjong": 1,
    "first_sealed_auction": 1,
    "negotiation": 1,
    "bargaining": 1,
    "free_style": 1,
    "undercover": 1,
    "iterated_prisoners_dilemma": 1,
    "tower_defense": 1,
    "battle_cards": 1,
    "elemental_duel": 2,
}
