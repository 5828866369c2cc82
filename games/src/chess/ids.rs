//! OpenSpiel's 4674 action ids for chess moves.
//!
//! An id is `(file * 8 + rank) * 73 + k` for the source square. The rank is counted from the mover's side; files are
//! not mirrored. `k` is 0 to 8 for underpromotions (rook, bishop, knight; for each: straight, right, left). Then come
//! 56 queen moves (vertical, horizontal, diagonal, anti-diagonal; for each: -7 to -1, 1 to 7) and 8 knight moves. A
//! promotion to a queen is encoded as an ordinary queen move. Castling has the last two ids. All tables are built at
//! compile time.

use ludex_env::game::Action;
use shakmaty::{CastlingSide, Chess, Color, Move, Position, Role, Square, attacks};

/// Number of action ids.
pub const ACTIONS: u32 = 4674;
/// Id of castling on the queen's side.
pub const LONG: Action = 4672;
/// Id of castling on the king's side.
pub const SHORT: Action = 4673;

/// Number of ids per source square.
pub(super) const PER_SQUARE: u32 = 73;
/// Offset of the ordinary moves among the ids of a square. The underpromotions come first.
pub(super) const PLAIN: u32 = 9;

const KNIGHT: [(i32, i32); 8] = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)];
const NO_SLOT: u8 = 255;
const NO_MOVE: u16 = u16::MAX;

/// Index of the ordinary move (0 to 63) by source and target square in the mover's view.
pub(super) static SLOT: [[u8; 64]; 64] = slots();

/// Move by id in the mover's view: source, target << 6 and underpromotion << 12 (1 rook, 2 bishop, 3 knight).
static MEANING: [u16; LONG as usize] = meanings();

const fn slots() -> [[u8; 64]; 64] {
    let mut table = [[NO_SLOT; 64]; 64];
    let mut i = 0;
    while i < 64 * 64 {
        let (from, to) = (i / 64, i % 64);
        let (x, y) = ((to % 8) as i32 - (from % 8) as i32, (to / 8) as i32 - (from / 8) as i32);
        table[from][to] = slot(x, y);
        i += 1;
    }
    table
}

/// Returns the index of the ordinary move by `x` files to the right and `y` ranks forward.
const fn slot(x: i32, y: i32) -> u8 {
    let line = match (x, y) {
        (0, 0) => return NO_SLOT,
        (0, _) => 0,
        (_, 0) => 14,
        _ if x == y => 28,
        _ if x == -y => 42,
        _ => {
            let mut i = 0;
            while i < 8 {
                if KNIGHT[i].0 == x && KNIGHT[i].1 == y {
                    return 56 + i as u8;
                }
                i += 1;
            }
            return NO_SLOT;
        }
    };
    let step = if x == 0 { y } else { x };
    (line + if step < 0 { step + 7 } else { step + 6 }) as u8
}

const fn meanings() -> [u16; LONG as usize] {
    let mut table = [NO_MOVE; LONG as usize];
    let mut from = 0;
    while from < 64 {
        let base = base(from) as usize;
        let mut to = 0;
        while to < 64 {
            let k = SLOT_CONST[from][to];
            if k != NO_SLOT {
                table[base + PLAIN as usize + k as usize] = (from | to << 6) as u16;
            }
            to += 1;
        }
        if from / 8 == 6 {
            let mut k = 0;
            while k < 9 {
                let file = (from % 8) as i32 + [0, 1, -1][k % 3];
                if file >= 0 && file < 8 {
                    table[base + k] = (from | (56 + file as usize) << 6 | (k / 3 + 1) << 12) as u16;
                }
                k += 1;
            }
        }
        from += 1;
    }
    table
}

/// Copy of [`SLOT`] for compile time, where a `static` cannot be read.
const SLOT_CONST: [[u8; 64]; 64] = slots();

/// Returns the first id of a source square in the mover's view.
const fn base(from: usize) -> u32 {
    (from % 8 * 8 + from / 8) as u32 * PER_SQUARE
}

/// Returns source, target and underpromotion of an id below [`LONG`]; `None` if the move leaves the board.
pub(super) fn squares(turn: Color, a: Action) -> Option<(Square, Square, Option<Role>)> {
    let code = u32::from(*MEANING.get(a as usize)?);
    if code == u32::from(NO_MOVE) {
        return None;
    }
    let flip = turn.fold_wb(0, 56);
    let under = [None, Some(Role::Rook), Some(Role::Bishop), Some(Role::Knight)][(code >> 12) as usize & 3];
    Some((Square::new(code & 63 ^ flip), Square::new(code >> 6 & 63 ^ flip), under))
}

/// Returns the id of a legal move of `turn`.
pub(super) fn id(turn: Color, m: Move) -> Action {
    if let Some(side) = m.castling_side() {
        return if side == CastlingSide::KingSide { SHORT } else { LONG };
    }
    let flip = turn.fold_wb(0, 56);
    let (from, to) = (m.from().map_or(0, |s| s.to_u32() ^ flip), m.to().to_u32() ^ flip);
    let under = match m.promotion() {
        Some(Role::Rook) => 0,
        Some(Role::Bishop) => 3,
        Some(Role::Knight) => 6,
        _ => return base(from as usize) + PLAIN + u32::from(SLOT[from as usize][to as usize]),
    };
    let direction = match (to % 8) as i32 - (from % 8) as i32 {
        0 => 0,
        1 => 1,
        _ => 2,
    };
    base(from as usize) + under + direction
}

/// Decodes id `a` into a move that can be played without a panic. Legality is not checked. Returns `None` if the source
/// holds no piece of the mover, if the target holds a king or a piece of the mover, if a piece other than a pawn would
/// promote, or if the right or the free squares for castling are missing.
pub(super) fn read(pos: &Chess, a: Action) -> Option<Move> {
    let (turn, board) = (pos.turn(), pos.board());
    if a >= LONG {
        let side = if a == SHORT { CastlingSide::KingSide } else { CastlingSide::QueenSide };
        let rook = pos.castles().rook(turn, side)?;
        let free = (pos.castles().path(turn, side) & board.occupied()).is_empty();
        return (free && a <= SHORT).then_some(Move::Castle { king: board.king_of(turn)?, rook });
    }
    let (from, to, under) = squares(turn, a)?;
    let us = board.by_color(turn);
    let role = board.role_at(from)?;
    let capture = board.role_at(to);
    if !us.contains(from) || us.contains(to) || capture == Some(Role::King) {
        return None;
    }
    if role != Role::Pawn {
        return under.is_none().then_some(Move::Normal { role, from, capture, to, promotion: None });
    }
    if pos.maybe_ep_square() == Some(to) && capture.is_none() && attacks::pawn_attacks(turn, from).contains(to) {
        return Some(Move::EnPassant { from, to });
    }
    let promotion = (to.rank() == turn.fold_wb(shakmaty::Rank::Eighth, shakmaty::Rank::First))
        .then_some(under.unwrap_or(Role::Queen));
    Some(Move::Normal { role, from, capture, to, promotion })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_encodes_its_move() {
        for turn in Color::ALL {
            let mut known = 0;
            for a in 0..LONG {
                let Some((from, to, under)) = squares(turn, a) else { continue };
                let role = if under.is_some() { Role::Pawn } else { Role::Queen };
                assert_eq!(id(turn, Move::Normal { role, from, capture: None, to, promotion: under }), a);
                known += 1;
            }
            // Queen moves, knight moves and underpromotions from all squares of an empty board.
            assert_eq!(known, 1456 + 336 + 3 * 22);
        }
    }
}
