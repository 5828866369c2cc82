//! Operator's view of a server: log, metrics and pages, and its behavior when the disk is full.

use std::collections::BTreeSet;
use std::time::Duration;

use ludex_server::auth::{NewToken, Scopes, add};
use ludex_server::operators::{EndedBy, end_match};
use ludex_tests::bot::first;
use ludex_tests::process::Process;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

async fn page(server: &Server, path: &str) -> Value {
    let (status, body) = server.get(path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}: {body}"))
}

/// Returns the value of a line in `/metrics`.
async fn metric(server: &Server, name: &str) -> Option<f64> {
    let (_, page) = server.get("/metrics").await;
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// Plays a match against `random` and returns its id.
async fn play(server: &Server, name: &str, join: Value) -> String {
    let mut bot = Bot::new(server.address, name).await;
    bot.join(join).await;
    bot.play(1, first).await;
    bot.only().0.to_owned()
}

fn against_random(game: &str, rated: bool) -> Value {
    json!({"game": game, "against": ["random"], "rated": rated, "count": 1})
}

#[tokio::test]
async fn log_has_one_line_per_start_and_end_of_session_and_match() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let more = ["--log-format", "json", "--limit", "grace_ms=100"];
    let server = Process::start(env!("CARGO_BIN_EXE_ludex-tests"), &data, &log, None, &more);
    let mut stranger = Client::mute(server.address).await;
    stranger.say(&json!({"type": "hello", "id": 1, "protocol": [1], "client": "raw/0", "token": "lx_wrong"})).await;
    stranger.ended().await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let too_many = bot.call("join", json!({"game": "tic_tac_toe", "slots": 100_000})).await;
    assert_eq!(too_many["code"], "limit");
    bot.join(against_random("tic_tac_toe", true)).await;
    bot.play(1, first).await;
    let (session, id) = (bot.client.welcome["session"].clone(), bot.only().0.to_owned());
    bot.client.cut();
    let lines = loop {
        let text = std::fs::read_to_string(&log).unwrap();
        // The last line may be incomplete.
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.iter().any(|line| line["message"] == "session ended") {
            break lines;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let only = |message: &str| -> &Value {
        let found: Vec<&Value> = lines.iter().filter(|line| line["message"] == message).collect();
        assert_eq!(found.len(), 1, "{message}: {lines:?}");
        found[0]
    };
    assert_eq!(only("hello rejected")["code"], "unauthorized");
    let begins = only("session started");
    assert_eq!((&begins["session"], &begins["agent"], &begins["ip"]), (&session, &json!("mybot"), &json!("127.0.0.1")));
    assert_eq!(only("client limit reached")["session"], session);
    let begins = only("match started");
    assert_eq!(
        (&begins["match_id"], &begins["seats"], &begins["rated"]),
        (&json!(id), &json!("mybot, random"), &json!(true))
    );
    let ends = only("match ended");
    assert_eq!((&ends["match_id"], &ends["reason"]), (&json!(id), &json!("finished")));
    assert_eq!((&only("session ended")["session"], &only("session ended")["why"]), (&session, &json!("away")));
    server.has_not_panicked();
}

#[tokio::test]
async fn tournament_cannot_be_created_over_the_wire() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let entrants = json!([{"name": "one", "agent": "random"}, {"name": "two", "agent": "random"}]);
    let cup = json!({"run": "cup", "game": "tic_tac_toe", "format": "round_robin", "entrants": entrants});
    assert_eq!(bot.call("organise", cup).await["code"], "unknown_type");
    assert!(server.runs.run("cup").await.is_none());
}

#[tokio::test]
async fn metrics_report_numbers_of_matches_joins_and_environments() {
    let server = Server::start(|_| {}).await;
    let (mut waiting, mut gym) = (Bot::new(server.address, "w").await, Client::hello(server.address).await);
    waiting.join(json!({"game": "chess"})).await;
    waiting.wait("queued").await;
    assert_eq!(gym.call("open", json!({"game": "tic_tac_toe", "count": 12})).await["type"], "opened");
    play(&server, "a", against_random("tic_tac_toe", false)).await;
    let mut running = Bot::new(server.address, "r").await;
    running.join(against_random("tic_tac_toe", false)).await;
    running.wait("turn").await;
    for (name, value) in [
        ("ludex_matches_live", 1.0),
        ("ludex_matches_begun_total", 2.0),
        ("ludex_matches_ended_total{reason=\"finished\"}", 1.0),
        ("ludex_joins_waiting", 1.0),
        ("ludex_environments", 12.0),
        ("ludex_compute_queued", 0.0),
        ("ludex_requests_total{type=\"hello\"}", 4.0),
    ] {
        assert_eq!(metric(&server, name).await, Some(value), "{name}");
    }
    assert!(metric(&server, "ludex_turn_seconds_count").await >= Some(3.0));
    gym.call("close", json!({"env": 1})).await;
    assert_eq!(metric(&server, "ludex_environments").await, Some(0.0));
    server.stop().stopped().await;
}

#[tokio::test]
async fn matches_are_listed_from_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |_| {}).await;
    let one = play(&server, "ann", against_random("tic_tac_toe", true)).await;
    let two = play(&server, "ann", against_random("connect_four", false)).await;
    let three = play(&server, "bob", against_random("tic_tac_toe", false)).await;
    server.stop().stopped().await;

    let server = Server::start_in(folder.path(), |_| {}).await;
    let mut running = Bot::new(server.address, "carl").await;
    running.join(against_random("tic_tac_toe", false)).await;
    let four = running.wait("match_start").await["match"].as_str().unwrap().to_owned();
    let ids = async |query: &str| -> Vec<String> {
        let page = page(&server, &format!("/matches{query}")).await;
        page["matches"].as_array().unwrap().iter().map(|m| m["match"].as_str().unwrap().to_owned()).collect()
    };
    let of = |all: &[&String]| all.iter().map(|id| (*id).clone()).collect::<Vec<_>>();
    assert_eq!(ids("").await, of(&[&four]));
    assert_eq!(ids("?live=all").await, of(&[&four, &three, &two, &one]));
    assert_eq!(ids("?live=false").await, of(&[&three, &two, &one]));
    assert_eq!(ids("?live=all&game=tic_tac_toe").await, of(&[&four, &three, &one]));
    assert_eq!(ids("?live=false&agent=ann&rated=false").await, of(&[&two]));
    assert_eq!(ids("?live=false&run=none").await, of(&[]));
    assert_eq!(server.get("/matches?live=perhaps").await.0, 400);

    let (mut found, mut query) = (Vec::new(), "?live=all&limit=3".to_owned());
    loop {
        let page = page(&server, &format!("/matches{query}")).await;
        found.extend(page["matches"].as_array().unwrap().iter().map(|m| m["match"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_u64() else { break };
        query = format!("?live=all&limit=3&before={next}");
    }
    assert_eq!(found, of(&[&four, &three, &two, &one]));

    let entry = &page(&server, "/matches?live=false&rated=true").await["matches"][0];
    let record = page(&server, entry["record"].as_str().unwrap()).await;
    for key in ["returns", "outcome", "reason", "seats", "rated"] {
        assert_eq!((&entry[key], entry[key].is_null()), (&record[key], false), "{key}: {entry}");
    }
    assert!(entry["ended_ms"].as_i64() >= entry["started_ms"].as_i64(), "{entry}");
    // The protocol lists the same matches.
    let listed = running.call("list_matches", json!({"live": false, "limit": 2})).await;
    let listed: Vec<_> = listed["matches"].as_array().unwrap().iter().map(|m| m["match"].clone()).collect();
    assert_eq!(listed, [json!(three), json!(two)]);
    server.stop().stopped().await;
}

#[tokio::test]
async fn retention_removes_old_matches_and_logs_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |_| {}).await;
    let mut ids = Vec::new();
    for rated in [false, true, true] {
        ids.push(play(&server, "ann", against_random("tic_tac_toe", rated)).await);
    }
    server.stop().stopped().await;
    let file = rusqlite::Connection::open(folder.path().join("ludex.db")).unwrap();
    let old = "UPDATE matches SET ended_ms = 1000 WHERE id IN (?1, ?2)";
    assert_eq!(file.execute(old, [&ids[0], &ids[1]]).unwrap(), 2);
    let logs = || -> Vec<String> {
        let mut query = file.prepare("SELECT DISTINCT m.id FROM acts a JOIN matches m ON m.seq = a.match").unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert!(logs().contains(&ids[1]) && logs().contains(&ids[2]));

    let server = Server::start_in(folder.path(), |config| {
        config.retention.set("unrated=1d").unwrap();
        config.retention.set("logs=1d").unwrap();
    })
    .await;
    while logs().contains(&ids[1]) || server.get(&format!("/episodes/{}", ids[0])).await.0 != 404 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(logs(), [ids[2].clone()]);
    // The records of the other matches remain.
    for id in &ids[1..] {
        assert_eq!(page(&server, &format!("/episodes/{id}")).await["reason"], "finished");
    }
    let ratings = page(&server, "/ratings").await;
    assert_eq!((&ratings["records"], &ratings["refused"]), (&json!(2), &json!(0)));
    server.stop().stopped().await;
}

#[tokio::test]
async fn record_is_verified_once_for_ratings() {
    let server = Server::start(|_| {}).await;
    let table = async |query: &str| {
        let table = page(&server, &format!("/ratings{query}")).await;
        (table["records"].as_u64().unwrap(), table["refused"].as_u64().unwrap())
    };
    assert_eq!(table("").await, (0, 0));
    let one = play(&server, "ann", against_random("tic_tac_toe", true)).await;
    play(&server, "ann", against_random("connect_four", true)).await;
    play(&server, "ann", against_random("tic_tac_toe", false)).await;
    assert_eq!((table("").await, table("?game=tic_tac_toe").await), ((2, 0), (1, 0)));
    assert_eq!(table("?game=chess").await, (0, 0));
    let (status, body) = server.get("/ratings?game=tic_tac_tow").await;
    assert!(status == 404 && body.contains("did you mean tic_tac_toe?"), "{status} {body}");
    // Verified records are not read again, so a change of the first record stays undetected.
    let file = rusqlite::Connection::open(server.data.join("ludex.db")).unwrap();
    let change = "UPDATE records SET record = '{}' WHERE match = (SELECT seq FROM matches WHERE id = ?1)";
    assert_eq!(file.execute(change, [&one]).unwrap(), 1);
    play(&server, "ann", against_random("tic_tac_toe", true)).await;
    assert_eq!((table("").await, table("?game=tic_tac_toe").await), ((3, 0), (2, 0)));
    let four = "?game=connect_four(rows=6,columns=7,x_in_row=4,egocentric_obs_tensor=false)";
    assert_eq!((table(four).await.0, table("?game=connect_four(rows=4)").await.0), (1, 0));
    let ratings = page(&server, "/ratings?game=tic_tac_toe").await;
    assert_eq!(ratings["ratings"][0]["agents"].as_array().unwrap().len(), 2, "{ratings}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn operator_ends_match_as_aborted() {
    let server = Server::start(|_| {}).await;
    for rated in [true, false] {
        let mut bot = Bot::new(server.address, "mybot").await;
        bot.join(against_random("tic_tac_toe", rated)).await;
        let id = bot.wait("turn").await["match"].as_str().unwrap().to_owned();
        assert_eq!(end_match(&(&server.data).into(), &id).await.unwrap(), EndedBy::Server);
        let end = bot.wait("match_end").await;
        assert_eq!((&end["reason"], &end["at_fault"]), (&json!("aborted"), &Value::Null), "{end}");
        assert_ne!(end["rated"], true, "{end}");
        assert_eq!(page(&server, &format!("/episodes/{id}")).await["reason"], "aborted");
        let error = end_match(&(&server.data).into(), &id).await.unwrap_err().to_string();
        assert!(error.contains("which has ended"), "{error}");
    }
    let error = end_match(&(&server.data).into(), "m_unknown").await.unwrap_err().to_string();
    assert_eq!(error, "expected the id of a running match, got m_unknown");
    assert!(server.hub.store.end_requests().await.unwrap().is_empty());
    server.stop().stopped().await;
}

/// Simulates a full disk with a trigger that rejects matches, then drops the trigger.
#[tokio::test]
async fn full_disk_delays_queued_match() {
    let server = Server::start(|_| {}).await;
    let file = rusqlite::Connection::open(server.data.join("ludex.db")).unwrap();
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON matches BEGIN SELECT RAISE(ABORT, 'no room'); END";
    file.execute_batch(full).unwrap();
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(against_random("tic_tac_toe", true)).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    a.join(json!({"game": "tic_tac_toe", "rated": true, "count": 1})).await;
    a.wait("queued").await;
    b.join(json!({"game": "tic_tac_toe", "rated": true, "count": 1})).await;
    for waiting in [&mut bot, &mut a, &mut b] {
        let told = waiting.wait("queued").await;
        assert!(told["eta_ms"].as_u64().is_some(), "{told}");
    }
    assert_eq!(server.hub.live_matches(), 0);
    file.execute_batch("DROP TRIGGER full").unwrap();
    bot.play(1, first).await;
    tokio::join!(a.play(1, first), b.play(1, first));
    server.stop().stopped().await;
}

/// Simulates a full disk with a trigger that rejects log rows.
#[tokio::test]
async fn failed_commit_shows_no_move() {
    let server = Server::start(|_| {}).await;
    let file = rusqlite::Connection::open(server.data.join("ludex.db")).unwrap();
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    let (mut x, mut o) = (Bot::new(server.address, "x").await, Bot::new(server.address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "queue": "q", "rated": true, "seat": seat})).await;
    }
    // Another match shares the commits.
    let mut other = Bot::new(server.address, "other").await;
    other.join(against_random("connect_four", true)).await;
    let turn = x.wait("turn").await;
    other.wait("turn").await;
    let id = turn["match"].as_str().unwrap();
    let full = format!(
        "CREATE TRIGGER full BEFORE INSERT ON acts WHEN NEW.match = (SELECT seq FROM matches WHERE id = '{id}') \
         BEGIN SELECT RAISE(ABORT, 'no room'); END"
    );
    file.execute_batch(&full).unwrap();
    x.ask("act", ludex_tests::bot::act(&turn, first(&turn))).await;
    for bot in [&mut x, &mut o] {
        loop {
            let message = bot.next().await;
            assert!(message["type"] != "accepted" && message["kind"] != "move", "{message}");
            if message["type"] == "match_end" {
                assert_eq!(message["reason"], "infra_error");
                break;
            }
        }
    }
    other.answer(&other.matches.values().next().unwrap().turn.clone(), &mut first).await;
    other.play(1, first).await;
    server.stop().stopped().await;
}

