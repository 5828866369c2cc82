//! What is counted of a step: how far a proposal is from the other's, and how the negotiation ended.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{FreeStyle, State};
use crate::game::{Mark, MarkValue};

/// The values of a document that hold no others, by their paths.
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

/// How many such values were added, removed or changed.
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
    pub(super) fn count(&self, before: &State, after: &State, out: &mut Vec<Mark>) {
        let number = |n: usize| MarkValue::Number(n as f64);
        if let Some(message) = after.talk.get(before.talk.len())
            && let (Some(rules), Some(open)) = (&message.rules, self.open(before, 1 - message.seat))
        {
            let value = number(distance(&open.canonical, &rules.canonical));
            out.push(Mark { seat: message.seat, name: "edit_distance", value });
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
            out.extend(marks.map(|(name, value)| Mark { seat, name, value }));
        }
    }
}
