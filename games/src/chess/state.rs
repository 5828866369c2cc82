//! A game in progress: the position, the earlier positions, the counters, and the reason for the end.

use ludex_env::game::Action;
use shakmaty::zobrist::{Zobrist64, ZobristValue};
use shakmaty::{CastlingSide, Chess, Color, EnPassantMode, Move, Position, Role, Square};

use super::Params;
use super::ids;
use super::moves::Scan;

/// Reason for the end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The side to move is checkmated.
    Checkmate,
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// Neither side has enough material for a mate.
    Material,
    /// The position has occurred the configured number of times.
    Repetition,
    /// The limit on plies without a capture or a pawn move is reached.
    Counter,
    /// The maximum number of plies is reached.
    Plies,
}

impl End {
    /// Returns the reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            End::Checkmate => "checkmate",
            End::Stalemate => "stalemate",
            End::Material => "insufficient material",
            End::Repetition => "repetition",
            End::Counter => "no capture or pawn move",
            End::Plies => "ply limit",
        }
    }
}

/// A game in progress.
#[derive(Debug)]
pub struct State {
    /// The position, with castling rights, en passant square and move counters.
    pub(super) pos: Chess,
    /// Hash key of the position: pieces, side to move, castling rights, and an en passant square if the capture is
    /// legal.
    pub(super) key: u64,
    /// Keys of the earlier positions since the last capture or pawn move. No position before that can recur.
    keys: Vec<u64>,
    /// All moves of the game, packed: source, target << 6, promotion << 12 (number of the role, 0 = none).
    pub(super) moves: Vec<u16>,
    /// Number of times that the current position has occurred, including now.
    pub(super) seen: u32,
    pub(super) check: bool,
    pub(super) end: Option<End>,
}

// `clone_from` is implemented to reuse both lists: search copies states very often.
impl Clone for State {
    fn clone(&self) -> Self {
        let (keys, moves) = (self.keys.clone(), self.moves.clone());
        State { pos: self.pos.clone(), key: self.key, keys, moves, seen: self.seen, check: self.check, end: self.end }
    }

    fn clone_from(&mut self, from: &Self) {
        self.pos.clone_from(&from.pos);
        self.keys.clone_from(&from.keys);
        self.moves.clone_from(&from.moves);
        (self.key, self.seen, self.check, self.end) = (from.key, from.seen, from.check, from.end);
    }
}

impl State {
    /// Returns a game that starts with `pos`.
    pub(super) fn new(pos: Chess, rules: &Params) -> Self {
        let key = pos.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0;
        let mut s = State { pos, key, keys: Vec::new(), moves: Vec::new(), seen: 1, check: false, end: None };
        s.judge(rules);
        s
    }

    /// Returns the number of plies played.
    pub(super) fn plies(&self) -> usize {
        self.moves.len()
    }

    /// Returns the seat to move: White is seat 1, as in OpenSpiel.
    pub(super) fn mover(&self) -> usize {
        usize::from(self.pos.turn() == Color::White)
    }

    /// Plays an id for the side to move. An id that no piece can play has no effect.
    pub(super) fn play(&mut self, a: Action, rules: &Params) {
        let Some(m) = ids::read(&self.pos, a).filter(|_| self.end.is_none()) else { return };
        let before = self.key;
        self.key = advance(&mut self.pos, self.key, m);
        self.moves.push(pack(m));
        if m.is_zeroing() {
            self.keys.clear();
            self.seen = 1;
        } else {
            self.keys.push(before);
            // A position recurs after four plies at the earliest, and only after an even number of plies.
            let earlier = self.keys.iter().rev().skip(3).step_by(2);
            self.seen = 1 + earlier.filter(|&&k| k == self.key).count() as u32;
        }
        self.judge(rules);
    }

    /// Sets the reason for the end. The order of the checks is OpenSpiel's: the ply counter is checked after mate.
    fn judge(&mut self, rules: &Params) {
        let Some(scan) = Scan::new(&self.pos) else { return };
        self.check = scan.checkers.any();
        self.end = if rules.insufficient_material && insufficient(&self.pos) {
            Some(End::Material)
        } else if rules.repetition > 0 && self.seen >= rules.repetition {
            Some(End::Repetition)
        } else if !scan.any() {
            Some(if self.check { End::Checkmate } else { End::Stalemate })
        } else if rules.draw_after > 0 && self.pos.halfmoves() >= rules.draw_after {
            Some(End::Counter)
        } else if rules.max_plies > 0 && self.plies() >= rules.max_plies as usize {
            Some(End::Plies)
        } else {
            None
        };
    }
}

/// Returns true if neither side has enough material for a mate: K-K, K-KB, K-KN, or only bishops on squares of one
/// color.
fn insufficient(pos: &Chess) -> bool {
    let board = pos.board();
    (board.pawns() | board.rooks_and_queens()).is_empty() && pos.is_insufficient_material()
}

/// Plays `m` and returns the key of the resulting position, updated from `key`.
fn advance(pos: &mut Chess, key: u64, m: Move) -> u64 {
    let turn = pos.turn();
    let mut z = Zobrist64(key);
    let mut flip = |square: Square, role: Role, color: Color| z ^= Zobrist64::zobrist_for_piece(square, role.of(color));
    match m {
        Move::Normal { role, from, capture, to, promotion } => {
            flip(from, role, turn);
            flip(to, promotion.unwrap_or(role), turn);
            if let Some(taken) = capture {
                flip(to, taken, !turn);
            }
        }
        Move::EnPassant { from, to } => {
            flip(from, Role::Pawn, turn);
            flip(to, Role::Pawn, turn);
            flip(Square::from_coords(to.file(), from.rank()), Role::Pawn, !turn);
        }
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            flip(king, Role::King, turn);
            flip(rook, Role::Rook, turn);
            flip(side.king_to(turn), Role::King, turn);
            flip(side.rook_to(turn), Role::Rook, turn);
        }
        Move::Put { .. } => {}
    }
    let (rights, ep) = (pos.castles().castling_rights(), pos.legal_ep_square());
    pos.play_unchecked(m);
    z ^= Zobrist64::zobrist_for_white_turn();
    for corner in rights & !pos.castles().castling_rights() {
        let color = if corner < Square::A2 { Color::White } else { Color::Black };
        z ^= Zobrist64::zobrist_for_castling_right(
            color,
            CastlingSide::from_king_side(corner.file() > shakmaty::File::E),
        );
    }
    for square in [ep, pos.legal_ep_square()].into_iter().flatten() {
        z ^= Zobrist64::zobrist_for_en_passant_file(square.file());
    }
    z.0
}

/// Packs a move into 16 bits. Castling is packed as the move of the king.
fn pack(m: Move) -> u16 {
    let from = m.from().map_or(0, |s| s.to_u32());
    let to = match m {
        Move::Castle { king, rook } => {
            Square::from_coords(CastlingSide::from_king_side(king < rook).king_to_file(), king.rank())
        }
        _ => m.to(),
    };
    (from | to.to_u32() << 6 | m.promotion().map_or(0, |r| r as u32) << 12) as u16
}

/// Returns a packed move in UCI.
pub(super) fn uci(packed: u16) -> String {
    let (from, to) = (Square::new(u32::from(packed) & 63), Square::new(u32::from(packed) >> 6 & 63));
    let promotion = Role::ALL.into_iter().find(|&r| r as u16 == packed >> 12).map(Role::char);
    [from, to].iter().map(Square::to_string).chain(promotion.map(String::from)).collect()
}
