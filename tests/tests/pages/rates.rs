//! Limit on page requests by address.

use std::time::{Duration, Instant};

use ludex_tests::Server;

use super::ask;

/// Number of requests above any burst in these tests.
const MANY: usize = 1_000;

/// Requests a page until the server refuses it, and returns the refusal.
async fn request_until_refused(server: &Server, headers: &str) -> String {
    for _ in 0..MANY {
        let from = Instant::now();
        let reply = ask(server, "GET /games", headers).await;
        if !reply.starts_with("HTTP/1.1 200") {
            assert!(from.elapsed() >= Duration::from_millis(250), "the refusal is not delayed");
            return reply;
        }
    }
    panic!("{MANY} requests were served");
}

#[tokio::test]
async fn requests_above_the_rate_are_refused() {
    let server = Server::start(|config| config.limits.pages_per_s = 1).await;
    // Each request has a connection of its own.
    let refusal = request_until_refused(&server, "").await;
    assert!(refusal.starts_with("HTTP/1.1 429") && refusal.contains("rate_limited"), "{refusal}");
    assert!(refusal.contains("retry-after: 1\r\n"), "{refusal}");
    for probe in ["/health", "/healthz", "/readyz"] {
        assert_eq!(server.get(probe).await.0, 200, "{probe}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn addresses_behind_a_trusted_proxy_have_their_own_rates() {
    let server = Server::start(|config| {
        config.limits.pages_per_s = 1;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = |address: &str| format!("X-Forwarded-For: {address}\r\n");
    request_until_refused(&server, &from("203.0.113.7")).await;
    for address in ["203.0.113.8", "203.0.113.7, 203.0.113.9"] {
        assert!(ask(&server, "GET /games", &from(address)).await.starts_with("HTTP/1.1 200"), "{address}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn forwarded_addresses_of_untrusted_clients_are_ignored() {
    let server = Server::start(|config| config.limits.pages_per_s = 1).await;
    for k in 0..MANY {
        let claim = format!("X-Forwarded-For: 203.0.113.{}\r\n", k % 256);
        if ask(&server, "GET /games", &claim).await.starts_with("HTTP/1.1 429") {
            return server.stop().stopped().await;
        }
    }
    panic!("a client has a new rate for each claimed address");
}

#[tokio::test]
async fn document_in_an_address_is_refused() {
    let server = Server::start(|_| {}).await;
    let game = "free_style(rules=%7B%22name%22:%22x%22%7D)";
    for path in [format!("/games/{game}/picture.svg"), format!("/ratings?game={game}")] {
        let (status, body) = server.get(&path).await;
        assert!(status == 400 && body.contains("without a document"), "{path}: {status} {body}");
    }
    for path in [format!("/games/{game}"), format!("/play/{game}")] {
        let (status, body) = server.get_with(&path, super::BROWSER).await;
        assert!(status == 400 && body.contains("without a document"), "{path}: {status} {body}");
    }
    assert_eq!(server.get("/games/free_style(rules=F0)/picture.svg").await.0, 200);
    server.stop().stopped().await;
}
