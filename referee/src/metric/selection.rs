//! Selection of the observed values of a metric.

use std::collections::HashMap;

use ludex_env::MarkValue;

use super::{Args, ParamDef, Takes};
use crate::result::EMOTION;
use crate::rows::{COLUMNS, Observed, Rows};

/// Parameter for the mark whose values are measured.
pub(super) const OF: ParamDef = ParamDef::new("of", "", Takes::Mark, "measured mark");
/// Parameter for the mark whose values form groups.
pub(super) const BY: ParamDef =
    ParamDef::new("by", "none", Takes::Mark, "mark of the same move that groups the values");
/// Parameter for the mark that the condition tests.
pub(super) const WHERE: ParamDef =
    ParamDef::new("where", "none", Takes::Mark, "mark of the same move, which must be present and satisfy when");

/// Parameter for the value that the tested mark must have.
pub(super) const WHEN: ParamDef = ParamDef::new(
    "when",
    "none",
    Takes::Text,
    "condition on the mark where: a word, a number, >=8, <=3 or 4..6; none: not 0",
);

pub(super) struct Picked<'r> {
    pub seen: Observed<'r>,
    /// Group of the value, if the metric is grouped.
    pub group: Option<String>,
}

/// Returns the values of the mark `of` that meet the condition `where`, each with its group from the mark `by`. With
/// groups, values without a group are omitted. If a move has several values of each mark, the k-th values of the marks
/// belong together.
pub(super) fn pick<'r>(rows: &'r Rows, args: &Args) -> Vec<Picked<'r>> {
    let (by, only) = (group_of(args), args.get("where"));
    let (groups, conditions) = (by.map(|by| OtherMark::new(rows, by)), only.map(|only| OtherMark::new(rows, only)));
    let mut before: HashMap<(usize, usize, u32), usize> = HashMap::new();
    let picked = rows.observed(args.text("of")).into_iter().filter_map(|seen| {
        let count = before.entry((seen.game, seen.seat, seen.turn)).or_default();
        let nth = *count;
        *count += 1;
        let holds = |value: &MarkValue| match args.get("when") {
            Some(when) => fits(&word(value), when),
            None => is_true(value),
        };
        if !conditions.as_ref().is_none_or(|beside| beside.of(&seen, nth).is_some_and(holds)) {
            return None;
        }
        match &groups {
            None => Some(Picked { seen, group: None }),
            Some(groups) => {
                let group = word(groups.of(&seen, nth)?);
                Some(Picked { seen, group: Some(group) })
            }
        }
    });
    picked.collect()
}

/// Returns the mark that groups the values; `None` without grouping, or if the mark is grouped by its own values.
pub(super) fn group_of(args: &Args) -> Option<&str> {
    args.get("by").filter(|by| *by != args.text("of"))
}

/// Values of the mark that groups or filters other values, by match, seat and turn.
struct OtherMark {
    /// True if each value applies to a whole match, like the value of a column.
    whole: bool,
    values: HashMap<(usize, usize, u32), Vec<MarkValue>>,
}

impl OtherMark {
    fn new(rows: &Rows, mark: &str) -> OtherMark {
        let whole = COLUMNS.contains(&mark);
        let mut values: HashMap<_, Vec<MarkValue>> = HashMap::new();
        for seen in rows.observed(mark) {
            let key = if whole { (seen.game, 0, 0) } else { (seen.game, seen.seat, seen.turn) };
            values.entry(key).or_default().push(seen.value.into_owned());
        }
        OtherMark { whole, values }
    }

    fn of(&self, seen: &Observed, nth: usize) -> Option<&MarkValue> {
        if self.whole {
            return self.values.get(&(seen.game, 0, 0))?.first();
        }
        let own = self.values.get(&(seen.game, seen.seat, seen.turn))?;
        own.get(nth).or(own.first())
    }
}

fn is_true(value: &MarkValue) -> bool {
    match value {
        MarkValue::Number(n) => *n != 0.0,
        other => !matches!(word(other).as_str(), "" | "none" | "no" | "false"),
    }
}

/// Formats a value as text, for groups and conditions.
pub(super) fn word(value: &MarkValue) -> String {
    match value {
        MarkValue::Number(n) => n.to_string(),
        MarkValue::Word(word) => (*word).to_owned(),
        MarkValue::Text(text) => text.clone(),
        // `MarkValue` is non-exhaustive.
        other => format!("{other:?}"),
    }
}

/// Converts a value to a number: emotions range from -2 (`A`, desperate) to 2 (`E`, excited).
pub(super) fn value_of(mark: &str, value: &MarkValue) -> Option<f64> {
    match value {
        MarkValue::Number(n) => Some(*n),
        MarkValue::Text(text) if mark == EMOTION => feeling(text),
        _ => None,
    }
}

fn feeling(letter: &str) -> Option<f64> {
    let at = ["A", "B", "C", "D", "E"].iter().position(|known| *known == letter)?;
    Some(at as f64 - 2.0)
}

/// Collects values by group name, in the order of the names.
pub(super) fn grouped<T>(of: impl IntoIterator<Item = (String, T)>) -> Vec<(String, Vec<T>)> {
    let mut out: std::collections::BTreeMap<String, Vec<T>> = Default::default();
    of.into_iter().for_each(|(group, value)| out.entry(group).or_default().push(value));
    out.into_iter().collect()
}

/// Returns true if a value matches a condition.
pub(super) fn fits(value: &str, is: &str) -> bool {
    let number = value.parse::<f64>().ok();
    let at = |text: &str| text.trim().parse::<f64>().ok();
    if let Some(least) = is.strip_prefix(">=").and_then(at) {
        return number.is_some_and(|n| n >= least);
    }
    if let Some(most) = is.strip_prefix("<=").and_then(at) {
        return number.is_some_and(|n| n <= most);
    }
    if let Some((least, most)) = is.split_once("..").and_then(|(a, b)| at(a).zip(at(b))) {
        return number.is_some_and(|n| least <= n && n <= most);
    }
    value == is
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn conditions_accept_words_and_ranges() {
        assert!(fits("pass", "pass") && !fits("play", "pass"));
        assert!(fits("8", ">=8") && !fits("7.5", ">=8") && !fits("eight", ">=8"));
        assert!(fits("3", "<=3") && fits("4", "4..6") && fits("6", "4..6") && !fits("6.1", "4..6"));
        assert!(fits("1", "1") && !fits("0", "1"));
    }
}
