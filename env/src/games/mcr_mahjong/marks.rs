//! What is counted of a hand when it is over.

use super::fans::{FANS, ROWS};
use super::state::{Done, Outcome, SEATS, State};
use crate::game::{Mark, MarkValue, Seat};

/// The marks of the hand that ended between two positions, if one did.
pub(super) fn count(before: &State, after: &State, out: &mut Vec<Mark>) {
    if after.done.len() > before.done.len()
        && let Some(done) = after.done.last()
    {
        (0..SEATS).for_each(|seat| of_seat(done, seat, out));
    }
}

fn of_seat(done: &Done, seat: Seat, out: &mut Vec<Mark>) {
    let mut mark = |name: &'static str, value: MarkValue| out.push(Mark { seat, name, value });
    let number = |n: u32| MarkValue::Number(n.into());
    mark("hand_score", MarkValue::Number(done.scores[seat].into()));
    mark("won_by", MarkValue::Word(won_by(done, seat)));
    let won = !matches!(done.outcome, Outcome::Drawn | Outcome::False);
    if !won || usize::from(done.winner) != seat {
        return;
    }
    mark("total", number(done.points));
    for &(fan, count) in done.fans.iter().filter(|(fan, _)| *fan < ROWS) {
        for _ in 0..count {
            mark("fan", MarkValue::Word(FANS[fan].name));
            mark("fan_points", number(FANS[fan].points));
        }
    }
}

/// How the hand went for a seat.
fn won_by(done: &Done, seat: Seat) -> &'static str {
    let (winner, from) = (usize::from(done.winner) == seat, usize::from(done.from) == seat);
    match done.outcome {
        Outcome::Drawn => "drawn",
        Outcome::False => "false",
        Outcome::SelfDraw if winner => "self_draw",
        Outcome::Discard if winner => "discard",
        Outcome::Robbed if winner => "robbed",
        Outcome::Discard | Outcome::Robbed if from => "dealt_in",
        _ => "paid",
    }
}
