//! `ludex tournament`: failing bots, interrupted runs, formats, and errors for impossible tournaments.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::{folder, ludex};

/// Bot that takes the first free cell but exits without a move if the opponent has opened in the center.
const STUMBLER: &str = "
import json
match = json.loads(input())
theirs = [(r['x'], r['y']) for r in match['requests'] if r['x'] >= 0]
mine = [(r['x'], r['y']) for r in match['responses']]
if theirs[:1] == [(1, 1)]:
    raise KeyError('the middle')
x, y = [(x, y) for y in range(3) for x in range(3) if (x, y) not in theirs + mine][0]
print(json.dumps({'response': {'x': x, 'y': y}}))
";

/// Built-in entrants of a tic-tac-toe tournament.
const QUICK: &str = "
[agents.chance]
spec = \"random\"
[agents.first]
spec = \"alphabeta depth=1\"
[agents.second]
spec = \"alphabeta depth=2\"
[agents.third]
spec = \"mcts sims=10\"
[agents.fourth]
spec = \"mcts sims=100\"
[agents.solid]
spec = \"solver\"
";

fn tournament<'a>(format: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["tournament", "--agents", "agents.toml", "--game", "tic_tac_toe", "--format", format, "--run", "cup"];
    [&args[..], more].concat()
}

fn row_of<'v>(table: &'v Value, name: &str) -> &'v Value {
    let entrants = table["entrants"].as_array().expect("a table");
    entrants.iter().find(|e| e["name"] == name).unwrap_or_else(|| panic!("{name}: {table}"))
}

