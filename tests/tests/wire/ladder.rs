//! Standing ladders on a running server: pairing, standings, crashes, and the end of a season.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use ludex_arena::seasons::Season;
use ludex_arena::standing_ladders::LadderTerms;
use ludex_env::Stream;
use ludex_report::runs::bundle;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_store::{EndRow, MatchRow, StandingRow, Store, Write};
use ludex_tests::bot::first;
use ludex_tests::server::get;
use ludex_tests::{Bot, Process, Server};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");
/// Timeout that no successful operation reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ladder without anchors, on which any two agents are close enough to meet.
const FREE: &str = "game = \"tic_tac_toe\"\nmove_ms = 60000\nanchors = []\n[pairing]\nnear = 10000\nagain = 0\n";
/// Ladder on which no two agents are close enough to meet, so that all agents meet anchors immediately.
const ANCHORED: &str =
    "game = \"tic_tac_toe\"\nanchors = [0]\n[pairing]\nnear = 0\nwiden = 0\nagain = 10000\nanchor_after_s = 0\n";

fn terms(text: &str) -> LadderTerms {
    LadderTerms::parse(text).expect("terms")
}

fn ladder() -> Value {
    json!({"game": "tic_tac_toe", "queue": "ladder", "rated": true, "count": 0})
}

async fn page(address: SocketAddr, path: &str) -> Value {
    let (status, body) = get(address, path, "").await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

/// Polls the page of the ladder until it satisfies `wanted`.
async fn until(address: SocketAddr, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let from = Instant::now();
    loop {
        let page = page(address, path).await;
        if wanted(&page) {
            return page;
        }
        assert!(from.elapsed() < PATIENCE, "{page}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn row<'a>(page: &'a Value, agent: &str) -> &'a Value {
    let rows = page["table"].as_array().expect("a table");
    rows.iter().find(|row| row["agent"] == agent).unwrap_or_else(|| panic!("{agent}: {page}"))
}

/// Returns the part of a page that does not depend on the time of day.
fn results(page: &Value) -> Vec<Value> {
    let keys = ["agent", "rating", "games", "wins", "draws", "losses", "last_ms", "anchor"];
    let rows = page["table"].as_array().expect("a table");
    rows.iter().map(|row| keys.iter().map(|key| row[key].clone()).collect()).collect()
}

/// Plays this number of matches with random moves.
async fn plays(bot: &mut Bot, matches: usize, seed: &str) {
    let mut rng = Stream::from_text(seed);
    bot.play(matches, |turn| {
        let legal = turn["legal"].as_array().expect("legal actions");
        json!({"action": legal[rng.below(legal.len())]})
    })
    .await;
}

#[tokio::test]
async fn ladder_standings_are_computed_from_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_in(folder.path(), |config| config.ladders = vec![terms(FREE)]).await;
    let (mut ann, mut bob) = (Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await);
    // A join cannot choose the settings that the ladder decides.
    for (field, value) in [("seat", json!(0)), ("clock", json!({"move_ms": 77}))] {
        let mut join = ladder();
        join[field] = value;
        let refused = ann.call("join", join).await;
        assert_eq!((&refused["code"], &refused["path"]), (&json!("bad_field"), &json!(field)), "{refused}");
    }
    ann.join(ladder()).await;
    bob.join(ladder()).await;
    tokio::join!(plays(&mut ann, 6, "ann"), plays(&mut bob, 6, "bob"));
    let table = until(server.address, "/ladders/tic_tac_toe", |page| page["matches"].as_u64() >= Some(6)).await;
    assert_eq!((&table["season"]["name"], &table["refused"], &table["agents"]), (&json!("open"), &json!(0), &json!(2)));
    let mine = row(&table, "ann");
    assert!(mine["deviation"].as_f64() < Some(350.0), "{mine}");
    assert_eq!(mine["wins"], row(&table, "bob")["losses"]);
    // Ladder matches come in pairs and are rated.
    let all = page(server.address, "/matches?live=all&limit=500").await;
    let ended = all["matches"].as_array().expect("matches").iter().filter(|m| m["live"] == false);
    for entry in ended {
        let record = page(server.address, entry["record"].as_str().expect("a path")).await;
        if record["digest"].is_string() {
            assert!(record["pair"].is_string() && record["rated"] == true && record["flags"] == json!([]), "{record}");
            assert_eq!(record["clock"], json!({"move_ms": 60_000}));
        }
    }
    let list = page(server.address, "/ladders").await;
    assert_eq!((&list["ladders"][0]["ladder"], &list["ladders"][0]["agents"]), (&json!("tic_tac_toe"), &json!(2)));
    let short = page(server.address, "/ladders/tic_tac_toe?limit=1&offset=0").await;
    assert_eq!((short["table"].as_array().map(Vec::len), &short["next"]), (Some(1), &json!(1)));
    assert_eq!(get(server.address, "/ladders/chess", "").await.0, 404);
    server.stop().stopped().await;
    // Rows written batch by batch equal those that are counted again from the records.
    let before = stored(folder.path()).await;
    assert_eq!(before.1.iter().map(|row| row.agent.as_str()).collect::<Vec<_>>(), ["ann", "bob"]);
    assert!(before.1.iter().all(|row| row.owner.as_deref() == Some("") && row.body.is_some()));
    let file = rusqlite::Connection::open(folder.path().join("ludex.db")).expect("the store");
    file.execute_batch("DELETE FROM seasons; UPDATE standings SET body = NULL").expect("empty tables");
    drop(file);
    let server = Server::start_in(folder.path(), |config| config.ladders = vec![terms(FREE)]).await;
    let matches = &before.0["table"]["matches"];
    until(server.address, "/ladders/tic_tac_toe", |page| page["matches"] == *matches).await;
    server.stop().stopped().await;
    assert_eq!(stored(folder.path()).await, before);
}

/// Returns the counts of the ladder's only season, and the rows of its agents.
async fn stored(folder: &Path) -> (Value, Vec<StandingRow>) {
    let store = Store::open(folder).await.expect("a store");
    let season = store.seasons("ladder:tic_tac_toe").await.expect("seasons").pop().expect("a season");
    let standings = store.standings("ladder:tic_tac_toe", &season.name).await.expect("standings");
    store.close().await.expect("a store");
    let body: Value = serde_json::from_str(&season.body).expect("JSON");
    (body["counted"].clone(), standings)
}

#[tokio::test]
async fn queue_without_ladder_pairs_clients_normally() {
    let server = Server::start(|config| config.ladders = vec![terms("game = \"connect_four\"")]).await;
    let (mut ann, mut bob) = (Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await);
    for bot in [&mut ann, &mut bob] {
        let mut join = ladder();
        (join["count"], join["seat"], join["pairs"]) = (json!(1), Value::Null, json!(false));
        bot.join(join).await;
    }
    tokio::join!(ann.play(1, first), bob.play(1, first));
    let id = ann.only().0.to_owned();
    assert_eq!(page(server.address, &format!("/episodes/{id}")).await["flags"], json!(["arranged"]));
    assert_eq!(page(server.address, "/ladders/connect_four").await["matches"], 0);
    server.stop().stopped().await;
}

#[tokio::test]
async fn season_of_ladder_has_limited_number_of_agents() {
    let few = FREE.replacen("move_ms", "max_agents = 2\nmove_ms", 1);
    let server = Server::start(|config| config.ladders = vec![terms(&few)]).await;
    until(server.address, "/ladders/tic_tac_toe", |page| page["season"].is_object()).await;
    for name in ["ann", "bob", "ann"] {
        assert_eq!(Bot::new(server.address, name).await.call("join", ladder()).await["type"], "joined", "{name}");
    }
    let refused = Bot::new(server.address, "cay").await.call("join", ladder()).await;
    assert_eq!((&refused["code"], &refused["allowed"]), (&json!("limit"), &json!(2)), "{refused}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn lone_agent_meets_anchor_and_agents_of_one_owner_never_meet() {
    let server = Server::start(|config| config.ladders = vec![terms(ANCHORED)]).await;
    let wanted =
        |owner: &str| NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &["ann", "ann", "bob"].map(wanted), 0).await.unwrap();
    let mut bots = Vec::new();
    for (token, name) in tokens.iter().zip(["one", "two", "one"]) {
        let hello = json!({"token": token, "agent": {"name": name}});
        bots.push(Bot::with(server.address, None, hello).await);
    }
    let [one, two, thief] = &mut bots[..] else { unreachable!() };
    one.join(ladder()).await;
    two.join(ladder()).await;
    let owners = server.hub.store.standings("ladder:tic_tac_toe", "open").await.expect("standings");
    let owners: Vec<_> = owners.iter().map(|row| (row.agent.as_str(), row.owner.as_deref())).collect();
    assert_eq!(owners, [("one", Some("ann")), ("two", Some("ann"))], "stored before the reply");
    let refused = thief.call("join", ladder()).await;
    assert_eq!(refused["code"], "forbidden", "the name is taken: {refused}");
    tokio::join!(plays(one, 4, "one"), plays(two, 4, "two"));
    for bot in [&*one, &*two] {
        for seen in bot.matches.values() {
            let names: Vec<&Value> =
                seen.start["seats"].as_array().expect("seats").iter().map(|s| &s["name"]).collect();
            assert!(names.iter().any(|name| name.as_str().is_some_and(|n| n.starts_with("anchor"))), "{names:?}");
        }
        // Both matches of a pair are against the anchor, one on each seat.
        let seats: Vec<u64> = bot.matches.values().filter_map(|seen| seen.start["seat"].as_u64()).collect();
        assert_eq!(seats.iter().filter(|seat| **seat == 0).count(), 2, "{seats:?}");
    }
    let header = format!("Authorization: Bearer {}\r\n", tokens[0]);
    let from = Instant::now();
    let table = loop {
        let (_, body) = server.get_with("/ladders/tic_tac_toe", &header).await;
        let table: Value = serde_json::from_str(&body).expect("JSON");
        if table["matches"].as_u64() >= Some(8) {
            break table;
        }
        assert!(from.elapsed() < PATIENCE, "{table}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let anchor = row(&table, "anchor level=0");
    assert_eq!((&anchor["anchor"], &anchor["rating"], &anchor["games"]), (&json!(true), &json!(0.0), &Value::Null));
    server.stop().stopped().await;
}

#[tokio::test]
async fn join_that_never_moves_pauses_after_two_matches() {
    let server = Server::start(|config| config.ladders = vec![terms(&FREE.replace("60000", "100"))]).await;
    let (mut ann, mut bob) = (Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await);
    ann.join(ladder()).await;
    bob.join(ladder()).await;
    bob.play(2, first).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let all = page(server.address, "/matches?live=all").await;
    let reasons: Vec<&Value> = all["matches"].as_array().expect("matches").iter().map(|m| &m["reason"]).collect();
    assert_eq!(reasons, ["timeout", "timeout"], "{all}");
    let table = until(server.address, "/ladders/tic_tac_toe", |page| page["matches"] == 2).await;
    let counts = |name: &str| [&row(&table, name)["losses"], &row(&table, name)["absences"]].map(Value::clone);
    assert_eq!((counts("ann"), counts("bob")), ([json!(2), json!(2)], [json!(0), json!(0)]), "{table}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn ladder_survives_server_kills() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, log, file) = (folder.path().join("data"), folder.path().join("log"), folder.path().join("free.toml"));
    fs::write(&file, FREE).expect("a file");
    let options = ["--ladder", file.to_str().expect("a path"), "--limit", "grace_ms=120000"];
    let mut server = Process::start(PROGRAM, &data, &log, None, &options);
    let address = server.address;
    let (mut ann, mut bob) = (Bot::new(address, "ann").await, Bot::new(address, "bob").await);
    ann.join(ladder()).await;
    bob.join(ladder()).await;
    let mut before = Vec::new();
    for round in 1..=3 {
        let (of_ann, of_bob) = (format!("ann {round}"), format!("bob {round}"));
        let matches = 4 * round;
        tokio::join!(plays(&mut ann, matches, &of_ann), plays(&mut bob, matches, &of_bob));
        let table =
            until(address, "/ladders/tic_tac_toe", |page| page["matches"].as_u64() >= Some(matches as u64)).await;
        before = results(&table);
        server.kill();
        server = Process::start(PROGRAM, &data, &log, Some(address), &options);
        let counted = table["matches"].as_u64();
        let after = until(address, "/ladders/tic_tac_toe", |page| page["matches"].as_u64() >= counted).await;
        assert_eq!((results(&after), &after["refused"]), (before.clone(), &json!(0)), "round {round}");
        // Both agents resume their running match and their joins.
        ann.cut().await;
        bob.cut().await;
    }
    assert_eq!(before.len(), 2);
    server.has_not_panicked();
}

#[tokio::test]
async fn standings_are_frozen_when_season_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let season = |name: &str, end: Option<i64>| Season { name: name.to_owned(), begin: 0, end, every: None };
    let first = LadderTerms { seasons: vec![season("one", None)], ..terms(FREE) };
    let server = Server::start_in(folder.path(), |config| config.ladders = vec![first]).await;
    let (mut ann, mut bob) = (Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await);
    ann.join(json!({"game": "tic_tac_toe", "queue": "ladder", "rated": true, "count": 4})).await;
    bob.join(json!({"game": "tic_tac_toe", "queue": "ladder", "rated": true, "count": 4})).await;
    tokio::join!(plays(&mut ann, 4, "ann"), plays(&mut bob, 4, "bob"));
    let table = until(server.address, "/ladders/tic_tac_toe", |page| page["matches"] == 4).await;
    server.stop().stopped().await;
    // A server configured with a new season ends the old season.
    let second = LadderTerms { seasons: vec![season("two", None)], ..terms(FREE) };
    let server = Server::start_in(folder.path(), |config| config.ladders = vec![second]).await;
    let now = until(server.address, "/ladders/tic_tac_toe", |page| page["season"]["name"] == "two").await;
    assert_eq!((&now["matches"], &now["seasons"]), (&json!(0), &json!(["one"])));
    let over = page(server.address, "/ladders/tic_tac_toe/one").await;
    assert_eq!((results(&over), &over["frozen"]["records"]), (results(&table), &json!(4)));
    let (status, records) = server.get("/ladders/tic_tac_toe/one/records.jsonl").await;
    let records = unchunked(&records);
    assert_eq!((status, records.lines().count()), (200, 4));
    let file = folder.path().join("one.jsonl");
    fs::write(&file, &records).expect("a file");
    let verified = std::process::Command::new(PROGRAM).arg("verify").arg(&file).output().expect("the program");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    let rated = std::process::Command::new(PROGRAM).args(["rate", "--json"]).arg(&file).output().expect("the program");
    let rated: Value = serde_json::from_slice(&rated.stdout).expect("JSON");
    for agent in rated["ratings"][0]["agents"].as_array().expect("agents") {
        // Without anchors, the ratings of the table are relative to 1500.
        let row = row(&over, agent["name"].as_str().expect("a name"));
        let difference = row["rating"].as_f64().unwrap() - agent["rating"].as_f64().unwrap() - 1_500.0;
        assert!(difference.abs() < 0.01, "{row} {agent}");
    }
    bundle_redoes_the_table(folder.path());
    assert_eq!(server.get("/ladders/tic_tac_toe/three").await.0, 404);
    assert_eq!(server.get("/ladders/tic_tac_toe/two/records.jsonl").await.0, 404, "it is not over");
    server.stop().stopped().await;
    // A season with an end time ends on its own, even while agents wait; then the next season starts.
    let soon = ludex_play::time::epoch_ms() + 1_500;
    let last = Season { begin: soon, ..season("four", None) };
    let third = LadderTerms { seasons: vec![season("three", Some(soon)), last], ..terms(FREE) };
    let server = Server::start_in(folder.path(), |config| config.ladders = vec![third]).await;
    let (mut ann, mut bob) = (Bot::new(server.address, "ann").await, Bot::new(server.address, "bob").await);
    ann.join(ladder()).await;
    let now = until(server.address, "/ladders/tic_tac_toe", |page| page["season"]["name"] == "four").await;
    assert_eq!(now["seasons"], json!(["one", "three", "two"]));
    bob.join(ladder()).await;
    tokio::join!(plays(&mut ann, 2, "ann"), plays(&mut bob, 2, "bob"));
    until(server.address, "/ladders/tic_tac_toe", |page| page["matches"].as_u64() >= Some(2)).await;
    // An agent that joined before the season has its name in the roster.
    let roster = server.hub.store.standings("ladder:tic_tac_toe", "four").await.expect("a roster");
    assert!(roster.len() == 2 && roster.iter().all(|row| row.owner.is_some()), "{roster:?}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn name_of_waiting_agent_belongs_to_its_owner_before_the_season() {
    let later =
        Season { name: "later".into(), begin: ludex_play::time::epoch_ms() + 3_600_000, end: None, every: None };
    let terms = LadderTerms { seasons: vec![later], ..terms(FREE) };
    let server = Server::start(|config| config.ladders = vec![terms]).await;
    let wanted =
        |owner: &str| NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &["ann", "bob"].map(wanted), 0).await.expect("tokens");
    let hello = |token: &String| json!({"token": token, "agent": {"name": "x"}});
    let mut ann = Bot::with(server.address, None, hello(&tokens[0])).await;
    let mut bob = Bot::with(server.address, None, hello(&tokens[1])).await;
    ann.join(ladder()).await;
    let refused = bob.call("join", ladder()).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("agent")), "{refused}");
    server.stop().stopped().await;
}

/// Exports the season `one`, and verifies the bundle before and after a change of the table.
fn bundle_redoes_the_table(folder: &Path) {
    let (file, changed) = (folder.join("one.tar.gz"), folder.join("changed.tar.gz"));
    let [data, bundle] = [folder, &file].map(|path| path.to_str().expect("a path"));
    let run = |args: &[&str]| std::process::Command::new(PROGRAM).args(args).output().expect("the program");
    let export = |season: &str| run(&["export", "--ladder", season, "--bundle", bundle, "--data", data]);
    for (season, why) in [("tic_tac_toe/two", "it is still open"), ("tic_tac_toe/six", "that has begun, got six")] {
        let refused = export(season);
        assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains(why), "{refused:?}");
    }
    let done = export("tic_tac_toe/one");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let verified = run(&["verify", bundle]);
    let shown = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success() && shown.contains("equals table.json"), "{shown}");
    assert!(shown.contains("2 agents in 4 matches") && shown.contains("4 episodes verified"), "{shown}");
    // A changed table with right checksums does not fit the records.
    let mut files = bundle::read(&file).expect("a bundle");
    let mut table: Value = serde_json::from_slice(&files[bundle::TABLE]).expect("JSON");
    table[0]["rating"] = json!(table[0]["rating"].as_f64().expect("a rating") + 1.0);
    files.insert(bundle::TABLE.to_owned(), table.to_string().into_bytes());
    files.remove(bundle::SUMS);
    let sums = bundle::sums(&files);
    files.insert(bundle::SUMS.to_owned(), sums.into_bytes());
    fs::write(&changed, ludex_play::runs::bundle::pack("one", &files).expect("a bundle")).expect("a file");
    let refused = run(&["verify", changed.to_str().expect("a path")]);
    let shown = String::from_utf8_lossy(&refused.stdout);
    assert!(!refused.status.success() && shown.contains("differs from the table of the records: /0/rating"), "{shown}");
}

