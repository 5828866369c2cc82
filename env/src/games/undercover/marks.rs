//! What is counted of a step: clues, votes, guesses, and the result.

use super::words::{equal, stems};
use super::{BLANK, NONE, Phase, State, Undercover};
use crate::game::{Action, Game, Mark, MarkValue, Seat, SeatSet};

fn flag(seat: Seat, name: &'static str, yes: bool) -> Mark {
    Mark { seat, name, value: MarkValue::Number(u8::from(yes).into()) }
}

impl Undercover {
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Vec<Mark>) {
        let undercover = |seat: usize| SeatSet(before.undercover).has(seat);
        match (before.phase, after.clues.last()) {
            (Phase::Clue, Some(&(seat, id))) => {
                let blank = Action::from(id) == BLANK;
                out.extend([flag(seat.into(), "stock", id != NONE && !blank), flag(seat.into(), "blank", blank)]);
            }
            (Phase::Vote, _) => {
                let votes = after.votes.get(usize::from(before.round)).copied().unwrap_or_default();
                for seat in SeatSet(before.alive).iter() {
                    out.push(flag(seat, "voted_right", undercover(votes[seat].into()) != undercover(seat)));
                    if self.params.guesses {
                        let guess =
                            after.guesses.iter().find(|g| (g.round, Seat::from(g.seat)) == (before.round, seat));
                        let words = guess.map_or(&[][..], |g| &g.words[..]);
                        let right =
                            |(of, word): &(u8, String)| equal(&stems(word), &stems(self.word(before, (*of).into())));
                        out.push(flag(seat, "guessed", words.iter().any(right)));
                        out.push(flag(
                            seat,
                            "guessed_all",
                            words.len() + 1 == self.players() && words.iter().all(right),
                        ));
                    }
                }
            }
            _ => {}
        }
        if before.phase != Phase::Over && after.phase == Phase::Over {
            let mut returns = vec![0.0; self.players()];
            self.returns(after, &mut returns);
            for (seat, value) in returns.into_iter().enumerate() {
                out.push(flag(seat, "won", value > 0.0));
                let role = if undercover(seat) { "undercover" } else { "other" };
                out.push(Mark { seat, name: "role", value: MarkValue::Word(role) });
            }
        }
    }
}
