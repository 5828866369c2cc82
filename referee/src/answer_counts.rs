//! Reply counts of language models by verdict.

use ludex_protocol::record::{MoveRecord, Notes};
use serde::Serialize;

/// Number of replies with each verdict. Each attempt at a move is one reply, and the attempt's note `verdict` holds the
/// verdict on the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answers {
    pub ok: u64,
    pub illegal: u64,
    /// Replies without a readable move.
    pub unparsed: u64,
    pub empty: u64,
    /// Replies refused by the model or a filter.
    pub refused: u64,
    /// Replies cut off before they contained a move.
    pub truncated: u64,
}

/// Minimum share of a verdict among all replies, from 0 to 1, that causes a warning.
const WORTH: f64 = 0.05;

impl Answers {
    /// Counts the verdicts of a move and its refused attempts.
    pub(crate) fn take(&mut self, m: &MoveRecord) {
        m.tries.iter().map(|attempt| attempt.notes.as_ref()).chain([m.notes.as_ref()]).flatten().for_each(|notes| {
            self.take_note(notes);
        });
    }

    fn take_note(&mut self, notes: &Notes) {
        let count = match notes.more.get("verdict").and_then(|verdict| verdict.as_str()) {
            Some("ok") => &mut self.ok,
            Some("illegal") => &mut self.illegal,
            Some("unparsed") => &mut self.unparsed,
            Some("empty") => &mut self.empty,
            Some("refused") => &mut self.refused,
            Some("truncated") => &mut self.truncated,
            _ => return,
        };
        *count += 1;
    }

    /// Adds the counts in `other`.
    pub fn add(&mut self, other: &Answers) {
        let Answers { ok, illegal, unparsed, empty, refused, truncated } = other;
        self.ok += ok;
        self.illegal += illegal;
        self.unparsed += unparsed;
        self.empty += empty;
        self.refused += refused;
        self.truncated += truncated;
    }

    /// Returns the total number of replies.
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, n)| n).sum()
    }

    /// Returns the name and count of each verdict.
    pub fn by_kind(&self) -> [(&'static str, u64); 6] {
        let Answers { ok, illegal, unparsed, empty, refused, truncated } = *self;
        [
            ("ok", ok),
            ("illegal", illegal),
            ("unparsed", unparsed),
            ("empty", empty),
            ("refused", refused),
            ("truncated", truncated),
        ]
    }

    /// Returns a warning, with a remedy, for each verdict except `ok` that applies to at least 5 % of all replies.
    pub fn warnings(&self) -> Vec<String> {
        let total = self.total();
        let worth = |&(name, n): &(&'static str, u64)| name != "ok" && n > 0 && n as f64 >= WORTH * total as f64;
        let line = |(name, n): (&'static str, u64)| {
            let what = match name {
                "illegal" => "named an illegal move",
                "unparsed" => "contained no readable move: inspect them with `ludex show`",
                "empty" => "were empty: raise max_tokens if the model thinks before it answers",
                "refused" => "were refused by the model or by a content filter",
                _ => "were cut off: raise max_tokens",
            };
            format!("{n} of {total} replies {what}")
        };
        self.by_kind().into_iter().filter(worth).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_requires_minimum_share_of_faulty_replies() {
        let answers = Answers { ok: 95, truncated: 5, ..Answers::default() };
        assert_eq!(answers.warnings(), ["5 of 100 replies were cut off: raise max_tokens"]);
        assert!(Answers { ok: 96, truncated: 4, ..Answers::default() }.warnings().is_empty());
        assert!(
            Answers { ok: 3, ..Answers::default() }.warnings().is_empty() && Answers::default().warnings().is_empty()
        );
    }
}
