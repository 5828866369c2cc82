//! Marks of clues, votes, guesses, and the result.

use ludex_env::game::{Action, Game, MarkDoc, Marks, Seat, SeatSet};
use ludex_env::marks::{COUNT, FLAG, OURS, WORD};
use ludex_protocol::record::RefusedMove;

use super::words::{equal, stems};
use super::{BLANK, NONE, Phase, State, Undercover};

const ARENA: &str = "LLMArena, table 4";

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("stock", FLAG, "for each clue: 1 for a stock clue, else 0", OURS),
    MarkDoc::new("blank", FLAG, "for each clue: 1 for a blank clue, else 0", OURS),
    MarkDoc::new(
        "clue_contains_word",
        COUNT,
        "for each clue: number of attempts that were refused because they contained the seat's word",
        OURS,
    ),
    MarkDoc::new(
        "repeated",
        COUNT,
        "for each clue: number of attempts that were refused because the clue was already used in this round",
        OURS,
    ),
    MarkDoc::new(
        "voted_right",
        FLAG,
        "for each vote: 1 if exactly one of the voter and its target is an undercover, else 0",
        OURS,
    ),
    MarkDoc::new(
        "guessed",
        FLAG,
        "for each vote, with `guesses`: 1 if at least one guessed word is correct, else 0; words are compared by stem",
        ARENA,
    ),
    MarkDoc::new(
        "guessed_all",
        FLAG,
        "for each vote, with `guesses`: 1 if the words of all other players are guessed correctly, else 0",
        ARENA,
    ),
    MarkDoc::new("won", FLAG, "at the end, for each seat: 1 for the winning side, else 0", ARENA),
    MarkDoc::new("role", WORD, "at the end, for each seat: `undercover` or `other`", OURS),
];

impl Undercover {
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Marks) {
        let undercover = |seat: usize| SeatSet(before.undercover).has(seat);
        match (before.phase, after.clues.last()) {
            (Phase::Clue, Some(&(seat, id))) => {
                let blank = Action::from(id) == BLANK;
                out.flag(seat.into(), "stock", id != NONE && !blank);
                out.flag(seat.into(), "blank", blank);
            }
            (Phase::Vote, _) => {
                let votes = after.votes.get(usize::from(before.round)).copied().unwrap_or_default();
                for seat in SeatSet(before.alive).iter() {
                    out.flag(seat, "voted_right", undercover(votes[seat].into()) != undercover(seat));
                    if self.params.guesses {
                        let guess =
                            after.guesses.iter().find(|g| (g.round, Seat::from(g.seat)) == (before.round, seat));
                        let words = guess.map_or(&[][..], |g| &g.words[..]);
                        let right =
                            |(of, word): &(u8, String)| equal(&stems(word), &stems(self.word(before, (*of).into())));
                        out.flag(seat, "guessed", words.iter().any(right));
                        let all = words.len() + 1 == self.players() && words.iter().all(right);
                        out.flag(seat, "guessed_all", all);
                    }
                }
            }
            _ => {}
        }
        if before.phase != Phase::Over && after.phase == Phase::Over {
            let mut returns = vec![0.0; self.players()];
            self.returns(after, &mut returns);
            for (seat, value) in returns.into_iter().enumerate() {
                out.flag(seat, "won", value > 0.0);
                let role = if undercover(seat) { "undercover" } else { "other" };
                out.word(seat, "role", role);
            }
        }
    }
    /// Emits two numbers of refused clues: those that contained the word, and those that repeated another clue.
    pub(super) fn count_refusals(s: &State, seat: Seat, tries: &[RefusedMove], out: &mut Marks) {
        if s.phase == Phase::Clue {
            for (name, code) in [("clue_contains_word", "contains_word"), ("repeated", "repeated")] {
                let has = |t: &&RefusedMove| t.issues.iter().any(|issue| issue.code.as_deref() == Some(code));
                out.number(seat, name, tries.iter().filter(has).count() as u32);
            }
        }
    }
}
