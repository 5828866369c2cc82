//! Tests of `uci` and `gtp` engines: real engines if they are installed, and faulty scripts.
//!
//! The engines run without the sandbox, because its helper is the host's executable, which a test does not have.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{after, far, game, near, play, unfit};
use ludex_agents::{Agent, AgentError, AgentSpec, ErrorKind, MoveReply, build};
use ludex_env::{AgentKey, Budget, Draw, GameRef, MoveRequest};

/// Returns true and prints a message if the engine is not installed.
fn missing(engine: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = !std::env::split_paths(&path).chain([PathBuf::from("/usr/games")]).any(|p| p.join(engine).is_file());
    if missing {
        println!("SKIPPED: {engine} is missing (Debian: {engine})");
    }
    missing
}

const GNUGO: &str = "gtp cmd=\"gnugo --mode gtp --level 1\" sandbox=false";

/// Fake engine: a Python program in a directory that is removed on drop.
struct Fake {
    folder: PathBuf,
}

impl Fake {
    fn new(name: &str, script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ludex-engines-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("engine.py"), script).unwrap();
        Fake { folder }
    }

    fn spec(&self, kind: &str, args: &str) -> String {
        let script: &Path = &self.folder.join("engine.py");
        format!("{kind} cmd=\"python3 -u {}\" sandbox=false {args}", script.display())
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns an agent's reply in the initial position.
fn first_answer(spec: &str, game: &GameRef, within: Option<Duration>) -> Result<MoveReply, AgentError> {
    let (state, draw) = (game.start(), Draw::new(game.id(), 0, 0));
    let seat = state.turn().seat().unwrap();
    let legal = state.legal_list(seat);
    let ask = MoveRequest::on_state(&*state, seat, 0, &legal, AgentKey::Episode(&draw));
    let budget = Budget::default().with_deadline(within.map(|d| Instant::now() + d));
    build(spec, game).unwrap().act(&ask.with_budget(budget))
}

/// Writes a fake UCI engine that runs the Python code `on_go` for the command `go` and replies normally otherwise.
fn uci_that(name: &str, on_go: &str) -> Fake {
    Fake::new(
        name,
        &format!(
            "import sys, time
print('Fake 1 by nobody')
for line in sys.stdin:
    word = line.split()[0]
    if word == 'uci':
        print('id name Fake 1\\noption name Style type string default\\noption name Clear Hash type button\\nuciok')
    elif word == 'isready':
        print('readyok')
    elif word == 'go':
        {on_go}
"
        ),
    )
}

#[test]
fn uci_engine_may_print_noise_before_replies() {
    let fake = uci_that(
        "chatter",
        "print('info string hm\\nwhat\\n\\ninfo depth 3 score cp 25 nodes 77 pv e2e4\\nbestmove e2e4 ponder e7e5')",
    );
    let chess = game("chess");
    let answer = first_answer(&fake.spec("uci", ""), &chess, None).unwrap();
    let Some(a) = answer.action() else { panic!("{answer:?}") };
    assert_eq!(chess.start().view(ludex_env::Viewer::Seat(1)).action_text(1, a), "e4");
    let note = |name: &str| answer.notes.more.get(name).and_then(serde_json::Value::as_i64);
    assert_eq!((note("depth"), note("nodes"), note("cp")), (Some(3), Some(77), Some(25)));
    // Options have the engine's own spelling; unlisted options are refused.
    assert!(first_answer(&fake.spec("uci", "style=solid"), &chess, None).is_ok());
    let e = first_answer(&fake.spec("uci", "stile=solid"), &chess, None).unwrap_err();
    assert!(e.kind == ErrorKind::Failed && e.message.contains("did you mean Style?"), "{e}");
    assert!(e.message.contains("option of Fake 1"), "{e}");
    let e = first_answer(&fake.spec("uci", "skill=3"), &chess, None).unwrap_err();
    assert!(e.message.contains("Skill Level"), "{e}");
}

#[test]
fn uci_errors_describe_the_cause() {
    let chess = game("chess");
    let fails = |name: &str, on_go: &str| {
        let fake = uci_that(name, on_go);
        let e = first_answer(&fake.spec("uci", ""), &chess, None).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Failed, "{e}");
        e.message
    };
    let said = fails("dies", "print('out of cheese', file=sys.stderr); sys.exit(3)");
    assert!(said.contains("code 3") && said.contains("out of cheese"), "{said}");
    let said = fails("nonsense", "print('bestmove e2e5')");
    assert!(said.contains("e2e5") && said.contains("illegal move"), "{said}");
    let said = fails("none", "print('bestmove (none)')");
    assert!(said.contains("(none)"), "{said}");
    let said = fails("bare", "print('bestmove')");
    assert!(said.contains("illegal move"), "{said}");
}

