//! Match plane over real sockets, with hand-written JSON: joins, turns, keys of acts, ends of matches, and the view of
//! each client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_arena::suites::Suites;
use ludex_protocol::record::RecordParts;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_store::Write;
use ludex_tests::bot::{act, first};
use ludex_tests::client::ClientEnd;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

mod documents;
mod plans;
mod prompts;
mod scripts;
mod starts;

/// Returns the record of a match, which must verify.
async fn record(server: &Server, id: &str) -> Value {
    let (status, body) = server.get(&format!("/episodes/{id}")).await;
    assert_eq!(status, 200, "{body}");
    let parts = RecordParts::parse(&body).expect("a record");
    Verifier::new(ludex_games::builtin())
        .verify(&parts, Source::default())
        .unwrap_or_else(|fault| panic!("{fault}: {body}"));
    serde_json::from_str(&body).expect("JSON")
}

/// Returns the public page of a match.
async fn page(server: &Server, id: &str) -> Value {
    let (status, body) = server.get(&format!("/episodes/{id}")).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

fn is_error(answer: &Value, code: &str) {
    assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!(code)), "{answer}");
    assert!(answer["message"].as_str().is_some_and(|m| !m.is_empty()), "{answer}");
}

/// Starts a match of tic_tac_toe between two bots and reads their first messages; returns x, o and the match id.
async fn two(server: &Server, more: Value) -> (Bot, Bot, String) {
    let (mut x, mut o) = (Bot::new(server.address, "x").await, Bot::new(server.address, "o").await);
    for (seat, bot) in [&mut x, &mut o].into_iter().enumerate() {
        let mut join = json!({"game": "tic_tac_toe", "queue": "two", "seat": seat});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bot.join(join).await;
    }
    let start = x.wait("match_start").await;
    o.wait("match_start").await;
    let id = start["match"].as_str().unwrap().to_owned();
    (x, o, id)
}

/// Plays `actions` alternately, starting with x.
async fn moves(x: &mut Bot, o: &mut Bot, actions: &[u32]) {
    for (k, action) in actions.iter().enumerate() {
        let bot = if k % 2 == 0 { &mut *x } else { &mut *o };
        let turn = bot.wait("turn").await;
        assert_eq!(bot.act(&turn, json!({"action": action})).await["type"], "accepted");
    }
}

#[tokio::test]
async fn whole_match_against_server_agent_is_played() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let joined = bot.client.ask("join", json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0})).await;
    let reply = bot.next().await;
    assert_eq!((&reply["type"], &reply["re"]), (&json!("joined"), &json!(joined)));
    let start = bot.next().await;
    assert_eq!((&start["type"], &start["seq"], &start["join"]), (&json!("match_start"), &json!(0), &reply["join"]));
    assert_eq!(start["seats"], json!([{"name": "mybot", "kind": "bot"}, {"name": "random", "kind": "bot"}]));
    assert_eq!((&start["seat"], &start["game"], &start["rated"]), (&json!(0), &json!("tic_tac_toe"), &json!(false)));
    assert_eq!(start["illegal"], json!({"policy": "forfeit", "tries": 3}));
    assert_eq!((&start["clock"], &start["skip_forced"]), (&json!({"move_ms": 10000}), &json!(false)));
    let turn = bot.next().await;
    assert_eq!(
        (&turn["type"], &turn["seq"], &turn["turn"], &turn["try"]),
        (&json!("turn"), &json!(1), &json!(0), &json!(0))
    );
    assert_eq!((&turn["legal"], &turn["budget_ms"]), (&json!([0, 1, 2, 3, 4, 5, 6, 7, 8]), &json!(10000)));
    assert_eq!(turn["names"].as_array().unwrap().len(), 9);
    assert!(turn["view"]["struct"].is_object() && turn["view"]["text"].is_null(), "{turn}");
    let id = bot.client.ask("act", act(&turn, json!({"action": 4, "notes": {"analysis": "the centre"}}))).await;
    let accepted = bot.next().await;
    assert_eq!((&accepted["type"], &accepted["re"]), (&json!("accepted"), &json!(id)));
    assert_eq!((&accepted["action"], &accepted["text"]), (&json!(4), &json!("x(1,1)")));
    let own = bot.next().await;
    assert_eq!(
        (&own["kind"], &own["seat"], &own["action"]),
        (&json!("move"), &json!(0), &json!(4)),
        "after the answer"
    );
    let name = start["match"].as_str().unwrap();
    let before = page(&server, name).await;
    assert!(["seed", "salt", "digest", "returns"].iter().all(|k| before[*k].is_null()), "{before}");
    bot.play(1, first).await;
    let end = bot.matches[name].end.clone();
    assert_eq!((&end["reason"], &end["record"]), (&json!("finished"), &json!(format!("/episodes/{name}"))));
    let record = record(&server, name).await;
    for key in ["returns", "outcome", "seed", "salt", "digest"] {
        assert_eq!((&record[key], end[key].is_null()), (&end[key], false), "{key}");
    }
    assert_eq!(record["seed_commit"], start["seed_commit"]);
    assert_eq!(record["events"][0]["notes"], json!({"analysis": "the centre"}));
    assert_eq!(record["seats"][1]["spec"], "random");
    server.stop().stopped().await;
}

#[tokio::test]
async fn metrics_exclude_commits_to_stores_of_other_servers() {
    let (server, other) = (Server::start(|_| {}).await, Server::start(|_| {}).await);
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": 1})).await;
    bot.play(1, first).await;
    let commits = async |server: &Server| -> f64 {
        let (_, page) = server.get("/metrics").await;
        let line = page.lines().find(|line| line.starts_with("ludex_store_commit_seconds_count"));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
    };
    assert!(commits(&server).await > commits(&other).await + 3.0);
    server.stop().stopped().await;
    other.stop().stopped().await;
}

