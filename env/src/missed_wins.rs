//! Missed wins and missed blocks, in two-player games without chance and hidden information.

use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Spec, Utility};

use crate::game::{Action, Game, Seat, ToMove};
use crate::marks::{FLAG, MarkDoc, Marks, OURS};

const WIN: &str = "missed_win";
const BLOCK: &str = "missed_block";

/// The marks of all such games.
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

/// Returns true if a game has these marks: two seats, sequential, perfect information, no chance, zero-sum.
pub(crate) fn fits(spec: &Spec) -> bool {
    let facts = (spec.dynamics, spec.chance, spec.information, spec.utility);
    let wanted = (Dynamics::Sequential, ChanceMode::Deterministic, Information::Perfect, Utility::ZeroSum);
    spec.players == 2 && facts == wanted
}

/// Emits the marks of a move of one seat.
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

/// Returns true if some legal move of `seat` leads to a position for which `good` holds.
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

/// Returns true if the episode has ended and `seat` has won.
fn won<G: Game>(game: &G, s: &G::State, seat: Seat) -> bool {
    let mut returns = [0.0; 2];
    game.to_move(s) == ToMove::Over && {
        game.returns(s, &mut returns);
        returns[seat & 1] > returns[1 - (seat & 1)]
    }
}

/// Returns true if the opponent of `seat` has won, or is to move and can win at once.
fn exposed<G: Game>(game: &G, s: &G::State, seat: Seat) -> bool {
    let other = 1 - (seat & 1);
    won(game, s, other)
        || game.to_move(s) == ToMove::Seat(other) && any_move(game, s, other, |next| won(game, next, other))
}

#[cfg(test)]
mod tests {
    use crate::{Marks, ParsedMove};

    /// Plays `moves` and returns `missed_win` and `missed_block` of the last one.
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

    /// Cells are numbered 0 1 2 / 3 4 5 / 6 7 8.
    #[test]
    fn tic_tac_toe_marks_missed_wins_and_blocks() {
        // x has 0 and 1, o has 3 and 4: x wins with 2.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 2]), [0.0, 0.0]);
        // x plays 5: misses the win but blocks o's row.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 5]), [1.0, 0.0]);
        // x plays 8: misses both the win and the block.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 4, 8]), [1.0, 1.0]);
        // o does not block x's row.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 8]), [0.0, 1.0]);
        assert_eq!(missed("tic_tac_toe", &[0, 3, 1, 2]), [0.0, 0.0]);
        // x has 0, 4 and 2, and threatens 1, 6 and 8: no move of o could prevent the loss.
        assert_eq!(missed("tic_tac_toe", &[0, 3, 4, 5, 2, 7]), [0.0, 0.0]);
    }

    #[test]
    fn connect_four_marks_missed_block() {
        // x has three in column 0.
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 1]), [0.0, 1.0]);
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 0]), [0.0, 0.0]);
        assert_eq!(missed("connect_four", &[0, 1, 0, 1, 0, 1, 6]), [1.0, 1.0]);
    }

    /// The player who takes the last match loses. Action ids are (take - 1) * piles + pile.
    #[test]
    fn nim_marks_missed_blocks() {
        // With piles of 1 and 2, the last match cannot be taken yet.
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[1]), [0.0, 0.0]);
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[3]), [0.0, 0.0]);
        // With one pile of 2, taking both loses at once; taking one does not.
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 3]), [0.0, 1.0]);
        assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 1]), [0.0, 0.0]);
    }

    /// Games with chance, hidden information or simultaneous moves have no such marks.
    #[test]
    fn only_deterministic_two_player_games_have_missed_marks() {
        for game in crate::games() {
            let game = crate::load(game.id).unwrap();
            let has = game.marks_docs().iter().any(|doc| doc.name == "missed_win");
            let wanted =
                ["tic_tac_toe", "connect_four", "breakthrough", "nim", "gomoku", "reversi", "ataxx", "chess", "go"];
            assert_eq!(has, wanted.contains(&game.id()), "{}", game.id());
        }
    }
}
