//! Marks of negotiations in which two seats divide a pool of items.

use ludex_env::marks::{FLAG, MarkDoc, Marks};

const POINTS: &str = "value";
const GTBENCH: &str = "GTBench, resource distribution";

/// The marks of games that divide a pool.
pub(crate) const DOCS: &[MarkDoc] = &[
    MarkDoc::new("agreed", FLAG, "at the end, for each seat: 1 if the seats agreed, else 0", GTBENCH),
    MarkDoc::new(
        "value_own",
        POINTS,
        "at an agreement, for each seat: its value of its own share, without discount",
        GTBENCH,
    ),
    MarkDoc::new("value_other", POINTS, "at an agreement: the opponent's value of the opponent's share", GTBENCH),
    MarkDoc::new(
        "pareto",
        FLAG,
        "at an agreement: 1 if no division of the items is better for a seat without being worse for its opponent, else 0",
        GTBENCH,
    ),
    MarkDoc::new(
        "welfare",
        "share",
        "at an agreement: `value_own` + `value_other`, divided by the maximum sum over all divisions; 1 if the maximum is 0",
        GTBENCH,
    ),
    MarkDoc::new("envy", POINTS, "at an agreement: absolute difference of `value_own` and `value_other`", GTBENCH),
    MarkDoc::new(
        "compromise",
        FLAG,
        "at an agreement: 1 if `value_own` is below a quarter of the seat's value of the whole pool, else 0",
        GTBENCH,
    ),
];

/// Emits the marks at the end of a negotiation. `kept` is the number of each item that seat 0 gets, or `None` without
/// an agreement. Seat 1 gets the rest of the pool.
pub(crate) fn count(pool: &[u8], values: [&[u8]; 2], kept: Option<&[u8]>, out: &mut Marks) {
    (0..2).for_each(|seat| out.flag(seat, "agreed", kept.is_some()));
    let Some(kept) = kept else { return };
    let [own, other] = worth(pool, values, kept);
    let ways = ways(pool);
    let all: Vec<[u32; 2]> = ways.iter().map(|kept| worth(pool, values, kept)).collect();
    let better = |w: &[u32; 2]| w[0] >= own && w[1] >= other && (w[0] > own || w[1] > other);
    let pareto = !all.iter().any(better);
    let most = all.iter().map(|w| w[0] + w[1]).max().unwrap_or(0);
    let welfare = if most == 0 { 1.0 } else { f64::from(own + other) / f64::from(most) };
    for (seat, [own, other]) in [[own, other], [other, own]].into_iter().enumerate() {
        out.number(seat, "value_own", own);
        out.number(seat, "value_other", other);
        out.flag(seat, "pareto", pareto);
        out.number(seat, "welfare", welfare);
        out.number(seat, "envy", own.abs_diff(other));
        let whole: u32 = pool.iter().zip(values[seat]).map(|(n, v)| u32::from(*n) * u32::from(*v)).sum();
        out.flag(seat, "compromise", 4 * own < whole);
    }
}

/// Returns each seat's value of its own share, if seat 0 gets `kept` and seat 1 the rest.
fn worth(pool: &[u8], values: [&[u8]; 2], kept: &[u8]) -> [u32; 2] {
    let mut sums = [0; 2];
    for (item, (&n, &kept)) in pool.iter().zip(kept).enumerate() {
        let value = |seat: usize| u32::from(values[seat].get(item).copied().unwrap_or(0));
        sums[0] += u32::from(kept) * value(0);
        sums[1] += u32::from(n.saturating_sub(kept)) * value(1);
    }
    sums
}

/// Returns every share of the pool that seat 0 could get.
fn ways(pool: &[u8]) -> Vec<Vec<u8>> {
    pool.iter().fold(vec![Vec::new()], |ways, &n| {
        let more = |kept: &Vec<u8>| {
            let kept = kept.clone();
            (0..=n).map(move |k| [&kept[..], &[k]].concat()).collect::<Vec<_>>()
        };
        ways.iter().flat_map(more).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(kept: Option<&[u8]>) -> Vec<(usize, &'static str, f64)> {
        let mut out = Marks::all();
        // One item a and two items b, worth 4 and 1 to seat 0, and 0 and 5 to seat 1.
        count(&[1, 2], [&[4, 1], &[0, 5]], kept, &mut out);
        let number = |m: ludex_env::Mark| match m.value {
            ludex_env::MarkValue::Number(n) => (m.seat, m.name, n),
            other => panic!("{other:?}"),
        };
        out.take().into_iter().map(number).collect()
    }

    #[test]
    fn efficient_agreement_has_best_mark_values() {
        // Seat 0 gets a: values of 4 and 10, with the greatest sum, 14. A quarter of all items is worth 1.5 and 2.5.
        let of = |seat, own, other| {
            [
                ("value_own", own),
                ("value_other", other),
                ("pareto", 1.0),
                ("welfare", 1.0),
                ("envy", 6.0),
                ("compromise", 0.0),
            ]
            .map(|(name, value)| (seat, name, value))
        };
        let agreed = [(0, "agreed", 1.0), (1, "agreed", 1.0)];
        assert_eq!(marks(Some(&[1, 0])), [&agreed[..], &of(0, 4.0, 10.0), &of(1, 10.0, 4.0)].concat());
    }

    #[test]
    fn marks_reveal_inefficient_agreement() {
        // Seat 0 gets one b, seat 1 the rest: values 1 and 5. If seat 0 also got a, the values would be 5 and 5.
        let found = marks(Some(&[0, 1]));
        let of = |seat: usize, name: &str| found.iter().find(|m| (m.0, m.1) == (seat, name)).unwrap().2;
        assert_eq!([0, 1].map(|seat| of(seat, "pareto")), [0.0, 0.0]);
        assert_eq!([0, 1].map(|seat| of(seat, "welfare")), [6.0 / 14.0; 2]);
        assert_eq!([0, 1].map(|seat| of(seat, "envy")), [4.0, 4.0]);
        // 1 is below a quarter of 6, 5 is not below a quarter of 10.
        assert_eq!([0, 1].map(|seat| of(seat, "compromise")), [1.0, 0.0]);
    }

    #[test]
    fn failed_negotiation_emits_only_the_mark_named_agreed() {
        assert_eq!(marks(None), [(0, "agreed", 0.0), (1, "agreed", 0.0)]);
    }
}
