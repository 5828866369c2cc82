//! Text forms of numbers, moves and results for commands, logs and transcripts.

use ludex_env::recording::ReplayStep;
use ludex_env::{DynState, Viewer};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent};
use ludex_protocol::spec::Spec;

/// Formats a count with a noun: `1 match`, `2 matches`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Formats a return, with three decimals unless it is an integer.
pub fn points(x: f64) -> String {
    number(x, if x.fract() == 0.0 { 0 } else { 3 })
}

/// Formats a number with `digits` decimals. Zero has no minus sign.
pub fn number(x: f64, digits: usize) -> String {
    let text = format!("{x:.digits$}");
    // A rounded -0.00 becomes 0.00.
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// Returns the moves of a step as their movers see them, such as `x (random): x(0,1)`; `None` if the step has no moves.
pub fn step(record: &Record, step: &ReplayStep<'_>) -> Option<String> {
    if let [RecordEvent::Chance(c)] = step.events {
        return Some(format!("chance: {}", step.before.outcome_text(c.action?)));
    }
    let texts: Option<Vec<String>> = step.moves().map(|(_, m)| move_line(step.before, record, m)).collect();
    texts.filter(|_| step.played).map(|texts| texts.join("; "))
}

/// Returns the text of a move as its mover sees it; `None` for an event without a move.
pub fn move_text(state: &dyn DynState, m: &MoveRecord) -> Option<String> {
    let (seat, viewer) = (m.seat as usize, Viewer::Seat(m.seat as usize));
    match (m.action, &m.document) {
        (Some(action), _) => Some(state.view(viewer).action_text(seat, action)),
        (None, Some(document)) => Some(state.observe_document(viewer, seat, document).text.unwrap_or_default()),
        (None, None) => None,
    }
}

/// Returns the text of a move with its seat and agent, such as `x (random): x(0,1)`, as the mover sees the move.
fn move_line(state: &dyn DynState, record: &Record, m: &MoveRecord) -> Option<String> {
    let agent = &record.header.seats.get(m.seat as usize)?.name;
    let place = state.spec().seats.get(m.seat as usize)?;
    let text = move_text(state, m)?;
    let tries = match m.tries.len() {
        0 => String::new(),
        1 => ", after 1 refused attempt".to_owned(),
        n => format!(", after {n} refused attempts"),
    };
    let forced = if m.forced { ", forced" } else { "" };
    Some(format!("{place} ({agent}): {text}{tries}{forced}"))
}

/// Returns the result of a match in one line, such as `finished: x (human) loss, -1; o (mcts sims=500) win, 1`.
pub fn result(spec: &Spec, record: &Record) -> String {
    let word = |v: serde_json::Value| v.as_str().map(|w| w.replace('_', " ")).unwrap_or_default();
    let footer = &record.footer;
    let seats = record.header.seats.iter().enumerate().map(|(k, seat)| {
        let place = spec.seats.get(k).map(String::as_str).unwrap_or_default();
        let points = footer.returns.get(k).map_or_else(|| "?".to_owned(), |&r| points(r));
        let outcome = footer.outcome.get(k).and_then(|o| serde_json::to_value(o).ok()).map(word).unwrap_or_default();
        let outcome = if outcome == "none" { String::new() } else { format!("{outcome}, ") };
        format!("{place} ({}) {outcome}{points}", seat.name)
    });
    let reason =
        footer.reason.and_then(|r| serde_json::to_value(r).ok()).map(word).unwrap_or_else(|| "not over".into());
    format!("{reason}: {}", seats.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_minus_sign() {
        assert_eq!([number(-0.0001, 2), number(-0.5, 1), number(3.0, 0)], ["0.00", "-0.5", "3"]);
    }
}
