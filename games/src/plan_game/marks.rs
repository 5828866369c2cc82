//! Marks of each initial submission and of each round.

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::game::{MarkDoc, Marks, Seat};
use ludex_env::marks::{COUNT, FLAG, WORD};

use super::PlanGame;
use super::engine::{PlanEngine, PlanPiece};
use super::state::{Phase, Round, State, Strategy, judged, phase_after, side_in};

const PAPER: &str = "AdvGameBench";

/// Returns the documentation of the marks. `value` and `structural` are the game's formulas of these two marks.
pub(super) const fn docs(value: &'static str, structural: &'static str) -> [MarkDoc; 13] {
    [
        MarkDoc::new(
            "attempt",
            COUNT,
            "for each initial submission, including submissions over budget: its number among the seat's submissions, from 1",
            PAPER,
        ),
        MarkDoc::new("round", COUNT, "for each round and seat: number of the round, from 1", PAPER),
        MarkDoc::new("won", FLAG, "for each round and seat: 1 if the seat won the round, else 0", PAPER),
        MarkDoc::new("cost", "points", "for each initial submission and each round: cost of the strategy", PAPER),
        MarkDoc::new("budget", "points", "for each round and seat: maximum cost of a strategy", PAPER),
        MarkDoc::new(
            "over",
            FLAG,
            "for each round and seat: 1 if the strategy costs more than `budget`, else 0",
            PAPER,
        ),
        MarkDoc::new(
            "violation",
            WORD,
            "for each initial submission and each round: first violated rule, `no_answer` without a strategy, `none` without violations",
            PAPER,
        ),
        MarkDoc::new(
            "revised",
            FLAG,
            "for each round and seat: 1 if the strategy differs from the seat's previous strategy for this side, else 0",
            PAPER,
        ),
        MarkDoc::new(
            "kept",
            FLAG,
            "for each round and seat: 1 if the seat could revise its previous strategy for this side and kept it, else 0",
            PAPER,
        ),
        MarkDoc::new("value", "points", value, PAPER),
        MarkDoc::new("structural", "0 to 1", structural, PAPER),
        MarkDoc::new("semantic", "0 to 1", "as `structural`: cosine similarity of the costs per name", PAPER),
        MarkDoc::new(
            "functional",
            "0 to 1",
            "as `structural`: shared roles / all roles, from the tables on this page (Jaccard index)",
            PAPER,
        ),
    ]
}

