//! Handshake, limits, faults and resumed sessions over real sockets.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};

use ludex_tests::client::ClientEnd;
use ludex_tests::server::get;
use ludex_tests::{Bot, Client, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

fn closed(code: u16, name: &str) -> ClientEnd {
    ClientEnd::Closed(code, name.to_owned())
}

/// Opens a connection and sends `message` as its first message. Returns how the connection ended, and the messages
/// received until then.
async fn first(server: &Server, message: Value) -> (ClientEnd, Vec<Value>) {
    let mut c = Client::mute(server.address).await;
    c.say(&message).await;
    c.ended().await
}

#[tokio::test]
async fn handshake_errors_state_the_reason() {
    let server = Server::start(|_| {}).await;
    let hello = json!({"type": "hello", "id": 1, "protocol": [1], "client": "raw/0"});
    let with = |key: &str, value: Value| {
        let mut hello = hello.clone();
        hello[key] = value;
        hello
    };
    for (message, code, path) in [
        (json!({"type": "ping", "id": 1}), "hello_first", Value::Null),
        (with("protocol", json!([2, 3])), "protocol_version", json!("protocol")),
        (with("protocol", json!("one")), "bad_field", json!("protocol")),
        (with("client", Value::Null), "bad_field", json!("client")),
        (with("agent", json!({"name": "no spaces"})), "bad_field", json!("agent.name")),
        (with("agent", json!({"name": "x".repeat(41)})), "bad_field", json!("agent.name")),
        (with("agent", json!({"name": "x", "model": "x".repeat(201)})), "too_large", json!("agent.model")),
        (with("agent", json!({"name": "x", "price": {"in": -1, "out": 0}})), "bad_field", json!("agent.price")),
        (with("type", json!("helo")), "unknown_type", json!("type")),
        (json!([1, 2]), "bad_message", Value::Null),
    ] {
        let (ended, said) = first(&server, message).await;
        assert_eq!((&said[0]["code"], &said[0]["path"]), (&json!(code), &path), "{said:?}");
        assert_eq!((said.len(), ended), (1, closed(4000, "protocol")));
    }
    let (ended, said) = first(&server, with("token", json!("lx_wrong"))).await;
    assert_eq!((&said[0]["code"], &said[0]["re"]), (&json!("unauthorized"), &json!(1)));
    assert_eq!(ended, closed(4001, "unauthorized"));

    // Requests sent together with `hello` are answered after the `welcome`.
    let mut c = Client::mute(server.address).await;
    c.say(&with("agent", json!({"name": "mybot", "kind": "llm", "new_field": {}}))).await;
    c.say(&json!({"type": "ping", "id": 7})).await;
    let welcome = c.hear().await;
    assert_eq!((&welcome["re"], &welcome["protocol"], &welcome["resumed"]), (&json!(1), &json!(1), &json!(false)));
    assert_eq!((&welcome["agent"], &welcome["scopes"]), (&json!("mybot"), &json!(["gym", "play", "spectate"])));
    assert_eq!((&welcome["limits"]["window"], &welcome["limits"]["requests_per_s"]), (&json!(256), &json!(0)));
    let pong = c.hear().await;
    assert_eq!((&pong["type"], &pong["re"]), (&json!("pong"), &json!(7)));
    let again = c.call("hello", hello.clone()).await;
    assert_eq!(again["type"], "error");
    server.stop().stopped().await;
}

#[tokio::test]
async fn late_hello_closes_connection() {
    let server = Server::start(|c| c.limits.hello_ms = 50).await;
    let (ended, said) = Client::mute(server.address).await.ended().await;
    assert_eq!((&said[0]["code"], ended), (&json!("hello_first"), closed(4000, "protocol")));
    // An endless HTTP header cannot keep a socket open either.
    let mut socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
    socket.write_all(b"GET / HT").await.unwrap();
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), socket.read_to_end(&mut rest)).await.expect("it is closed").ok();
    server.stop().stopped().await;
}

