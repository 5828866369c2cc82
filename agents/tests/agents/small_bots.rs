//! Tests of the rule-based bots for Kuhn poker, Leduc poker and liar's dice.

use crate::common::{after, check_remote_moves, game, near, play, seats, unfit};
use ludex_agents::build;
use ludex_env::{Draw, GameRef, Stream};

const BOTS: [(&str, &[&str]); 3] = [
    ("kuhn_honest", &["kuhn_poker", "kuhn_poker(players=5)"]),
    (
        "leduc_honest",
        &[
            "leduc_poker",
            "leduc_poker(players=4,starting_player=2)",
            "leduc_poker(suit_isomorphism=true)",
            "leduc_poker(action_mapping=true)",
        ],
    ),
    (
        "liars_odds",
        &[
            "liars_dice",
            "liars_dice(players=4,numdice=3)",
            "liars_dice(dice_sides=2)",
            "liars_dice(numdice=5,bidding_rule=reset-quantity)",
        ],
    ),
];

#[test]
fn small_bot_moves_are_equal_for_local_and_remote_views() {
    for (bot, tables) in BOTS {
        for name in tables {
            let g = game(name);
            let (agent, mut rng) = (build(bot, &g).unwrap(), Stream::from_text(name));
            for seed in 0..50 {
                check_remote_moves(&*agent, &g, seed, u32::MAX, &mut rng);
            }
        }
        let e = build(bot, &game("tic_tac_toe")).err().unwrap();
        assert!(unfit(&e));
    }
}

/// Returns the bot's move after the outcomes and actions in `history`.
fn says(bot: &str, g: &GameRef, history: &[u32]) -> u32 {
    let state = after(g, history);
    let seat = state.turn().seat().unwrap();
    near(&*build(bot, g).unwrap(), &*state, seat, 0, &Draw::new(g.id(), 0, 0))
}

#[test]
fn small_bots_play_the_expected_moves() {
    let g = game("kuhn_poker");
    assert_eq!([0, 1, 2].map(|card| says("kuhn_honest", &g, &[card, (card + 1) % 3])), [0, 1, 1]);
    // Cards of seat 0 and seat 1 (two of each rank), moves, and the board between the rounds.
    let g = game("leduc_poker");
    let leduc = |history: &[u32]| says("leduc_honest", &g, history);
    assert_eq!(leduc(&[0, 5, 2]), 2, "the highest rank raises");
    assert_eq!(leduc(&[0, 2, 1]), 1, "the middle rank checks");
    assert_eq!(leduc(&[5, 2, 2]), 1, "and calls");
    assert_eq!(leduc(&[5, 0, 2]), 0, "the lowest rank folds");
    assert_eq!(leduc(&[2, 0, 1, 1, 3]), 2, "a pair raises");
    assert_eq!(leduc(&[2, 4, 1, 1, 3, 2, 2]), 1, "at the raise limit, the bot calls");
    assert_eq!(leduc(&[4, 2, 1, 1, 0, 2]), 0, "a hand without pair or king folds");
    // Dice of both seats as outcomes, then bids by id, (quantity - 1) * 6 + (face - 1); 12 is the call.
    let g = game("liars_dice");
    let dice = |history: &[u32]| says("liars_odds", &g, history);
    assert_eq!(dice(&[2, 0]), 2, "a three bids one three");
    assert_eq!(dice(&[0, 2, 0]), 2, "three also outbids one one");
    assert_eq!(dice(&[0, 2, 3]), 12, "an improbable bid is called");
    assert_eq!(dice(&[0, 3, 3]), 9, "a bid met by the own die is raised");
}

/// Returns the mean return of `bot` against `random`, over this many seeds and both seats.
fn gain(name: &str, bot: &str, seeds: u64) -> f64 {
    let g = game(name);
    let [first, second] = [[bot, "random"], ["random", bot]].map(|specs| seats(&g, &specs));
    let sum: f64 = (0..seeds).map(|seed| play(&g, &first, seed).1[0] + play(&g, &second, seed).1[1]).sum();
    sum / (2 * seeds) as f64
}

#[test]
fn small_bots_beat_random() {
    for (name, bot, least) in
        [("kuhn_poker", "kuhn_honest", 0.1), ("leduc_poker", "leduc_honest", 0.5), ("liars_dice", "liars_odds", 0.3)]
    {
        let found = gain(name, bot, 1_000);
        assert!(found > least, "{bot}: {found} a game");
    }
}
