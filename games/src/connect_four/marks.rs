//! Marks of a move: the change of the board value, as in LLMArena.

use ludex_env::game::{Game, MarkDoc, Marks, ToMove};

use super::{ConnectFour, State};

const SOURCE: &str = "LLMArena, figure 2";

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        "board_value",
        "points",
        "for each move, on the board after the move: 10 (m4 - t4) + 5 (m3 - t3) + 2 (m2 - t2), where m2, m3 and m4 count the mover's \
         maximal rows of exactly 2, exactly 3, and at least 4 adjacent stones, and t2, t3 and t4 the opponent's",
        SOURCE,
    ),
    MarkDoc::new("board_reward", "points", "for each move: increase of `board_value` by the move", SOURCE),
];

impl ConnectFour {
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Marks) {
        let ToMove::Seat(seat) = self.to_move(before) else { return };
        if out.wants_any(DOCS) {
            let value = |s: &State| self.worth(s.stones[seat]) - self.worth(s.stones[1 - seat]);
            out.number(seat, "board_value", value(after));
            out.number(seat, "board_reward", value(after) - value(before));
        }
    }

    /// Returns the value of all rows of adjacent stones, in all directions.
    fn worth(&self, stones: u64) -> i32 {
        let stride = self.shape.stride;
        [1, stride, stride + 1, stride - 1].map(|d| rows(stones, d)).iter().sum()
    }
}

/// Returns the value of the rows of adjacent stones along one direction. `d` is the bit offset between neighboring
/// cells in that direction.
fn rows(stones: u64, d: u32) -> i32 {
    let mut starts = stones & !(stones << d);
    let mut sum = 0;
    while starts != 0 {
        let at = starts.trailing_zeros();
        starts &= starts - 1;
        let held = |k: &u32| stones.checked_shr(at + k * d).unwrap_or(0) & 1 == 1;
        sum += match (0..).take_while(held).count() {
            0 | 1 => 0,
            2 => 2,
            3 => 5,
            _ => 10,
        };
    }
    sum
}

#[cfg(test)]
mod tests {
    use ludex_env::{MarkValue, Marks};

    /// Plays the moves and returns the board value and the reward of the last move.
    fn of(columns: &[u32]) -> [f64; 2] {
        let mut s = crate::load("connect_four").unwrap().start();
        let mut last = Vec::new();
        for (k, &column) in columns.iter().enumerate() {
            let (before, mut out) = (s.boxed(), Marks::all());
            s.play(k % 2, column).unwrap();
            before.marks(&[], &*s, &mut out);
            last = out.take();
            assert!(last.iter().all(|mark| mark.seat == k % 2));
        }
        ["board_value", "board_reward"].map(|name| match last.iter().find(|m| m.name == name).unwrap().value {
            MarkValue::Number(n) => n,
            ref other => panic!("{other:?}"),
        })
    }

    /// x fills the bottom row from column 3 on, and o plays on top of these stones.
    #[test]
    fn row_values_equal_hand_computed_values() {
        assert_eq!(of(&[3]), [0.0, 0.0]);
        // x has a pair.
        assert_eq!(of(&[3, 3, 4]), [2.0, 2.0]);
        // o has a pair above it: 2 - 2. The value before the move was -2 for o.
        assert_eq!(of(&[3, 3, 4, 4]), [0.0, 2.0]);
        // x has three in a row: 5 - 2. The pairs within the three do not count.
        assert_eq!(of(&[3, 3, 4, 4, 5]), [3.0, 3.0]);
        // A single stone of o changes nothing.
        assert_eq!(of(&[3, 3, 4, 4, 5, 0]), [-3.0, 0.0]);
        // Four: 10 - 2.
        assert_eq!(of(&[3, 3, 4, 4, 5, 0, 6]), [8.0, 5.0]);
        // A column of x, and a diagonal: x at (0,0), (1,1) with o below it.
        assert_eq!(of(&[0, 1, 0]), [2.0, 2.0]);
        assert_eq!(of(&[0, 1, 1]), [2.0, 2.0]);
        // The other diagonal direction, at the right edge: (0,6) and (1,5).
        assert_eq!(of(&[6, 5, 5]), [2.0, 2.0]);
        // Column 6 of one row and column 0 of the next are not adjacent.
        assert_eq!(of(&[6, 0, 0]), [0.0, 0.0]);
    }
}
