//! Tests of programs that use Botzone's JSON protocol: the sample bots, and faulty programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::game;
use ludex_agents::{Agent, AgentError, ErrorKind, MoveReply, build};
use ludex_env::{Action, AgentKey, Budget, Draw, GameRef, MoveRequest, Mover, ObservedMove, Outcomes, ToMove};
use ludex_protocol::Move;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/examples/botzone")
}

/// Returns the spec of a sample bot that runs without the sandbox.
fn sample(file: &str, more: &str) -> String {
    format!("botzone cmd=\"python3 {}\" sandbox=false {more}", samples().join(file).display())
}

/// Writes a Python program and returns the spec of an agent that runs it.
fn script(folder: &tempfile::TempDir, name: &str, text: &str, more: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    format!("botzone cmd=\"python3 {}\" sandbox=false {more}", path.display())
}

/// Plays a match. Returns the actions, the agents' replies and the returns.
fn play(game: &GameRef, agents: &[Arc<dyn Agent>], seed: u64) -> (Vec<Action>, Vec<MoveReply>, Vec<f64>) {
    let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), seed, 0), Outcomes::new());
    let (mut past, mut turns, mut moves, mut answers) = (Vec::new(), vec![0; agents.len()], Vec::new(), Vec::new());
    loop {
        match state.turn() {
            ToMove::Over => return (moves, answers, state.returns()),
            ToMove::Chance => {
                state.chance(&mut outcomes);
                state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
                past.push(ObservedMove { by: Mover::Chance, action: None, text: String::new(), reveals: Vec::new() });
            }
            ToMove::Seat(seat) => {
                let legal = state.legal_list(seat);
                let ask = MoveRequest::on_state(&*state, seat, turns[seat], &legal, AgentKey::Episode(&draw))
                    .with_history(&past);
                let answer = agents[seat].act(&ask).unwrap();
                let Some(a) = answer.action() else { panic!("{answer:?}") };
                answers.push(answer);
                turns[seat] += 1;
                moves.push(a);
                past.push(ObservedMove {
                    by: Mover::Seat(seat),
                    action: Some(a),
                    text: String::new(),
                    reveals: Vec::new(),
                });
                state.play(seat, a).unwrap();
            }
            ToMove::Simultaneous(_) => unreachable!(),
        }
    }
}

/// Returns the value of the field `name` in each line of a log.
fn logged(path: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let of = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()[name].as_str().map(str::to_owned);
    text.lines().filter_map(of).collect()
}

fn seats(game: &GameRef, specs: &[&str]) -> Vec<Arc<dyn Agent>> {
    specs.iter().map(|spec| build(spec, game).unwrap()).collect()
}

/// Returns the agent's reply to the first move request of game `name`.
fn first(spec: &str, name: &str, wait: Option<Duration>) -> Result<MoveReply, AgentError> {
    let game = game(name);
    let (mut state, mut draw, mut outcomes) = (game.start(), Draw::new(game.id(), 0, 0), Outcomes::new());
    while state.turn() == ToMove::Chance {
        state.chance(&mut outcomes);
        state.play_chance(draw.pick(&outcomes).unwrap()).unwrap();
    }
    let seat = state.turn().seat().unwrap();
    let legal = state.legal_list(seat);
    let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Episode(&draw)).with_history(&[]);
    build(spec, &game)?.act(&ask.with_budget(Budget::default().with_deadline(wait.map(|wait| Instant::now() + wait))))
}

#[test]
fn sample_bots_play_matches() {
    let g = game("tic_tac_toe");
    for swap in [false, true] {
        let mut agents = seats(&g, &[&sample("tic_tac_toe.py", ""), "random"]);
        if swap {
            agents.reverse();
        }
        let (_, answers, returns) = play(&g, &agents, 3);
        assert!(returns[usize::from(swap)] >= 0.0, "{returns:?}");
        assert!(answers.iter().all(|a| a.notes.is_empty()), "debug output is private: {answers:?}");
    }
    let g = game("texas_holdem(preset=botzone,hands=3)");
    let bot = sample("texas_holdem.py", "");
    play(&g, &seats(&g, &[&bot, &bot]), 1).1.iter().for_each(|a| assert!(a.notes.is_empty(), "{a:?}"));
    let bot = sample("fight_the_landlord.py", "");
    for (rules, seat) in [("botzone", 0), ("botzone", 2), ("botzone2", 1)] {
        let g = game(&format!("fight_the_landlord(preset={rules})"));
        let mut specs = ["random"; 3];
        specs[seat] = &bot;
        play(&g, &seats(&g, &specs), 5);
    }
}

