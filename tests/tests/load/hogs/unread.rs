//! Connections whose client never reads: the server closes them, and meanwhile accepts clients with a token and probes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ludex_server::auth::{self, NewToken, Scopes};
use ludex_tests::{Client, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Maximum time until a condition holds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of requests whose replies exceed all buffers of a connection.
const REQUESTS: usize = 400;

/// Connects and requests many pages without reading a reply. `None` if the server closes the connection.
async fn unread(address: SocketAddr) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET /static/app.js HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(REQUESTS);
    // The server stops reading once it cannot write.
    let _ = tokio::time::timeout(Duration::from_millis(50), stream.write_all(request.as_bytes())).await;
    Some(stream)
}

/// Returns the status of a page; `None` if the connection is refused.
async fn status(address: SocketAddr, path: &str, headers: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.ok()?;
    String::from_utf8_lossy(&reply).split(' ').nth(1)?.parse().ok()
}

/// Repeats `attempt` until it returns a value.
async fn eventually<T>(what: &str, attempt: impl AsyncFn() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = attempt().await {
            return value;
        }
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn unread_connections_do_not_block_tokens_or_probes() {
    let server = Server::start(|config| {
        config.limits.connections = 40;
        // Keeps silent connections open for the whole test.
        config.limits.hello_ms = 600_000;
    })
    .await;
    let names = auth::default_names("ana");
    let wanted = NewToken { owner: "ana".to_owned(), scopes: Scopes::OPEN, names, expires_ms: None };
    let token = auth::add(&server.hub.store, &[wanted], 0).await.unwrap().remove(0);
    let mut hogs = Vec::new();
    for _ in 0..60 {
        hogs.push(unread(server.address).await);
    }
    let probe = async || status(server.address, "/health", "").await.filter(|status| *status == 200);
    eventually("/health is served", probe).await;
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let page = async || status(server.address, "/matches", &bearer).await.filter(|status| *status == 200);
    eventually("a page is served to a token", page).await;
    let greet = async || Client::try_greet(server.address, None, json!({"token": token})).await;
    let mut client = eventually("a client with a token is welcome", greet).await;
    assert_eq!(client.call("ping", json!({})).await["type"], "pong");
    let guest = async || status(server.address, "/games", "").await.filter(|status| *status == 503);
    eventually("clients without a token are refused", guest).await;
    drop(hogs);
    server.stop().stopped().await;
}

#[tokio::test]
async fn unread_page_connection_is_closed() {
    // Allows one connection at a time, without a reserved slot.
    let server = Server::start(|config| {
        config.limits.connections = 1;
        config.limits.hello_ms = 300;
    })
    .await;
    let hog = unread(server.address).await;
    assert!(hog.is_some());
    let probe = async || status(server.address, "/health", "").await.filter(|status| *status == 200);
    eventually("the connection is closed", probe).await;
    drop(hog);
    server.stop().stopped().await;
}

#[tokio::test]
async fn learner_that_stops_reading_resumes_without_loss() {
    /// Number of environments whose batches exceed all buffers of a connection.
    const HANDLES: usize = 12;
    let server = Server::start(|config| {
        config.limits.write_stall_ms = 3_000;
        // A session with environments outlives the grace time if its client was too slow.
        config.limits.grace_ms = 1;
    })
    .await;
    let mut learner = Client::hello(server.address).await;
    let mut envs = Vec::new();
    for _ in 0..HANDLES {
        envs.push(learner.call("open", json!({"game": "connect_four", "count": 16_384})).await["env"].clone());
    }
    let mut requests = Vec::new();
    for env in &envs {
        requests.push((learner.ask("reset", json!({"env": env})).await, env));
    }
    let parked = async || server.get("/health").await.1.contains("\"parked\":1").then_some(());
    eventually("the connection is closed and its session can be resumed", parked).await;
    let (_, metrics) = server.get("/metrics").await;
    assert!(metrics.contains("ludex_closed_total{with=\"too_slow\"} 1"), "{metrics}");
    let mut back = Client::resume(server.address, &learner.welcome, learner.last_id()).await;
    assert_eq!((&back.welcome["resumed"], &back.welcome["envs"]), (&json!(true), &json!(envs)));
    for (id, env) in requests {
        back.say(&json!({"type": "reset", "id": id, "env": env})).await;
        assert_eq!(back.reply(id).await["type"], "batch");
    }
    drop(learner);
    server.stop().stopped().await;
}
