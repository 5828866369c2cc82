//! Tokens that expire or are revoked while connections use them: effects on the connection, its seat and its joins.

use std::time::{Duration, Instant};

use ludex_server::auth::{NewToken, Scopes, add, revoke};
use ludex_server::operators;
use ludex_store::Store;
use ludex_tests::client::ClientEnd;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};

/// Creates a token of `owner`. If `expires_ms` is given, the token expires at that Unix time in ms.
fn token_of(owner: &str, expires_ms: Option<i64>) -> NewToken {
    NewToken { owner: owner.into(), scopes: Scopes::OPEN, names: vec![owner.into()], expires_ms }
}

/// Checks that the connection is closed with code 4001, long before its grace time ends, and returns the messages
/// before the close.
async fn is_closed(client: &mut Client) -> Vec<Value> {
    let from = Instant::now();
    let (ended, before) = client.ended().await;
    assert_eq!(ended, ClientEnd::Closed(4001, "unauthorized".into()));
    assert!(from.elapsed() < Duration::from_secs(30), "it took {:?}", from.elapsed());
    before
}

#[tokio::test]
async fn revoked_token_ends_permissions_of_its_connections() {
    let server = Server::start(|_| {}).await;
    // The store is opened a second time, as `ludex admin token` does while the server runs.
    let store = Store::open_shared(&server.data).await.unwrap();
    let tokens = add(&store, &[token_of("ann", None), token_of("ann", None), token_of("bob", None)], 0).await.unwrap();
    let hello = |k: usize, name: &str| json!({"token": tokens[k], "agent": {"name": name}});
    let mut ann = Bot::with(server.address, None, hello(0, "ann")).await;
    let mut idle = Client::greet(server.address, None, hello(0, "ann")).await;
    let mut other = Client::greet(server.address, None, hello(1, "ann")).await;
    let mut bob = Bot::with(server.address, None, hello(2, "bob")).await;
    assert_eq!(idle.call("open", json!({"game": "tic_tac_toe"})).await["type"], "opened");
    for (seat, bot) in [&mut ann, &mut bob].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "queue": "q", "seat": seat, "rated": true})).await;
    }
    ann.join(json!({"game": "tic_tac_toe", "queue": "empty", "rated": true, "count": 5})).await;
    let (id, turn) = (ann.wait("match_start").await["match"].clone(), ann.wait("turn").await);

    let hash = ludex_server::auth::TokenHash::of(&tokens[0]).to_string();
    assert_eq!(revoke(&store, &hash, 1).await.unwrap().len(), 1);
    is_closed(&mut ann.client).await;
    is_closed(&mut idle).await;
    // The seat stays reserved, no new match starts, and other clients stay connected.
    let away = bob.wait("event").await;
    assert_eq!((&away["kind"], &away["online"]), (&json!("presence"), &json!(false)));
    assert_eq!(other.call("ping", json!({})).await["type"], "pong");
    // A second token of the same owner reclaims the seat but not the join.
    let hello = json!({"token": tokens[1], "agent": {"name": "ann"}, "reclaim": true});
    let mut back = Bot::with(server.address, None, hello).await;
    let welcome = &back.client.welcome;
    assert_eq!((&welcome["matches"][0]["match"], &welcome["joins"]), (&id, &Value::Null), "no joins");
    back.wait("resync").await;
    assert_eq!(back.act(&turn, json!({"action": 4})).await["type"], "accepted");
    store.close().await.unwrap();
    server.stop().stopped().await;
}

#[tokio::test]
async fn suspended_owner_is_refused_until_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_in(folder.path(), |_| {}).await;
    let store = Store::open_shared(folder.path()).await.unwrap();
    let tokens = add(&store, &[token_of("ann", None), token_of("bob", None)], 0).await.unwrap();
    let hello = |k: usize, name: &str| json!({"token": tokens[k], "agent": {"name": name}});
    let mut ann = Client::greet(server.address, None, hello(0, "ann")).await;
    let mut bob = Client::greet(server.address, None, hello(1, "bob")).await;
    assert!(operators::suspend(&store, "carl", 1).await.is_err(), "carl has no token");
    let page =
        async |k: usize| server.get_with("/episodes/m_1", &format!("Authorization: Bearer {}\r\n", tokens[k])).await.0;
    assert_eq!((page(0).await, page(1).await), (404, 404));
    assert!(operators::suspend(&store, "ann", 1).await.unwrap());
    assert_eq!((page(0).await, page(1).await), (401, 404), "pages and new connections are refused at once");
    let reply = async |server: &Server| {
        let mut client = Client::mute(server.address).await;
        let mut hello = hello(0, "ann");
        hello
            .as_object_mut()
            .unwrap()
            .extend(json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"}).as_object().unwrap().clone());
        client.say(&hello).await;
        client.hear().await
    };
    let refused = reply(&server).await;
    assert_eq!((&refused["code"], &refused["path"]), (&json!("forbidden"), &json!("token")), "{refused}");
    is_closed(&mut ann).await;
    assert_eq!(bob.call("ping", json!({})).await["type"], "pong");
    server.stop().stopped().await;

    let server = Server::start_in(folder.path(), |_| {}).await;
    assert_eq!(reply(&server).await["code"], "forbidden");
    assert!(operators::resume(&store, "ann").await.unwrap());
    let from = Instant::now();
    while reply(&server).await["type"] != "welcome" {
        assert!(from.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    store.close().await.unwrap();
    server.stop().stopped().await;
}

#[tokio::test]
async fn expired_token_ends_permissions_like_revoked_token() {
    let server = Server::start(|c| c.limits.grace_ms = 100).await;
    let now = epoch_ms();
    let wanted = [token_of("ann", Some(now + 3_600_000)), token_of("bob", None)];
    let tokens = add(&server.hub.store, &wanted, now).await.unwrap();
    let hello = |k: usize, name: &str| json!({"token": tokens[k], "agent": {"name": name}});
    let mut ann = Bot::with(server.address, None, hello(0, "ann")).await;
    let mut bob = Bot::with(server.address, None, hello(1, "bob")).await;
    for (seat, bot) in [&mut ann, &mut bob].into_iter().enumerate() {
        bot.join(json!({"game": "tic_tac_toe", "seat": seat})).await;
    }
    ann.wait("turn").await;
    let file = rusqlite::Connection::open(server.data.join("ludex.db")).unwrap();
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!(file.execute("UPDATE tokens SET expires_ms = ?1 WHERE owner = 'ann'", [epoch_ms()]).unwrap(), 1);
    is_closed(&mut ann.client).await;
    let end = bob.wait("match_end").await;
    assert_eq!(end["at_fault"], 0, "no client resumed the seat: {end}");
    server.stop().stopped().await;
}

/// Returns the time in milliseconds since the Unix epoch.
fn epoch_ms() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}
