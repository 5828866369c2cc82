//! Marks of the negotiation: edit distance of counterproposals, and outcome.

use std::collections::BTreeMap;

use serde_json::Value;

use ludex_env::game::{MarkDoc, MarkValue, Marks, Seat};
use ludex_env::marks::{COUNT, FLAG, OURS};
use ludex_protocol::record::RefusedMove;

use super::{FreeStyle, State};

/// Documentation of the marks.
pub(super) const DOCS: &[MarkDoc] = &[
    MarkDoc::new(
        "validity_errors",
        COUNT,
        "for each message: number of issues in the refused attempts before it",
        OURS,
    ),
    MarkDoc::new(
        "edit_distance",
        COUNT,
        "for each proposal that replies to an open proposal of the opponent: number of added, removed or changed leaf values \
         between the two documents",
        OURS,
    ),
    MarkDoc::new("messages", COUNT, "once the rules are fixed, for each seat: number of its messages", OURS),
    MarkDoc::new("agreed", FLAG, "once the rules are fixed: 1 if the seats agreed on the rules, else 0", OURS),
    MarkDoc::new(
        "own_proposal_won",
        FLAG,
        "once the rules are fixed: 1 if the seat's proposal was accepted, else 0",
        OURS,
    ),
    MarkDoc::new(
        "clauses",
        COUNT,
        "once the rules are fixed: number of actions, effects, ends, scores and setup pieces in the rules",
        OURS,
    ),
    MarkDoc::new("rule_hash", "hash", "once the rules are fixed: hash of the rules", OURS),
];

/// Collects all leaf values of a JSON value, keyed by JSON pointer.
fn leaves<'a>(value: &'a Value, path: String, out: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, inner)| leaves(inner, format!("{path}/{key}"), out));
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(k, inner)| leaves(inner, format!("{path}/{k}"), out));
        }
        _ => drop(out.insert(path, value)),
    }
}

/// Returns the number of leaf values that differ between two JSON values: added, removed or changed.
fn distance(a: &Value, b: &Value) -> usize {
    let [a, b] = [a, b].map(|value| {
        let mut out = BTreeMap::new();
        leaves(value, String::new(), &mut out);
        out
    });
    let changed = a.iter().filter(|(path, value)| b.get(*path) != Some(value)).count();
    changed + b.keys().filter(|path| !a.contains_key(*path)).count()
}

impl FreeStyle {
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Marks) {
        let number = |n: usize| MarkValue::Number(n as f64);
        if let Some(message) = after.talk.get(before.talk.len())
            && let (Some(rules), Some(open)) = (&message.rules, self.open(before, 1 - message.seat))
        {
            out.put(message.seat, "edit_distance", number(distance(&open.canonical, &rules.canonical)));
        }
        let (None, Some(rules)) = (&before.rules, &after.rules) else { return };
        let d = &rules.document;
        let clauses = d.actions.len() + d.effects.len() + d.end.len() + d.score.len() + d.setup.len();
        for seat in 0..2 {
            let own = after.agreed && usize::from(after.author) == seat;
            let marks = [
                ("messages", number(after.talk.iter().filter(|m| m.seat == seat).count())),
                ("agreed", number(after.agreed.into())),
                ("own_proposal_won", number(own.into())),
                ("clauses", number(clauses)),
                ("rule_hash", MarkValue::Text(rules.hash.clone())),
            ];
            marks.into_iter().for_each(|(name, value)| out.put(seat, name, value));
        }
    }
    /// Emits the number of issues in refused messages.
    pub(super) fn count_refusals(&self, s: &State, seat: Seat, tries: &[RefusedMove], out: &mut Marks) {
        if self.rules(s).is_none() {
            out.number(seat, "validity_errors", tries.iter().map(|t| t.issues.len()).sum::<usize>() as u32);
        }
    }
}
