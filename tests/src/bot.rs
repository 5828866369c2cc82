//! Playing client that records the messages of each match, checks the sequence numbers of frames, and resumes after
//! every cut as described in `docs/protocol.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;

/// Path of the WebSocket of a server.
const ROOT: &str = "/ws";

/// Maximum total time for attempts to reach a server.
const PATIENCE: Duration = Duration::from_secs(120);

/// Frames of one match.
#[derive(Debug, Default)]
pub struct BotMatch {
    /// Sequence number of the last frame.
    pub last: u64,
    /// Frame of type `match_start`.
    pub start: Value,
    /// Events of the match, in order.
    pub events: Vec<Value>,
    /// Last `turn` frame received.
    pub turn: Value,
    /// `match_end` frame; null while the match runs.
    pub end: Value,
    /// Number of received resyncs.
    pub resyncs: u32,
    /// Accepted acts by turn.
    pub accepted: BTreeMap<u64, Value>,
}

/// Client that records all frames of its matches.
pub struct Bot {
    /// Servers that know the URLs of all cells.
    servers: Vec<SocketAddr>,
    /// Server and path of the connection.
    at: (SocketAddr, String),
    hello: Value,
    subprotocol: Option<&'static str>,
    /// Raw connection of the client.
    pub client: Client,
    /// Frames of each match, by match id.
    pub matches: BTreeMap<String, BotMatch>,
    /// Requests without a reply, as they were sent, by id.
    pub unanswered: BTreeMap<i64, Value>,
    /// One entry per `welcome` after the first: true if that connection resumed the session.
    pub resumed: Vec<bool>,
    /// Number of matches without a durable log that a crash of the server has removed.
    pub lost: usize,
}

