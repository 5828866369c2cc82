//! Marks for the type of each move.

use ludex_env::game::{Game, MarkDoc, Marks, ParsedMove, ToMove};
use ludex_env::marks::WORD;

use super::{Hanabi, Move, State};

const SOURCE: &str = "LLMArena, figure 5";

/// Documentation of Hanabi's marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("action", WORD, "for each move: `reveal`, `discard` or `play`", SOURCE),
    MarkDoc::new("risk", "points", "for each move: 0 for `reveal`, 5 for `discard`, 10 for `play`", "LLMArena's code"),
];

impl Hanabi {
    pub(super) fn count(&self, before: &State, joint: &[Option<ParsedMove>], out: &mut Marks) {
        let ToMove::Seat(seat) = self.to_move(before) else { return };
        let Some(Some(ParsedMove::Action(a))) = joint.get(seat) else { return };
        let (word, risk) = match self.reading(*a) {
            Some(Move::Discard(_)) => ("discard", 5),
            Some(Move::Play(_)) => ("play", 10),
            Some(Move::Color(..) | Move::Rank(..)) => ("reveal", 0),
            None => return,
        };
        out.word(seat, "action", word);
        out.number(seat, "risk", risk);
    }
}
