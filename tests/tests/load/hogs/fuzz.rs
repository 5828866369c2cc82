//! Mutated valid messages in both encodings on real connections. Every request must be answered or its connection
//! closed, no server thread may panic, and a well-behaved client must be able to play afterwards.
//!
//! A case is one frame. A script is a series of [`CASES`] frames on several connections, all derived from one seed.
//! `LUDEX_TEST_SCALE` multiplies the number of scripts, `LUDEX_FUZZ_SEED` sets the first seed (default 1), and
//! `LUDEX_FUZZ_ONLY` plays the script of one seed, as named by a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ludex_env::{Stream, check};
use ludex_protocol::ClientMessage;
use ludex_protocol::error::close;
use ludex_tests::bot::first;
use ludex_tests::client::{ClientEnd, read};
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use super::mutate::{self, often, one};
use super::node::Node;
use super::sockets::{CONTINUED, FIN, PING, TEXT, frame, strikes, subprotocol};

/// Number of cases per script.
const CASES: usize = 100;
/// Number of scripts at scale 1, which gives 100,000 cases.
const SCRIPTS: u64 = 1_000;
/// Number of scripts that run at the same time.
const AT_ONCE: usize = 4;
/// Number of frames sent before their replies are read.
const BURST: usize = 25;
/// Time limit for a reply.
const PATIENCE: Duration = Duration::from_secs(12);

/// Number of panics on server threads.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Number of replies by type of the request and type of the reply; for errors, the code replaces the type.
type Tally = BTreeMap<(String, String), u64>;

#[tokio::test]
async fn mutated_messages_never_crash_the_server() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.starts_with("worker-") || name == "compute") {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        usual(info);
    }));
    let server = Server::start(|config| {
        // Limits are low, so that cases are short and limits are reached.
        let limits = &mut config.limits;
        (limits.batch, limits.search, limits.matches, limits.joins, limits.grace_ms) = (64, 10_000, 6, 6, 300);
    })
    .await;
    let seed = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match seed("LUDEX_FUZZ_ONLY") {
        Some(only) => only..only + 1,
        None => {
            let first = seed("LUDEX_FUZZ_SEED").unwrap_or(1);
            first..first + check::scaled(SCRIPTS)
        }
    };
    println!("seeds {seeds:?}, {CASES} cases each");
    let (templates, games, next) = (Arc::new(templates()), Arc::new(games()), Arc::new(AtomicU64::new(seeds.start)));
    let mut running = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (templates, games, next, end) = (templates.clone(), games.clone(), next.clone(), seeds.end);
        let address = server.address;
        running.spawn(async move {
            let mut tally = Tally::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return tally;
                }
                let _reporter = SeedReporter(seed);
                let random = Stream::from_text(&format!("fuzz {seed}"));
                let packed = seed % 2 == 0;
                let live = Live::default();
                let mut script = Script {
                    random,
                    packed,
                    templates: &templates,
                    games: &games,
                    live,
                    tally: &mut tally,
                    left: CASES,
                    id: 1,
                };
                script.play(address).await;
            }
        });
    }
    let mut tally = Tally::new();
    // A failed script reports its seed; the other scripts continue.
    let mut failed = 0;
    while let Some(done) = running.join_next().await {
        failed += usize::from(done.is_err());
        for (what, count) in done.into_iter().flatten() {
            *tally.entry(what).or_default() += count;
        }
    }
    for ((asked, answered), count) in &tally {
        println!("{count:>7} {asked:<12} {answered}");
    }
    assert_eq!(failed, 0, "scripts failed, see above");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "panics on the server's threads");
    if seeds.end - seeds.start >= 100 {
        // Each type of request must have been executed at least once and refused at least once.
        for kind in ClientMessage::TYPES.iter().filter(|kind| !matches!(**kind, "hello" | "pong" | "ack")) {
            let answers: Vec<&str> = tally.keys().filter(|(asked, _)| asked == kind).map(|(_, a)| a.as_str()).collect();
            assert!(answers.iter().any(|a| a.starts_with("error")), "{kind} was never refused: {answers:?}");
            assert!(answers.iter().any(|a| !a.starts_with("error")), "{kind} was never carried out: {answers:?}");
        }
    }

    let mut good = Bot::new(server.address, "good").await;
    good.join(json!({"game": "tic_tac_toe", "against": ["random"], "rated": true, "count": 2})).await;
    good.play(2, first).await;
    let env = good.call("open", json!({"game": "chess"})).await["env"].clone();
    assert_eq!(good.call("reset", json!({"env": env})).await["type"], "batch");
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

