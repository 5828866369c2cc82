//! Command line as used by people and scripts: output, exit codes, and errors for bad input.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ludex_tests::{Client, Server};
use serde_json::{Value, json};

mod admin;
mod agents_file;
mod doctor;
mod llm_stub;
mod mcp;
mod measured;
mod play;
mod prompt;
mod stored_records;
mod tournament;
mod words;

/// Exit code and output of a command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// Returns the standard output as a JSON document.
    fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    /// Returns the standard output of a command that must succeed.
    fn well(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// Returns the standard error of a command that must fail and print nothing else.
    fn fails(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        self.err
    }
}

/// Runs `ludex` in `folder` with `input` on standard input.
fn feed(folder: &Path, args: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    // The program writes while it reads, so its output is read while the input is written.
    let done = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A command that does not read its input may have exited already.
            let _ = stdin.write_all(input.as_bytes());
        });
        child.wait_with_output().expect("its end")
    });
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: done.status.code().unwrap_or(-1), out: text(done.stdout), err: text(done.stderr) }
}

fn ludex(folder: &Path, args: &[&str]) -> Ran {
    feed(folder, args, "")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Plays a match between these agents into a file of the folder and returns the lines of the file.
fn played(folder: &Path, game: &str, seats: &[&str], file: &str, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["match", game, "--blocks", "3", "--out", file];
    args.extend(seats.iter().flat_map(|s| ["--seat", *s]));
    args.extend(more);
    ludex(folder, &args).well();
    let text = std::fs::read_to_string(folder.join(file)).expect("the records");
    text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

#[test]
fn help_has_one_line_per_command() {
    let at = folder();
    let help = ludex(at.path(), &["--help"]).well();
    let list = help.split("Commands:").nth(1).and_then(|l| l.split("Options:").next()).expect("a list");
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() <= 24, "expected at most 23 commands and help, got {names:?}");
    assert!(list.lines().all(|l| l.len() < 100), "{list}");
    assert_eq!(ludex(at.path(), &["mach"]).code, 2);
}

/// Maximum number of commands; new verbs become subcommands of existing commands.
const MAX_COMMANDS: usize = 23;

#[test]
fn command_count_stays_under_limit() {
    let at = folder();
    let help = ludex(at.path(), &["--help"]).well();
    let list = help.split("Commands:").nth(1).and_then(|l| l.split("Options:").next()).expect("a list");
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").collect();
    assert!(names.len() <= MAX_COMMANDS, "expected at most {MAX_COMMANDS} commands, got {}: {names:?}", names.len());
}

#[test]
fn games_command_lists_and_explains_games() {
    let at = folder();
    let list = ludex(at.path(), &["games"]).well();
    let all = ludex(at.path(), &["games", "--json"]).json();
    for entry in ludex_games::games() {
        assert!(list.lines().any(|l| l.split(' ').next() == Some(entry.info.id)), "{list}");
        assert!(all["games"].as_array().unwrap().iter().any(|g| g["game"] == entry.info.id), "{all}");
    }
    let spec = ludex(at.path(), &["games", "explain", "kuhn_poker(players=3)", "--json"]).json();
    let game = ludex_games::load("kuhn_poker(players=3)").unwrap();
    assert_eq!(spec, serde_json::to_value(game.spec()).unwrap());
    let text = ludex(at.path(), &["games", "explain", "chess"]).well();
    for said in ["max_plies=0", "integer 0..20000", "botzone", "anchor level=3", "black, white"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(
        ludex(at.path(), &["games", "explain", "chess", "--page"]).well().trim_end(),
        game_page("chess").trim_end()
    );
    let paged = ludex(at.path(), &["games", "explain", "chess", "--page", "--json"]).json();
    assert_eq!(paged["text"], game_page("chess"));

    for (bad, said) in [
        (&["games", "explain", "conect_four"][..], "did you mean connect_four?"),
        (&["games", "explain", "kuhn_poker(player=3)"], "did you mean players?"),
        (&["games", "explain", "kuhn_poker(players=11)"], "2 to 10"),
        (&["games", "explain", "kuhn_poker(players=many)"], "players"),
        (&["games", "explain", "kuhn_poker(players=3"], "parenthesis"),
    ] {
        let err = ludex(at.path(), bad).fails();
        assert!(err.starts_with("ludex: ") && err.contains(said), "{bad:?}: {err}");
    }
}

fn game_page(game: &str) -> &'static str {
    ludex_games::load(game).unwrap().info().page
}

#[test]
fn results_do_not_depend_on_number_of_jobs() {
    let at = folder();
    let run = |seed: &str, jobs: &str, file: &str| {
        let args = ["match", "connect_four", "--seat", "random", "--seat", "mcts sims=10", "--blocks", "6", "--json"];
        ludex(at.path(), &[&args[..], &["--seed", seed, "--jobs", jobs, "--out", file]].concat()).json()
    };
    let one = run("7", "1", "a.jsonl");
    assert_eq!(one, run("7", "2", "b.jsonl"));
    assert_ne!(run("8", "2", "c.jsonl"), json!(null));
    let timeless = |file: &str| {
        let text = std::fs::read_to_string(at.path().join(file)).unwrap();
        let line = |l: &str| {
            let mut record: Value = serde_json::from_str(l).unwrap();
            for name in ["started", "ended", "digest"] {
                record.as_object_mut().unwrap().remove(name).expect(name);
            }
            record
        };
        text.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(timeless("a.jsonl"), timeless("b.jsonl"));
    assert_ne!(timeless("a.jsonl"), timeless("c.jsonl"));

    // The summary agrees with the records.
    let records = timeless("a.jsonl");
    assert_eq!((records.len(), &one["pairs"]), (12, &json!(6)));
    assert_eq!(one["game"], ludex_games::load("connect_four").unwrap().spec().string);
    for (k, agent) in ["random", "mcts sims=10"].iter().enumerate() {
        let (mut wins, mut draws, mut losses, mut sum) = (0, 0, 0, 0.0);
        for record in &records {
            let seat = record["seats"].as_array().unwrap().iter().position(|s| s["name"] == *agent).unwrap();
            match record["outcome"][seat].as_str().unwrap() {
                "win" => wins += 1,
                "draw" => draws += 1,
                _ => losses += 1,
            }
            sum += record["returns"][seat].as_f64().unwrap();
        }
        let seat = &one["seats"][k];
        assert_eq!(
            (&seat["agent"], &seat["wins"], &seat["draws"], &seat["losses"]),
            (&json!(agent), &json!(wins), &json!(draws), &json!(losses))
        );
        let score = (f64::from(wins) + 0.5 * f64::from(draws)) / 12.0;
        assert!((seat["score"].as_f64().unwrap() - score).abs() < 1e-12, "{seat}");
        assert!((seat["mean_return"].as_f64().unwrap() - sum / 12.0).abs() < 1e-12, "{seat}");
    }
    // Both matches of a pair use the same seed, with seats swapped.
    for pair in records.chunks(2) {
        assert_eq!((&pair[0]["pair"], &pair[0]["seed"]), (&pair[1]["pair"], &pair[1]["seed"]));
        assert_eq!(pair[0]["seats"][0]["name"], pair[1]["seats"][1]["name"]);
    }
}

#[test]
fn matches_of_every_kind_of_game_verify() {
    let at = folder();
    for (game, seats) in [
        ("tic_tac_toe", &["alphabeta depth=2", "random"][..]),
        ("kuhn_poker(players=3)", &["random", "mcts sims=8", "random"]),
        ("kuhn_poker", &["mcts sims=8 peek=true", "random"]),
        ("iterated_prisoners_dilemma(num_repetitions=4)", &["tit_for_tat", "random"]),
        ("chess(max_plies=12)", &["random", "random"]),
    ] {
        let records = played(at.path(), game, seats, "r.jsonl", &[]);
        assert_eq!(records.len(), 3 * seats.len());
        let peeks = seats.iter().any(|s| s.contains("peek"));
        assert!(records.iter().all(|r| (r["flags"] == json!(["peek"])) == peeks && r["rated"] == false));
        let verdict = ludex(at.path(), &["verify", "r.jsonl", "--json"]).json();
        assert_eq!(verdict, json!({ "verified": records.len(), "refused": [] }), "{game}");
        let shown = ludex(at.path(), &["show", "r.jsonl:1"]).well();
        assert!(shown.contains("-- 0 start") && shown.ends_with("verified\n\n"), "{shown}");
    }
}

#[test]
fn matches_stop_when_sequential_test_decides() {
    let at = folder();
    let test = |first: &str, second: &str, sprt: &str, more: &[&str]| {
        let args = ["match", "tic_tac_toe", "--seat", first, "--seat", second, "--sprt", sprt, "--out", "r.jsonl"];
        ludex(at.path(), &[&args[..], more].concat())
    };
    let strong = test("alphabeta depth=3", "random", "elo0=0 elo1=100", &["--json", "--jobs", "1"]).json();
    let pairs = strong["pairs"].as_u64().unwrap();
    assert_eq!((&strong["sprt"]["accepted"], &strong["sprt"]["pairs"]), (&json!("elo1"), &strong["pairs"]));
    assert!(pairs < 100 && strong["sprt"]["llr"].as_f64() >= strong["sprt"]["bounds"][1].as_f64(), "{strong}");
    // The number of matches played equals the number counted and written, for any number of threads.
    let written = std::fs::read_to_string(at.path().join("r.jsonl")).unwrap().lines().count() as u64;
    assert_eq!(written, 2 * pairs);
    assert_eq!(test("alphabeta depth=3", "random", "elo0=0 elo1=100", &["--json", "--jobs", "3"]).json(), strong);
    let weak = test("random", "alphabeta depth=3", "elo0=0 elo1=100", &["--json"]).json();
    assert_eq!(weak["sprt"]["accepted"], "elo0");
    let text = test("random", "random", "elo0=0 elo1=1", &["--blocks", "5"]).well();
    assert!(text.contains("5 blocks, 10 matches") && text.contains("undecided; more blocks are needed"), "{text}");
    // Without a sequential test, all matches are played.
    let plain = ludex(at.path(), &["match", "tic_tac_toe", "--seat", "random", "--seat", "random", "--json"]).json();
    assert_eq!((&plain["pairs"], plain.get("sprt")), (&json!(50), None));
    let bad = test("random", "random", "elo0=30 elo1=0", &[]);
    assert!(bad.code == 2 && bad.err.contains("expected elo0 below elo1"), "{}", bad.err);
}

#[test]
fn invalid_match_errors_suggest_a_remedy() {
    let at = folder();
    for (args, said) in [
        (&["match", "conect_four", "--seat", "random"][..], "did you mean connect_four?"),
        (&["verify", "nofile"], "expected a file or a run, got nofile: there is no run \"nofile\""),
        (&["match", "pokker", "--seat", "random"], "there is no game \"pokker\"; allowed: "),
        (&["match", "chess", "--seat", "random"], "2 seats of chess (black, white), got 1"),
        (&["match", "chess", "--seat", "random", "--seat", "rndom"], "did you mean random?"),
        (&["match", "chess", "--seat", "random", "--seat", "mcts simz=3"], "did you mean sims?"),
        (&["match", "chess", "--seat", "random", "--seat", "tit_for_tat"], "tit_for_tat"),
        (&["match", "chess", "--seat", "random", "--seat", "human"], "ludex play"),
        (&["evaluate", "--agent", "human", "--suite", "quick", "--run", "me"], "expected a terminal"),
        (&["match", "tic_tac_toe", "--seat", "random", "--seat", "random", "--out", "no/x.jsonl"], "no/x.jsonl"),
        (
            &["match", "hanabi", "--seat", "random", "--seat", "random", "--sprt", "elo0=0 elo1=30"],
            "expected a competitive game with two seats",
        ),
        (
            &[
                "match",
                "kuhn_poker(players=3)",
                "--seat",
                "random",
                "--seat",
                "random",
                "--seat",
                "random",
                "--sprt",
                "elo0=0 elo1=30",
            ],
            "expected a competitive game with two seats",
        ),
    ] {
        let err = ludex(at.path(), args).fails();
        assert!(err.contains(said), "{args:?}: {err}");
    }
    assert_eq!(ludex(at.path(), &["match", "chess", "--blocks", "0"]).code, 2);
    // The operating system's error appears once.
    std::fs::write(at.path().join("plain"), "").unwrap();
    let err = ludex(at.path(), &["serve", "--listen", "127.0.0.1:0", "--data", "plain/x"]).fails();
    assert!(err.contains("plain/x: ") && err.matches("os error").count() == 1, "{err}");
}

#[test]
fn temporary_server_reports_busy_port() {
    let (at, listener) = (folder(), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap().to_string();
    let err = ludex(at.path(), &["serve", "--listen", &address, "--temporary", "--data", "new"]).fails();
    assert!(err.contains(&format!("cannot listen on {address}")) && !err.contains("cannot remove"), "{err}");
}

#[tokio::test]
async fn agent_that_cannot_play_a_part_does_not_enroll() {
    let (at, server) = (folder(), Server::start(|_| {}).await);
    let url = format!("ws://{}", server.address);
    // The server accepts connections on this thread.
    let join = move || {
        ludex(at.path(), &["join", &url, "--suite", "quick", "--run", "r", "--agent", "anchor level=99"]).fails()
    };
    let err = tokio::task::spawn_blocking(join).await.unwrap();
    assert!(err.contains("so it did not enroll") && err.contains("--part"), "{err}");
    assert_eq!(server.get("/runs/r").await.0, 404);
    server.stop().stopped().await;
}

#[test]
fn verify_command_reports_file_line_and_event() {
    let at = folder();
    played(at.path(), "tic_tac_toe", &["random", "random"], "r.jsonl", &[]);
    let text = std::fs::read_to_string(at.path().join("r.jsonl")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut forged: Value = serde_json::from_str(&lines[1]).unwrap();
    forged["events"][2]["action"] = forged["events"][0]["action"].clone();
    lines[1] = forged.to_string();
    lines[3].truncate(200);
    lines.push(lines[0].clone());
    std::fs::write(at.path().join("bad.jsonl"), lines.join("\n")).unwrap();

    let ran = ludex(at.path(), &["verify", "bad.jsonl"]);
    let said: Vec<&str> = ran.out.lines().collect();
    assert_eq!((ran.code, said.len()), (1, 4), "{}{}", ran.out, ran.err);
    assert!(said.iter().any(|l| l.starts_with("bad.jsonl:2: ") && l.contains("events[2]")), "{}", ran.out);
    assert!(said.iter().any(|l| l.starts_with("bad.jsonl:4: ") && l.contains("column")), "{}", ran.out);
    assert!(
        said.iter().any(|l| l.starts_with("bad.jsonl:7: ") && l.contains("duplicate of the record at bad.jsonl:1"))
    );
    assert_eq!(said[3], "4 episodes verified");
    let ran = ludex(at.path(), &["verify", "bad.jsonl", "--json"]);
    let verdict: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &verdict["verified"]), (1, &json!(4)));
    let places: Vec<u64> = verdict["refused"].as_array().unwrap().iter().map(|r| r["line"].as_u64().unwrap()).collect();
    assert!([2, 4, 7].iter().all(|l| places.contains(l)), "{verdict}");

    // The valid records are rated; excluded records are listed.
    let ran = ludex(at.path(), &["rate", "bad.jsonl", "--unrated", "--json"]);
    assert!(ran.err.contains("bad.jsonl:4: "), "{}", ran.err);
    assert_eq!(ran.json()["records"], 4);
    // `show` prints the game up to the fault and then fails.
    let ran = ludex(at.path(), &["show", "bad.jsonl:2"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("-- 2 ") && !ran.out.contains("-- 3 "), "{}", ran.out);
    assert!(ran.out.contains("NOT VERIFIED: bad.jsonl:2: events[2]"), "{}", ran.out);
    assert!(ludex(at.path(), &["show", "bad.jsonl:4"]).fails().contains("bad.jsonl:4: "));

    for command in [&["verify"][..], &["rate"], &["rate", "--report", "x"], &["export"]] {
        let err = ludex(at.path(), &[command, &["none.jsonl"]].concat()).fails();
        assert!(err.contains("none.jsonl cannot be opened"), "{err}");
        let err = ludex(at.path(), command).fails();
        assert!(err.contains("ludex-data") && err.contains("--data"), "{err}");
    }
}

#[test]
fn rate_command_prints_ratings_and_reports() {
    let at = folder();
    played(at.path(), "tic_tac_toe", &["random", "alphabeta depth=6"], "a.jsonl", &[]);
    played(at.path(), "connect_four", &["random", "mcts sims=20"], "b.jsonl", &[]);
    let err = ludex(at.path(), &["rate", "a.jsonl"]).fails();
    assert!(err.contains("--unrated"), "{err}");

    let ratings = ludex(at.path(), &["rate", "a.jsonl", "b.jsonl", "--unrated", "--json"]).json();
    assert_eq!((&ratings["records"], ratings["ratings"].as_array().unwrap().len()), (&json!(12), 2));
    let scale = ratings["ratings"].as_array().unwrap().iter().find(|s| s["game"] == "tic_tac_toe").unwrap();
    let best = &scale["agents"][0];
    assert_eq!((&best["name"], &scale["blocks"]), (&json!("alphabeta depth=6"), &json!(3)));
    assert!(best["low"].as_f64().unwrap() <= best["rating"].as_f64().unwrap());
    assert_eq!((&scale["agents"][1]["rating"], &scale["agents"][1]["fixed"]), (&json!(0.0), &json!(true)));

    let one = ludex(at.path(), &["rate", "a.jsonl", "b.jsonl", "--unrated", "--game", "connect_four"]).well();
    assert!(one.contains("mcts sims=20") && one.contains("0 (fixed)") && !one.contains("alphabeta"), "{one}");
    let held = ["rate", "b.jsonl", "--unrated", "--json", "--anchor", "mcts sims=20=1000"];
    let held = ludex(at.path(), &held).json();
    assert_eq!(held["ratings"][0]["agents"][0]["rating"], 1000.0);
    assert_eq!(held["ratings"][0]["agents"][1]["fixed"], false);
    for bad in ["random", "random=much", "=3"] {
        let err = ludex(at.path(), &["rate", "b.jsonl", "--unrated", "--anchor", bad]).fails();
        assert!(err.contains("NAME=RATING"), "{err}");
    }
    let none = ["rate", "b.jsonl", "--unrated", "--game", "connect_four(rows=5)"];
    assert!(ludex(at.path(), &none).fails().contains("no records of connect_four(rows=5)"));

    let out = ludex(at.path(), &["rate", "a.jsonl", "b.jsonl", "--unrated", "--report", "deep/rep"]).well();
    let files: Vec<&str> = out.lines().collect();
    assert_eq!(files.len(), 4, "{out}");
    assert!(files.iter().all(|f| at.path().join(f).is_file()), "{out}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(at.path().join("deep/rep/report.json")).unwrap()).unwrap();
    assert_eq!(report["command"], "ludex rate a.jsonl b.jsonl --unrated --report deep/rep");
    assert_eq!(report["scales"], ratings["ratings"]);
    let html = std::fs::read_to_string(at.path().join("deep/rep/report.html")).unwrap();
    assert!(html.contains("alphabeta depth=6"));
}

/// Returns the figures of a ladder, without times.
fn figures(document: &Value) -> Vec<Value> {
    let rungs = document[0]["rungs"].as_array().unwrap();
    rungs.iter().map(|r| json!([r["agent"], r["found"], r["found_low"], r["rating"], r["high"]])).collect()
}

#[test]
fn ladder_command_measures_and_stores_ladder() {
    let at = folder();
    let measure = |units: &str, data: &str| {
        ludex(at.path(), &["measure-anchors", "kuhn_poker", "--units", units, "--seed", "3", "--data", data, "--json"])
            .json()
    };
    let once = measure("6", "whole");
    assert_eq!((&once[0]["units"], &once[0]["rungs"][0]["agent"]), (&json!(6), &json!("random")));
    assert!(once[0]["rungs"][1]["found"].is_number() && once[0]["rungs"][1]["micros"].as_f64().unwrap() > 0.0);
    // Measures in two parts; the first part ends in the middle of a line.
    measure("3", "parts");
    let kept = at.path().join("parts/ladders");
    let file = std::fs::read_dir(kept).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 20]).unwrap();
    assert_eq!(figures(&measure("6", "parts")), figures(&once));
    let again = measure("6", "parts");
    assert_eq!(
        (figures(&again), &again[0]["rungs"][0]["micros"]),
        (figures(&once), &Value::Null),
        "nothing was played"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 6 * text.lines().count() / 3);

    let page = at.path().join("kuhn_poker.md");
    std::fs::write(&page, "# Kuhn\n\n## Anchors\n\nSome.\n\n## Versions\n").unwrap();
    let write = ["measure-anchors", "kuhn_poker", "--units", "6", "--seed", "3", "--data", "parts", "--write", "."];
    for _ in 0..2 {
        let shown = ludex(at.path(), &write).well();
        assert!(shown.contains(once[0]["scale"].as_str().unwrap()), "{shown}");
    }
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(
        written.contains("`ludex measure-anchors kuhn_poker --units 6 --seed 3`") && written.ends_with("## Versions\n")
    );
    assert_eq!(written.matches("| 0 | 1 | `random` |").count(), 1, "{written}");

    for (args, said) in [
        (&["measure-anchors", "kuhn"][..], "kuhn_poker"),
        (&["measure-anchors", "kuhn_poker", "--units", "2", "--write", "none"], "--write: expected the folder"),
    ] {
        let err = ludex(at.path(), args).fails();
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn show_command_prints_any_position() {
    let at = folder();
    let records = played(at.path(), "tic_tac_toe", &["random", "random"], "r.jsonl", &[]);
    let moves = records[0]["events"].as_array().unwrap().len();
    let all = ludex(at.path(), &["show", "r.jsonl:1"]).well();
    assert_eq!(all.matches("\n-- ").count(), moves + 1, "{all}");
    let one = ludex(at.path(), &["show", "r.jsonl:1", "--ply", "1"]).well();
    assert!(one.contains("-- 1 x (random): x(") && one.matches("\n-- ").count() == 1, "{one}");
    assert!(all.contains(one.split("-- 1 ").nth(1).unwrap().split("verified").next().unwrap().trim_end()));
    assert_eq!(ludex(at.path(), &["show", "r.jsonl:1", "--delay=0"]).well(), all);
    assert_eq!(ludex(at.path(), &["show", "r.jsonl"]).well().matches("verified\n").count(), 6);
    for (args, said) in [
        (&["show", "r.jsonl:1", "--ply", "40"][..], "moves, got 40"),
        (&["show", "r.jsonl:1", "--seat", "2"], "expected a seat from 0 to 1"),
        (&["show", "r.jsonl", "--html"], "expected one episode (FILE:LINE)"),
        (&["show", "r.jsonl:99"], "expected a record in line 99"),
        (&["show", "m_nobody"], "got m_nobody"),
    ] {
        let ran = ludex(at.path(), args);
        assert!(ran.code == 1 && ran.err.contains(said), "{args:?}: {}", ran.err);
    }
}

#[test]
fn replay_page_loads_no_files() {
    let at = folder();
    let records = played(at.path(), "tic_tac_toe", &["random", "random"], "r.jsonl", &[]);
    let moves = records[0]["events"].as_array().unwrap().len();
    let said = ludex(at.path(), &["show", "r.jsonl:1", "--html", "r.html"]).well();
    assert_eq!(said, format!("r.html: {} positions\nverified\n\n", moves + 1));
    let page = std::fs::read_to_string(at.path().join("r.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    for no in ["src=", "@import", "url(", "href=", "fetch(", "<script src"] {
        assert!(!page.contains(no), "nothing is loaded: {no}");
    }
    let frames = page.split("id=\"frames\">").nth(1).unwrap().split("</script>").next().unwrap();
    let frames: serde_json::Value = serde_json::from_str(frames).unwrap();
    let frames = frames.as_array().unwrap();
    assert_eq!(frames.len(), moves + 1);
    let svg = |k: usize| frames[k]["svg"].as_str().unwrap();
    let marked = |k: usize| svg(k).matches("class=\"cell last\"").count();
    assert!((0..=moves).all(|k| svg(k).starts_with("<svg") && svg(k).ends_with("</svg>")));
    assert!(marked(0) == 0 && (1..=moves).all(|k| marked(k) == 1), "the last move is marked");
    assert!(frames[1]["by"].as_str().unwrap().starts_with("x (random): x("));
}

#[test]
fn export_command_writes_records_and_pgn() {
    let at = folder();
    let chess = played(at.path(), "chess(max_plies=30)", &["random", "alphabeta depth=1"], "c.jsonl", &[]);
    let other = played(at.path(), "tic_tac_toe", &["random", "random"], "t.jsonl", &[]);
    let lines = |text: &str| text.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<Value>>();
    let all = ludex(at.path(), &["export", "c.jsonl", "t.jsonl"]).well();
    assert_eq!(lines(&all), [chess.clone(), other].concat());
    let some = ludex(at.path(), &["export", "c.jsonl", "t.jsonl", "--game", "chess", "--out", "o.jsonl"]).well();
    assert_eq!((some.as_str(), lines(&std::fs::read_to_string(at.path().join("o.jsonl")).unwrap())), ("", chess));
    let verdict = ludex(at.path(), &["verify", "o.jsonl", "--json"]).json();
    assert_eq!(verdict["verified"], 6);

    let pgn = ludex(at.path(), &["export", "c.jsonl", "--format", "pgn"]).well();
    assert_eq!(pgn.matches("[Event ").count(), 6);
    assert!(pgn.contains("[White \"alphabeta depth=1\"]\n[Black \"random\"]") && pgn.contains("\n1. "), "{pgn}");
    assert!(pgn.lines().all(|l| l.len() < 80));
    let err = ludex(at.path(), &["export", "t.jsonl", "--format", "pgn"]).fails();
    assert!(err.contains("expected a verified game of chess"), "{err}");
}

#[test]
fn person_plays_match() {
    let at = folder();
    let args = ["play", "tic_tac_toe", "--seat", "human", "--seat", "human", "--seed", "3", "--out", "p.jsonl"];
    // The input has ids, coordinates, invalid text and an occupied cell; x completes the top row.
    let ran = feed(at.path(), &args, "0\n0\nwhatever\no(1,0)\nx(0,1)\n4\n?\n2\n");
    let out = ran.well();
    assert!(out.contains("the square is taken") && out.contains("not legal here"), "{out}");
    assert!(out.contains("finished: x (human) win, 1; o (human) loss, -1"), "{out}");
    assert!(out.contains("in p.jsonl"), "{out}");
    assert!(out.is_ascii());
    assert_eq!(ludex(at.path(), &["verify", "p.jsonl", "--json"]).json()["verified"], 1);

    // `quit` and the end of input resign the match; the record is appended to the file.
    let bot = ["play", "tic_tac_toe", "--seat", "mcts sims=20", "--seat", "human", "--out", "p.jsonl"];
    for input in ["quit\n", ""] {
        let out = feed(at.path(), &bot, input).well();
        assert!(out.contains("x (mcts sims=20): x(") && out.contains("resign: x (mcts sims=20) win, 1"), "{out}");
    }
    assert_eq!(ludex(at.path(), &["verify", "p.jsonl", "--json"]).json()["verified"], 3);
    // A person sees only their own card.
    let out = feed(at.path(), &["play", "kuhn_poker", "--seat", "human", "--seat", "random", "--seed", "5"], "quit\n");
    let out = out.well();
    assert!(out.contains("is dealt to p0") && out.contains("a card is dealt to p1"), "{out}");
    assert!(ludex(at.path(), &["play", "chess", "--seat", "human"]).fails().contains("2 seats"));
}

#[tokio::test]
async fn records_are_readable_while_server_runs() {
    let server = Server::start(|_| {}).await;
    let mut client = Client::greet(server.address, None, json!({"agent": {"name": "raw"}})).await;
    let join = json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": 2});
    assert_eq!(client.call("join", join).await["type"], "joined");
    let mut ended = Vec::new();
    while ended.len() < 2 {
        let message = client.hear().await;
        match message["type"].as_str() {
            Some("turn") => {
                let act = json!({"match": message["match"], "turn": message["turn"], "action": message["legal"][0]});
                client.ask("act", act).await;
            }
            Some("match_end") => ended.push(message["match"].as_str().unwrap().to_owned()),
            _ => {}
        }
    }
    let at = folder();
    let data = server.data.to_str().unwrap().to_owned();
    let run = |args: &[&str]| ludex(at.path(), &[args, &["--data", &data]].concat());
    assert_eq!(run(&["verify", "--json"]).json(), json!({"verified": 2, "refused": []}));
    let ratings = run(&["rate", "--json"]).json();
    let names: Vec<&Value> = ratings["ratings"][0]["agents"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    assert!(names.contains(&&json!("raw")) && names.contains(&&json!("random")), "{ratings}");
    let shown = run(&["show", &ended[0]]).well();
    assert!(shown.starts_with(&ended[0]) && shown.contains("verified"), "{shown}");
    assert!(run(&["show", "m_other"]).fails().contains("expected a file, a run or an episode"));
    let lines = run(&["export"]).well();
    assert!(lines.lines().count() == 2 && ended.iter().all(|id| lines.contains(id)), "{lines}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn tokens_are_managed_while_server_runs() {
    let server = Server::start(|_| {}).await;
    let at = folder();
    let data = server.data.to_str().unwrap().to_owned();
    let token = |args: &[&str]| ludex(at.path(), &[&["admin", "token", "--data", &data], args].concat());
    let text = token(&["add", "--owner", "ann", "--scope", "play", "--scope", "gym", "--expires", "30d"]).well();
    let text = text.trim_end();
    assert!(text.starts_with("lx_") && !text.contains(char::is_whitespace), "{text}");
    // The running server immediately requires a token, and accepts the new one.
    let hello = |token: &str| json!({"token": token, "agent": {"name": "ann.bot"}});
    let client = Client::greet(server.address, None, hello(text)).await;
    assert_eq!(client.welcome["scopes"], json!(["gym", "play"]));
    let refused = async |fields: Value| {
        let mut client = Client::mute(server.address).await;
        let mut hello = json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"});
        hello.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        client.say(&hello).await;
        client.hear().await["code"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(refused(json!({})).await, "unauthorized");

    let all = token(&["list", "--json"]).json();
    let id = all["tokens"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!((&all["tokens"][0]["owner"], &all["tokens"][0]["scopes"]), (&json!("ann"), &json!(["gym", "play"])));
    assert!(all["tokens"][0]["expires"].is_string() && all["tokens"][0]["revoked"].is_null(), "{all}");
    assert!(token(&["list"]).well().contains(&id));
    assert!(token(&["revoke", &id]).well().contains("ann"));
    assert!(token(&["revoke", "stranger"]).fails().contains("ludex admin token list"));
    assert_eq!(refused(hello(text)).await, "unauthorized");
    assert!(token(&["list"]).well().contains("revoked 20"));

    let lines = "owner,scopes,names,expires\nbob,play spectate,,30d\neve,gym,eve-1 eve-2*,\n";
    std::fs::write(at.path().join("t.csv"), lines).unwrap();
    let made = token(&["add", "--csv", "t.csv"]).well();
    let rows: Vec<&str> = made.lines().collect();
    assert_eq!((rows.len(), rows[0]), (3, "owner,token"));
    assert!(rows[1].starts_with("bob,lx_") && rows[2].starts_with("eve,lx_"), "{made}");
    std::fs::write(at.path().join("bad.csv"), "owner,scopes\nbob,play\nzoe,fly\n").unwrap();
    let err = token(&["add", "--csv", "bad.csv"]).fails();
    assert!(err.contains("bad.csv") && err.contains("line 3") && err.contains("fly"), "{err}");
    for (args, said) in [
        (
            &["add", "--owner", "bob", "--scope", "fly"][..],
            "gym, play, spectate, metrics, invite, registered, person, admin",
        ),
        (&["add", "--owner", "bob", "--scope", "play,invite"], "expected the scope invite alone, got play,invite"),
        (&["add", "--owner", "Bob B"], "--name"),
        (&["add", "--owner", "bob", "--name", "b b"], "expected an agent name, got \"b b\""),
        (&["add", "--owner", "bob", "--expires", "soon"], "90d"),
        (&["add", "--owner", "bob", "--expires", "2020-01-01T00:00:00Z"], "in the future"),
    ] {
        let err = token(args).fails();
        assert!(err.contains(said), "{args:?}: {err}");
    }
    assert_eq!(token(&["list", "--json"]).json()["tokens"].as_array().unwrap().len(), 3, "a refused token was created");
    assert_eq!(token(&["add"]).code, 2);
    for (owner, scopes) in [("friends", "invite"), ("eva", "gym,play,spectate,registered")] {
        assert!(token(&["add", "--owner", owner, "--scope", scopes]).well().starts_with("lx_"));
        let list = token(&["list"]).well();
        assert!(list.lines().any(|line| line.contains(owner) && line.contains(scopes)), "{list}");
    }

    // Before the first start of a server, `token add` creates the store, but `token list` does not.
    let fresh = |args: &[&str]| ludex(at.path(), &[&["admin", "token", "--data", "new"], args].concat());
    assert!(fresh(&["list"]).fails().contains("expected a ludex store in"));
    assert_eq!(fresh(&["add", "--owner", "ann", "--json"]).json()["tokens"][0]["owner"], "ann");
    assert_eq!(fresh(&["list", "--json"]).json()["tokens"].as_array().unwrap().len(), 1);
    server.stop().stopped().await;
}

#[test]
fn agents_command_lists_agents() {
    let here = folder();
    let text = ludex(here.path(), &["agents"]).well();
    assert!(text.lines().any(|line| line.starts_with("random ") && line.contains("builtin")), "{text}");
    assert_eq!(text, ludex(here.path(), &["agents", "list"]).well());
    let all = ludex(here.path(), &["agents", "--json"]).json();
    let agents = all["agents"].as_array().unwrap();
    assert_eq!(agents.len(), text.lines().count());
    let uci = agents.iter().find(|a| a["name"] == "uci").unwrap();
    assert_eq!((&uci["kind"], &uci["args"][0]["required"]), (&json!("external"), &json!(true)));
}

#[test]
fn agents_check_reports_single_agent() {
    let here = folder();
    let text = ludex(here.path(), &["agents", "check", "mcts sims=20", "--game", "tic_tac_toe"]).well();
    assert_eq!(text, "passed  mcts sims=20\n");
    let missing = ludex(here.path(), &["agents", "check", "no_such_agent", "--game", "tic_tac_toe", "--json"]);
    let document: Value = serde_json::from_str(&missing.out).unwrap();
    assert_eq!((missing.code, &document["failed"]), (1, &json!(1)));
    assert!(document["agents"][0]["why"].as_str().unwrap().contains("no_such_agent"), "{document}");
    assert_eq!(ludex(here.path(), &["agents", "check", "random", "--game", "no_such_game"]).code, 2);
}

#[test]
fn agents_check_reports_each_bot() {
    let here = folder();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/examples/botzone/tic_tac_toe.py");
    std::fs::copy(sample, here.path().join("good.py")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(here.path().join(name), text).unwrap();
    write("prose.py", "print('I would take the middle.')");
    write("cheat.py", "print('{\"response\": {\"x\": 7, \"y\": 7}}')");
    write("crash.py", "raise SystemExit('no idea')");
    let ran = ludex(here.path(), &["agents", "check", ".", "--game", "tic_tac_toe", "--json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let told: Vec<String> = document["agents"].as_array().unwrap().iter().map(Value::to_string).collect();
    let of = |name: &str| told.iter().find(|t| t.contains(name)).unwrap();
    assert_eq!((ran.code, told.len()), (1, 4), "{}", ran.out);
    assert!(of("good.py").contains("true") && of("prose.py").contains("NJ"), "{}", ran.out);
    assert!(of("cheat.py").contains("7") && of("crash.py").contains("no idea"), "{}", ran.out);
}

#[test]
fn agents_check_accepts_folders() {
    let here = folder();
    let bots = here.path().join("bots");
    std::fs::create_dir(&bots).unwrap();
    let empty = ludex(here.path(), &["agents", "check", "bots", "--game", "tic_tac_toe"]);
    assert!(empty.code == 2 && empty.err.contains("expected a bot or a folder of bots"), "{}", empty.err);
    std::fs::write(bots.join("bad.c"), "int main() { return nothing_of_this_name; }").unwrap();
    std::fs::write(bots.join(".hidden.py"), "").unwrap();
    std::fs::write(bots.join("notes.txt"), "").unwrap();
    let ran = ludex(here.path(), &["agents", "check", "bots", "--game", "tic_tac_toe", "--json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, document["agents"].as_array().unwrap().len()), (1, 1));
    // Without a compiler, the error names the missing compiler.
    let why = document["agents"][0]["why"].as_str().unwrap();
    assert!(why.contains("nothing_of_this_name") || why.contains("got cc"), "{why}");
}

/// Checks that each invalid line gets a reply with the reason and the location of the fault, and that the next line is
/// still answered.
#[test]
fn mahjong_requests_are_answered_line_by_line() {
    let hand = r#"["W1","W2","W3","W4","W5","W6","W7","W8","W9","B1","B1","B1","T2"]"#;
    let long = format!(r#"{{"hand":{hand},"win":"T2","edition":"{}"}}"#, "x".repeat(1_000_000));
    let longer = "x".repeat(2 << 20);
    let good = format!(r#"{{"hand":{hand},"win":"T2"}}"#);
    let lines: [(String, &str, &str); 9] = [
        (r#"{"hand":["W3","W3","W3","W3","W3","W1","W2","W4","W5","W6","W7","W8","W9"]}"#.into(), "/hand/4", "five W3"),
        (good.replacen("\"W1\",", "", 1), "/hand", "expected 13 tiles in addition to 0 melds, got 12"),
        (r#"{"pack":[["CHI","F2",1]],"hand":[]}"#.into(), "/pack/0/1", "middle tile"),
        (format!(r#"{{"hand":{hand},"wins":"T2"}}"#), "/wins", "did you mean win"),
        (format!(r#"{{"hand":{hand},"win":"T2","self_drawn":1}}"#), "/self_drawn", "expected true or false"),
        (good.replace("T2", "T0"), "/hand/12", "not a tile"),
        ("no JSON".into(), "", "expected JSON"),
        (long, "/edition", "expected `oracle` or `strict98`"),
        (longer, "", "expected at most"),
    ];
    let input: String = lines.iter().map(|line| format!("{}\n{good}\n", line.0)).collect();
    let here = folder();
    let ran = feed(here.path(), &["games", "analyze", "mcr_mahjong"], &input);
    assert_eq!(ran.code, 1);
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 18);
    for (k, (_, path, word)) in lines.iter().enumerate() {
        let answer = &answers[2 * k];
        assert!(answer["error"].as_str().unwrap().contains(word), "{k}: {answer}");
        assert_eq!(answer["path"].as_str().unwrap_or_default(), *path, "{answer}");
        assert!(answer["error"].as_str().unwrap().len() < 1_000, "the error repeats the long value");
        assert_eq!(answers[2 * k + 1]["total"], 21);
        assert!(ran.err.contains(&format!("line {}: ", 2 * k + 1)), "{}", ran.err);
    }
}