#[tokio::test]
async fn upgrade_chooses_encoding_and_refuses_foreign_pages() {
    let server = Server::start(|c| c.origins = vec!["https://good.example".into()]).await;
    for (offer, packed) in [("ludex.v1.msgpack, ludex.v1.json", true), ("ludex.v1.json, ludex.v1.msgpack", false)] {
        let upgrade = format!(
            "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {offer}\r\n"
        );
        let mut socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
        socket.write_all(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n").as_bytes()).await.unwrap();
        let mut head = vec![0; 1024];
        let n = socket.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..n]).to_lowercase();
        assert!(head.starts_with("http/1.1 101") && head.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        assert_eq!(head.contains("sec-websocket-protocol: ludex.v1.msgpack"), packed, "{head}");
    }
    let from = async |origin: &str| Client::open(server.address, None, &[("origin", origin)]).await.is_ok();
    assert!(from("http://localhost:8080").await && from("https://good.example").await);
    assert!(!from("https://evil.example").await);
    let (status, _) = server.get_with("/ws", "Upgrade: websocket\r\n").await;
    assert_eq!(status, 400);
    assert_eq!(server.get("/ws").await.0, 426);
    assert_eq!(server.get("/nothing").await.0, 404);
    server.stop().stopped().await;
}

/// Sends a raw HTTP request and returns the first line and the body of the response.
async fn answer_to(server: &Server, request: &str) -> (String, String) {
    let mut socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let n = socket.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..n]).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