/// Checks that an agent whose program is silent returns at the deadline with an error of kind `Late`.
fn is_late(spec: &str, game: &GameRef) {
    let begun = Instant::now();
    let e = first_answer(spec, game, Some(Duration::from_millis(300))).unwrap_err();
    assert_eq!(e.kind, ErrorKind::Late, "{e}");
    assert!(begun.elapsed() < Duration::from_secs(15), "the deadline was ignored");
}

#[test]
fn silent_engine_times_out_at_deadline() {
    let (chess, go) = (game("chess"), game("go(board_size=9)"));
    is_late(&uci_that("silent", "time.sleep(600)").spec("uci", ""), &chess);
    is_late(&gtp_that("g-silent", "time.sleep(600)").spec("gtp", ""), &go);
    // The time for startup and position setup ends at the deadline too.
    let mute = Fake::new("mute", "import time\ntime.sleep(600)");
    is_late(&mute.spec("uci", ""), &chess);
    is_late(&mute.spec("gtp", ""), &go);
    let setup = "import sys, time\nfor line in sys.stdin:\n    \
        print('= genmove\\n') if line.startswith('list_commands') else time.sleep(600)";
    is_late(&Fake::new("g-setup", setup).spec("gtp", ""), &go);
}

#[test]
fn dead_engine_is_restarted_at_next_request() {
    let fake = uci_that("once", "print('bestmove e2e4'); sys.exit(0)");
    let chess = game("chess");
    let agent = build(&fake.spec("uci", ""), &chess).unwrap();
    let (state, draw) = (chess.start(), Draw::new(chess.id(), 0, 0));
    assert_eq!(near(&*agent, &*state, 1, 0, &draw), near(&*agent, &*state, 1, 1, &draw));
}

#[test]
fn missing_program_is_reported_at_first_request() {
    let e = first_answer("uci cmd=no-such-engine sandbox=false", &game("chess"), None).unwrap_err();
    assert!(e.message.contains("no-such-engine") && e.message.contains("install"), "{e}");
    let e = first_answer("gtp cmd=no-such-engine sandbox=false", &game("go"), None).unwrap_err();
    assert!(e.message.contains("no-such-engine"), "{e}");
    for (spec, other) in [("uci cmd=x", "go"), ("gtp cmd=x", "chess")] {
        assert!(unfit(&build(spec, &game(other)).err().unwrap()));
    }
    assert_eq!(build("uci cmd=\"'open\"", &game("chess")).err().unwrap().path.as_deref(), Some("cmd"));
}

/// Writes a fake GTP engine that runs the Python code `on_genmove` for move commands and replies normally otherwise.
fn gtp_that(name: &str, on_genmove: &str) -> Fake {
    Fake::new(
        name,
        &format!(
            "import sys, time
print('welcome')
heard = []
for line in sys.stdin:
    heard.append(line.strip())
    word = line.split()[0]
    if word == 'list_commands':
        print('= play\\ngenmove\\n')
    elif word == 'boardsize' and int(line.split()[1]) > 9:
        print('? unacceptable size\\n')
    elif word == 'genmove':
        {on_genmove}
    else:
        print('=\\n')
"
        ),
    )
}

#[test]
fn gtp_engine_receives_the_game_so_far() {
    let heard = "print(heard, file=sys.stderr); print('= J9\\n') if heard[-6:] == ['boardsize 9', 'clear_board', 'komi 5.5', 'play black e5', 'play white pass', 'genmove black'] else print('? no\\n')";
    let fake = gtp_that("hears", heard);
    let go = game("go(board_size=9,komi=5.5)");
    let agent = build(&fake.spec("gtp", ""), &go).unwrap();
    let state = after(&go, &[40, 81]);
    assert_eq!(near(&*agent, &*state, 0, 1, &Draw::new(go.id(), 0, 0)), 80);
}

#[test]
fn gtp_errors_describe_the_cause() {
    let go = game("go(board_size=9)");
    let fails = |name: &str, on_genmove: &str| {
        let fake = gtp_that(name, on_genmove);
        first_answer(&fake.spec("gtp", ""), &go, None).unwrap_err().message
    };
    let said = fails("g-dies", "print('oh dear', file=sys.stderr); sys.exit(1)");
    assert!(said.contains("code 1") && said.contains("oh dear"), "{said}");
    let said = fails("g-nonsense", "print('= Z99\\n')");
    assert!(said.contains("Z99"), "{said}");
    let said = fails("g-refuses", "print('? no idea\\n')");
    assert!(said.contains("genmove black") && said.contains("no idea"), "{said}");
    let fake = gtp_that("g-size", "print('= A1\\n')");
    let said = first_answer(&fake.spec("gtp", ""), &game("go"), None).unwrap_err().message;
    assert!(said.contains("boardsize 19") && said.contains("unacceptable size"), "{said}");
    let fake = gtp_that("g-resigns", "print('= resign\\n')");
    assert_eq!(first_answer(&fake.spec("gtp", ""), &go, None).unwrap().mv, None);
}

