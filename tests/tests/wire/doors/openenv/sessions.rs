//! Sessions: who gets one, when it ends, and many at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::SinkExt as _;
use futures_util::future::join_all;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::Server;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::client::{OpenEnv, PATIENCE, server};

#[tokio::test]
async fn sessions_need_a_game_and_a_token() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_two").await;
    let reply = client.next().await.unwrap();
    assert_eq!((&reply["data"]["code"], &reply["data"]["reason"]), (&json!("FACTORY_ERROR"), &json!("unknown_game")));
    assert_eq!(client.next().await, Err(Some(1000)));
    assert_eq!(server.get("/openenv/tic_tac_two/health").await.0, 404);

    let owner = |scopes| NewToken { owner: "ann".into(), scopes, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &[owner(Scopes::OPEN)], 0).await.unwrap();
    for token in [None, Some("no-token")] {
        let mut client = OpenEnv::open_with(&server, "tic_tac_toe", token).await;
        let reply = client.next().await.unwrap();
        assert_eq!(
            (&reply["data"]["code"], &reply["data"]["reason"]),
            (&json!("SESSION_ERROR"), &json!("unauthorized"))
        );
        assert_eq!(client.next().await, Err(Some(1000)));
    }
    assert_eq!(server.get("/openenv/tic_tac_toe/metadata").await.0, 401);
    let mut client = OpenEnv::open_with(&server, "tic_tac_toe", Some(&tokens[0])).await;
    assert_eq!(client.play(json!({ "seed": 1 })).await.pop().unwrap()["done"], true);
    server.stop().stopped().await;
}

#[tokio::test]
async fn idle_session_without_episode_is_closed() {
    let server = Server::start(|config| {
        config.doors = ludex_cli::doors();
        config.limits.idle_ms = 300;
    });
    let server = server.await;
    let mut playing = OpenEnv::open(&server, "tic_tac_toe").await;
    playing.reset(json!({})).await;
    let mut idle = OpenEnv::open(&server, "tic_tac_toe").await;
    assert_eq!(idle.next().await, Err(Some(1000)));
    assert_eq!(playing.call(json!({ "type": "state" })).await["type"], "state");
    server.stop().stopped().await;
}

#[tokio::test]
async fn client_that_does_not_read_stalls_no_other() {
    let server = server().await;
    let mut deaf = OpenEnv::open(&server, "chess").await;
    // More than the socket's buffers hold, without reading a reply.
    let flood = async {
        loop {
            if deaf.0.send(Message::text(r#"{"type":"reset","data":{"seed":1}}"#)).await.is_err() {
                return;
            }
        }
    };
    let play = async {
        let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
        for seed in 0..20 {
            client.play(json!({ "seed": seed })).await;
        }
    };
    tokio::select! {
        () = flood => play_alone(&server).await,
        () = play => {}
    }
    server.stop().stopped().await;
}

async fn play_alone(server: &Server) {
    OpenEnv::open(server, "tic_tac_toe").await.play(json!({ "seed": 1 })).await;
}

/// At scale 1, 2,000 sessions play at once.
#[tokio::test]
async fn many_sessions_play_at_once() {
    let scale: f64 = std::env::var("LUDEX_TEST_SCALE").map_or(0.2, |text| text.parse().expect("a number"));
    let sessions = if scale >= 1.0 { 2_000 } else { 100 };
    let server = Server::start(|config| {
        config.doors = ludex_cli::doors();
        config.limits.pages_per_s = 50;
        config.workers = 2;
    });
    let server = Arc::new(server.await);
    let mut clients = Vec::new();
    for seed in 0..sessions {
        let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
        client.reset(json!({ "seed": seed })).await;
        clients.push(client);
    }
    assert_eq!(server.hub.sessions.count().0, sessions, "all are open");
    let ended = join_all(clients.iter_mut().map(async |client| client.play(json!({ "seed": 1 })).await)).await;
    assert!(ended.iter().all(|results| *results == ended[0]));
    drop(clients);
    let gone = async {
        while server.hub.sessions.count().0 > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    Arc::into_inner(server).unwrap().stop().stopped().await;
}
