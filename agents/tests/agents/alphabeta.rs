//! Tests of `alphabeta`: perfect play within its horizon, distant threats, and refused games.

use std::collections::HashSet;

use crate::common::{after, far, game, near, play, seats, unfit};
use ludex_agents::build;
use ludex_env::{AgentKey, Draw, DynState, MoveRequest, ToMove};

/// Returns the value of a position for seat 0, computed by plain minimax.
fn minimax(state: &dyn DynState) -> f64 {
    let ToMove::Seat(seat) = state.turn() else {
        return state.returns()[0];
    };
    let values = state.legal_list(seat).into_iter().map(|a| {
        let mut next = state.boxed();
        next.play_unchecked(a);
        minimax(&*next)
    });
    if seat == 0 { values.fold(-1.0, f64::max) } else { values.fold(1.0, f64::min) }
}

#[test]
fn search_agrees_with_minimax() {
    // In every position of tic_tac_toe after four plies of various openings, the move preserves the value.
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
fn search_plays_winning_moves_and_blocks_threats_in_connect_four() {
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
fn search_plays_winning_moves_and_blocks_threats_in_gomoku() {
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
fn search_finds_double_threat() {
    // x at the bottom in columns 2 and 3: a stone in column 1 or 4 makes three in a row, open at both ends.
    let g = game("connect_four");
    let state = after(&g, &[3, 3, 2, 3]);
    for turn in 0..5 {
        let a = near(&*build("alphabeta depth=4", &g).unwrap(), &*state, 0, turn, &Draw::new(g.id(), 0, 0));
        assert!(a == 1 || a == 4, "{a}");
    }
}

#[test]
fn search_delays_unavoidable_loss() {
    // o loses to the open three; blocking one end delays the loss longest.
    let g = game("connect_four");
    let state = after(&g, &[3, 3, 2, 3, 1]);
    let a = near(&*build("alphabeta depth=6", &g).unwrap(), &*state, 1, 0, &Draw::new(g.id(), 0, 0));
    assert!(a == 0 || a == 4, "{a}");
}

#[test]
fn ties_are_broken_by_key() {
    let g = game("tic_tac_toe");
    let (agent, state) = (build("alphabeta depth=2", &g).unwrap(), g.start());
    let moves: Vec<u32> = (0..20).map(|seed| near(&*agent, &*state, 0, 0, &Draw::new(g.id(), seed, 0))).collect();
    assert!(moves.iter().any(|a| *a != moves[0]), "{moves:?}");
    for (seed, a) in moves.iter().enumerate() {
        let draw = Draw::new(g.id(), seed as u64, 0);
        assert_eq!((*a, *a), (near(&*agent, &*state, 0, 0, &draw), far(&*agent, &g, &*state, 0, 0, &draw)));
    }
}

/// Returns the reply of the agent `spec` in game `name` after these plies.
fn notes(name: &str, spec: &str, plies: &[u32]) -> ludex_agents::MoveReply {
    let g = game(name);
    let state = after(&g, plies);
    let seat = plies.len() % 2;
    let legal = state.legal_list(seat);
    let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Own(&[0; 32]));
    build(spec, &g).unwrap().act(&ask).unwrap()
}

#[test]
fn node_limit_is_respected_and_reproducible() {
    let (mut most, mut deepest) = (0, 0);
    for nodes in [1, 50, 1_000, 20_000] {
        let spec = format!("alphabeta nodes={nodes}");
        let answer = notes("connect_four", &spec, &[3, 3]);
        let (looked, depth) =
            (answer.notes.more["nodes"].as_u64().unwrap(), answer.notes.more["depth"].as_u64().unwrap());
        assert!(looked <= nodes + 20 && looked >= most && depth >= deepest.max(1), "{spec}: {looked}, depth {depth}");
        (most, deepest) = (looked, depth);
        assert_eq!(notes("connect_four", &spec, &[3, 3]).mv, answer.mv);
    }
    assert!(deepest >= 6, "{deepest}");
    // A depth limit in the same spec also applies.
    assert_eq!(notes("connect_four", "alphabeta depth=2 nodes=1000000", &[3, 3]).notes.more["depth"], 2);
}

#[test]
fn small_noise_varies_moves_but_never_misses_a_win() {
    let g = game("connect_four");
    let many = |spec: &str, plies: &[u32]| {
        let (agent, state) = (build(spec, &g).unwrap(), after(&g, plies));
        let moves = (0..40).map(|seed| near(&*agent, &*state, plies.len() % 2, 0, &Draw::new(g.id(), seed, 0)));
        moves.collect::<HashSet<u32>>()
    };
    assert!(many("alphabeta depth=2 noise=1", &[3, 0, 3, 0, 3, 6]).len() > 3);
    assert_eq!(many("alphabeta depth=2 noise=0.05", &[3, 0, 3, 0, 3, 6]), HashSet::from([3]));
}

#[test]
fn search_moves_legally_on_every_board() {
    for name in [
        "gomoku(size=1,connect=1)",
        "gomoku(size=3,connect=1)",
        "gomoku(size=3,connect=2)",
        "gomoku(size=5,connect=5)",
        "gomoku(preset=qitown,size=7,connect=4)",
        "gomoku(size=19,connect=19)",
        "reversi",
        "reversi(preset=qitown)",
        "ataxx(max_plies=60)",
        "ataxx(preset=botzone,max_plies=60)",
        "breakthrough(rows=2,columns=2)",
        "breakthrough(preset=gtbench)",
        "breakthrough(rows=8,columns=16)",
    ] {
        let g = game(name);
        for seed in 0..2 {
            // An illegal move would cause a panic in `play`.
            play(&g, &seats(&g, &["alphabeta nodes=60", "random"]), seed);
            play(&g, &seats(&g, &["random", "alphabeta depth=1 noise=0.3"]), seed);
        }
    }
}

#[test]
fn search_beats_random_on_every_board() {
    for name in ["gomoku", "reversi", "ataxx", "breakthrough"] {
        let g = game(name);
        for seed in 0..2 {
            for specs in [["alphabeta nodes=300", "random"], ["random", "alphabeta nodes=300"]] {
                let (_, r) = play(&g, &seats(&g, &specs), seed);
                assert_eq!(r[usize::from(specs[0] == "random")], 1.0, "{name} {specs:?} {seed}");
            }
        }
    }
}

#[test]
fn deeper_search_beats_shallow_search_at_connect_four() {
    let g = game("connect_four");
    let mut score = 0.0;
    for seed in 0..6 {
        score += play(&g, &seats(&g, &["alphabeta depth=6", "alphabeta depth=1"]), seed).1[0];
        score += play(&g, &seats(&g, &["alphabeta depth=1", "alphabeta depth=6"]), seed).1[1];
    }
    assert!(score >= 8.0, "{score} of 12");
}

#[test]
fn unsupported_games_are_refused() {
    for (name, why) in [
        ("kuhn_poker", "chance"),
        ("kuhn_poker(players=3)", "two seats"),
        ("iterated_prisoners_dilemma", "sum to zero"),
    ] {
        let e = build("alphabeta depth=2", &game(name)).err().unwrap();
        assert!(unfit(&e), "{name}");
        assert!(e.message.contains(why) && e.message.contains("mcts"), "{e}");
    }
}
