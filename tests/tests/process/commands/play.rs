//! `ludex play`: the display for a person, and the assignment of seats.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use super::{feed, folder, ludex};

/// Runs the command on typed lines and returns its output.
fn play(args: &[&str], input: &str) -> String {
    let at = folder();
    feed(at.path(), &[&["play"], args].concat(), input).well()
}

#[test]
fn default_opponent_is_anchor() {
    let shown = play(&["tic_tac_toe"], "quit\n");
    assert!(shown.starts_with("Tic-tac-toe: x human, o anchor level="), "{shown}");
    assert!(shown.contains("x to move: "), "{shown}");
    // White moves first in chess but is the second seat.
    let shown = play(&["chess"], "quit\n");
    assert!(shown.contains(", white human; seed "), "{shown}");
    let shown = play(&["kuhn_poker(players=3)"], "quit\n");
    assert!(shown.contains("p0 human, p1 ") && !shown.contains("p1 human"), "{shown}");
}

#[test]
fn prompt_shows_player_of_each_seat() {
    let shown = play(&["chess", "--seat", "Black=human", "--seed", "1"], "quit\n");
    assert!(shown.contains(": black human, white anchor level="), "{shown}");
    let shown = play(&["chess(max_plies=4)", "--seat", "white=random", "--seat", "black=mcts sims=2"], "");
    assert!(shown.contains(": black mcts sims=2, white random; "), "{shown}");
    // The person takes the free seat.
    let shown = play(&["chess", "--seat", "white=random"], "quit\n");
    assert!(shown.contains(": black human, white random; "), "{shown}");
    let at = folder();
    for (args, said) in [
        (&["play", "chess", "--seat", "white=random", "--seat", "random"][..], "expected SEAT=AGENT, got"),
        (&["play", "chess", "--seat", "white=random", "--seat", "white=human"], "--seat: duplicate white"),
        (&["play", "chess", "--seat", "human"], "some by name, e.g. --seat black=human"),
        (&["match", "chess", "--seat", "white=random"], "expected an agent for black"),
    ] {
        let err = ludex(at.path(), args).fails();
        assert!(err.contains(said), "{args:?}: {err}");
    }
    let swapped =
        ["match", "chess(max_plies=2)", "--blocks", "1", "--seat", "white=random", "--seat", "black=mcts sims=2"];
    let document = ludex(at.path(), &[&swapped[..], &["--json"]].concat()).json();
    assert_eq!(document["seats"][0]["agent"], "mcts sims=2");
}

#[test]
fn chance_outcomes_are_printed_on_one_line() {
    let shown = play(&["fight_the_landlord", "--seed", "1"], "quit\n");
    let chance: Vec<&str> = shown.lines().filter(|line| line.starts_with("chance: ")).collect();
    assert_eq!(chance.len(), 1, "{shown}");
    assert!(chance[0].contains("(17 times)"), "{shown}");
    assert!(shown.find("chance: ") < shown.find(" to move"), "before the first request: {shown}");
    // Two people at one terminal see the spectator's view, even before the first move.
    let shown = play(&["kuhn_poker", "--seat", "human", "--seat", "human", "--seed", "1"], "quit\n");
    assert!(shown.find("chance: ").is_some_and(|at| Some(at) < shown.find("p0 to move")), "{shown}");
}

#[test]
fn terminal_view_omits_fields_for_programs() {
    let shown = play(&["go(board_size=5)", "--seed", "1"], "c3\nquit\n");
    assert!(!shown.contains("GoState"), "{shown}");
    assert!(shown.contains("Move 1: Black (X) to play; White gets 7.5 points more at the end"), "{shown}");
    let shown = play(&["chess"], "help\nquit\n");
    assert!(shown.contains("e4") && !shown.contains("illegal"), "{shown}");
}

#[test]
fn board_is_drawn_from_the_persons_side() {
    // Black is seat 0, at the top of the board.
    let first = |seat: &str, game: &str, line: &str| {
        let shown = play(&[game, "--seat", &format!("{seat}=human"), "--seed", "1"], "quit\n");
        shown.lines().find(|shown| shown.trim_end().ends_with(line)).map(|_| ()).ok_or(shown)
    };
    first("black", "chess", "  h g f e d c b a").unwrap();
    first("white", "chess", "  a b c d e f g h").unwrap();
    first("black", "breakthrough", "  h g f e d c b a").unwrap();
    first("white", "breakthrough", "  a b c d e f g h").unwrap();
    // With two people at one terminal, each sees the board from their own side on request.
    let shown = play(&["chess", "--seat", "human", "--seat", "human", "--seed", "1"], "e4\nquit\n");
    let white = shown.find("  a b c d e f g h").expect("White moves first");
    assert!(shown.find("  h g f e d c b a").is_some_and(|black| black > white), "{shown}");
}

#[test]
fn bet_prompt_shows_amounts() {
    let args = ["texas_holdem", "--seat", "human", "--seat", "human", "--seed", "1"];
    let shown = play(&args, "Call\nCall\nquit\n");
    assert!(shown.contains("Call (50 more, 100 in all)"), "{shown}");
    assert!(shown.contains("Call (check)"), "{shown}");
    assert!(shown.contains("Bet (") && shown.contains(" more, "), "{shown}");
    assert!(shown.contains("Call (100 in all)"), "what was done: {shown}");
}

#[test]
fn moves_with_commas_are_listed_on_separate_lines() {
    let shown = play(&["bargaining", "--seed", "1"], "?\nquit\n");
    let listed = shown.lines().filter(|line| line.contains("Offer: ")).count();
    assert!(listed > 3, "{shown}");
    assert!(shown.lines().all(|line| line.matches("Offer: ").count() <= 1), "{shown}");
}

/// Presses Ctrl-C at the second request for a move and returns the command's standard error.
#[cfg(unix)]
fn interrupted(at: &std::path::Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ludex-tests"));
    command
        .current_dir(at)
        .args(["play", "tic_tac_toe", "--seat", "human", "--seat", "random", "--seed", "1"])
        .args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(b"b2\n").expect("a reader");
    let mut shown = BufReader::new(child.stdout.take().expect("its output"));
    let asked = (&mut shown).lines().map_while(Result::ok).filter(|line| line.contains("x to move: ")).take(2).count();
    assert_eq!(asked, 2);
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let mut rest = String::new();
    shown.read_to_string(&mut rest).expect("UTF-8");
    let done = child.wait_with_output().expect("its end");
    // The input was open until now; its end is a resignation.
    drop(stdin);
    let err = String::from_utf8(done.stderr).expect("UTF-8");
    assert_eq!(done.status.code(), Some(1), "{rest}{err}");
    err
}

#[cfg(unix)]
#[test]
fn ctrl_c_stores_the_record() {
    let at = folder();
    let err = interrupted(at.path(), &["--out", "mine.jsonl"]);
    assert!(err.contains("the match was stopped") && !err.contains("--out"), "{err}");
    let text = std::fs::read_to_string(at.path().join("mine.jsonl")).expect("the record");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["reason"], "aborted", "{record}");
    assert_eq!(record["events"].as_array().map(Vec::len), Some(2));
    ludex(at.path(), &["verify", "mine.jsonl"]).well();
    ludex(at.path(), &["show", "mine.jsonl"]).well();
    let err = interrupted(at.path(), &[]);
    assert!(err.contains("--out FILE writes the record"), "{err}");
}