#[tokio::test]
async fn metrics_are_those_of_the_documentation() {
    let server = Server::start(|_| {}).await;
    let wanted = NewToken { owner: "ann".into(), scopes: Scopes::ADMIN, names: vec!["*".into()], expires_ms: None };
    let token = add(&server.hub.store, &[wanted], 0).await.unwrap().remove(0);
    let _session = Bot::with(server.address, None, json!({"token": token, "agent": {"name": "a"}})).await;
    let (status, page) = server.get_with("/metrics", &format!("authorization: Bearer {token}\r\n")).await;
    assert_eq!(status, 200, "{page}");
    let rendered: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/running-a-server.md")).unwrap();
    let cells = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    // In a cell, each second part stands between backticks; labels are not part of the name.
    let names =
        cells.flat_map(|cell| cell.split('`').step_by(2)).map(|name| name.split('{').next().unwrap_or_default());
    let is_metric = |name: &&str| name.starts_with("ludex_") || name.starts_with("process_");
    let documented: BTreeSet<&str> = names.filter(is_metric).collect();
    assert_eq!(documented.symmetric_difference(&rendered).collect::<Vec<_>>(), Vec::<&&str>::new());
    server.stop().stopped().await;
}

#[tokio::test]
async fn http_requests_are_counted_by_the_template_of_their_route() {
    let server = Server::start(|_| {}).await;
    for path in ["/games", "/episodes/m_1", "/episodes/m_2", "/no/such/page", "/static/none"] {
        server.get(path).await;
    }
    server.get_with("/games/chess", "Accept: text/html\r\n").await;
    server.get_with("/no/page", "Accept: text/html\r\n").await;
    server.get_with("/episodes/m_3", "Accept: text/html\r\n").await;
    Client::hello(server.address).await;
    let count = async |route: &str, code: u16| {
        metric(&server, &format!("ludex_http_seconds_count{{route=\"{route}\",code=\"{code}\"}}")).await
    };
    for (route, code, expected) in [
        ("/games", 200, 1.0),
        ("/episodes/{id}", 404, 3.0),
        ("/static/{file}", 404, 1.0),
        ("/games/{id}", 200, 1.0),
        ("other", 404, 2.0),
        ("/ws", 101, 1.0),
    ] {
        assert_eq!(count(route, code).await, Some(expected), "{route} {code}");
    }
    let (_, page) = server.get("/metrics").await;
    assert!(!page.contains("m_1") && !page.contains("/no/"), "{page}");
    assert!(page.contains("# TYPE ludex_http_seconds histogram"), "{page}");
    server.stop().stopped().await;
}
