//! `ludex check llm-stub` as seen by a client of the endpoint, over plain HTTP.

use ludex_env::{DynState, Viewer};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::{folder, ludex};

/// Running stub; dropping this value kills its process.
pub(super) struct Stub {
    pub(super) address: SocketAddr,
    child: Child,
}

/// HTTP reply of the stub.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// Returns the JSON document of a reply that must be a success.
    fn well(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }
}

impl Stub {
    pub(super) fn start(more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
            .args(["check", "llm-stub", "--json"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("a document");
        let url = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")?.strip_suffix("/v1"));
        Stub { address: url.and_then(|a| a.parse().ok()).expect("a base_url"), child }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        Reply { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn chat(&self, body: &Value) -> Reply {
        self.send("POST", "/v1/chat/completions", "", &body.to_string())
    }

    fn messages(&self, body: &Value) -> Reply {
        self.send("POST", "/v1/messages", "", &body.to_string())
    }

    fn ended(mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a request with this text and additional fields.
fn body(text: &str, more: Value) -> Value {
    let mut body = json!({ "model": "m", "max_tokens": 1000, "messages": [{ "role": "user", "content": text }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

const LISTED: &str = "A position.\nLegal moves: north, south, east\n";

fn schema() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "reason": text, "move": text }, "required": ["reason", "move"] })
}

fn with_schema() -> Value {
    json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "answer", "schema": schema() } } })
}

fn with_tool() -> Value {
    json!({
        "tools": [{ "name": "answer", "input_schema": schema() }],
        "tool_choice": { "type": "tool", "name": "answer" },
    })
}

/// Returns the text of an answer in OpenAI's form.
fn text(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_else(|| panic!("no content: {answer}"))
}

/// Returns the metadata of a move request to `seat`.
fn metadata(state: &dyn DynState, seat: usize, purpose: &str) -> Value {
    let view = state.view(Viewer::Seat(seat)).value();
    let question = json!({
        "game": state.spec().string, "seat": seat, "turn": 0, "attempt": 0, "legal": state.legal_list(seat), "view": view,
        "purpose": purpose,
    });
    json!({ "metadata": { "ludex": question.to_string() } })
}

/// Returns a position of tic-tac-toe in which the first seat is to move and can complete a row.
fn almost_won() -> Box<dyn DynState> {
    let mut state = ludex_games::load("tic_tac_toe").unwrap().start();
    for (k, a) in [0, 3, 1, 4].into_iter().enumerate() {
        state.play(k % 2, a).unwrap();
    }
    state
}

#[test]
fn stub_replies_in_every_requested_format() {
    let stub = Stub::start(&["--agent", "alphabeta depth=9"]);
    let state = almost_won();
    let view = state.view(Viewer::Seat(0));
    let about = metadata(&*state, 0, "move");
    let with = |mut more: Value| {
        more.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
        more
    };
    let winning = view.action_text(0, 2);

    let plain = stub.chat(&body("Your move?", with(json!({})))).well();
    let last = text(&plain).lines().last().unwrap().to_owned();
    assert_eq!(last, format!("Answer: {winning}"));
    assert_eq!((&plain["choices"][0]["finish_reason"], &plain["object"]), (&json!("stop"), &json!("chat.completion")));

    let formed = stub.chat(&body("Your move?", with(with_schema()))).well();
    let object: Value = serde_json::from_str(text(&formed)).unwrap();
    assert_eq!(object["move"], winning);
    assert!(object["reason"].as_str().unwrap().len() > 40, "{object}");

    let message = stub.messages(&body("Your move?", with(json!({})))).well();
    assert_eq!((&message["type"], &message["stop_reason"]), (&json!("message"), &json!("end_turn")));
    assert_eq!(message["content"][0]["text"].as_str().unwrap().lines().last(), Some(last.as_str()));

    let called = stub.messages(&body("Your move?", with(with_tool()))).well();
    assert_eq!(called["stop_reason"], "tool_use");
    assert_eq!(
        (&called["content"][0]["name"], &called["content"][0]["input"]["move"]),
        (&json!("answer"), &json!(winning))
    );

    // The agent decides from the request alone; ids may be in any order.
    assert_eq!(view.parse(0, &state.legal_list(0), &winning), Some(2));
}

#[test]
fn stub_replies_in_every_game() {
    let stub = Stub::start(&[]);
    for entry in ludex_games::games() {
        let mut state = ludex_games::load(entry.info.id).unwrap().start();
        let mut luck = ludex_env::Stream::from_text(entry.info.id);
        let mut outcomes = ludex_env::Outcomes::new();
        let seat = loop {
            match state.turn() {
                ludex_env::ToMove::Seat(seat) => break seat,
                ludex_env::ToMove::Chance => {
                    state.chance(&mut outcomes);
                    state.play_chance(luck.pick(&outcomes).unwrap()).unwrap();
                }
                turn => {
                    break (0..2).find(|&s| !state.legal_list(s).is_empty()).unwrap_or_else(|| panic!("{turn:?}"));
                }
            }
        };
        let legal = state.legal_list(seat);
        let answer = stub.chat(&body("Your move?", metadata(&*state, seat, "move"))).well();
        let said = text(&answer).rsplit_once("Answer: ").expect("a label").1.to_owned();
        let read = state.view(Viewer::Seat(seat)).parse(seat, &legal, &said);
        assert!(read.is_some_and(|a| legal.contains(&a)), "{}: {said}", entry.info.id);
    }
}

#[test]
fn equal_requests_get_equal_replies() {
    let ask = |stub: &Stub, k: u32| {
        let body = body(&format!("Question {k}.\n{LISTED}"), json!({}));
        text(&stub.chat(&body).well()).lines().last().unwrap().to_owned()
    };
    let (one, two) = (Stub::start(&["--seed", "5"]), Stub::start(&["--seed", "5", "--rate-limit", "0"]));
    let forth: Vec<String> = (0..20).map(|k| ask(&one, k)).collect();
    let mut back: Vec<String> = (0..20).rev().map(|k| ask(&two, k)).collect();
    back.reverse();
    assert_eq!(forth, back);
    for mv in ["north", "south", "east"] {
        assert!(forth.contains(&format!("Answer: {mv}")), "{forth:?}");
    }
    let other = Stub::start(&["--seed", "6"]);
    assert_ne!(forth, (0..20).map(|k| ask(&other, k)).collect::<Vec<_>>());
    // The agent's randomness also depends only on the request.
    let state = ludex_games::load("connect_four").unwrap().start();
    let ask = |stub: &Stub, k| text(&stub.chat(&body(&format!("{k}"), metadata(&*state, 0, "move"))).well()).to_owned();
    let forth: Vec<String> = (0..8).map(|k| ask(&one, k)).collect();
    assert_eq!(forth, (0..8).map(|k| ask(&two, k)).collect::<Vec<_>>());
    assert!(forth.iter().any(|said| *said != forth[0]), "{forth:?}");
}

#[test]
fn usage_counts_four_characters_per_token() {
    let stub = Stub::start(&["--out-tokens", "100"]);
    let body = body(LISTED, json!({ "n": 3 }));
    let answer = stub.chat(&body).well();
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 3);
    let texts: Vec<&str> = choices.iter().map(|c| c["message"]["content"].as_str().unwrap()).collect();
    let out: usize = texts.iter().map(|t| t.len().div_ceil(4)).sum();
    assert_eq!(answer["usage"]["completion_tokens"], out);
    assert!(texts.iter().all(|t| (380..=404).contains(&t.len())), "{texts:?}");
    assert_eq!(answer["usage"]["prompt_tokens"], LISTED.len().div_ceil(4));
    let message = json!({ "system": "Four", "model": "m", "max_tokens": 10, "messages": [{ "role": "user", "content": [
        { "type": "text", "text": LISTED }] }] });
    let answer = stub.messages(&message).well();
    assert_eq!(answer["usage"]["input_tokens"], (LISTED.len() + 4).div_ceil(4));
    assert_eq!((&answer["usage"]["output_tokens"], &answer["stop_reason"]), (&json!(10), &json!("max_tokens")));
}

#[test]
fn stub_replies_to_votes_and_critiques() {
    let stub = Stub::start(&[]);
    let state = almost_won();
    let ask = |purpose: &str, prompt: &str, more: Value| {
        let mut more = more;
        more.as_object_mut().unwrap().extend(metadata(&*state, 0, purpose).as_object().unwrap().clone());
        text(&stub.chat(&body(prompt, more)).well()).to_owned()
    };
    let vote = ask("vote", "Which is best?\n7. this\n8. that\n", json!({}));
    assert!(vote.ends_with("Answer: 7") || vote.ends_with("Answer: 8"), "{vote}");
    let ids = json!({ "properties": { "vote": { "enum": [4, 5] }, "sure": { "type": "boolean" } } });
    let format = json!({ "response_format": { "type": "json_schema", "json_schema": { "schema": ids } } });
    let vote: Value = serde_json::from_str(&ask("vote", "Which?", format)).unwrap();
    assert!(vote["vote"] == 4 || vote["vote"] == 5, "{vote}");
    assert!(!ask("critique", "What is wrong?", json!({})).contains("Answer:"));
    let best = ask(
        "vote",
        "Moves so far:\n1. a1\n\nChoice 7:\nthis\nChoice 8:\nthat\nEnd with:\n\nBest: <the number>",
        json!({}),
    );
    assert!(best.ends_with("Best: 7") || best.ends_with("Best: 8"), "{best}");
    let labelled = ask(
        "move",
        "End with these lines:\n\nEmotion: <a letter>\nAnalysis: <a few words>\nAnswer: <your move>",
        json!({}),
    );
    let labels: Vec<&str> = labelled.lines().filter_map(|l| l.split_once(": ")).map(|l| l.0).collect();
    assert_eq!(labels, ["Emotion", "Analysis", "Answer"], "{labelled}");
    let emotion = ask("emotion", "How do you feel?", json!({}));
    assert!(emotion.ends_with(['A', 'B', 'C', 'D', 'E']), "{emotion}");
    let lost = text(&stub.chat(&body("Nothing is listed here.", json!({}))).well()).to_owned();
    assert!(!lost.contains("Answer:"), "{lost}");
}

#[test]
fn injected_content_faults_have_api_format() {
    let ask = |fault: &str, more: Value| {
        let stub = Stub::start(&[fault, "1"]);
        [stub.chat(&body(LISTED, more)).well(), stub.messages(&body(LISTED, with_tool())).well()]
    };
    for form in [json!({}), with_schema()] {
        let [chat, message] = ask("--empty", form.clone());
        assert_eq!((text(&chat), &chat["choices"][0]["finish_reason"]), ("", &json!("stop")));
        assert_eq!((&message["content"], &message["stop_reason"]), (&json!([]), &json!("end_turn")));
        let [chat, message] = ask("--prose", form.clone());
        assert!(!text(&chat).contains("Answer:") && serde_json::from_str::<Value>(text(&chat)).is_err(), "{chat}");
        assert_eq!(message["content"][0]["type"], "text");
        let [chat, message] = ask("--truncate", form.clone());
        assert_eq!(
            (&chat["choices"][0]["finish_reason"], &message["stop_reason"]),
            (&json!("length"), &json!("max_tokens"))
        );
        assert!(!text(&chat).contains("north") && !text(&chat).contains("Answer:"), "{chat}");
        let [chat, message] = ask("--refuse", form.clone());
        let choice = &chat["choices"][0];
        let refused = choice["finish_reason"] == "content_filter" || choice["message"]["refusal"].is_string();
        assert!(refused && choice["message"]["content"].is_null(), "{chat}");
        assert_eq!(message["stop_reason"], "refusal");
    }
    let broken = Stub::start(&["--malformed", "1"]).chat(&body(LISTED, json!({})));
    assert_eq!(broken.status, 200);
    assert!(broken.body.starts_with('{') && serde_json::from_str::<Value>(&broken.body).is_err(), "{}", broken.body);
}

#[test]
fn retry_succeeds_after_transport_fault() {
    let stub = Stub::start(&["--rate-limit", "1", "--retry-after", "7"]);
    let late = stub.chat(&body(LISTED, json!({})));
    assert_eq!(late.status, 429);
    assert!(late.head.contains("retry-after: 7"), "{}", late.head);
    assert_eq!(late.json()["error"]["type"], "rate_limit_error");
    let stub = Stub::start(&["--fail", "1"]);
    assert_eq!(stub.chat(&body(LISTED, json!({}))).status, 500);
    let error = stub.messages(&body(LISTED, json!({})));
    assert_eq!((error.status, &error.json()["error"]["type"]), (500, &json!("api_error")));

    let stub = Stub::start(&["--rate-limit", "0.3", "--fail", "0.3", "--malformed", "0.3"]);
    let (mut good, mut bad) = (Vec::new(), 0);
    while good.len() < 5 {
        let reply = stub.chat(&body(LISTED, json!({})));
        match serde_json::from_str::<Value>(&reply.body) {
            Ok(answer) if reply.status == 200 => good.push(answer),
            _ => bad += 1,
        }
        assert!(bad < 1000, "no request succeeds");
    }
    assert!(bad > 0, "no request fails");
    assert!(good.iter().all(|answer| *answer == good[0]), "a retry gets the same reply");
}

#[test]
fn invalid_requests_are_refused_with_reason() {
    let stub = Stub::start(&["--context", "50"]);
    let state = almost_won();
    let about = |change: &dyn Fn(&mut Value)| {
        let whole = metadata(&*state, 0, "move");
        let mut question: Value = serde_json::from_str(whole["metadata"]["ludex"].as_str().unwrap()).unwrap();
        change(&mut question);
        body("?", json!({ "metadata": { "ludex": question.to_string() } }))
    };
    let form = |form: Value| body(LISTED, json!({ "response_format": form }));
    for (bad, said) in [
        (json!({}), "model"),
        (json!({ "model": "m" }), "messages"),
        (json!({ "model": "m", "messages": [] }), "at least one"),
        (json!({ "model": "m", "messages": [{ "role": "king", "content": "?" }] }), "king"),
        (json!({ "model": "m", "messages": [{ "role": "user", "content": 7 }] }), "content"),
        (body(LISTED, json!({ "n": 0 })), "n:"),
        (body(LISTED, json!({ "n": 1_000_000 })), "n:"),
        (body(LISTED, json!({ "stream": "yes" })), "boolean"),
        (body(LISTED, json!({ "max_tokens": 0 })), "max_tokens"),
        (form(json!(7)), "response_format"),
        (form(json!({ "type": "json_schema" })), "schema"),
        (body(LISTED, json!({ "tool_choice": { "type": "function", "function": { "name": "no" } } })), "tool_choice"),
        (body("?", json!({ "metadata": { "ludex": 7 } })), "metadata.ludex"),
        (body("?", json!({ "metadata": { "ludex": "{" } })), "metadata.ludex"),
        (about(&|q| q["game"] = json!("tic_tac_to")), "did you mean tic_tac_toe?"),
        (about(&|q| q["seat"] = json!(2)), "expected a seat below 2"),
        (about(&|q| q["view"] = json!(null)), "view"),
        (about(&|q| q["legal"] = json!([])), "legal"),
        (about(&|q| q["legal"] = json!([0])), "legal"),
        (about(&|q| q["legal"] = json!([4_000_000_000_u32])), "legal"),
        (body(&"long ".repeat(100), json!({})), "maximum context length is 50"),
    ] {
        let reply = stub.chat(&bad);
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["type"]), (400, &json!("invalid_request_error")), "{bad}");
        assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
    }
    assert_eq!(stub.chat(&body(&"long ".repeat(100), json!({}))).json()["error"]["code"], "context_length_exceeded");
    let long = stub.messages(&body(&"long ".repeat(100), json!({})));
    assert!(long.json()["error"]["message"].as_str().unwrap().contains("prompt is too long"), "{}", long.body);
    let mut free = body(LISTED, json!({}));
    free.as_object_mut().unwrap().remove("max_tokens");
    assert_eq!((stub.messages(&free).status, stub.chat(&free).status), (400, 200));
    assert_eq!(stub.chat(&body(LISTED, json!({ "model": "missing-one" }))).json()["error"]["code"], "model_not_found");
    assert_eq!(
        stub.messages(&body(LISTED, json!({ "model": "missing-one" }))).json()["error"]["type"],
        "not_found_error"
    );
    for (method, path, status) in [
        ("POST", "/chat/completions", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/models", 200),
    ] {
        assert_eq!(stub.send(method, path, "", "").json()["error"].is_object(), status != 200);
        assert_eq!(stub.send(method, path, "", "").status, status, "{method} {path}");
    }
    let damaged = stub.send("POST", "/v1/messages", "", "{\"model\": ");
    assert_eq!((damaged.status, &damaged.json()["type"]), (400, &json!("error")));
}

