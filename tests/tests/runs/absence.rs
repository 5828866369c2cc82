//! Tournaments in which clients are absent or silent, lose their connection, cheat, or resign.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use ludex_env::check::scaled;
use ludex_protocol::record::{EndReason, Outcome, Record};
use ludex_tests::bot::{act, first};
use ludex_tests::run::lines;
use ludex_tests::{Bot, Server};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Number of failures that disqualify an entrant.
const STRIKES: usize = 3;

/// Behavior of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Healthy,
    /// Loses its connection in every fifth turn, and returns.
    Cuts,
    /// Leaves in its sixth turn, and does not return.
    Leaves,
    /// Receives turns, and does not answer.
    Silent,
    /// Sends only illegal moves.
    Cheats,
    /// Resigns each match at its first turn.
    Resigns,
}

/// Plays until the tournament ends, as its client `name`, with a time for thought in each turn. Returns the end of its
/// last match.
async fn play(address: SocketAddr, name: String, manner: Manner, thought: Duration) -> Instant {
    let mut bot = Bot::new(address, &name).await;
    let enrolled = bot.call("enrol", json!({"run": "cup"})).await;
    assert_eq!(enrolled["type"], "enrolled", "{enrolled}");
    let (mut turns, mut last) = (0, Instant::now());
    loop {
        let Some(message) = bot.go_on().await else { continue };
        match message["type"].as_str() {
            Some("run_end") => return last,
            Some("match_end") => last = Instant::now(),
            Some("turn") => turns += 1,
            Some("refused") if message["tries_left"] != 0 => {}
            _ => continue,
        }
        tokio::time::sleep(thought).await;
        match manner {
            Manner::Cuts if turns % 5 == 0 => bot.cut().await,
            Manner::Leaves if turns > 5 => return last,
            Manner::Silent => {}
            Manner::Cheats => bot.ask("act", act(&message, json!({"action": 99}))).await,
            Manner::Resigns => bot.ask("resign", json!({"match": message["match"]})).await,
            _ => bot.answer(&message, &mut first).await,
        }
    }
}

/// Plays a tournament of clients, and returns its standings by name, its records, and the time until its last match ended.
async fn cup(format: Value, manners: &[Manner], thought: Duration) -> (BTreeMap<String, Value>, Vec<Record>, Duration) {
    // Sessions end long before the grace time of the tournament, and the tournament continues without them.
    let server = Server::start(|config| config.limits.grace_ms = 100).await;
    let names: Vec<String> = manners.iter().enumerate().map(|(k, manner)| format!("{manner:?}{k}")).collect();
    let entrants: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let request = json!({
        "run": "cup", "game": "tic_tac_toe", "format": format, "entrants": entrants, "strikes": STRIKES,
        "move_ms": 1_000, "grace_ms": 1_500,
    });
    server.runs.organise(&serde_json::from_value(request).expect("a request")).await.expect("a tournament");
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for (name, &manner) in names.iter().zip(manners) {
        clients.spawn(play(server.address, name.clone(), manner, thought));
    }
    let mut took = Duration::ZERO;
    let all = async {
        while let Some(last) = clients.join_next().await {
            took = took.max(last.expect("no panic").duration_since(begun));
        }
    };
    tokio::time::timeout(Duration::from_secs(240), all).await.expect("an end");
    let page = server.runs.run("cup").await.expect("a run");
    assert_eq!(page["state"], "done", "{page}");
    let rows = page["verdict"]["entrants"].as_array().expect("a table");
    let table = rows.iter().map(|row| (row["name"].as_str().expect("a name").to_owned(), row.clone())).collect();
    let run = server.data.join("runs/cup");
    let records = lines(&run, "episodes.jsonl").into_iter().map(|line| serde_json::from_value(line).expect("a record"));
    let records = records.collect();
    let audit = Command::new(PROGRAM).arg("verify").arg(&run).output().expect("the program");
    let shown = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success() && shown.contains("complete: all"), "{shown}");
    server.stop().stopped().await;
    (table, records, took)
}

fn name(record: &Record, seat: usize) -> &str {
    &record.header.seats[seat].name
}

/// Returns the number of matches that each entrant's own failures ended.
fn failures(records: &[Record]) -> BTreeMap<&str, usize> {
    use EndReason::{Disconnect, Illegal, NoShow, Timeout};
    let mut failures = BTreeMap::new();
    for record in records {
        if let (Some(Timeout | Disconnect | Illegal | NoShow), Some(seat)) =
            (record.footer.reason, record.footer.at_fault)
        {
            *failures.entry(name(record, seat as usize)).or_default() += 1;
        }
    }
    failures
}

