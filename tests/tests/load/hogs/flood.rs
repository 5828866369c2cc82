//! Floods of page requests: excess requests are refused, and concurrent rated matches finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ludex_env::Stream;
use ludex_tests::bot::first;
use ludex_tests::server::get;
use ludex_tests::{Bot, Process};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ludex-tests");
/// Number of clients of a flood.
const CLIENTS: usize = 16;
/// Number of rated matches played during a flood.
const MATCHES: usize = 4;

/// Replies to a flood, by status.
#[derive(Default)]
struct Replies {
    ok: AtomicUsize,
    refused: AtomicUsize,
    limited: AtomicUsize,
}

impl Replies {
    fn count(&self, status: u16) {
        let counter = match status {
            200 => &self.ok,
            400 => &self.refused,
            429 => &self.limited,
            other => panic!("unexpected status {other}"),
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Requests `paths` from many clients while a bot plays rated matches; returns the replies.
async fn flood(address: SocketAddr, paths: Vec<String>) -> Arc<Replies> {
    let (over, replies, paths) = (Arc::new(AtomicBool::new(false)), Arc::new(Replies::default()), Arc::new(paths));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (over, replies, paths) = (over.clone(), replies.clone(), paths.clone());
        clients.spawn(async move {
            for path in paths.iter().cycle().skip(client) {
                replies.count(get(address, path, "").await.0);
                if over.load(Ordering::Relaxed) && replies.limited.load(Ordering::Relaxed) > 0 {
                    return;
                }
            }
        });
    }
    let mut good = Bot::new(address, "good").await;
    good.join(json!({"game": "tic_tac_toe", "rated": true, "against": ["random"], "count": MATCHES})).await;
    good.play(MATCHES, first).await;
    assert!(good.matches.values().all(|seen| seen.end["reason"] == "finished"));
    over.store(true, Ordering::Relaxed);
    clients.join_all().await;
    replies
}

/// Returns picture URLs of free_style, each with a different rules document in its game string.
fn documents() -> Vec<String> {
    let mut random = Stream::from_text("flood");
    let start = ludex_games::load("free_style").expect("a game").start();
    let drawn = std::iter::repeat_with(|| start.sample(0, &mut random)).flatten();
    let rules = drawn.filter(|document| document["act"] == "propose").map(|document| document["rules"].clone());
    let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    let encode = |text: String| text.bytes().map(byte).collect::<String>();
    let path = |rules: Value| format!("/games/{}/picture.svg", encode(format!("free_style(rules={rules})")));
    // Longer heads are refused by the server in any case.
    rules.map(path).filter(|path| path.len() < 12_000).take(8).collect()
}

#[tokio::test]
async fn flood_of_document_urls_loses_no_match() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(PROGRAM, &folder.path().join("data"), &folder.path().join("log"), None, &[]);
    let replies = flood(server.address, documents()).await;
    assert_eq!(replies.ok.load(Ordering::Relaxed), 0, "a URL that contains a document was rendered");
    assert!(replies.refused.load(Ordering::Relaxed) > 0);
    server.has_not_panicked();
}

#[tokio::test]
async fn flood_of_page_requests_loses_no_match() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(PROGRAM, &folder.path().join("data"), &folder.path().join("log"), None, &[]);
    let paths =
        ["/games/mcr_mahjong/picture.svg", "/games/go(board_size=9)/picture.svg", "/ratings", "/matches?live=all"];
    let replies = flood(server.address, paths.map(str::to_owned).to_vec()).await;
    assert!(replies.ok.load(Ordering::Relaxed) > 0 && replies.refused.load(Ordering::Relaxed) == 0);
    server.has_not_panicked();
}
