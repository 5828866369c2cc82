//! Wins that were there and blocks that were left out, in games of two seats without luck and secrets.

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Spec, Utility};

use crate::game::{Action, Game, Seat, ToMove};
use crate::marks::{FLAG, MarkDoc, Marks, OURS};

const WIN: &str = "missed_win";
const BLOCK: &str = "missed_block";

/// The marks of every such game.
pub(crate) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        WIN,
        FLAG,
        "of each move: 1 if another legal move would have won at once and this one did not, else 0",
        OURS,
    ),
    MarkDoc::new(
        BLOCK,
        FLAG,
        "of each move: 1 if it loses at once or lets the opponent win with the next move, and another legal move would not, else 0",
        OURS,
    ),
];

/// Whether a game has these marks: two seats in turns, nothing hidden, no luck, and one seat's gain is the other's loss.
pub(crate) fn fits(spec: &Spec) -> bool {
    let facts = (spec.dynamics, spec.chance, spec.information, spec.utility);
    let wanted = (Dynamics::Sequential, ChanceMode::Deterministic, Information::Perfect, Utility::ZeroSum);
    spec.players == 2 && facts == wanted
}

/// Counts a step of one seat.
pub(crate) fn count<G: Game>(game: &G, before: &G::State, after: &G::State, out: &mut Marks) {
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

/// Whether some legal move of `seat` leads to a position that is `good`.
fn any_move<G: Game>(game: &G, s: &G::State, seat: Seat, good: impl Fn(&G::State) -> bool) -> bool {
    let mut legal: Vec<Action> = Vec::new();
    game.legal(s, seat, &mut legal);
    let mut next = s.clone();
    legal.into_iter().any(|a| {
        next.clone_from(s);
        game.play_unchecked(&mut next, a);
        good(&next)
    })
}

/// Whether the episode is over and `seat` has won it.
fn won<G: Game>(game: &G, s: &G::State, seat: Seat) -> bool {
    let mut returns = [0.0; 2];
    game.to_move(s) == ToMove::Over && {
        game.returns(s, &mut returns);
        returns[seat & 1] > returns[1 - (seat & 1)]
    }
}

/// Whether the opponent of `seat` has won, or is to move and can win at once.
fn exposed<G: Game>(game: &G, s: &G::State, seat: Seat) -> bool {
    let other = 1 - (seat & 1);
    won(game, s, other)
        || game.to_move(s) == ToMove::Seat(other) && any_move(game, s, other, |next| won(game, next, other))
}

#[cfg(test)]
mod tests {
    use crate::{Marks, ParsedMove};

    /// After `moves` of the seats in turn: the last move's `missed_win` and `missed_block`.
    fn missed(game: &str, moves: &[u32]) -> [f64; 2] {
        let mut s = crate::load(game).unwrap().start();
        let mut marks = Marks::all();
        for &a in moves {
            let (before, seat) = (s.boxed(), s.turn().seat().unwrap());
            s.play(seat, a).unwrap();
            marks.take();
            before.marks(&[Some(ParsedMove::Action(a))], &*s, &mut marks);
        }
        ["missed_win", "missed_block"].map(|name| {
            let all = marks.clone().take();
            let found: Vec<_> = all.iter().filter(|m| m.name == name).map(|m| m.value.clone()).collect();
            match &found[..] {
                [crate::MarkValue::Number(n)] => *n,
                _ => panic!("{name}: {all:?}"),
            }
        })
    }

    /// Cells 0 1 2 / 3 4 5 / 6 7 8.
    #[test]
    fn tic_tac_toe() {
        // x has 0 and 1, o has 3 and 4: x wins with 2.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 2]), [0.0, 0.0]);
        // It takes 5: the win is missed, and o's row is blocked.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 5]), [1.0, 0.0]);
        // It takes 8: the win is missed, and so is the block.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 8]), [1.0, 1.0]);
        // o leaves x's row open.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 8]), [0.0, 1.0]);
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 2]), [0.0, 0.0]);
        // x has 0, 4 and 2: 1, 6 and 8 all win, so no move of o could have helped.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 4, 5, 2, 7]), [0.0, 0.0]);
    }

    #[test]
    fn connect_four() {
        // x has three in column 0.
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 1]), [0.0, 1.0]);
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 0]), [0.0, 0.0]);
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 1, 6]), [1.0, 1.0]);
    }

    /// Who takes the last match loses. Ids are (take - 1) * piles + pile.
    #[test]
    fn nim() {
        // Of piles of 1 and 2 nobody can take the last match yet.
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[1]), [0.0, 0.0]);
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[3]), [0.0, 0.0]);
        // Of one pile of 2, taking both loses at once; taking one does not.
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 3]), [0.0, 1.0]);
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 1]), [0.0, 0.0]);
    }

    /// Games with luck, secrets or simultaneous moves have none.
    #[test]
    fn only_where_they_mean_something() {
        for game in crate::games() {
            let game = crate::load(game.id).unwrap();
            let has = game.marks_docs().iter().any(|doc| doc.name == "missed_win");
            let wanted =
                ["tic_tac_toe", "connect_four", "breakthrough", "nim", "gomoku", "reversi", "ataxx", "chess", "go"];
            assert_eq!(has, wanted.contains(&game.id()), "{}", game.id());
        }
    }
}
