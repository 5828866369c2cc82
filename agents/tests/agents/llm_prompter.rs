//! Tests of prompts and answers without an endpoint: they equal those of the agent that an evaluation plays.

use ludex_agents::AgentSpec;
use ludex_agents::llm::{ObservedState, PROMPT_VERSION, Prompter, Way, observe, offline, resolve_path};
use ludex_env::{AgentKey, GameRef, Journal, MoveRequest, PriorAttempt};
use ludex_protocol::Move;
use ludex_protocol::call::Call;
use serde_json::Value;

use crate::common::game;

/// Journal with the call of one attempt.
struct OneCall {
    key: String,
    call: Value,
}

impl Journal for OneCall {
    fn find(&self, key: &str) -> Option<Value> {
        (key == self.key).then(|| self.call.clone())
    }

    fn keep(&self, _: &str, _: &Value) -> Result<(), String> {
        Err("expected no new call".into())
    }
}

/// Checks that the agent of an evaluation has the same prompt as `prompter`, and reads `answer` alike. Both are checked
/// by the agent: it fails if its prompt, verdict or move differs from the stored call. Returns the verdict and the move.
fn same_as_in_evaluation(
    spec: &AgentSpec,
    game: &GameRef,
    prompter: &Prompter,
    ask: &MoveRequest<'_>,
    answer: &str,
) -> (&'static str, Move) {
    let reading = prompter.read(ask, answer);
    let call = Call {
        purpose: "move".into(),
        model: "none".into(),
        messages: prompter.messages(ask).unwrap(),
        answer: answer.into(),
        verdict: reading.verdict.into(),
        read: reading.text.clone(),
        ..Call::default()
    };
    let key = format!("{}.{}.0", ask.turn, ask.attempts().len());
    let journal = OneCall { key, call: serde_json::to_value(call).unwrap() };
    let agent = offline(spec, game, PROMPT_VERSION).unwrap();
    let reply = agent.act(&ask.with_journal(&journal)).unwrap_or_else(|e| panic!("{answer:?}: {}", e.message));
    assert_eq!(reply.mv.as_ref(), Some(&reading.mv), "{answer:?}");
    (reading.verdict, reading.mv)
}

#[test]
fn prompts_and_answers_of_all_games_equal_those_of_an_evaluation() {
    for entry in ludex_games::games() {
        let game = game(entry.info.id);
        for (random, method) in [(0, "prompt"), (3, "cot history=5"), (6, "parts legal=false")] {
            let spec =
                AgentSpec::parse(&format!("llm model=none base_url=http://127.0.0.1:1 prompting={method}")).unwrap();
            let prompter = Prompter::new(&spec, &game).unwrap();
            let Ok(h) = resolve_path(&game, &Way { random, seed: 5, ..Way::default() }) else { continue };
            let end = observe(&game, &h, None).unwrap();
            for seat in end.state.turn().seats().iter() {
                let ObservedState { state, past, turn } = observe(&game, &h, Some(seat)).unwrap();
                let legal = state.legal_list(seat);
                let ask =
                    MoveRequest::on_state(&*state, seat, turn, &legal, AgentKey::Own(&[0; 32])).with_history(&past);
                let name = ask.view().action_text(seat, legal[0]);
                let mut attempts = Vec::new();
                for answer in [
                    "",
                    "I would rather not say what I think about it, as it is a difficult position for all of us.",
                    r#"{"move": "nowhere"}"#,
                    r#"{"offer": [99], "say": "All mine."}"#,
                    "<think>Hm.</think>",
                    &format!("Let me see.\nAnswer: {name}"),
                    &serde_json::json!({ "reason": "why not", "move": name }).to_string(),
                ] {
                    let ask = ask.with_attempts(&attempts);
                    let (verdict, mv) = same_as_in_evaluation(&spec, &game, &prompter, &ask, answer);
                    match state.parse_move(seat, &mv) {
                        Ok(_) => assert_eq!(prompter.refusals(&ask).unwrap().is_empty(), attempts.is_empty()),
                        Err(why) => {
                            assert_ne!(verdict, "ok", "{}: {answer:?}", entry.info.id);
                            attempts.push(PriorAttempt { given: Some(mv), why: why.message, issues: why.issues });
                        }
                    }
                }
                let last = prompter.messages(&ask.with_attempts(&attempts)).unwrap().pop().unwrap();
                let words = prompter.refusals(&ask.with_attempts(&attempts)).unwrap();
                assert!(last.content.contains(&words), "{words}");
            }
        }
    }
}

#[test]
fn reader_gives_the_verdicts_of_the_table() {
    let game = game("tic_tac_toe");
    let spec = AgentSpec::parse("llm model=none base_url=http://127.0.0.1:1").unwrap();
    let prompter = Prompter::new(&spec, &game).unwrap();
    let mut state = game.start();
    state.play(0, 4).unwrap();
    let legal = state.legal_list(1);
    let ask = MoveRequest::on_state(&*state, 1, 0, &legal, AgentKey::Own(&[0; 32]));
    for (answer, verdict) in [
        ("o(0,0)", "ok"),
        ("**Answer:** `o(0,0)`.", "ok"),
        (r#"{"reason": "corner", "move": "o(0,0)"}"#, "ok"),
        ("So it is \\boxed{\\text{o(0,0)}}.", "ok"),
        ("<think>o(1,1)?</think>\no(0,0)", "ok"),
        ("My move is O(0, 0).", "ok"),
        ("Answer: o(1,1)", "illegal"),
        ("Answer: resign", "unparsed"),
        (" \n ", "empty"),
        ("<think>I am still", "empty"),
    ] {
        assert_eq!(same_as_in_evaluation(&spec, &game, &prompter, &ask, answer).0, verdict, "{answer:?}");
    }
}
