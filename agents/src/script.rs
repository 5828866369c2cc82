//! `script`: plays moves from a JSON Lines file, for tests and demonstrations.

use std::fs;
use std::sync::Arc;

use ludex_env::documents::document;
use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::{ErrorCode, Move, Refusal};
use serde_json::Value;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentClass, AgentEntry, AgentSpec, ArgDef, ArgKind};

/// Entry of the agent. Servers offer the agent only if the operator allows it, since the agent reads a file on the
/// host.
pub(crate) const ENTRY: AgentEntry =
    AgentEntry::new("script", "plays the lines of a file: ids, texts or documents in JSON", build)
        .class(AgentClass::External)
        .args(&[ArgDef::new("file", ArgKind::Text, "JSON Lines, one line per turn: a move, or a list of attempts")
            .required()]);

/// Moves of the script: for each turn of the seat, one move per attempt.
struct Script {
    turns: Vec<Vec<Move>>,
}

fn build(spec: &AgentSpec, _game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let file = spec.text("file").unwrap_or_default();
    let wrong = |why: String| Refusal::new(ErrorCode::UnknownAgent, format!("script: {file}: {why}"));
    let text = fs::read_to_string(&file).map_err(|e| wrong(e.to_string()))?;
    let read = |(at, line): (usize, &str)| turn(line).map_err(|why| wrong(format!("line {}: {why}", at + 1)));
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(Arc::new(Script { turns: lines.map(read).collect::<Result<_, _>>()? }))
}

/// Parses a line of the file: a move, or a list of moves for successive attempts.
fn turn(line: &str) -> Result<Vec<Move>, String> {
    match document(line)? {
        Value::Array(attempts) => attempts.into_iter().map(moved).collect(),
        one => Ok(vec![moved(one)?]),
    }
}

fn moved(value: Value) -> Result<Move, String> {
    match value {
        Value::String(text) => Ok(Move::Text(text)),
        Value::Number(n) => n.as_i64().map(Move::Id).ok_or_else(|| format!("expected an integer action id, got {n}")),
        object @ Value::Object(_) => Ok(Move::Document(object)),
        other => Err(format!("expected an id, a text or an object, got {other}")),
    }
}

impl Agent for Script {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let (turn, attempt) = (ask.turn as usize, ask.attempts().len());
        let over = || AgentError::failed(format!("the script has no move for turn {turn}, attempt {attempt}"));
        let found = self.turns.get(turn).and_then(|attempts| attempts.get(attempt));
        found.cloned().map(MoveReply::new).ok_or_else(over)
    }
}