#[tokio::test]
async fn foreign_host_names_are_refused() {
    let server = Server::start(|c| c.hosts = vec!["play.example".into()]).await;
    let health = |host: &str| format!("GET /health HTTP/1.1\r\nConnection: close\r\n{host}\r\n");
    for host in ["localhost", "127.0.0.1:7878", "[::1]", "play.example", "PLAY.example:80"] {
        let (line, _) = answer_to(&server, &health(&format!("Host: {host}\r\n"))).await;
        assert!(line.contains("200"), "{host}: {line}");
    }
    for host in ["evil.example", "evil.example:7878", "localhost.evil.example", ""] {
        let (line, body) = answer_to(&server, &health(&format!("Host: {host}\r\n"))).await;
        assert!(line.contains("421") && body.contains("--allowed-host"), "{host}: {line} {body}");
    }
    for hosts in ["", "Host: localhost\r\nHost: evil.example\r\n"] {
        let (line, body) = answer_to(&server, &health(hosts)).await;
        assert!(line.contains("400") && body.contains("one Host header"), "{line} {body}");
    }
    let (line, _) = answer_to(&server, "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(line.contains("421"), "{line}");
    let (_, metrics) = server.get("/metrics").await;
    assert!(metrics.contains("ludex_refused_total{what=\"request\",why=\"host\"} 7"), "{metrics}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn incomplete_upgrade_is_refused() {
    let server = Server::start(|c| c.origins = vec!["https://good.example".into()]).await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let upgrade = |version: &str, more: &str| {
        let asks = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
        format!("GET /ws HTTP/{version}\r\nHost: localhost\r\n{asks}{more}\r\n")
    };
    let (good, evil) = ("Origin: https://good.example\r\n", "Origin: https://evil.example\r\n");
    let (line, _) = answer_to(&server, &upgrade("1.1", &format!("{key}{good}{good}"))).await;
    assert!(line.contains("101"), "{line}");
    for (version, more, status) in [
        ("1.0", key.to_owned(), "400"),
        ("1.1", String::new(), "400"),
        ("1.1", "Sec-WebSocket-Key: c2hvcnQ=\r\n".to_owned(), "400"),
        ("1.1", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZSE=\r\n".to_owned(), "400"),
        ("1.1", "Sec-WebSocket-Key: not base64 at all!!!!\r\n".to_owned(), "400"),
        ("1.1", format!("{key}{key}"), "400"),
        ("1.1", format!("{key}Content-Length: 3\r\n"), "400"),
        ("1.1", format!("{key}Transfer-Encoding: chunked\r\n"), "400"),
        ("1.1", format!("{key}{good}{evil}"), "403"),
        ("1.1", format!("{key}{evil}{good}"), "403"),
    ] {
        let (line, body) = answer_to(&server, &upgrade(version, &more)).await;
        assert!(line.contains(status), "{version} {more}: {line}");
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|e| panic!("{more}: {e}: {body}"));
        assert!(error["message"].is_string(), "{error}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn tokens_are_required_if_configured() {
    let server = Server::start(|_| {}).await;
    let store = ludex_store::Store::open_shared(&server.data).await.unwrap();
    let wanted = |owner: &str, scopes: &str| ludex_server::auth::NewToken {
        owner: owner.into(),
        scopes: scopes.parse().unwrap(),
        names: ludex_server::auth::default_names(owner),
        expires_ms: None,
    };
    let tokens = ludex_server::auth::add(&store, &[wanted("ada", "gym"), wanted("bob", "play")], 0).await.unwrap();
    let hello = |token: Value, name: &str| json!({"type": "hello", "id": 1, "protocol": [1], "client": "raw/0", "token": token, "agent": {"name": name}});
    let (ended, said) = first(&server, hello(Value::Null, "ada")).await;
    assert_eq!((&said[0]["code"], ended), (&json!("unauthorized"), closed(4001, "unauthorized")));
    let (ended, said) = first(&server, hello(json!(tokens[0]), "bob")).await;
    assert_eq!((&said[0]["code"], ended), (&json!("forbidden"), closed(4000, "protocol")));

    let bearer = format!("Bearer {}", tokens[0]);
    let mut c = Client::open(server.address, None, &[("authorization", &bearer)]).await.unwrap();
    c.say(&hello(Value::Null, "ada.two")).await;
    let welcome = c.hear().await;
    assert_eq!((&welcome["scopes"], &welcome["agent"]), (&json!(["gym"]), &json!("ada.two")));
    assert_eq!(c.call("join", json!({"game": "tic_tac_toe"})).await["code"], "forbidden");
    assert_eq!(c.call("open", json!({"game": "tic_tac_toe"})).await["type"], "opened");

    // A token of a different owner cannot resume ada's session, even with its key.
    let steal = json!({"token": tokens[1], "resume": {"session": welcome["session"], "key": welcome["key"]}});
    let mut thief = Client::greet(server.address, None, steal).await;
    assert_eq!((&thief.welcome["resumed"], &thief.welcome["envs"]), (&json!(false), &json!([])));
    assert_eq!(thief.call("open", json!({"game": "tic_tac_toe"})).await["code"], "forbidden");

    assert_eq!(server.get("/matches").await.0, 401);
    assert_eq!(server.get_with("/matches", &format!("Authorization: {bearer}\r\n")).await.0, 200);
    assert!(server.is_well().await);
    store.close().await.unwrap();
    server.stop().stopped().await;
}

#[tokio::test]
async fn invalid_messages_get_errors_then_close() {
    let server = Server::start(|_| {}).await;
    let mut steady = Client::hello(server.address).await;
    let env = steady.call("open", json!({"game": "tic_tac_toe"})).await["env"].clone();
    let bad: [&str; 8] = [
        "",
        "{",
        "[]",
        "null",
        r#"{"type":"ping"}"#,
        r#"{"type":"nonsense","id":1.5}"#,
        "{\"type\":\"step\",\"id\":\"x\"}",
        r#"{"type":"act","id":9007199254740993}"#,
    ];
    let mut sent = 0;
    while sent < 1_000 {
        let mut c = Client::hello(server.address).await;
        let mut errors = 0;
        // Every message is answered until the server closes the connection.
        loop {
            sent += 1;
            if c.frame(Message::text(bad[sent % bad.len()])).await.is_err() {
                break;
            }
            match c.next_frame().await {
                Ok(Message::Text(text)) => {
                    let error: Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(error["type"], "error", "{error}");
                    errors += 1;
                }
                Ok(Message::Close(Some(frame))) => {
                    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (4000, "protocol"));
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(errors >= 10, "{errors}");
    }
    assert!(server.is_well().await);
    assert_eq!(steady.call("reset", json!({"env": env})).await["type"], "batch");
    server.stop().stopped().await;
}

#[tokio::test]
async fn invalid_frames_close_with_documented_code() {
    let server = Server::start(|c| {
        c.limits.frame_bytes = 4_000;
        c.limits.message_bytes = 2_000;
        c.limits.request_bytes = 2_000;
        c.limits.depth = 8;
        c.limits.text_bytes = 100;
    })
    .await;
    let ended = async |frame: Message, subprotocol| {
        let mut c = Client::greet(server.address, subprotocol, json!({})).await;
        // The server may close before it has read all bytes.
        let _ = c.frame(frame).await;
        c.ended().await.0
    };
    assert_eq!(ended(Message::binary(vec![0x80]), None).await, closed(1003, "unsupported"));
    assert_eq!(ended(Message::text("{}"), Some("ludex.v1.msgpack")).await, closed(1003, "unsupported"));
    assert_eq!(ended(Message::text("x".repeat(5_000)), None).await, closed(1009, "too_large"));
    assert_eq!(ended(Message::text("x".repeat(3_000_000)), None).await, closed(1009, "too_large"));

    let mut c = Client::hello(server.address).await;
    // Sends a text frame that is not UTF-8, with a zero mask.
    c.socket().write_all(&[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]).await.unwrap();
    assert_eq!(c.ended().await.0, closed(1007, "not_utf8"));
    let mut c = Client::hello(server.address).await;
    // Sends a frame without a mask.
    c.socket().write_all(&[0x81, 0x02, b'{', b'}']).await.unwrap();
    assert_eq!(c.ended().await.0, closed(1002, "websocket"));

    let mut c = Client::hello(server.address).await;
    let e = c.call("describe", json!({"game": "tic_tac_toe", "x": "y".repeat(3_000)})).await;
    assert_eq!((&e["code"], &e["allowed"]), (&json!("too_large"), &json!(2_000)));
    let e = c.call("describe", json!({"game": "t".repeat(101)})).await;
    assert_eq!((&e["code"], &e["path"]), (&json!("too_large"), &json!("game")));
    let e = c.call("open", json!({"game": "tic_tac_toe", "seats": ["agent", "r".repeat(101)]})).await;
    assert_eq!((&e["code"], &e["path"], &e["index"]), (&json!("too_large"), &json!("seats"), &json!(1)));
    let mut deep = json!(1);
    for _ in 0..10 {
        deep = json!([deep]);
    }
    assert_eq!(c.call("ping", json!({"x": deep})).await["code"], "too_deep");
    assert_eq!(c.call("ping", json!({})).await["type"], "pong");
    // Sends nested brackets, deeper than any call stack.
    let endless = "[".repeat(1_900);
    c.frame(Message::text(endless)).await.unwrap();
    assert_eq!(c.hear().await["type"], "error");
    assert!(server.is_well().await);
    server.stop().stopped().await;
}

#[tokio::test]
async fn parallel_requests_are_limited() {
    let server = Server::start(|c| {
        c.limits.window = 2;
        c.limits.requests_per_s = 5;
        c.limit_loopback = true;
    })
    .await;
    let mut c = Client::hello(server.address).await;
    assert_eq!(c.welcome["limits"]["requests_per_s"], 5);
    // One burst may use the request quota of four seconds.
    let mut refused = None;
    for _ in 0..400 {
        let answer = c.call("ping", json!({})).await;
        if answer["type"] == "error" {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a refusal");
    assert_eq!((&refused["code"], &refused["retry"]), (&json!("rate_limited"), &json!(true)));
    assert!(refused["after_ms"].as_u64().unwrap() <= 200);
    let id = refused["re"].clone();
    tokio::time::sleep(Duration::from_millis(refused["after_ms"].as_u64().unwrap() + 5)).await;
    c.say(&json!({"type": "ping", "id": id})).await;
    assert_eq!(c.hear().await["type"], "pong", "a refused id may be reused");
    for _ in 0..200 {
        if c.frame(Message::text(r#"{"type":"ping","id":99999}"#)).await.is_err() {
            break;
        }
    }
    assert_eq!(c.ended().await.0, closed(4004, "rate"));
    server.stop().stopped().await;

    let server = Server::start(|c| c.limits.window = 2).await;
    let mut c = Client::hello(server.address).await;
    c.call("open", json!({"game": "connect_four", "seats": ["agent", "mcts sims=20000"]})).await;
    c.call("reset", json!({"env": 1})).await;
    let ids = [
        c.ask("step", json!({"env": 1, "actions": [3]})).await,
        c.ask("step", json!({"env": 1, "actions": [-1]})).await,
        c.ask("step", json!({"env": 1, "actions": [-1]})).await,
    ];
    let e = c.hear().await;
    assert_eq!((&e["code"], &e["re"]), (&json!("window_full"), &json!(ids[2])));
    assert_eq!(c.reply(ids[0]).await["type"], "batch");
    assert_eq!(c.reply(ids[1]).await["type"], "batch");
    c.say(&json!({"type": "step", "id": ids[2], "env": 1, "actions": [-1]})).await;
    assert_eq!(c.reply(ids[2]).await["type"], "batch");
    server.stop().stopped().await;
}

#[tokio::test]
async fn session_resumes_after_cut() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    c.call("open", json!({"game": "connect_four"})).await;
    c.call("reset", json!({"env": 1, "seed": "1"})).await;
    let first = c.call("step", json!({"env": 1, "actions": [3]})).await;
    // The connection is cut while the next step is in flight, so the client cannot know whether the server executed it.
    let id = c.ask("step", json!({"env": 1, "actions": [3]})).await;
    let welcome = c.welcome.clone();
    c.cut();
    let mut c = Client::resume(server.address, &welcome, id).await;
    assert_eq!((&c.welcome["resumed"], &c.welcome["envs"]), (&json!(true), &json!([1])));
    assert_ne!(c.welcome["key"], welcome["key"]);
    assert_eq!(c.welcome["session"], welcome["session"]);
    c.say(&json!({"type": "step", "id": id, "env": 1, "actions": [3]})).await;
    assert_eq!(c.reply(id).await["length"], json!([2]));
    c.say(&json!({"type": "step", "id": id, "env": 1, "actions": [3]})).await;
    assert_eq!(c.reply(id).await["length"], json!([2]), "answered again, not done again");
    c.say(&json!({"type": "step", "id": id, "env": 1, "actions": [6]})).await;
    let another = c.reply(id).await;
    assert_eq!((&another["code"], &another["fault"]), (&json!("conflict"), &json!("client")), "another step");
    assert!(another["message"].as_str().unwrap().contains("open a connection for each"), "{another}");
    c.say(&json!({"type": "step", "id": id - 1, "env": 1, "actions": [3]})).await;
    assert_eq!(c.reply(id - 1).await, first, "the last two are cached");
    c.say(&json!({"type": "step", "id": id - 2, "env": 1, "actions": [3]})).await;
    assert_eq!(c.reply(id - 2).await["code"], "conflict", "older replies are dropped");
    c.say(&json!({"type": "reset", "id": id, "env": 1})).await;
    assert_eq!(c.reply(id).await["code"], "conflict", "a different request, an old id");

    // The first message after the second welcome has invalidated the first key.
    let dead = Client::resume(server.address, &welcome, 0).await;
    assert_eq!((&dead.welcome["resumed"], &dead.welcome["envs"]), (&json!(false), &json!([])));
    let wrong = json!({"session": welcome["session"], "key": "k_wrong"});
    let wrong = Client::greet(server.address, None, json!({"resume": wrong})).await;
    assert_eq!(wrong.welcome["resumed"], false);

    // A key stays valid as long as its successor may have been lost with the welcome.
    let known = c.welcome.clone();
    c.cut();
    let unread = Client::resume(server.address, &known, 0).await;
    assert_eq!(unread.welcome["resumed"], true);
    unread.cut();
    let c = Client::resume(server.address, &known, 0).await;
    assert_eq!(c.welcome["resumed"], true);
    server.stop().stopped().await;
}

#[tokio::test]
async fn newer_connection_takes_over_session() {
    let server = Server::start(|c| c.workers = 2).await;
    let mut old = Client::hello(server.address).await;
    old.call("open", json!({"game": "connect_four", "seats": ["agent", "mcts sims=3000"]})).await;
    old.call("reset", json!({"env": 1})).await;
    let id = old.ask("step", json!({"env": 1, "actions": [3]})).await;
    let mut new = Client::resume(server.address, &old.welcome, id).await;
    assert_eq!((&new.welcome["resumed"], &new.welcome["envs"]), (&json!(true), &json!([1])));
    assert_eq!(old.ended().await.0, closed(4002, "superseded"));
    // The step is executed once; its reply is sent to the connection that owns the session now.
    new.say(&json!({"type": "step", "id": id, "env": 1, "actions": [3]})).await;
    assert_eq!(new.reply(id).await["length"], json!([2]));
    let look = new.call("step", json!({"env": 1, "actions": [-1]})).await;
    assert_eq!(look["length"], json!([2]), "it was not carried out twice");
    server.stop().stopped().await;
}

#[tokio::test]
async fn session_resumes_in_another_encoding() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    c.call("open", json!({"game": "tic_tac_toe"})).await;
    let json = c.call("reset", json!({"env": 1, "seed": "1"})).await;
    let resume = json!({"session": c.welcome["session"], "key": c.welcome["key"]});
    let id = c.last_id();
    c.cut();
    let mut packed = Client::greet(server.address, Some("ludex.v1.msgpack"), json!({"resume": resume})).await;
    packed.say(&json!({"type": "reset", "id": id, "env": 1, "seed": "1"})).await;
    let again = packed.reply(id).await;
    assert_eq!((&again["type"], &again["mask"]), (&json!("batch"), &json["mask"]));
    assert_eq!(again["reward"], json!(vec![0; 8]), "packed now");
    server.stop().stopped().await;
}

#[tokio::test]
async fn cuts_between_steps_lose_and_repeat_no_step() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    c.call("open", json!({"game": "iterated_prisoners_dilemma", "params": {"num_repetitions": 500}})).await;
    c.call("reset", json!({"env": 1})).await;
    let mut done = 0;
    for k in 0..60 {
        // Each step is in flight alone, with a cut at a different moment.
        let id = c.ask("step", json!({"env": 1, "actions": [0, 1]})).await;
        match k % 4 {
            0 => {}
            1 => tokio::task::yield_now().await,
            2 => tokio::time::sleep(Duration::from_micros(300)).await,
            _ => {
                c.reply(id).await;
            }
        }
        let welcome = c.welcome.clone();
        c.cut();
        c = Client::resume(server.address, &welcome, id).await;
        assert_eq!(c.welcome["resumed"], true);
        c.say(&json!({"type": "step", "id": id, "env": 1, "actions": [0, 1]})).await;
        let b = c.reply(id).await;
        done += 1;
        assert_eq!(b["length"], json!([done]), "cut {k}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn lost_session_ends_after_grace_time() {
    let server = Server::start(|c| c.limits.grace_ms = 30).await;
    let c = Client::hello(server.address).await;
    let welcome = c.welcome.clone();
    c.cut();
    let mut gone = false;
    for _ in 0..200 {
        let (_, health) = server.get("/health").await;
        let health: Value = serde_json::from_str(&health).unwrap();
        gone = health["sessions"] == 0 && health["parked"] == 0;
        if gone {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(gone);
    assert_eq!(Client::resume(server.address, &welcome, 0).await.welcome["resumed"], false);
    server.stop().stopped().await;
}

#[tokio::test]
async fn idle_session_is_closed() {
    let server = Server::start(|c| c.limits.idle_ms = 1_000).await;
    let mut busy = Client::hello(server.address).await;
    busy.call("open", json!({"game": "tic_tac_toe"})).await;
    let mut idle = Client::hello(server.address).await;
    assert_eq!(idle.ended().await.0, closed(4005, "idle"));
    assert_eq!(busy.call("ping", json!({})).await["type"], "pong", "an environment is at stake");
    busy.call("close", json!({"env": 1})).await;
    assert_eq!(busy.ended().await.0, closed(4005, "idle"));
    server.stop().stopped().await;
}

#[tokio::test]
async fn gym_replies_wait_for_slow_reader() {
    let server = Server::start(|_| {}).await;
    let mut slow = Client::hello(server.address).await;
    slow.call("open", json!({"game": "connect_four", "count": 4096})).await;
    let mut asked = vec![slow.ask("reset", json!({"env": 1})).await];
    // The replies exceed any socket buffer, and the client does not read.
    for _ in 0..60 {
        asked.push(slow.ask("step", json!({"env": 1, "actions": vec![-1; 4096]})).await);
    }
    let mut other = Client::hello(server.address).await;
    for _ in 0..20 {
        assert_eq!(other.call("ping", json!({})).await["type"], "pong", "others do not wait");
    }
    for id in asked {
        assert_eq!(slow.reply(id).await["type"], "batch");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn idle_connections_do_not_block_other_connections() {
    let server = Server::start(|c| c.workers = 2).await;
    let mut all = Vec::new();
    for _ in 0..1_000 {
        all.push(Client::hello(server.address).await);
    }
    let (_, health) = server.get("/health").await;
    let health: Value = serde_json::from_str(&health).unwrap();
    assert_eq!(health["sessions"], 1_000);
    for c in all.iter_mut().step_by(100) {
        assert_eq!(c.call("ping", json!({})).await["type"], "pong");
    }
    drop(all);
    server.stop().stopped().await;
}

#[tokio::test]
async fn draining_server_announces_shutdown() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    c.call("open", json!({"game": "tic_tac_toe"})).await;
    let stopping = server.stop();
    let draining = c.hear().await;
    assert_eq!((&draining["type"], &draining["resume"]), (&json!("draining"), &json!(true)));
    assert_eq!(c.ended().await.0, closed(1012, "restart"));
    stopping.stopped().await;
}

#[tokio::test]
async fn ready_probe_fails_while_the_server_drains() {
    let server = Server::start(|config| config.drain = Duration::from_secs(600)).await;
    let address = server.address;
    let mut bot = Bot::new(address, "mybot").await;
    bot.join(json!({"game": "tic_tac_toe", "against": ["random"], "seat": 0, "count": 1})).await;
    let turn = bot.wait("turn").await;
    for probe in ["/health", "/healthz", "/readyz"] {
        assert_eq!(server.get(probe).await.0, 200, "{probe}");
    }
    // The running match prolongs the drain.
    let stopping = server.stop();
    bot.wait("draining").await;
    let (status, health) = get(address, "/health", "").await;
    assert!(status == 503 && health.contains("\"draining\""), "{status} {health}");
    let (status, ready) = get(address, "/readyz", "").await;
    assert!(status == 503 && ready.contains("the server is draining"), "{status} {ready}");
    assert_eq!(get(address, "/healthz", "").await.0, 200);
    bot.call("resign", json!({"match": turn["match"]})).await;
    stopping.stopped().await;
}

#[tokio::test]
async fn programs_get_http_pages_as_json() {
    let server = Server::start(|_| {}).await;
    let mut c = Client::hello(server.address).await;
    c.call("ping", json!({})).await;
    c.call("step", json!({"env": 4, "actions": [1]})).await;
    for (path, field) in [("/health", "status"), ("/games", "games"), ("/matches?live=false&limit=3", "matches")] {
        let (status, body) = server.get(path).await;
        let page: Value = serde_json::from_str(&body).unwrap_or_else(|e| panic!("{path}: {e}: {body}"));
        assert!(status == 200 && !page[field].is_null(), "{path}: {body}");
    }
    assert_eq!(server.get("/matches?limit=many").await.0, 400);
    for id in ["m_none", "%ff", "m_%00", ""] {
        let (status, body) = server.get(&format!("/episodes/{id}")).await;
        let error: Value = serde_json::from_str(&body).unwrap_or_else(|e| panic!("{id}: {e}: {body}"));
        assert!(status == 404 && error["message"].is_string(), "{id}: {status} {body}");
    }
    let (_, metrics) = server.get("/metrics").await;
    for line in [
        "ludex_requests_total{type=\"ping\"} 1",
        "ludex_requests_total{type=\"step\"} 1",
        "ludex_errors_total{code=\"unknown_env\"} 1",
        "ludex_connections 1",
        "ludex_sessions_live 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn session_works_over_tls() {
    use rustls_pki_types::pem::PemObject as _;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tls");
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let files = ludex_server::config::TlsFiles { cert: cert.clone(), key };
    let server = Server::start(|c| c.tls = Some(files)).await;

    let mut roots = rustls::RootCertStore::empty();
    roots.add(rustls_pki_types::CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let trusting = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let trusting = trusting.with_root_certificates(roots).with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(trusting));
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let (mut ws, _) = tokio_tungstenite::client_async("wss://localhost/ws", stream).await.unwrap();
    let mut call = async |message: Value| -> Value {
        ws.send(Message::text(message.to_string())).await.unwrap();
        let answer = ws.next().await.unwrap().unwrap();
        serde_json::from_str(answer.to_text().unwrap()).unwrap()
    };
    let welcome = call(json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"})).await;
    assert_eq!(welcome["type"], "welcome");
    assert_eq!(call(json!({"type": "open", "id": 1, "game": "connect_four", "count": 500})).await["count"], 500);
    let b = call(json!({"type": "reset", "id": 2, "env": 1})).await;
    assert_eq!(b["mask"].as_array().unwrap().len(), 3_500);

    // A client without TLS gets no reply, and other connections are not disturbed.
    let mut plain = tokio::net::TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = plain.read_to_end(&mut rest).await;
    assert!(!rest.starts_with(b"HTTP/"), "{rest:?}");
    assert_eq!(call(json!({"type": "ping", "id": 3})).await["type"], "pong");
    server.stop().stopped().await;
}

#[tokio::test]
async fn startup_errors_state_the_reason() {
    let start = async |change: &dyn Fn(&mut ludex_server::Config)| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = ludex_server::Config::new(folder.path());
        change(&mut config);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let failed = ludex_server::run(listener, config, async {}).await;
        format!("{:#}", failed.expect_err("it cannot start"))
    };
    let missing =
        || ludex_server::config::TlsFiles { cert: "/nowhere/cert.pem".into(), key: "/nowhere/key.pem".into() };
    assert!(start(&|c| c.tls = Some(missing())).await.contains("/nowhere/cert.pem"));
    assert!(start(&|c| c.limits.replies_kept = 3).await.contains("replies_kept"));
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(data.path(), |_| {}).await;
    assert!(start(&|c| c.data = data.path().to_owned()).await.contains("another"), "two servers on one store");
    server.stop().stopped().await;
}