/// Returns the first violation, or `none` if there are no violations.
fn word(violations: &[&'static str]) -> &'static str {
    violations.first().copied().unwrap_or("none")
}

/// Returns the sum of the numbers of each key.
fn sum_by_key<K: Ord>(all: impl Iterator<Item = (K, u32)>) -> BTreeMap<K, u32> {
    let mut out = BTreeMap::new();
    all.for_each(|(key, n)| *out.entry(key).or_default() += n);
    out
}

/// Returns the Jaccard index of two multisets of pieces. Pieces of one kind in different places are different.
fn structural(a: &[PlanPiece], b: &[PlanPiece]) -> f64 {
    let [a, b] = [a, b].map(|all| sum_by_key(all.iter().map(|piece| ((piece.kind, piece.place), 1))));
    let shared: u32 = a.iter().map(|(key, n)| *n.min(b.get(key).unwrap_or(&0))).sum();
    let all = a.values().sum::<u32>() + b.values().sum::<u32>() - shared;
    f64::from(shared) / f64::from(all.max(1))
}

/// Returns the cosine similarity of two plans as vectors of total cost by kind.
fn semantic(a: &[PlanPiece], b: &[PlanPiece]) -> f64 {
    let [a, b] = [a, b].map(|all| sum_by_key(all.iter().map(|piece| (piece.kind, piece.cost))));
    let product = |a: &BTreeMap<u32, u32>, b: &BTreeMap<u32, u32>| -> f64 {
        a.iter().map(|(kind, cost)| f64::from(*cost) * f64::from(*b.get(kind).unwrap_or(&0))).sum()
    };
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// Returns the Jaccard index of the sets of roles of two plans.
fn functional(a: &[PlanPiece], b: &[PlanPiece]) -> f64 {
    let [a, b] = [a, b].map(|all| all.iter().flat_map(|piece| piece.roles).collect::<BTreeSet<_>>());
    a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64
}

impl<C: PlanEngine> PlanGame<C> {
    /// Emits the marks of the step from `before` to `after`.
    pub(super) fn count(&self, before: &State<C::Plan>, after: &State<C::Plan>, out: &mut Marks) {
        if !out.wants_any(&docs("", "")) {
            return;
        }
        if matches!(before.phase, Phase::Initial | Phase::InitialOther) {
            (0..2).for_each(|seat| self.attempt(before, after, seat, out));
        }
        for n in before.history.len()..after.history.len() {
            (0..2).for_each(|seat| self.round(&after.history, n, seat, out));
        }
    }

    /// Emits the marks of an initial submission if `seat` made one in this step.
    fn attempt(&self, before: &State<C::Plan>, after: &State<C::Plan>, seat: Seat, out: &mut Marks) {
        let (was, is) = (&before.work[seat], &after.work[seat]);
        let moved = before.phase != after.phase || before.history.len() < after.history.len();
        let settled = was.due && (moved || !is.due);
        if !settled && (!was.due || is.sent == was.sent) {
            return;
        }
        let side = before.side(&self.settings, seat);
        let over = is.over.as_ref().filter(|_| !settled).map(|over| self.strategy(side, &over.0));
        let strategy = if settled { after.stands[seat][side].strategy.as_ref() } else { over.as_ref() };
        let (cost, violations) = judged(&self.engine, side, strategy);
        out.number(seat, "attempt", f64::from(was.sent + 1));
        out.number(seat, "cost", cost);
        out.word(seat, "violation", word(&violations));
    }

    /// Emits the marks of round `n` for `seat`.
    fn round(&self, history: &[Round<C::Plan>], n: usize, seat: Seat, out: &mut Marks) {
        let (side, round) = (side_in(&self.settings, n, seat), &history[n]);
        let now = round.strategies[seat].as_ref();
        let (cost, violations) = judged(&self.engine, side, now);
        out.number(seat, "round", (n + 1) as f64);
        out.flag(seat, "won", round.winner == Some(seat));
        out.number(seat, "cost", cost);
        out.number(seat, "budget", self.budgets[side]);
        out.flag(seat, "over", cost > self.budgets[side]);
        out.word(seat, "violation", word(&violations));
        // The last round in which this seat had a strategy for this side.
        let same = |m: &usize| side_in(&self.settings, *m, seat) == side;
        let last = (0..n).rev().filter(same).find_map(|m| history[m].strategies[seat].as_ref());
        let revised = now.zip(last).is_some_and(|(now, last)| now != last);
        let requested = (0..n).rev().find(same).and_then(|m| phase_after(&self.settings, m as u32 + 1));
        let requested = requested.is_some_and(|(_, requested)| requested[seat]);
        out.flag(seat, "revised", revised);
        out.flag(seat, "kept", requested && !revised && now.is_some() && last.is_some());
        if out.wants("value") {
            out.number(seat, "value", self.value(round, n, seat));
        }
        if let (Some(Strategy::Legal(now)), Some(Strategy::Legal(last))) = (now, last) {
            let [now, last] = [now, last].map(|plan| self.engine.pieces(side, plan));
            out.number(seat, "structural", structural(&now, &last));
            out.number(seat, "semantic", semantic(&now, &last));
            out.number(seat, "functional", functional(&now, &last));
        }
    }

    /// Returns the value of a round to a seat: the value of the battle, or 1 or -1 for a round without a battle.
    fn value(&self, round: &Round<C::Plan>, n: usize, seat: Seat) -> f64 {
        let seat_of = |side| if side_in(&self.settings, n, 0) == side { 0 } else { 1 };
        let by_side = [0, 1].map(|side| round.strategies[seat_of(side)].as_ref());
        match by_side {
            [Some(Strategy::Legal(a)), Some(Strategy::Legal(b))] => {
                self.engine.simulate([a, b], self.budgets, &mut ()).value[side_in(&self.settings, n, seat)]
            }
            _ if round.winner == Some(seat) => 1.0,
            _ => -1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Structural: the plans share two of three pieces, which are 2 of 4 pieces in the union. Semantic: the costs by
    /// kind are (3, 1, 0) and (3, 0, 2), with the cosine 9 / (sqrt 10 * sqrt 13).
    #[test]
    fn similarities_equal_hand_computed_values() {
        let piece = |kind, place, cost, roles| PlanPiece { kind, place, cost, roles };
        let a = [piece(0, 0, 1, &["front"][..]), piece(0, 0, 2, &["front"]), piece(1, 5, 1, &["dot", "heal"])];
        let b = [piece(0, 0, 1, &["front"][..]), piece(0, 0, 2, &["front"]), piece(2, 5, 2, &["dot"])];
        assert_eq!(structural(&a, &b), 0.5);
        assert!((semantic(&a, &b) - 9.0 / 130f64.sqrt()).abs() < 1e-12);
        assert_eq!(functional(&a, &b), 2.0 / 3.0);
        assert_eq!((structural(&a, &a), semantic(&a, &a), functional(&a, &a)), (1.0, 1.0, 1.0));
    }
}