#[tokio::test]
async fn match_is_forgotten_after_client_acknowledges_end() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 1})).await;
    bot.play(1, first).await;
    let (id, seen) = bot.only();
    let (id, last) = (id.to_owned(), seen.end["seq"].as_u64().expect("the number of the last frame"));
    let again = json!({"match": id});
    assert_eq!(bot.call("resign", again.clone()).await["code"], "match_over");
    bot.client.say(&json!({"type": "ack", "match": id, "seq": last - 1})).await;
    assert_eq!(bot.call("resign", again.clone()).await["code"], "match_over", "not yet");
    bot.client.say(&json!({"type": "ack", "match": id, "seq": last})).await;
    while bot.call("resign", again.clone()).await["code"] == "match_over" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bot.call("resign", again).await["code"], "unknown_match");
    record(&server, &id).await;
    server.stop().stopped().await;
}

#[tokio::test]
async fn ended_match_whose_record_is_missing_refuses_requests_and_ends_again() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 2})).await;
    bot.play(2, first).await;
    let ids: Vec<String> = bot.matches.keys().cloned().collect();
    // The store keeps its newest match.
    let mut other = Bot::new(server.address, "other").await;
    other.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 1})).await;
    other.play(1, first).await;
    server.hub.store.catch_up().await;
    server.hub.store.write(ids.iter().map(|id| Write::MatchGone { id: id.clone() }).collect()).await.unwrap();
    let resign = json!({"match": ids[0]});
    assert_eq!(bot.call("resign", resign.clone()).await["code"], "internal");
    assert_eq!(bot.call("resign", resign).await["code"], "unknown_match");
    // The client has missed the end of the second match.
    let seen = bot.matches.get_mut(&ids[1]).unwrap();
    (seen.last, seen.end) = (seen.last - 1, Value::Null);
    bot.cut().await;
    // The record may be missed before `welcome` lists the session's matches, so the end may come without an entry there.
    let end = loop {
        let message = bot.client.hear().await;
        if message["type"] == "match_end" {
            break message;
        }
    };
    assert_eq!((&end["match"], &end["reason"]), (&json!(ids[1]), &json!("infra_error")), "{end}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn queue_pairs_joins_with_equal_settings() {
    let server = Server::start(|_| {}).await;
    let mut bots = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        bots.push(Bot::new(server.address, name).await);
    }
    let ttt = |more: Value| {
        let mut join = json!({"game": "tic_tac_toe"});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        join
    };
    // None of these joins is paired with the first: different queue, different clock, rated, or same seat.
    for (bot, more) in bots.iter_mut().zip([
        json!({"seat": 1}),
        json!({"seat": 1, "queue": "other"}),
        json!({"seat": 1, "clock": {"move_ms": 500}}),
        json!({"rated": true}),
        json!({"seat": 1}),
    ]) {
        bot.join(ttt(more)).await;
        let queued = bot.next().await;
        assert_eq!(queued["type"], "queued", "{queued}");
    }
    assert_eq!(server.hub.live_matches(), 0);
    // This join is paired with the first.
    let mut last = Bot::new(server.address, "f").await;
    last.join(ttt(json!({}))).await;
    let start = last.wait("match_start").await;
    assert_eq!((&start["seat"], &start["seats"][1]["name"]), (&json!(0), &json!("a")));
    assert_eq!(bots[0].wait("match_start").await["seat"], 1);
    assert_eq!(server.hub.live_matches(), 1);
    // A game for three starts when three clients have joined.
    for bot in &mut bots[1..4] {
        bot.join(json!({"game": "kuhn_poker(players=3)", "queue": "three"})).await;
    }
    let mut seats = Vec::new();
    for bot in &mut bots[1..4] {
        seats.push(bot.wait("match_start").await["seat"].as_u64().unwrap());
    }
    seats.sort_unstable();
    assert_eq!(seats, [0, 1, 2]);
    server.stop().stopped().await;
}

#[tokio::test]
async fn join_plays_requested_number_of_matches() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 5, "slots": 2})).await;
    let mut most = 0;
    let mut seats = Vec::new();
    while bot.over() < 5 {
        let message = bot.go_on().await.unwrap();
        if message["type"] == "match_start" {
            seats.push(message["seat"].as_u64().unwrap());
        }
        most = most.max(bot.matches.len() - bot.over());
        bot.answer(&message, &mut first).await;
    }
    assert_eq!(most, 2, "expected two concurrent matches");
    assert_eq!(seats, [0, 1, 0, 1, 0], "match j is played in seat j mod P");
    // A join with count 0 lasts until its client leaves it.
    let join = bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 0})).await;
    bot.play(8, first).await;
    let left = bot.call("leave", json!({"join": join})).await;
    assert_eq!(left["type"], "ok", "{left}");
    let running = bot.matches.len();
    bot.play(running, first).await;
    let pong = bot.call("ping", json!({})).await;
    assert_eq!((&pong["type"], bot.matches.len()), (&json!("pong"), running), "no match after the last");
    server.stop().stopped().await;
}

/// Checks that each match is on disk before it starts. A client that joins many matches must be served meanwhile,
/// because its clocks are running.
#[tokio::test]
async fn client_is_served_while_its_matches_start() {
    const SLOTS: usize = 200;
    let server = Server::start(|_| ()).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let join = json!({"game": "tic_tac_toe", "against": ["random"], "slots": SLOTS, "count": SLOTS, "rated": true});
    bot.client.ask("join", join).await;
    let ping = bot.client.ask("ping", json!({})).await;
    let (mut begun, mut before) = (0, None);
    while begun < SLOTS || before.is_none() {
        let message = bot.next().await;
        match message["type"].as_str() {
            Some("match_start") => begun += 1,
            Some("pong") => {
                assert_eq!(message["re"], ping);
                before = Some(begun);
            }
            _ => {}
        }
    }
    assert!(before.is_some_and(|begun| begun < SLOTS), "the pong came after {before:?} matches");
}

