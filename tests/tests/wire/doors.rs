//! Doors: other protocols on the server's port.

mod openenv;

use std::time::Duration;

use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::Server;

#[tokio::test]
async fn doors_are_clients_of_the_server() {
    let server = Server::start(|config| config.doors = ludex_cli::doors()).await;
    let (status, body) = server.get("/openenv/tic_tac_toe/health").await;
    assert_eq!((status, body.contains("healthy")), (200, true), "{body}");
    let (status, body) = server.get("/openenv/tic_tac_two/health").await;
    assert_eq!((status, body.contains("tic_tac_toe")), (404, true), "{body}");

    // On a server with tokens, the token of a request decides.
    let owner = NewToken { owner: "ann".into(), scopes: Scopes::OPEN, names: vec!["*".into()], expires_ms: None };
    let tokens = add(&server.hub.store, &[owner], 0).await.unwrap();
    assert_eq!(server.get("/openenv/tic_tac_toe/health").await.0, 401);
    let bearer = format!("authorization: Bearer {}\r\n", tokens[0]);
    assert_eq!(server.get_with("/openenv/tic_tac_toe/health", &bearer).await.0, 200);

    // A page of another site gets nothing.
    let foreign = format!("origin: https://evil.example\r\n{bearer}");
    assert_eq!(server.get_with("/openenv/tic_tac_toe/health", &foreign).await.0, 403);
    // The sessions of the doors end with their requests.
    let ended = async {
        while server.hub.sessions.count().0 > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
    server.stop().stopped().await;
}
