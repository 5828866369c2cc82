//! Judges: questions with labels, and repeated questions.

use ludex_agents::AgentSpec;
use ludex_agents::llm::{Judge, JudgeQuestion};

use crate::llm_endpoint::Endpoint;

const QUESTION: JudgeQuestion<'static> = JudgeQuestion {
    role: "You judge.",
    text: "Question: which errors?",
    labels: &[("sum", "A wrong sum."), ("rule", "A wrong rule.")],
    several: true,
};

#[test]
fn judge_is_asked_again_with_the_reason() {
    let endpoint = Endpoint::saying(&["I cannot say.", r#"{"reason": "It adds wrongly.", "labels": ["sum"]}"#]);
    let judge = Judge::new(&AgentSpec::parse(&endpoint.spec("format=schema")).unwrap()).unwrap();
    let answer = judge.ask(&QUESTION).unwrap();
    assert_eq!((answer.labels, answer.reason.as_deref()), (Some(vec!["sum".to_owned()]), Some("It adds wrongly.")));
    let verdicts: Vec<&str> = answer.calls.iter().map(|call| call.verdict.as_str()).collect();
    assert_eq!(verdicts, ["unparsed", "ok"]);
    let requests = endpoint.requests();
    let schema = &requests[0].body["response_format"]["json_schema"];
    assert_eq!(schema["schema"]["properties"]["labels"]["items"]["enum"], serde_json::json!(["sum", "rule"]));
    assert_eq!((&schema["name"], &schema["strict"]), (&"labels".into(), &true.into()));
    let last = requests[1].body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    assert_eq!(last, "expected labels, got none; allowed: sum, rule. Reply again in this form.");
}

#[test]
fn judge_gives_up_after_three_unreadable_replies() {
    let endpoint = Endpoint::saying(&["I cannot say."]);
    let judge = Judge::new(&AgentSpec::parse(&endpoint.spec("format=text")).unwrap()).unwrap();
    let answer = judge.ask(&QUESTION).unwrap();
    assert_eq!((answer.labels, answer.calls.len(), endpoint.requests().len()), (None, 3, 3));
    assert!(AgentSpec::parse("random").is_ok_and(|spec| Judge::new(&spec).is_err()));
}
