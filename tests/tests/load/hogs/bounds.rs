//! Requests beyond a client's limits are refused immediately, and other clients are served normally.

use ludex_tests::bot::first;
use ludex_tests::client::ClientEnd;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

fn code(answer: &Value) -> (&str, &str, &Value) {
    (answer["type"].as_str().unwrap_or_default(), answer["code"].as_str().unwrap_or_default(), &answer["allowed"])
}

#[tokio::test]
async fn search_quota_is_enforced_and_compute_is_shared_by_owners() {
    let server = Server::start(|config| {
        config.workers = 1;
        config.limits.grace_ms = 200;
    })
    .await;
    let mut hog = Client::hello(server.address).await;
    let seats = json!(["mcts sims=100000", "agent"]);
    let open = json!({"game": "connect_four", "count": 16_384, "seats": seats, "views": []});
    assert_eq!(code(&hog.call("open", open).await), ("error", "limit", &json!(100_000_000)));
    let join = json!({"game": "gomoku", "against": ["mcts sims=100000"], "slots": 256});
    assert_eq!(code(&hog.call("join", join).await), ("error", "limit", &json!(100_000_000)));

    // Uses the whole quota, on a server with one compute thread.
    for _ in 0..4 {
        let open = json!({"game": "connect_four", "count": 40, "seats": seats, "views": []});
        let env = hog.call("open", open).await["env"].clone();
        hog.ask("reset", json!({"env": env})).await;
    }
    let mut good = Bot::new(server.address, "good").await;
    good.join(json!({"game": "tic_tac_toe", "against": ["mcts sims=50"], "count": 3})).await;
    good.play(3, first).await;
    let mut gym = Client::hello(server.address).await;
    let opened =
        gym.call("open", json!({"game": "connect_four", "count": 2, "seats": ["mcts sims=10", "agent"]})).await;
    assert_eq!(gym.call("reset", json!({"env": opened["env"]})).await["type"], "batch");
    // The 160 searches are not finished: the well-behaved clients did not wait for them.
    assert_eq!(hog.call("ping", json!({})).await["type"], "pong");
    hog.cut();
    server.stop().stopped().await;
}

#[tokio::test]
async fn oversized_lists_texts_and_views_are_refused() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::greet(server.address, Some("ludex.v1.json"), json!({})).await;
    let env = c.call("open", json!({"game": "chess"})).await["env"].clone();
    c.call("reset", json!({"env": env})).await;
    let long = c.call("view", json!({"env": env, "names": vec![5; 1_025]})).await;
    assert_eq!((code(&long), &long["path"]), (("error", "too_large", &json!(1_024)), &json!("names")));
    let huge = c.call("view", json!({"env": env, "names": vec![5; 1_000_000]})).await;
    assert_eq!(code(&huge), ("error", "too_large", &json!(524_288)));
    let twice = c.call("view", json!({"env": env, "views": ["struct", "struct"]})).await;
    assert_eq!((code(&twice).1, &twice["index"]), ("bad_field", &json!(1)));
    let allowed = c.call("view", json!({"env": env, "names": vec![5; 1_024], "views": ["struct", "text"]})).await;
    assert_eq!(allowed["names"].as_array().map(Vec::len), Some(1_024), "{allowed}");

    // An oversized snapshot is not decoded, and neither are the items after the first invalid item.
    let items = c.call("snapshot", json!({"env": env})).await["items"].clone();
    let wide = c.call("open", json!({"game": "tic_tac_toe", "count": 2})).await["env"].clone();
    let bad = c.call("restore", json!({"env": wide, "items": ["A".repeat(4 << 20), items[0]]})).await;
    assert_eq!((code(&bad).1, &bad["index"]), ("bad_snapshot", &json!(0)));
    server.stop().stopped().await;
}

