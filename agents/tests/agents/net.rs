//! Tests of `net`: actions, recurrent state, and files that do not fit.

use std::path::Path;
use std::thread;

use ludex_agents::{Agent, build};
use ludex_env::{AgentKey, Draw, GameRef, MoveRequest, Mover, ObservedMove, Stream};

use crate::common::{after, check_remote_moves, game, near, play, seats};
use crate::onnx_file::{OnnxFile, constant};

/// Returns the shape of the game's observation array.
pub fn shape(game: &GameRef) -> Vec<i64> {
    let arrays = game.spec().views.tensor.as_ref().unwrap();
    arrays.values().next().unwrap().s.iter().map(|&n| i64::from(n)).collect()
}

/// Returns one logit per action: `high` for the actions in `favorites`, descending, and 0 for all others.
fn logits(game: &GameRef, favorites: &[usize]) -> Vec<f32> {
    let mut logits = vec![0.0; game.spec().actions as usize];
    favorites.iter().enumerate().for_each(|(i, &a)| logits[a] = (favorites.len() - i) as f32);
    logits
}

fn net(file: &Path, arguments: &str) -> String {
    format!("net file=\"{}\" {arguments}", file.display())
}

#[test]
fn network_plays_its_preferred_legal_action() {
    let g = game("connect_four");
    let file = constant(&shape(&g), &logits(&g, &[3, 5]), &[0.25]).write("prefers_3");
    let (agent, draw) = (build(&net(&file, ""), &g).unwrap(), Draw::new(g.id(), 1, 0));
    assert_eq!(near(&*agent, &*g.start(), 0, 0, &draw), 3);
    // Column 3 is full.
    assert_eq!(near(&*agent, &*after(&g, &[3, 3, 3, 3, 3, 3]), 0, 3, &draw), 5);
    let reply = ludex_agents::ask(&*agent, &*g.start(), 0, 1).unwrap();
    assert_eq!(reply.notes.more["value"], 0.25);
    let probability = reply.notes.more["probability"].as_f64().unwrap();
    // Softmax of the logits 2, 1 and five zeros.
    assert!((probability - 2f64.exp() / (2f64.exp() + 1f64.exp() + 5.0)).abs() < 1e-3, "{probability}");
    assert!(!agent.reproducible() && !agent.needs_history() && !agent.is_io_bound());
    assert_eq!(agent.version().map(|version| version.len()), Some(12));
}

#[test]
fn temperature_samples_by_seed() {
    let g = game("connect_four");
    let file = constant(&shape(&g), &logits(&g, &[6]), &[0.0]).write("prefers_6");
    let [sampled, hot] = ["temperature=1", "temperature=100"].map(|t| build(&net(&file, t), &g).unwrap());
    let count = |agent: &dyn Agent| {
        let chosen = (0..400).map(|seed| ludex_agents::ask(agent, &*g.start(), 0, seed).unwrap().action().unwrap());
        chosen.filter(|&a| a == 6).count()
    };
    // Probabilities of 0.312 and 0.144; the seeds are fixed.
    assert!((100..150).contains(&count(&*sampled)), "{}", count(&*sampled));
    assert!((35..85).contains(&count(&*hot)), "{}", count(&*hot));
    assert_eq!(count(&*sampled), count(&*sampled));
}

#[test]
fn network_moves_are_equal_for_local_and_remote_views() {
    for name in ["connect_four", "leduc_poker", "hanabi", "pig"] {
        let g = game(name);
        let (shape, actions) = (shape(&g), g.spec().actions as usize);
        let (len, mut rng) = (shape.iter().product::<i64>(), Stream::from_text(name));
        let weights: Vec<f32> = (0..len as usize * actions).map(|_| rng.unit() as f32 - 0.5).collect();
        let file = OnnxFile::default()
            .input("observations", &[&[0], &shape[..]].concat())
            .output("logits", &[0, actions as i64])
            .weights("weights", &[len, actions as i64], &weights)
            .node("Flatten", &["observations"], "flat", &[("axis", 1)])
            .node("MatMul", &["flat", "weights"], "logits", &[])
            .write(&format!("random_{name}"));
        let agent = build(&net(&file, ""), &g).unwrap();
        check_remote_moves(&*agent, &g, 5, 40, &mut rng);
    }
}