#[test]
fn persistent_and_restarted_programs_play_the_same_moves() {
    let g = game("gomoku");
    let (kept, once) = (sample("gomoku.py", ""), sample("gomoku.py", "eof=true"));
    let games: Vec<_> = [&kept, &once].iter().map(|spec| play(&g, &seats(&g, &[spec, "random"]), 7).0).collect();
    assert_eq!(games[0], games[1]);
    assert!(games[0].len() < 60, "the bot wins early: {games:?}");
    // One agent plays both seats, in two matches: each seat has its own program.
    let bot = build(&kept, &g).unwrap();
    let one = play(&g, &[bot.clone(), bot.clone()], 0).0;
    assert_eq!(play(&g, &[bot.clone(), bot], 0).0, one);
}

#[test]
fn programs_play_with_simplified_interaction() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (samples().join("reversi.cpp"), folder.path().join("reversi"));
    match Command::new("g++").arg("-O1").arg("-o").args([&program, &source]).status() {
        Err(why) => println!("SKIPPED: the sample in C++ needs g++ on PATH: {why}"),
        Ok(status) => {
            assert!(status.success());
            let spec = format!("botzone cmd={} io=simple sandbox=false", program.display());
            let mut won = 0.0;
            for (name, seed) in [("reversi", 2), ("reversi(auto_pass=true)", 2), ("reversi", 4)] {
                let g = game(name);
                won += play(&g, &seats(&g, &[&spec, "random"]), seed).2[0];
                won += play(&g, &seats(&g, &["random", &spec]), seed).2[1];
            }
            assert!(won >= 2.0, "{won} of 6");
        }
    }
    // Persistent program with plain text.
    let text = "import sys\nn = int(input())\nlines = [input() for _ in range(2 * n + 1)]\ntaken = lines[:-2]\n\
        while True:\n    for k in range(9):\n        cell = '%d %d' % (k % 3, k // 3)\n        if cell not in taken: break\n    \
        taken.append(cell)\n    print(cell)\n    print('debug')\n    \
        print('>>>BOTZONE_REQUEST_KEEP_RUNNING<<<', flush=True)\n    taken.append(input())\n";
    let g = game("tic_tac_toe");
    let moves = |more: &str| {
        let spec = script(&folder, "lines.py", text, more);
        play(&g, &seats(&g, &[&spec, "random"]), 1).0
    };
    assert_eq!(moves("io=simple"), moves("io=simple eof=true cpu=5").as_slice());
}

#[test]
fn program_failures_are_reported_with_botzone_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |text: &str, more: &str, wait: Option<u64>| {
        let spec = script(&folder, "bad.py", text, more);
        let error = first(&spec, "gomoku", wait.map(Duration::from_millis)).unwrap_err();
        assert_eq!(error.kind, if wait.is_some() { ErrorKind::Late } else { ErrorKind::Failed });
        error.message
    };
    let crash = fails("import sys\nprint('{\"x\":1,\"y\":1}')\nsys.exit('no idea')", "", None);
    assert!(crash.starts_with("botzone: RE: ") && crash.contains("code 1") && crash.ends_with("no idea"), "{crash}");
    let silent = fails("import time\ntime.sleep(60)", "", Some(300));
    assert!(silent.contains("TLE: ") && silent.contains("eof=true"), "{silent}");
    let busy = fails("while True: pass", "cpu=0.1", None);
    assert!(busy.contains("TLE: ") && busy.contains("0.2 s"), "{busy}");
    let greedy = fails("import time\nx = bytes(range(256)) * (1 << 19)\ntime.sleep(60)", "memory=64", None);
    assert!(greedy.contains("MLE: "), "{greedy}");
    let loud = fails("while True: print('x' * 100000)", "", None);
    assert!(loud.contains("OLE: "), "{loud}");
    for garbage in ["hello, world", "{\"response\": ", ""] {
        let said = fails(&format!("print('{garbage}')"), "", None);
        assert!(said.contains("NJ: ") && said.contains(garbage.trim()), "{said}");
    }
    // No program, no verdict.
    let error = first("botzone cmd=./no-such-bot sandbox=false", "gomoku", None).unwrap_err();
    assert!(error.message.contains("no-such-bot") && !error.message.contains("RE"), "{error}");
}

