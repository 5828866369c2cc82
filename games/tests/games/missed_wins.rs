//! Tests of the marks for missed wins and missed blocks, which all two-player games of perfect information have.

use ludex_env::{MarkValue, Marks, ParsedMove};
use ludex_games::{games, load};

/// Plays `moves` and returns the marks `missed_win` and `missed_block` of the last move.
fn missed(game: &str, moves: &[u32]) -> [f64; 2] {
    let mut s = load(game).unwrap().start();
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
            [MarkValue::Number(n)] => *n,
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

/// The player who takes the last match loses. The action id is (number taken - 1) * piles + pile.
#[test]
fn nim_marks_missed_blocks() {
    // With piles of 1 and 2, the last match cannot be taken yet.
    assert_eq!(missed("nim(pile_sizes=[1,2])", &[1]), [0.0, 0.0]);
    assert_eq!(missed("nim(pile_sizes=[1,2])", &[3]), [0.0, 0.0]);
    // With one pile of 2, taking both loses immediately; taking one does not.
    assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 3]), [0.0, 1.0]);
    assert_eq!(missed("nim(pile_sizes=[1,2])", &[0, 1]), [0.0, 0.0]);
}

/// Games with chance, hidden information or simultaneous moves do not have these marks.
#[test]
fn only_deterministic_two_player_games_have_missed_win_marks() {
    for game in games() {
        let game = load(game.info.id).unwrap();
        let has = game.marks_docs().iter().any(|doc| doc.name == "missed_win");
        let wanted =
            ["tic_tac_toe", "connect_four", "breakthrough", "nim", "gomoku", "reversi", "ataxx", "chess", "go"];
        assert_eq!(has, wanted.contains(&game.id()), "{}", game.id());
    }
}
