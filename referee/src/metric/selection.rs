//! Which observed values a metric looks at.

use std::collections::HashMap;

use ludex_env::MarkValue;

use super::{Args, ParamDef, Takes};
use crate::result::EMOTION;
use crate::rows::{COLUMNS, Observed, Rows};

/// Whose values are taken.
pub(super) const OF: ParamDef = ParamDef::new("of", "", Takes::Mark, "the mark whose values are taken");
/// Groups.
pub(super) const BY: ParamDef =
    ParamDef::new("by", "none", Takes::Mark, "a mark of the same move: its values are groups, each measured by itself");
/// Conditions.
pub(super) const WHERE: ParamDef =
    ParamDef::new("where", "none", Takes::Mark, "a mark of the same move that must be there and not be 0");

/// A value that was picked.
pub(super) struct Picked<'r> {
    /// The value.
    pub seen: Observed<'r>,
    /// Its group, where there are groups.
    pub group: Option<String>,
}

/// The values of `of`, where `where` holds, with their groups by `by`. Without a group a value is left out if groups are asked
/// for.
pub(super) fn pick<'r>(rows: &'r Rows, args: &Args) -> Vec<Picked<'r>> {
    let (by, only) = (group_of(args), args.given("where"));
    let (groups, conditions) = (by.map(|by| Beside::new(rows, by)), only.map(|only| Beside::new(rows, only)));
    let picked = rows.observed(args.text("of")).into_iter().filter_map(|seen| {
        let holds = |beside: &Beside| beside.of(&seen).is_some_and(is_true);
        if !conditions.as_ref().is_none_or(holds) {
            return None;
        }
        match &groups {
            None => Some(Picked { seen, group: None }),
            Some(groups) => {
                let group = word(groups.of(&seen)?);
                Some(Picked { seen, group: Some(group) })
            }
        }
    });
    picked.collect()
}

/// The mark whose values are groups. The groups of a mark by itself are its values: then nothing is grouped.
pub(super) fn group_of(args: &Args) -> Option<&str> {
    args.given("by").filter(|by| *by != args.text("of"))
}

/// The values of another mark, by where they were made.
struct Beside {
    /// Columns are known of whole matches.
    whole: bool,
    values: HashMap<(usize, usize, u32), MarkValue>,
}

impl Beside {
    fn new(rows: &Rows, mark: &str) -> Beside {
        let whole = COLUMNS.contains(&mark);
        let mut values = HashMap::new();
        for seen in rows.observed(mark) {
            let key = if whole { (seen.game, 0, 0) } else { (seen.game, seen.seat, seen.turn) };
            values.entry(key).or_insert_with(|| seen.value.into_owned());
        }
        Beside { whole, values }
    }

    fn of(&self, seen: &Observed) -> Option<&MarkValue> {
        self.values.get(&if self.whole { (seen.game, 0, 0) } else { (seen.game, seen.seat, seen.turn) })
    }
}

fn is_true(value: &MarkValue) -> bool {
    match value {
        MarkValue::Number(n) => *n != 0.0,
        other => !matches!(word(other).as_str(), "" | "none" | "no" | "false"),
    }
}

/// A value as a word.
pub(super) fn word(value: &MarkValue) -> String {
    match value {
        MarkValue::Number(n) => n.to_string(),
        MarkValue::Word(word) => (*word).to_owned(),
        MarkValue::Text(text) => text.clone(),
        // The kinds of values may grow.
        other => format!("{other:?}"),
    }
}

/// A value as a number: feelings from -2 (`A`, desperate) to 2 (`E`, excited).
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

/// The names of groups, each with its values, in the order of the names.
pub(super) fn grouped<T>(of: impl IntoIterator<Item = (String, T)>) -> Vec<(String, Vec<T>)> {
    let mut out: std::collections::BTreeMap<String, Vec<T>> = Default::default();
    of.into_iter().for_each(|(group, value)| out.entry(group).or_default().push(value));
    out.into_iter().collect()
}