/// Returns a network whose state counts turns: its logits prefer the action with the number of the turn.
fn counter(g: &GameRef) -> OnnxFile {
    let shape = shape(g);
    let len: i64 = shape.iter().product();
    let actions = g.spec().actions;
    // The logit of action a is -(a - state)^2 without its constant term: 2 * a * state - a^2.
    let slopes: Vec<f32> = (0..actions).map(|a| 2.0 * a as f32).collect();
    let squares: Vec<f32> = (0..actions).map(|a| -((a * a) as f32)).collect();
    OnnxFile::default()
        .input("obs", &[&[0], &shape[..]].concat())
        .input("state_0", &[0, 1])
        .output("policy", &[0, i64::from(actions)])
        .output("next_state_0", &[0, 1])
        .weights("none", &[len, i64::from(actions)], &vec![0.0; len as usize * actions as usize])
        .weights("slopes", &[1, i64::from(actions)], &slopes)
        .weights("squares", &[i64::from(actions)], &squares)
        .weights("one", &[1], &[1.0])
        .node("Flatten", &["obs"], "flat", &[("axis", 1)])
        .node("Gemm", &["flat", "none", "squares"], "constant", &[])
        .node("MatMul", &["state_0", "slopes"], "linear", &[])
        .node("Add", &["constant", "linear"], "policy", &[])
        .node("Add", &["state_0", "one"], "next_state_0", &[])
}

#[test]
fn recurrent_state_follows_the_history_of_each_match() {
    let g = game("connect_four");
    let agent = build(&net(&counter(&g).write("counts_turns"), ""), &g).unwrap();
    assert!(agent.needs_history());
    let draw = Draw::new(g.id(), 1, 0);
    let seen = |moves: &[u32]| -> Vec<ObservedMove> {
        let one = |(i, &a): (usize, &u32)| ObservedMove {
            by: Mover::Seat(i % 2),
            action: Some(a),
            text: a.to_string(),
            reveals: Vec::new(),
        };
        moves.iter().enumerate().map(one).collect()
    };
    let reply = |moves: &[u32], turn: u32| {
        let (state, past) = (after(&g, moves), seen(moves));
        let legal = state.legal_list(moves.len() % 2);
        let ask = MoveRequest::on_state(&*state, moves.len() % 2, turn, &legal, AgentKey::Episode(&draw));
        agent.act(&ask.with_history(&past)).unwrap()
    };
    // Two interleaved matches with the agent on seat 0, and a second request after a refusal.
    assert_eq!(reply(&[], 0).action(), Some(0));
    assert_eq!(reply(&[0, 6], 1).action(), Some(1));
    assert_eq!(reply(&[0, 5], 1).action(), Some(1));
    assert_eq!(reply(&[0, 6, 1, 6], 2).action(), Some(2));
    assert_eq!(reply(&[0, 6, 1, 6], 2).action(), Some(2));
    assert_eq!(reply(&[0, 5, 1, 5], 2).action(), Some(2));
    // A history whose previous turn was never asked starts again.
    let lost = reply(&[4, 4, 5, 5], 2);
    assert_eq!((lost.action(), lost.notes.more.get("state_lost")), (Some(0), Some(&true.into())));
    // Without a history, the request fails.
    let start = g.start();
    let legal = start.legal_list(0);
    let ask = MoveRequest::on_state(&*start, 0, 0, &legal, AgentKey::Episode(&draw));
    assert!(agent.act(&ask).unwrap_err().message.contains("history"));
}

#[test]
fn concurrent_requests_get_their_own_rows() {
    let g = game("tic_tac_toe");
    let shape = shape(&g);
    let len: i64 = shape.iter().product();
    // The logits are sums of the observation, weighted differently for each action.
    let mut rng = Stream::from_text("rows");
    let weights: Vec<f32> = (0..len * 9).map(|_| rng.unit() as f32).collect();
    let file = OnnxFile::default()
        .input("obs", &[&[0], &shape[..]].concat())
        .output("policy", &[0, 9])
        .weights("weights", &[len, 9], &weights)
        .node("Flatten", &["obs"], "flat", &[("axis", 1)])
        .node("MatMul", &["flat", "weights"], "policy", &[])
        .write("rows");
    let openings: Vec<Vec<u32>> =
        (0..9).flat_map(|a| (0..9).filter(move |&b| b != a).map(move |b| vec![a, b])).collect();
    let agent = build(&net(&file, ""), &g).unwrap();
    let choices = |agent: &dyn Agent| -> Vec<u32> {
        openings.iter().map(|o| near(agent, &*after(&g, o), 0, 1, &Draw::new(g.id(), 1, 0))).collect()
    };
    let alone = choices(&*agent);
    assert!(alone.iter().any(|a| *a != alone[0]), "the network reads its observations");
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| choices(&*build(&net(&file, ""), &g).unwrap()))).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), alone));
    });
}

