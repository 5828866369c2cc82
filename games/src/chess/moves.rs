//! Legal moves, generated piece by piece in the order of action ids.
//!
//! One pass over the mover's pieces yields the legal targets of each piece. Pieces come in id order (by file, then by
//! rank from the mover's side), so lists need no sorting. Moves can be counted without a list, and a search for any
//! legal move stops at the first move.

use std::ops::ControlFlow;

use arrayvec::ArrayVec;
use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink, Nth};
use shakmaty::{Bitboard, CastlingSide, Chess, Color, Position, Rank, Role, Square, attacks};

use super::ids::{LONG, PER_SQUARE, PLAIN, SHORT, SLOT, squares};

/// Data about a position that is needed to find the moves of each piece.
pub(super) struct Scan<'a> {
    pos: &'a Chess,
    king: Square,
    /// Enemy pieces that give check.
    pub(super) checkers: Bitboard,
    /// Pieces of either side that are the only piece between an enemy slider and the king.
    pinned: Bitboard,
    /// Squares to which pieces other than the king may move: all squares without a piece of the mover, and in check
    /// only those that end the check.
    target: Bitboard,
}

/// The moves of one piece.
struct Moves {
    /// The source square, `file * 8 + rank` in the mover's view.
    at: u32,
    /// The target squares, in the mover's view.
    to: Bitboard,
    /// True for a pawn on its seventh rank: each target then stands for four moves.
    promotes: bool,
}

impl Moves {
    fn count(&self) -> usize {
        if self.promotes { self.to.count() * 4 } else { self.to.count() }
    }

    fn slots(&self) -> &'static [u8; 64] {
        &SLOT[(self.at >> 3 | (self.at & 7) << 3) as usize]
    }

    /// Writes the ids of all moves in ascending order.
    fn put(&self, out: &mut impl ActionSink) {
        let base = self.at * PER_SQUARE;
        if self.promotes {
            let file = (self.at >> 3) as i32;
            for k in 0..PLAIN {
                let file = file + [0, 1, -1][k as usize % 3];
                if (0..8).contains(&file) && self.to.0 >> (56 + file) & 1 == 1 {
                    out.put(base + k);
                }
            }
        }
        let slots = self.slots();
        let mut plain = self.to.into_iter().fold(0u64, |bits, to| bits | 1 << (slots[usize::from(to)] & 63));
        while plain != 0 {
            out.put(base + PLAIN + plain.trailing_zeros());
            plain &= plain - 1;
        }
    }
}

impl<'a> Scan<'a> {
    /// Analyzes a position. Returns `None` if the mover has no king, which cannot occur in a game.
    pub(super) fn new(pos: &'a Chess) -> Option<Self> {
        let (turn, board) = (pos.turn(), pos.board());
        let king = board.king_of(turn)?;
        let checkers = board.attacks_to(king, !turn, board.occupied());
        let target = if checkers.is_empty() {
            !board.by_color(turn)
        } else if let Some(checker) = checkers.single_square() {
            attacks::between(king, checker).with(checker)
        } else {
            Bitboard::EMPTY
        };
        let snipers = board.by_color(!turn)
            & (attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens()
                | attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens());
        let mut pinned = Bitboard::EMPTY;
        for sniper in snipers {
            let between = attacks::between(king, sniper) & board.occupied();
            if !between.more_than_one() {
                pinned |= between;
            }
        }
        Some(Scan { pos, king, checkers, pinned, target })
    }

    fn attacked(&self, square: Square, occupied: Bitboard) -> bool {
        self.pos.board().attacks_to(square, !self.pos.turn(), occupied).any()
    }

    fn targets(&self, from: Square, role: Role) -> Bitboard {
        let occupied = self.pos.board().occupied();
        let reach = match role {
            Role::Pawn => return self.pawn_targets(from),
            Role::King => return self.king_targets(),
            Role::Knight => attacks::knight_attacks(from),
            Role::Bishop => attacks::bishop_attacks(from, occupied),
            Role::Rook => attacks::rook_attacks(from, occupied),
            Role::Queen => attacks::queen_attacks(from, occupied),
        };
        self.along_pin(from, reach & self.target)
    }

    fn along_pin(&self, from: Square, to: Bitboard) -> Bitboard {
        if self.pinned.contains(from) { to & attacks::ray(self.king, from) } else { to }
    }

    fn king_targets(&self) -> Bitboard {
        let board = self.pos.board();
        let without_king = board.occupied() ^ Bitboard::from_square(self.king);
        let mut safe = attacks::king_attacks(self.king) & !board.by_color(self.pos.turn());
        for to in safe {
            if self.attacked(to, without_king) {
                safe.discard(to);
            }
        }
        safe
    }

