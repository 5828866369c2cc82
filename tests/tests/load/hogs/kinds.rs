//! Kinds of misbehaving clients ("hogs"). Each uses its limits fully and exceeds them until its time is over, and
//! counts refusals.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_tests::Client;
use ludex_tests::server::get;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::long;
use super::sockets::{TEXT, frame};

/// Misbehaving client, given the server's address and an end time; returns the number of its refused requests.
pub type Hog = fn(SocketAddr, Instant) -> Pin<Box<dyn Future<Output = usize>>>;

/// All misbehaving clients, by name.
pub const HOGS: [(&str, Hog); 11] = [
    ("a flood of searches", |address, until| Box::pin(searches(address, until))),
    ("huge lists", |address, until| Box::pin(lists(address, until))),
    ("a thousand waiting joins", |address, until| Box::pin(joins(address, until))),
    ("connections before hello", |address, until| Box::pin(silent(address, until))),
    ("polling of /ratings", |address, until| Box::pin(pages(address, until, 4, (ratings(), ""), 200))),
    ("pictures of documents", |address, until| Box::pin(pages(address, until, 64, (documents_in_urls(), ""), 400))),
    ("readers of a live page", |address, until| Box::pin(live_page(address, until))),
    ("restore bombs", |address, until| Box::pin(bombs(address, until))),
    ("endless searches", |address, until| Box::pin(endless(address, until, long::searches, "open", search_of_all()))),
    ("judged documents", |address, until| Box::pin(endless(address, until, long::documents, "open", search_of_all()))),
    ("mirror matches", |address, until| Box::pin(endless(address, until, long::mirrors, "join", mirror_of_all()))),
];

/// Maximum time after its end that a hog waits for a refusal.
const PATIENCE: Duration = Duration::from_secs(60);

/// Time for which readers fetch the page of one match.
const PAGE: Duration = Duration::from_millis(500);

/// Returns true if the time is over and the hog was refused at least once; a busy machine may delay the refusal.
fn is_over(until: Instant, refused: usize) -> bool {
    Instant::now() >= if refused == 0 { until + PATIENCE } else { until }
}

/// Returns 1 if a reply is a refusal with this code, otherwise 0. Panics on refusals with other codes.
fn count_refusal(reply: &Value, code: &str) -> usize {
    assert!(reply["type"] != "error" || reply["code"] == code, "{reply}");
    usize::from(reply["type"] == "error")
}