#[test]
fn files_with_a_batch_of_one_are_evaluated_row_by_row() {
    let g = game("tic_tac_toe");
    let len: i64 = shape(&g).iter().product();
    let file = OnnxFile::default()
        .input("obs", &[1, len])
        .output("policy", &[1, 9])
        .weights("weights", &[len, 9], &vec![0.0; len as usize * 9])
        .weights("bias", &[9], &logits(&g, &[4]))
        .node("Gemm", &["obs", "weights", "bias"], "policy", &[])
        .write("flat_single");
    let agent = build(&net(&file, ""), &g).unwrap();
    assert_eq!(near(&*agent, &*g.start(), 0, 0, &Draw::new(g.id(), 1, 0)), 4);
}

#[test]
fn networks_of_the_program_beat_random() {
    let cases = [
        ("connect_four", "net file=ludex:connect_four_ppo", 0.3),
        ("connect_four", "puct net=ludex:connect_four_alphazero sims=20", 0.3),
        ("leduc_poker", "net file=ludex:leduc_poker_mmd temperature=1", 0.1),
    ];
    for (name, spec, least) in cases {
        let g = game(name);
        let [first, second] = [[spec, "random"], ["random", spec]].map(|specs| seats(&g, &specs));
        let sum: f64 = (0..200).map(|seed| play(&g, &first, seed).1[0] + play(&g, &second, seed).1[1]).sum();
        assert!(sum / 400.0 > least, "{spec}: {}", sum / 400.0);
    }
    let refusal = build("net file=ludex:none", &game("connect_four")).err().unwrap();
    assert!(refusal.message.contains("allowed: ludex:connect_four_alphazero"), "{}", refusal.message);
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let g = game("connect_four");
    let shape = shape(&g);
    let fit = || constant(&shape, &logits(&g, &[3]), &[0.0]);
    let other = game("tic_tac_toe");
    let weights: Vec<f32> = (0..588).map(|i| (i % 5) as f32).collect();
    let cases = [
        (fit().write("fits_connect_four"), &other, "obs: expected shape [N, 2, 3, 3], got [N,"),
        (constant(&shape, &[0.0; 9], &[0.0]).write("nine_actions"), &g, "policy: expected 7 logits per row, got 9"),
        (
            constant(&shape, &[0.0; 7], &[0.0; 3]).write("three_values"),
            &g,
            "value: expected 1 or 2 values per row, got 3",
        ),
        (constant(&shape, &[f32::NAN; 7], &[0.0]).write("no_number"), &g, "a number that is not finite"),
        (fit().input("goal", &[0, 1]).write("second_input"), &g, "expected the inputs obs and state_0"),
        (fit().input("state_0", &[0, 1]).write("no_next_state"), &g, "expected an output next_state_0"),
        (
            constant(&[4, 4], &[0.0; 7], &[0.0]).write("wrong_shape"),
            &g,
            "obs: expected shape [N, 2, 6, 7], got [N, 4, 4]",
        ),
        (
            OnnxFile::default()
                .input("obs", &[0, 84])
                .output("policy", &[0, 84])
                .node_with_subgraph("Loop", "obs", "policy")
                .write("loop"),
            &g,
            "expected layers without subgraphs, got Loop",
        ),
        (
            OnnxFile::default()
                .input("obs", &[0, 84])
                .output("policy", &[0, 7])
                .weights("weights", &[84, 7], &[1.0; 588])
                .node("Softmax", &["obs"], "normalized", &[("axis", 0)])
                .node("MatMul", &["normalized", "weights"], "policy", &[])
                .write("rows_interact"),
            &g,
            "rows of a batch affect each other",
        ),
        (
            OnnxFile::default()
                .input("obs", &[0, 84])
                .output("policy", &[0, 7])
                .weights("weights", &[84, 7], &weights)
                .node("ReduceMean", &["obs"], "means", &[("keepdims", 1)])
                .node("Sub", &["obs", "means"], "centered", &[])
                .node("MatMul", &["centered", "weights"], "policy", &[])
                .write("mean_of_rows"),
            &g,
            "rows of a batch affect each other",
        ),
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"), &g, "not an ONNX file"),
        (Path::new("/nowhere/policy.onnx").to_owned(), &g, "No such file"),
    ];
    for (file, g, expected) in cases {
        let refusal = build(&net(&file, ""), g).err().unwrap_or_else(|| panic!("{}: built", file.display()));
        assert!(refusal.message.contains(expected), "{}: {}", file.display(), refusal.message);
        assert_eq!(refusal.path.as_deref(), Some("file"), "{}", refusal.message);
    }
    let long = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long.onnx");
    std::fs::File::create(&long).unwrap().set_len((64 << 20) + 1).unwrap();
    let refusal = build(&net(&long, ""), &g).err().unwrap();
    assert!(refusal.message.contains("expected at most 64 MiB, got 65 MiB"), "{}", refusal.message);
    let refusal = build(&net(&fit().write("fits"), "view=pixels"), &g).err().unwrap();
    assert!(refusal.message.contains("tensor or info"), "{}", refusal.message);
}
