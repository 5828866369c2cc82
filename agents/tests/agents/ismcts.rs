//! Tests of `ismcts`: required results in small games, determinism, and hidden information.

use std::time::{Duration, Instant};

use crate::common::{after, check_remote_moves, game, near, play, seats, unfit};
use ludex_agents::{AgentSpec, build};
use ludex_env::{AgentKey, Budget, Draw, MoveRequest, Stream};

#[test]
fn search_bets_king_and_folds_jack() {
    let g = game("kuhn_poker");
    let (agent, draw) = (build("ismcts sims=1000", &g).unwrap(), Draw::new(g.id(), 3, 0));
    // Cards of seat 0 and seat 1, moves so far, seat to move, required move.
    let cases = [
        (&[0, 2, 1][..], 1, 1, "the king calls"),
        (&[0, 2, 0], 1, 1, "the king bets after a pass"),
        (&[2, 0, 0, 1], 0, 1, "the king calls after its own pass"),
        (&[2, 0, 1], 1, 0, "the jack folds"),
        (&[0, 2, 0, 1], 0, 0, "the jack folds after its own pass"),
    ];
    for (history, seat, wanted, why) in cases {
        for turn in 0..20 {
            assert_eq!(near(&*agent, &*after(&g, history), seat, turn, &draw), wanted, "{why}, turn {turn}");
        }
    }
}

/// Returns the mean return of `spec` against `random`, over this many seeds and both seats.
fn gain(g: &ludex_env::GameRef, spec: &str, seeds: u64) -> f64 {
    let [first, second] = [[spec, "random"], ["random", spec]].map(|specs| seats(g, &specs));
    let sum: f64 = (0..seeds).map(|seed| play(g, &first, seed).1[0] + play(g, &second, seed).1[1]).sum();
    sum / (2 * seeds) as f64
}

#[test]
fn search_beats_random() {
    let leduc = gain(&game("leduc_poker"), "ismcts sims=100", 100);
    assert!(leduc > 0.5, "{leduc} antes a hand");
    let dice = gain(&game("liars_dice"), "ismcts sims=100", 100);
    assert!(dice > 0.3, "{dice}");
}

#[test]
fn search_moves_are_equal_for_local_and_remote_views() {
    let strings = ludex_games::games().iter().flat_map(|entry| {
        let presets = game(entry.info.id).spec().presets.clone();
        let named = presets.into_keys().map(move |p| format!("{}(preset={p})", entry.info.id));
        [entry.info.id.to_owned()].into_iter().chain(named)
    });
    // Presets without changes are the same game.
    let mut known = std::collections::BTreeSet::new();
    for string in strings.collect::<Vec<_>>() {
        let g = game(&string);
        if !known.insert(g.spec().string.clone()) {
            continue;
        }
        let agent = match build("ismcts sims=20", &g) {
            Ok(agent) => agent,
            Err(e) => {
                assert!(unfit(&e) && e.message.contains("use mcts"), "{string}: {e}");
                continue;
            }
        };
        check_remote_moves(&*agent, &g, 4, 40, &mut Stream::from_text(&string));
    }
}

#[test]
fn search_ignores_hidden_cards() {
    let g = game("kuhn_poker");
    let (agent, draw) = (build("ismcts sims=50", &g).unwrap(), Draw::new(g.id(), 5, 0));
    for turn in 0..40 {
        let [low, high] = [0, 2].map(|hidden| near(&*agent, &*after(&g, &[1, hidden, 0, 1]), 0, turn, &draw));
        assert_eq!(low, high, "turn {turn}");
    }
}

#[test]
fn deadline_cuts_search_and_adds_note() {
    let g = game("leduc_poker");
    let (agent, state) = (build("ismcts sims=1000000000", &g).unwrap(), after(&g, &[0, 1]));
    let ask = MoveRequest::on_state(&*state, 0, 0, &[1, 2], AgentKey::Own(&[0; 32]));
    for left in [0, 5] {
        let answer = agent.act(&ask.with_budget(Budget::until(Instant::now() + Duration::from_millis(left)))).unwrap();
        assert_eq!(answer.notes.more["cut"], true);
    }
    let spec = AgentSpec::parse("ismcts").unwrap();
    assert_eq!((spec.budget().sims, spec.reproducible()), (Some(1000), true));
}
