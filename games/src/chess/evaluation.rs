//! Static evaluation: material, piece squares, mobility, pawn structure, and attacks on the king.
//!
//! Each term has one value for the middle game and one for the endgame, in hundredths of a pawn. The result
//! interpolates between the two by the material on the board. Piece-square values follow from two rules: distance from
//! the center and advance.

use std::ops::{AddAssign, Neg};

use shakmaty::{Bitboard, Board, Color, Position, Role, Square, attacks};

use super::state::State;

/// Values of pawn, knight, bishop, rook, queen and king.
const VALUE: [Score; 6] =
    [Score(90, 110), Score(330, 300), Score(345, 315), Score(480, 530), Score(980, 960), Score(0, 0)];

/// Returns the positional value of a piece on a square. `rank` counts from the piece's own back rank, `file` from the
/// a-file, both from 0.
const fn place(role: usize, rank: i32, file: i32) -> Score {
    // 0 in the four center squares, 3 on the edge.
    let (across, along) = (from_middle(file), from_middle(rank));
    let centre = if across > along { across } else { along };
    match role {
        // Pawns of the middle files gain space; in the endgame every step counts.
        0 => Score(if across == 0 { 8 * (rank - 1) } else { 3 * (rank - 1) - 4 * across }, 6 * (rank - 1)),
        1 => Score(22 - 14 * centre + 2 * rank, 12 - 10 * centre),
        2 => Score(10 - 7 * centre + rank, 6 - 4 * centre),
        3 => Score(if rank == 6 { 18 } else { 6 - 4 * across }, if rank == 6 { 20 } else { 0 }),
        4 => Score(-2 * rank, 12 - 7 * centre),
        // The king hides in a corner of its own side, and advances in the endgame.
        _ => Score(across * 10 - 22 * rank, 40 - 16 * centre + 2 * rank),
    }
}

/// Returns the distance of a rank or file from the nearer of the two middle ranks or files.
const fn from_middle(line: i32) -> i32 {
    if line < 4 { 3 - line } else { line - 4 }
}

/// Sum of [`VALUE`] and [`place`], by role and square, from White's side.
const WORTH: [[Score; 64]; 6] = {
    let mut all = [[Score(0, 0); 64]; 6];
    let (mut role, mut square) = (0, 0);
    while role < 6 {
        while square < 64 {
            let at = place(role, square / 8, square % 8);
            all[role][square as usize] = Score(VALUE[role].0 + at.0, VALUE[role].1 + at.1);
            square += 1;
        }
        (role, square) = (role + 1, 0);
    }
    all
};

/// Weight of each role in the game phase. The start position has a total of 24.
const WEIGHT: [i32; 6] = [0, 1, 1, 2, 4, 0];
/// Mobility of knight, bishop, rook and queen: the typical number of reachable squares, and the bonus for each further
/// square.
const MOBILITY: [(i32, Score); 4] = [(4, Score(4, 4)), (6, Score(4, 4)), (7, Score(2, 4)), (13, Score(1, 2))];
/// Bonus for each attacked square around the enemy king, for a knight, bishop, rook and queen.
const AIMED: [i32; 4] = [6, 5, 8, 10];
const BISHOPS: Score = Score(25, 45);
const OPEN_FILE: Score = Score(22, 8);
const HALF_OPEN_FILE: Score = Score(10, 6);
const DOUBLED: Score = Score(-8, -18);
const ISOLATED: Score = Score(-12, -10);
/// Bonus for a passed pawn, by its rank as seen from its own side.
const PASSED: [Score; 8] =
    [Score(0, 0), Score(0, 8), Score(0, 12), Score(5, 25), Score(15, 45), Score(30, 75), Score(45, 110), Score(0, 0)];
/// Bonus for the side to move.
const TEMPO: Score = Score(12, 6);

/// A pair of values: for the middle game and for the endgame.
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

/// Returns White's advantage in hundredths of a pawn.
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