#[test]
fn illegal_engine_move_is_reported_with_reason() {
    let fake = gtp_that("g-ko", "print('= B1\\n')");
    let go = game("go(board_size=2,superko=forbidden)");
    let says = |fake: &Fake, actions: &[u32]| {
        let (state, draw) = (after(&go, actions), Draw::new(go.id(), 0, 0));
        let seat = state.turn().seat().unwrap();
        let legal = state.legal_list(seat);
        let ask = MoveRequest::on_state(&*state, seat, 1, &legal, AgentKey::Episode(&draw));
        build(&fake.spec("gtp", ""), &go).unwrap().act(&ask).unwrap_err().message
    };
    assert!(says(&fake, &[1]).ends_with("returned an illegal move B1: b1 is taken"));
    // White took two stones, Black one, White three: b1 is free, a1 would repeat the board of the first move.
    let fake = gtp_that("g-superko", "print('= A1\\n')");
    assert!(says(&fake, &[0, 1, 2, 3, 0, 2]).contains("earlier position"));
}

#[test]
fn stockfish_beats_random_with_local_and_remote_views() {
    if missing("stockfish") {
        return;
    }
    let chess = game("chess");
    let strong = build("uci cmd=stockfish nodes=500 sandbox=false", &chess).unwrap();
    let weak = build("random", &chess).unwrap();
    for (seat, seed) in [(0, 1), (1, 2)] {
        let agents: Vec<Arc<dyn Agent>> =
            (0..2).map(|s| if s == seat { strong.clone() } else { weak.clone() }).collect();
        assert_eq!(play(&chess, &agents, seed).1[seat], 1.0);
    }
    let draw = Draw::new(chess.id(), 3, 0);
    let state = after(&chess, &play(&chess, &[weak.clone(), weak], 5).0[..9]);
    let seat = state.turn().seat().unwrap();
    for spec in ["uci cmd=stockfish nodes=300 sandbox=false", "uci cmd=stockfish nodes=300 within=50 sandbox=false"] {
        let agent = build(spec, &chess).unwrap();
        let answer = near(&*agent, &*state, seat, 4, &draw);
        for _ in 0..3 {
            assert_eq!(far(&*agent, &chess, &*state, seat, 4, &draw), answer, "{spec}");
        }
    }
    // Several threads share one agent.
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..3).map(|_| scope.spawn(|| near(&*strong, &*state, seat, 4, &draw))).collect();
        let answers: Vec<_> = asked.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(answers.windows(2).all(|w| w[0] == w[1]), "{answers:?}");
    });
    let spec = AgentSpec::parse("uci cmd=stockfish skill=0 nodes=300 Move_Overhead=5 sandbox=false").unwrap();
    assert!(
        spec.build(&chess)
            .unwrap()
            .act(&MoveRequest::on_state(&*state, seat, 4, &state.legal_list(seat), AgentKey::Episode(&draw)))
            .is_ok()
    );
}

#[test]
fn stockfish_finds_mate_and_meets_deadlines() {
    if missing("stockfish") {
        return;
    }
    let chess = game(r#"chess(fen="6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")"#);
    let answer = first_answer("uci cmd=stockfish sandbox=false", &chess, None).unwrap();
    assert_eq!(answer.notes.more.get("mate").and_then(serde_json::Value::as_i64), Some(1));
    let chess = game("chess");
    // A busy machine may need more than a second to start the engine, and may delay its reply to `stop`.
    let spec = "uci cmd=stockfish nodes=1000000000000 sandbox=false";
    let limits = [1, 5, 25, 5, 25, 5, 25].map(Duration::from_secs);
    let answer = limits.into_iter().find_map(|s| first_answer(spec, &chess, Some(s)).ok()).expect("an answer in time");
    assert_eq!(answer.notes.more.get("cut"), Some(&true.into()));
}

#[test]
fn gnugo_beats_random_and_is_reproducible_by_key() {
    if missing("gnugo") {
        return;
    }
    let go = game("go(board_size=9)");
    let (strong, weak) = (build(GNUGO, &go).unwrap(), build("random", &go).unwrap());
    assert_eq!(play(&go, &[strong.clone(), weak.clone()], 1).1, [1.0, -1.0]);
    let draw = Draw::new(go.id(), 1, 0);
    let state = after(&go, &play(&go, &[weak.clone(), weak], 2).0[..7]);
    let answer = near(&*strong, &*state, 1, 3, &draw);
    let again = build(GNUGO, &go).unwrap();
    assert_eq!(far(&*again, &go, &*state, 1, 3, &draw), answer);
    // A handicap consists of stones and points.
    assert!(first_answer(GNUGO, &game("go(handicap=4)"), None).is_ok());
}
