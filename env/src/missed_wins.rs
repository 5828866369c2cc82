//! Missed wins and missed blocks, in two-player games without chance and hidden information.

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Spec, Utility};

use crate::game::{Action, CompleteGame, Seat, ToMove};
use crate::marks::{FLAG, MarkDoc, Marks, OURS};

const WIN: &str = "missed_win";
const BLOCK: &str = "missed_block";

/// Documentation of the marks `missed_win` and `missed_block`.
pub(crate) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        WIN,
        FLAG,
        "for each move: 1 if the move does not win but an available move would have won immediately, else 0",
        OURS,
    ),
    MarkDoc::new(
        BLOCK,
        FLAG,
        "for each move: 1 if the move loses or lets the opponent win in reply, and an available move would not; else 0",
        OURS,
    ),
];

/// Returns true if a game has the marks `missed_win` and `missed_block`: two seats, sequential, perfect information, no
/// chance, zero-sum.
pub(crate) fn fits(spec: &Spec) -> bool {
    let facts = (spec.dynamics, spec.chance, spec.information, spec.utility);
    let wanted = (Dynamics::Sequential, ChanceMode::Deterministic, Information::Perfect, Utility::ZeroSum);
    spec.players == 2 && facts == wanted
}

/// Emits the marks of a move of one seat.
pub(crate) fn count<G: CompleteGame>(game: &G, before: &G::State, after: &G::State, out: &mut Marks) {
    let ToMove::Seat(seat) = game.to_move(before) else { return };
    if out.wants(WIN) {
        let missed = !won(game, after, seat) && any_move(game, before, seat, |s| won(game, s, seat));
        out.flag(seat, WIN, missed);
    }
    if out.wants(BLOCK) {
        let missed = exposed(game, after, seat) && any_move(game, before, seat, |s| !exposed(game, s, seat));
        out.flag(seat, BLOCK, missed);
    }
}

/// Returns true if some legal move of `seat` leads to a position for which `good` holds.
fn any_move<G: CompleteGame>(game: &G, s: &G::State, seat: Seat, good: impl Fn(&G::State) -> bool) -> bool {
    let mut legal: Vec<Action> = Vec::new();
    game.legal(s, seat, &mut legal);
    let mut next = s.clone();
    legal.into_iter().any(|a| {
        next.clone_from(s);
        game.play_unchecked(&mut next, a);
        good(&next)
    })
}

/// Returns true if the episode has ended and `seat` has won.
fn won<G: CompleteGame>(game: &G, s: &G::State, seat: Seat) -> bool {
    let mut returns = [0.0; 2];
    game.to_move(s) == ToMove::Over && {
        game.returns(s, &mut returns);
        returns[seat & 1] > returns[1 - (seat & 1)]
    }
}

/// Returns true if the opponent of `seat` has won, or is to move and can win immediately.
fn exposed<G: CompleteGame>(game: &G, s: &G::State, seat: Seat) -> bool {
    let other = 1 - (seat & 1);
    won(game, s, other)
        || game.to_move(s) == ToMove::Seat(other) && any_move(game, s, other, |next| won(game, next, other))
}