/// Returns the records of the run, one per line.
fn records(at: &Path) -> Vec<String> {
    let text = fs::read_to_string(at.join("ludex-data/runs/cup/episodes.jsonl")).expect("records");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn tournament_excludes_broken_bots() {
    let here = folder();
    let at = here.path();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/examples/botzone/tic_tac_toe.py");
    fs::copy(sample, at.join("sample.py")).unwrap();
    fs::write(at.join("stumbler.py"), STUMBLER).unwrap();
    fs::write(at.join("broken.py"), "import nothing_of_this_name\n").unwrap();
    let entrants = "
[agents.chance]
spec = \"random\"
[agents.second]
spec = \"alphabeta depth=2\"
[agents.solid]
spec = \"solver\"
[agents.sample]
file = \"sample.py\"
[agents.stumbler]
file = \"stumbler.py\"
[agents.broken]
file = \"broken.py\"
";
    fs::write(at.join("agents.toml"), entrants).unwrap();
    let args = tournament("double_round_robin", &["--max-failures", "2", "--seed", "3"]);
    let ran = ludex(at, &[&args[..], &["--json"]].concat());
    assert!(ran.err.contains("broken is excluded") && ran.err.contains("nothing_of_this_name"), "{}", ran.err);
    assert!(ran.err.contains("5 entrants, at most 20 matches"), "{}", ran.err);
    let table = ran.json();
    assert_eq!((&table["over"], &table["tie_break"]), (&json!(true), &json!("Sonneborn-Berger")));
    assert_eq!(table["matches"].as_u64().unwrap() as usize, records(at).len());

    let out = row_of(&table, "broken");
    assert_eq!((&out["rank"], &out["wins"], &out["walkovers"]), (&Value::Null, &json!(0), &json!(10)));
    assert!(out["out"].as_str().unwrap().contains("nothing_of_this_name"), "{out}");
    let out = row_of(&table, "stumbler");
    let why = out["out"].as_str().unwrap();
    assert!(why.contains("disqualified") && why.contains("RE: ") && why.contains("the middle"), "{why}");
    assert!(out["failures"].as_u64().unwrap() >= 2 && out["rank"].is_null(), "{out}");
    // The table of the four remaining entrants is computed from their twelve matches.
    let left = ["chance", "second", "solid", "sample"].map(|name| row_of(&table, name));
    assert_eq!(left.iter().map(|e| e["points"].as_f64().unwrap()).sum::<f64>(), 12.0);
    for line in left {
        let games = ["wins", "draws", "losses"].map(|what| line[what].as_u64().unwrap());
        assert_eq!((games.iter().sum::<u64>(), line["walkovers"].as_u64()), (6, Some(4)), "{line}");
    }
    assert_eq!((&row_of(&table, "solid")["losses"], &row_of(&table, "chance")["rank"]), (&json!(0), &json!(4)));

    // The same command again, with text output: no bot is checked and no match is played a second time.
    let lines = records(at);
    let text = ludex(at, &args).well();
    assert_eq!(records(at), lines);
    for said in ["Sonneborn-Berger", "walkovers", "stumbler is out: disqualified", "broken is out: ", "; over"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let status = ludex(at, &["status", "cup", "--json"]).json();
    assert_eq!((&status["entrants"], &status["over"]), (&table["entrants"], &json!(true)));
}

#[test]
fn tournament_table_is_unaffected_by_kill() {
    for format in ["round_robin", "double_round_robin", "swiss", "ladder"] {
        let here = folder();
        let at = here.path();
        fs::write(at.join("agents.toml"), QUICK).unwrap();
        let args = tournament(format, &["--json"]);
        let whole = ludex(at, &args).json();
        let lines = records(at);
        assert_eq!(whole["over"], true);
        for kept in [0, 1, lines.len() / 2, lines.len() - 1] {
            // Truncates the file after this number of matches, in the middle of the next line.
            let mut text: String = lines[..kept].iter().map(|line| format!("{line}\n")).collect();
            text.push_str(&lines[kept][..lines[kept].len() / 2]);
            fs::write(at.join("ludex-data/runs/cup/episodes.jsonl"), text).unwrap();
            let again = ludex(at, &args).json();
            assert_eq!(again["entrants"], whole["entrants"], "{format}, {kept} of {}", lines.len());
            assert_eq!(again["played"].as_u64().unwrap() as usize, lines.len() - kept);
            assert_eq!(records(at)[..kept], lines[..kept]);
        }
    }
}

#[test]
fn killed_tournament_resumes() {
    let (one, two) = (folder(), folder());
    [&one, &two].iter().for_each(|at| fs::write(at.path().join("agents.toml"), QUICK).unwrap());
    let args = tournament("double_round_robin", &["--blocks", "10", "--jobs", "1", "--json"]);
    let whole = ludex(one.path(), &args).json();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
        .args(&args)
        .current_dir(two.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let episodes = two.path().join("ludex-data/runs/cup/episodes.jsonl");
    // Kills the command in the middle unless it has already ended; the table is the same in both cases.
    while child.try_wait().unwrap().is_none() && fs::read(&episodes).map_or(0, |bytes| bytes.len()) < 20_000 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    child.wait().unwrap();
    let again = ludex(two.path(), &args).json();
    assert_eq!(again["entrants"], whole["entrants"]);
    assert_eq!(records(two.path()).len(), records(one.path()).len());
}

#[test]
fn multiplayer_tournament_gives_each_entrant_every_seat() {
    let here = folder();
    let at = here.path();
    let specs = [("a", "random"), ("b", "random"), ("c", "ismcts sims=20"), ("d", "ismcts sims=20")];
    let text: String = specs.iter().map(|(name, spec)| format!("[agents.{name}]\nspec = \"{spec}\"\n")).collect();
    fs::write(at.join("agents.toml"), text).unwrap();
    let game = "kuhn_poker(players=3)";
    let args = |format| ["tournament", "--agents", "agents.toml", "--game", game, "--format", format, "--run", "cup"];
    let table = ludex(at, &[&args("round_robin")[..], &["--json"]].concat()).json();
    // Each of the four sets of three entrants plays three matches, so that each entrant has every seat. An entrant gets
    // half a point per opponent tied with and one per opponent beaten, so a match is worth three points.
    assert_eq!((&table["matches"], table["entrants"].as_array().unwrap().len()), (&json!(12), 4));
    let points: f64 = table["entrants"].as_array().unwrap().iter().map(|e| e["points"].as_f64().unwrap()).sum();
    assert_eq!(points, 36.0);
    let first: Value = serde_json::from_str(&records(at)[0]).unwrap();
    assert_eq!(first["episode"].as_str().unwrap().split('.').nth(2).unwrap().split('-').count(), 3);
    let err = ludex(at, &args("swiss")).fails();
    assert!(err.contains("swiss: expected a game of 2 seats, got 3"), "{err}");
}

#[test]
fn tournament_estimate_plays_no_match() {
    let here = folder();
    let at = here.path();
    fs::write(at.join("agents.toml"), QUICK).unwrap();
    let said = ludex(at, &tournament("swiss", &["--estimate"])).well();
    assert!(said.starts_with("6 entrants, at most 30 matches of about "), "{said}");
    let said = ludex(at, &tournament("ladder", &["--estimate", "--json"])).json();
    assert_eq!((&said["matches_at_most"], &said["left_out"]), (&json!(30), &json!([])));
    assert!(!at.join("ludex-data").exists());
}

#[test]
fn invalid_tournament_errors_state_the_reason() {
    let here = folder();
    let at = here.path();
    fs::write(at.join("agents.toml"), QUICK).unwrap();
    let fails = |args: &[&str], said: &str| {
        let err = ludex(at, args).fails();
        assert!(err.contains(said), "{said}: {err}");
    };
    fails(&tournament("ladder", &["--rounds", "3"]), "--rounds: allowed only with --format swiss");
    let of = |game, file| ["tournament", "--agents", file, "--game", game, "--format", "ladder"];
    fails(&of("hanabi", "agents.toml"), "expected a game with winners");
    fails(&of("tic_tac_toe", "missing.toml"), "missing.toml cannot be read");
    fails(&of("tic_tac_to", "agents.toml"), "did you mean tic_tac_toe?");
    fs::write(at.join("one.toml"), "[agents.alone]\nspec = \"random\"\n").unwrap();
    fails(&of("tic_tac_toe", "one.toml"), "expected at least 2 entrants, got 1");
    let ran = ludex(at, &tournament("ladder", &["--run", "Cup 1"]));
    assert_eq!(ran.code, 2, "--run is given twice");
    fs::write(at.join("far.toml"), "[agents.ann]\nspec = \"remote\"\n[agents.house]\nspec = \"random\"\n").unwrap();
    fails(&of("tic_tac_toe", "far.toml"), "expected --listen for the remote entrant ann");
    let ran = ludex(at, &tournament("ladder", &["--server", "ws://127.0.0.1:1"]));
    assert!(ran.code == 2 && ran.err.contains("unexpected argument '--server'"), "{}", ran.err);
    // A resumed run uses the settings with which it started.
    ludex(at, &tournament("ladder", &["--move-seconds", "7"])).well();
    assert!(fs::read_to_string(at.join("ludex-data/runs/cup/suite.toml")).unwrap().contains("limit_s = 7"));
    let err = ludex(at, &tournament("ladder", &["--seed", "1"])).err;
    assert!(err.contains("has other settings") && err.contains("--run with another name"), "{err}");
}

#[test]
fn tournament_of_sixty_bots_finishes() {
    let here = folder();
    let class = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/examples/botzone/class.py");
    let done = Command::new("python3").arg(class).arg(here.path().join("class")).status().unwrap();
    assert!(done.success());
    let agents = ludex_play::agents_file::read(&here.path().join("class")).unwrap();
    assert_eq!(agents.entries.len(), 60);
    assert_eq!(agents.entries.iter().filter(|entry| entry.name.starts_with("bad_")).count(), 3);
}