    fn pawn_targets(&self, from: Square) -> Bitboard {
        let (turn, board) = (self.pos.turn(), self.pos.board());
        let (step, home) = turn.fold_wb((8, Rank::Second), (-8, Rank::Seventh));
        let free = !board.occupied();
        let mut to = Bitboard::from_square(from).shift(step) & free;
        if from.rank() == home {
            to |= to.shift(step) & free;
        }
        let strikes = attacks::pawn_attacks(turn, from);
        to |= strikes & board.by_color(!turn);
        to = self.along_pin(from, to & self.target);
        // En passant empties two squares in one move. `pinned` and `checkers` do not cover this case, so the resulting
        // board is examined.
        if let Some(ep) = self.pos.maybe_ep_square().filter(|&ep| strikes.contains(ep)) {
            let taken = Bitboard::from_square(Square::from_coords(ep.file(), from.rank()));
            let after = (board.occupied() ^ Bitboard::from_square(from)) & !taken | Bitboard::from_square(ep);
            if (board.attacks_to(self.king, !turn, after) & !taken).is_empty() {
                to |= Bitboard::from_square(ep);
            }
        }
        to
    }

    /// Returns true if castling to this side is legal.
    pub(super) fn castles(&self, side: CastlingSide) -> bool {
        let (turn, board, castles) = (self.pos.turn(), self.pos.board(), self.pos.castles());
        let path = castles.path(turn, side);
        if castles.rook(turn, side).is_none() || self.checkers.any() || (path & board.occupied()).any() {
            return false;
        }
        let to = side.king_to(turn);
        attacks::between(self.king, to).with(to).into_iter().all(|square| !self.attacked(square, board.occupied()))
    }

    /// Calls `f` with the moves of every piece that can move, in id order. Castling is not included.
    fn each(&self, mut f: impl FnMut(Moves) -> ControlFlow<()>) -> ControlFlow<()> {
        let (turn, board) = (self.pos.turn(), self.pos.board());
        let view = |b: Bitboard| if turn == Color::White { b } else { b.flip_vertical() };
        let seventh = turn.fold_wb(Rank::Seventh, Rank::Second);
        for at in view(board.by_color(turn)).flip_diagonal() {
            let from = at.flip_diagonal();
            let from = if turn == Color::White { from } else { from.flip_vertical() };
            let Some(role) = board.role_at(from) else { continue };
            let to = self.targets(from, role);
            if to.any() {
                let promotes = role == Role::Pawn && from.rank() == seventh;
                f(Moves { at: at.to_u32(), to: view(to), promotes })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns true if a legal move exists. Castling need not be checked: if it is legal, a rook move is legal too.
    pub(super) fn any(&self) -> bool {
        self.each(|_| ControlFlow::Break(())).is_break()
    }

    /// Returns true if an id is legal. Examines only the piece that would move.
    pub(super) fn is_legal(&self, a: Action) -> bool {
        match a {
            LONG => self.castles(CastlingSide::QueenSide),
            SHORT => self.castles(CastlingSide::KingSide),
            _ => {
                let (turn, board) = (self.pos.turn(), self.pos.board());
                let Some((from, to, under)) = squares(turn, a) else { return false };
                let Some(role) = board.role_at(from).filter(|_| board.by_color(turn).contains(from)) else {
                    return false;
                };
                (under.is_none() || role == Role::Pawn) && self.targets(from, role).contains(to)
            }
        }
    }

    /// Lists all legal ids, castling included, in ascending order.
    pub(super) fn legal(&self, out: &mut impl ActionSink) {
        let _ = self.each(|moves| {
            moves.put(out);
            ControlFlow::Continue(())
        });
        if self.castles(CastlingSide::QueenSide) {
            out.put(LONG);
        }
        if self.castles(CastlingSide::KingSide) {
            out.put(SHORT);
        }
    }

    /// Returns a uniformly random legal id: the id at index `rng.below(n)` of the ascending list of `n` ids.
    pub(super) fn random(&self, rng: &mut Stream) -> Action {
        let mut pieces = ArrayVec::<Moves, 16>::new();
        let mut total = 0;
        let _ = self.each(|moves| {
            total += moves.count();
            // `pieces` has room for 16 entries, and a side never has more pieces.
            if pieces.try_push(moves).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let castles = [(CastlingSide::QueenSide, LONG), (CastlingSide::KingSide, SHORT)];
        let castles: ArrayVec<Action, 2> = castles.into_iter().filter(|c| self.castles(c.0)).map(|c| c.1).collect();
        let mut left = rng.below(total + castles.len());
        for moves in &pieces {
            if left < moves.count() {
                let mut nth = Nth { left, kept: None };
                moves.put(&mut nth);
                return nth.kept.unwrap_or(0);
            }
            left -= moves.count();
        }
        castles.get(left).copied().unwrap_or(0)
    }
}
