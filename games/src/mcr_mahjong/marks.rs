//! Marks of finished hands.

use ludex_env::game::{MarkDoc, Marks, Seat};
use ludex_env::marks::WORD;

use super::fans::{FANS, ROWS};
use super::state::{FinishedHand, Outcome, SEATS, State};

const POINTS: &str = "points";
const BENCH: &str = "BotzoneBench";

/// Documentation of the marks of finished hands.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("hand_score", POINTS, "at the end of each hand, for each seat: its score", "IJCAI 2020"),
    MarkDoc::new(
        "won_by",
        WORD,
        "at the end of each hand, for each seat: `self_draw`, `discard` or `robbed` for the winner, by the source of the \
         tile; `dealt_in` for the seat that supplied the tile; `paid` for all other seats; `drawn` for all seats of a drawn \
         hand; `false` for all seats after a false HU, whose seat has the negative `hand_score`",
        BENCH,
    ),
    MarkDoc::new("total", POINTS, "for the winner of a hand: points, including flowers", BENCH),
    MarkDoc::new("fan", WORD, "for the winner of a hand: name of each fan, once per occurrence", BENCH),
    MarkDoc::new("fan_points", POINTS, "for the winner of a hand: points of each occurrence of a fan", BENCH),
];

/// Emits the marks of a hand that ended in the step from `before` to `after`.
pub(super) fn count(before: &State, after: &State, out: &mut Marks) {
    if after.done.len() > before.done.len()
        && let Some(done) = after.done.last()
    {
        (0..SEATS).for_each(|seat| of_seat(done, seat, out));
    }
}

fn of_seat(done: &FinishedHand, seat: Seat, out: &mut Marks) {
    out.number(seat, "hand_score", done.scores[seat]);
    out.word(seat, "won_by", won_by(done, seat));
    let won = !matches!(done.outcome, Outcome::Drawn | Outcome::False);
    if !won || usize::from(done.winner) != seat {
        return;
    }
    out.number(seat, "total", done.points);
    for &(fan, count) in done.fans.iter().filter(|(fan, _)| *fan < ROWS) {
        for _ in 0..count {
            out.word(seat, "fan", FANS[fan].name);
            out.number(seat, "fan_points", FANS[fan].points);
        }
    }
}

/// Returns the result of a hand for a seat.
fn won_by(done: &FinishedHand, seat: Seat) -> &'static str {
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
