//! A guess at how a position stands: material, squares, mobility, pawns, and what is aimed at the king.
//!
//! Every term has a value for the middle game and one for the endgame, in hundredths of a pawn; the pieces on the board
//! say how much each counts. Values of pieces and squares are those of Ronald Friederich's engine Rofchade
//! ("PeSTO's evaluation functions", chessprogramming.org); the other terms are round numbers of common size.

use std::ops::{AddAssign, Neg};

use shakmaty::{Bitboard, Board, Color, Position, Role, Square, attacks};

use super::state::State;

/// Of a pawn, knight, bishop, rook, queen and king.
const VALUE: [[i32; 6]; 2] = [[82, 337, 365, 477, 1025, 0], [94, 281, 297, 512, 936, 0]];

/// By role in the middle game; the eighth rank first, files a to h.
const MIDDLE: [[i32; 64]; 6] = [
    [
        0, 0, 0, 0, 0, 0, 0, 0, 98, 134, 61, 95, 68, 126, 34, -11, -6, 7, 26, 31, 65, 56, 25, -20, -14, 13, 6, 21, 23,
        12, 17, -23, -27, -2, -5, 12, 17, 6, 10, -25, -26, -4, -4, -10, 3, 3, 33, -12, -35, -1, -20, -23, -15, 24, 38,
        -22, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
    [
        -167, -89, -34, -49, 61, -97, -15, -107, -73, -41, 72, 36, 23, 62, 7, -17, -47, 60, 37, 65, 84, 129, 73, 44,
        -9, 17, 19, 53, 37, 69, 18, 22, -13, 4, 16, 13, 28, 19, 21, -8, -23, -9, 12, 10, 19, 17, 25, -16, -29, -53,
        -12, -3, -1, 18, -14, -19, -105, -21, -58, -33, -17, -28, -19, -23,
    ],
    [
        -29, 4, -82, -37, -25, -42, 7, -8, -26, 16, -18, -13, 30, 59, 18, -47, -16, 37, 43, 40, 35, 50, 37, -2, -4, 5,
        19, 50, 37, 37, 7, -2, -6, 13, 13, 26, 34, 12, 10, 4, 0, 15, 15, 15, 14, 27, 18, 10, 4, 15, 16, 0, 7, 21, 33,
        1, -33, -3, -14, -21, -13, -12, -39, -21,
    ],
    [
        32, 42, 32, 51, 63, 9, 31, 43, 27, 32, 58, 62, 80, 67, 26, 44, -5, 19, 26, 36, 17, 45, 61, 16, -24, -11, 7, 26,
        24, 35, -8, -20, -36, -26, -12, -1, 9, -7, 6, -23, -45, -25, -16, -17, 3, 0, -5, -33, -44, -16, -20, -9, -1,
        11, -6, -71, -19, -13, 1, 17, 16, 7, -37, -26,
    ],
    [
        -28, 0, 29, 12, 59, 44, 43, 45, -24, -39, -5, 1, -16, 57, 28, 54, -13, -17, 7, 8, 29, 56, 47, 57, -27, -27,
        -16, -16, -1, 17, -2, 1, -9, -26, -9, -10, -2, -4, 3, -3, -14, 2, -11, -2, -5, 2, 14, 5, -35, -8, 11, 2, 8, 15,
        -3, 1, -1, -18, -9, 10, -15, -25, -31, -50,
    ],
    [
        -65, 23, 16, -15, -56, -34, 2, 13, 29, -1, -20, -7, -8, -4, -38, -29, -9, 24, 2, -16, -20, 6, 22, -22, -17,
        -20, -12, -27, -30, -25, -14, -36, -49, -1, -27, -39, -46, -44, -33, -51, -14, -14, -22, -46, -44, -30, -15,
        -27, 1, 7, -8, -64, -43, -16, 9, 8, -15, 36, 12, -54, 8, -28, 24, 14,
    ],
];

/// By role in the endgame.
const END: [[i32; 64]; 6] = [
    [
        0, 0, 0, 0, 0, 0, 0, 0, 178, 173, 158, 134, 147, 132, 165, 187, 94, 100, 85, 67, 56, 53, 82, 84, 32, 24, 13, 5,
        -2, 4, 17, 17, 13, 9, -3, -7, -7, -8, 3, -1, 4, 7, -6, 1, 0, -5, -1, -8, 13, 8, 8, 10, 13, 0, 2, -7, 0, 0, 0,
        0, 0, 0, 0, 0,
    ],
    [
        -58, -38, -13, -28, -31, -27, -63, -99, -25, -8, -25, -2, -9, -25, -24, -52, -24, -20, 10, 9, -1, -9, -19, -41,
        -17, 3, 22, 22, 22, 11, 8, -18, -18, -6, 16, 25, 16, 17, 4, -18, -23, -3, -1, 15, 10, -3, -20, -22, -42, -20,
        -10, -5, -2, -20, -23, -44, -29, -51, -23, -15, -22, -18, -50, -64,
    ],
    [
        -14, -21, -11, -8, -7, -9, -17, -24, -8, -4, 7, -12, -3, -13, -4, -14, 2, -8, 0, -1, -2, 6, 0, 4, -3, 9, 12, 9,
        14, 10, 3, 2, -6, 3, 13, 19, 7, 10, -3, -9, -12, -3, 8, 10, 13, 3, -7, -15, -14, -18, -7, -1, 4, -9, -15, -27,
        -23, -9, -23, -5, -9, -16, -5, -17,
    ],
    [
        13, 10, 18, 15, 12, 12, 8, 5, 11, 13, 13, 11, -3, 3, 8, 3, 7, 7, 7, 5, 4, -3, -5, -3, 4, 3, 13, 1, 2, 1, -1, 2,
        3, 5, 8, 4, -5, -6, -8, -11, -4, 0, -5, -1, -7, -12, -8, -16, -6, -6, 0, 2, -9, -9, -11, -3, -9, 2, 3, -1, -5,
        -13, 4, -20,
    ],
    [
        -9, 22, 22, 27, 27, 19, 10, 20, -17, 20, 32, 41, 58, 25, 30, 0, -20, 6, 9, 49, 47, 35, 19, 9, 3, 22, 24, 45,
        57, 40, 57, 36, -18, 28, 19, 47, 31, 34, 39, 23, -16, -27, 15, 6, 9, 17, 10, 5, -22, -23, -30, -16, -16, -23,
        -36, -32, -33, -28, -22, -43, -5, -32, -20, -41,
    ],
    [
        -74, -35, -18, -18, -11, 15, 4, -17, -12, 17, 14, 17, 17, 38, 23, 11, 10, 17, 23, 15, 20, 45, 44, 13, -8, 22,
        24, 27, 26, 33, 26, 3, -18, -4, 21, 24, 27, 23, 9, -11, -19, -3, 11, 21, 23, 16, 7, -9, -27, -11, 4, 13, 14, 4,
        -5, -17, -53, -34, -21, -11, -28, -14, -24, -43,
    ],
];

/// What each role counts towards a full middle game, which is 24.
const WEIGHT: [i32; 6] = [0, 1, 1, 2, 4, 0];
/// For each square that a knight, bishop, rook or queen can go to, beyond an ordinary number of them.
const MOBILITY: [(i32, Score); 4] = [(4, Score(4, 4)), (6, Score(4, 4)), (7, Score(2, 4)), (13, Score(1, 2))];
/// For each square around the enemy's king that such a piece attacks.
const AIMED: [i32; 4] = [6, 5, 8, 10];
const BISHOPS: Score = Score(25, 45);
const OPEN_FILE: Score = Score(22, 8);
const HALF_OPEN_FILE: Score = Score(10, 6);
const DOUBLED: Score = Score(-8, -18);
const ISOLATED: Score = Score(-12, -10);
/// By the rank of the passed pawn from its own side.
const PASSED: [Score; 8] =
    [Score(0, 0), Score(0, 8), Score(0, 12), Score(5, 25), Score(15, 45), Score(30, 75), Score(45, 110), Score(0, 0)];
/// For the side to move.
const TEMPO: Score = Score(12, 6);

/// A value in the middle game and in the endgame.
#[derive(Clone, Copy, Default)]
struct Score(i32, i32);

impl Score {
    const fn times(self, n: i32) -> Self {
        Score(self.0 * n, self.1 * n)
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        *self = Score(self.0 + other.0, self.1 + other.1);
    }
}

impl Neg for Score {
    type Output = Self;
    fn neg(self) -> Self {
        self.times(-1)
    }
}

/// Hundredths of a pawn by which White stands better.
pub(super) fn centipawns(s: &State) -> i32 {
    let board = s.pos.board();
    let (mut sum, mut middle) = (Score::default(), 0);
    for color in Color::ALL {
        let mut side = pieces(board, color, &mut middle);
        side += pawns(board, color);
        if s.pos.turn() == color {
            side += TEMPO;
        }
        sum += if color == Color::White { side } else { -side };
    }
    let middle = middle.min(24);
    (sum.0 * middle + sum.1 * (24 - middle)) / 24
}

/// Material, squares, mobility and attack of one colour; adds to `middle` what its pieces count.
fn pieces(board: &Board, color: Color, middle: &mut i32) -> Score {
    let (own, occupied) = (board.by_color(color), board.occupied());
    let flip = color.fold_wb(56, 0);
    let (my_pawns, pawns) = (board.pawns() & own, board.pawns());
    let guarded = strikes(!color, pawns & board.by_color(!color));
    let king = board.king_of(!color).map_or(Bitboard::EMPTY, |king| attacks::king_attacks(king));
    let (mut sum, mut aimed, mut attackers) = (Score::default(), 0, 0);
    for (i, role) in Role::ALL.into_iter().enumerate() {
        let these = board.by_role(role) & own;
        *middle += WEIGHT[i] * these.count() as i32;
        for square in these {
            let at = usize::from(square) ^ flip;
            sum += Score(VALUE[0][i] + MIDDLE[i][at], VALUE[1][i] + END[i][at]);
            let reach = match role {
                Role::Pawn | Role::King => continue,
                Role::Knight => attacks::knight_attacks(square),
                Role::Bishop => attacks::bishop_attacks(square, occupied),
                Role::Rook => attacks::rook_attacks(square, occupied),
                Role::Queen => attacks::queen_attacks(square, occupied),
            };
            let (usual, each) = MOBILITY[i - 1];
            sum += each.times((reach & !own & !guarded).count() as i32 - usual);
            if (reach & king).any() {
                attackers += 1;
                aimed += AIMED[i - 1] * (reach & king).count() as i32;
            }
            if role == Role::Rook {
                let file = Bitboard::from_file(square.file());
                match ((file & my_pawns).is_empty(), (file & pawns).is_empty()) {
                    (true, true) => sum += OPEN_FILE,
                    (true, false) => sum += HALF_OPEN_FILE,
                    _ => {}
                }
            }
        }
    }
    if (board.bishops() & own).more_than_one() {
        sum += BISHOPS;
    }
    // One piece alone gives no mate; each further one makes all of them more dangerous.
    sum += Score(aimed * (attackers.min(4) - 1).max(0) / 3, 0);
    sum
}

/// The structure of one colour's pawns.
fn pawns(board: &Board, color: Color) -> Score {
    let own = board.pawns() & board.by_color(color);
    let enemy = board.pawns() & board.by_color(!color);
    let mut sum = Score::default();
    for square in own {
        let (file, rank) = (Bitboard::from_file(square.file()), square.rank());
        let ahead = ahead(color, square);
        let beside = beside(file);
        if (own & beside).is_empty() {
            sum += ISOLATED;
        }
        if (own & file & ahead).any() {
            sum += DOUBLED;
        } else if (enemy & (file | beside) & ahead).is_empty() {
            sum += PASSED[color.fold_wb(rank.to_u32(), 7 - rank.to_u32()) as usize];
        }
    }
    sum
}

/// All squares on ranks beyond that of `square`, as `color` goes.
fn ahead(color: Color, square: Square) -> Bitboard {
    let rank = square.rank().to_u32();
    Bitboard(match color {
        Color::White if rank == 7 => 0,
        Color::White => u64::MAX << (8 * (rank + 1)),
        Color::Black => (1 << (8 * rank)) - 1,
    })
}

/// The files beside those of a set.
fn beside(files: Bitboard) -> Bitboard {
    Bitboard((files.0 & !FILE_H) << 1 | (files.0 & !FILE_A) >> 1)
}

/// What pawns of `color` attack.
fn strikes(color: Color, pawns: Bitboard) -> Bitboard {
    beside(Bitboard(color.fold_wb(pawns.0 << 8, pawns.0 >> 8)))
}

const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;

/// A guess at White's return in (-1, 1): a pawn is 0.17, a queen 0.64.
pub(super) fn guess(s: &State) -> f64 {
    let x = f64::from(centipawns(s));
    x / (x.abs() + 500.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::chess::{Params, notation};

    fn of(fen: &str) -> i32 {
        centipawns(&State::new(notation::position(fen).unwrap(), &Params::default()))
    }

    #[test]
    fn colours_are_treated_alike() {
        for (fen, mirrored) in [
            (
                "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
                "rnbqkb1r/pppp1ppp/5n2/4p3/4P3/2N5/PPPP1PPP/R1BQKBNR b KQkq - 2 3",
            ),
            ("8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50", "8/8/p4p1k/Pp2pP1p/1P1pP2P/3P4/5K2/8 w - - 99 50"),
            ("6k1/5ppp/8/8/8/2B5/1Q3PPP/3R2K1 w - - 0 1", "3r2k1/1q3ppp/2b5/8/8/8/5PPP/6K1 b - - 0 1"),
        ] {
            assert_eq!(of(fen), -of(mirrored), "{fen}");
        }
        assert_eq!(of("4k3/8/8/8/8/8/8/4K3 w - - 0 1"), -of("4k3/8/8/8/8/8/8/4K3 b - - 0 1"));
    }

    #[test]
    fn terms_point_the_right_way() {
        let better = |good: &str, bad: &str| assert!(of(good) > of(bad), "{good} against {bad}");
        // A queen more; a passed pawn nearer to its goal; a rook on an open file; pawns that are not doubled.
        better("3qk3/8/8/8/8/8/8/3QK2Q w - - 0 1", "3qk3/8/8/8/8/8/8/3QK3 w - - 0 1");
        better("4k3/8/P7/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/P7/8/8/8/4K3 w - - 0 1");
        better("4k3/p7/8/8/8/8/P7/1R2K3 w - - 0 1", "4k3/1p6/8/8/8/8/1P6/1R2K3 w - - 0 1");
        better("4k3/8/8/8/8/8/PP6/4K3 w - - 0 1", "4k3/8/8/8/8/P7/P7/4K3 w - - 0 1");
    }

    #[test]
    fn sets_of_squares() {
        assert_eq!(ahead(Color::White, Square::E7), Bitboard::from_rank(shakmaty::Rank::Eighth));
        assert_eq!(ahead(Color::White, Square::A8), Bitboard::EMPTY);
        assert_eq!(ahead(Color::Black, Square::C2), Bitboard::from_rank(shakmaty::Rank::First));
        assert_eq!(strikes(Color::White, Bitboard::from_square(Square::A2)), Bitboard::from_square(Square::B3));
        let both = Bitboard::from_square(Square::G6) | Bitboard::from_square(Square::E6);
        assert_eq!(strikes(Color::Black, Bitboard::from_square(Square::F7)), both);
    }
}
