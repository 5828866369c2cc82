//! Messages on the WebSocket: stored frames, and errors.

use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::client::{OpenEnv, first_move, server};

#[tokio::test]
async fn session_equals_stored_frames() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "nim%28pile_sizes%3D1%3B2%29").await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/openenv/nim.json");
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut played = Vec::new();
    for pair in stored.as_array().unwrap() {
        let reply = client.call(pair["send"].clone()).await;
        played.push(json!({ "send": pair["send"], "reply": reply }));
    }
    if std::env::var_os("LUDEX_REGENERATE").is_some() {
        std::fs::write(path, format!("{:#}\n", Value::Array(played))).unwrap();
    } else {
        assert_eq!(Value::Array(played), stored);
    }
    client.send(r#"{"type":"close"}"#).await;
    assert_eq!(client.next().await, Err(Some(1000)));
    server.stop().stopped().await;
}

#[tokio::test]
async fn bad_messages_get_errors_and_lose_nothing() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
    assert_eq!(client.fail(r#"{"type":"step","data":{"answer":"x(0,0)"}}"#).await.0, "EXECUTION_ERROR");
    let first = client.reset(json!({ "seed": 7 })).await;
    for (text, code, words) in [
        ("{", "INVALID_JSON", "expected JSON"),
        ("[]", "VALIDATION_ERROR", "expected an object"),
        (r#"{"type":"jump"}"#, "UNKNOWN_TYPE", "allowed: reset, step"),
        (r#"{"type":"step"}"#, "VALIDATION_ERROR", "data: expected an object"),
        (r#"{"type":"step","data":{}}"#, "VALIDATION_ERROR", "answer: expected"),
        (r#"{"type":"reset","data":{"seed":-1}}"#, "VALIDATION_ERROR", "seed: expected"),
        (r#"{"type":"reset","data":{"seat":2}}"#, "VALIDATION_ERROR", "a seat of tic_tac_toe, 0 to 1"),
        (
            r#"{"type":"reset","data":{"opponents":["random","random"]}}"#,
            "VALIDATION_ERROR",
            "expected 1 agent for tic_tac_toe",
        ),
        (r#"{"type":"reset","data":{"opponents":"absent"}}"#, "EXECUTION_ERROR", "absent"),
        (r#"{"type":"reset","data":{"histroy":8}}"#, "VALIDATION_ERROR", "history"),
        (r#"{"type":"reset","data":{"opponent":"random"}}"#, "VALIDATION_ERROR", "opponents"),
        (r#"{"type":"reset","data":{"history":"many"}}"#, "VALIDATION_ERROR", "whole number"),
    ] {
        let (got, message) = client.fail(text).await;
        assert_eq!((got.as_str(), message.contains(words)), (code, true), "{text}: {message}");
    }
    client.0.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(client.next().await.unwrap()["data"]["code"], "INVALID_JSON");
    let long = format!(r#"{{"type":"step","data":{{"answer":"{}"}}}}"#, "x".repeat(70 << 10));
    assert_eq!(client.fail(&long).await.0, "EXECUTION_ERROR");
    let rpc =
        client.call(json!({ "type": "mcp", "data": { "jsonrpc": "2.0", "method": "tools/list", "id": 1 } })).await;
    assert_eq!((&rpc["type"], &rpc["data"]["error"]["code"]), (&json!("mcp"), &json!(-32603)));
    // The episode has not changed.
    let state = client.call(json!({ "type": "state" })).await;
    assert_eq!((&state["data"]["step_count"], &state["data"]["seed"]), (&json!(0), &json!(7)));
    assert_eq!(client.step(first_move(&first)).await["done"], false);

    // A message beyond the limit ends the session, and no other.
    let mut other = OpenEnv::open(&server, "tic_tac_toe").await;
    let _ = other.0.send(Message::text("x".repeat(600 << 10))).await;
    assert!(matches!(other.next().await, Err(Some(1009) | None)));
    assert_eq!(client.call(json!({ "type": "state" })).await["data"]["step_count"], 1);
    server.stop().stopped().await;
}
