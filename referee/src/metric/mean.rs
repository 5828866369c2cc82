//! Mean of a mark.

use std::collections::BTreeMap;

use super::selection::{BY, OF, Picked, WHEN, WHERE, group_of, grouped, pick, value_of};
use super::{ANY, Args, Metric, ParamDef, Takes, Value, mean as mean_of, number, share_of};
use crate::rows::Rows;

/// Mean of the values of a mark or column, optionally grouped by a second mark of the same move.
///
/// With `per = match`, the mean is taken over the sums of the matches: `mean of=regret per=match` is the mean regret
/// per match.
pub const MEAN: Metric = Metric {
    id: "mean",
    title: "Mean",
    formula: "sum of the values / number of values; per = match: sum of the values / number of matches with a value; +- 1.96 s / sqrt(n), at most to the ends of the range of the mark, or the Wilson interval if all values are 0 or 1; by: a mean for each group",
    source: "arithmetic mean",
    params: &[
        OF,
        BY,
        WHERE,
        WHEN,
        ParamDef::new("per", "value", Takes::Words(&["value", "match"]), "unit of the mean"),
    ],
    of: mean,
    ..Metric::DEFAULT
};

fn mean(rows: &Rows, args: &Args) -> Option<Value> {
    let picked = pick(rows, args);
    let range = rows.mark_range(args.text("of")).unwrap_or(ANY);
    let all = |of: &[&Picked]| {
        let values = of.iter().filter_map(|p| Some((p.seen.game, value_of(args.text("of"), &p.seen.value)?)));
        if args.is("per", "match") {
            let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
            values.for_each(|(game, value)| *sums.entry(game).or_default() += value);
            return mean_of(&sums.into_values().collect(), ANY);
        }
        let values: Vec<f64> = values.map(|(_, value)| value).collect();
        if values.iter().all(|value| [0.0, 1.0].contains(value)) {
            return share_of(values.iter().filter(|value| **value == 1.0).count() as u64, values.len() as u64);
        }
        mean_of(&values.into_iter().collect(), range)
    };
    if group_of(args).is_none() {
        return number(all(&picked.iter().collect::<Vec<_>>()));
    }
    let groups = grouped(picked.iter().filter_map(|p| Some((p.group.clone()?, p))));
    let shares: Vec<_> = groups.into_iter().filter_map(|(name, of)| Some((name, all(&of)?))).collect();
    (!shares.is_empty()).then_some(Value::Shares(shares))
}
