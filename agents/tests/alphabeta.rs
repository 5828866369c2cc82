//! `alphabeta`: perfect play where it sees to the end, threats at a distance, and games that it leaves alone.

mod common;

use common::{after, far, game, near, play, seats};
use ludex_agents::{ErrorKind, build};
use ludex_env::erased::legal_list;
use ludex_env::{Draw, DynState, Turn};

/// The value of a position for seat 0 by plain minimax.
fn minimax(state: &dyn DynState) -> f64 {
    let Turn::Seat(seat) = state.turn() else {
        return state.returns()[0];
    };
    let values = legal_list(state, seat).into_iter().map(|a| {
        let mut next = state.boxed();
        next.play_unchecked(a);
        minimax(&*next)
    });
    if seat == 0 { values.fold(-1.0, f64::max) } else { values.fold(1.0, f64::min) }
}

#[test]
fn sees_what_minimax_sees() {
    // Every position of tic_tac_toe after four plies of a spread of openings: the move keeps the value.
    let g = game("tic_tac_toe");
    let agent = build("alphabeta depth=9", &g).unwrap();
    let draw = Draw::new(g.id(), 0, 0);
    for opening in [[0, 1, 2, 3], [4, 0, 8, 2], [0, 4, 8, 1], [1, 7, 3, 5], [0, 8, 4, 2]] {
        for plies in 2..=4 {
            let state = after(&g, &opening[..plies]);
            let seat = plies % 2;
            let mut next = state.boxed();
            next.play(seat, near(&*agent, &*state, seat, 0, &draw)).unwrap();
            assert_eq!(minimax(&*next), minimax(&*state), "{:?}", &opening[..plies]);
        }
    }
}

#[test]
fn perfect_play_draws_tic_tac_toe() {
    let g = game("tic_tac_toe");
    for seed in 0..5 {
        let (_, r) = play(&g, &seats(&g, &["alphabeta depth=9", "alphabeta depth=9"]), seed);
        assert_eq!(r, [0.0, 0.0], "seed {seed}");
        for specs in [["alphabeta depth=9", "random"], ["random", "alphabeta depth=9"]] {
            let (_, r) = play(&g, &seats(&g, &specs), seed);
            assert!(r[usize::from(specs[0] == "random")] >= 0.0, "seed {seed} {specs:?}");
        }
    }
}

#[test]
fn takes_a_win_in_one_and_blocks_one_at_connect_four() {
    let g = game("connect_four");
    for depth in [1, 2, 4, 6] {
        let agent = build(&format!("alphabeta depth={depth}"), &g).unwrap();
        for turn in 0..5 {
            let draw = Draw::new(g.id(), 0, 0);
            assert_eq!(near(&*agent, &*after(&g, &[3, 0, 3, 0, 3, 6]), 0, turn, &draw), 3, "the win, depth {depth}");
            if depth > 1 {
                assert_eq!(near(&*agent, &*after(&g, &[3, 0, 3, 0, 3]), 1, turn, &draw), 3, "the block, depth {depth}");
            }
        }
    }
}

#[test]
fn takes_a_win_in_one_and_blocks_one_at_gomoku() {
    // Black has four in a row from the left edge, White four along the bottom from the left edge.
    let g = game("gomoku");
    let fours = [0, 210, 1, 211, 2, 212, 3, 213];
    for depth in [1, 2] {
        let agent = build(&format!("alphabeta depth={depth}"), &g).unwrap();
        let draw = Draw::new(g.id(), 0, 0);
        assert_eq!(near(&*agent, &*after(&g, &fours), 0, 0, &draw), 4, "the win, depth {depth}");
        assert_eq!(near(&*agent, &*after(&g, &fours[..7]), 1, 0, &draw), 4, "the block, depth {depth}");
    }
}

#[test]
fn finds_a_double_threat() {
    // x at the bottom in columns 2 and 3: 1 or 4 makes three in a row, open at both ends.
    let g = game("connect_four");
    let state = after(&g, &[3, 3, 2, 3]);
    for turn in 0..5 {
        let a = near(&*build("alphabeta depth=4", &g).unwrap(), &*state, 0, turn, &Draw::new(g.id(), 0, 0));
        assert!(a == 1 || a == 4, "{a}");
    }
}

#[test]
fn a_lost_position_is_held_out() {
    // o is lost to the open three; blocking one end loses a move later than anything else.
    let g = game("connect_four");
    let state = after(&g, &[3, 3, 2, 3, 1]);
    let a = near(&*build("alphabeta depth=6", &g).unwrap(), &*state, 1, 0, &Draw::new(g.id(), 0, 0));
    assert!(a == 0 || a == 4, "{a}");
}

#[test]
fn ties_follow_the_key_near_and_far() {
    let g = game("tic_tac_toe");
    let (agent, state) = (build("alphabeta depth=2", &g).unwrap(), g.start());
    let moves: Vec<u32> = (0..20).map(|seed| near(&*agent, &*state, 0, 0, &Draw::new(g.id(), seed, 0))).collect();
    assert!(moves.iter().any(|a| *a != moves[0]), "{moves:?}");
    for (seed, a) in moves.iter().enumerate() {
        let draw = Draw::new(g.id(), seed as u64, 0);
        assert_eq!((*a, *a), (near(&*agent, &*state, 0, 0, &draw), far(&*agent, &g, &*state, 0, 0, &draw)));
    }
}

#[test]
fn deeper_beats_shallower_at_connect_four() {
    let g = game("connect_four");
    let mut score = 0.0;
    for seed in 0..6 {
        score += play(&g, &seats(&g, &["alphabeta depth=6", "alphabeta depth=1"]), seed).1[0];
        score += play(&g, &seats(&g, &["alphabeta depth=1", "alphabeta depth=6"]), seed).1[1];
    }
    assert!(score >= 8.0, "{score} of 12");
}

#[test]
fn games_that_do_not_fit_are_refused() {
    for (name, why) in [
        ("kuhn_poker", "chance"),
        ("kuhn_poker(players=3)", "two seats"),
        ("iterated_prisoners_dilemma", "sum to zero"),
    ] {
        let e = build("alphabeta depth=2", &game(name)).err().unwrap();
        assert_eq!(e.kind, ErrorKind::Unfit, "{name}");
        assert!(e.message.contains(why) && e.message.contains("mcts"), "{e}");
    }
}
