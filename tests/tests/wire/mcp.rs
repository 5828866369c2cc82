//! The door for MCP over HTTP: JSON-RPC requests as a client of the protocol sends them.

use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_store::{MatchFilter, Store};
use ludex_tests::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn started() -> Server {
    Server::start(|config| config.doors = ludex_cli::doors()).await
}

/// Sends a message on a new connection, and returns the status and the response.
async fn send(server: &Server, headers: &str, message: &Value) -> (u16, Value) {
    let (address, body) = (server.address, message.to_string());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())))
}

/// Requests a method and returns its result.
async fn request(server: &Server, headers: &str, method: &str, params: Value) -> Value {
    let (status, response) =
        send(server, headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await;
    assert_eq!(status, 200, "{response}");
    assert!(response["result"].is_object(), "{response}");
    response["result"].clone()
}

/// Calls a tool and returns its result.
async fn call(server: &Server, headers: &str, tool: &str, arguments: Value) -> Value {
    request(server, headers, "tools/call", json!({ "name": tool, "arguments": arguments })).await
}

/// Calls a tool that must succeed, and returns its JSON object.
async fn well(server: &Server, headers: &str, tool: &str, arguments: Value) -> Value {
    let result = call(server, headers, tool, arguments).await;
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

/// Calls a tool that must fail, and returns the text that the model reads.
async fn failure(server: &Server, headers: &str, tool: &str, arguments: Value) -> String {
    let result = call(server, headers, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    texts(&result)
}

/// Returns the texts of a result.
fn texts(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Returns the first legal move in a prompt.
fn legal_move(reply: &Value) -> String {
    let prompt = reply["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    prompt.split_once("Legal moves:\n").unwrap().1.split("\n").next().unwrap().split(", ").next().unwrap().to_owned()
}

/// Plays a practice game to its end.
async fn finish(server: &Server, headers: &str, mut reply: Value) -> Value {
    let id = reply["id"].clone();
    while reply["over"] == false {
        reply = well(server, headers, "play", json!({ "id": id, "answer": legal_move(&reply) })).await;
    }
    reply
}

/// Stops the server, and returns all records of its store, which must verify.
async fn records(server: Server, data: &tempfile::TempDir) -> Vec<Value> {
    // Records of environments are written in the background and are complete after the store is closed.
    server.stop().stopped().await;
    let store = Store::open_shared(data.path()).await.unwrap();
    let rows = store.records(&MatchFilter::default(), 0, 100).await.unwrap();
    store.close().await.unwrap();
    let verifier = Verifier::new(ludex_games::builtin());
    for row in &rows {
        if let Err(fault) = verifier.verify_line(&row.record, Source::default()) {
            panic!("{fault}: {}", row.record);
        }
    }
    rows.iter().map(|row| serde_json::from_str(&row.record).unwrap()).collect()
}

/// Starts a server on a folder that outlives it.
async fn started_in(data: &tempfile::TempDir) -> Server {
    Server::start_in(data.path(), |config| config.doors = ludex_cli::doors()).await
}

#[tokio::test]
async fn client_is_initialized_and_gets_the_tools() {
    let server = started().await;
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let initialized = request(&server, "", "initialize", hello).await;
    assert_eq!(initialized["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["serverInfo"]["name"], "ludex");
    let (status, _) = send(&server, "", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    assert_eq!(status, 202);
    let tools = request(&server, "", "tools/list", json!({})).await["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected = ["list_games", "rules", "begin", "join", "position", "play", "resign", "history", "own_games"];
    assert_eq!(names, expected);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn whole_game_is_played_against_an_anchor() {
    let data = tempfile::tempdir().unwrap();
    let server = started_in(&data).await;
    let begin = json!({ "game": "tic_tac_toe", "opponent": "anchor level=1", "seat": "o", "seed": 5 });
    let reply = well(&server, "", "begin", begin).await;
    assert_eq!((&reply["seat"], &reply["seat_name"]), (&json!(1), &json!("o")));
    assert_eq!(reply["messages"].as_array().unwrap().len(), 2, "{reply}");
    let id = reply["id"].clone();
    let end = finish(&server, "", reply).await;
    let own = end["returns"][1].clone();
    assert_eq!(end["return"], own);
    let again = well(&server, "", "position", json!({ "id": id })).await;
    assert_eq!((&again["over"], &again["return"]), (&json!(true), &own));
    let late = failure(&server, "", "play", json!({ "id": id, "answer": "o(0,0)" })).await;
    assert!(late.contains("game_over"), "{late}");
    let history = call(&server, "", "history", json!({ "id": id })).await;
    assert!(texts(&history).contains("Your turn 1:") && texts(&history).contains("The final position:"));

    let records = records(server, &data).await;
    let [record] = &records[..] else { panic!("expected one record, got {}", records.len()) };
    assert_eq!((&record["game"], &record["seed"]), (&json!("tic_tac_toe"), &json!("5")));
    assert_eq!(record["returns"][1].as_f64(), own.as_f64());
}

#[tokio::test]
async fn refused_answer_can_be_mended() {
    let server = started().await;
    let reply = well(&server, "", "begin", json!({ "game": "tic_tac_toe" })).await;
    let id = &reply["id"];
    let refused = call(&server, "", "play", json!({ "id": id, "answer": "x(7,7)" })).await;
    assert_eq!((&refused["isError"], &refused["structuredContent"]["verdict"]), (&json!(true), &json!("unparsed")));
    assert!(texts(&refused).contains("x(7,7)") && texts(&refused).contains("Legal moves:"), "{refused}");
    let object = json!({ "reason": "the centre", "move": "x(1,1)" });
    let played = well(&server, "", "play", json!({ "id": id, "answer": object })).await;
    assert_eq!((&played["verdict"], &played["move"]), (&json!("ok"), &json!("x(1,1)")));
    server.stop().stopped().await;
}

#[tokio::test]
async fn bad_arguments_are_named() {
    let server = started().await;
    let cases = [
        ("begin", json!({ "game": "tic_tak_toe" }), "tic_tac_toe"),
        ("begin", json!({ "game": "tic_tac_toe", "seat": 2 }), "0..=1"),
        ("begin", json!({ "game": "tic_tac_toe", "opponent": ["random", "random"] }), "1 other seats"),
        ("begin", json!({ "game": "tic_tac_toe", "opponent": "absent" }), "unknown_agent"),
        ("begin", json!({ "game": "tic_tac_toe", "prompt": { "histori": 1 } }), "histori"),
        ("begin", json!({ "gane": "tic_tac_toe" }), "gane"),
        ("join", json!({}), "either `game`"),
        ("join", json!({ "game": "nim", "name": "a b" }), "A-Za-z0-9._-"),
        ("position", json!({ "id": "g0" }), "unknown_game_id"),
        ("list_games", json!({ "information": "no" }), "imperfect"),
    ];
    for (tool, arguments, word) in cases {
        let text = failure(&server, "", tool, arguments).await;
        assert!(text.contains(word), "{tool}: expected {word}, got {text}");
    }
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "fly" } });
    let (_, response) = send(&server, "", &unknown).await;
    assert!(response["error"]["message"].as_str().unwrap().contains("own_games"), "{response}");
    server.stop().stopped().await;
}

#[tokio::test]
async fn rules_are_tools_and_resources() {
    let server = started().await;
    let games = well(&server, "", "list_games", json!({ "text": "poker" })).await;
    assert!(games["games"].as_array().unwrap().iter().any(|game| game["game"] == "kuhn_poker"), "{games}");
    let rules = well(&server, "", "rules", json!({ "game": "nim" })).await["rules"].clone();
    let resources = request(&server, "", "resources/list", json!({})).await["resources"].clone();
    let address = "ludex://games/nim/rules";
    assert!(resources.as_array().unwrap().iter().any(|resource| resource["uri"] == address), "{resources}");
    let read = request(&server, "", "resources/read", json!({ "uri": address })).await;
    assert_eq!((&read["contents"][0]["text"], &read["contents"][0]["mimeType"]), (&rules, &json!("text/markdown")));
    let templates = request(&server, "", "resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "ludex://games/{game}/rules");
    for uri in ["ludex://games/nimm/rules", "ludex://games/nim", "file:///etc/passwd"] {
        let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
        assert!(send(&server, "", &read).await.1["error"].is_object(), "{uri}");
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn games_belong_to_a_token() {
    let server = started().await;
    let owner = |name: &str| NewToken {
        owner: name.into(),
        scopes: Scopes::OPEN,
        names: vec![format!("{name}.*")],
        expires_ms: None,
    };
    let tokens = add(&server.hub.store, &[owner("ann"), owner("bob")], 0).await.unwrap();
    let [ann, bob] = [0, 1].map(|k| format!("Authorization: Bearer {}\r\n", tokens[k]));
    let begin = json!({ "game": "tic_tac_toe" });
    let refused = failure(&server, "", "begin", begin.clone()).await;
    assert!(refused.contains("unauthorized"), "{refused}");
    let reply = well(&server, &ann, "begin", begin).await;
    let id = json!({ "id": reply["id"] });

    // Each request has a connection of its own, so the handle alone leads to the game.
    assert_eq!(well(&server, &ann, "own_games", json!({})).await["games"][0]["id"], reply["id"]);
    assert_eq!(well(&server, &ann, "position", id.clone()).await["over"], false);
    assert_eq!(well(&server, &bob, "own_games", json!({})).await["games"], json!([]));
    for headers in ["", &bob] {
        let refused = failure(&server, headers, "position", id.clone()).await;
        assert!(refused.contains("unknown_game_id"), "{refused}");
    }
    let refused = failure(&server, &ann, "join", json!({ "game": "nim", "against": "random" })).await;
    assert!(refused.contains("forbidden"), "{refused}");
    let join = json!({ "game": "nim", "against": "random", "name": "ann.1", "seat": 0 });
    assert_eq!(well(&server, &ann, "join", join).await["waiting"], false);
    server.stop().stopped().await;
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let server = started().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(send(&server, "Origin: https://evil.example\r\n", &list).await.0, 403);
    assert_eq!(send(&server, "Origin: http://localhost:3000\r\n", &list).await.0, 200);
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "x": "x".repeat(600_000) } });
    assert_eq!(send(&server, "", &long).await.0, 413);
    assert_eq!(server.get("/mcp").await.0, 405);
    server.stop().stopped().await;
}

#[tokio::test]
async fn resigned_game_is_recorded_as_a_loss() {
    let data = tempfile::tempdir().unwrap();
    let server = started_in(&data).await;
    let reply = well(&server, "", "begin", json!({ "game": "connect_four", "seat": 1 })).await;
    let played = json!({ "id": reply["id"], "answer": legal_move(&reply) });
    well(&server, "", "play", played).await;
    let end = well(&server, "", "resign", json!({ "id": reply["id"] })).await;
    assert_eq!((&end["over"], &end["return"]), (&json!(true), &json!(-1.0)));
    let records = records(server, &data).await;
    let [record] = &records[..] else { panic!("expected one record, got {}", records.len()) };
    assert_eq!((&record["at_fault"], &record["outcome"][1]), (&json!(1), &json!("loss")));
}

#[tokio::test]
async fn picture_is_an_image_or_a_resource() {
    let server = started().await;
    let reply = well(&server, "", "begin", json!({ "game": "tic_tac_toe" })).await;
    for (form, kind) in [("image", "image"), ("resource", "resource")] {
        let shown = call(&server, "", "position", json!({ "id": reply["id"], "picture": form })).await;
        let last = shown["content"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["type"], kind, "{last}");
        let media = if form == "image" { &last["mimeType"] } else { &last["resource"]["mimeType"] };
        assert_eq!(media, "image/svg+xml");
    }
    server.stop().stopped().await;
}

/// Plays a rated match against another client of a queue, after a refused answer.
async fn play_in_queue(server: &Server, name: &str) -> Value {
    let join = json!({ "game": "tic_tac_toe", "queue": "q", "rated": true, "name": name });
    let mut reply = well(server, "", "join", join).await;
    let mut has_moved = false;
    while reply["over"] == false {
        let id = reply["id"].clone();
        if reply["waiting"] == true {
            reply = well(server, "", "position", json!({ "id": id })).await;
            continue;
        }
        if !has_moved {
            let refused = failure(server, "", "play", json!({ "id": id, "answer": "I pass." })).await;
            assert!(refused.ends_with("Tries left: 2."), "{refused}");
        }
        has_moved = true;
        reply = well(server, "", "play", json!({ "id": id, "answer": legal_move(&reply) })).await;
    }
    reply
}

#[tokio::test]
async fn seats_of_a_queue_are_played_as_rated_matches() {
    let data = tempfile::tempdir().unwrap();
    let server = started_in(&data).await;
    let (first, second) = tokio::join!(play_in_queue(&server, "one"), play_in_queue(&server, "two"));
    let last = &first["last_match"];
    assert_eq!(last["match"], second["last_match"]["match"]);
    assert_eq!(last["reason"], "finished", "{last}");
    let records = records(server, &data).await;
    let [record] = &records[..] else { panic!("expected one record, got {}", records.len()) };
    assert_eq!((&record["episode"], &record["rated"]), (&last["match"], &json!(true)));
}
