//! Text of a decision for its labelers: what the seat saw, the reply, and the move.

use std::fmt::Write as _;

use anyhow::Context as _;
use ludex_protocol::call::{Call, ChatRole};
use ludex_report::labels::RubricDecision;
use ludex_report::transcript::transcript;

use super::Labeling;

/// Decision as its seat saw it. It has no information that the seat did not have, and no names of agents.
pub(super) struct DecisionText<'r> {
    pub(super) game: String,
    /// Events since the last turn of the seat.
    pub(super) since: Vec<String>,
    pub(super) position: String,
    /// Call whose reply was played, or the last call; `None` without a language model.
    pub(super) call: Option<&'r Call>,
    pub(super) played: Option<String>,
}

impl Labeling<'_> {
    /// Returns the text of a decision.
    ///
    /// # Errors
    /// Returns an error for a game that this program does not know.
    pub(super) fn text_of(&self, decision: &RubricDecision) -> anyhow::Result<DecisionText<'_>> {
        let (episode, seat, turn) = &decision.key;
        let missing = || format!("{episode} has no turn {turn} of seat {seat}");
        let record = self.record(episode).with_context(missing)?;
        let shown = transcript(record, self.run, &[*seat])?;
        let turns = shown.decisions.into_iter();
        let found = turns.into_iter().find(|own| own.turn == *turn).with_context(missing)?;
        let calls = self.run.calls_of(episode).iter();
        let calls: Vec<&Call> =
            calls.filter(|line| line.seat == *seat && line.key.turn == *turn).map(|line| &line.call).collect();
        let of_move = calls.iter().rev().find(|call| call.purpose == "move");
        let call = of_move.or(calls.last()).copied();
        Ok(DecisionText { game: shown.game, since: found.since, position: found.position, call, played: found.played })
    }
}

impl DecisionText<'_> {
    /// Returns the decision and the question for a judge. Texts of players are quoted.
    pub(super) fn for_judge(&self, question: &str) -> String {
        let mut out = format!("Game: {}\n", self.game);
        match self.call {
            Some(call) => {
                for message in &call.messages {
                    let _ = write!(out, "\nPrompt of the player ({}):\n{}", message.role, quoted(&message.content));
                }
                if let Some(reasoning) = &call.reasoning {
                    let _ = write!(out, "\nReasoning of the player:\n{}", quoted(reasoning));
                }
                let _ = write!(out, "\nReply of the player:\n{}", quoted(&call.answer));
            }
            None => {
                let since = self.since.join("\n");
                if !since.is_empty() {
                    let _ = write!(out, "\nEvents since the player's last turn:\n{}", quoted(&since));
                }
                let _ = write!(out, "\nPosition as the player saw it:\n{}", quoted(&self.position));
            }
        }
        if let Some(played) = &self.played {
            let _ = write!(out, "\nPlayed move:\n{}", quoted(played));
        }
        let _ = write!(out, "\nQuestion: {}\n", question.trim());
        out
    }

    /// Returns the system prompt, or the other messages of the prompt.
    pub(super) fn prompt(&self, system: bool) -> String {
        let messages = self.call.iter().flat_map(|call| &call.messages);
        let own = messages.filter(|message| (message.role == ChatRole::System) == system);
        own.map(|message| message.content.trim_end()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Puts `> ` before each line.
fn quoted(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("> {line}\n")).collect()
}
