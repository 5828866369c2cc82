//! Tests of `solver`: legal and repeatable moves in random positions, and refused games. Tests of individual solutions
//! are in the modules of the solutions.

use crate::common::{far, game, near, play, seats, unfit};
use ludex_agents::build;
use ludex_env::{Draw, Outcomes, Stream, ToMove};

/// Plays random games, and checks the agent's moves in every position from ply `from` on.
fn wander(spec: &str, name: &str, games: u64, from: usize) {
    let g = game(name);
    let agent = build(spec, &g).unwrap();
    let mut rng = Stream::from_text(name);
    for seed in 0..games {
        let (mut state, mut draw, mut outcomes) = (g.start(), Draw::new(g.id(), seed, 0), Outcomes::new());
        for ply in 0.. {
            match state.turn() {
                ToMove::Chance => {
                    state.chance(&mut outcomes);
                    state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
                }
                ToMove::Seat(seat) => {
                    if ply >= from {
                        let a = near(&*agent, &*state, seat, ply as u32, &draw);
                        assert!(state.legal_list(seat).contains(&a), "{spec} at {name}: {a}");
                        assert_eq!(far(&*agent, &g, &*state, seat, ply as u32, &draw), a, "{spec} at {name}");
                    }
                    let a = state.random_action(seat, &mut rng);
                    state.play(seat, a).unwrap();
                }
                _ => break,
            }
        }
    }
}

#[test]
fn solver_moves_are_legal_and_equal_for_remote_views() {
    for name in ["tic_tac_toe", "nim", "nim(is_misere=false,pile_sizes=2;0;9)", "nim(pile_sizes=255;255;3)"] {
        wander("solver", name, 30, 0);
    }
    for name in ["pig", "pig(preset=gtbench)", "pig(diceoutcomes=2,piglet=true)"] {
        wander("solver", name, 5, 0);
    }
    wander("solver", "connect_four", 8, 18);
    wander("solver blunder=0.5", "tic_tac_toe", 30, 0);
}

#[test]
fn pig_bot_moves_are_legal_and_equal_for_remote_views() {
    for name in ["pig", "pig(preset=gtbench)", "pig(players=4,winscore=30)"] {
        for spec in ["hold", "hold at=1", "expectiminimax depth=2"] {
            wander(spec, name, 3, 0);
        }
    }
}

#[test]
fn solver_wins_connect_four_as_first_player() {
    let g = game("connect_four");
    for seed in 0..4 {
        let (moves, returns) = play(&g, &seats(&g, &["solver", "random"]), seed);
        assert_eq!((moves[0], &*returns), (3, &[1.0, -1.0][..]), "{moves:?}");
    }
}

#[test]
fn unsolved_games_are_refused() {
    for (name, why) in [
        ("reversi", "not been solved"),
        ("connect_four(columns=8)", "rows=6, columns=7"),
        ("connect_four(x_in_row=3)", "x_in_row=4"),
        ("pig(players=3)", "two-player pig"),
        ("pig(winscore=201)", "at most 200"),
        ("pig(horizon=100)", "8 times"),
    ] {
        let e = build("solver", &game(name)).err().unwrap();
        assert!(unfit(&e) && e.message.contains(why), "{name}: {e}");
    }
}
