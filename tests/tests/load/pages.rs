//! Pages of a server with many stored matches: lists are paginated, and page sizes do not depend on the size of the
//! store.
//!
//! `LUDEX_LOAD_STORED=100000` sets the number of matches [400]. The time of each page is printed; with
//! `LUDEX_LOAD_PAGE_MS=50`, a page whose median time is longer fails the test. `LUDEX_BIN` names the program to test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use ludex_store::{Store, Write};
use ludex_tests::bot::first;
use ludex_tests::server::get;
use ludex_tests::{Bot, Process, Server};
use serde_json::{Value, json};

use crate::{program, quantile, size_from_env};

const BROWSER: &str = "Accept: text/html\r\n";
/// Names of the agents in the store.
const AGENTS: [&str; 3] = ["ann", "bob", "eve"];
const GAMES: [&str; 3] = ["tic_tac_toe", "connect_four", "kuhn_poker"];
/// Number of matches that each agent plays in each game; all other matches in the store are copies.
const PLAYED: usize = 4;
/// Maximum size in bytes of a page that lists matches, for any number of matches.
const PAGE_BYTES: usize = 300_000;

/// Fills a store with rated matches. Copies have unique names and the records of their originals.
async fn store_of(matches: usize, data: &Path) {
    let server = Server::start_in(data, |_| {}).await;
    let mut ids = Vec::new();
    for name in AGENTS {
        let mut bot = Bot::new(server.address, name).await;
        for (k, game) in GAMES.iter().enumerate() {
            bot.join(json!({"game": game, "rated": true, "count": PLAYED, "against": ["random"]})).await;
            bot.play((k + 1) * PLAYED, first).await;
        }
        ids.extend(bot.matches.into_keys());
    }
    server.stop().stopped().await;
    let store = Store::open(data).await.unwrap();
    let mut played = Vec::new();
    for id in &ids {
        played.push(store.episode(id).await.unwrap().expect("a match that was played"));
    }
    for from in (ids.len()..matches).step_by(500) {
        let one = |n: usize| {
            let kept = &played[n % played.len()];
            let (mut row, id) = (kept.row.clone(), format!("m_copy_{n}"));
            row.header = row.header.replace(&kept.row.id, &id);
            row.id.clone_from(&id);
            let end = kept.end.clone().expect("a match that is over");
            let ended = Write::MatchEnd { id: id.clone(), acts: kept.acts.clone(), end };
            [Write::MatchStart(row), ended, Write::Released { ids: vec![id] }]
        };
        store.write_behind((from..matches.min(from + 500)).flat_map(one).collect()).await.unwrap();
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn list_pages_stay_small_with_many_matches() {
    let stored = size_from_env("LUDEX_LOAD_STORED", 400);
    let (bound, times) = (std::env::var("LUDEX_LOAD_PAGE_MS").ok(), if stored > 10_000 { 20 } else { 1 });
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    store_of(stored, &data).await;
    let more = ["--ladder", "tic_tac_toe", "--limit", "pages_per_s=0"];
    let server = Process::start(&program(), &data, &folder.path().join("log"), None, &more);
    let address = server.address;

    // Each match is on exactly one page of the list, newest first.
    let (mut seen, mut before) = (BTreeSet::new(), None);
    for pages in 0.. {
        let from = before.map_or_else(String::new, |before| format!("&before={before}"));
        let list: Value =
            serde_json::from_str(&get(address, &format!("/matches?live=false&limit=100{from}"), "").await.1).unwrap();
        let lines = list["matches"].as_array().unwrap();
        assert!(lines.len() <= 100);
        seen.extend(lines.iter().map(|line| line["match"].as_str().unwrap().to_owned()));
        before = list["next"].as_u64();
        // In a very large store, only the first pages are checked.
        if before.is_none() || pages == 10 {
            assert_eq!(seen.len(), stored.min((pages + 1) * 100));
            break;
        }
    }
    let last = format!("m_copy_{}", stored - 1);
    let page = |path: &str| (path.to_owned(), BROWSER);
    let asked = [
        page("/"),
        page("/games/tic_tac_toe"),
        page("/games/chess"),
        page("/matches"),
        page("/matches?game=tic_tac_toe"),
        page("/matches?game=chess"),
        page("/matches?agent=random"),
        page("/matches?agent=random&game=chess"),
        page("/matches?agent=ann&rated=no"),
        page("/matches?live=yes"),
        page("/matches?live=yes&game=tic_tac_toe"),
        page("/matches?live=yes&agent=random"),
        page("/matches?rated=no"),
        page("/matches?rated=no&game=tic_tac_toe"),
        page(&format!("/matches?before={}", stored / 2)),
        page(&format!("/matches/{last}")),
        page("/agents/ann"),
        page("/agents/random"),
        page("/runs"),
        page("/ladders"),
        page("/ladders/tic_tac_toe"),
        (format!("/episodes/{last}"), ""),
        ("/matches?live=all&limit=50".to_owned(), ""),
        ("/matches?live=all&limit=500".to_owned(), ""),
        ("/ratings?game=tic_tac_toe".to_owned(), ""),
        ("/ratings".to_owned(), ""),
        ("/games".to_owned(), ""),
        ("/health".to_owned(), ""),
        // The page is fetched again after the ratings were computed.
        page("/games/tic_tac_toe"),
        page("/agents/ann"),
    ];
    let mut slow = BTreeMap::new();
    for (path, headers) in asked {
        let (mut took, mut bytes) = (Vec::new(), 0);
        for _ in 0..times {
            let from = Instant::now();
            let (status, body) = get(address, &path, headers).await;
            took.push(from.elapsed().as_secs_f64() * 1e3);
            assert_eq!(status, 200, "{path}: {body}");
            bytes = body.len();
        }
        assert!(
            bytes < PAGE_BYTES || path.starts_with("/ratings") || path.contains("limit=500"),
            "{path}: {bytes} bytes"
        );
        let first = took[0];
        took.sort_unstable_by(f64::total_cmp);
        let half = quantile(&took, 0.5);
        let kind = if headers.is_empty() { "JSON" } else { "page" };
        println!(
            "{kind} {path:<40} {bytes:>8} bytes, first {first:8.1} ms, p50 {half:7.1} ms, longest {:8.1} ms",
            quantile(&took, 1.0)
        );
        if bound.as_ref().is_some_and(|bound| half > bound.parse().expect("milliseconds")) {
            slow.insert(path, half);
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
    let ratings: Value = serde_json::from_str(&get(address, "/ratings", "").await.1).unwrap();
    assert_eq!((&ratings["records"], &ratings["refused"]), (&json!(stored), &json!(0)));
    server.has_not_panicked();
}