#[test]
fn missing_api_key_and_unsupported_schema_are_refused() {
    let stub = Stub::start(&["--key", "secret", "--no-schema"]);
    let text = body(LISTED, json!({})).to_string();
    let ask = |path: &str, headers: &str| stub.send("POST", path, headers, &text).status;
    assert_eq!(ask("/v1/chat/completions", ""), 401);
    assert_eq!(ask("/v1/chat/completions", "Authorization: Bearer other\r\n"), 401);
    assert_eq!(ask("/v1/chat/completions", "Authorization: Bearer secret\r\n"), 200);
    assert_eq!(ask("/v1/messages", "x-api-key: secret\r\n"), 200);
    assert_eq!(stub.send("GET", "/v1/models", "", "").status, 401);
    for (path, form) in [("/v1/chat/completions", with_schema()), ("/v1/messages", with_tool())] {
        let reply = stub.send("POST", path, "x-api-key: secret\r\n", &body(LISTED, form).to_string());
        assert_eq!(reply.status, 400);
        assert!(reply.body.contains("response_format"), "{}", reply.body);
    }
}

#[test]
fn stub_exits_after_given_number_of_requests() {
    let stub = Stub::start(&["--down-after", "2"]);
    assert_eq!(stub.chat(&body(LISTED, json!({}))).status, 200);
    assert_eq!(stub.chat(&body(LISTED, json!({}))).status, 200);
    let address = stub.address;
    assert!(stub.ended().success());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn stub_prints_agent_spec() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
        .args(["check", "llm-stub", "--agent", "solver", "--down-after", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let at = lines.next().expect("where it is");
    let url = at.rsplit(' ').next().expect("its address");
    let said = lines.next().expect("what a spec needs");
    assert!(said.contains(&format!("base_url={url} stub=true; others get random moves")), "{said}");
    child.kill().expect("its end");
    child.wait().expect("its end");
}

#[test]
fn invalid_stub_options_are_refused() {
    let at = folder();
    for (args, code, said) in [
        (&["check", "llm-stub", "--agent", "randon"][..], 1, "did you mean random?"),
        (&["check", "llm-stub", "--prose", "1.5"], 2, "a probability from 0 to 1"),
        (&["check", "llm-stub", "--fail", "NaN"], 2, "a probability from 0 to 1"),
        (&["check", "llm-stub", "--listen", "192.0.2.1:1"], 1, "--listen"),
    ] {
        let ran = ludex(at.path(), args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{}", ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

/// Polls a batch until it has ended and returns its status document.
fn over(stub: &Stub, page: &str) -> Value {
    for _ in 0..500 {
        let batch = stub.send("GET", page, "", "").well();
        if batch["status"] != "in_progress" && batch["processing_status"] != "in_progress" {
            return batch;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{page} does not end")
}

/// Returns the result lines of a batch, sorted by request id.
fn by_question(stub: &Stub, page: &str) -> Vec<(String, Value)> {
    let page = stub.send("GET", page, "", "");
    assert_eq!(page.status, 200, "{}", page.body);
    let lines = page.body.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["custom_id"].as_str().unwrap().to_owned(), line)).collect()
}

#[test]
fn openai_batches_use_files() {
    let stub = Stub::start(&[]);
    let upload = |lines: &[Value]| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let form = format!(
            "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n{lines}\r\n--x--\r\n"
        );
        let kind = "Content-Type: multipart/form-data; boundary=x\r\n";
        stub.send("POST", "/v1/files", kind, &form).well()["id"].as_str().unwrap().to_owned()
    };
    let create = |file: &str| {
        let asked = json!({ "input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h" });
        stub.send("POST", "/v1/batches", "", &asked.to_string())
    };
    let line = |id: &str, body: Value| json!({ "custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body });
    let lines = [line("a", body(LISTED, json!({}))), line("b", body(LISTED, json!({ "stream": true })))];
    let batch = create(&upload(&lines)).well();
    assert_eq!((&batch["object"], &batch["request_counts"]["total"]), (&json!("batch"), &json!(2)));
    let batch = over(&stub, &format!("/v1/batches/{}", batch["id"].as_str().unwrap()));
    assert_eq!(batch["status"], "completed");
    assert_eq!(batch["request_counts"], json!({ "total": 2, "completed": 1, "failed": 1 }));
    let file = |name: &str| by_question(&stub, &format!("/v1/files/{}/content", batch[name].as_str().unwrap()));
    let (good, bad) = (file("output_file_id"), file("error_file_id"));
    // The batched answer equals the answer to a single request.
    let single = stub.chat(&body(LISTED, json!({}))).well();
    assert_eq!((good.len(), good[0].0.as_str(), &good[0].1["response"]["body"]), (1, "a", &single));
    assert_eq!((bad.len(), bad[0].0.as_str(), &bad[0].1["response"]["status_code"]), (1, "b", &json!(400)));

    let twice = over(
        &stub,
        &format!("/v1/batches/{}", {
            let batch = create(&upload(&[lines[0].clone(), lines[0].clone()])).well();
            batch["id"].as_str().unwrap().to_owned()
        }),
    );
    assert_eq!(twice["status"], "failed");
    assert!(twice["errors"]["data"][0]["message"].as_str().unwrap().contains("duplicate"), "{twice}");
    assert_eq!(create("file-nowhere").status, 404);
    assert_eq!(stub.send("GET", "/v1/batches/nowhere", "", "").status, 404);
}

#[test]
fn anthropic_batch_is_created_with_a_single_request() {
    let stub = Stub::start(&["--batch-expire", "0.5", "--seed", "3"]);
    let create = |requests: Vec<Value>| {
        stub.send("POST", "/v1/messages/batches", "", &json!({ "requests": requests }).to_string())
    };
    let request = |id: &str, body: Value| json!({ "custom_id": id, "params": body });
    let asked = |k: usize| body(&format!("{LISTED}{k}"), json!({}));
    let mut requests: Vec<Value> = (0..20).map(|k| request(&format!("q{k}"), asked(k))).collect();
    requests.push(request("bad", json!({ "model": "m", "messages": [] })));
    let batch = create(requests).well();
    assert_eq!(batch["type"], "message_batch");
    let page = format!("/v1/messages/batches/{}", batch["id"].as_str().unwrap());
    let batch = over(&stub, &page);
    let counts = |name: &str| batch["request_counts"][name].as_u64().unwrap();
    assert!(counts("succeeded") > 0 && counts("expired") > 0, "{batch}");
    assert_eq!(counts("succeeded") + counts("expired") + counts("errored"), 21);
    assert!(batch["results_url"].as_str().unwrap().ends_with(&format!("{page}/results")));
    for (id, line) in by_question(&stub, &format!("{page}/results")) {
        let result = &line["result"];
        match result["type"].as_str().unwrap() {
            "succeeded" => {
                let single = stub.messages(&asked(id[1..].parse().unwrap())).well();
                assert_eq!(result["message"], single);
            }
            "errored" => {
                assert_eq!((id.as_str(), &result["error"]["error"]["type"]), ("bad", &json!("invalid_request_error")))
            }
            other => assert_eq!(other, "expired"),
        }
    }
    for bad in [json!("x y"), json!(""), json!(7)] {
        assert_eq!(create(vec![json!({ "custom_id": bad, "params": asked(0) })]).status, 400, "{bad}");
    }
    assert_eq!(create(Vec::new()).status, 400);
}
