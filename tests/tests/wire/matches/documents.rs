//! Documents as moves over real sockets: frames that each client receives, byte for byte.

use std::fmt::Write as _;

use ludex_tests::{Client, Server};
use regex::Regex;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/frames/joint_turn.txt");

/// Client that records all its frames as text.
pub(super) struct Recorded {
    pub name: &'static str,
    client: Client,
    /// Sent (`>`) and received (`<`) frames, in order.
    pub frames: Vec<String>,
}

impl Recorded {
    pub async fn new(server: &Server, name: &'static str) -> Self {
        let client = Client::greet(server.address, None, json!({"agent": {"name": name}})).await;
        Recorded { name, client, frames: Vec::new() }
    }

    /// Sends a request and reads frames until its reply.
    pub async fn call(&mut self, kind: &str, fields: Value) -> Value {
        let id = self.client.ask(kind, fields.clone()).await;
        self.frames.push(format!("> {kind} {fields}"));
        self.until(|message| message["re"] == id).await
    }

    /// Reads frames until `last` returns true for a frame, and returns that frame.
    pub async fn until(&mut self, last: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.client.next_frame().await.expect("a frame");
            let Message::Text(text) = frame else { panic!("{frame:?} is not text") };
            self.frames.push(format!("< {text}"));
            let message: Value = serde_json::from_str(&text).expect("JSON");
            if last(&message) {
                return message;
            }
        }
    }

    pub async fn until_kind(&mut self, kind: &str) -> Value {
        self.until(|message| message["type"] == kind).await
    }
}

/// Checks the frames of both seats and of a spectator in a joint turn. One seat answers with an id, the other with a
/// document after a refused document. Random values of a match are replaced by their field names.
#[tokio::test]
async fn joint_turn_equals_golden_frames() {
    let server = Server::start(|config| config.games = own_game::registries().0).await;
    let [mut first, mut second] = [Recorded::new(&server, "ann").await, Recorded::new(&server, "bob").await];
    for (seat, client) in [&mut first, &mut second].into_iter().enumerate() {
        client.call("join", json!({"game": "naming", "seat": seat, "clock": {"move_ms": 60_000}})).await;
    }
    let start = first.until_kind("match_start").await;
    let id = start["match"].as_str().expect("an id").to_owned();
    let mut watcher = Recorded::new(&server, "eve").await;
    watcher.call("spectate", json!({"match": id})).await;
    watcher.until_kind("match_start").await;
    for client in [&mut first, &mut second] {
        client.until_kind("turn").await;
    }
    let act = |turn, attempt: u32, mv: Value| {
        let mut act = json!({"match": id, "turn": turn, "try": attempt});
        act.as_object_mut().expect("a map").extend(mv.as_object().expect("a map").clone());
        act
    };
    let refused = second.call("act", act(0, 0, json!({"document": {"number": 12, "x": []}}))).await;
    assert_eq!((&refused["code"], refused["issues"].as_array().map(Vec::len)), (&json!("illegal_action"), Some(2)));
    let unread = second.call("act", act(0, 1, json!({"text": "I do not know"}))).await;
    assert_eq!(unread["code"], "unparsed");
    second.call("act", act(0, 2, json!({"text": "Let it be {\"number\": 7}."}))).await;
    // Only the second seat has received a frame: for the other clients, the next frame is the reply to a ping.
    for client in [&mut first, &mut watcher] {
        let before = client.frames.len();
        client.call("ping", json!({})).await;
        assert_eq!(client.frames.len(), before + 2, "{:?}", client.frames);
    }
    first.call("act", act(0, 0, json!({"action": 3}))).await;
    first.until_kind("turn").await;
    first.call("act", act(1, 0, json!({"document": {"swap": true, "say": "so be it"}}))).await;
    let mut text = String::new();
    let mut end = Value::Null;
    for client in [&mut first, &mut second, &mut watcher] {
        end = client.until_kind("match_end").await;
        writeln!(text, "## {}\n{}\n", client.name, client.frames.join("\n")).expect("text");
    }
    let join = |client: &Recorded| {
        let reply = client.frames.iter().find(|f| f.contains("\"joined\"")).expect("a reply");
        let reply: Value = serde_json::from_str(&reply[2..]).expect("JSON");
        reply["join"].as_str().expect("an id").to_owned()
    };
    let drawn = [(id.clone(), "MATCH"), (join(&first), "JOIN_1"), (join(&second), "JOIN_2")];
    for (value, name) in drawn {
        text = text.replace(&value, name);
    }
    for key in ["seed_commit", "seed", "salt", "digest"] {
        let value = if key == "seed_commit" { &start[key] } else { &end[key] };
        assert!(!value.is_null(), "{end}");
        text = text.replace(&format!("\"{key}\":{value}"), &format!("\"{key}\":\"{}\"", key.to_uppercase()));
    }
    // Removes times, and the queue notice, which depends on how soon the second join arrives.
    let times = Regex::new(r#""(ms|now_ms)":\d+"#).expect("a pattern");
    let text = times.replace_all(&text, "\"$1\":0");
    let text: String =
        text.lines().filter(|line| !line.contains("\"queued\"")).map(|line| format!("{line}\n")).collect();
    if std::env::var_os("LUDEX_REGENERATE").is_some() {
        std::fs::write(GOLDEN, &text).expect("the golden file is written");
    }
    let golden = std::fs::read_to_string(GOLDEN).expect("the golden file");
    assert_eq!(text, golden, "LUDEX_REGENERATE=1 writes {GOLDEN} again");
    server.stop().stopped().await;
}
