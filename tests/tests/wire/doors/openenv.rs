//! OpenEnv on the server's port: frames, errors, episodes, many sessions.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use ludex_client::protocol::message::{GymView, Open, StepEnvs};
use ludex_client::{Client, Options};
use ludex_server::auth::{NewToken, Scopes, add};
use ludex_tests::Server;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

/// Timeout that no successful operation reaches.
const PATIENCE: Duration = Duration::from_secs(240);

/// Client of OpenEnv that writes its JSON by hand.
struct OpenEnv(WebSocketStream<TcpStream>);

impl OpenEnv {
    async fn open(server: &Server, game: &str) -> Self {
        Self::open_with(server, game, None).await
    }

    async fn open_with(server: &Server, game: &str, token: Option<&str>) -> Self {
        let mut request = format!("ws://{}/openenv/{game}/ws", server.address).into_client_request().unwrap();
        if let Some(token) = token {
            let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        let stream = TcpStream::connect(server.address).await.unwrap();
        OpenEnv(tokio_tungstenite::client_async(request, stream).await.expect("an upgrade").0)
    }

    async fn send(&mut self, text: impl Into<String>) {
        self.0.send(Message::text(text.into())).await.expect("a connection");
    }

    /// Returns the next message, or the close code.
    async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("a frame in time");
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    async fn call(&mut self, message: Value) -> Value {
        self.send(message.to_string()).await;
        self.next().await.expect("a reply")
    }

    async fn reset(&mut self, arguments: Value) -> Value {
        let reply = self.call(json!({ "type": "reset", "data": arguments })).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    async fn step(&mut self, answer: impl Into<Value>) -> Value {
        let reply = self.call(json!({ "type": "step", "data": { "answer": answer.into() } })).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    /// Plays the first legal move until the end, and returns all results.
    async fn play(&mut self, arguments: Value) -> Vec<Value> {
        let mut results = vec![self.reset(arguments).await];
        while results[results.len() - 1]["done"] == false {
            let answer = first_move(&results[results.len() - 1]);
            results.push(self.step(answer).await);
        }
        results
    }

    /// Sends a message and returns the code and the text of the error.
    async fn fail(&mut self, text: &str) -> (String, String) {
        self.send(text).await;
        let reply = self.next().await.expect("a reply");
        assert_eq!(reply["type"], "error", "{reply}");
        let text = |name: &str| reply["data"][name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }
}

fn first_move(result: &Value) -> String {
    format!("Answer: {}", result["observation"]["legal"][0].as_str().expect("a legal move"))
}

async fn server() -> Server {
    Server::start(|config| config.doors = ludex_cli::doors()).await
}

async fn post(server: &Server, path: &str, body: &str) -> (u16, Value) {
    let answer = ludex_tests::server::post(server.address, path, "", body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}

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
        (r#"{"type":"reset","data":{"opponents":["random","random"]}}"#, "VALIDATION_ERROR", "expected 1 agents"),
        (r#"{"type":"reset","data":{"opponents":"nobody"}}"#, "EXECUTION_ERROR", "nobody"),
        (r#"{"type":"reset","data":{"histroy":8}}"#, "EXECUTION_ERROR", "history"),
        (r#"{"type":"reset","data":{"history":"many"}}"#, "EXECUTION_ERROR", "history"),
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

#[tokio::test]
async fn refused_answers_end_as_a_forfeit() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
    let first = client.reset(json!({ "seed": 1, "tries": 2, "penalty": 0.25, "episode_id": "a" })).await;
    assert_eq!(
        (&first["reward"], &first["done"], &first["observation"]["refusal"]),
        (&Value::Null, &json!(false), &Value::Null)
    );
    let refused = client.step("I resign.").await;
    let words = refused["observation"]["refusal"].as_str().unwrap();
    assert!(refused["observation"]["prompt"].as_str().unwrap().contains(words));
    assert_eq!((&refused["reward"], &refused["done"]), (&json!(0.0), &json!(false)));
    assert_eq!(refused["observation"]["legal"], first["observation"]["legal"]);
    // A legal move starts the count again.
    let mut last = client.step(first_move(&first)).await;
    for _ in 0..2 {
        assert_eq!(last["done"], false);
        last = client.step("x(9,9)").await;
    }
    assert_eq!((&last["done"], &last["reward"]), (&json!(true), &json!(-1.75)));
    let metrics = &last["metadata"];
    assert_eq!((&metrics["forfeit"], &metrics["moves"], &metrics["return"]), (&json!(true), &json!(1), &json!(-1.0)));
    let (code, message) = client.fail(r#"{"type":"step","data":{"answer":"x(0,0)"}}"#).await;
    assert_eq!((code.as_str(), message.contains("reset")), ("EXECUTION_ERROR", true), "{message}");
    let state = client.call(json!({ "type": "state" })).await["data"].clone();
    assert_eq!((&state["episode_id"], &state["step_count"], &state["done"]), (&json!("a"), &json!(4), &json!(true)));
    assert_eq!(client.reset(json!({ "seed": 2 })).await["done"], false);
    server.stop().stopped().await;
}

#[tokio::test]
async fn episodes_follow_from_their_seeds() {
    let server = server().await;
    let (mut a, mut b) = (OpenEnv::open(&server, "leduc_poker").await, OpenEnv::open(&server, "leduc_poker").await);
    b.play(json!({ "seed": 3, "seat": 1, "history": 2 })).await;
    let mut starts = Vec::new();
    for seed in 1..9 {
        let arguments = json!({ "seed": seed, "seat": seed % 2, "scale": "unit" });
        let (one, two) = (a.play(arguments.clone()).await, b.play(arguments).await);
        assert_eq!(one, two);
        let reward = one[one.len() - 1]["reward"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&reward), "{reward}");
        starts.push(one[0]["observation"]["prompt"].clone());
    }
    starts.dedup();
    assert!(starts.len() > 1, "seeds have different starts");
    server.stop().stopped().await;
}

/// The prompts of an episode, on the native wire: system and user message of each turn.
async fn native_prompts(server: &Server, game: &str, settings: Value, seed: u64) -> Vec<Vec<String>> {
    let (client, _events) = Client::connect(&server.address.to_string(), Options::default()).await.unwrap();
    let env = client.open(Open {
        seats: Some(vec!["agent".into(), "random".into()]),
        views: Some(vec![GymView::Prompt]),
        prompt: settings.as_object().unwrap().clone(),
        ..Open::new(game)
    });
    let env = env.await.unwrap();
    let mut batch = env.reset(Some(seed)).await.unwrap();
    let mut prompts = Vec::new();
    while let Some(messages) = batch.prompt.as_ref().and_then(|rows| rows[0].as_ref()) {
        prompts.push(messages.iter().map(|message| message.content.clone()).collect());
        let legal = env.legal_actions(&batch).unwrap().row(0).iter().position(|legal| *legal).unwrap();
        let view = ludex_client::protocol::message::ViewEnv { names: Some(vec![legal as i64]), ..Default::default() };
        let name = env.view(view).await.unwrap().names.unwrap().remove(0);
        let answers = Some(vec![Some(format!("Answer: {name}"))]);
        batch = env.step_with(StepEnvs { answers, ..StepEnvs::default() }).await.unwrap();
    }
    prompts
}

#[tokio::test]
async fn prompts_equal_those_of_the_native_wire() {
    let server = server().await;
    for game in ["connect_four", "texas_holdem"] {
        for settings in
            [json!({ "prompting": "chat" }), json!({ "prompting": "cot", "history": 3, "template": "user" })]
        {
            let native = native_prompts(&server, game, settings.clone(), 5).await;
            let mut arguments = settings.clone();
            arguments["seed"] = json!(5);
            let played = OpenEnv::open(&server, game).await.play(arguments).await;
            assert_eq!(played.len(), native.len() + 1, "{game} {settings}");
            for (turn, (result, messages)) in played.iter().zip(&native).enumerate() {
                let observation = &result["observation"];
                assert_eq!(observation["prompt"], json!(messages[messages.len() - 1]));
                let in_conversation = settings["prompting"] == "chat" && turn > 0;
                let system = if in_conversation || messages.len() == 1 { "" } else { &messages[0] };
                assert_eq!(observation["system"], json!(system));
            }
            assert_eq!(played[native.len()]["observation"]["prompt"], "");
        }
    }
    server.stop().stopped().await;
}

#[tokio::test]
async fn hidden_and_document_moves_are_not_listed() {
    let server = server().await;
    let mut client = OpenEnv::open(&server, "tic_tac_toe").await;
    assert_eq!(client.reset(json!({ "seed": 1, "legal": false })).await["observation"]["legal"], json!([]));
    assert_eq!(client.step("x(1,1)").await["observation"]["legal"], json!([]));
    assert_ne!(client.reset(json!({ "seed": 1 })).await["observation"]["legal"], json!([]));
    // An object is the answer as the model wrote it.
    let reply = client.call(json!({ "type": "step", "data": { "move": "x(1,1)" } })).await;
    assert_eq!((&reply["data"]["observation"]["refusal"], &reply["data"]["done"]), (&Value::Null, &json!(false)));
    server.stop().stopped().await;
}

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
async fn http_routes_answer_as_those_of_openenv() {
    let server = server().await;
    let base = "/openenv/tic_tac_toe";
    let get = async |path: &str| {
        let (status, body) = server.get(&format!("{base}{path}")).await;
        (status, serde_json::from_str::<Value>(&body).unwrap_or(Value::Null))
    };
    assert_eq!(get("/health").await, (200, json!({ "status": "healthy" })));
    let (_, metadata) = get("/metadata").await;
    assert_eq!(metadata["name"], "tic_tac_toe");
    assert!(metadata["readme_content"].as_str().unwrap().len() > 100);
    assert_eq!(get("/state").await.1["step_count"], 0);
    let (_, openapi) = get("/openapi.json").await;
    let (_, schemas) = get("/schema").await;
    let (status, first) = post(&server, &format!("{base}/reset"), r#"{"seed":7}"#).await;
    assert_eq!((status, &first["done"]), (200, &json!(false)));
    let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for name in names(&first["observation"]) {
        assert!(names(&schemas["observation"]["properties"]).contains(&name), "{name}");
    }
    let (status, next) =
        post(&server, &format!("{base}/step"), &json!({ "action": { "answer": "x(0,0)" }, "seed": 7 }).to_string())
            .await;
    assert_eq!((status, &next["observation"]["refusal"]), (200, &Value::Null));
    for (path, body, status) in [
        ("/reset", "", 200),
        ("/reset", "{", 422),
        ("/reset", r#"{"seed":"a"}"#, 422),
        ("/reset", r#"{"opponents":"nobody"}"#, 400),
        ("/step", r#"{"action":"x"}"#, 422),
        ("/mcp", "{}", 200),
        ("/tic_tac_toe/tasks", r#"{"split":"test"}"#, 200),
        ("/tic_tac_toe/num_tasks", r#"{"split":"dev"}"#, 422),
        ("/tic_tac_toe/jump", "{}", 404),
        ("/nim/tasks", r#"{"split":"test"}"#, 404),
    ] {
        assert_eq!(post(&server, &format!("{base}{path}"), body).await.0, status, "{path} {body}");
    }
    assert_eq!(get("/list_environments").await.1, json!(["tic_tac_toe"]));
    assert_eq!(get("/tic_tac_toe/splits").await.1[0]["name"], "train");
    // The description names every route, and every route that it names exists.
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        let path = path.replace("{env}", "tic_tac_toe");
        let status = match methods.get("get") {
            Some(_) => get(&path).await.0,
            None => post(&server, &format!("{base}{path}"), "{}").await.0,
        };
        assert!(matches!(status, 200 | 422), "{path}: {status}");
    }
    // Without an upgrade, the route of sessions refuses.
    assert_eq!(server.get(&format!("{base}/ws")).await.0, 426);
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