#[tokio::test]
async fn records_of_frozen_season_are_streamed_in_order_of_release() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = async |name: &str| {
        let seasons = vec![Season { name: name.to_owned(), begin: 0, end: None, every: None }];
        let ladder = LadderTerms { seasons, ..terms(FREE) };
        let server = Server::start_in(folder.path(), |config| config.ladders = vec![ladder]).await;
        until(server.address, "/ladders/tic_tac_toe", |page| page["season"]["name"] == name).await;
        server
    };
    let record = |k: usize| format!("{{\"k\":{k}}}");
    // The referee refuses these records, which belong to the season nevertheless.
    let played = |k: usize| Write::MatchPlayed {
        row: MatchRow {
            id: format!("m_{k}"),
            game: "tic_tac_toe".to_owned(),
            string: "tic_tac_toe".to_owned(),
            rated: true,
            run: Some("ladder:tic_tac_toe:one".to_owned()),
            seats: Vec::new(),
            header: "{}".to_owned(),
            secret: "{}".to_owned(),
            started_ms: 0,
        },
        end: EndRow { reason: "finished".to_owned(), ended_ms: 1, footer: "{}".to_owned(), record: record(k) },
        released: true,
    };
    let server = start("one").await;
    server.hub.store.write((0..120).map(played).collect()).await.expect("a write");
    server.stop().stopped().await;
    let server = start("two").await;
    let over = page(server.address, "/ladders/tic_tac_toe/one").await;
    assert_eq!((&over["refused"], &over["frozen"]["records"]), (&json!(120), &json!(120)));
    server.hub.store.write(vec![played(120)]).await.expect("a write");
    let (status, records) = server.get("/ladders/tic_tac_toe/one/records.jsonl").await;
    assert_eq!((status, unchunked(&records)), (200, (0..120).map(|k| record(k) + "\n").collect()));
    server.stop().stopped().await;
}

/// Returns the content of a body in the chunked encoding of HTTP/1.1.
fn unchunked(mut body: &str) -> String {
    let mut content = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").expect("a chunk");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return content;
        }
        content.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
}

#[tokio::test]
async fn server_refuses_to_start_with_invalid_ladder() {
    let folder = tempfile::tempdir().expect("a folder");
    for (ladder, why) in [("hanabi", "competitive two-player game"), ("chss", "chss"), ("nothing.toml", "nothing.toml")]
    {
        let mut serve = std::process::Command::new(PROGRAM);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--ladder", ladder, "--data"]).arg(folder.path().join("data"));
        let output = serve.output().expect("the program");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(why), "{ladder}: {told}");
    }
}
