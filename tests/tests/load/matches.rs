//! A hundred parallel matches of two hundred clients on one server; every record must verify.

use ludex_referee::Verifier;
use ludex_referee::read::read_lines;
use ludex_tests::{Bot, Server};
use serde_json::json;
use tokio::task::JoinSet;

const MATCHES: usize = 100;

#[tokio::test]
async fn parallel_matches_finish_and_verify() {
    let server = Server::start(|_| ()).await;
    let mut running = JoinSet::new();
    for k in 0..2 * MATCHES {
        let address = server.address;
        running.spawn(async move {
            let mut bot = Bot::new(address, &format!("bot-{k}")).await;
            let queue = format!("table-{}", k / 2);
            bot.join(json!({"game": "connect_four", "queue": queue, "rated": true})).await;
            bot.play(1, ludex_tests::bot::first).await;
            bot.only().0.to_owned()
        });
    }
    let mut matches: Vec<String> = running.join_all().await;
    matches.sort();
    matches.dedup();
    assert_eq!(matches.len(), MATCHES);
    let mut lines = String::new();
    for id in &matches {
        let (status, record) = server.get(&format!("/episodes/{id}")).await;
        assert_eq!(status, 200, "{record}");
        lines.push_str(&record);
        lines.push('\n');
    }
    let (good, refused) =
        Verifier::new(ludex_games::builtin()).verify_all(&read_lines("server", lines.as_bytes()).found);
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(good.len(), MATCHES);
    assert!(server.is_well().await);
}