/// Returns the points of each entrant in these records. A missed match is lost.
fn points<'r>(records: impl Iterator<Item = &'r Record>) -> BTreeMap<&'r str, f64> {
    let mut points: BTreeMap<&str, f64> = BTreeMap::new();
    for record in records {
        let missed = record.footer.at_fault.filter(|_| record.footer.reason == Some(EndReason::NoShow));
        for seat in 0..2 {
            let points = points.entry(name(record, seat)).or_default();
            *points += match (missed, record.footer.outcome[seat]) {
                (Some(missed), _) => f64::from(u8::from(missed as usize != seat)),
                (None, Outcome::Win) => 1.0,
                (None, Outcome::Draw) => 0.5,
                (None, _) => 0.0,
            };
        }
    }
    points
}

/// Returns 60 clients, or fewer in short tests, of which this share misbehaves.
fn crowd() -> Vec<Manner> {
    use Manner::{Cheats, Cuts, Healthy, Leaves, Resigns};
    let kinds = [
        Healthy, Cuts, Healthy, Leaves, Healthy, Cuts, Healthy, Cheats, Healthy, Cuts, Healthy, Resigns, Healthy,
        Healthy, Healthy,
    ];
    kinds.into_iter().cycle().take(scaled(60).clamp(15, 60) as usize).collect()
}

#[tokio::test]
async fn round_robin_does_not_wait_for_absent_clients() {
    let crowd = crowd();
    let healthy = vec![Manner::Healthy; crowd.len()];
    let (_, all, usual) = cup(json!("round_robin"), &healthy, Duration::ZERO).await;
    let (table, records, took) = cup(json!("round_robin"), &crowd, Duration::ZERO).await;
    println!("{} clients: {:.1} times as long as healthy ones", crowd.len(), took.as_secs_f64() / usual.as_secs_f64());
    assert_eq!(all.len(), crowd.len() * (crowd.len() - 1) / 2);
    let failures = failures(&records);
    let out: BTreeSet<&str> = failures.iter().filter(|(_, n)| **n >= STRIKES).map(|(name, _)| *name).collect();
    let listed: BTreeSet<&str> =
        table.iter().filter(|(_, row)| !row["out"].is_null()).map(|(name, _)| &**name).collect();
    assert_eq!(out, listed);
    let kind = |kind: &str| table.keys().filter(|name| name.starts_with(kind)).map(String::as_str).collect();
    let bad: BTreeSet<&str> = BTreeSet::union(&kind("Leaves"), &kind("Cheats")).copied().collect();
    assert_eq!(out, bad, "those that left or cheated, and no others");
    assert!(failures.iter().all(|(name, &n)| !name.starts_with("Cheats") || n == STRIKES), "{failures:?}");
    let counted = records.iter().filter(|record| (0..2).all(|seat| !out.contains(name(record, seat))));
    let by_hand = points(counted);
    for (name, row) in table.iter().filter(|(name, _)| !out.contains(&***name)) {
        assert_eq!(row["points"].as_f64(), by_hand.get(&**name).copied(), "{name}: {row}");
    }
}

#[tokio::test]
async fn swiss_rounds_do_not_wait_for_absent_clients() {
    let mut crowd = crowd();
    let healthy = vec![Manner::Healthy; crowd.len()];
    let format = json!({"swiss": {"rounds": 4}});
    // A round waits for the clock of the silent client, and once for the grace time.
    let thought = Duration::from_millis(scaled(200).clamp(20, 200));
    let (_, _, usual) = cup(format.clone(), &healthy, thought).await;
    crowd.iter_mut().filter(|manner| **manner == Manner::Cuts).take(1).for_each(|manner| *manner = Manner::Silent);
    let (table, records, took) = cup(format, &crowd, thought).await;
    println!("{} clients: {:.1} times as long as healthy ones", crowd.len(), took.as_secs_f64() / usual.as_secs_f64());
    let by_hand = points(records.iter());
    for (name, row) in &table {
        let byes = 2.0 * row["byes"].as_f64().expect("a number");
        let played = by_hand.get(&**name).copied().unwrap_or(0.0);
        assert_eq!(row["points"].as_f64(), Some(played + byes), "{name}: {row}");
    }
    let silent = table.iter().find(|(name, _)| name.starts_with("Silent")).expect("a silent client").1;
    assert!(!silent["out"].is_null() && silent["rank"].is_null(), "{silent}");
    // Due matches of a disqualified entrant are walkovers and are not waited for.
    let walkover = |record: &&Record| {
        let loser = record.footer.at_fault.map(|seat| name(record, seat as usize));
        let left = loser.is_some_and(|name| ["Leaves", "Silent", "Cheats"].iter().any(|kind| name.starts_with(kind)));
        left && record.footer.reason == Some(EndReason::Resign)
    };
    let walkovers: Vec<&Record> = records.iter().filter(walkover).collect();
    assert!(walkovers.iter().all(|record| record.events.is_empty() && !record.header.rated));
    assert!(!walkovers.is_empty());
}
