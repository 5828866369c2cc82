//! Tests of `expectiminimax`: exact values within the horizon, with chance and more than two seats, and refused games.

use crate::common::{after, game, near, unfit};
use ludex_agents::build;
use ludex_env::{Draw, DynState, Outcomes, Seat, ToMove};

/// Returns the value of a position for every seat under max^n play, computed by plain recursion.
fn values(state: &dyn DynState) -> Vec<f64> {
    let next = |a| {
        let mut next = state.boxed();
        next.play_unchecked(a);
        values(&*next)
    };
    match state.turn() {
        ToMove::Seat(seat) => {
            let mut after = state.legal_list(seat).into_iter().map(next);
            let first = after.next().unwrap();
            after.fold(first, |best, values| if values[seat] > best[seat] { values } else { best })
        }
        ToMove::Chance => {
            let mut outcomes = Outcomes::new();
            state.chance(&mut outcomes);
            let mut mean = vec![0.0; state.returns().len()];
            for (a, p) in outcomes.probabilities() {
                mean.iter_mut().zip(next(a)).for_each(|(mean, value)| *mean += p * value);
            }
            mean
        }
        _ => state.returns(),
    }
}

/// Checks with several keys that the agent's move after the actions `first` preserves the value for `seat`.
fn keeps_the_value(name: &str, seat: Seat, first: &[u32]) {
    let g = game(name);
    let state = after(&g, first);
    assert_eq!(state.turn(), ToMove::Seat(seat));
    let agent = build("expectiminimax depth=20", &g).unwrap();
    let wanted = values(&*state)[seat];
    for turn in 0..4 {
        let mut next = state.boxed();
        next.play(seat, near(&*agent, &*state, seat, turn, &Draw::new(g.id(), 0, 0))).unwrap();
        let found = values(&*next)[seat];
        assert!((found - wanted).abs() < 1e-12, "{name} after {first:?}: {found}, not {wanted}");
    }
}

#[test]
fn search_is_exact_within_horizon() {
    // Short races, so that the search is complete. Shortly before the horizon, it pays to roll on.
    for first in [&[][..], &[0, 1], &[0, 2, 1, 0, 1]] {
        let seat = usize::from(first.len() == 5);
        keeps_the_value("pig(winscore=6,diceoutcomes=3,horizon=7)", seat, first);
    }
    keeps_the_value("pig(players=3,winscore=4,diceoutcomes=3,horizon=6)", 0, &[]);
    keeps_the_value("pig(players=3,winscore=4,diceoutcomes=3,horizon=6)", 1, &[0, 1, 1]);
    keeps_the_value("tic_tac_toe", 0, &[0, 1, 2, 3]);
    keeps_the_value("tic_tac_toe", 1, &[4, 0, 8]);
}

#[test]
fn shallow_search_rolls_at_low_total_and_stops_at_high_total() {
    // The evaluation counts points at risk in full, so a roll pays while 5/6 (total + 4) exceeds the total.
    let g = game("pig(winscore=1000)");
    let agent = build("expectiminimax depth=2", &g).unwrap();
    for (rolls, wanted) in [(&[5, 5, 4][..], 0), (&[5, 5, 5, 5, 5, 5, 5], 1)] {
        let first: Vec<u32> = rolls.iter().flat_map(|&roll| [0, roll]).collect();
        let state = after(&g, &first);
        assert_eq!(near(&*agent, &*state, 0, 9, &Draw::new(g.id(), 0, 0)), wanted, "after {rolls:?}");
    }
}

#[test]
fn unsupported_games_are_refused() {
    for (name, why) in [("kuhn_poker", "hidden"), ("iterated_prisoners_dilemma", "simultaneous")] {
        let e = build("expectiminimax", &game(name)).err().unwrap();
        assert!(unfit(&e) && e.message.contains(why) && e.message.contains("mcts"), "{e}");
    }
}
