//! Several seats of one client in a match: each message names its seat, and each seat is resumed by itself.

use std::collections::BTreeMap;

use ludex_arena::suites::Suites;
use ludex_tests::Server;
use ludex_tests::client::Client;
use serde_json::{Value, json};

const SUITE: &str = r#"
name = "teams"
version = 1
title = "Several seats"
[[part]]
id = "peasants"
game = "fight_the_landlord"
schedule = "against"
opponents = ["random"]
tables = ["baa", "abb"]
blocks = 1
"#;

/// Seats of a client in one match, with the last number of each seat.
#[derive(Default)]
struct Seats {
    seen: BTreeMap<String, u64>,
    ends: Vec<u64>,
}

impl Seats {
    /// Checks that a message of the match belongs to a seat and continues its numbering.
    fn note(&mut self, message: &Value) {
        let seat = if message["type"] == "event" { &message["viewer"] } else { &message["seat"] };
        let seat = seat.as_u64().unwrap_or_else(|| panic!("a seat: {message}"));
        let Some(seq) = message["seq"].as_u64() else { return };
        let next = self.seen.get(&seat.to_string()).map_or(0, |last| last + 1);
        assert_eq!(seq, next, "{message}");
        self.seen.insert(seat.to_string(), seq);
        if message["type"] == "match_end" {
            self.ends.push(seat);
        }
    }
}

#[tokio::test]
async fn messages_of_several_seats_name_the_seat() {
    let server = Server::start(|config| config.suites = Suites::default().with(SUITE).expect("a suite")).await;
    let mut client = Client::greet(server.address, None, json!({"agent": {"name": "cand"}})).await;
    let enrolled = client.call("enrol", json!({"suite": "teams", "run": "mine"})).await;
    assert_eq!((&enrolled["type"], &enrolled["due"]), (&json!("enrolled"), &json!(2)), "{enrolled}");
    // One slot is enough for a match with two seats.
    let mut seats = Seats::default();
    let turn = loop {
        let message = client.hear().await;
        if message["match"].is_string() {
            seats.note(&message);
        }
        if message["type"] == "turn" {
            break message;
        }
    };
    assert_eq!(seats.seen.keys().collect::<Vec<_>>(), ["1", "2"], "a `match_start` for each seat");
    let (id, seat) = (turn["match"].clone(), turn["seat"].as_u64().expect("a seat"));
    let act = |seat: Option<u64>| {
        let mut act = json!({"match": id, "turn": turn["turn"], "action": turn["legal"][0]});
        if let Some(seat) = seat {
            act["seat"] = seat.into();
        }
        act
    };
    let unnamed = client.call("act", act(None)).await;
    assert_eq!((&unnamed["code"], &unnamed["path"]), (&json!("bad_field"), &json!("seat")), "{unnamed}");
    assert_eq!(unnamed["allowed"], json!([1, 2]));
    assert_eq!(client.call("act", act(Some(0))).await["code"], "not_your_seat");
    assert_eq!(client.call("act", act(Some(3 - seat))).await["code"], "not_your_turn");
    let accepted = client.call("act", act(Some(seat))).await;
    assert_eq!((&accepted["type"], &accepted["seat"]), (&json!("accepted"), &json!(seat)), "{accepted}");
    // Each seat continues after the number that the client has seen.
    let (welcome, last) = (client.welcome.clone(), client.last_id());
    client.cut();
    let resume =
        json!({"session": welcome["session"], "key": welcome["key"], "seen": {id.as_str().unwrap(): seats.seen}});
    let mut client = Client::greet(server.address, None, json!({"agent": {"name": "cand"}, "resume": resume})).await;
    client.go_on_from(last);
    let held = client.welcome["matches"].as_array().expect("matches");
    assert_eq!(held.iter().map(|held| &held["seat"]).collect::<Vec<_>>(), [&json!(1), &json!(2)], "{held:?}");
    let resigned = client.ask("resign", json!({"match": id, "seat": 2})).await;
    while seats.ends.len() < 2 {
        let message = client.hear().await;
        assert_ne!(message["type"], "resync", "{message}");
        if message["re"] == resigned {
            assert_eq!(message["type"], "ok", "{message}");
        } else if message["match"] == id {
            // An open turn is repeated with its number.
            let again = message["seq"].as_u64() <= seats.seen.get(&message["seat"].to_string()).copied();
            if message["type"] != "turn" || !again {
                seats.note(&message);
            }
        }
    }
    seats.ends.sort_unstable();
    assert_eq!(seats.ends, [1, 2], "a `match_end` for each seat");
    server.stop().stopped().await;
}