/// Prints the seed of a script that panics.
struct SeedReporter(u64);

impl Drop for SeedReporter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("this was the script of seed {0}: LUDEX_FUZZ_ONLY={0} plays it again", self.0);
        }
    }
}

/// Returns the golden frames: every message of clients and servers.
fn templates() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/frames/frames.jsonl");
    let text = std::fs::read_to_string(path).expect("the golden frames");
    let frames: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: BTreeSet<&str> =
        frames.iter().filter(|f| f["from"] == "client").filter_map(|f| f["json"]["type"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(ClientMessage::TYPES), "expected a template per message");
    // Client messages are chosen more often than server messages, which have a type that servers reject.
    let weight = |f: &Value| if f["from"] == "client" { 8 } else { 1 };
    frames.iter().flat_map(|f| vec![f["json"].clone(); weight(f)]).collect()
}

/// Returns all games with the names of their parameters.
fn games() -> Vec<(String, Vec<String>)> {
    let about = |game: &ludex_env::GameRef| {
        let properties = game.spec().params_schema["properties"].as_object();
        (game.spec().game.clone(), properties.map(|p| p.keys().cloned().collect()).unwrap_or_default())
    };
    let games = ludex_games::builtin();
    games.iter().map(|entry| about(&games.load(entry.info.id).expect("a game"))).collect()
}

/// Ids from the server's messages, so that requests can refer to existing objects.
#[derive(Default)]
struct Live {
    envs: Vec<Value>,
    items: Vec<Vec<u8>>,
    joins: Vec<Value>,
    /// Match id and turn number of pending turns.
    turns: Vec<(Value, Value)>,
    session: Value,
    key: Value,
}

impl Live {
    fn note(&mut self, message: &Value) {
        let most = |list: &mut Vec<Value>, value: &Value| {
            list.push(value.clone());
            if list.len() > 4 {
                list.remove(0);
            }
        };
        match message["type"].as_str().unwrap_or_default() {
            "opened" => most(&mut self.envs, &message["env"]),
            "joined" => most(&mut self.joins, &message["join"]),
            "snapshots" => {
                let items = message["items"].as_array().into_iter().flatten();
                items.take(2).filter_map(snapshot).for_each(|item| self.items.push(item));
                self.items.drain(..self.items.len().saturating_sub(4));
            }
            "turn" => {
                self.turns.push((message["match"].clone(), message["turn"].clone()));
                if self.turns.len() > 4 {
                    self.turns.remove(0);
                }
            }
            "welcome" => (self.session, self.key) = (message["session"].clone(), message["key"].clone()),
            _ => {}
        }
    }
}

struct Script<'a> {
    random: Stream,
    packed: bool,
    templates: &'a [Value],
    games: &'a [(String, Vec<String>)],
    live: Live,
    tally: &'a mut Tally,
    /// Number of remaining cases.
    left: usize,
    /// Last request id; ids continue in a resumed session.
    id: i64,
}

