//! Settings that change while the server runs: certificates, limits and agents.

use std::path::PathBuf;
use std::time::Duration;

use ludex_client::{Client as LibraryClient, Options};
use ludex_server::config::TlsFiles;
use ludex_tests::bot::first;
use ludex_tests::{Bot, Client, Server};
use serde_json::json;

#[tokio::test]
async fn new_connections_get_new_limits_and_open_ones_keep_theirs() {
    let mut server = Server::start(|config| config.limits.window = 50).await;
    let mut before = Client::hello(server.address).await;
    assert_eq!(before.welcome["limits"]["window"], 50);
    server.config.limits.window = 7;
    server.config.limits.batch = 3;
    server.handle.reload(&server.config).unwrap();
    let mut after = Client::hello(server.address).await;
    assert_eq!(after.welcome["limits"]["window"], 7);
    let many = json!({"game": "tic_tac_toe", "count": 4});
    assert_eq!(after.call("open", many.clone()).await["code"], "limit");
    assert_eq!(before.call("open", many).await["type"], "opened");

    server.config.limits.replies_kept = 1;
    let error = server.handle.reload(&server.config).unwrap_err();
    assert!(error.to_string().contains("replies_kept"), "{error}");
    let unchanged = Client::hello(server.address).await;
    assert_eq!(unchanged.welcome["limits"], after.welcome["limits"]);
    assert_eq!(before.call("ping", json!({})).await["type"], "pong");
    server.stop().stopped().await;
}

#[tokio::test]
async fn resumed_session_gets_the_limits_that_its_welcome_announces() {
    let mut server = Server::start(|config| config.limits.batch = 3).await;
    let mut bot = Bot::new(server.address, "bot").await;
    let many = json!({"game": "tic_tac_toe", "count": 4});
    assert_eq!(bot.call("open", many.clone()).await["code"], "limit");
    server.config.limits.batch = 4;
    server.handle.reload(&server.config).unwrap();
    bot.cut().await;
    assert_eq!((bot.resumed.last(), &bot.client.welcome["limits"]["batch"]), (Some(&true), &json!(4)));
    assert_eq!(bot.call("open", many).await["type"], "opened");
    server.stop().stopped().await;
}

#[tokio::test]
async fn open_connections_count_against_a_new_limit() {
    let mut server = Server::start(|_| {}).await;
    let first = Client::hello(server.address).await;
    server.config.limits.address_connections = 1;
    server.handle.reload(&server.config).unwrap();
    assert!(Client::open(server.address, None, &[]).await.is_err(), "the open connection was not counted");
    server.config.limits.address_connections = 2;
    server.handle.reload(&server.config).unwrap();
    Client::hello(server.address).await;
    drop(first);
    server.stop().stopped().await;
}

#[tokio::test]
async fn agents_are_offered_and_withdrawn_without_a_restart() {
    let mut server = Server::start(|_| {}).await;
    let mut bot = Bot::new(server.address, "bot").await;
    let join = json!({"game": "tic_tac_toe", "against": ["house"], "count": 1});
    assert_eq!(bot.call("join", join.clone()).await["type"], "error");
    server.config.opponents.named.insert("house".to_owned(), "random".to_owned());
    server.handle.reload(&server.config).unwrap();
    assert_eq!(bot.call("join", join.clone()).await["type"], "joined");
    let turn = bot.wait("turn").await;
    server.config.opponents.named.clear();
    server.handle.reload(&server.config).unwrap();
    assert_eq!(bot.call("join", join).await["type"], "error");
    // The match in progress continues.
    bot.answer(&turn, &mut |turn| first(turn)).await;
    bot.play(1, first).await;
    assert_eq!(bot.only().1.end["reason"], "finished");
    server.stop().stopped().await;
}

fn tls_file(name: &str) -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls").join(name)
}

fn tls_files(prefix: &str) -> TlsFiles {
    TlsFiles { cert: tls_file(&format!("{prefix}cert.pem")), key: tls_file(&format!("{prefix}key.pem")) }
}

#[tokio::test]
async fn new_connections_get_the_new_certificate_and_open_ones_stay() {
    let mut server = Server::start(|config| config.tls = Some(tls_files(""))).await;
    let url = format!("wss://localhost:{}", server.address.port());
    let connect = async |cert: &str| {
        let options = Options { patience: Some(Duration::from_secs(60)), ..Options::default() };
        LibraryClient::connect(&url, options.ca(tls_file(cert)).unwrap()).await
    };
    let (before, _events) = connect("cert.pem").await.unwrap();
    assert!(connect("renewed-cert.pem").await.is_err());

    server.config.tls = Some(TlsFiles { key: tls_file("key.pem"), ..tls_files("renewed-") });
    assert!(server.handle.reload(&server.config).unwrap_err().to_string().contains("do not match"));
    connect("cert.pem").await.unwrap();

    server.config.tls = Some(tls_files("renewed-"));
    server.handle.reload(&server.config).unwrap();
    assert!(connect("cert.pem").await.is_err());
    let (after, _events) = connect("renewed-cert.pem").await.unwrap();
    for client in [before, after] {
        assert!(!client.list_games(None).await.unwrap().is_empty());
    }
    // A restart turns TLS off; a reload does not.
    server.config.tls = None;
    server.handle.reload(&server.config).unwrap();
    connect("renewed-cert.pem").await.unwrap();
    server.stop().stopped().await;
}

#[tokio::test]
async fn stopped_server_refuses_a_reload() {
    let server = Server::start(|_| {}).await;
    let (handle, config) = (server.handle.clone(), server.config.clone());
    assert!(handle.makes_progress());
    server.stop().stopped().await;
    assert!(handle.reload(&config).unwrap_err().to_string().contains("stopped"));
    assert!(!handle.makes_progress() && handle.runs().is_none());
}