/// Returns the sum of the material, square, mobility and king attack scores of one color. Adds the phase weights of the
/// color's pieces to `middle`.
fn pieces(board: &Board, color: Color, middle: &mut i32) -> Score {
    let (own, occupied) = (board.by_color(color), board.occupied());
    let flip = color.fold_wb(0, 56);
    let (my_pawns, pawns) = (board.pawns() & own, board.pawns());
    let guarded = strikes(!color, pawns & board.by_color(!color));
    let king = board.king_of(!color).map_or(Bitboard::EMPTY, attacks::king_attacks);
    let (mut sum, mut aimed, mut attackers) = (Score::default(), 0, 0);
    for (i, role) in Role::ALL.into_iter().enumerate() {
        let these = board.by_role(role) & own;
        *middle += WEIGHT[i] * these.count() as i32;
        for square in these {
            let at = usize::from(square) ^ flip;
            sum += WORTH[i][at];
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
    // A single attacker cannot mate; each further attacker makes all attackers more dangerous.
    sum += Score(aimed * (attackers.min(4) - 1).max(0) / 3, 0);
    sum
}

/// Returns the pawn structure score of one color.
fn pawns(board: &Board, color: Color) -> Score {
    let own = board.pawns() & board.by_color(color);
    let enemy = board.pawns() & board.by_color(!color);
    let mut sum = Score::default();
    for square in own {
        let (file, rank) = (Bitboard::from_file(square.file()), square.rank());
        let ahead = ahead(color, square);
        let adjacent = adjacent_files(file);
        if (own & adjacent).is_empty() {
            sum += ISOLATED;
        }
        if (own & file & ahead).any() {
            sum += DOUBLED;
        } else if (enemy & (file | adjacent) & ahead).is_empty() {
            sum += PASSED[color.fold_wb(rank.to_u32(), 7 - rank.to_u32()) as usize];
        }
    }
    sum
}

/// Returns all squares on the ranks in front of `square`, from the side of `color`.
fn ahead(color: Color, square: Square) -> Bitboard {
    let rank = square.rank().to_u32();
    Bitboard(match color {
        Color::White if rank == 7 => 0,
        Color::White => u64::MAX << (8 * (rank + 1)),
        Color::Black => (1 << (8 * rank)) - 1,
    })
}

/// Returns the files adjacent to `files`.
fn adjacent_files(files: Bitboard) -> Bitboard {
    Bitboard((files.0 & !FILE_H) << 1 | (files.0 & !FILE_A) >> 1)
}

/// Returns the squares that `pawns` of `color` attack.
fn strikes(color: Color, pawns: Bitboard) -> Bitboard {
    adjacent_files(Bitboard(color.fold_wb(pawns.0 << 8, pawns.0 >> 8)))
}

const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;

/// Returns an estimate of White's return in (-1, 1). A lead of 100 centipawns gives 0.17, a lead of 900 gives 0.64.
pub(super) fn guess(s: &State) -> f64 {
    let x = f64::from(centipawns(s));
    x / (x.abs() + 500.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{Params, notation};

    fn of(fen: &str) -> i32 {
        centipawns(&State::new(notation::position(fen).unwrap(), &Params::default()))
    }

    #[test]
    fn evaluation_is_symmetric_in_color() {
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
    fn evaluation_terms_have_expected_signs() {
        let better = |good: &str, bad: &str| assert!(of(good) > of(bad), "expected {good} to be better than {bad}");
        // An extra queen; a passed pawn nearer to promotion; a rook on an open file; pawns that are not doubled.
        better("3qk3/8/8/8/8/8/8/3QK2Q w - - 0 1", "3qk3/8/8/8/8/8/8/3QK3 w - - 0 1");
        better("4k3/8/P7/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/P7/8/8/8/4K3 w - - 0 1");
        better("4k3/p7/8/8/8/8/P7/1R2K3 w - - 0 1", "4k3/1p6/8/8/8/8/1P6/1R2K3 w - - 0 1");
        better("4k3/8/8/8/8/8/PP6/4K3 w - - 0 1", "4k3/8/8/8/8/P7/P7/4K3 w - - 0 1");
    }

    #[test]
    fn pawns_have_expected_squares_ahead_and_attacked_squares() {
        assert_eq!(ahead(Color::White, Square::E7), Bitboard::from_rank(shakmaty::Rank::Eighth));
        assert_eq!(ahead(Color::White, Square::A8), Bitboard::EMPTY);
        assert_eq!(ahead(Color::Black, Square::C2), Bitboard::from_rank(shakmaty::Rank::First));
        assert_eq!(strikes(Color::White, Bitboard::from_square(Square::A2)), Bitboard::from_square(Square::B3));
        let both = Bitboard::from_square(Square::G6) | Bitboard::from_square(Square::E6);
        assert_eq!(strikes(Color::Black, Bitboard::from_square(Square::F7)), both);
    }
}