/// Starts minutes of work, and sends requests beyond the limits until `until`; then disconnects, which ends the work.
async fn endless(
    address: SocketAddr,
    until: Instant,
    work: impl AsyncFn(SocketAddr) -> Vec<Client>,
    kind: &str,
    request: Value,
) -> usize {
    let hogs = work(address).await;
    let mut other = Client::greet(address, None, json!({"agent": {"name": "hog"}})).await;
    let mut count = 0;
    while !is_over(until, count) {
        count += count_refusal(&other.call(kind, request.clone()).await, "limit");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    hogs.into_iter().for_each(Client::cut);
    count
}

/// Returns an `open` request with more search than one request may use.
fn search_of_all() -> Value {
    let seats =
        ["ismcts sims=100000", "ismcts sims=100000", "ismcts sims=100000", "ismcts sims=100000", "random", "agent"];
    json!({"game": "texas_holdem(numPlayers=6,hands=1000)", "seats": seats})
}

/// Returns a `join` request with more matches against a search agent than one join may have.
fn mirror_of_all() -> Value {
    json!({"game": "gomoku", "rated": true, "slots": 256, "against": ["mcts sims=100000"]})
}

/// Runs clients of four owners that repeatedly reset environments, each with millions of search steps per reset.
async fn searches(address: SocketAddr, until: Instant) -> usize {
    let mut count = 0;
    let mut hogs = Vec::new();
    for _ in 0..4 {
        let mut hog = Client::hello(address).await;
        let open = |count: u32| json!({"game": "connect_four", "count": count, "seats": ["mcts sims=100000", "agent"], "views": []});
        count += count_refusal(&hog.call("open", open(16_384)).await, "limit");
        let env = hog.call("open", open(40)).await["env"].clone();
        let asked = hog.ask("reset", json!({"env": env})).await;
        hogs.push((hog, env, asked));
    }
    while !is_over(until, count) {
        for (hog, env, asked) in &mut hogs {
            if let Ok(batch) = tokio::time::timeout(Duration::from_millis(50), hog.reply(*asked)).await {
                assert_eq!(batch["type"], "batch", "{batch}");
                *asked = hog.ask("reset", json!({"env": env})).await;
            }
        }
    }
    hogs.into_iter().for_each(|(hog, ..)| hog.cut());
    count
}

/// Sends lists of the maximum length and lists that exceed it.
async fn lists(address: SocketAddr, until: Instant) -> usize {
    let mut count = 0;
    let mut hog = Client::greet(address, Some("ludex.v1.msgpack"), json!({})).await;
    let env = hog.call("open", json!({"game": "chess"})).await["env"].clone();
    hog.call("reset", json!({"env": env})).await;
    let view = |names: usize| json!({"env": env, "names": vec![5; names]});
    let (allowed, long, huge) = (view(1_024), view(1_025), view(1_000_000));
    let steps = json!({"env": env, "actions": vec![5; 4_000_000]});
    while !is_over(until, count) {
        for _ in 0..20 {
            assert_eq!(hog.call("view", allowed.clone()).await["type"], "viewed");
            count += count_refusal(&hog.call("view", long.clone()).await, "too_large");
        }
        count += count_refusal(&hog.call("view", huge.clone()).await, "too_large");
        let answer = hog.call("step", steps.clone()).await;
        assert_eq!(answer["type"], "error", "{answer}");
    }
    count
}

/// Runs five sessions that repeatedly send the maximum number of joins and leave them.
async fn joins(address: SocketAddr, until: Instant) -> usize {
    let mut count = 0;
    let mut hogs = Vec::new();
    for _ in 0..5 {
        hogs.push((Client::hello(address).await, Vec::new()));
    }
    let mut queue = 0;
    while Instant::now() < until {
        for (hog, held) in &mut hogs {
            queue += 1;
            let reply = hog.call("join", json!({"game": "chess", "queue": format!("q{queue}")})).await;
            match count_refusal(&reply, "limit") {
                0 => held.push(reply["join"].clone()),
                _ => {
                    count += 1;
                    let join = held.swap_remove(queue % held.len());
                    assert_eq!(hog.call("leave", json!({"join": join})).await["type"], "ok");
                }
            }
        }
    }
    // The time may have been too short for all joins.
    for (hog, held) in &mut hogs {
        while held.len() < 256 {
            queue += 1;
            held.push(hog.call("join", json!({"game": "chess", "queue": format!("q{queue}")})).await["join"].clone());
        }
        count += count_refusal(&hog.call("join", json!({"game": "chess"})).await, "limit");
    }
    count
}

/// Opens connections that send as much as is allowed before `hello`, and connections that send more.
async fn silent(address: SocketAddr, until: Instant) -> usize {
    let mut count = 0;
    let mut held = Vec::new();
    let piece = frame(TEXT, &[b' '; 60_000]);
    while !is_over(until, count) {
        // While the address has too many connections, a new connection is closed before its upgrade.
        match Client::open(address, None, &[]).await {
            Ok(mut c) => {
                let _ = c.socket().write_all(&piece).await;
                if held.len() % 8 == 7 {
                    let _ = c.socket().write_all(&piece).await;
                }
                held.push(c);
            }
            Err(_) => {
                count += 1;
                held.drain(..held.len().min(8));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
    count
}

/// Returns the paths of all ratings and of one game's ratings.
fn ratings() -> Vec<String> {
    ["/ratings", "/ratings?game=connect_four"].map(str::to_owned).to_vec()
}

/// Returns picture URLs of free_style, each with a different rules document in its game string.
fn documents_in_urls() -> Vec<String> {
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

/// Fetches pages with many clients, each page in turn. `accept` is a header line, and `status` the expected status of
/// requests within the limit. Counts all replies, since clients on a busy machine may not reach the limit.
async fn pages(
    address: SocketAddr,
    until: Instant,
    clients: usize,
    (paths, accept): (Vec<String>, &str),
    status: u16,
) -> usize {
    let fetch = async |client: usize| {
        let mut count = 0;
        for path in paths.iter().cycle().skip(client) {
            if is_over(until, count) {
                break;
            }
            let got = get(address, path, accept).await.0;
            assert!(got == status || got == 429, "{path}: {got}");
            count += 1;
        }
        count
    };
    futures_util::future::join_all((0..clients).map(fetch)).await.into_iter().sum()
}

/// Fetches the page of a running match with 24 clients. When the match has ended, fetches the page of another.
async fn live_page(address: SocketAddr, until: Instant) -> usize {
    let mut count = 0;
    while !is_over(until, count) {
        let list: Value = serde_json::from_str(&get(address, "/matches?live=true", "").await.1).unwrap_or_default();
        let Some(id) = list["matches"][0]["match"].as_str() else { continue };
        let (page, end) = ((vec![format!("/matches/{id}")], "Accept: text/html\r\n"), Instant::now() + PAGE);
        count += pages(address, until.min(end), 24, page, 200).await;
    }
    count
}

/// Restores snapshots that are longer than any episode, and as many long snapshots as a handle accepts.
async fn bombs(address: SocketAddr, until: Instant) -> usize {
    const ROWS: usize = 500;
    let mut count = 0;
    let mut hog = Client::hello(address).await;
    let env = hog.call("open", json!({"game": "chess", "views": ["returns"]})).await["env"].clone();
    hog.call("reset", json!({"env": env})).await;
    // Knights move out and back.
    for text in ["Nf3", "Nf6", "Ng1", "Ng8"].iter().cycle().take(300) {
        hog.call("step", json!({"env": env, "moves": [text]})).await;
    }
    let items = hog.call("snapshot", json!({"env": env})).await["items"].clone();
    let wide = hog.call("open", json!({"game": "chess", "count": ROWS, "views": ["returns"]})).await["env"].clone();
    let small = hog.call("open", json!({"game": "tic_tac_toe", "count": 2})).await["env"].clone();
    let bad = json!({"env": small, "items": ["A".repeat(4 << 20), "A".repeat(4 << 20)]});
    let many = json!({"env": wide, "items": vec![items[0].clone(); ROWS]});
    while !is_over(until, count) {
        count += count_refusal(&hog.call("restore", bad.clone()).await, "bad_snapshot");
        let batch = hog.call("restore", many.clone()).await;
        assert_eq!(batch["type"], "batch", "{batch}");
    }
    count
}
