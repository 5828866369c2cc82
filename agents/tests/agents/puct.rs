//! Tests of `puct` and of self-play: required results in small games, batches, noise, and samples.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ludex_agents::net::self_play::{PuctSettings, SelfPlay, SelfPlayError, SelfPlaySettings};
use ludex_agents::net::{ArrayKind, Network};
use ludex_agents::{ask, build};
use ludex_env::{Draw, GameRef};
use ludex_protocol::spec::Utility;

use crate::common::{after, game, near, play, seats};
use crate::net::shape;
use crate::onnx_file::constant;

/// Writes a network that knows nothing: equal logits and values of 0.
fn ignorant(g: &GameRef) -> PathBuf {
    let values = if g.spec().utility == Utility::ZeroSum && g.spec().players == 2 { 1 } else { g.spec().players };
    let file = constant(&shape(g), &vec![0.0; g.spec().actions as usize], &vec![0.0; values as usize]);
    file.write(&format!("ignorant_{}", g.spec().hash))
}

fn puct(g: &GameRef, arguments: &str) -> String {
    format!("puct net=\"{}\" {arguments}", ignorant(g).display())
}

#[test]
fn search_finds_wins_and_prevents_losses() {
    let g = game("tic_tac_toe");
    for leaves in [1, 8, 64] {
        let agent = build(&puct(&g, &format!("sims=400 leaves={leaves}")), &g).unwrap();
        let draw = Draw::new(g.id(), 1, 0);
        // x on 0 and 1, o on 3 and 4: x wins with 2.
        assert_eq!(near(&*agent, &*after(&g, &[0, 3, 1, 4]), 0, 2, &draw), 2, "{leaves} leaves");
        // x on 0 and 1, o on 4: o must play 2.
        assert_eq!(near(&*agent, &*after(&g, &[0, 4, 1]), 1, 1, &draw), 2, "{leaves} leaves");
        let reply = ask(&*agent, &*after(&g, &[0, 3, 1, 4]), 0, 1).unwrap();
        assert_eq!(reply.notes.more["sims"], 400);
        assert!(reply.notes.more["value"].as_f64().unwrap() > 0.8, "{:?}", reply.notes.more);
    }
}

#[test]
fn priors_and_values_of_the_network_count() {
    let g = game("connect_four");
    let mut logits = [0.0; 7];
    logits[6] = 9.0;
    let file = constant(&shape(&g), &logits, &[0.0]).write("puct_prefers_6");
    let agent = build(&format!("puct net=\"{}\" sims=50", file.display()), &g).unwrap();
    assert_eq!(ask(&*agent, &*g.start(), 0, 1).unwrap().action(), Some(6));
}

#[test]
fn search_beats_random_in_all_kinds_of_games() {
    // Chance, three seats with a value for each, hidden information. Without knowledge, only the ends of games count.
    let cases = [
        ("connect_four", 60, 0.5),
        ("pig(winscore=8)", 60, 0.1),
        ("pig(players=3,winscore=8)", 60, 0.1),
        // The simulations are divided over sampled states.
        ("kuhn_poker", 800, 0.0),
        ("leduc_poker", 800, 0.0),
        ("nim", 60, 0.5),
    ];
    for (name, sims, least) in cases {
        let g = game(name);
        let (spec, players) = (puct(&g, &format!("sims={sims}")), g.spec().players as usize);
        let mut sum = 0.0;
        for seat in 0..players {
            let specs: Vec<&str> = (0..players).map(|k| if k == seat { &*spec } else { "random" }).collect();
            let agents = seats(&g, &specs);
            sum += (0..120).map(|seed| play(&g, &agents, seed).1[seat]).sum::<f64>();
        }
        let mean = sum / (120 * players) as f64;
        assert!(mean > least, "{name}: {mean}");
    }
}