impl Script<'_> {
    /// Opens one connection after another until all cases are sent.
    async fn play(&mut self, address: std::net::SocketAddr) {
        while self.left > 0 {
            let mut c = Client::open(address, subprotocol(self.packed), &[]).await.expect("an upgrade");
            let strange = often(&mut self.random, 30);
            let hello = if strange { self.request(1, often_hello).0 } else { self.hello() };
            self.left -= usize::from(strange);
            self.send(&mut c, &frame(FIN | self.own(), &hello)).await;
            match c.next_frame().await.map(|f| (read(&f), f)) {
                Ok((Some(message), _)) if message["type"] == "welcome" => {
                    self.live.note(&message);
                    self.converse(&mut c).await;
                    match self.random.below(3) {
                        0 => c.cut(),
                        1 => self.send(&mut c, &frame(FIN | 8, &[3, 232])).await,
                        _ => drop(c),
                    }
                }
                Ok((Some(message), _)) if strange => {
                    assert_eq!(message["type"], "error", "{message}");
                    self.count("first", &message);
                    self.closes(&mut c).await;
                }
                // The first frame was invalid, for example too long.
                Ok((None, Message::Close(Some(with)))) if strange => check_code(with.code.into()),
                other => panic!("strange {strange}: {other:?}"),
            }
        }
    }

    fn id(&mut self) -> i64 {
        self.id += 1;
        self.id
    }

    fn own(&self) -> u8 {
        if self.packed { 2 } else { TEXT }
    }

    /// Returns a valid `hello`, which often resumes the previous session.
    fn hello(&mut self) -> Vec<u8> {
        let mut hello = json!({"protocol": [1], "client": "fuzz/0", "agent": {"name": "fuzz"}});
        if !self.live.key.is_null() && often(&mut self.random, 50) {
            hello["resume"] = json!({"session": self.live.session, "key": self.live.key, "seen": {"m_none": 3}});
        } else {
            self.live = Live::default();
        }
        headed("hello", 1, &hello).payload(self.packed)
    }

    /// Sends cases until none is left or one of them ends the connection.
    async fn converse(&mut self, c: &mut Client) {
        for kind in ["open", "reset", "snapshot", "join"] {
            let id = self.id();
            let game = one(&mut self.random, self.games).0.clone();
            let fields = match kind {
                "open" => json!({"game": game, "count": 2}),
                "join" => json!({"game": game, "against": ["random"], "count": 0}),
                _ => json!({"env": self.live.envs.last()}),
            };
            let message = headed(kind, id, &fields).payload(self.packed);
            self.send(c, &frame(FIN | self.own(), &message)).await;
            if !self.answers(c, &BTreeMap::from([(id, kind.to_owned())])).await {
                return;
            }
        }
        while self.left > 0 {
            let (mut bytes, mut asked) = (Vec::new(), BTreeMap::new());
            for _ in 0..BURST.min(self.left) {
                self.left -= 1;
                if often(&mut self.random, 1) {
                    let (name, strike, codes) = one(&mut self.random, &strikes(self.packed)).clone();
                    bytes.extend(strike);
                    self.send(c, &bytes).await;
                    let ended = super::sockets::end(c).await;
                    // An earlier frame may already have exceeded a limit.
                    let fits = matches!(&ended, ClientEnd::Closed(code, _) if codes.contains(code) || *code == 4000);
                    assert!(fits, "{name}: {ended:?}");
                    *self.tally.entry(("a bad frame".into(), format!("{ended:?}"))).or_default() += 1;
                    return;
                }
                // Occasionally an id is reused.
                let id = if often(&mut self.random, 98) { self.id() } else { self.id };
                let (payload, kind) = self.request(id, |_| None);
                match kind {
                    Some(kind) => drop(asked.insert(id, kind)),
                    // The reply cannot be predicted.
                    None => drop(asked.remove(&id)),
                }
                self.frames(&payload, &mut bytes);
            }
            let id = self.id();
            let ping = headed("ping", id, &json!({})).payload(self.packed);
            bytes.extend(frame(FIN | self.own(), &ping));
            asked.insert(id, "ping".to_owned());
            self.send(c, &bytes).await;
            if !self.answers(c, &asked).await {
                return;
            }
        }
    }

    /// Returns a mutated message, and its type if the server must answer its `id`.
    fn request(&mut self, id: i64, choose: fn(&mut Stream) -> Option<&'static str>) -> (Vec<u8>, Option<String>) {
        let chosen = choose(&mut self.random);
        let template = loop {
            let template = one(&mut self.random, self.templates);
            if chosen.is_none_or(|kind| template["type"] == kind) {
                break template;
            }
        };
        let kind = template["type"].as_str().expect("a type").to_owned();
        let mut fields = template.clone();
        self.revive(&mut fields);
        let mut message = headed(&kind, id, &fields);
        if self.packed {
            self.pack(&mut message);
        }
        let mut good = !matches!(kind.as_str(), "pong" | "ack");
        for _ in 0..self.random.below(3) {
            good &= mutate::message(&mut self.random, &mut message, self.templates);
        }
        let mut payload = message.payload(self.packed);
        if often(&mut self.random, 8) {
            mutate::bytes(&mut self.random, &mut payload);
            if !self.packed {
                // The WebSocket layer handles invalid UTF-8, and the module `sockets` tests it.
                payload = String::from_utf8_lossy(&payload).into_owned().into_bytes();
            }
            good = false;
        }
        (payload, good.then_some(kind))
    }

    /// Replaces ids in the template by ids of existing objects.
    fn revive(&mut self, fields: &mut Value) {
        let (random, live) = (&mut self.random, &self.live);
        let (game, params) = one(random, self.games);
        let any = |random: &mut Stream, list: &[Value]| (!list.is_empty()).then(|| one(random, list).clone());
        let turn = (!live.turns.is_empty()).then(|| one(random, &live.turns).clone());
        for (key, value) in fields.as_object_mut().expect("a message") {
            let new = match key.as_str() {
                "env" => any(random, &live.envs),
                "join" => any(random, &live.joins),
                "match" => turn.clone().map(|(id, _)| id),
                "turn" => turn.clone().map(|(_, turn)| turn),
                "items" if !live.items.is_empty() => {
                    let mut item = one(random, &live.items).clone();
                    if often(random, 60) {
                        mutate::bytes(random, &mut item);
                    }
                    Some(json!([STANDARD.encode(item)]))
                }
                "game" if value.is_string() => Some(json!(game)),
                "params" => Some(match params.is_empty() || often(random, 60) {
                    true => json!({}),
                    false => json!({one(random, params): *one(random, &[0, 1, 2, 3, 9, 1_000_000])}),
                }),
                "seats" => Some(json!([*one(random, &["agent", "random", "mcts sims=5", "anchor level=1"]), "agent"])),
                "against" => Some(json!([*one(random, &["random", "mcts sims=5", "anchor level=1", "greedy"])])),
                "envs" if value.is_array() => Some(json!([random.below(3)])),
                "actions" => Some(json!([random.below(9), random.below(9)])),
                "session" => Some(live.session.clone()),
                "key" => Some(live.key.clone()),
                "layout" => Some(json!("default")),
                _ => None,
            };
            if let Some(new) = new.filter(|_| often(random, 85)) {
                *value = new;
            }
        }
    }

    /// Converts snapshots, and sometimes actions, to bytes, as in MessagePack.
    fn pack(&mut self, message: &mut Node) {
        let Node::Map(entries) = message else { return };
        for (key, node) in entries {
            let Node::Plain(Value::String(key)) = key else { continue };
            match (key.as_str(), &mut *node) {
                ("items", Node::List(items)) => {
                    for item in items {
                        if let Node::Plain(Value::String(text)) = &item
                            && let Ok(bytes) = STANDARD.decode(text)
                        {
                            *item = Node::Bytes(bytes);
                        }
                    }
                }
                ("actions", node) if often(&mut self.random, 50) => {
                    *node = Node::Bytes([&[self.random.below(9) as u8, 0, 0, 0][..]; 2].concat());
                }
                _ => {}
            }
        }
    }

    /// Splits a payload into one frame, or into fragments with pings between them.
    fn frames(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        if often(&mut self.random, 95) || payload.is_empty() {
            return out.extend(frame(FIN | self.own(), payload));
        }
        let size = payload.len().div_ceil(1 + self.random.below(4));
        let pieces: Vec<&[u8]> = payload.chunks(size).collect();
        for (at, piece) in pieces.iter().enumerate() {
            let kind = if at == 0 { self.own() } else { CONTINUED };
            let last = if at + 1 == pieces.len() { FIN } else { 0 };
            out.extend(frame(kind | last, piece));
            if last == 0 {
                out.extend(frame(FIN | PING, &piece[..piece.len().min(125)]));
            }
        }
    }

    async fn send(&mut self, c: &mut Client, bytes: &[u8]) {
        // A connection that was closed meanwhile is detected at the next read.
        let _ = c.socket().write_all(bytes).await;
    }

    /// Reads until all requests have replies. Returns false if the server closed the connection.
    async fn answers(&mut self, c: &mut Client, asked: &BTreeMap<i64, String>) -> bool {
        let mut open = asked.clone();
        while !open.is_empty() {
            let Ok(next) = tokio::time::timeout(PATIENCE, c.next_frame()).await else {
                panic!("no answer to {open:?}");
            };
            match next {
                Ok(Message::Close(Some(with))) => {
                    check_code(with.code.into());
                    let what = ("a burst".to_owned(), format!("closed {}", u16::from(with.code)));
                    *self.tally.entry(what).or_default() += 1;
                    return false;
                }
                Ok(frame) => {
                    let message = read(&frame).expect("a message");
                    assert_ne!(message["code"], "internal", "{message}");
                    self.live.note(&message);
                    let id = message["re"].as_i64();
                    let kind = id.and_then(|id| asked.get(&id)).map(String::as_str);
                    if id.is_some_and(|id| open.remove(&id).is_some()) || message["type"] == "error" {
                        self.count(kind.unwrap_or("broken"), &message);
                    }
                }
                Err(error) => panic!("{error} before answers to {open:?}"),
            }
        }
        true
    }

    async fn closes(&mut self, c: &mut Client) {
        match super::sockets::end(c).await {
            ClientEnd::Closed(code, _) => check_code(code),
            ClientEnd::Lost => panic!("no close"),
        }
    }

    fn count(&mut self, asked: &str, answer: &Value) {
        let mut how = answer["type"].as_str().expect("a type").to_owned();
        if how == "error" {
            how = format!("error {}", answer["code"].as_str().expect("a code"));
        }
        *self.tally.entry((asked.to_owned(), how)).or_default() += 1;
    }
}

/// Decodes a snapshot: base64 text, or the list of numbers to which the tests' client converts binary values.
fn snapshot(item: &Value) -> Option<Vec<u8>> {
    match item {
        Value::String(text) => STANDARD.decode(text).ok(),
        list => list.as_array()?.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect(),
    }
}

/// Chooses the type `hello` often, otherwise any type.
fn often_hello(random: &mut Stream) -> Option<&'static str> {
    often(random, 70).then_some("hello")
}

/// Builds a message whose first fields are `type` and `id`.
fn headed(kind: &str, id: i64, fields: &Value) -> Node {
    let mut entries = vec![(Node::text("type"), Node::text(kind)), (Node::text("id"), Node::Plain(id.into()))];
    let rest = fields.as_object().expect("a message").iter().filter(|(key, _)| !matches!(key.as_str(), "type" | "id"));
    entries.extend(rest.map(|(key, value)| (Node::text(key), value.into())));
    Node::Map(entries)
}

/// Checks that a close code is listed in the protocol or defined by RFC 6455.
fn check_code(code: u16) {
    assert!(code == 1002 || close::of(code).is_some(), "closed with {code}");
}
