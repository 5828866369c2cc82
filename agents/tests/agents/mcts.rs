//! Tests of `mcts`: strength, proofs, determinism, and hidden information.

use std::time::{Duration, Instant};

use crate::common::{after, far, game, near, play, seats, unfit};
use ludex_agents::{AgentSpec, ErrorKind, SearchBudget, build};
use ludex_env::{AgentKey, Budget, Draw, DynState, MoveRequest, ToMove, Viewer};
use serde_json::Value;

#[test]
fn search_never_loses_tic_tac_toe_to_random() {
    let g = game("tic_tac_toe");
    for seed in 0..20 {
        let (_, r) = play(&g, &seats(&g, &["mcts sims=1000", "random"]), seed);
        assert!(r[0] >= 0.0, "seed {seed} as x: {r:?}");
        let (_, r) = play(&g, &seats(&g, &["random", "mcts sims=1000"]), seed);
        assert!(r[1] >= 0.0, "seed {seed} as o: {r:?}");
    }
}

#[test]
fn search_beats_random_at_connect_four() {
    let g = game("connect_four");
    let wins = (0..10)
        .filter(|&seed| {
            let first = seed % 2 == 0;
            let specs = if first { ["mcts sims=200", "random"] } else { ["random", "mcts sims=200"] };
            play(&g, &seats(&g, &specs), seed).1[usize::from(!first)] == 1.0
        })
        .count();
    assert!(wins >= 9, "{wins} of 10");
}

/// Returns the note `name` of the reply that `mcts` gives in `state`.
fn note(spec: &str, g: &ludex_env::GameRef, state: &dyn DynState, name: &str) -> Value {
    let seat = state.turn().seats().iter().next().unwrap();
    let legal = state.legal_list(seat);
    let ask = MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&[1; 32]));
    build(spec, g).unwrap().act(&ask).unwrap().notes.more.remove(name).unwrap_or_default()
}

#[test]
fn proven_win_stops_search() {
    let g = game("tic_tac_toe");
    // x in two corners, o next to them: cell 4 makes two threats, and cells 6 and 8 each win in two more plies.
    let state = after(&g, &[0, 1, 2, 3]);
    assert_eq!(note("mcts sims=100000", &g, &*state, "value"), 1.0);
    let made = note("mcts sims=100000", &g, &*state, "sims").as_u64().unwrap();
    assert!(made < 20_000, "a proven position needs no more simulations, made {made}");
    assert_eq!(note("mcts sims=5000 solve=false", &g, &*state, "sims"), 5000);
    // OpenSpiel's example of a position that is proven a draw.
    let state = after(&g, &[4, 0, 8]);
    assert_eq!(note("mcts sims=10000", &g, &*state, "value"), 0.0);
    assert!(note("mcts sims=10000", &g, &*state, "sims").as_u64().unwrap() < 10_000);
}

#[test]
fn search_plays_winning_moves_and_blocks_threats_in_connect_four() {
    let g = game("connect_four");
    let draw = Draw::new(g.id(), 1, 0);
    let mcts = build("mcts sims=400", &g).unwrap();
    for turn in 0..20 {
        assert_eq!(near(&*mcts, &*after(&g, &[3, 0, 3, 0, 3, 6]), 0, turn, &draw), 3, "the win");
        assert_eq!(near(&*mcts, &*after(&g, &[3, 0, 3, 0, 3]), 1, turn, &draw), 3, "the block");
    }
}

#[test]
fn equal_keys_give_equal_moves_for_local_and_remote_views() {
    for (name, history) in [("connect_four", &[3, 3][..]), ("kuhn_poker", &[0, 2][..]), ("tic_tac_toe", &[])] {
        let g = game(name);
        let (state, draw) = (after(&g, history), Draw::new(g.id(), 9, 0));
        let (a, b) = (build("mcts sims=100", &g).unwrap(), build("mcts sims=100", &g).unwrap());
        for turn in 0..10 {
            let first = near(&*a, &*state, 0, turn, &draw);
            assert_eq!(first, near(&*b, &*state, 0, turn, &draw));
            assert_eq!(first, far(&*b, &g, &*state, 0, turn, &draw));
        }
    }
}

#[test]
fn different_keys_give_different_moves() {
    let g = game("connect_four");
    let state = g.start();
    let moves = |spec: &str| -> Vec<u32> {
        let agent = build(spec, &g).unwrap();
        (0..20).map(|seed| near(&*agent, &*state, 0, 0, &Draw::new(g.id(), seed, 0))).collect()
    };
    let free = moves("mcts sims=30");
    assert!(free.iter().any(|a| *a != free[0]), "{free:?}");
    let fixed = moves("mcts sims=30 seed=1");
    assert!(fixed.iter().all(|a| *a == fixed[0]), "{fixed:?}");
}