#[tokio::test]
async fn turns_contain_requested_views() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let join = json!({"game": "kuhn_poker", "against": ["random"], "seat": 0, "views": ["text", "tensor", "info"]});
    bot.join(join.clone()).await;
    let turn = bot.wait("turn").await;
    let view = &turn["view"];
    assert!(view["struct"].is_null() && turn["names"].is_null(), "{turn}");
    assert!(view["text"].as_str().unwrap().contains("You are p0"), "{turn}");
    assert_eq!((&view["tensor"]["observation"]["s"], &view["info"]["info"]["s"]), (&json!([7]), &json!([11])));
    bot.answer(&turn, &mut first).await;
    bot.play(1, first).await;
    let mut other = join.clone();
    other["layout"] = "openspiel".into();
    bot.join(other.clone()).await;
    let turn = bot.wait("turn").await;
    assert_eq!(turn["view"]["tensor"]["observation"]["d"], "f4");
    other["layout"] = "klingon".into();
    let e = bot.call("join", other).await;
    is_error(&e, "bad_field");
    assert_eq!((&e["path"], &e["allowed"]), (&json!("layout"), &json!(["ludex", "openspiel"])));
    let lacking = json!({"game": "tic_tac_toe", "against": ["random"], "views": ["info"]});
    let e = bot.call("join", lacking).await;
    is_error(&e, "bad_field");
    assert_eq!(e["path"], "views");
    server.stop().stopped().await;
}

