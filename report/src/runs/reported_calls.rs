//! Calls that remote agents report in the notes of their moves.
//!
//! An agent of this program writes its calls to the journal of the run. A client reports them with its moves: `prompt`,
//! `answer`, `reasoning`, `tokens`, `usd` and `model` in the notes. Both kinds appear in transcripts and costs alike.

use ludex_protocol::call::{Call, ChatMessage, ChatRole};
use ludex_protocol::record::{Notes, RecordEvent, RecordParts};
use serde_json::Value;

use super::run_files::{CallKey, CallLine};
use crate::runs::episode::episode_of;

/// Returns the calls that the clients of a match report, in the order of play. Seats with a spec are agents of the
/// server, whose calls are in the journal.
pub fn reported_calls(parts: &RecordParts) -> Vec<CallLine> {
    let seats = parts.header.get("seats").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let remote = |seat: u32| seats.get(seat as usize).filter(|of| of.get("spec").is_none());
    if seats.iter().all(|seat| seat.get("spec").is_some()) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let noted = parts.events.iter().filter(|event| event.get("notes").is_some() || event.get("tries").is_some());
    for event in noted {
        let Ok(RecordEvent::Move(m)) = serde_json::from_value(event.clone()) else { continue };
        let Some(sat) = remote(m.seat) else { continue };
        let tries = m.tries.iter().map(|tried| (tried.notes.as_ref(), tried.code.as_str(), tried.ms));
        let all = tries.chain([(m.notes.as_ref(), "ok", m.ms)]);
        for ((notes, verdict, ms), attempt) in all.zip(0..) {
            let Some(call) = notes.and_then(|notes| call(notes, sat)) else { continue };
            let key = CallKey { turn: m.turn, attempt, step: 0 };
            let call = Call { verdict: verdict.to_owned(), ms, ..call };
            out.push(CallLine { line: 0, episode: episode_of(parts).to_owned(), seat: m.seat as usize, key, call });
        }
    }
    out
}

/// Returns the call that notes report; `None` for notes without tokens and words.
fn call(notes: &Notes, seat: &Value) -> Option<Call> {
    let word = |name: &str| notes.more.get(name).and_then(Value::as_str).map(str::to_owned);
    let (prompt, answer, reasoning) = (word("prompt"), word("answer"), word("reasoning"));
    if notes.tokens.is_none() && prompt.is_none() && answer.is_none() && reasoning.is_none() {
        return None;
    }
    let message = |content| ChatMessage { role: ChatRole::User, content };
    let model = word("model").or_else(|| seat.get("model").and_then(Value::as_str).map(str::to_owned));
    Some(Call {
        purpose: "move".to_owned(),
        model: model.unwrap_or_default(),
        messages: prompt.map(message).into_iter().collect(),
        answer: answer.unwrap_or_default(),
        reasoning,
        tokens: notes.tokens.unwrap_or_default(),
        usd: notes.more.get("usd").and_then(Value::as_f64),
        ..Call::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_of_clients_become_calls() {
        let notes = json!({"prompt": "Your move?", "answer": "4", "tokens": {"in": 7, "out": 1}, "usd": 0.5});
        let mv = |seat: u32, notes: &Value| json!({"kind": "move", "seat": seat, "turn": 0, "action": 4, "ms": 3, "notes": notes});
        let record = json!({
            "ludex": 2, "episode": "r.p.0-1.0.0", "game": "g", "params": {}, "rules": 1, "hash": "",
            "seats": [{"name": "a", "model": "m1"}, {"name": "b", "spec": "random"}],
            "events": [mv(0, &notes), mv(1, &notes), mv(0, &json!({"value": 1}))],
        });
        let calls = reported_calls(&RecordParts::parse(&record.to_string()).unwrap());
        let [line] = calls.as_slice() else { panic!("expected one call, got {calls:?}") };
        assert_eq!((line.seat, line.key, line.episode.as_str()), (0, CallKey::default(), "r.p.0-1.0.0"));
        let call = &line.call;
        assert_eq!((call.model.as_str(), call.answer.as_str(), call.usd, call.ms), ("m1", "4", Some(0.5), 3));
        assert_eq!(call.messages_of(ChatRole::User), "Your move?");
        assert_eq!((call.tokens.input, call.verdict.as_str()), (7, "ok"));
    }
}
