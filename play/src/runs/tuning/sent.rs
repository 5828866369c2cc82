//! Calls of language models behind decisions: the prompt that was sent, and the reply that was played or refused.

use ludex_env::ParsedMove;
use ludex_protocol::Move;
use ludex_protocol::call::Call;
use ludex_report::runs::run_files::CallLine;
use serde_json::Value;

use super::TunedMatch;
use super::decisions::TunedDecision;
use super::provenance::{REPORTED, SENT};

/// Purposes of calls whose reply contains the move.
const MOVES: [&str; 4] = ["move", "sample", "draft", "refine"];

/// Purposes of calls whose prompt has no text of an earlier call in the same attempt.
const FIRST: [&str; 2] = ["move", "sample"];

/// Call with the source of its text.
#[derive(Clone, Copy)]
pub(super) struct SentCall<'r> {
    pub(super) call: &'r Call,
    pub(super) source: &'static str,
}

impl TunedMatch<'_> {
    /// Returns the call whose reply was played; `None` if the run has none. Several calls may have replied with the played
    /// move: a refined reply precedes its draft, otherwise the first one counts.
    pub(super) fn played_call(&self, decision: &TunedDecision) -> Option<SentCall<'_>> {
        let calls = self.calls(decision, decision.record.tries.len());
        let played: Vec<SentCall> = calls.filter(|sent| is_played(sent, decision)).collect();
        played.iter().find(|sent| sent.call.purpose == "refine").or(played.first()).copied()
    }

    /// Returns the calls of the refused attempts of a decision, and the played call; `None` without a played call, or if
    /// its prompt depends on earlier replies of its attempt.
    pub(super) fn refused_calls(&self, decision: &TunedDecision) -> Option<(Vec<SentCall<'_>>, SentCall<'_>)> {
        let played = self.played_call(decision).filter(|sent| FIRST.contains(&sent.call.purpose.as_str()))?;
        let refused = (0..decision.record.tries.len()).filter_map(|attempt| {
            let wrong = |sent: &SentCall| sent.call.verdict != "ok" && sent.call.purpose == played.call.purpose;
            self.calls(decision, attempt).filter(wrong).last()
        });
        Some((refused.collect(), played))
    }

    /// Returns the calls of an attempt whose reply should contain the move. Calls without a prompt or a reply are skipped.
    fn calls(&self, decision: &TunedDecision, attempt: usize) -> impl Iterator<Item = SentCall<'_>> {
        let (seat, turn) = (decision.seat, decision.record.turn);
        let of_attempt =
            move |line: &&CallLine| line.seat == seat && line.key.turn == turn && line.key.attempt as usize == attempt;
        let calls = self.run.calls_of(&self.game.record().header.episode).iter().filter(of_attempt);
        // Calls that clients report have no line of the journal.
        let source = |line: &CallLine| if line.line == 0 { REPORTED } else { SENT };
        calls.map(move |line| SentCall { call: &line.call, source: source(line) }).filter(
            |SentCall { call, .. }| {
                MOVES.contains(&call.purpose.as_str()) && !call.messages.is_empty() && !call.answer.trim().is_empty()
            },
        )
    }
}

/// Returns true if the reply of a call in the accepted attempt is the played move.
fn is_played(sent: &SentCall, decision: &TunedDecision) -> bool {
    let call = sent.call;
    if call.verdict != "ok" {
        return false;
    }
    // A client reports only the reply that it played.
    let Some(read) = &call.read else { return sent.source == REPORTED };
    let document = serde_json::from_str::<Value>(read).ok().filter(Value::is_object).map(Move::Document);
    let parse = |mv: &Move| -> Option<ParsedMove> { decision.state.parse_move(decision.seat, mv).ok() };
    [document, Some(Move::Text(read.clone()))].iter().flatten().any(|mv| parse(mv) == decision.played())
}
