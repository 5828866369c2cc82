//! Which moves search looks at first, and which it follows beyond its horizon.

use shakmaty::{Position, Role};
use smallvec::SmallVec;

use super::ids;
use super::moves::Scan;
use super::state::State;
use crate::game::Action;

/// Of a pawn, knight, bishop, rook, queen, and of a king that takes: roughly.
const VALUE: [i32; 6] = [1, 3, 3, 5, 9, 10];

/// Moves with what they win at once.
type Gains = SmallVec<[(i32, Action); 32]>;

/// All legal moves, those that win something in front, and how many those are.
pub(super) fn promising(s: &State, out: &mut Vec<Action>) -> usize {
    let from = out.len();
    let Some(scan) = Scan::new(&s.pos) else { return 0 };
    scan.legal(out);
    let gains = gains(s, &out[from..]);
    out[from..].sort_by_key(|&a| !gains.iter().any(|g| g.1 == a));
    out[from..].iter_mut().zip(&gains).for_each(|(place, gain)| *place = gain.1);
    gains.len()
}

/// In check every answer; else what wins something. Whether the mover may do neither.
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

/// Captures and promotions to queens among `legal`, the most valuable victim first, taken by the least valuable piece.
/// Left out: captures of less than the piece that takes, where it can be taken back.
fn gains(s: &State, legal: &[Action]) -> Gains {
    let (turn, board) = (s.pos.turn(), s.pos.board());
    let mut gains = Gains::new();
    for &a in legal {
        let Some((from, to, None)) = ids::squares(turn, a) else { continue };
        let Some(role) = board.role_at(from) else { continue };
        let pawn = role == Role::Pawn;
        let victim = match board.role_at(to) {
            Some(victim) => VALUE[victim as usize - 1],
            // In passing.
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
    use crate::games::chess::{Params, notation};

    fn names(fen: &str, list: impl Fn(&State, &mut Vec<Action>)) -> Vec<String> {
        let s = State::new(notation::position(fen).unwrap(), &Params::default());
        let mut out = Vec::new();
        list(&s, &mut out);
        out.iter().map(|&a| notation::uci(s.pos.turn(), a)).collect()
    }

    #[test]
    fn winning_captures_come_first_and_alone_are_noisy() {
        // The queen may take a knight that a pawn guards, or a bare rook; the pawn may take either.
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
    fn pawns_promote_and_take_in_passing() {
        let noisy_ones = |fen| names(fen, |s, out| assert!(noisy(s, out)));
        assert_eq!(noisy_ones("8/P3k3/8/8/8/8/8/4K3 w - - 0 1"), ["a7a8"]);
        assert_eq!(noisy_ones("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2"), ["e5d6"]);
    }
}