#[tokio::test]
async fn join_request_with_invalid_settings_is_refused() {
    let server = Server::start(|c| {
        c.limits.matches = 4;
        c.opponents.search.sims = 50;
        c.opponents.named.insert("house".into(), "random".into());
    })
    .await;
    let mut bot = Bot::new(server.address, "mybot").await;
    let cases = [
        (json!({"game": "tic_tac_to"}), "unknown_game", "game"),
        (json!({"params": {"rows": 3}}), "bad_params", "params.rows"),
        (json!({"seat": 2}), "bad_field", "seat"),
        (json!({"slots": 0}), "limit", "slots"),
        (json!({"slots": 5}), "limit", "slots"),
        (json!({"against": ["rndom"]}), "unknown_agent", "against"),
        (json!({"against": ["random", "random"]}), "bad_shape", "against"),
        (json!({"against": ["uci cmd=stockfish"]}), "forbidden", "against"),
        (json!({"against": ["llm model=x base_url=http://127.0.0.1:9"]}), "forbidden", "against"),
        (json!({"against": ["human"]}), "forbidden", "against"),
        (json!({"against": ["mcts sims=51"]}), "limit", "against"),
        (json!({"against": ["mcts sims=20 peek=true"], "rated": true}), "forbidden", "against"),
        (json!({"ticket": "t_unknown"}), "forbidden", "ticket"),
        (json!({"views": ["smell"]}), "bad_field", "views"),
        (json!({"clock": {"move_ms": -1}}), "bad_field", "clock.move_ms"),
        (json!({"clock": {"move": 5}}), "bad_field", "clock"),
        (json!({"clock": {}}), "bad_field", "clock"),
    ];
    for (more, code, path) in cases {
        let mut join = json!({"game": "tic_tac_toe"});
        join.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let e = bot.call("join", join).await;
        is_error(&e, code);
        assert_eq!(e["path"], path, "{e}");
    }
    // The operator's agents and views of hidden information are allowed in unrated matches and recorded.
    bot.join(json!({"game": "tic_tac_toe", "against": ["house"]})).await;
    bot.play(1, first).await;
    assert_eq!(bot.only().1.start["seats"][1]["name"], "house");
    bot.join(json!({"game": "kuhn_poker", "against": ["mcts sims=20 peek=true"]})).await;
    bot.play(2, first).await;
    let id = bot.matches.iter().find(|(_, m)| m.start["game"] == "kuhn_poker").unwrap().0;
    assert_eq!(record(&server, id).await["flags"], json!(["peek"]));
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

#[tokio::test]
async fn acts_require_current_turn_and_try() {
    let server = Server::start(|_| {}).await;
    let (mut x, mut o, id) = two(&server, json!({})).await;
    is_error(&o.act(&json!({"match": id, "turn": 0, "try": 0}), json!({"action": 0})).await, "not_your_turn");
    let turn = x.wait("turn").await;
    let refused = x.act(&turn, json!({"action": 9})).await;
    assert_eq!((&refused["type"], &refused["try"], &refused["tries_left"]), (&json!("refused"), &json!(1), &json!(2)));
    assert_eq!((&refused["code"], refused["legal"].as_array().unwrap().len()), (&json!("illegal_action"), 9));
    assert!(refused["applied_policy"].is_null());
    let known = x.act(&turn, json!({"action": 9})).await;
    assert_eq!((&known["type"], &known["try"]), (&json!("refused"), &json!(1)), "the first answer again");
    is_error(&x.act(&turn, json!({"action": 4})).await, "conflict");
    let mut second = turn.clone();
    second["try"] = json!(2);
    is_error(&x.act(&second, json!({"action": 4})).await, "not_your_turn");
    second["try"] = json!(1);
    let bad = x.call("act", json!({"match": id, "turn": 0, "try": 1, "action": 4, "text": "x(1,1)"})).await;
    is_error(&bad, "bad_field");
    let refused = x.act(&second, json!({"text": "the moon"})).await;
    assert_eq!((&refused["type"], &refused["try"], &refused["tries_left"]), (&json!("refused"), &json!(2), &json!(1)));
    second["try"] = json!(2);
    let accepted = x.act(&second, json!({"text": "b2"})).await;
    assert_eq!((&accepted["type"], &accepted["action"]), (&json!("accepted"), &json!(4)), "{accepted}");
    // Sends the same act in other forms, and again while the opponent is to move.
    for mv in [json!({"text": "b2"}), json!({"action": 4}), json!({"text": "x(1,1)"})] {
        let again = x.act(&second, mv).await;
        assert_eq!((&again["type"], &again["action"]), (&json!("accepted"), &json!(4)), "{again}");
    }
    is_error(&x.act(&second, json!({"action": 5})).await, "conflict");
    second["turn"] = json!(1);
    is_error(&x.act(&second, json!({"action": 5})).await, "not_your_turn");
    moves(&mut o, &mut x, &[0]).await;
    let turn = x.wait("turn").await;
    assert_eq!(turn["turn"], 1);
    // The same act always gets the same reply, however old it is; a different act for that turn is stale.
    second["turn"] = json!(0);
    assert_eq!(x.act(&second, json!({"action": 4})).await["type"], "accepted");
    is_error(&x.act(&second, json!({"action": 3})).await, "stale_turn");
    second["try"] = json!(7);
    is_error(&x.act(&second, json!({"action": 4})).await, "stale_turn");
    // None of these acts used a try.
    assert_eq!(x.act(&turn, json!({"action": 3})).await["type"], "accepted");
    moves(&mut o, &mut x, &[1, 5]).await;
    x.wait("match_end").await;
    assert_eq!(x.act(&turn, json!({"action": 3})).await["type"], "accepted", "also after the end");
    is_error(&x.act(&json!({"match": id, "turn": 9, "try": 0}), json!({"action": 3})).await, "match_over");
    is_error(&x.call("resign", json!({"match": id})).await, "match_over");
    let record = record(&server, &id).await;
    assert_eq!(record["events"][0]["tries"].as_array().unwrap().len(), 2);
    server.stop().stopped().await;
}

#[tokio::test]
async fn requests_about_unknown_or_foreign_matches_are_refused() {
    let server = Server::start(|_| {}).await;
    let (_x, _o, id) = two(&server, json!({})).await;
    let mut other = Bot::new(server.address, "other").await;
    let turn = json!({"match": id, "turn": 0, "try": 0});
    is_error(&other.act(&turn, json!({"action": 0})).await, "not_your_seat");
    is_error(&other.call("resign", json!({"match": id})).await, "not_your_seat");
    let nowhere = json!({"match": "m_nowhere", "turn": 0, "try": 0});
    is_error(&other.act(&nowhere, json!({"action": 0})).await, "unknown_match");
    for kind in ["resign", "spectate"] {
        is_error(&other.call(kind, json!({"match": "m_nowhere"})).await, "unknown_match");
    }
    is_error(&other.call("leave", json!({"join": "j_nowhere"})).await, "unknown_join");
    assert_eq!(server.get("/episodes/m_nowhere").await.0, 404);
    server.stop().stopped().await;
}

/// Returns a suite with one part in which two candidates meet.
fn meeting(name: &str, game: &str, policy: &str) -> String {
    format!(
        "name = \"{name}\"\nversion = 1\ntitle = \"Two meet\"\n[policy]\n{policy}\n[[part]]\nid = \"meet\"\ngame = \"{game}\"\n\
         schedule = \"round_robin\"\nblocks = 1\n"
    )
}

#[tokio::test]
async fn illegal_moves_follow_policy() {
    let policies = ["forfeit", "random", "default"];
    let server = Server::start(|config| {
        config.suites = policies.iter().fold(Suites::default(), |all, word| {
            let policy = format!("tries = 2\nillegal = \"{word}\"");
            all.with(&meeting(word, "tic_tac_toe", &policy)).expect("a suite")
        });
    })
    .await;
    for word in policies {
        let (mut x, mut o) = (Bot::new(server.address, "x").await, Bot::new(server.address, "o").await);
        for bot in [&mut x, &mut o] {
            let enrol = json!({"suite": word, "run": format!("run-{word}"), "candidates": 2});
            assert_eq!(bot.call("enrol", enrol).await["type"], "enrolled");
        }
        // x moves first in the first match.
        let turn = x.wait("turn").await;
        assert_eq!(x.act(&turn, json!({"action": -5})).await["tries_left"], 1);
        let mut second = turn.clone();
        second["try"] = json!(1);
        let refused = x.act(&second, json!({"document": {"a": 1}})).await;
        assert_eq!(
            (&refused["type"], &refused["tries_left"], &refused["applied_policy"]),
            (&json!("refused"), &json!(0), &json!(word))
        );
        let id = turn["match"].as_str().unwrap().to_owned();
        if word == "forfeit" {
            let end = x.wait("match_end").await;
            assert_eq!((&end["reason"], &end["at_fault"], &end["rated"]), (&json!("illegal"), &json!(0), &json!(true)));
            assert_eq!((&end["returns"], &end["outcome"]), (&json!([-1, 1]), &json!(["loss", "win"])));
        } else {
            let forced = o.wait("event").await;
            assert_eq!((&forced["kind"], &forced["forced"]), (&json!("move"), &json!(true)), "{forced}");
            is_error(&x.act(&second, json!({"action": 0})).await, "conflict");
        }
        let (played, _) = tokio::join!(x.play(2, first), o.play(2, first));
        let () = played;
        x.wait("run_end").await;
        let record = record(&server, &id).await;
        assert_eq!(record["illegal"], json!({"policy": word, "tries": 2}));
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn joint_turn_is_hidden_until_all_have_moved() {
    let server = Server::start(|_| {}).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    for (seat, bot) in [&mut a, &mut b].into_iter().enumerate() {
        bot.join(json!({"game": "iterated_prisoners_dilemma(num_repetitions=2)", "seat": seat})).await;
    }
    for round in 0..2 {
        let (to_b, to_a) = (b.wait("turn").await, a.wait("turn").await);
        assert_eq!((&to_a["turn"], &to_b["turn"]), (&json!(round), &json!(round)));
        assert_eq!(b.act(&to_b, json!({"text": "defect"})).await["type"], "accepted");
        assert_eq!(b.act(&to_b, json!({"action": 1})).await["type"], "accepted", "the same again");
        is_error(&b.act(&to_b, json!({"action": 0})).await, "conflict");
        // All messages sent to either client arrive before the pong.
        for bot in [&mut a, &mut b] {
            let id = bot.client.ask("ping", json!({})).await;
            let next = bot.next().await;
            assert_eq!(next["re"], id, "expected no message before the pong: {next}");
        }
        assert_eq!(a.act(&to_a, json!({"action": 0})).await["type"], "accepted");
        for bot in [&mut a, &mut b] {
            let seen: Vec<Value> = [bot.next().await, bot.next().await, bot.next().await].into();
            let kinds: Vec<(&Value, &Value)> = seen.iter().map(|e| (&e["kind"], &e["seat"])).collect();
            assert_eq!(kinds[..2], [(&json!("move"), &json!(0)), (&json!("move"), &json!(1))], "in seat order");
            assert_eq!((&seen[2]["kind"], &seen[2]["rewards"]), (&json!("reward"), &json!([0, 10])));
        }
    }
    let end = a.wait("match_end").await;
    assert_eq!(end["returns"], json!([0, 20]));
    let record = record(&server, end["match"].as_str().unwrap()).await;
    assert_eq!((&record["events"][0]["more"], &record["events"][1]["more"]), (&json!(true), &Value::Null));
    server.stop().stopped().await;
}

#[tokio::test]
async fn matches_end_by_resignation_clock_or_absence() {
    let server = Server::start(|c| c.limits.grace_ms = 200).await;
    // One seat resigns.
    let (mut x, mut o, id) = two(&server, json!({"rated": true})).await;
    moves(&mut x, &mut o, &[4]).await;
    assert_eq!(x.call("resign", json!({"match": id})).await["type"], "ok");
    assert_eq!(x.call("resign", json!({"match": id})).await["type"], "ok", "said again");
    is_error(&o.call("resign", json!({"match": id})).await, "match_over");
    let end = o.wait("match_end").await;
    assert_eq!(
        (&end["reason"], &end["at_fault"], &end["outcome"]),
        (&json!("resign"), &json!(0), &json!(["loss", "win"]))
    );
    assert_eq!(end["rated"], true);
    record(&server, &id).await;
    // The clock is so short that it expires while the test waits for the end.
    let (mut x, mut o, id) = two(&server, json!({"clock": {"move_ms": 50, "first_ms": 60000}})).await;
    moves(&mut x, &mut o, &[0, 4]).await;
    let end = o.wait("match_end").await;
    assert_eq!((&end["reason"], &end["at_fault"]), (&json!("timeout"), &json!(0)));
    record(&server, &id).await;
    // A chess clock adds the increment after each act.
    let clock = json!({"clock": {"move_ms": 0, "bank_ms": 60000, "inc_ms": 100000}});
    let (mut x, mut o, _) = two(&server, clock).await;
    let turn = x.wait("turn").await;
    assert_eq!((&turn["budget_ms"], &turn["bank_ms"]), (&json!(60000), &json!([60000, 60000])));
    let accepted = x.act(&turn, json!({"action": 0})).await;
    let bank = accepted["bank_ms"].as_u64().unwrap();
    assert!((100_000..=160_000).contains(&bank), "{accepted}");
    assert_eq!(o.wait("turn").await["bank_ms"], json!([bank, 60000]));
    // Both agents are still to move, and neither has replied.
    let (_x, mut o, id) = two(&server, json!({"rated": true, "clock": {"move_ms": 50}})).await;
    let end = o.wait("match_end").await;
    assert_eq!((&end["reason"], &end["rated"]), (&json!("timeout"), &json!(true)), "{end}");
    record(&server, &id).await;
    // The client stays away for longer than its seat is reserved.
    let (mut x, mut o, id) = two(&server, json!({"rated": true})).await;
    moves(&mut x, &mut o, &[4]).await;
    x.client.cut();
    loop {
        let event = o.wait("event").await;
        if event["kind"] == "presence" {
            assert_eq!((&event["seat"], &event["online"], &event["grace_ms"]), (&json!(0), &json!(false), &json!(200)));
            break;
        }
    }
    let end = o.wait("match_end").await;
    assert_eq!((&end["reason"], &end["at_fault"], &end["rated"]), (&json!("disconnect"), &json!(0), &json!(true)));
    record(&server, &id).await;
    server.stop().stopped().await;
}

/// Plays one match and cuts the connection at message `at`, where messages in both directions are counted. Returns
/// false if the match has fewer messages.
async fn played_with_a_cut(server: &Server, at: usize, game: &str, subprotocol: Option<&'static str>) -> bool {
    let mut bot = Bot::with(server.address, subprotocol, json!({"agent": {"name": "mybot"}})).await;
    let mut count = 0;
    let mut cut = false;
    bot.ask("join", json!({"game": game, "against": ["random"], "seat": 0, "rated": at.is_multiple_of(2)})).await;
    while bot.over() == 0 || !bot.unanswered.is_empty() {
        count += 1;
        if count == at {
            bot.cut().await;
            cut = true;
            continue;
        }
        let Some(message) = bot.go_on().await else { panic!("the server cut the connection") };
        let waiting = bot.unanswered.len();
        bot.answer(&message, &mut first).await;
        count += usize::from(bot.unanswered.len() > waiting);
        if count == at {
            bot.cut().await;
            cut = true;
        }
    }
    let (id, seen) = bot.only();
    assert_eq!((&seen.end["reason"], bot.resumed.iter().all(|&r| r)), (&json!("finished"), true));
    let record = record(server, id).await;
    let own = record["events"].as_array().unwrap().iter().filter(|e| e["kind"] == "move" && e["seat"] == 0);
    assert!(own.map(|e| &e["action"]).eq(seen.accepted.values()), "{record}");
    // A cut loses and repeats no event, except in a resync.
    assert!(seen.resyncs == 0 || at <= 3, "an unexpected resync");
    cut
}

#[tokio::test]
async fn match_continues_after_cut_at_any_message() {
    let server = Server::start(|_| {}).await;
    for (game, subprotocol) in [
        ("tic_tac_toe", None),
        ("kuhn_poker(players=3)", Some("ludex.v1.msgpack")),
        ("tic_tac_toe", Some("ludex.v1.msgpack")),
    ] {
        let mut at = 1;
        while played_with_a_cut(&server, at, game, subprotocol).await {
            at += 1;
        }
        assert!(at > 8, "{game} was cut only {at} times");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn open_turn_is_repeated_and_unknown_seq_causes_resync() {
    let server = Server::start(|_| {}).await;
    let (mut x, mut o, id) = two(&server, json!({})).await;
    moves(&mut x, &mut o, &[4, 0]).await;
    let turn = x.wait("turn").await;
    x.cut().await;
    let again = x.next().await;
    assert_eq!(again, turn, "the repeated turn has its old number");
    let held = x.client.welcome["matches"].clone();
    assert_eq!(held, json!([{"match": id, "seat": 0, "seq": turn["seq"]}]));
    // The resent turn includes a refusal that happened meanwhile.
    assert_eq!(x.act(&turn, json!({"action": 0})).await["type"], "refused");
    x.cut().await;
    assert_eq!((&x.next().await["try"], x.matches[&id].resyncs), (&json!(1), 0));
    x.matches.get_mut(&id).unwrap().last = 1_000;
    x.cut().await;
    let resync = x.next().await;
    assert_eq!(
        (&resync["type"], &resync["turn"]["turn"], &resync["turn"]["try"]),
        (&json!("resync"), &json!(1), &json!(1))
    );
    assert_eq!((&resync["seq"], &resync["turn"]["seq"]), (&turn["seq"], &turn["seq"]));
    assert_eq!(resync["events"].as_array().unwrap().len(), 2);
    assert_eq!((&resync["start"]["type"], &resync["start"]["seat"]), (&json!("match_start"), &json!(0)));
    // The opponent received the events of the disconnect and the return.
    let kinds = |bot: &Bot| bot.matches[&id].of_kind("presence").map(|e| e["online"] == true).collect::<Vec<_>>();
    while kinds(&o).len() < 6 {
        o.next().await;
    }
    assert_eq!(kinds(&o), [false, true, false, true, false, true]);
    // If the match ends while the client is away, the end is sent when the client returns.
    let turn = resync["turn"].clone();
    o.call("resign", json!({"match": id})).await;
    x.cut().await;
    while x.matches[&id].end.is_null() {
        x.next().await;
    }
    assert_eq!(x.matches[&id].end["at_fault"], 1);
    is_error(&x.act(&turn, json!({"action": 3})).await, "match_over");
    server.stop().stopped().await;
}

#[tokio::test]
async fn seats_are_reclaimed_by_name() {
    let server = Server::start(|_| {}).await;
    let (mut x, mut o, id) = two(&server, json!({})).await;
    x.cut().await;
    x.cut().await;
    let mut y = Bot::with(server.address, None, json!({"agent": {"name": "x"}, "reclaim": true})).await;
    assert_eq!(y.client.welcome["matches"][0]["match"], id.as_str());
    let resync = y.next().await;
    assert_eq!((&resync["type"], &resync["turn"]["turn"]), (&json!("resync"), &json!(0)));
    let (ended, _) = x.client.ended().await;
    assert_eq!(ended, ClientEnd::Closed(4002, "superseded".into()));
    assert_eq!(y.act(&resync["turn"], json!({"action": 4})).await["type"], "accepted");
    moves(&mut o, &mut y, &[0, 3, 1, 5]).await;
    assert_eq!(y.wait("match_end").await["outcome"], json!(["win", "loss"]));
    // A client with a different name has nothing to reclaim and takes no seat.
    let mut z = Bot::with(server.address, None, json!({"agent": {"name": "z"}, "reclaim": true})).await;
    assert_eq!(z.client.welcome["matches"], json!([]));
    assert_eq!(z.call("ping", json!({})).await["type"], "pong");
    // If two connections use one session, the newer connection owns it.
    let welcome = y.client.welcome.clone();
    let mut newer = Client::resume(server.address, &welcome, 100).await;
    assert_eq!(y.client.ended().await.0, ClientEnd::Closed(4002, "superseded".into()));
    assert_eq!(newer.call("ping", json!({})).await["type"], "pong");
    server.stop().stopped().await;
}

#[tokio::test]
async fn ended_match_is_reclaimed_unless_its_client_was_done() {
    let server = Server::start(|_| {}).await;
    let hello = json!({"agent": {"name": "x"}, "reclaim": true});
    for (code, reclaimed) in [(1001, 1), (1000, 0)] {
        let mut bot = Bot::with(server.address, None, hello.clone()).await;
        bot.join(json!({"game": "tic_tac_toe", "against": ["random"]})).await;
        bot.play(1, first).await;
        bot.client.close(code).await;
        let mut again = Bot::with(server.address, None, hello.clone()).await;
        assert_eq!(again.client.welcome["matches"].as_array().unwrap().len(), reclaimed, "{code}");
        while again.call("ping", json!({})).await["type"] != "pong" {}
        again.client.close(1000).await;
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn joins_survive_lost_connection() {
    let server = Server::start(|_| {}).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    let join = a.join(json!({"game": "tic_tac_toe", "seat": 0, "count": 2})).await;
    let (session, mut back) = (a.client.welcome.clone(), json!({"agent": {"name": "a"}}));
    a.client.cut();
    while !server.get("/health").await.1.contains("\"parked\":1") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    b.join(json!({"game": "tic_tac_toe", "count": 2})).await;
    assert_eq!(b.next().await["type"], "queued");
    assert_eq!(server.hub.live_matches(), 0, "no match waits for an absent client");
    back["resume"] = json!({"session": session["session"], "key": session["key"]});
    let mut a = Bot::with(server.address, None, back).await;
    a.client.go_on_from(1);
    assert_eq!(a.client.welcome["joins"], json!([{"join": join, "game": "tic_tac_toe", "left": 2}]));
    tokio::join!(a.play(2, first), b.play(2, first));
    let reasons = b.matches.values().map(|seen| &seen.end["reason"]);
    assert!(reasons.clone().all(|r| r == "finished"), "{:?}", reasons.collect::<Vec<_>>());
    server.stop().stopped().await;
}

#[tokio::test]
async fn spectators_see_public_view() {
    let server = Server::start(|_| {}).await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    for (seat, bot) in [&mut a, &mut b].into_iter().enumerate() {
        bot.join(json!({"game": "kuhn_poker", "seat": seat})).await;
    }
    let start = a.wait("match_start").await;
    let id = start["match"].clone();
    let mut public = Bot::new(server.address, "public").await;
    let listed = public.call("list_matches", json!({"game": "kuhn_poker"})).await;
    assert_eq!((&listed["matches"][0]["match"], listed["matches"].as_array().unwrap().len()), (&id, 1));
    assert_eq!(public.call("list_matches", json!({"game": "chess"})).await["matches"], json!([]));
    assert_eq!(public.call("list_matches", json!({"limit": 0})).await["matches"], json!([]));
    assert_eq!(public.call("spectate", json!({"match": id, "views": ["text"]})).await["type"], "ok");
    let begins = public.next().await;
    assert_eq!((&begins["type"], &begins["seq"], &begins["seat"]), (&json!("match_start"), &json!(0), &Value::Null));
    for who in [&mut a, &mut public] {
        is_error(&who.call("spectate", json!({"match": id, "view": "full"})).await, "forbidden");
    }
    let turn = a.wait("turn").await;
    a.act(&turn, json!({"text": "bet"})).await;
    b.play(1, |_| json!({"text": "bet"})).await;
    public.wait("match_end").await;
    let seen = &public.matches[id.as_str().unwrap()];
    let cards: Vec<&Value> = seen.of_kind("chance").collect();
    assert!(cards.len() == 2 && cards.iter().all(|c| c["action"].is_null()), "{cards:?}");
    assert!(cards[0]["view"]["text"].as_str().unwrap().contains("1 of 2 cards are dealt"), "{cards:?}");
    assert_eq!(seen.of_kind("move").count(), 2);
    assert!(seen.of_kind("move").all(|e| !e["view"]["text"].as_str().unwrap().contains("hold")), "{:?}", seen.events);
    // After the release, any client may use the full view, which shows the cards.
    let mut full = Bot::new(server.address, "full").await;
    assert_eq!(full.call("spectate", json!({"match": id, "view": "full"})).await["type"], "ok");
    full.wait("match_end").await;
    let seen = &full.matches[id.as_str().unwrap()];
    assert!(seen.of_kind("chance").all(|c| c["action"].is_u64()), "{:?}", seen.events);
    assert_eq!(full.call("unspectate", json!({"match": id})).await["type"], "ok");
    assert_eq!(full.call("list_matches", json!({})).await["matches"], json!([]));
    server.stop().stopped().await;
}

#[tokio::test]
async fn frames_stop_after_unspectate_request() {
    let server = Server::start(|c| c.limits.matches = 1).await;
    let (mut x, mut o, id) = two(&server, json!({})).await;
    let mut watcher = Bot::new(server.address, "w").await;
    assert_eq!(watcher.call("spectate", json!({"match": id})).await["type"], "ok");
    watcher.wait("match_start").await;
    let (_a, _b, other) = two(&server, json!({"queue": "other"})).await;
    is_error(&watcher.call("spectate", json!({"match": other})).await, "limit");
    moves(&mut x, &mut o, &[4]).await;
    assert_eq!(watcher.wait("event").await["action"], 4);
    assert_eq!(watcher.call("unspectate", json!({"match": id})).await["type"], "ok");
    moves(&mut o, &mut x, &[0]).await;
    x.wait("turn").await;
    let ping = watcher.client.ask("ping", json!({})).await;
    assert_eq!(watcher.next().await["re"], ping);
    assert_eq!(watcher.call("spectate", json!({"match": other})).await["type"], "ok", "there is room again");
    server.stop().stopped().await;
}

#[tokio::test]
async fn records_of_run_are_released_when_run_ends() {
    let server = Server::start(|config| {
        config.suites = Suites::default().with(&meeting("cards", "kuhn_poker", "")).expect("a suite");
    })
    .await;
    let (mut a, mut b) = (Bot::new(server.address, "a").await, Bot::new(server.address, "b").await);
    for bot in [&mut a, &mut b] {
        let enrol = json!({"suite": "cards", "run": "run", "candidates": 2});
        assert_eq!(bot.call("enrol", enrol).await["type"], "enrolled");
    }
    let mut thief = Bot::new(server.address, "thief").await;
    is_error(&thief.call("join", json!({"ticket": "t_a"})).await, "forbidden");
    let mut end = Value::Null;
    tokio::join!(b.play(1, first), async {
        while end.is_null() {
            let message = a.go_on().await.expect("a message");
            a.answer(&message, &mut first).await;
            if message["type"] == "match_end" {
                end = message;
            }
        }
    });
    let id = end["match"].as_str().unwrap().to_owned();
    let hidden = ["seed", "salt", "digest", "pair", "run"];
    assert!(hidden.iter().all(|k| end[*k].is_null()), "{end}");
    let early = page(&server, &id).await;
    assert!(hidden.iter().all(|k| early[*k].is_null()) && early["returns"].is_array(), "{early}");
    assert!(
        early["events"].as_array().unwrap().iter().all(|e| e["kind"] != "chance" || e["action"].is_null()),
        "{early}"
    );
    is_error(&thief.call("spectate", json!({"match": id, "view": "full"})).await, "forbidden");
    tokio::join!(a.play(2, first), b.play(2, first));
    a.wait("run_end").await;
    let ids: Vec<String> = a.matches.keys().cloned().collect();
    let (first, second) = (record(&server, &ids[0]).await, record(&server, &ids[1]).await);
    assert_eq!((&first["run"], &second["run"]), (&json!("run"), &json!("run")));
    assert_ne!(first["seed"], second["seed"], "no deal is repeated");
    assert_ne!(first["seed_commit"], second["seed_commit"]);
    assert_eq!(thief.call("spectate", json!({"match": id, "view": "full"})).await["type"], "ok");
    server.stop().stopped().await;
}

#[tokio::test]
async fn token_scopes_limit_players_and_spectators() {
    use ludex_server::auth::{NewToken, Scopes, add};
    let server = Server::start(|_| {}).await;
    let wanted = [("ann", Scopes::PLAY), ("bob", Scopes::PLAY), ("eve", Scopes::SPECTATE), ("root", Scopes::ADMIN)];
    let wanted = wanted.map(|(owner, scopes)| NewToken {
        owner: owner.into(),
        scopes,
        names: vec![owner.into()],
        expires_ms: None,
    });
    let tokens = add(&server.hub.store, &wanted, 0).await.unwrap();
    let mut bots = Vec::new();
    for (token, name) in tokens.iter().zip(["ann", "bob", "eve", "root"]) {
        bots.push(Bot::with(server.address, None, json!({"token": token, "agent": {"name": name}})).await);
    }
    let [ann, bob, eve, root] = &mut bots[..] else { unreachable!() };
    is_error(&eve.call("join", json!({"game": "kuhn_poker", "against": ["random"]})).await, "forbidden");
    is_error(&ann.call("open", json!({"game": "kuhn_poker"})).await, "forbidden");
    ann.join(json!({"game": "kuhn_poker", "seat": 0})).await;
    bob.join(json!({"game": "kuhn_poker", "seat": 1})).await;
    let id = ann.wait("match_start").await["match"].clone();
    is_error(&ann.call("spectate", json!({"match": id})).await, "forbidden");
    assert_eq!(eve.call("spectate", json!({"match": id})).await["type"], "ok");
    is_error(&eve.call("spectate", json!({"match": id, "view": "full"})).await, "forbidden");
    assert_eq!(root.call("spectate", json!({"match": id, "view": "full"})).await["type"], "ok");
    root.wait("match_start").await;
    let dealt = root.next().await;
    assert_eq!((&dealt["kind"], dealt["action"].is_u64()), (&json!("chance"), true), "{dealt}");
    // An admin may play too, but not see the cards in a match of their own.
    root.join(json!({"game": "kuhn_poker", "against": ["random"], "seat": 0})).await;
    let own = root.wait("match_start").await["match"].clone();
    is_error(&root.call("spectate", json!({"match": own, "view": "full"})).await, "forbidden");
    // The name belongs to a different owner than the token.
    let hello = json!({"type": "hello", "id": 1, "protocol": [1], "client": "raw/0", "token": tokens[1], "agent": {"name": "ann"}});
    let mut other = Client::mute(server.address).await;
    other.say(&hello).await;
    is_error(&other.hear().await, "forbidden");
    // A session can be resumed only with a token of its owner.
    let session = &ann.client.welcome;
    let resume = json!({"session": session["session"], "key": session["key"]});
    let stolen = Client::greet(server.address, None, json!({"token": tokens[1], "resume": resume})).await;
    assert_eq!((&stolen.welcome["resumed"], &stolen.welcome["agent"]), (&json!(false), &json!("bob")));
    let mut back =
        Bot::with(server.address, None, json!({"token": tokens[0], "agent": {"name": "ann"}, "reclaim": true})).await;
    assert_eq!(back.next().await["type"], "resync");
    server.stop().stopped().await;
}

#[tokio::test]
async fn draining_server_refuses_new_work_and_resumes_matches() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |c| c.drain = Duration::from_millis(300)).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0, "count": 2})).await;
    let turn = bot.wait("turn").await;
    let stopping = server.stop();
    assert_eq!(bot.wait("draining").await["resume"], true);
    is_error(&bot.call("join", json!({"game": "tic_tac_toe", "against": ["random"]})).await, "draining");
    assert_eq!(bot.act(&turn, json!({"action": 4})).await["type"], "accepted", "running matches continue");
    let (ended, _) = bot.client.ended().await;
    assert_eq!(ended, ClientEnd::Closed(1012, "restart".into()));
    stopping.stopped().await;
    let server = Server::start_in(folder.path(), |_| {}).await;
    assert_eq!(server.hub.live_matches(), 1);
    let welcome = &bot.client.welcome;
    let resume =
        json!({"session": welcome["session"], "key": welcome["key"], "seen": {bot.only().0: bot.only().1.last}});
    let mut again = Bot::with(server.address, None, json!({"agent": {"name": "mybot"}, "resume": resume})).await;
    assert_eq!(again.client.welcome["resumed"], true);
    let resync = again.next().await;
    assert_eq!((&resync["type"], &resync["events"][0]["action"]), (&json!("resync"), &json!(4)));
    assert!(resync["seq"].as_u64().unwrap() >= 1_000_000, "{resync}");
    again.answer(&resync, &mut first).await;
    again.play(2, first).await;
    for id in again.matches.keys() {
        record(&server, id).await;
    }
    server.stop().stopped().await;
}

/// Checks that the text view alone is enough to find the discard with the best shanten and the legal moves.
#[tokio::test]
async fn mahjong_is_playable_by_text() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "reader").await;
    let others = ["lowest_shanten", "most_useful", "random"];
    bot.join(json!({"game": "mcr_mahjong", "against": others, "seat": 1, "views": ["text"]})).await;
    let (mut turns, mut guided) = (0, 0);
    bot.play(1, |turn| {
        let text = turn["view"]["text"].as_str().expect("a text");
        assert!(turn["view"]["struct"].is_null(), "{turn}");
        turns += 1;
        let legal = text.lines().find_map(|line| line.strip_prefix("Legal moves: ")).expect("the legal moves");
        let legal: Vec<&str> = legal.split(", ").collect();
        // Each line below the heading names one discard; all of them are equally good.
        let kept = text.split("Discards that keep shanten").nth(1).and_then(|rest| rest.lines().nth(1));
        let tile = kept.and_then(|line| line.trim_start_matches("- ").split([' ', ':']).next()).unwrap_or_default();
        let wanted = format!("PLAY {tile}");
        let choice = match &legal[..] {
            all if all.contains(&"HU") => "HU",
            all if all.contains(&"PASS") => "PASS",
            all if all.contains(&wanted.as_str()) => {
                guided += 1;
                &wanted
            }
            all => all[0],
        };
        json!({"text": choice})
    })
    .await;
    let (name, seen) = bot.only();
    assert_eq!(seen.end["reason"], "finished", "{}", seen.end);
    assert!(turns >= 10 && guided >= 3, "{turns} {guided}");
    let played = record(&server, name).await;
    assert_eq!(played["events"].as_array().map(|all| all.len() > 137), Some(true), "the walls, and moves");
    server.stop().stopped().await;
}

#[tokio::test]
async fn stopped_server_frees_its_ended_matches() {
    let server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "count": 3})).await;
    bot.play(3, first).await;
    let hub = Arc::downgrade(&server.hub);
    server.stop().stopped().await;
    let until = Instant::now() + Duration::from_secs(15);
    while hub.upgrade().is_some() {
        assert!(Instant::now() < until, "the hub is still in use");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
