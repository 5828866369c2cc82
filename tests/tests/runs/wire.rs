//! Remote runs: results equal those of a local run, even if server and client are killed; and refused enrolments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ludex_arena::suites::Suites;
use ludex_env::Stream;
use ludex_env::check::scaled;
use ludex_protocol::record::{Outcome, Record};
use ludex_server::Config;
use ludex_server::operators::{EndedBy, end_match};
#[cfg(unix)]
use ludex_store::{StoreLocation, testing::PostgresServer};
use ludex_tests::bot::first;
use ludex_tests::client::ClientEnd;
use ludex_tests::server::get;
use ludex_tests::{Bot, Process, Server};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");

/// Suite of two games with perfect information and one with hidden information.
const SUITE: &str = r#"
name = "little"
version = 1
title = "A little of everything"
[policy]
limit_s = 60
[[part]]
id = "lines"
game = "connect_four"
schedule = "against"
opponents = ["random", "mcts sims=60"]
blocks = 4
groups = ["all"]
[[part]]
id = "cards"
game = "kuhn_poker"
schedule = "against"
opponents = ["random"]
blocks = 8
[[part]]
id = "climb"
game = "tic_tac_toe"
schedule = "climb"
blocks = 4
metrics = ["level"]
"#;

/// Suite with a role for the enrolling agent, a sweep, and random seats in random order.
const ROLES: &str = r#"
name = "roles"
version = 1
title = "Roles"
[[role]]
name = "reference"
[[part]]
id = "nim"
game = "nim"
schedule = "against"
opponents = ["@reference"]
sweep = { is_misere = [true, false] }
blocks = 2
[[part]]
id = "lines"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random", "@reference"]
seats = "drawn"
order = "shuffled"
blocks = 4
"#;

/// Suite in which the agent has several seats of a match, variants, and answers that are kept.
const TEAMS: &str = r#"
name = "teams"
version = 1
title = "Several seats"
[[variant]]
name = "bold"
parts = ["lines"]
[[variant]]
name = "calm"
parts = ["lines"]
[[part]]
id = "peasants"
game = "fight_the_landlord"
schedule = "against"
opponents = ["random"]
tables = ["abb", "baa"]
blocks = 2
[[part]]
id = "plans"
game = "battle_cards(format=match,rounds=3,revise=alternate)"
schedule = "against"
opponents = ["anchor level=1"]
cache_answers = ["initial"]
blocks = 2
[[part]]
id = "lines"
game = "tic_tac_toe"
schedule = "against"
opponents = ["random"]
blocks = 1
"#;

/// A suite, and an agent whose moves depend only on its view.
struct Trial {
    name: &'static str,
    suite: &'static str,
    agent: &'static str,
    jobs: &'static str,
}

const LITTLE: Trial = Trial { name: "little", suite: SUITE, agent: "mcts sims=120 seed=7", jobs: "3" };
/// With one match at a time, the episodes that ask for kept answers are the same in every run.
const SEVERAL: Trial = Trial { name: "teams", suite: TEAMS, agent: "random seed=7", jobs: "1" };

impl Trial {
    fn file(&self, folder: &Path) -> String {
        let file = folder.join(format!("{}.toml", self.name));
        fs::write(&file, self.suite).expect("a file");
        file.display().to_string()
    }

