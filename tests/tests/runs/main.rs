//! Runs as an evaluator uses them: killed at any moment, continued, stopped by budgets, refused after changed settings.

mod absence;
mod batches;
mod deals;
mod excerpts;
mod faults;
mod fields;
mod labels;
mod models;
mod number;
mod once;
mod policies;
mod reports;
mod seasons;
mod seats;
mod shards;
mod site;
mod skills;
mod suites;
mod tuning;
mod walls;
mod wire;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ludex_env::Stream;
use serde_json::Value;

/// Exit code and output of a command.
struct Ran {
    ok: bool,
    out: String,
    err: String,
}

impl Ran {
    fn json(&self) -> Value {
        assert!(self.ok, "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    fn well(&self) -> &str {
        assert!(self.ok, "{}{}", self.out, self.err);
        &self.out
    }

    fn fails(&self) -> &str {
        assert!(!self.ok, "{}", self.out);
        &self.err
    }
}

/// Temporary data folder with a suite of small games.
struct Place {
    folder: tempfile::TempDir,
}

/// Suite of two parts: matches against fixed opponents, and a bisection of a rating ladder.
const SUITE: &str = r#"
name = "small"
version = 1
title = "Small"

[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["random", "anchor level=1"]
blocks = 12

[[part]]
id = "four"
game = "connect_four"
schedule = "bisect"
blocks = 6
metrics = ["level"]
"#;

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::write(place.path("small.toml"), SUITE).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn of_run(&self, run: &str, file: &str) -> PathBuf {
        self.path("ludex-data").join("runs").join(run).join(file)
    }

    fn start(&self, args: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program")
    }

    fn ludex(&self, args: &[&str]) -> Ran {
        let done = self.start(args).wait_with_output().expect("its end");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ran { ok: done.status.success(), out: text(done.stdout), err: text(done.stderr) }
    }

    /// Runs `ludex evaluate` for an agent with the small suite.
    fn evaluate(&self, agent: &str, run: &str, more: &[&str]) -> Ran {
        self.ludex(&[&["evaluate", "--agent", agent, "--suite", "small.toml", "--run", run, "--json"], more].concat())
    }

    /// Returns the size of a run's files in bytes.
    fn written(&self, run: &str) -> u64 {
        let size = |file| fs::metadata(self.of_run(run, file)).map_or(0, |m| m.len());
        size("episodes.jsonl") + size("calls.jsonl")
    }
}

/// Returns the part of a result that must not depend on interruptions.
fn table(ran: &Ran) -> Value {
    let mut all = ran.json();
    for once in ["run", "played", "folder", "files"] {
        all.as_object_mut().unwrap().remove(once);
    }
    // The duration differs between runs.
    all["usage"].as_object_mut().unwrap().remove("seconds");
    all
}

/// Returns the text of a run file without times and without values that depend on times.
fn timeless(text: &str) -> String {
    let times = r#""(started|ended|at|begun)": ?"[^"]*"|"(digest|calls_sha256)": ?"[0-9a-f]{32,}"|"ms": ?[0-9]+"#;
    regex::Regex::new(times).unwrap().replace_all(text, "").into_owned()
}

/// Returns the records of a run.
fn records(place: &Place, run: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.of_run(run, "episodes.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Starts a command repeatedly and kills it `times` times, each time after it has written a random number of bytes up
/// to about twice `step`. Then runs the command to its end.
fn killed(place: &Place, run: &str, line: &[&str], times: u32, step: u64) -> Ran {
    let mut rng = Stream::from_text("ludex.v1:test:kills");
    let mut kills = 0;
    while kills < times {
        let until = place.written(run) + 1 + rng.unit() as u64 * step + (rng.unit() * step as f64) as u64;
        let mut child = place.start(line);
        loop {
            if child.try_wait().unwrap().is_some() {
                panic!("it came to its end after {kills} kills: too little to play for this test");
            }
            if place.written(run) >= until {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    place.ludex(line)
}

#[test]
fn killed_run_gives_same_result_as_uninterrupted_run() {
    let place = Place::new();
    let whole = place.evaluate("mcts sims=60", "whole", &["--jobs", "2"]);
    let line =
        ["evaluate", "--agent", "mcts sims=60", "--suite", "small.toml", "--run", "cut", "--json", "--jobs", "2"];
    let cut = killed(&place, "cut", &line, 10, 6_000);
    assert_eq!(table(&cut), table(&whole));
    let again = place.evaluate("mcts sims=60", "whole", &[]);
    assert_eq!(
        (again.json()["played"].as_u64(), table(&again)),
        (Some(0), table(&whole)),
        "finished matches are not replayed"
    );
}

#[test]
fn truncated_line_is_dropped_and_damaged_line_is_reported() {
    let place = Place::new();
    let whole = place.evaluate("random", "a", &[]);
    place.evaluate("random", "b", &["--budget", "games=10"]).json();
    for file in ["episodes.jsonl", "calls.jsonl", "log.jsonl"] {
        let path = place.of_run("b", file);
        let mut bytes = fs::read(&path).unwrap();
        // Appends half a record that ends within a character, in one file followed by a line break, as a disk may leave
        // it.
        bytes.extend(b"{\"ludex\":1,\"episode\":\"b.nim.0-1.9.0\",\"\xc3");
        bytes.extend(if file == "log.jsonl" { "\n" } else { "" }.as_bytes());
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(table(&place.evaluate("random", "b", &[])), table(&whole));
    let path = place.of_run("b", "episodes.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"ludex\":2", "\"ludex\":x", 1)).unwrap();
    let error = place.evaluate("random", "b", &[]);
    assert!(error.fails().contains("episodes.jsonl: line 1 is damaged"), "{}", error.err);
}

#[test]
fn refusal_states_which_setting_changed() {
    let place = Place::new();
    place.evaluate("mcts sims=5", "r", &["--budget", "games=2"]).json();
    for (agent, more, what) in [
        ("mcts sims=6", &[][..], "spec of mcts sims=5: was mcts sims=5, is mcts sims=6"),
        ("mcts sims=5", &["--scale", "0.5"], "scale: was 1, is 0.5"),
        ("mcts sims=5", &["--seed-secret", "00ff"], "seeds: was open (0), is a secret"),
        ("mcts sims=5", &["--agent", "alphabeta"], "number of agents"),
    ] {
        let ran = place.evaluate(agent, "r", more);
        assert!(ran.fails().contains(what), "{}", ran.err);
        assert!(ran.err.contains("run r has other settings; use --run with another name"), "{}", ran.err);
    }
    fs::write(place.path("small.toml"), SUITE.replace("blocks = 12", "blocks = 13")).unwrap();
    assert!(place.evaluate("mcts sims=5", "r", &[]).fails().contains("suite: was small version 1"));
    fs::write(place.path("small.toml"), SUITE).unwrap();
    assert!(place.evaluate("mcts sims=5", "r", &[]).ok, "the first command continues the run");
}

#[test]
fn run_resumes_after_budget_stops_it() {
    let place = Place::new();
    let whole = place.evaluate("random", "whole", &[]);
    let first = place.evaluate("random", "part", &["--budget", "games=7", "--jobs", "1"]);
    assert_eq!((first.json()["end"].as_str(), first.json()["matches"].as_u64()), (Some("budget"), Some(8)));
    assert!(first.err.contains("the budget of 7 matches is used up (7)"), "{}", first.err);
    let status = place.ludex(&["status", "part", "--json"]).json();
    assert_eq!((status["state"].as_str(), status["matches"].as_u64()), (Some("stopped"), Some(8)));
    assert_eq!(table(&place.evaluate("random", "part", &[])), table(&whole));
    assert_eq!(place.ludex(&["status", "part", "--json"]).json()["state"], "done");
    for bad in ["games", "days=3", "usd=-1"] {
        let why = "--budget: expected e.g. usd=50";
        assert!(place.evaluate("random", "part", &["--budget", bad]).fails().contains(why));
    }
}

#[test]
fn part_ends_when_interval_is_narrow_enough() {
    let place = Place::new();
    let matches = |ci: &str, run: &str| {
        place.evaluate("mcts sims=5", run, &["--stop-at-ci", ci]).json()["matches"].as_u64().unwrap()
    };
    let all = place.evaluate("mcts sims=5", "all", &[]).json()["matches"].as_u64().unwrap();
    let (wide, narrow) = (matches("2000", "wide"), matches("0.1", "narrow"));
    assert!(wide < all && narrow == all, "{wide} {narrow} {all}");
    // For intervals of any width, the first check is after eight blocks of two matches in each of the two parts.
    assert!(wide >= 2 * 8, "{wide}");
    let part = &place.ludex(&["status", "all", "--json"]).json()["parts"][0];
    let width = |end: &str| part["rating"][end].as_f64().unwrap();
    let blocks = part["blocks"].as_f64().unwrap();
    let needed = (blocks * ((width("high") - width("low")) / 60.0).powi(2)).ceil().max(2.0);
    assert_eq!((blocks, part["blocks_for_30"].as_f64()), (24.0, Some(needed)));
    let shown = place.ludex(&["status", "all"]);
    assert!(shown.well().contains("for +-30") && shown.well().contains(&format!(" {needed} ")), "{}", shown.out);
}

#[test]
fn run_in_progress_is_locked() {
    let place = Place::new();
    place.evaluate("random", "r", &["--budget", "games=2"]).json();
    let lock = fs::File::open(place.of_run("r", "lock")).unwrap();
    lock.lock().unwrap();
    assert!(place.evaluate("random", "r", &[]).fails().contains("run r is being played by another process"));
    assert_eq!(place.ludex(&["status", "r", "--json"]).json()["state"], "playing");
    lock.unlock().unwrap();
    assert!(place.evaluate("random", "r", &[]).ok);
    // Without a run name, all runs are listed.
    let all = place.ludex(&["status", "--json"]).json();
    assert!(all["runs"].as_array().is_some_and(|runs| runs.iter().any(|run| run["run"] == "r")), "{all}");
    let listed = place.ludex(&["status"]);
    let list = listed.well();
    assert!(list.starts_with("run ") && list.lines().skip(1).any(|line| line.starts_with("r ")), "{list}");
}

#[test]
fn unplayable_agents_are_reported_before_start() {
    let place = Place::new();
    for (agent, why) in [
        ("rndom", "did you mean random?"),
        ("remote", "which is remote and enrolls on a server"),
        ("tit_for_tat", "tit_for_tat in part nim"),
    ] {
        let ran = place.evaluate(agent, "never", &[]);
        assert!(ran.fails().contains(why), "{agent}: {}", ran.err);
    }
    assert!(!place.of_run("never", "run.json").exists());
    assert!(place.evaluate("random", "No Name", &[]).fails().contains("expected only a-z, 0-9, _ and -"));
    let missing = place.ludex(&["evaluate", "--agent", "random", "--suite", "absolut", "--run", "x"]);
    assert!(missing.fails().contains("did you mean absolute?"), "{}", missing.err);
    assert!(place.ludex(&["status", "nothing"]).fails().contains("there is no run \"nothing\""));
}

/// Checks that the built-in suites are playable as written: every opponent supports its game.
#[test]
fn builtin_suites_are_playable() {
    for (name, _) in ludex_referee::suite::SUITES {
        let text = ludex_referee::suite::Suite::builtin_text(name).unwrap();
        let suite = ludex_referee::suite::Suite::parse(text, &ludex_games::builtin()).unwrap();
        let candidate = [("random".to_owned(), "random".to_owned())];
        let plan = ludex_referee::suite::plan::Plan::new(suite, &candidate, 1.0, &ludex_games::builtin()).unwrap();
        ludex_play::runs::tables(&plan, None).unwrap_or_else(|e| panic!("{name}: {e:#}"));
    }
}

/// Checks that a failure of a suite's opponent never counts for the candidate: the match is played again once and then
/// discarded. An opponent that cannot play at all is reported before the first match.
#[test]
fn failed_opponent_does_not_affect_candidate() {
    let place = Place::new();
    // The bot exits after its first move.
    let bot = "import json, sys\nseen = json.loads(sys.stdin.readline())\nif seen['responses']: sys.exit(3)\ntaken = [(m['x'], m['y']) for m in seen['requests']]\nx, y = [(x, y) for x in range(3) for y in range(3) if (x, y) not in taken][0]\nprint(json.dumps({'response': {'x': x, 'y': y}}))\n";
    fs::write(place.path("bot.py"), bot).unwrap();
    let suite = |policy: &str, cmd: &str| {
        format!(
            "name = \"weak\"\nversion = 1\ntitle = \"W\"\n{policy}[[part]]\nid = \"ttt\"\ngame = \"tic_tac_toe\"\nschedule = \"against\"\nopponents = ['botzone cmd=\"{cmd}\"']\nblocks = 2\n"
        )
    };
    let run = |policy: &str, cmd: &str, run: &str| {
        fs::write(place.path("weak.toml"), suite(policy, cmd)).unwrap();
        place.ludex(&["evaluate", "--agent", "random", "--suite", "weak.toml", "--run", run, "--json"])
    };
    let ran = run("", "python3 bot.py", "fails");
    assert!(ran.fails().contains("expected matches that count"), "{}", ran.err);
    let records = fs::read_to_string(place.of_run("fails", "episodes.jsonl")).unwrap();
    assert_eq!((records.lines().count(), records.matches("infra_error").count()), (8, 8));
    let status = place.ludex(&["status", "fails", "--json"]).json();
    assert_eq!((&status["parts"][0]["wins"], &status["parts"][0]["discarded"]), (&0.into(), &4.into()));
    let counted = run("[policy]\nopponent_fault = \"count\"\n", "python3 bot.py", "counts").json();
    assert_eq!((&counted["parts"][0]["wins"], &counted["parts"][0]["discarded"]), (&4.into(), &0.into()));
    let missing = run("", "no-such-program-here", "missing");
    let why = missing.fails();
    assert!(why.contains("nothing was played: ") || why.contains("no-such-program-here"), "{why}");
    assert_eq!(fs::metadata(place.of_run("missing", "episodes.jsonl")).map_or(0, |m| m.len()), 0);
}

/// Checks that a suite has no networks as its own opponents, since their replies differ between processors.
#[test]
fn networks_are_not_opponents_of_suites() {
    let place = Place::new();
    let suite = "name = \"nets\"\nversion = 1\ntitle = \"N\"\n[[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"net file=policy.onnx\"]\nblocks = 1\n";
    fs::write(place.path("nets.toml"), suite).unwrap();
    let refused = place.ludex(&["evaluate", "--agent", "random", "--suite", "nets.toml", "--run", "r"]);
    assert!(refused.fails().contains("expected opponents of a suite without networks"), "{}", refused.err);
}

/// Checks that a candidate that is also an opponent is scored from the seat that the plan gives to the candidate.
#[test]
fn match_of_candidate_against_itself_counts_once() {
    let place = Place::new();
    let suite = "name = \"self\"\nversion = 1\ntitle = \"S\"\n[[part]]\nid = \"nim\"\ngame = \"nim\"\nschedule = \"against\"\nopponents = [\"random\", \"mcts sims=20\"]\nblocks = 4\nmetrics = [\"score_rate\", \"length\"]\n";
    fs::write(place.path("self.toml"), suite).unwrap();
    let ran = place.ludex(&["evaluate", "--agent", "random", "--suite", "self.toml", "--run", "r", "--json"]).json();
    let part = &ran["parts"][0];
    assert_eq!(part["metrics"]["length"]["n"], 16, "{part}");
    assert_eq!(part["metrics"]["score_rate"]["n"], 16, "{part}");
    assert_eq!(part["metrics"]["score_rate"]["value"], part["score"]["value"], "{part}");
}

/// Checks that the prisoner's dilemma, which has no winner, is measured by its mean return, and that no group contains
/// a mean of its scores.
#[test]
fn general_sum_game_has_return_but_no_score() {
    let place = Place::new();
    let suite = "name = \"pd\"\nversion = 1\ntitle = \"P\"\n[[part]]\nid = \"pd\"\ngame = \"iterated_prisoners_dilemma\"\nschedule = \"against\"\nopponents = [\"tit_for_tat\"]\nblocks = 2\ngroups = [\"cooperation\"]\n";
    fs::write(place.path("pd.toml"), suite).unwrap();
    let ran = place.ludex(&["evaluate", "--agent", "random", "--suite", "pd.toml", "--run", "r", "--json"]).json();
    let part = &ran["parts"][0];
    assert!(part["score"].is_null() && part["rating"].is_null() && part["metrics"]["mean_return"]["n"] == 4, "{part}");
    assert_eq!(ran["groups"].as_array().unwrap().len(), 0);
}