#[test]
fn search_ignores_hidden_cards() {
    // Seat 0 holds card 1 and cannot distinguish cards 0 and 2 of seat 1.
    let g = game("kuhn_poker");
    let draw = Draw::new(g.id(), 5, 0);
    let mcts = build("mcts sims=50", &g).unwrap();
    for (moves, seat) in [(&[][..], 0), (&[0, 1][..], 0)] {
        let worlds = [0, 2].map(|hidden| after(&g, &[&[1, hidden], moves].concat()));
        for turn in 0..40 {
            let [low, high] = worlds.each_ref().map(|w| near(&*mcts, &**w, seat, turn, &draw));
            assert_eq!(low, high, "turn {turn} after {moves:?}");
        }
    }
}

#[test]
fn search_set_to_peek_declares_use_of_hidden_cards() {
    let g = game("kuhn_poker");
    let draw = Draw::new(g.id(), 5, 0);
    let peek = build("mcts sims=200 peek=true", &g).unwrap();
    assert!(peek.needs_full_state());
    // Called with the middle card: folds to the king, calls the jack.
    let answers = [0, 2].map(|hidden| near(&*peek, &*after(&g, &[1, hidden, 0, 1]), 0, 1, &draw));
    assert_eq!(answers, [1, 0]);
    let (state, legal) = (after(&g, &[1, 0]), [0, 1]);
    let refused = peek.act(&MoveRequest::on_view(&*state.view(Viewer::Seat(0)), 0, 0, &legal, AgentKey::Own(&[0; 32])));
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Failed);
}

#[test]
fn search_bets_king_and_folds_jack() {
    // Moves on which all sampled states agree: with the king a bet is called, with the jack it is not.
    let g = game("kuhn_poker");
    let mcts = build("mcts sims=200", &g).unwrap();
    let draw = Draw::new(g.id(), 3, 0);
    for turn in 0..10 {
        assert_eq!(near(&*mcts, &*after(&g, &[0, 2, 1]), 1, turn, &draw), 1);
        assert_eq!(near(&*mcts, &*after(&g, &[2, 0, 1]), 1, turn, &draw), 0);
    }
}

#[test]
fn search_supports_three_seats_and_simultaneous_moves() {
    let g = game("kuhn_poker(players=3)");
    let (_, r) = play(&g, &seats(&g, &["mcts sims=60", "random", "mcts sims=60"]), 4);
    assert_eq!(r.iter().sum::<f64>(), 0.0);
    let g = game("iterated_prisoners_dilemma(num_repetitions=5)");
    // Defection is dominant in the last round.
    let mcts = build("mcts sims=500", &g).unwrap();
    let mut state = g.start();
    for _ in 0..4 {
        state.play_together(&[Some(0), Some(0)]).unwrap();
    }
    for turn in 0..10 {
        assert_eq!(near(&*mcts, &*state, 0, turn, &Draw::new(g.id(), 2, 0)), 1);
    }
}

#[test]
fn search_supports_chance_nodes() {
    let g = game("iterated_prisoners_dilemma(termination_probability=1)");
    let (moves, r) = play(&g, &seats(&g, &["mcts sims=200", "mcts sims=200"]), 8);
    assert_eq!((moves, r), (vec![1, 1], vec![1.0, 1.0]));
}

#[test]
fn spec_reports_search_budget() {
    let budget = |text: &str| AgentSpec::parse(text).unwrap().budget();
    assert_eq!(budget("mcts"), SearchBudget { sims: Some(1000), ..SearchBudget::default() });
    assert_eq!(budget("mcts ms=50"), SearchBudget { ms: Some(50), ..SearchBudget::default() });
    assert_eq!(budget("mcts ms=50 sims=7"), SearchBudget { ms: Some(50), sims: Some(7), ..SearchBudget::default() });
    let timed = AgentSpec::parse("mcts ms=5").unwrap();
    assert!(!timed.reproducible() && AgentSpec::parse("mcts").unwrap().reproducible());
    assert_eq!(timed.to_expanded_string(), "mcts ms=5 form=uct c=2 solve=true worlds=16 reuse=false peek=false");
    let g = game("connect_four");
    let agent = timed.build(&g).unwrap();
    assert!(!agent.reproducible());
    near(&*agent, &*g.start(), 0, 0, &Draw::new(g.id(), 0, 0));
}

#[test]
fn deadline_cuts_search_and_adds_note() {
    for name in ["connect_four", "kuhn_poker"] {
        let g = game(name);
        let state = if name == "kuhn_poker" { after(&g, &[0, 1]) } else { g.start() };
        let legal = state.legal_list(0);
        let ask = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32]));
        let agent = build("mcts sims=1000000000 solve=false", &g).unwrap();
        let answer = agent.act(&ask.with_budget(Budget::until(Instant::now() + Duration::from_millis(5)))).unwrap();
        assert_eq!(answer.notes.more["cut"], true);
        // An expired deadline still gives a legal move.
        let answer = agent.act(&ask.with_budget(Budget::until(Instant::now()))).unwrap();
        assert!(answer.action().is_some_and(|a| legal.contains(&a)));
    }
}

