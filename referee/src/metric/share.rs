//! Share of a word among the values of a mark.

use std::collections::BTreeSet;

use super::selection::{BY, OF, Picked, WHEN, WHERE, fits, group_of, grouped, pick, word};
use super::{Args, Measurement, Metric, ParamDef, Takes, Value, number, share_of};
use crate::rows::Rows;

/// Share of each value of a mark among all values of the mark; with `is`, the share of this value alone.
///
/// `is` is a word, a number, `>=8`, `<=3` or `4..6`. With `per = match`, the share of the agent's matches that have at
/// least one matching value. With `by`, shares are computed within each group of a second mark of the same move.
pub const SHARE: Metric = Metric {
    id: "share",
    title: "Share",
    unit: "share",
    formula: "matching values / values; per = match: matches with a matching value / matches; Wilson interval; by: a share for each group",
    source: "E. B. Wilson, JASA 22 (1927)",
    params: &[
        OF,
        ParamDef::new("is", "none", Takes::Text, "counted value, as in when; none: a share for each value"),
        BY,
        WHERE,
        WHEN,
        ParamDef::new("per", "value", Takes::Words(&["value", "match"]), "counted units"),
    ],
    of: share,
    ..Metric::DEFAULT
};

fn share(rows: &Rows, args: &Args) -> Option<Value> {
    let picked = pick(rows, args);
    let matches = rows.own_matches().len() as u64;
    let fitting = |of: &[&Picked], is: &str| -> Option<Measurement> {
        let hits = of.iter().filter(|p| fits(&word(&p.seen.value), is));
        if args.is("per", "match") {
            let games: BTreeSet<usize> = hits.map(|p| p.seen.game).collect();
            return share_of(games.len() as u64, matches);
        }
        share_of(hits.count() as u64, of.len() as u64)
    };
    let all: Vec<&Picked> = picked.iter().collect();
    if all.is_empty() && !args.is("per", "match") {
        return None;
    }
    let shares: Vec<(String, Measurement)> = match (args.get("is"), group_of(args)) {
        (Some(is), None) => return number(fitting(&all, is)),
        (Some(is), Some(_)) => {
            let groups = grouped(picked.iter().filter_map(|p| Some((p.group.clone()?, p))));
            groups.into_iter().filter_map(|(name, of)| Some((name, fitting(&of, is)?))).collect()
        }
        (None, _) => {
            // With groups, the group name precedes the word.
            let name = |p: &Picked| match &p.group {
                Some(group) => format!("{group}: {}", word(&p.seen.value)),
                None => word(&p.seen.value),
            };
            let beside = |p: &Picked| picked.iter().filter(|other| other.group == p.group).collect::<Vec<_>>();
            let words = grouped(picked.iter().map(|p| (name(p), p)));
            let one = |(name, of): (String, Vec<&Picked>)| {
                let first = *of.first()?;
                Some((name, fitting(&beside(first), &word(&first.seen.value))?))
            };
            words.into_iter().filter_map(one).collect()
        }
    };
    (!shares.is_empty()).then_some(Value::Shares(shares))
}
