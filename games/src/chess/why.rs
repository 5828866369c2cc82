//! Explanations of illegal moves.

use ludex_env::game::Action;
use shakmaty::{CastlingSide, Chess, Color, Position, Rank, Role, Square, attacks};

use super::ids::{self, LONG, SHORT};
use super::moves::Scan;
use super::notation::uci;

/// Returns one sentence that explains why an id is illegal in `pos`.
pub(super) fn why_not(pos: &Chess, a: Action) -> String {
    let reason = match a {
        LONG => castling(pos, CastlingSide::QueenSide),
        SHORT => castling(pos, CastlingSide::KingSide),
        _ => plain(pos, a),
    };
    format!("{a} is {}: {reason}", uci(pos.turn(), a))
}

fn castling(pos: &Chess, side: CastlingSide) -> String {
    let (turn, board) = (pos.turn(), pos.board());
    let (name, rank) = (if side == CastlingSide::KingSide { "king's" } else { "queen's" }, turn.fold_wb('1', '8'));
    if pos.castles().rook(turn, side).is_none() {
        return format!(
            "the right to castle on the {name} side is lost (king or rook has moved, or the start position lacks it)"
        );
    }
    if let Some(square) = (pos.castles().path(turn, side) & board.occupied()).first() {
        return format!("a piece is on {square}, between king and rook");
    }
    if pos.is_check() {
        return "the king is in check and may not castle out of it".to_owned();
    }
    let (through, to) = (side.rook_to(turn), side.king_to(turn));
    let attacked = |s: Square| board.attacks_to(s, !turn, board.occupied()).any();
    match [through, to].into_iter().find(|&s| attacked(s)) {
        Some(square) => format!("the king may not castle over or onto {square}, which is attacked"),
        None => format!("the king on rank {rank} may castle"),
    }
}

fn plain(pos: &Chess, a: Action) -> String {
    let (turn, board) = (pos.turn(), pos.board());
    let Some((from, to, under)) = ids::squares(turn, a) else {
        return "the move with this id leaves the board".to_owned();
    };
    let Some(piece) = board.piece_at(from) else {
        return format!("no piece on {from}");
    };
    if piece.color != turn {
        return format!("no piece of yours on {from}: the {} there is {}", name(piece.role), side(piece.color));
    }
    if board.by_color(turn).contains(to) {
        return format!("your own {} is on {to}", board.role_at(to).map_or("piece", name));
    }
    if under.is_some() && piece.role != Role::Pawn {
        return format!("only a pawn promotes, and a {} is on {from}", name(piece.role));
    }
    if let Some(reason) = geometry(pos, piece.role, from, to) {
        return reason;
    }
    match Scan::new(pos) {
        Some(scan) if scan.checkers.any() => "the king is in check, and this move does not end the check".to_owned(),
        _ => "the king would be in check after the move".to_owned(),
    }
}

/// Returns the reason why a piece cannot move to the target; `None` if only the safety of the king forbids the move.
fn geometry(pos: &Chess, role: Role, from: Square, to: Square) -> Option<String> {
    let (turn, board) = (pos.turn(), pos.board());
    if role == Role::Pawn {
        return pawn(pos, from, to);
    }
    if attacks::attacks(from, role.of(turn), board.occupied()).contains(to) {
        return None;
    }
    if attacks::attacks(from, role.of(turn), shakmaty::Bitboard::EMPTY).contains(to) {
        let block = (attacks::between(from, to) & board.occupied()).first()?;
        return Some(format!("the way from {from} to {to} is blocked on {block}"));
    }
    if role == Role::King && from.rank() == to.rank() && from.distance(to) == 2 {
        return Some(format!("castling has separate ids: {LONG} and {SHORT}"));
    }
    Some(format!("a {} cannot move from {from} to {to}", name(role)))
}

fn pawn(pos: &Chess, from: Square, to: Square) -> Option<String> {
    let (turn, board) = (pos.turn(), pos.board());
    let (step, home) = turn.fold_wb((8, Rank::Second), (-8, Rank::Seventh));
    let ahead = from.offset(step);
    if attacks::pawn_attacks(turn, from).contains(to) {
        let takes = board.by_color(!turn).contains(to) || pos.maybe_ep_square() == Some(to);
        return (!takes).then(|| format!("a pawn moves diagonally only to capture, and {to} has no piece to capture"));
    }
    let double = ahead.and_then(|s| s.offset(step)).filter(|_| from.rank() == home);
    if ahead != Some(to) && double != Some(to) {
        return Some(format!("a pawn cannot move from {from} to {to}"));
    }
    let blocked = [ahead, Some(to)].into_iter().flatten().find(|&s| board.occupied().contains(s));
    blocked.map(|s| format!("the pawn is blocked on {s}"))
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

fn side(color: Color) -> &'static str {
    color.fold_wb("White's", "Black's")
}