#[test]
fn puct_finds_the_best_moves() {
    let g = game("connect_four");
    let draw = Draw::new(g.id(), 1, 0);
    for spec in ["mcts sims=400 form=puct", "mcts sims=400 form=puct rollout=0", "mcts sims=400 rollout=4"] {
        let mcts = build(spec, &g).unwrap();
        for turn in 0..5 {
            assert_eq!(near(&*mcts, &*after(&g, &[3, 0, 3, 0, 3, 6]), 0, turn, &draw), 3, "the win: {spec}");
            assert_eq!(near(&*mcts, &*after(&g, &[3, 0, 3, 0, 3]), 1, turn, &draw), 3, "the block: {spec}");
        }
    }
    // Without an evaluation all moves have the same prior; proofs are as with UCT.
    let g = game("tic_tac_toe");
    assert_eq!(note("mcts sims=20000 form=puct", &g, &*after(&g, &[0, 1, 2, 3]), "value"), 1.0);
    assert_eq!(note("mcts sims=20000 form=puct", &g, &*after(&g, &[4, 0, 8]), "value"), 0.0);
    // Three seats, chance, and returns other than wins and losses.
    let g = game("kuhn_poker(players=3)");
    let (_, r) = play(&g, &seats(&g, &["mcts sims=60 form=puct", "random", "mcts sims=60 form=puct"]), 4);
    assert_eq!(r.iter().sum::<f64>(), 0.0);
}

#[test]
fn incompatible_arguments_are_refused() {
    let refused = |text: &str, game_text: &str| build(text, &game(game_text)).err().unwrap();
    let e = refused("mcts form=alphazero", "tic_tac_toe");
    assert!(e.path.as_deref() == Some("form") && e.message.contains("uct or puct"), "{e}");
    let e = refused("mcts rollout=3", "kuhn_poker");
    assert!(unfit(&e) && e.message.contains("without rollout"), "{e}");
    let e = refused("mcts reuse=true", "kuhn_poker");
    assert!(unfit(&e) && e.message.contains("reuse=false"), "{e}");
}

/// Requests a move from `agent` for the seat to move in `state`.
fn answer(agent: &dyn ludex_agents::Agent, state: &dyn DynState, turn: u32) -> ludex_agents::MoveReply {
    let seat = state.turn().seat().unwrap();
    let legal = state.legal_list(seat);
    agent.act(&MoveRequest::on_state(state, seat, turn, &legal, AgentKey::Own(&[3; 32]))).unwrap()
}

#[test]
fn unknown_position_starts_new_tree() {
    let g = game("connect_four");
    let [keeps, forgets] = [true, false].map(|reuse| build(&format!("mcts sims=200 reuse={reuse}"), &g).unwrap());
    assert!(!keeps.reproducible() && forgets.reproducible());
    assert!(!AgentSpec::parse("mcts reuse=true").unwrap().reproducible());
    // Three unrelated episodes.
    for history in [&[3, 0, 3][..], &[0, 0, 0, 1], &[6]] {
        let state = after(&g, history);
        assert_eq!(answer(&*keeps, &*state, 1), answer(&*forgets, &*state, 1));
    }
}

#[test]
fn cached_trees_are_separate_per_episode() {
    // One agent alternates between two episodes; each has the proofs of its own position.
    let g = game("tic_tac_toe");
    let agent = build("mcts sims=2000 reuse=true", &g).unwrap();
    let (mut rng, mut lost) = (ludex_env::Stream::from_text("kept trees"), 0);
    for _ in 0..20 {
        let mut states = [g.start(), g.start()];
        for turn in 0..5 {
            for s in &mut states {
                if s.turn() == ToMove::Over {
                    continue;
                }
                let Some(a) = answer(&*agent, &**s, turn).action() else { panic!("an action id") };
                s.play(0, a).unwrap();
                if s.turn() != ToMove::Over {
                    let legal = s.legal_list(1);
                    s.play(1, legal[rng.below(legal.len())]).unwrap();
                }
            }
        }
        lost += states.iter().filter(|s| s.returns()[0] < 0.0).count();
    }
    assert_eq!(lost, 0);
}

#[test]
fn search_with_cached_trees_beats_random() {
    // Connect four has replies to look up; pig has dice between the turns, and turns of several moves.
    for (name, rival) in [("connect_four", "random"), ("pig(winscore=20)", "random")] {
        let (g, keeps) = (game(name), "mcts sims=100 reuse=true");
        let [first, second] = [[keeps, rival], [rival, keeps]].map(|specs| seats(&g, &specs));
        let won = |agents, seed, seat: usize| u32::from(play(&g, agents, seed).1[seat] > 0.0);
        let wins: u32 = (0..20).map(|seed| won(&first, seed, 0) + won(&second, seed, 1)).sum();
        assert!(wins >= 32, "{name}: {wins} of 40");
    }
}
