//! Bot for the conformance checks: plays the first legal action, resumes cut connections, and makes the one mistake
//! that its argument names. It writes its JSON by hand, without a client library.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

/// State of the bot; the environment supplies the settings.
struct Bot {
    url: String,
    mistake: String,
    /// Suite and run to play, if the environment names them.
    run: Option<(String, String)>,
    session: Option<(Value, Value)>,
    next: i64,
    joined: bool,
    unanswered: BTreeMap<i64, Value>,
    seats: BTreeMap<SeatKey, Seat>,
    over: bool,
}

/// Id of a match, and number of a seat in it.
type SeatKey = (String, i64);

/// Seat of the bot in a match.
#[derive(Default)]
struct Seat {
    /// Sequence number of the last message.
    seen: u64,
    /// Pending turn, and the (turn, try) that was answered last.
    turn: Value,
    acted: Option<(i64, i64)>,
    ended: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mistake = std::env::args().nth(1).unwrap_or_default();
    let url = std::env::args().nth(2).or_else(|| std::env::var("LUDEX_URL").ok()).unwrap_or_default();
    let mut bot = Bot {
        url,
        mistake,
        run: std::env::var("LUDEX_SUITE").ok().zip(std::env::var("LUDEX_RUN").ok()),
        session: None,
        next: 10,
        joined: false,
        unanswered: BTreeMap::new(),
        seats: BTreeMap::new(),
        over: false,
    };
    if let Some(frame) = raw_frame(&bot.mistake) {
        let sent = send_raw(&bot.url, &frame).await;
        return if sent.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    while !bot.over {
        if let Err(why) = bot.connect().await {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    }
    if bot.makes("bad_exit") { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Returns the malformed frame that a bot with this mistake sends first on a MessagePack connection. `None` if the
/// mistake does not concern the first frame.
fn raw_frame(mistake: &str) -> Option<Vec<u8>> {
    let hello = rmp_serde::to_vec_named(&json!({ "type": "hello", "id": 1, "protocol": [1] })).ok()?;
    let odd = rmp_serde::to_vec_named(&json!({ "type": "act", "match": 5, "note": "caf\u{e9}" })).ok()?;
    let frame = |kind: u8, masked: bool, payload: &[u8]| {
        let length = payload.len() as u8;
        // A mask of zeros leaves the payload unchanged.
        let head = if masked { vec![kind, 0x80 | length, 0, 0, 0, 0] } else { vec![kind, length] };
        [head.as_slice(), payload].concat()
    };
    match mistake {
        "no_mask" => Some(frame(0x82, false, &hello)),
        "packed_text" => Some(frame(0x81, true, &[&[0xc1], hello.as_slice()].concat())),
        "packed_field" => Some(frame(0x82, true, &odd)),
        _ => None,
    }
}

/// Requests the WebSocket upgrade, sends a raw frame, and waits until the connection ends.
async fn send_raw(url: &str, frame: &[u8]) -> std::io::Result<()> {
    let address = url.trim_start_matches("ws://").split('/').next().unwrap_or_default();
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let upgrade = "GET /ws HTTP/1.1\r\nHost: kit\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: ludex.v1.msgpack\r\n\r\n";
    stream.write_all(upgrade.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    stream.write_all(frame).await?;
    stream.read_to_end(&mut head).await?;
    Ok(())
}

/// Returns the match and the seat of a message.
fn key_of(message: &Value) -> SeatKey {
    (message["match"].as_str().unwrap_or_default().to_owned(), message["seat"].as_i64().unwrap_or(0))
}

impl Bot {
    fn makes(&self, mistake: &str) -> bool {
        self.mistake == mistake
    }

    /// Plays over one connection. `Ok` if the connection is lost or the match is over.
    async fn connect(&mut self) -> Result<(), String> {
        let connected = tokio_tungstenite::connect_async(self.url.as_str()).await;
        let Ok((mut ws, _)) = connected else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            return Ok(());
        };
        let mut hello = json!({ "type": "hello", "id": 1, "protocol": [1], "client": "bot/0" });
        hello["agent"] = json!({ "name": std::env::var("LUDEX_AGENT").unwrap_or_else(|_| "bot".into()) });
        if let (Ok(token), false) = (std::env::var("LUDEX_TOKEN"), self.makes("no_token")) {
            hello["token"] = token.into();
        }
        if let (Some((session, key)), false) = (&self.session, self.makes("no_resume")) {
            let surplus = if self.makes("sees_too_much") { 5 } else { 0 };
            let mut seen = json!({});
            for ((id, seat), state) in &self.seats {
                seen[id][seat.to_string()] = (state.seen + surplus).into();
            }
            hello["resume"] = json!({ "session": session, "key": key, "seen": seen });
            hello["reclaim"] = true.into();
        }
        let mut out = vec![hello];
        loop {
            for message in out.drain(..) {
                // A failed send means that the connection is lost; the next read reports it.
                let _ = ws.send(Message::text(message.to_string())).await;
            }
            if self.over {
                let _ = ws.close(None).await;
                return Ok(());
            }
            let text = match ws.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ if self.makes("gives_up") && self.session.is_some() => return Err("the connection is lost".into()),
                _ => return Ok(()),
            };
            let message: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
            out = self.take(&message)?;
        }
    }

    fn request(&mut self, mut message: Value) -> Value {
        let id = if self.makes("same_id") { self.next } else { self.next + 1 };
        self.next = id;
        message["id"] = id.into();
        self.unanswered.insert(id, message.clone());
        message
    }

    /// Returns the messages with which the bot replies to a message of the server.
    fn take(&mut self, message: &Value) -> Result<Vec<Value>, String> {
        self.unanswered.remove(&message["re"].as_i64().unwrap_or(0));
        if let (Some(id), Some(seq)) = (message["match"].as_str(), message["seq"].as_u64()) {
            let event = message["type"] == "event" && !self.makes("takes_player_for_viewer");
            let seat = message[if event { "viewer" } else { "seat" }].as_i64().unwrap_or(0);
            let state = self.seats.entry((id.to_owned(), seat)).or_default();
            state.seen = state.seen.max(seq);
        }
        let known = ["move", "chance", "reveal", "say", "phase", "reward", "presence"];
        let strange = message["kind"].as_str().is_some_and(|kind| !known.contains(&kind));
        if self.makes("strict") && (strange || message.get("x_later").is_some()) {
            return Err("this is not known".into());
        }
        match message["type"].as_str().unwrap_or_default() {
            "welcome" => Ok(self.welcome(message)),
            "turn" => Ok(self.act(message)),
            "refused" => {
                if self.makes("stops_when_refused") {
                    return Ok(Vec::new());
                }
                let ignores = self.makes("ignores_try");
                let state = self.seats.entry(key_of(message)).or_default();
                let mut turn = state.turn.clone();
                if ignores {
                    state.acted = None;
                } else {
                    turn["try"] = message["try"].clone();
                }
                if !message["legal"].is_null() && !self.makes("stubborn") {
                    turn["legal"] = message["legal"].clone();
                }
                Ok(self.act(&turn))
            }
            "resync" if !message["end"].is_null() => Ok(self.end(message)),
            "resync" if self.makes("ignores_resync_turn") => Ok(Vec::new()),
            "resync" if !message["turn"].is_null() => Ok(self.act(&message["turn"])),
            "match_end" => Ok(self.end(message)),
            "run_end" => {
                self.over = true;
                Ok(Vec::new())
            }
            "error" => match message["code"].as_str() {
                Some("match_over") => Ok(Vec::new()),
                _ => Err(message.to_string()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Notes the end of a seat. Outside a run, the bot is done once all its seats have ended.
    fn end(&mut self, message: &Value) -> Vec<Value> {
        self.seats.entry(key_of(message)).or_default().ended = true;
        self.over = self.run.is_none() && self.seats.values().all(|seat| seat.ended);
        Vec::new()
    }

    fn welcome(&mut self, message: &Value) -> Vec<Value> {
        self.session = Some((message["session"].clone(), message["key"].clone()));
        if message["resumed"] != true {
            self.joined = message["matches"].as_array().is_some_and(|held| !held.is_empty());
            if !self.joined {
                self.seats.clear();
                self.unanswered.clear();
            }
        }
        let mut out = Vec::new();
        if self.makes("forgets_requests") || self.makes("moves_again") {
            self.unanswered.clear();
        }
        if self.makes("moves_again") {
            self.seats.values_mut().for_each(|seat| seat.acted = None);
        }
        out.extend(self.unanswered.values().cloned());
        if let Some((suite, run)) = self.run.clone().filter(|_| !self.makes("joins_a_run")) {
            let scale = if self.joined && self.makes("other_scale") { 0.5 } else { 1.0 };
            if !(self.joined && self.makes("enrols_once")) {
                out.push(self.request(json!({ "type": "enrol", "suite": suite, "run": run, "scale": scale })));
            }
        } else if !self.joined && !self.unanswered.values().any(|request| request["type"] == "join") {
            let game = std::env::var("LUDEX_GAME").unwrap_or_else(|_| "tic_tac_toe".into());
            out.push(self.request(json!({ "type": "join", "game": game, "against": ["random"] })));
        }
        self.joined = true;
        out
    }

    fn act(&mut self, turn: &Value) -> Vec<Value> {
        let key = (turn["turn"].as_i64().unwrap_or(0), turn["try"].as_i64().unwrap_or(0));
        let (id, seat) = key_of(turn);
        self.seats.entry((id.clone(), seat)).or_default().turn = turn.clone();
        let keeper = if self.makes("forgets_seat_of_act") { 0 } else { seat };
        let state = self.seats.entry((id, keeper)).or_default();
        if state.acted.replace(key) == Some(key) {
            return Vec::new();
        }
        let legal: Vec<i64> = turn["legal"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
        let mut choice = legal.first().copied().unwrap_or(0);
        if self.makes("moves_again") {
            // Chooses a different move on each connection.
            choice = legal[self.next as usize % legal.len().max(1)];
        }
        if self.makes("plays_nonsense") {
            choice = 99;
        }
        let mut act = json!({ "type": "act", "match": turn["match"], "seat": seat, "turn": key.0, "try": key.1 });
        if self.makes("names_no_seat") {
            act["seat"] = Value::Null;
        }
        if self.makes("acts_for_opponent") {
            act["seat"] = (seat + 1).into();
        }
        if turn["schema"] == "play" && !self.makes("ids_only") {
            // Action ids of free_style: six special actions, then 26 ids per cell, row by row.
            let cell = (choice - 6) / 26;
            let column = ["a", "b", "c", "d", "e"][cell.rem_euclid(5) as usize];
            act["document"] = json!({ "move": format!("{column}{}", cell / 5 + 1) });
        } else {
            act["action"] = choice.into();
        }
        let mut out = vec![self.request(act.clone())];
        if self.makes("acts_twice") {
            out.push(self.request(act));
        }
        if self.makes("bad_field") {
            out[0]["turn"] = "first".into();
        }
        out
    }
}