#[test]
fn illegal_response_counts_as_illegal_move() {
    let folder = tempfile::tempdir().unwrap();
    for answer in ["{\"x\": 15, \"y\": 0}", "{\"response\": 5}", "\"h8\""] {
        let spec = script(&folder, "odd.py", &format!("print('{answer}')"), "");
        let Some(Move::Text(said)) = first(&spec, "gomoku", None).unwrap().mv else { panic!() };
        assert!(said.starts_with("botzone answered "), "{said}");
    }
    let spec = script(&folder, "odd.py", "print('{\"x\":7,\"y\":15}')", "");
    assert_eq!(
        first(&spec, "gomoku", None).unwrap().mv,
        Some(Move::Text("botzone answered {\"x\":7,\"y\":15}".into()))
    );
}

#[test]
fn failed_program_folds_in_holdem() {
    let folder = tempfile::tempdir().unwrap();
    let folds = |text: &str, word: &str| {
        let spec = script(&folder, "fold.py", text, "");
        let answer = first(&spec, "texas_holdem(preset=botzone)", None).unwrap();
        assert_eq!(answer.mv, Some(Move::Id(0)));
        assert!(answer.notes.more["botzone"].as_str().unwrap().contains(word), "{answer:?}");
    };
    folds("print('{\"response\": 1}')", "botzone answered 1, which is not legal");
    folds("raise SystemExit(3)", "RE: ");
    folds("print('fold')", "NJ: ");
    // Botzone folds at the end of its own time limit, not at the host's deadline.
    let silent = script(&folder, "silent.py", "import time\ntime.sleep(60)", "");
    let error = first(&silent, "texas_holdem(preset=botzone)", Some(Duration::from_millis(300))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Late, "{error}");
    let error = first("botzone cmd=./no-such-bot sandbox=false", "texas_holdem(preset=botzone)", None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Failed);
}

#[test]
fn stored_data_is_returned_in_later_turns() {
    let folder = tempfile::tempdir().unwrap();
    // Plays the first free cell, and prints its stored data.
    let text = "import json\nm = json.loads(input())\n\
        taken = [(p['x'], p['y']) for p in m['requests'] + m['responses']]\n\
        x, y = [(k % 3, k // 3) for k in range(9) if (k % 3, k // 3) not in taken][0]\n\
        n, total = m.get('data', 0), m.get('globaldata', '')\n\
        print(json.dumps({'response': {'x': x, 'y': y}, 'debug': '%s %s' % (n, total), 'data': n + 1, \
        'globaldata': total + 'a'}))\n";
    let g = game("tic_tac_toe");
    let log = folder.path().join("log");
    let agents = seats(&g, &[&script(&folder, "data.py", text, &format!("log={}", log.display())), "random"]);
    (0..2).for_each(|seed| drop(play(&g, &agents, seed)));
    let said = logged(&log, "debug");
    for (turn, debug) in said.iter().enumerate() {
        let (n, total) = debug.split_once(' ').unwrap();
        assert_eq!(total.len(), turn, "globaldata outlives the match: {said:?}");
        assert!(n == "0" || n == turn.to_string() || turn > 2, "data belongs to the match: {said:?}");
    }
    assert_eq!(said.iter().filter(|s| s.starts_with("0 ")).count(), 2, "{said:?}");
}

