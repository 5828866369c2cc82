//! Move ordering and quiescence moves for search.

use ludex_env::game::Action;
use shakmaty::{Position, Role};
use smallvec::SmallVec;

use super::ids;
use super::moves::Scan;
use super::state::State;

/// Approximate values of pawn, knight, bishop, rook and queen. The last value is for a king that captures.
const VALUE: [i32; 6] = [1, 3, 3, 5, 9, 10];

/// Moves, each with a score for ordering.
type Gains = SmallVec<[(i32, Action); 32]>;

/// Lists all legal moves, winning captures and queen promotions first. Returns the number of these captures and
/// promotions.
pub(super) fn promising(s: &State, out: &mut Vec<Action>) -> usize {
    let from = out.len();
    let Some(scan) = Scan::new(&s.pos) else { return 0 };
    scan.legal(out);
    let gains = gains(s, &out[from..]);
    out[from..].sort_by_key(|&a| !gains.iter().any(|g| g.1 == a));
    out[from..].iter_mut().zip(&gains).for_each(|(place, gain)| *place = gain.1);
    gains.len()
}

/// Lists all legal moves if the mover is in check, otherwise winning captures and queen promotions. Returns true if the
/// mover may decline all listed moves.
pub(super) fn noisy(s: &State, out: &mut Vec<Action>) -> bool {
    let from = out.len();
    let Some(scan) = Scan::new(&s.pos) else { return true };
    scan.legal(out);
    let gains = gains(s, &out[from..]);
    if s.check {
        return out.len() == from;
    }
    out.truncate(from);
    out.extend(gains.iter().map(|gain| gain.1));
    true
}

/// Returns queen promotions and captures among `legal`, ordered by the most valuable victim, then by the least valuable
/// attacker. Excludes captures of a less valuable piece on a defended square.
fn gains(s: &State, legal: &[Action]) -> Gains {
    let (turn, board) = (s.pos.turn(), s.pos.board());
    let mut gains = Gains::new();
    for &a in legal {
        let Some((from, to, None)) = ids::squares(turn, a) else { continue };
        let Some(role) = board.role_at(from) else { continue };
        let pawn = role == Role::Pawn;
        let victim = match board.role_at(to) {
            Some(victim) => VALUE[victim as usize - 1],
            // En passant: the captured pawn is not on the target square.
            None if pawn && from.file() != to.file() => VALUE[0],
            None => 0,
        };
        let queens =
            if pawn && to.rank() == turn.fold_wb(shakmaty::Rank::Eighth, shakmaty::Rank::First) { 8 } else { 0 };
        let own = VALUE[role as usize - 1];
        let lost = || role != Role::King && own > victim && board.attacks_to(to, !turn, board.occupied()).any();
        if victim + queens > 0 && (queens > 0 || !lost()) {
            gains.push((16 * (victim + queens) - own, a));
        }
    }
    gains.sort_by_key(|&(gain, a)| (-gain, a));
    gains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{Params, notation};

    fn names(fen: &str, list: impl Fn(&State, &mut Vec<Action>)) -> Vec<String> {
        let s = State::new(notation::position(fen).unwrap(), &Params::default());
        let mut out = Vec::new();
        list(&s, &mut out);
        out.iter().map(|&a| notation::uci(s.pos.turn(), a)).collect()
    }

    #[test]
    fn only_winning_captures_are_quiescence_moves() {
        // The pawn on d4 can capture a knight or a rook. The queen can capture only the knight, which a pawn guards. In
        // the first position, the rook gives check.
        let checked = "4k3/8/1p6/2n1r3/3P4/8/8/2Q1K3 w - - 0 1";
        let answers = names(checked, |s, out| assert!(!noisy(s, out)));
        assert!(answers.contains(&"e1d1".to_owned()) && answers.contains(&"d4e5".to_owned()));
        let fen = "4k3/8/1p6/2n1r3/3P4/8/8/2Q2K2 w - - 0 1";
        let noisy_ones = names(fen, |s, out| assert!(noisy(s, out)));
        assert_eq!(noisy_ones, ["d4e5", "d4c5"]);
        let all = names(fen, |s, out| assert_eq!(promising(s, out), 2));
        assert_eq!(all[..2], ["d4e5", "d4c5"]);
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
        assert!(all.contains(&"c1c5".to_owned()));
    }

    #[test]
    fn quiescence_moves_include_promotion_and_en_passant() {
        let noisy_ones = |fen| names(fen, |s, out| assert!(noisy(s, out)));
        assert_eq!(noisy_ones("8/P3k3/8/8/8/8/8/4K3 w - - 0 1"), ["a7a8"]);
        assert_eq!(noisy_ones("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2"), ["e5d6"]);
    }
}