#[test]
fn root_noise_is_added_only_on_request() {
    let g = game("connect_four");
    let visits = |arguments: &str| -> Vec<Option<u32>> {
        let agent = build(&puct(&g, arguments), &g).unwrap();
        (0..20).map(|seed| ask(&*agent, &*g.start(), 0, seed).unwrap().action()).collect()
    };
    let plain = visits("sims=30");
    assert!(plain.iter().all(|a| *a == plain[0]), "{plain:?}");
    let noisy = visits("sims=30 noise=1 alpha=0.1");
    assert!(noisy.iter().any(|a| *a != noisy[0]), "{noisy:?}");
    assert_eq!(noisy, visits("sims=30 noise=1 alpha=0.1"));
}

#[test]
fn games_and_networks_without_support_are_refused() {
    let simultaneous = game("iterated_prisoners_dilemma");
    let e = build(&puct(&simultaneous, ""), &simultaneous).err().unwrap();
    assert!(e.message.contains("does not play iterated_prisoners_dilemma: it has simultaneous moves"), "{}", e.message);
    let pig = game("pig");
    let one = constant(&shape(&pig), &vec![0.0; pig.spec().actions as usize], &[0.0]).write("one_value");
    let e = build(&format!("puct net=\"{}\"", one.display()), &pig).err();
    assert_eq!(e.is_some(), pig.spec().utility != Utility::ZeroSum);
    let policy_only = crate::onnx_file::OnnxFile::default()
        .input("obs", &[0, 18])
        .output("policy", &[0, 9])
        .weights("weights", &[18, 9], &[0.0; 162])
        .node("MatMul", &["obs", "weights"], "policy", &[])
        .write("policy_only");
    let e = build(&format!("puct net=\"{}\"", policy_only.display()), &game("tic_tac_toe")).err().unwrap();
    assert!(e.message.contains("expected the outputs policy and value"), "{}", e.message);
}

fn self_play(g: &GameRef, seed: u64) -> SelfPlay {
    let network = Network::load(&ignorant(g), g, ArrayKind::Tensor).unwrap();
    let tree = PuctSettings { c: 1.25, noise: 0.25, alpha: None };
    SelfPlay::new(network, g.clone(), SelfPlaySettings { sims: 24, tree, explore: 10, worlds: 4, seed }).unwrap()
}

#[test]
fn samples_of_self_play_are_complete_and_repeatable() {
    let never = AtomicBool::new(false);
    for name in ["tic_tac_toe", "leduc_poker", "pig"] {
        let g = game(name);
        let samples = self_play(&g, 1).play(3..11, &never).unwrap();
        let n = samples.seat.len();
        let bytes = g.spec().views.tensor.as_ref().unwrap().values().next().unwrap().bytes();
        assert_eq!((samples.observations.len(), samples.value.dim()), (n * bytes, (n, 2)), "{name}");
        assert_eq!((samples.game[0], samples.game[n - 1]), (3, 10), "{name}");
        for i in 0..n {
            let policy = samples.policy.row(i);
            assert!((policy.sum() - 1.0).abs() < 1e-5, "{name}, row {i}");
            assert!(policy.iter().zip(samples.mask.row(i)).all(|(p, m)| *p == 0.0 || *m == 1), "{name}, row {i}");
            assert!(samples.value.row(i).iter().all(|v| (-1.0..=1.0).contains(v)), "{name}, row {i}");
        }
        // Both seats of a game have the same returns, in their own order.
        let other = (1..n).find(|&i| samples.game[i] == 3 && samples.seat[i] != samples.seat[0]).unwrap();
        assert_eq!(samples.value[[0, 0]], samples.value[[other, 1]], "{name}");
        let again = self_play(&g, 1).play(3..11, &never).unwrap();
        assert_eq!((again.policy, again.observations), (samples.policy, samples.observations), "{name}");
        let different = self_play(&g, 2).play(3..11, &never).unwrap();
        assert_ne!(different.policy, self_play(&g, 1).play(3..11, &never).unwrap().policy, "{name}");
    }
}

#[test]
fn self_play_stops_on_request() {
    let g = game("tic_tac_toe");
    let stopped = self_play(&g, 1).play(0..4, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(SelfPlayError::Stopped)));
}
