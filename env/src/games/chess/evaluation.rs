//! Material and squares.
//!
//! Values and piece-square tables are those of Tomasz Michniewski's "Simplified Evaluation Function"
//! (chessprogramming.org), in hundredths of a pawn; the king's table moves from the middle game's to the endgame's as
//! pieces leave the board.

use shakmaty::{Color, Position, Role};

use super::state::State;

const VALUE: [i32; 6] = [100, 320, 330, 500, 900, 0];

/// By role (pawn to king, then the king of the endgame); the eighth rank first, files a to h.
const SQUARES: [[i32; 64]; 7] = [
    [
        0, 0, 0, 0, 0, 0, 0, 0, 50, 50, 50, 50, 50, 50, 50, 50, 10, 10, 20, 30, 30, 20, 10, 10, 5, 5, 10, 25, 25, 10,
        5, 5, 0, 0, 0, 20, 20, 0, 0, 0, 5, -5, -10, 0, 0, -10, -5, 5, 5, 10, 10, -20, -20, 10, 10, 5, 0, 0, 0, 0, 0, 0,
        0, 0,
    ],
    [
        -50, -40, -30, -30, -30, -30, -40, -50, -40, -20, 0, 0, 0, 0, -20, -40, -30, 0, 10, 15, 15, 10, 0, -30, -30, 5,
        15, 20, 20, 15, 5, -30, -30, 0, 15, 20, 20, 15, 0, -30, -30, 5, 10, 15, 15, 10, 5, -30, -40, -20, 0, 5, 5, 0,
        -20, -40, -50, -40, -30, -30, -30, -30, -40, -50,
    ],
    [
        -20, -10, -10, -10, -10, -10, -10, -20, -10, 0, 0, 0, 0, 0, 0, -10, -10, 0, 5, 10, 10, 5, 0, -10, -10, 5, 5,
        10, 10, 5, 5, -10, -10, 0, 10, 10, 10, 10, 0, -10, -10, 10, 10, 10, 10, 10, 10, -10, -10, 5, 0, 0, 0, 0, 5,
        -10, -20, -10, -10, -10, -10, -10, -10, -20,
    ],
    [
        0, 0, 0, 0, 0, 0, 0, 0, 5, 10, 10, 10, 10, 10, 10, 5, -5, 0, 0, 0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0, -5, -5,
        0, 0, 0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0, -5, 0, 0, 0, 5, 5, 0, 0, 0,
    ],
    [
        -20, -10, -10, -5, -5, -10, -10, -20, -10, 0, 0, 0, 0, 0, 0, -10, -10, 0, 5, 5, 5, 5, 0, -10, -5, 0, 5, 5, 5,
        5, 0, -5, 0, 0, 5, 5, 5, 5, 0, -5, -10, 5, 5, 5, 5, 5, 0, -10, -10, 0, 5, 0, 0, 0, 0, -10, -20, -10, -10, -5,
        -5, -10, -10, -20,
    ],
    [
        -30, -40, -40, -50, -50, -40, -40, -30, -30, -40, -40, -50, -50, -40, -40, -30, -30, -40, -40, -50, -50, -40,
        -40, -30, -30, -40, -40, -50, -50, -40, -40, -30, -20, -30, -30, -40, -40, -30, -30, -20, -10, -20, -20, -20,
        -20, -20, -20, -10, 20, 20, 0, 0, 0, 0, 20, 20, 20, 30, 10, 0, 0, 10, 30, 20,
    ],
    [
        -50, -40, -30, -20, -20, -30, -40, -50, -30, -20, -10, 0, 0, -10, -20, -30, -30, -10, 20, 30, 30, 20, -10, -30,
        -30, -10, 30, 40, 40, 30, -10, -30, -30, -10, 30, 40, 40, 30, -10, -30, -30, -10, 20, 30, 30, 20, -10, -30,
        -30, -30, 0, 0, 0, 0, -30, -30, -50, -30, -30, -30, -30, -30, -30, -50,
    ],
];

/// What each role counts towards a full middle game, which is 24.
const WEIGHT: [i32; 6] = [0, 1, 1, 2, 4, 0];

/// Hundredths of a pawn by which White stands better.
pub(super) fn centipawns(s: &State) -> i32 {
    let board = s.pos.board();
    let (mut sum, mut middle, mut kings) = (0, 0, [0; 2]);
    for color in Color::ALL {
        let sign = color.fold_wb(1, -1);
        let flip = color.fold_wb(56, 0);
        for (i, role) in Role::ALL.into_iter().enumerate() {
            for square in board.by_piece(role.of(color)) {
                let at = usize::from(square) ^ flip;
                if role == Role::King {
                    kings[0] += sign * SQUARES[5][at];
                    kings[1] += sign * SQUARES[6][at];
                } else {
                    sum += sign * (VALUE[i] + SQUARES[i][at]);
                    middle += WEIGHT[i];
                }
            }
        }
    }
    let middle = middle.min(24);
    sum + (kings[0] * middle + kings[1] * (24 - middle)) / 24
}

/// A guess at White's return in (-1, 1): a pawn is 0.17, a queen 0.64.
pub(super) fn guess(s: &State) -> f64 {
    let x = f64::from(centipawns(s));
    x / (x.abs() + 500.0)
}