#[tokio::test]
async fn join_and_environment_limits_apply_until_release() {
    let server = Server::start(|config| {
        config.limits.joins = 3;
        config.limits.owner_envs = 10;
        config.limits.owner_matches = 20;
    })
    .await;
    let mut c = Client::greet(server.address, None, json!({"agent": {"name": "hog"}})).await;
    let join = |queue: u32, slots: u32| json!({"game": "chess", "queue": format!("q{queue}"), "slots": slots});
    let one = c.call("join", join(1, 8)).await;
    assert_eq!(one["type"], "joined", "{one}");
    assert_eq!(c.call("join", join(2, 8)).await["type"], "joined");
    assert_eq!(code(&c.call("join", join(3, 8)).await), ("error", "limit", &json!(4)), "24 of 20 matches");
    assert_eq!(c.call("join", join(3, 4)).await["type"], "joined");
    assert_eq!(code(&c.call("join", join(4, 0)).await).1, "limit");
    assert_eq!(code(&c.call("join", join(4, 1)).await), ("error", "limit", &json!(3)), "the fourth join");
    assert_eq!(c.call("leave", json!({"join": one["join"]})).await["type"], "ok");
    assert_eq!(c.call("join", join(4, 8)).await["type"], "joined");

    let open = |count: u32| json!({"game": "tic_tac_toe", "count": count});
    let six = c.call("open", open(6)).await["env"].clone();
    assert_eq!(code(&c.call("open", open(5)).await), ("error", "limit", &json!(4)));
    c.call("reset", json!({"env": six})).await;
    assert_eq!(code(&c.call("clone", json!({"env": six})).await), ("error", "limit", &json!(4)));
    assert_eq!(c.call("close", json!({"env": six})).await["type"], "ok");
    assert_eq!(c.call("open", open(10)).await["type"], "opened");
    let (_, metrics) = server.get("/metrics").await;
    assert!(metrics.contains("ludex_compute_queued"), "{metrics}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn input_before_hello_and_connection_count_are_limited() {
    let server = Server::start(|config| config.limits.address_connections = 2).await;
    let mut c = Client::mute(server.address).await;
    let hello = json!({"type": "hello", "id": 1, "protocol": [1], "agent": {"name": "x".repeat(70_000)}});
    let _ = c.frame(Message::text(hello.to_string())).await;
    assert!(matches!(c.ended().await.0, ClientEnd::Closed(1009, _)), "more than 64 KiB");

    let (first, second) = (let_in(&server).await, let_in(&server).await);
    assert!(Client::try_greet(server.address, None, json!({})).await.is_none(), "the third of this address");
    first.cut();
    let third = let_in(&server).await;
    drop((second, third));
    server.stop().stopped().await;
}

/// Connects as soon as the server has a free connection slot.
async fn let_in(server: &Server) -> Client {
    loop {
        if let Some(client) = Client::try_greet(server.address, None, json!({})).await {
            return client;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn stored_document_limit_applies_until_release() {
    let server = Server::start(|config| {
        config.games = own_game::registries().0;
        config.limits.owner_document_bytes = 1_000;
    })
    .await;
    let mut c = Client::greet(server.address, None, json!({"agent": {"name": "hog"}})).await;
    let env = c.call("open", json!({"game": "naming", "count": 8, "observer": "all"})).await["env"].clone();
    let named = json!({"env": env, "moves": vec![json!({"number": 7}); 16]});
    let swaps: Vec<Value> = (0..8).flat_map(|_| [json!({"swap": true, "say": "so be it"}), Value::Null]).collect();
    let swapped = json!({"env": env, "moves": swaps});
    for _ in 0..3 {
        assert_eq!(c.call("reset", json!({"env": env})).await["type"], "batch");
        assert_eq!(c.call("step", named.clone()).await["type"], "batch");
        let kept = c.call("snapshot", json!({"env": env})).await["items"].clone();
        let full = c.call("step", swapped.clone()).await;
        assert_eq!((code(&full).1, &full["allowed"]), ("limit", &json!(0)), "{full}");
        assert!(full["message"].as_str().is_some_and(|m| m.contains("bytes of documents")), "{full}");
        assert_eq!(code(&c.call("restore", json!({"env": env, "items": kept})).await).1, "limit");
        assert_eq!(code(&c.call("clone", json!({"env": env})).await).1, "limit");
        // Steps with ids or -1 still succeed.
        let ids = json!({"env": env, "actions": ([1, -1].repeat(8))});
        assert_eq!(c.call("step", ids).await["type"], "batch");
    }
    assert_eq!(c.call("close", json!({"env": env})).await["type"], "ok");
    let other = c.call("open", json!({"game": "naming", "observer": "all"})).await["env"].clone();
    assert_eq!(c.call("reset", json!({"env": other})).await["type"], "batch");
    let moves = json!({"env": other, "moves": [{"number": 7}, 3]});
    assert_eq!(c.call("step", moves).await["type"], "batch");
    server.stop().stopped().await;
}