    /// Returns the command that plays the run as a client.
    fn join(&self, address: SocketAddr, run: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        let url = format!("ws://{address}");
        command.args(["join", &url, "--suite", self.name, "--run", run, "--agent", self.agent, "--name", "cand"]);
        command.args(["--jobs", self.jobs, "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Plays a run of the server again in this process, with the same suite, name and secret, and returns its records
    /// and its verdict.
    fn here(&self, folder: &Path, run: &Path) -> (BTreeMap<String, String>, Value) {
        let data = folder.join("here");
        fs::create_dir_all(&data).expect("a folder");
        fs::write(data.join("agents.toml"), format!("[agents.cand]\nspec = \"{}\"\n", self.agent)).expect("a file");
        let about: Value = serde_json::from_slice(&fs::read(run.join("run.json")).expect("settings")).expect("JSON");
        let secret = about["seeds"]["secret"].as_str().expect("a secret").to_owned();
        let name = about["run"].as_str().expect("a name").to_owned();
        let (suite, data_text) = (self.file(folder), data.display().to_string());
        let words = ["evaluate", "--agent", "cand", "--suite", &suite, "--run", &name, "--data", &data_text];
        let more = ["--jobs", self.jobs, "--seed-secret", &secret, "--seed-sharing", "once", "--json"];
        let told = ludex(&[&words[..], &more].concat());
        (records(&data, &name), verdict(&told["parts"]))
    }
}

fn ludex(words: &[&str]) -> Value {
    let output = Command::new(PROGRAM).args(words).output().expect("the program");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the records of a run by episode, one line each. Values that differ between machines and days are removed:
/// times, the clock, flags, and the description of each seat's agent.
fn records(data: &Path, run: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(data.join("runs").join(run).join("episodes.jsonl")).expect("records");
    let plain = |line: &str| {
        let record: Record = serde_json::from_str(line).expect("a record");
        let mut value = serde_json::to_value(&record).expect("a tree");
        for key in ["started", "ended", "clock", "digest", "stall_ms", "away_ms", "flags"] {
            value.as_object_mut().expect("an object").remove(key);
        }
        for seat in value["seats"].as_array_mut().expect("seats") {
            let seat = seat.as_object_mut().expect("a seat");
            ["spec", "version"].iter().for_each(|key| drop(seat.remove(*key)));
        }
        for event in value["events"].as_array_mut().expect("events") {
            event.as_object_mut().expect("an event").remove("ms");
        }
        (record.header.episode, value.to_string())
    };
    text.lines().map(plain).collect()
}

fn verdict(parts: &Value) -> Value {
    let keys = ["part", "agent", "wins", "draws", "losses", "score", "level", "rating", "against"];
    let row = |row: &Value| keys.map(|key| row[key].clone());
    json!(parts.as_array().expect("parts").iter().map(row).collect::<Vec<_>>())
}

fn same(far: &BTreeMap<String, String>, near: &BTreeMap<String, String>) {
    assert_eq!(far.keys().collect::<Vec<_>>(), near.keys().collect::<Vec<_>>());
    for (episode, record) in near {
        assert_eq!(&far[episode], record, "{episode}");
    }
}

/// Returns the last line that `ludex join` printed; `None` if the server was away for longer than the client waits.
fn last_report(child: Child) -> Option<Value> {
    let output = child.wait_with_output().expect("its end");
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("reconnecting failed") {
        return None;
    }
    assert!(output.status.success(), "{told}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Plays one run in peace, and one in which server and client are killed repeatedly. Both must equal local runs. Returns
/// the folder of the data.
fn equals_local_runs(trial: &Trial) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let suite = trial.file(folder.path());
    let options = ["--suite", suite.as_str(), "--limit", "grace_ms=1500"];
    let mut server = Process::start(PROGRAM, &data, &log, None, &options);
    let address = server.address;
    // The first run is not interrupted.
    let calm = last_report(trial.join(address, "calm").spawn().expect("the program")).expect("a report");
    assert_eq!(calm["reason"], "done");
    let (near, near_verdict) = trial.here(folder.path(), &data.join("runs/calm"));
    let far = records(&data, "calm");
    same(&far, &near);
    assert_eq!(verdict(&calm["verdict"]["parts"]), near_verdict);
    // In the second run, server and client are killed repeatedly.
    let mut rng = Stream::from_text("ludex-tests:wire");
    let mut client = trial.join(address, "rough").spawn().expect("the program");
    let done =
        |data: &Path| fs::read_to_string(data.join("runs/rough/episodes.jsonl")).map_or(0, |t| t.lines().count());
    for kill in 0..scaled(10) {
        let (before, mut patience) = (done(&data), 400);
        while done(&data) < before + 2 && patience > 0 {
            std::thread::sleep(Duration::from_millis(10));
            patience -= 1;
        }
        std::thread::sleep(Duration::from_millis(rng.below(60) as u64));
        if kill % 2 == 0 {
            client.kill().expect("a client");
            client.wait().expect("its end");
            if kill % 4 == 0 {
                // Waits longer than the server stores the client's session.
                std::thread::sleep(Duration::from_millis(2_000));
            }
            client = trial.join(address, "rough").spawn().expect("the program");
        } else {
            server.kill();
            server = Process::start(PROGRAM, &data, &log, Some(address), &options);
        }
    }
    // The same command continues the run.
    let rough = loop {
        match last_report(client) {
            Some(report) => break report,
            None => client = trial.join(address, "rough").spawn().expect("the program"),
        }
    };
    assert_eq!(rough["reason"], "done");
    let (near, near_verdict) = trial.here(folder.path(), &data.join("runs/rough"));
    same(&records(&data, "rough"), &near);
    assert_eq!(verdict(&rough["verdict"]["parts"]), near_verdict);
    // Anyone can verify the run from its files.
    let audit = Command::new(PROGRAM).args(["verify"]).arg(data.join("runs/rough")).output().expect("the program");
    let told = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success() && told.contains("complete"), "{told}");
    server.has_not_panicked();
    folder
}

#[test]
fn remote_run_with_kills_equals_local_run() {
    equals_local_runs(&LITTLE);
}

/// Kills the server of a run twice. Its successor uses the same database, but a new folder, as on another machine.
#[cfg(unix)]
#[test]
fn remote_run_continues_on_other_machines() {
    let Some(database) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let StoreLocation::Postgres(url) = database.database("runs") else { unreachable!("the store is a database") };
    let suite = LITTLE.file(folder.path());
    let options = ["--suite", suite.as_str(), "--store", &url];
    let data = |k: u32| folder.path().join(format!("data-{k}"));
    let start = |k, address| Process::start(PROGRAM, &data(k), &folder.path().join("log"), address, &options);
    let done = |data: &Path| fs::read_to_string(data.join("runs/far/episodes.jsonl")).map_or(0, |t| t.lines().count());
    let mut server = start(0, None);
    let address = server.address;
    let mut client = LITTLE.join(address, "far").spawn().expect("the program");
    for kill in 1..3 {
        // The second machine begins with the records of the first one.
        let most = if kill == 1 { 5 } else { 10 };
        let mut patience = 12_000;
        while done(&data(kill - 1)) < most && patience > 0 {
            std::thread::sleep(Duration::from_millis(5));
            patience -= 1;
        }
        server.kill();
        server = start(kill, Some(address));
    }
    let report = loop {
        match last_report(client) {
            Some(report) => break report,
            None => client = LITTLE.join(address, "far").spawn().expect("the program"),
        }
    };
    assert_eq!(report["reason"], "done");
    let (near, near_verdict) = LITTLE.here(folder.path(), &data(2).join("runs/far"));
    same(&records(&data(2), "far"), &near);
    assert_eq!(verdict(&report["verdict"]["parts"]), near_verdict);
    // The folder is written from the store on another machine at the first request for the report.
    server.has_not_panicked();
    server.kill();
    let server = start(3, Some(address));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let asked = runtime.block_on(get(address, "/runs/far/report.json", ""));
    assert_eq!(asked.0, 200, "{}", asked.1);
    same(&records(&data(3), "far"), &near);
    server.has_not_panicked();
}

#[test]
fn client_plays_several_seats_variants_and_kept_answers() {
    let folder = equals_local_runs(&SEVERAL);
    let text = fs::read_to_string(folder.path().join("data/runs/calm/episodes.jsonl")).expect("records");
    let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let of = |part: &str| records.iter().filter(|r| r.header.episode.contains(part)).collect::<Vec<_>>();
    for record in of(".peasants.") {
        let own = record.header.seats.iter().filter(|seat| seat.name == "cand").count();
        assert_eq!(record.header.flags.contains(&"multi_seat".to_owned()), own == 2, "{:?}", record.header);
        // The landlord alone, or both peasants.
        assert!(!record.footer.outcome.contains(&Outcome::Draw), "{:?}", record.footer);
        assert!(record.footer.outcome.contains(&Outcome::Win), "{:?}", record.footer);
    }
    let names: BTreeSet<&str> = of(".lines.").iter().flat_map(|r| &r.header.seats).map(|seat| &*seat.name).collect();
    assert!(["cand / bold", "cand / calm"].iter().all(|name| names.contains(name)), "{names:?}");
    // Each side is asked for its first plan in one match, and the plan is played again in the other match.
    let kept = text.matches("\"once\":\"calm.plans.").count();
    assert!(kept >= 2, "{text}");
}

async fn server(change: impl FnOnce(&mut Config)) -> Server {
    let suites = Suites::default().with(SUITE).expect("a suite");
    Server::start(|config| {
        config.suites = suites;
        change(config);
    })
    .await
}

fn is_error(answer: &Value, code: &str, path: &str) {
    assert_eq!(
        (&answer["type"], &answer["code"], &answer["path"]),
        (&json!("error"), &json!(code), &json!(path)),
        "{answer}"
    );
}

#[tokio::test]
async fn invalid_enrolment_errors_contain_the_field_path() {
    let server = server(|_| {}).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let suites = bot.call("suites", json!({})).await;
    let little = &suites["suites"][0];
    assert_eq!((&little["suite"], &little["parts"][1]["part"]), (&json!("little"), &json!("cards")), "{suites}");
    assert_eq!((&little["parts"][0]["matches"], &little["parts"][1]["matches"]), (&json!(16), &json!(16)), "{suites}");
    let ask = |more: Value| {
        let mut all = json!({"suite": "little", "run": "mine", "only": ["cards"]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    for (more, code, path) in [
        (json!({"suite": "litle"}), "unknown_suite", "suite"),
        (json!({"suite": ""}), "unknown_run", "run"),
        (json!({"run": "Mine!"}), "bad_field", "run"),
        (json!({"run": "a".repeat(65)}), "bad_field", "run"),
        (json!({"scale": 0}), "bad_field", "scale"),
        (json!({"scale": 2}), "bad_field", "scale"),
        (json!({"only": ["cards", "chess"]}), "bad_field", "only"),
        (json!({"slots": 0}), "limit", "slots"),
        (json!({"candidates": 0}), "bad_field", "candidates"),
        (json!({"layout": "none"}), "bad_field", "layout"),
    ] {
        is_error(&bot.call("enrol", ask(more)).await, code, path);
    }
    let enrolled = bot.call("enrol", ask(json!({"slots": 2}))).await;
    assert_eq!((&enrolled["type"], &enrolled["due"], &enrolled["done"]), (&json!("enrolled"), &json!(16), &json!(0)));
    let again = bot.call("enrol", ask(json!({}))).await;
    assert_eq!(again["join"], enrolled["join"], "the repeated `enrol` returns the same join");
    for (more, path) in
        [(json!({"scale": 0.5}), "scale"), (json!({"only": []}), "only"), (json!({"candidates": 2}), "candidates")]
    {
        is_error(&bot.call("enrol", ask(more)).await, "conflict", path);
    }
    let mut other = Bot::new(server.address, "other").await;
    is_error(&other.call("enrol", ask(json!({}))).await, "forbidden", "run");
    is_error(&other.call("withdraw", json!({"run": "mine"})).await, "unknown_run", "run");
    // A second client of the same agent takes over the run.
    let mut second = Bot::new(server.address, "cand").await;
    assert_eq!(second.call("enrol", ask(json!({}))).await["join"], enrolled["join"]);
    assert!(matches!(bot.client.ended().await.0, ClientEnd::Closed(4002, _)), "superseded");
    let mut bot = second;
    let mut guest = Bot::with(server.address, None, json!({})).await;
    assert_eq!(guest.call("enrol", ask(json!({}))).await["code"], "forbidden");
    bot.play(16, first).await;
    let end = bot.wait("run_end").await;
    assert_eq!(
        (&end["run"], &end["reason"], &end["report"]),
        (&json!("mine"), &json!("done"), &json!("/runs/mine/report.html"))
    );
    assert_eq!(end["verdict"]["parts"][0]["part"], "cards");
    // The end is sent again to the run's agent, and to no other client.
    let over = bot.call("enrol", ask(json!({}))).await;
    assert_eq!((&over["join"], &over["done"], &over["due"]), (&Value::Null, &json!(16), &json!(0)), "{over}");
    assert_eq!(bot.wait("run_end").await["verdict"], end["verdict"]);
    is_error(&other.call("enrol", ask(json!({}))).await, "forbidden", "run");
    is_error(&bot.call("enrol", ask(json!({"scale": 0.5}))).await, "conflict", "scale");
    let (status, page) = server.get("/runs/mine/report.html").await;
    assert!(status == 200 && page.contains("cand"), "{page}");
    let seeds: Vec<Value> = {
        let mut seeds = Vec::new();
        for id in bot.matches.keys() {
            let (_, body) = server.get(&format!("/episodes/{id}")).await;
            seeds.push(serde_json::from_str::<Value>(&body).expect("a record")["seed"].clone());
        }
        seeds
    };
    assert!(seeds.iter().all(Value::is_string), "released: {seeds:?}");
    let distinct: BTreeSet<String> = seeds.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), 16, "a candidate got the same deal twice");
    server.stop().stopped().await;
}

#[tokio::test]
async fn runs_per_owner_are_limited() {
    let server = server(|config| config.limits.owner_runs = 20).await;
    let mut bot = Bot::new(server.address, "many").await;
    let enrol = |n: usize| json!({"suite": "little", "run": format!("run-{n}"), "only": ["cards"]});
    for n in 0..20 {
        assert_eq!(bot.call("enrol", enrol(n)).await["type"], "enrolled");
    }
    let refused = bot.call("enrol", enrol(20)).await;
    is_error(&refused, "limit", "run");
    assert_eq!(refused["allowed"], 20);
    assert_eq!(bot.call("enrol", enrol(3)).await["type"], "enrolled", "a repeated `enrol` of an existing run");
    assert_eq!(bot.call("withdraw", json!({"run": "run-7"})).await["type"], "ok");
    bot.wait("run_end").await;
    assert_eq!(bot.call("enrol", enrol(20)).await["type"], "enrolled", "a finished run frees its place in the limit");
    server.stop().stopped().await;
}

#[tokio::test]
async fn continued_match_is_stored_with_its_new_session() {
    let server = server(|config| config.limits.grace_ms = 100).await;
    let enrol = json!({"suite": "little", "run": "moved", "only": ["lines"], "slots": 1});
    let mut old = Bot::new(server.address, "cand").await;
    assert_eq!(old.call("enrol", enrol.clone()).await["type"], "enrolled");
    let id = old.wait("turn").await["match"].clone();
    drop(old);
    // The match waits in the store once the session has ended.
    while server.hub.live_matches() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut new = Bot::new(server.address, "cand").await;
    assert_eq!(new.call("enrol", enrol).await["type"], "enrolled");
    assert_eq!(new.wait("resync").await["match"], id);
    let row = server.hub.store.running().await.expect("the running matches").remove(0).row;
    let session = row.seats.into_iter().find_map(|seat| seat.session);
    assert_eq!([json!(row.id), json!(session)], [id, new.client.welcome["session"].clone()]);
    server.stop().stopped().await;
}

#[tokio::test]
async fn withdrawal_loses_running_matches_and_ends_run() {
    let server = server(|_| {}).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let enrol = json!({"suite": "little", "run": "short", "only": ["lines"], "slots": 2});
    assert_eq!(bot.call("enrol", enrol.clone()).await["type"], "enrolled");
    let turn = bot.wait("turn").await;
    assert_eq!(bot.act(&turn, first(&turn)).await["type"], "accepted");
    assert_eq!(bot.call("withdraw", json!({"run": "short"})).await["type"], "ok");
    let end = bot.wait("run_end").await;
    assert_eq!(end["reason"], "withdrawn");
    let part = &end["verdict"]["parts"][0];
    assert!(part["losses"].as_u64().is_some_and(|n| (1..=2).contains(&n)) && part["wins"] == 0, "{part}");
    let lost: Vec<&Value> = bot.matches.values().map(|seen| &seen.end).filter(|end| !end.is_null()).collect();
    assert!(lost.iter().all(|end| end["reason"] == "resign"), "{lost:?}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn run_ends_at_its_deadline() {
    let server = server(|config| {
        config.run_time = Duration::from_secs(5);
        config.limits.grace_ms = 200;
    })
    .await;
    let mut bot = Bot::new(server.address, "cand").await;
    let enrol = json!({"suite": "little", "run": "late", "only": ["lines"]});
    assert_eq!(bot.call("enrol", enrol.clone()).await["type"], "enrolled");
    bot.wait("turn").await;
    // The client disconnects and does not return.
    drop(bot);
    let mut over = Value::Null;
    for _ in 0..200 {
        over = serde_json::from_str(&server.get("/runs/late").await.1).expect("a page");
        if over["state"] == "deadline" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(over["state"], "deadline", "{over}");
    assert_eq!(over["verdict"]["parts"][0]["losses"], 1, "{over}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn operator_ends_match_of_absent_agent() {
    let server = server(|config| config.limits.grace_ms = 200).await;
    let enrol = json!({"suite": "little", "run": "mine", "only": ["cards"]});
    let mut bot = Bot::new(server.address, "cand").await;
    assert_eq!(bot.call("enrol", enrol.clone()).await["type"], "enrolled");
    let id = bot.wait("turn").await["match"].as_str().expect("an id").to_owned();
    drop(bot);
    // The match waits in the store for its agent.
    while server.hub.live_matches() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(end_match(&(&server.data).into(), &id).await.expect("an end"), EndedBy::Server);
    let mut back = Bot::new(server.address, "cand").await;
    assert_eq!(back.call("enrol", enrol).await["type"], "enrolled");
    let end = loop {
        let message = back.next().await;
        match message["type"].as_str() {
            Some("turn") => back.answer(&message, &mut first).await,
            Some("run_end") => break message,
            _ => {}
        }
    };
    assert_eq!(end["reason"], "done", "{end}");
    let record: Value = serde_json::from_str(&server.get(&format!("/episodes/{id}")).await.1).expect("a record");
    assert_eq!(record["reason"], "aborted", "{record}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn two_remote_candidates_play_in_one_run() {
    let meeting = SUITE.replace(
        "[[part]]\nid = \"cards\"",
        "[[part]]\nid = \"meet\"\ngame = \"tic_tac_toe\"\nschedule = \"round_robin\"\nblocks = 2\n[[part]]\nid = \"cards\"",
    );
    let server = Server::start(|config| config.suites = Suites::default().with(&meeting).expect("a suite")).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    let enrol = json!({"suite": "little", "run": "both", "only": ["meet"], "candidates": 2});
    is_error(
        &a.call("enrol", json!({"suite": "little", "run": "alone", "only": ["meet"]})).await,
        "bad_field",
        "candidates",
    );
    assert_eq!(a.call("enrol", enrol.clone()).await["due"], 0, "no match without the opponent");
    assert_eq!(b.call("enrol", enrol.clone()).await["due"], 4);
    let mut third = Bot::new(server.address, "c").await;
    is_error(&third.call("enrol", enrol).await, "forbidden", "run");
    tokio::join!(a.play(4, first), b.play(4, first));
    let (of_a, of_b) = (a.wait("run_end").await, b.wait("run_end").await);
    assert_eq!(of_a["verdict"], of_b["verdict"]);
    assert_eq!(of_a["verdict"]["parts"].as_array().map(Vec::len), Some(2));
    server.stop().stopped().await;
}

/// Writes a file of entrants with `many` specs and returns its path.
fn entrants(folder: &Path, file: &str, spec: impl Fn(usize) -> String, many: usize) -> String {
    let text: String = (0..many).map(|k| format!("[agents.b{k}]\nspec = \"{}\"\n", spec(k))).collect();
    let file = folder.join(file);
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

/// Returns the points in a table by name.
fn points(table: &Value) -> BTreeMap<String, String> {
    let row = |row: &Value| (row["name"].as_str().expect("a name").to_owned(), row["points"].to_string());
    table["entrants"].as_array().expect("a table").iter().map(row).collect()
}

/// Returns the CPU time of a process in ms, on systems that report it.
fn cpu_ms(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The process name may contain spaces. After it, fields 12 and 13 are the user and system time in hundredths of a
    // second.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(10 * (next()? + next()?))
}

#[test]
fn remote_tournament_equals_local_tournament() {
    let folder = tempfile::tempdir().expect("a folder");
    let many = scaled(24).clamp(8, 60) as usize;
    let spec = |k: usize| format!("mcts sims={} seed={k}", 2 + k);
    let terms = ["--game", "tic_tac_toe", "--format", "double_round_robin", "--run", "cup", "--json", "--data"];
    let near = entrants(folder.path(), "near.toml", spec, many);
    let data = folder.path().join("near").display().to_string();
    let near = ludex(&[&["tournament", "--agents", &near][..], &terms, &[&data]].concat());
    // The same bots connect as clients, except one, which never connects.
    let far = entrants(folder.path(), "far.toml", |_| "remote".to_owned(), many + 1);
    let data = folder.path().join("far").display().to_string();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let more = ["--listen", &free.to_string(), "--absence-timeout", "10"].map(str::to_owned);
    let cup = Command::new(PROGRAM)
        .args(["tournament", "--agents", &far])
        .args(terms)
        .arg(&data)
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    for _ in 0..750 {
        if std::net::TcpStream::connect(free).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    runtime.block_on(async {
        let mut bots = tokio::task::JoinSet::new();
        for k in 0..many {
            bots.spawn(async move {
                let options = ludex_client::Options::default().agent(format!("b{k}"));
                let spec = ludex_agents::AgentSpec::parse(&format!("mcts sims={} seed={k}", 2 + k)).expect("a spec");
                let agent = ludex_play::remote_agent::RemoteAgent::new(spec, 0, Box::new(|_| ())).expect("an agent");
                let enrol =
                    ludex_protocol::message::Enrol { slots: 2, ..ludex_protocol::message::Enrol::new("", "cup") };
                let url = format!("ws://{free}");
                ludex_client::evaluate(&url, options, enrol, agent).await.expect("the end").expect("a table")
            });
        }
        while let Some(over) = bots.join_next().await {
            assert_eq!(over.expect("no panic").verdict["entrants"].as_array().map(Vec::len), Some(many + 1));
        }
    });
    let used = cpu_ms(cup.id());
    let far = last_report(cup).expect("a report");
    let mut table = points(&far);
    assert_eq!(table.remove(&format!("b{many}")).as_deref(), Some("0.0"), "{far}");
    let missing = far["entrants"].as_array().unwrap().iter().find(|row| row["name"] == format!("b{many}")).unwrap();
    assert!(missing["out"].as_str().is_some_and(|why| why.contains("did not enroll in time")), "{missing}");
    assert_eq!(table, points(&near));
    let matches = (many * (many - 1)) as u64;
    if let Some(ms) = used {
        println!("{many} bots: {matches} matches, {:.2} ms of the server's CPU for each", ms as f64 / matches as f64);
    }
    assert_eq!((far["matches"].as_u64(), near["matches"].as_u64()), (Some(matches), Some(matches)));
}

#[tokio::test]
async fn server_tournament_has_unique_deals_and_complete_run() {
    let server = Server::start(|_| {}).await;
    let house = |name: &str, agent: &str| json!({"name": name, "agent": agent});
    let cup = json!({
        "run": "cards", "game": "kuhn_poker", "format": "double_round_robin", "blocks": 3,
        "entrants": [house("one", "random"), house("two", "random seed=1"), house("three", "anchor level=1")],
    });
    server.runs.organise(&serde_json::from_value(cup.clone()).expect("a request")).await.expect("a tournament");
    let again = server.runs.organise(&serde_json::from_value(cup).expect("a request")).await.expect_err("it is there");
    assert_eq!(again.path.as_deref(), Some("run"));
    let mut page = Value::Null;
    for _ in 0..600 {
        page = server.runs.run("cards").await.expect("a run");
        if page["state"] == "done" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        (&page["state"], page["verdict"]["entrants"].as_array().map(Vec::len)),
        (&json!("done"), Some(3)),
        "{page}"
    );
    let run = server.data.join("runs/cards");
    let text = fs::read_to_string(run.join("episodes.jsonl")).expect("records");
    let seeds = text.lines().map(|line| serde_json::from_str::<Record>(line).expect("a record").footer.seed);
    let seeds: Vec<Option<String>> = seeds.collect();
    assert_eq!((seeds.len(), std::collections::BTreeSet::from_iter(&seeds).len()), (18, 18));
    let audit = Command::new(PROGRAM).arg("verify").arg(&run).output().expect("the program");
    let said = String::from_utf8_lossy(&audit.stdout);
    assert!(audit.status.success() && said.contains("complete: all 18"), "{said}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn part_that_cannot_be_played_is_left_out_by_name() {
    let cards = "[[part]]\nid = \"cards\"\ngame = \"kuhn_poker\"\nschedule = \"against\"\nopponents = [\"random\"]\nblocks = 1\n";
    let suite = format!("{ROLES}{cards}");
    let server = Server::start(|config| config.suites = Suites::default().with(&suite).expect("a suite")).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let enrolled = bot.call("enrol", json!({"suite": "roles", "run": "mine"})).await;
    assert_eq!(enrolled["due"], 2, "{enrolled}");
    let left_out = enrolled["left_out"].as_object().expect("parts");
    assert_eq!(left_out.keys().collect::<Vec<_>>(), ["lines", "nim"]);
    let (_, page) = server.get("/runs/mine").await;
    assert_eq!(serde_json::from_str::<Value>(&page).expect("JSON")["left_out"], enrolled["left_out"]);
    bot.play(2, first).await;
    let end = bot.wait("run_end").await;
    assert_eq!(end["verdict"]["parts"].as_array().map(Vec::len), Some(1), "{end}");
    let (_, report) = server.get("/runs/mine/report.html").await;
    assert!(report.contains("without lines (") && report.contains("without nim ("), "{report}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn variants_of_client_play_different_deals() {
    let server = server(|_| {}).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let ask =
        |labels: Value| json!({"suite": "little", "run": "mine", "only": ["cards"], "slots": 4, "variants": labels});
    let many: Vec<String> = (0..17).map(|k| format!("v{k}")).collect();
    for (labels, code) in [(json!(["Fast!"]), "bad_field"), (json!(["a", "a"]), "bad_field"), (json!(many), "limit")] {
        is_error(&bot.call("enrol", ask(labels)).await, code, "variants");
    }
    let enrolled = bot.call("enrol", ask(json!(["fast", "slow"]))).await;
    assert_eq!((&enrolled["type"], &enrolled["due"]), (&json!("enrolled"), &json!(32)), "{enrolled}");
    is_error(&bot.call("enrol", ask(json!(["fast"]))).await, "conflict", "variants");
    bot.play(32, first).await;
    let end = bot.wait("run_end").await;
    let agents: Vec<&Value> =
        end["verdict"]["parts"].as_array().expect("parts").iter().map(|row| &row["agent"]).collect();
    assert_eq!(agents, ["cand / fast", "cand / slow"]);
    let (mut played, mut seeds) = (BTreeMap::new(), BTreeSet::new());
    for (id, seen) in &bot.matches {
        *played.entry(seen.start["variant"].as_str().expect("a variant")).or_insert(0) += 1;
        let (_, body) = server.get(&format!("/episodes/{id}")).await;
        seeds.insert(serde_json::from_str::<Value>(&body).expect("a record")["seed"].to_string());
    }
    assert_eq!(played, BTreeMap::from([("fast", 16), ("slow", 16)]));
    assert_eq!(seeds.len(), 32, "a client got the same deal twice");
    server.stop().stopped().await;
}

#[tokio::test]
async fn notes_of_client_are_in_transcripts() {
    let server = server(|_| {}).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let enrol = json!({"suite": "little", "run": "noted", "only": ["cards"], "slots": 1});
    assert_eq!(bot.call("enrol", enrol).await["due"], 16);
    let act = |mv: &str, value: Value, analysis: &str| {
        let notes = json!({
            "analysis": analysis, "emotion": "calm", "say": "well played", "prompt": "Your <move>?",
            "answer": "pass, I think", "reasoning": "a low card", "usd": 0.25,
        });
        json!({mv: value, "notes": notes})
    };
    while bot.over() < 16 {
        let mut turn = bot.next().await;
        if turn["type"] != "turn" {
            continue;
        }
        // The first attempt of each turn is refused, and has notes of its own.
        let refused = bot.act(&turn, act("text", json!("nowhere"), "a slip")).await;
        assert_eq!(refused["type"], "refused", "{refused}");
        turn["try"] = json!(1);
        let action = turn["legal"][0].clone();
        bot.act(&turn, act("action", action, "fold & wait")).await;
    }
    bot.wait("run_end").await;
    let data = server.data.clone();
    let place = |name: &str| data.join(name).display().to_string();
    let run = |words: &[&str]| {
        let done = Command::new(PROGRAM).args(words).output().expect("the program");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    let text = run(&["show", &place("runs/noted")]);
    let lines = [
        "analysis: fold & wait",
        "analysis: a slip",
        "emotion: calm",
        "says: well played",
        "    a low card",
        "    pass, I think",
    ];
    for line in lines {
        assert!(text.lines().any(|own| own == line), "{line}: {text}");
    }
    assert!(
        !text.contains("\nprompt: ") && text.contains("$0.2500"),
        "the reported call is not repeated as a note: {text}"
    );
    run(&["rate", &place("runs/noted"), "--report", &place("report")]);
    let pages =
        fs::read_dir(data.join("report/transcripts-noted")).expect("pages").map(|entry| entry.expect("a page").path());
    let pages = pages
        .filter(|path| path.extension().is_some_and(|end| end == "html"))
        .map(|path| fs::read_to_string(path).expect("a page"));
    let pages: String = pages.collect();
    for row in [
        "<dt>analysis</dt><dd>fold &amp; wait</dd>",
        "<dt>analysis</dt><dd>a slip</dd>",
        "<dt>says</dt><dd>well played</dd>",
        "a low card",
        "Your &lt;move&gt;?",
    ] {
        assert!(pages.contains(row), "{row}: {pages}");
    }
    assert!(!pages.contains("<dt>prompt</dt>"), "{pages}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn enrolled_agents_fill_suite_roles() {
    let server = Server::start(|config| config.suites = Suites::default().with(ROLES).expect("a suite")).await;
    let mut bot = Bot::new(server.address, "cand").await;
    let suites = bot.call("suites", json!({})).await;
    assert_eq!(suites["suites"][0]["matches"], 16, "{suites}");
    let ask = |roles: Value| json!({"suite": "roles", "run": "mine", "slots": 2, "roles": roles});
    let refusals = [
        (json!({}), "bad_field", json!("roles")),
        (json!({"referee": ["random"]}), "bad_field", json!("roles")),
        (json!({"reference": ["random", "random seed=1"]}), "bad_field", json!("roles")),
        (json!({"reference": ["randon"]}), "unknown_agent", json!("roles")),
        // Only the operator may offer agents that start a program.
        (json!({"reference": ["uci cmd=stockfish"]}), "forbidden", json!("roles")),
        (json!({"reference": ["llm model=x"]}), "forbidden", json!("roles")),
    ];
    for (roles, code, path) in refusals {
        let answer = bot.call("enrol", ask(roles)).await;
        assert_eq!(answer["code"], code, "{answer}");
        assert!(answer["path"].to_string().contains(path.as_str().unwrap()), "{answer}");
    }
    let roles = json!({"reference": ["mcts sims=20"]});
    let enrolled = bot.call("enrol", ask(roles.clone())).await;
    assert_eq!((&enrolled["type"], &enrolled["due"]), (&json!("enrolled"), &json!(16)), "{enrolled}");
    is_error(&bot.call("enrol", ask(json!({"reference": ["random"]}))).await, "conflict", "roles");
    let (_, page) = server.get("/runs/mine").await;
    assert_eq!(serde_json::from_str::<Value>(&page).expect("JSON")["roles"], roles, "{page}");
    bot.play(16, first).await;
    let end = bot.wait("run_end").await;
    assert_eq!(end["reason"], "done", "{end}");
    let against: Vec<&Value> = end["verdict"]["parts"][1]["against"].as_array().expect("rows").iter().collect();
    assert_eq!((&against[0]["opponent"], &against[1]["opponent"]), (&json!("random"), &json!("mcts sims=20")));
    let mut played = BTreeMap::new();
    for id in bot.matches.keys().filter(|id| id.contains(".nim.")) {
        let (_, body) = server.get(&format!("/episodes/{id}")).await;
        let record: Value = serde_json::from_str(&body).expect("a record");
        *played.entry(record["params"]["is_misere"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(played, BTreeMap::from([("false".to_owned(), 4), ("true".to_owned(), 4)]));
}
