//! Tests of the `llm` agent against a local test endpoint.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use ludex_agents::llm;
use ludex_agents::{AgentError, AgentSpec, ErrorKind, MoveReply, build};
use ludex_env::{
    AgentKey, Budget, DynState, GameRef, Journal, MoveRequest, ObservedMove, Outcomes, PriorAttempt, ToMove, Viewer,
};
use ludex_protocol::Move;
use ludex_protocol::call::Call;
use ludex_protocol::record::Tokens;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::common::{after, game};
use crate::llm_endpoint::{Endpoint, ReceivedRequest, Reply, completion, error, text_reply};

#[derive(Default)]
struct Notebook(Mutex<Vec<(String, Value)>>);

impl Journal for Notebook {
    fn find(&self, key: &str) -> Option<Value> {
        self.0.lock().iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())
    }

    fn keep(&self, key: &str, entry: &Value) -> Result<(), String> {
        self.0.lock().push((key.to_owned(), entry.clone()));
        Ok(())
    }
}

impl Notebook {
    fn calls(&self) -> Vec<Call> {
        self.0.lock().iter().map(|(_, v)| serde_json::from_value(v.clone()).unwrap()).collect()
    }
}

/// Additional context of a move request.
#[derive(Default)]
struct With<'a> {
    attempts: &'a [PriorAttempt],
    past: Option<&'a [ObservedMove]>,
    journal: Option<&'a Notebook>,
    deadline: Option<Instant>,
}

fn ask(spec: &str, game: &GameRef, state: &dyn DynState, with: &With<'_>) -> Result<MoveReply, AgentError> {
    let seat = state.turn().seat().unwrap();
    let legal = state.legal_list(seat);
    let key = [1; 32];
    let mut ask = MoveRequest::on_state(state, seat, 0, &legal, AgentKey::Own(&key)).with_attempts(with.attempts);
    if let Some(past) = with.past {
        ask = ask.with_history(past);
    }
    if let Some(journal) = with.journal {
        ask = ask.with_journal(journal);
    }
    build(spec, game)?.act(&ask.with_budget(Budget::default().with_deadline(with.deadline)))
}

/// Returns the reply to the first move request of tic-tac-toe.
fn first(endpoint: &Endpoint, args: &str) -> Result<MoveReply, AgentError> {
    let game = game("tic_tac_toe");
    ask(&endpoint.spec(args), &game, &*game.start(), &With::default())
}

