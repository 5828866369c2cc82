//! Marks of each round for each seat.

use ludex_env::game::{MarkDoc, Marks};
use ludex_env::marks::{FLAG, OURS};

use super::{IteratedPrisonersDilemma, State};

/// Documentation of the marks of each round.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        "regret",
        "points",
        "for each round and seat: 0 if the seat defected, 1 if it cooperated and its opponent defected, 2 if both cooperated; \
         independent of the payoffs",
        "GTBench, regret",
    ),
    MarkDoc::new("cooperated", FLAG, "for each round and seat: 1 if the seat cooperated, else 0", OURS),
];

impl IteratedPrisonersDilemma {
    pub(super) fn count(before: &State, after: &State, out: &mut Marks) {
        for round in before.rounds..after.rounds {
            let defected = |seat: usize| after.round(round) >> seat & 1 == 1;
            for seat in 0..2 {
                let regret = match (defected(seat), defected(1 - seat)) {
                    (true, _) => 0,
                    (false, true) => 1,
                    (false, false) => 2,
                };
                out.number(seat, "regret", regret);
                out.flag(seat, "cooperated", !defected(seat));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ludex_env::{MarkValue, Marks};

    #[test]
    fn round_marks_equal_hand_computed_values() {
        let (c, d) = (0, 1);
        for (joint, wanted) in [
            ([c, c], [2.0, 1.0, 2.0, 1.0]),
            ([c, d], [1.0, 1.0, 0.0, 0.0]),
            ([d, c], [0.0, 0.0, 1.0, 1.0]),
            ([d, d], [0.0, 0.0, 0.0, 0.0]),
        ] {
            let mut s = crate::load("iterated_prisoners_dilemma").unwrap().start();
            let (before, mut out) = (s.boxed(), Marks::all());
            s.play_together(&joint.map(Some)).unwrap();
            before.marks(&[], &*s, &mut out);
            let marks = out.take();
            let names: Vec<_> = marks.iter().map(|m| (m.seat, m.name)).collect();
            assert_eq!(names, [(0, "regret"), (0, "cooperated"), (1, "regret"), (1, "cooperated")]);
            let values: Vec<_> = marks.into_iter().map(|m| m.value).collect();
            assert_eq!(values, wanted.map(MarkValue::Number));
            // The chance node after the round emits no marks.
            let (before, mut out) = (s.boxed(), Marks::all());
            s.play_chance(0).unwrap();
            before.marks(&[], &*s, &mut out);
            assert!(out.take().is_empty());
        }
    }
}