impl Bot {
    /// Connects under this agent name, in JSON.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn new(address: SocketAddr, name: &str) -> Self {
        Self::with(address, None, json!({"agent": {"name": name}})).await
    }

    /// Connects with additional fields in the `hello`.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn with(address: SocketAddr, subprotocol: Option<&'static str>, hello: Value) -> Self {
        let client = Client::greet(address, subprotocol, hello.clone()).await;
        Bot {
            servers: vec![address],
            at: (address, ROOT.to_owned()),
            hello,
            subprotocol,
            client,
            matches: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            resumed: Vec::new(),
            lost: 0,
        }
    }

    /// Connects to a server with several cells under this agent name, and lets the bot look for its cell at other servers.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn of_cells(servers: &[SocketAddr], name: &str) -> Self {
        Bot { servers: servers.to_vec(), ..Self::new(servers[0], name).await }
    }

    /// Sends a `join`. If another cell has the queue, connects to it and sends the `join` there. Returns the id of the join.
    ///
    /// # Panics
    /// Panics if the server refuses the join.
    pub async fn join_in_its_cell(&mut self, fields: Value) -> String {
        loop {
            let reply = self.call("join", fields.clone()).await;
            match (reply["moved"]["at"].as_str(), &reply["after_ms"]) {
                (Some(at), _) => {
                    let at = place(at);
                    match Client::try_greet_at(at.0, &at.1, self.subprotocol, self.hello.clone()).await {
                        Ok(client) => (self.client, self.at) = (client, at),
                        // The cell is about to start.
                        Err(refusal) => assert_eq!(refusal["retry"], true, "{refusal}"),
                    }
                }
                (None, Value::Number(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
                (None, _) => {
                    assert_eq!(reply["type"], "joined", "{reply}");
                    return reply["join"].as_str().expect("a name").to_owned();
                }
            }
        }
    }

    /// Reads a message and records it if it belongs to a match.
    ///
    /// # Panics
    /// Panics if no message arrives or its sequence number is out of order.
    pub async fn next(&mut self) -> Value {
        let message = self.client.hear().await;
        self.note(&message);
        message
    }

    /// Reads messages until one has the type `kind`, and returns it.
    ///
    /// # Panics
    /// Panics as [`next`](Self::next) does.
    pub async fn wait(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Panics
    /// Panics if no reply arrives.
    pub async fn call(&mut self, kind: &str, fields: Value) -> Value {
        let reply = self.client.call(kind, fields).await;
        self.note(&reply);
        reply
    }

    /// Sends a `join` and returns its id.
    ///
    /// # Panics
    /// Panics if the server refuses the join.
    pub async fn join(&mut self, fields: Value) -> String {
        let joined = self.call("join", fields).await;
        assert_eq!(joined["type"], "joined", "{joined}");
        joined["join"].as_str().expect("a name").to_owned()
    }

    /// Answers a turn; `mv` has one of the fields `action`, `text` and `document`, and optional further fields of the
    /// act.
    ///
    /// # Panics
    /// Panics if no reply arrives.
    pub async fn act(&mut self, turn: &Value, mv: Value) -> Value {
        self.call("act", act(turn, mv)).await
    }

    /// Records a message of a match and checks its sequence number.
    ///
    /// # Panics
    /// Panics if the sequence number is out of order.
    pub fn note(&mut self, message: &Value) {
        if let Some(re) = message["re"].as_i64() {
            self.unanswered.remove(&re);
        }
        let Some(id) = message["match"].as_str() else { return };
        let kind = message["type"].as_str().unwrap_or_default();
        let seq = message["seq"].as_u64();
        if kind == "match_start" {
            assert!(!self.matches.contains_key(id), "{id}: got a second `match_start`");
            let seen = BotMatch { last: seq.expect("a number"), start: message.clone(), ..BotMatch::default() };
            self.matches.insert(id.to_owned(), seen);
            return;
        }
        let seen = match kind {
            "resync" => self.matches.entry(id.to_owned()).or_default(),
            _ => self.matches.get_mut(id).unwrap_or_else(|| panic!("{id}: expected `match_start`, got {message}")),
        };
        match kind {
            "turn" | "event" | "match_end" => {
                let seq = seq.expect("a number");
                let again = kind == "turn" && seq <= seen.last && seen.turn["seq"] == seq;
                assert!(again || seq == seen.last + 1, "after {}: {message}", seen.last);
                seen.last = seen.last.max(seq);
                match kind {
                    "turn" => seen.turn = message.clone(),
                    "event" => seen.events.push(message.clone()),
                    _ => seen.end = message.clone(),
                }
            }
            "resync" => seen.anew(message),
            "accepted" => {
                seen.accepted.insert(message["turn"].as_u64().expect("a turn"), message["action"].clone());
            }
            _ => {}
        }
    }

    /// Drops the connection without a close frame and resumes the session.
    ///
    /// # Panics
    /// Panics if the server cannot be reached in time.
    pub async fn cut(&mut self) {
        let seen: BTreeMap<&String, u64> = self.matches.iter().map(|(id, seen)| (id, seen.last)).collect();
        let welcome = &self.client.welcome;
        let mut hello = self.hello.clone();
        hello["resume"] = json!({"session": welcome["session"], "key": welcome["key"], "seen": seen});
        let from = Instant::now();
        let mut client = loop {
            let (address, path) = &self.at;
            match Client::try_greet_at(*address, path, self.subprotocol, hello.clone()).await {
                Ok(client) => break client,
                Err(refusal) => match refusal["moved"]["at"].as_str() {
                    Some(at) => self.at = place(at),
                    None => {
                        // The next owner of the cell may have another URL.
                        self.servers.rotate_left(1);
                        self.at = (self.servers[0], ROOT.to_owned());
                    }
                },
            }
            assert!(from.elapsed() < PATIENCE, "the server is still unreachable");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        client.go_on_from(self.client.last_id());
        self.resumed.push(client.welcome["resumed"] == true);
        let held = client.welcome["matches"].as_array().cloned().unwrap_or_default();
        let held: BTreeSet<&str> = held.iter().filter_map(|m| m["match"].as_str()).collect();
        let gone =
            |(id, seen): (&String, &BotMatch)| (seen.end.is_null() && !held.contains(id.as_str())).then(|| id.clone());
        let gone: Vec<String> = self.matches.iter().filter_map(gone).collect();
        for id in gone {
            // A rated match survives every crash. Other matches are on disk after a second.
            let lost = self.matches.remove(&id).expect("a match");
            assert_eq!(lost.start["rated"], false, "{id} is gone: {}", client.welcome);
            self.unanswered.retain(|_, request| request["match"] != id.as_str());
            self.lost += 1;
        }
        self.client = client;
        for request in self.unanswered.clone().values() {
            self.client.try_say(request).await;
        }
    }

    /// Sends a request and, after each cut, sends it again until the reply arrives.
    pub async fn ask(&mut self, kind: &str, mut fields: Value) {
        let id = self.client.last_id() + 1;
        self.client.go_on_from(id);
        fields["type"] = kind.into();
        fields["id"] = id.into();
        self.client.try_say(&fields).await;
        self.unanswered.insert(id, fields);
    }

    /// Returns the next message. After a lost connection, resumes the session and returns `None`.
    ///
    /// # Panics
    /// Panics if the server cannot be reached in time, or if it sends an error. Errors from a race with the end of the
    /// match are ignored.
    pub async fn go_on(&mut self) -> Option<Value> {
        let Some(message) = self.client.try_hear().await else {
            self.cut().await;
            return None;
        };
        self.note(&message);
        Some(message)
    }

    /// Answers the pending turn in a message, if any, with the move that `choose` returns.
    pub async fn answer(&mut self, message: &Value, choose: &mut impl FnMut(&Value) -> Value) {
        let turn = match message["type"].as_str() {
            Some("turn") => message,
            Some("resync") => &message["turn"],
            _ => return,
        };
        if turn.is_null() {
            return;
        }
        let same = |a: &Value| ["match", "turn"].iter().all(|k| a[k] == turn[k]) && a["try"] == turn["try"];
        if !self.unanswered.values().any(same) {
            let mv = choose(turn);
            self.ask("act", act(turn, mv)).await;
        }
    }

    /// Plays the moves that `choose` returns until `matches` matches have ended and every request has a reply.
    ///
    /// # Panics
    /// Panics as [`go_on`](Self::go_on) does.
    pub async fn play(&mut self, matches: usize, mut choose: impl FnMut(&Value) -> Value) {
        while self.over() < matches || !self.unanswered.is_empty() {
            if let Some(message) = self.go_on().await {
                self.answer(&message, &mut choose).await;
            }
        }
    }

    /// Returns the number of finished matches.
    pub fn over(&self) -> usize {
        self.matches.values().filter(|seen| !seen.end.is_null()).count()
    }

    /// Returns the id and the frames of the only match.
    ///
    /// # Panics
    /// Panics if there is not exactly one match.
    pub fn only(&self) -> (&str, &BotMatch) {
        assert_eq!(self.matches.len(), 1);
        self.matches.iter().next().map(|(id, seen)| (id.as_str(), seen)).expect("a match")
    }
}

impl BotMatch {
    fn anew(&mut self, resync: &Value) {
        self.last = resync["seq"].as_u64().expect("a number");
        self.start = resync["start"].clone();
        self.events = resync["events"].as_array().cloned().unwrap_or_default();
        self.end = resync["end"].clone();
        self.resyncs += 1;
        let numbers: Vec<u64> = self.events.iter().filter_map(|e| e["seq"].as_u64()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.iter().all(|&n| n <= self.last), "{resync}");
        if !resync["turn"].is_null() {
            self.turn = resync["turn"].clone();
            let turn = self.turn["turn"].as_u64().expect("a turn");
            assert!(self.start["rated"] != true || self.accepted.range(turn..).next().is_none(), "lost: {resync}");
        }
        if self.start["rated"] != true {
            // Unrated matches may lose their last moves in a crash.
            let own = self.of_kind("move").filter(|e| e["seat"] == self.start["seat"]).count() as u64;
            self.accepted.retain(|&turn, _| turn < own);
        }
    }

    /// Returns the events of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |e| e["kind"] == kind)
    }
}

/// Returns the address and the path of the WebSocket of a cell's URL.
fn place(url: &str) -> (SocketAddr, String) {
    let (address, path) = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')).expect("a URL of a cell");
    (address.parse().expect("an address"), format!("/{path}"))
}

/// Returns the fields of an act that answers `turn` with `mv`.
pub fn act(turn: &Value, mv: Value) -> Value {
    let mut fields = json!({"match": turn["match"], "turn": turn["turn"], "try": turn["try"]});
    if let (Some(fields), Value::Object(mv)) = (fields.as_object_mut(), mv) {
        fields.extend(mv);
    }
    fields
}

/// Returns the first legal action of a turn as the move of an act.
pub fn first(turn: &Value) -> Value {
    json!({"action": turn["legal"][0]})
}