fn user(request: &ReceivedRequest) -> String {
    request.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[test]
fn move_is_requested_and_parsed() {
    let endpoint = Endpoint::saying(&[r#"{"move": "x(1,1)"}"#]);
    let answer = first(&endpoint, "temperature=0.5 max_tokens=50 seed=3 price_in=10 price_out=100").unwrap();
    assert_eq!(answer.mv, Some(Move::Id(4)));
    assert_eq!(answer.notes.tokens, Some(Tokens { input: 100, out: 7 }));
    assert_eq!((&answer.notes.more["calls"], &answer.notes.more["verdict"]), (&json!(1), &json!("ok")));
    assert!((answer.notes.more["usd"].as_f64().unwrap() - 0.0017).abs() < 1e-9);
    let [request] = &endpoint.requests()[..] else { panic!("one call") };
    assert_eq!(request.path, "/v1/chat/completions");
    assert!(!request.headers.contains_key("authorization"), "local endpoints get no key");
    assert_eq!((&request.body["model"], &request.body["temperature"]), (&json!("m"), &json!(0.5)));
    assert_eq!((&request.body["max_tokens"], &request.body["seed"]), (&json!(50), &json!(3)));
    assert_eq!(request.body["response_format"]["json_schema"]["schema"]["required"], json!(["move"]));
    assert_eq!(request.body.get("metadata"), None);
    assert!(user(request).contains("Legal moves:\nx(0,0)\nx(0,1)\n"), "{}", user(request));
}

#[test]
fn absent_settings_are_not_sent() {
    let endpoint = Endpoint::saying(&["Answer: x(0,0)"]);
    first(&endpoint, "format=text").unwrap();
    let body = &endpoint.requests()[0].body;
    let names: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn extra_fields_and_key_are_sent() {
    let endpoint = Endpoint::saying(&["Answer: x(0,0)"]);
    // PATH is set wherever tests run, and tests may not set variables.
    first(&endpoint, r#"format=text temperature=1 key_env=PATH extra="{\"top_p\": 0.9, \"temperature\": null}""#)
        .unwrap();
    let [request] = &endpoint.requests()[..] else { panic!("one call") };
    assert_eq!(request.body["top_p"], 0.9);
    assert_eq!(request.body.get("temperature"), None);
    assert_eq!(request.headers["authorization"], format!("Bearer {}", std::env::var("PATH").unwrap()));
}

#[test]
fn json_schema_puts_reasoning_before_move() {
    let endpoint = Endpoint::saying(&[r#"{"reason": "centre", "move": "x(1,1)"}"#]);
    first(&endpoint, "prompting=cot").unwrap();
    let text = endpoint.requests()[0].body["response_format"].to_string();
    assert!(text.find(r#""reason":"#).unwrap() < text.find(r#""move":"#).unwrap(), "{text}");
}

#[test]
fn anthropic_requests_are_well_formed() {
    let endpoint = Endpoint::new(|_, _| {
        let body = json!({
            "content": [{ "type": "tool_use", "name": "move", "input": { "move": "x(2,2)" } }],
            "stop_reason": "tool_use",
            "usage": { "input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": 3 },
        });
        Reply::Http(200, None, body.to_string())
    });
    let answer = first(&endpoint, "api=anthropic key_env=PATH").unwrap();
    assert_eq!((answer.mv, answer.notes.tokens), (Some(Move::Id(8)), Some(Tokens { input: 16, out: 3 })));
    let [request] = &endpoint.requests()[..] else { panic!("one call") };
    assert_eq!(request.path, "/v1/messages");
    assert!(request.headers.contains_key("x-api-key") && request.headers.contains_key("anthropic-version"));
    assert_eq!(request.body["tool_choice"], json!({ "type": "tool", "name": "move" }));
    assert_eq!(request.body["max_tokens"], 8192);
    assert!(request.body["system"].as_str().unwrap().contains("Tic-tac-toe"));
    assert_eq!(request.body["messages"].as_array().unwrap().len(), 1);

    let endpoint = Endpoint::new(|_, _| {
        let text = json!({ "content": [{ "type": "text", "text": "Answer: x(2,2)" }], "stop_reason": "end_turn" });
        Reply::Http(200, None, text.to_string())
    });
    let journal = Notebook::default();
    let game = game("tic_tac_toe");
    let with = With { journal: Some(&journal), ..With::default() };
    let answer = ask(&endpoint.spec("api=anthropic effort=low"), &game, &*game.start(), &with).unwrap();
    assert_eq!(answer.mv, Some(Move::Id(8)));
    let body = &endpoint.requests()[0].body;
    assert_eq!((body.get("tools"), &body["thinking"]["budget_tokens"]), (None, &json!(2048)));
    let [call] = &journal.calls()[..] else { panic!("one call") };
    assert!(call.estimated && call.tokens.out == 4 && call.tokens.input > 100, "{:?}", call.tokens);
}

#[test]
fn permanent_failures_are_not_retried() {
    for (status, message, words) in [
        (400, "This model's maximum context length is 10 tokens", "too long for the model"),
        (413, "request too large", "too long for the model"),
        (401, "bad key", "PATH"),
        (403, "forbidden", "PATH"),
        (404, "no such route", "should end in /v1"),
        (402, "no money", "402"),
        (429, "insufficient_quota", "quota"),
        (418, "teapot", "teapot"),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8).", "too long for the model"),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "Write extra="),
        (307, "moved", "redirect (307) to another address: set base_url to that address"),
    ] {
        let endpoint = Endpoint::new(move |_, _| error(status, message));
        let e = first(&endpoint, "format=text key_env=PATH").unwrap_err();
        assert_eq!(e.kind, ErrorKind::Infrastructure, "{e}");
        assert!(e.message.contains(words) && e.message.contains(&endpoint.url), "{status}: {e}");
        assert_eq!(endpoint.requests().len(), 1, "{status}");
    }
}

#[test]
fn token_limit_error_is_not_a_schema_refusal() {
    let endpoint = Endpoint::new(|_, _| error(400, "Use 'max_completion_tokens' instead of 'max_tokens'"));
    for args in ["max_tokens=9", "max_tokens=9 format=schema"] {
        let e = first(&endpoint, args).unwrap_err();
        assert!(e.message.contains("Write extra=") && !e.message.contains("format=text"), "{args}: {e}");
    }
    assert_eq!(endpoint.requests().len(), 2);
}

#[test]
fn errors_in_json_arrays_and_oversized_replies_are_reported() {
    let body = r#"[{"error": {"message": "The input token count (9) exceeds the maximum number of tokens"}}]"#;
    let endpoint = Endpoint::new(|_, _| Reply::Http(400, None, body.to_owned()));
    let e = first(&endpoint, "format=text").unwrap_err();
    assert!(e.message.contains("too long for the model (400): The input token count"), "{e}");
    let endpoint = Endpoint::new(|_, _| text_reply(&"x".repeat(11 << 20)));
    let e = first(&endpoint, "format=text").unwrap_err();
    assert!(e.message.contains("expected a reply of at most") && !e.message.contains("reached"), "{e}");
    assert_eq!(endpoint.requests().len(), 1);
}

#[test]
fn unpaired_surrogate_does_not_invalidate_reply() {
    let body = r#"{"choices": [{"message": {"content": "\ud800 Answer: x(0,1)"}, "finish_reason": "stop"}]}"#;
    let endpoint = Endpoint::new(|_, _| Reply::Http(200, None, body.to_owned()));
    assert_eq!(first(&endpoint, "format=text").unwrap().mv, Some(Move::Id(1)));
}

#[test]
fn api_key_never_appears_in_errors() {
    let key = std::env::var("PATH").unwrap();
    let endpoint = Endpoint::new(|_, request| error(401, &format!("you sent {}", request.headers["authorization"])));
    let e = first(&endpoint, "key_env=PATH").unwrap_err();
    assert!(e.message.contains("***") && !e.message.contains(&key), "{e}");
}

#[test]
fn transient_failures_are_retried() {
    for status in [408, 409, 429, 500, 503, 529] {
        let endpoint =
            Endpoint::new(move |k, _| if k < 2 { error(status, "busy") } else { text_reply("Answer: x(0,1)") });
        let (journal, game) = (Notebook::default(), game("tic_tac_toe"));
        let with = With { journal: Some(&journal), ..With::default() };
        let answer = ask(&endpoint.spec("retries=2 format=text"), &game, &*game.start(), &with).unwrap();
        assert_eq!((answer.mv, endpoint.requests().len()), (Some(Move::Id(1)), 3), "{status}");
        assert_eq!(journal.calls()[0].retries, 2);

        let endpoint = Endpoint::new(move |_, _| error(status, "busy"));
        let e = first(&endpoint, "retries=1 format=text").unwrap_err();
        assert_eq!((e.kind, endpoint.requests().len()), (ErrorKind::Infrastructure, 2), "{e}");
        assert!(e.message.contains("busy") && e.message.contains("2 tries"), "{e}");
    }
}

#[test]
fn endpoint_with_long_retry_delay_is_not_retried() {
    let endpoint = Endpoint::new(|_, _| Reply::Http(429, Some(3600), String::new()));
    let e = first(&endpoint, "").unwrap_err();
    assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("3600 s"), "{e}");
    assert_eq!(endpoint.requests().len(), 1);
}

#[test]
fn malformed_replies_are_infrastructure_errors() {
    for body in ["<html>hello</html>", r#"{"object": "list"}"#, r#"{"choices": []}"#, ""] {
        let endpoint = Endpoint::new(move |_, _| Reply::Http(200, None, body.to_owned()));
        let e = first(&endpoint, "retries=0").unwrap_err();
        assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("invalid reply"), "{body}: {e}");
    }
}

#[test]
fn unreachable_endpoint_is_an_infrastructure_error() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let game = game("tic_tac_toe");
    let spec = format!("llm model=m base_url=http://127.0.0.1:{port}/v1 retries=0");
    let e = ask(&spec, &game, &*game.start(), &With::default()).unwrap_err();
    assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("is the endpoint running"), "{e}");
}

#[test]
fn deadline_and_endpoint_timeout_give_different_errors() {
    let endpoint = Endpoint::new(|_, _| Reply::Silence);
    let e = first(&endpoint, "retries=0 timeout=0.1").unwrap_err();
    assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("timeout"), "{e}");
    let game = game("tic_tac_toe");
    // With spaced calls (rpm), an expired deadline must not be reported as a lack of available calls.
    for (wait, args) in [(0, ""), (0, "rpm=60"), (100, "")] {
        let begun = Instant::now();
        let with = With { deadline: Some(begun + Duration::from_millis(wait)), ..With::default() };
        let e = ask(&endpoint.spec(args), &game, &*game.start(), &with).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Late, "{e}");
        assert!(begun.elapsed() < Duration::from_secs(20), "the endpoint has 300 s by default");
    }
}

#[test]
fn missing_api_key_is_refused_at_build() {
    for spec in [
        "llm model=m key_env=LUDEX_TEST_NO_SUCH_KEY",
        "llm model=m base_url=http://127.0.0.1:1/v1 key_env=LUDEX_TEST_NO_SUCH_KEY",
    ] {
        let e = build(spec, &game("tic_tac_toe")).err().unwrap();
        assert_eq!(e.path.as_deref(), Some("key_env"));
        assert!(e.message.contains("LUDEX_TEST_NO_SUCH_KEY"), "{e}");
    }
}

#[test]
fn endpoint_without_schemas_gets_text_requests() {
    let refuses = |_, request: &ReceivedRequest| match request.body.get("response_format") {
        Some(_) => error(400, "response_format is not supported"),
        None => text_reply("Answer: x(0,2)"),
    };
    let endpoint = Endpoint::new(refuses);
    for calls in [2, 3] {
        assert_eq!(first(&endpoint, "").unwrap().mv, Some(Move::Id(2)));
        assert_eq!(endpoint.requests().len(), calls);
    }
    assert!(endpoint.requests()[2].body["messages"].to_string().contains("Answer: <your move"));
    let e = first(&endpoint, "format=schema").unwrap_err();
    assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("not supported"), "{e}");
}

#[test]
fn bad_request_is_not_a_schema_refusal() {
    let endpoint =
        Endpoint::new(|k, _| if k < 2 { error(400, "strange model") } else { text_reply(r#"{"move": "x(0,0)"}"#) });
    let e = first(&endpoint, "").unwrap_err();
    assert!(e.message.contains("strange model"), "{e}");
    first(&endpoint, "").unwrap();
    assert!(endpoint.requests()[2].body.get("response_format").is_some());
}

#[test]
fn reply_without_legal_move_is_submitted_and_refused() {
    let cases: [(Value, &str, &str, &str); 6] = [
        (json!({ "content": "" }), "stop", "empty", "no move"),
        (json!({ "content": "Hm." }), "stop", "unparsed", "Hm."),
        (json!({ "content": "Answer: o(1,1)" }), "stop", "unparsed", "o(1,1)"),
        (json!({ "content": "I will think about it for a" }), "length", "truncated", "no move"),
        (json!({ "content": null, "refusal": "I cannot play." }), "stop", "refused", "I cannot play."),
        (json!({ "content": null }), "content_filter", "refused", "no move"),
    ];
    let game = game("tic_tac_toe");
    for (message, finish, verdict, text) in cases {
        let endpoint = Endpoint::new(move |_, _| completion(message.clone(), finish));
        let answer = first(&endpoint, "format=text").unwrap();
        assert_eq!(answer.notes.more["verdict"], verdict);
        assert_eq!(answer.mv, Some(Move::Text(text.into())), "{verdict}");
        assert!(game.start().parse_move(0, &ludex_env::Move::Text(text.into())).is_err());
    }
    let endpoint = Endpoint::new(|_, _| completion(json!({ "content": "Answer: x(1,1)\nBecause" }), "length"));
    assert_eq!(first(&endpoint, "").unwrap().mv, Some(Move::Id(4)), "a move in a truncated answer counts");
}

#[test]
fn prompt_of_next_attempt_contains_refusal_reason() {
    let endpoint = Endpoint::saying(&["Answer: x(1,1)"]);
    let (game, journal) = (game("tic_tac_toe"), Notebook::default());
    let attempts = [PriorAttempt {
        given: Some(Move::Text("o(1,1)".into())),
        why: "\"o(1,1)\": not legal here".into(),
        issues: Vec::new(),
    }];
    let with = With { attempts: &attempts, journal: Some(&journal), ..With::default() };
    ask(&endpoint.spec("format=text"), &game, &*game.start(), &with).unwrap();
    assert!(user(&endpoint.requests()[0]).contains("\n- \"o(1,1)\": not legal here\n"), "quoted once");
    assert_eq!(journal.0.lock()[0].0, "0.1.0");
}

#[test]
fn invalid_document_is_refused_and_repaired() {
    let flawed = json!({ "offer": [9, 0, 0], "say": 7, "x": 1 });
    let good = json!({ "offer": [1, 0, 0], "say": "For you." });
    let texts = [format!("This is what I offer:\n```json\n{flawed}\n```"), good.to_string()];
    let endpoint = Endpoint::saying(&[&texts[0], &texts[1]]);
    let game = game("bargaining(talk=true)");
    let mut state = game.start();
    while state.turn() == ToMove::Chance {
        let mut outcomes = Outcomes::new();
        state.chance(&mut outcomes);
        state.play_chance(outcomes.items()[0].0).unwrap();
    }
    let schema = &game.spec().document_schemas.as_ref().unwrap()["offer"];

    let first = ask(&endpoint.spec(""), &game, &*state, &With::default()).unwrap();
    let given = first.mv.unwrap();
    assert_eq!((&given, first.notes.more["verdict"].as_str()), (&Move::Document(flawed.clone()), Some("illegal")));
    let format = &endpoint.requests()[0].body["response_format"]["json_schema"]["schema"];
    assert_eq!(&format["properties"]["move"]["anyOf"][1], schema);
    assert!(!user(&endpoint.requests()[0]).contains("JSON Schema"));

    let why = state.parse_move(0, &given).unwrap_err();
    let attempts = [PriorAttempt { given: Some(given), why: why.message, issues: why.issues }];
    let with = With { attempts: &attempts, ..With::default() };
    let second = ask(&endpoint.spec(""), &game, &*state, &with).unwrap();
    assert_eq!(second.mv, Some(Move::Document(good)));
    let prompt = user(&endpoint.requests()[1]);
    for part in
        [flawed.to_string().as_str(), &schema.to_string(), "/offer/0: ", "got 9", "/say: ", "/x: there is no field"]
    {
        assert!(prompt.contains(part), "{part}\n{prompt}");
    }

    let endpoint = Endpoint::saying(&[&format!("Answer: {}", json!({ "offer": [1, 0, 0] }))]);
    ask(&endpoint.spec("format=text"), &game, &*state, &with).unwrap();
    assert!(user(&endpoint.requests()[0]).contains(&schema.to_string()));
}

#[test]
fn self_consistency_votes_over_sampled_moves() {
    let of = |texts: &[&str], n: usize| {
        let endpoint = Endpoint::saying(texts);
        let answer = first(&endpoint, &format!("format=text prompting=sc_cot seed=5 n={n}")).unwrap();
        assert_eq!((endpoint.requests().len(), &answer.notes.more["calls"]), (n, &json!(n)));
        let seeds: Vec<u64> = endpoint.requests().iter().map(|a| a.body["seed"].as_u64().unwrap()).collect();
        assert_eq!(seeds, (5..5 + n as u64).collect::<Vec<_>>(), "samples differ");
        answer.mv
    };
    let [a, b, c] = ["Answer: x(0,0)", "Answer: b2", "Answer: x(1,1)"];
    assert_eq!(of(&[a, b, "nothing", c, a], 5), Some(Move::Id(0)), "a tie: the first seen");
    assert_eq!(of(&[a, b, "nothing", c, b], 5), Some(Move::Id(4)), "one move in two notations");
    assert_eq!(of(&["what", "Answer: o(0,0)"], 2), Some(Move::Text("o(0,0)".into())));
}

#[test]
fn tree_of_thoughts_votes_on_plans_then_moves() {
    let script = |k: usize, request: &ReceivedRequest| {
        let text = user(request);
        match k {
            0..=2 => text_reply(&format!("Plan number {k}")),
            3 => text_reply("Best: 2"),
            4 => text_reply("Best: 9"),
            5 => text_reply("The best choice is 2."),
            6..=8 => {
                assert!(text.contains("Plan number 1") && !text.contains("Plan number 0"), "{text}");
                text_reply(["Answer: x(0,0)", "Answer: what?", "Answer: x(2,2)"][k - 6])
            }
            _ => {
                assert!(text.contains("Choice 2:\nAnswer: x(2,2)") && !text.contains("what?"), "{text}");
                text_reply(["Best: 1", "Best: 2", "Best: 2"][k - 9])
            }
        }
    };
    let endpoint = Endpoint::new(script);
    let answer = first(&endpoint, "format=text prompting=tot").unwrap();
    assert_eq!((answer.mv, &answer.notes.more["calls"]), (Some(Move::Id(8)), &json!(12)));
    let spec = AgentSpec::parse(&endpoint.spec("prompting=tot")).unwrap();
    assert_eq!(llm::calls_per_move(&spec).unwrap(), 12.0);
}

#[test]
fn draft_is_played_if_refinement_has_no_move() {
    let endpoint = Endpoint::saying(&["Answer: x(0,0)", "The corner is fine.", "Hm."]);
    let (game, journal) = (game("tic_tac_toe"), Notebook::default());
    let with = With { journal: Some(&journal), ..With::default() };
    let answer = ask(&endpoint.spec("prompting=self_refine format=text"), &game, &*game.start(), &with).unwrap();
    assert_eq!(answer.mv, Some(Move::Id(0)));
    let calls = journal.calls();
    let told: Vec<(&str, &str)> = calls.iter().map(|c| (c.purpose.as_str(), c.verdict.as_str())).collect();
    assert_eq!(told, [("draft", "ok"), ("critique", "ok"), ("refine", "unparsed")]);
    assert!(calls[2].messages[1].content.contains("The corner is fine."));
    let endpoint = Endpoint::saying(&["Answer: x(0,0)", "Better the centre.", "Answer: x(1,1)"]);
    assert_eq!(first(&endpoint, "prompting=self_refine format=text").unwrap().mv, Some(Move::Id(4)));
}

#[test]
fn missing_emotion_is_requested_again() {
    let json = r#"{"emotion": "X", "analysis": "Even.", "move": "x(1,1)"}"#;
    let endpoint = Endpoint::saying(&[json, "Emotion: D"]);
    let answer = first(&endpoint, "emotion=true").unwrap();
    assert_eq!((answer.notes.emotion.as_deref(), answer.notes.analysis.as_deref()), (Some("D"), Some("Even.")));
    assert_eq!(endpoint.requests().len(), 2);
    let endpoint = Endpoint::saying(&[json, "I feel fine, thank you."]);
    let answer = first(&endpoint, "emotion=true").unwrap();
    assert_eq!((answer.notes.emotion, answer.mv), (None, Some(Move::Id(4))));
    let endpoint = Endpoint::saying(&["Emotion: B\nAnalysis: Bad.\nAnswer: x(1,1)"]);
    let answer = first(&endpoint, "emotion=true format=text").unwrap();
    assert_eq!((answer.notes.emotion.as_deref(), endpoint.requests().len()), (Some("B"), 1));
}

#[test]
fn stored_calls_are_not_repeated() {
    let endpoint = Endpoint::saying(&["Answer: x(0,0)", "Answer: x(1,1)", "Answer: x(1,1)"]);
    let (game, journal) = (game("tic_tac_toe"), Notebook::default());
    let with = With { journal: Some(&journal), ..With::default() };
    let once = ask(&endpoint.spec("prompting=sc_cot n=3"), &game, &*game.start(), &with).unwrap();
    let again = ask(&endpoint.spec("prompting=sc_cot n=3"), &game, &*game.start(), &with).unwrap();
    assert_eq!((&once, endpoint.requests().len()), (&again, 3));
    let keys: Vec<String> = journal.0.lock().iter().map(|(k, _)| k.clone()).collect();
    assert_eq!(keys, ["0.0.0", "0.0.1", "0.0.2"]);
    let call = journal.0.lock()[1].1.clone();
    assert_eq!((&call["verdict"], &call["read"], &call["usd"]), (&json!("ok"), &json!("x(1,1)"), &Value::Null));
    assert_eq!((&call["purpose"], &call["finish"], &call["retries"]), (&json!("sample"), &json!("stop"), &json!(0)));
    assert_eq!(call["messages"][0]["role"], "system");

    // A run that was killed after one call continues with the second.
    journal.0.lock().truncate(1);
    assert_eq!(ask(&endpoint.spec("prompting=sc_cot n=3"), &game, &*game.start(), &with).unwrap().mv, once.mv);
    assert_eq!(endpoint.requests().len(), 5);
}

#[test]
fn failed_journal_write_stops_the_agent() {
    struct Full;
    impl Journal for Full {
        fn find(&self, _: &str) -> Option<Value> {
            None
        }
        fn keep(&self, _: &str, _: &Value) -> Result<(), String> {
            Err("the disk is full".into())
        }
    }
    let endpoint = Endpoint::saying(&["Answer: x(0,0)"]);
    let game = game("tic_tac_toe");
    let state = game.start();
    let legal = state.legal_list(0);
    let ask = MoveRequest::on_state(&*state, 0, 0, &legal, AgentKey::Own(&[0; 32])).with_journal(&Full);
    let e = build(&endpoint.spec(""), &game).unwrap().act(&ask).unwrap_err();
    assert!(e.kind == ErrorKind::Infrastructure && e.message.contains("the disk is full"), "{e}");
}

#[test]
fn request_metadata_for_stub_contains_only_the_view() {
    let endpoint = Endpoint::saying(&["Answer: Pass"]);
    let game = game("kuhn_poker");
    let past = [
        ObservedMove { by: ludex_env::Mover::Chance, action: Some(0), text: String::new(), reveals: Vec::new() },
        ObservedMove { by: ludex_env::Mover::Chance, action: None, text: String::new(), reveals: Vec::new() },
    ];
    // p0 holds 0; p1 holds 1 in one case and 2 in the other.
    for hidden in [1, 2] {
        let state = after(&game, &[0, hidden]);
        let with = With { past: Some(&past), ..With::default() };
        ask(&endpoint.spec("stub=true history=5"), &game, &*state, &with).unwrap();
    }
    let requests = endpoint.requests();
    assert_eq!(requests[0].body, requests[1].body);
    let told: Value = serde_json::from_str(requests[0].body["metadata"]["ludex"].as_str().unwrap()).unwrap();
    let view = after(&game, &[0, 1]).view(Viewer::Seat(0)).value();
    let expected = json!({
        "game": game.spec().string, "seat": 0, "turn": 0, "attempt": 0, "legal": [0, 1], "view": view, "purpose": "move",
        "past": [{ "by": null, "action": 0 }, { "by": null, "action": null }],
    });
    assert_eq!(told, expected);
}

#[test]
fn probe_detects_which_features_endpoint_supports() {
    let endpoint = Endpoint::saying(&[
        "ready",
        r#"{"move": "x(0,0)"}"#,
        "ready",
        r#"{"move": "x(0,1)"}"#,
        r#"{"move": "nowhere"}"#,
    ]);
    let probe = llm::probe(&AgentSpec::parse(&endpoint.spec("")).unwrap()).unwrap();
    let requests = endpoint.requests();
    assert_eq!((requests.len(), probe.calls.len()), (5, 5));
    assert!(user(&requests[2]).len() > 30_000, "a long prompt");
    assert_eq!((probe.schema, probe.context, probe.moves), (true, true, false));
    assert_eq!((probe.tokens_in, probe.tokens_out), (100.0, 7.0));

    let endpoint = Endpoint::new(|k, request| match (k, request.body.get("response_format")) {
        (_, Some(_)) => error(400, "no schemas"),
        (2, None) => error(400, "maximum context length is 4096"),
        _ => text_reply("Answer: b2"),
    });
    let probe = llm::probe(&AgentSpec::parse(&endpoint.spec("")).unwrap()).unwrap();
    assert_eq!((probe.schema, probe.context), (false, false));
    assert!(probe.calls[2].message.contains("too long"), "{:?}", probe.calls);

    let endpoint = Endpoint::new(|k, _| text_reply(if k < 3 { " " } else { "Answer: b2" }));
    let calls = llm::probe(&AgentSpec::parse(&endpoint.spec("")).unwrap()).unwrap().calls;
    assert!(calls[..3].iter().all(|call| !call.ok && call.message == "the answer is empty"), "{calls:?}");
    let endpoint = Endpoint::new(|_, _| error(401, "no"));
    let e = llm::probe(&AgentSpec::parse(&endpoint.spec("")).unwrap()).unwrap_err();
    assert!(e.message.contains("key_env") && endpoint.requests().len() == 1, "{e}");
    let e = llm::probe(&AgentSpec::parse("random").unwrap()).unwrap_err();
    assert!(e.message.contains("expected a spec of llm"), "{e}");
}

/// Requests the first player's move in `turn`, with a journal that contains earlier calls.
fn in_turn(spec: &str, state: &dyn DynState, turn: u32, attempts: &[PriorAttempt], journal: &Notebook) -> MoveReply {
    let seat = state.turn().seat().unwrap();
    let (legal, key) = (state.legal_list(seat), [1; 32]);
    let ask = MoveRequest::on_state(state, seat, turn, &legal, AgentKey::Own(&key))
        .with_attempts(attempts)
        .with_journal(journal);
    build(spec, &game("tic_tac_toe")).unwrap().act(&ask).unwrap()
}

#[test]
fn prompting_chat_continues_conversation_of_previous_turns() {
    let said = [
        r#"{"reason": "middle", "move": "x(1,1)"}"#,
        "I do not know",
        r#"{"move": "x(0,1)"}"#,
        r#"{"move": "x(2,1)"}"#,
    ];
    let endpoint = Endpoint::saying(&said);
    let spec = endpoint.spec("prompting=chat memory=2");
    let (mut state, journal) = (game("tic_tac_toe").start(), Notebook::default());
    in_turn(&spec, &*state, 0, &[], &journal);
    [4, 0].into_iter().enumerate().for_each(|(k, a)| state.play(k, a).unwrap());
    in_turn(&spec, &*state, 1, &[], &journal);
    let refused =
        [PriorAttempt { given: Some(Move::Text("no move".into())), why: "it names none".into(), issues: Vec::new() }];
    in_turn(&spec, &*state, 1, &refused, &journal);
    [1, 2].into_iter().enumerate().for_each(|(k, a)| state.play(k, a).unwrap());
    in_turn(&spec, &*state, 2, &[], &journal);

    let told: Vec<Vec<(String, String)>> = endpoint
        .requests()
        .iter()
        .map(|request| {
            let text = |m: &Value, name: &str| m[name].as_str().unwrap().to_owned();
            request.body["messages"].as_array().unwrap().iter().map(|m| (text(m, "role"), text(m, "content"))).collect()
        })
        .collect();
    let roles = |k: usize| told[k].iter().map(|(role, _)| role.chars().next().unwrap()).collect::<String>();
    assert_eq!(
        [roles(0), roles(1), roles(2), roles(3)],
        ["su", "suau", "suauau", "suauau"],
        "two requests are remembered"
    );
    assert_eq!(told[1][1], told[0][1], "the first question");
    assert_eq!(told[1][2].1, said[0]);
    assert_eq!(told[2][4].1, said[1]);
    assert_eq!(told[3][2].1, said[1], "the first prompt is omitted, not the rules");
    assert!(told.iter().all(|m| m[0] == told[0][0] && m[0].1.contains("lasts for the whole game")));

    // Another process restores the conversation from the journal without repeated calls.
    let answer = in_turn(&spec, &*state, 2, &[], &journal);
    assert_eq!((answer.mv, endpoint.requests().len()), (Some(Move::Id(7)), 4));
}

#[test]
fn prompting_parts_takes_the_move_from_the_last_part() {
    let endpoint = Endpoint::saying(&[r#"{"situation": "empty", "reasons": "x(0,0) is worse", "move": "x(1,1)"}"#]);
    assert_eq!(first(&endpoint, "prompting=parts").unwrap().mv, Some(Move::Id(4)));
    let schema = &endpoint.requests()[0].body["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["required"], json!(["situation", "reasons", "move"]));
    let endpoint = Endpoint::saying(&["Situation: empty\nReasons: not x(0,0)\nAnswer: x(1,1)"]);
    assert_eq!(first(&endpoint, "prompting=parts format=text").unwrap().mv, Some(Move::Id(4)));
    let told = endpoint.requests()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    let at = |part: &str| told.find(part).unwrap();
    assert!(at("\nSituation: <") < at("\nReasons: <") && at("\nReasons: <") < at("\nAnswer: <"), "{told}");
}

#[test]
fn cached_tokens_are_stored_and_priced() {
    let endpoint = Endpoint::new(|_, _| {
        let body = json!({
            "content": [{ "type": "tool_use", "name": "move", "input": { "move": "x(2,2)" } }],
            "usage": { "input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30, "output_tokens": 5 },
        });
        Reply::Http(200, None, body.to_string())
    });
    let args = "api=anthropic key_env=PATH cache=true price_in=10 price_cached=1 price_cache_write=12 price_out=20";
    let (game, journal) = (game("tic_tac_toe"), Notebook::default());
    let with = With { journal: Some(&journal), ..With::default() };
    ask(&endpoint.spec(args), &game, &*game.start(), &with).unwrap();
    let [call] = &journal.calls()[..] else { panic!("one call") };
    assert_eq!((call.tokens.input, call.cached_tokens, call.cache_written_tokens), (100, Some(60), Some(30)));
    assert!((call.usd.unwrap() - 620e-6).abs() < 1e-12, "{call:?}");
    assert_eq!(endpoint.requests()[0].body["system"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
fn explanation_after_move_is_ignored() {
    let game = game("negotiation(instance=2 3 4;7 1 7;7 6 1;6)");
    let mut state = after(&game, &[]);
    let keeps = state.parse_move(0, &Move::Text("Proposal: [1, 2, 0]".into())).unwrap();
    let ludex_env::ParsedMove::Action(a) = keeps else { panic!("an action") };
    state.play(0, a).unwrap();
    let a = state.legal_list(0)[0];
    state.play(0, a).unwrap();
    let endpoint = Endpoint::saying(&["Answer: Proposal: Agreement reached! (you get [1, 1, 4], worth 17 to you)"]);
    let answer = ask(&endpoint.spec("format=text"), &game, &*state, &With::default()).unwrap();
    let told = user(&endpoint.requests()[0]);
    assert!(told.contains("Proposal: Agreement reached! (you get [1, 1, 4], worth 17 to you)"), "{told}");
    assert!(told.contains("Legal moves (what stands in brackets"), "{told}");
    assert_eq!(answer.notes.more["verdict"], json!("ok"), "{answer:?}");
}