#[test]
fn debug_output_goes_only_to_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let more = format!("log={}", log.display());
    let text = "import json, sys\nprint('thinking', file=sys.stderr)\n\
        print(json.dumps({'response': {'x': 1, 'y': 1}, 'debug': 'the middle'}))\n";
    let answer = first(&script(&folder, "good.py", text, &more), "tic_tac_toe", None).unwrap();
    assert!(answer.notes.is_empty(), "records are public: {answer:?}");
    let text = "import sys\nsys.exit('out of ideas')\n";
    let error = first(&script(&folder, "bad.py", text, &more), "tic_tac_toe", None).unwrap_err();
    assert!(error.message.contains("RE") && error.message.contains("out of ideas"), "{error}");
    assert_eq!(logged(&log, "debug"), ["the middle"]);
    assert_eq!(logged(&log, "stderr"), ["thinking\n", "out of ideas\n"]);
    assert_eq!(logged(&log, "failed").len(), 1);
}

#[test]
fn invalid_arguments_are_refused() {
    for (spec, on, why) in [
        ("botzone cmd=x io=xml", "gomoku", "json or simple"),
        ("botzone cmd=x io=simple", "gomoku", "io=json"),
        ("botzone cmd=x io=simple", "texas_holdem(preset=botzone)", "io=json"),
        ("botzone cmd=x", "connect_four", "it plays tic_tac_toe"),
        ("botzone cmd=\"x 'y\"", "gomoku", "quoted as in a shell"),
        ("botzone cmd=x cpu=0", "gomoku", "cpu"),
        ("botzone", "gomoku", "cmd"),
        ("botzone cmd=x turbo=9", "gomoku", "turbo"),
        ("botzone cmd=x log=/no/such/folder/log", "gomoku", "log"),
    ] {
        let error = build(spec, &game(on)).err().unwrap();
        assert!(error.message.contains(why), "{spec}: {error}");
    }
}

#[test]
fn blank_lines_do_not_extend_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    // Keeps running, and then prints a blank line every half second.
    let text = "import sys, time\nsys.stdin.readline()\nprint('{\"response\": {\"x\": 1, \"y\": 1}}')\n\
        print('>>>BOTZONE_REQUEST_KEEP_RUNNING<<<', flush=True)\nsys.stdin.readline()\nwhile True:\n    \
        time.sleep(0.5)\n    print(flush=True)\n";
    let g = game("tic_tac_toe");
    let agent = build(&script(&folder, "blank.py", text, ""), &g).unwrap();
    let mut state = g.start();
    let past = [(0, 4), (1, 0)].map(|(seat, a)| ObservedMove {
        by: Mover::Seat(seat),
        action: Some(a),
        text: String::new(),
        reveals: Vec::new(),
    });
    let act = |state: &dyn ludex_env::DynState, turn: u32, past: &[ObservedMove], deadline| {
        let legal = state.legal_list(0);
        let ask = MoveRequest::on_state(state, 0, turn, &legal, AgentKey::Own(&[0; 32])).with_history(past);
        agent.act(&ask.with_budget(Budget::default().with_deadline(deadline)))
    };
    assert_eq!(act(&*state, 0, &[], None).unwrap().mv, Some(Move::Id(4)));
    [(0, 4), (1, 0)].into_iter().for_each(|(seat, a)| state.play(seat, a).unwrap());
    let error = act(&*state, 1, &past, Some(Instant::now() + Duration::from_millis(700))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Late, "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn persistent_program_ends_with_last_match() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let text = format!(
        "import json, os, sys\nopen({pid:?}, 'w').write(str(os.getpid()))\n\
        match = json.loads(sys.stdin.readline())\ntaken = match['requests'] + match['responses']\nwhile True:\n    \
        cell = next(c for c in ({{'x': k % 3, 'y': k // 3}} for k in range(9)) if c not in taken)\n    \
        taken.append(cell)\n    print(json.dumps({{'response': cell}}))\n    \
        print('>>>BOTZONE_REQUEST_KEEP_RUNNING<<<', flush=True)\n    taken.append(json.loads(sys.stdin.readline()))\n"
    );
    let g = game("tic_tac_toe");
    let agents = seats(&g, &[&script(&folder, "keeps.py", &text, ""), "random"]);
    let runs = || Path::new("/proc").join(std::fs::read_to_string(&pid).unwrap()).exists();
    agents[0].enter();
    agents[0].enter();
    play(&g, &agents, 1);
    assert!(runs());
    agents[0].leave();
    assert!(runs(), "another match still uses it");
    agents[0].leave();
    assert!(!runs());
}
