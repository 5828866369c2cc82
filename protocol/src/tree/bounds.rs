//! Detection of lists and texts in a tree that exceed a server's limits.

use serde_json::Value;

use super::Node;
use crate::error::{ErrorCode, Refusal};
use crate::limits::Limits;

/// A list or text beyond a limit.
struct LimitExcess {
    what: &'static str,
    length: usize,
    most: usize,
}

impl Node<'_> {
    /// Returns the refusal of the first list, map or text that is too long. In `bulk` messages, lists have one entry
    /// per environment. The texts of `bulk` messages are packed columns or snapshots, which this check does not limit.
    pub fn limit_excess(&self, limits: &Limits, bulk: bool) -> Option<Refusal> {
        let (list, text) = if bulk { (limits.batch, u32::MAX) } else { (limits.list_entries, limits.text_bytes) };
        let (list, text) = (list as usize, text as usize);
        let Node::Map(fields) = self else { return None };
        if fields.len() > list {
            return Some(refusal("message", LimitExcess { what: "fields", length: fields.len(), most: list }));
        }
        fields.iter().find_map(|(name, value)| {
            let path = name.as_str().unwrap_or_default();
            if let Some(found) = name.longest(list, text) {
                return Some(refusal("field name", found));
            }
            match value {
                Node::List(nodes) if nodes.len() <= list => nodes.iter().enumerate().find_map(|(at, node)| {
                    let found = node.longest(list, text)?;
                    Some(refusal(path, found).path(path).index(at))
                }),
                other => other.longest(list, text).map(|found| refusal(path, found).path(path)),
            }
        })
    }

    fn longest(&self, list: usize, text: usize) -> Option<LimitExcess> {
        let excess = |what, length, most| (length > most).then_some(LimitExcess { what, length, most });
        match self {
            Node::Text(t) => excess("bytes", t.len(), text),
            Node::Bytes(b) => excess("bytes", b.len(), text),
            Node::List(nodes) => {
                excess("entries", nodes.len(), list).or_else(|| nodes.iter().find_map(|node| node.longest(list, text)))
            }
            Node::Map(entries) => excess("entries", entries.len(), list).or_else(|| {
                entries.iter().find_map(|(key, node)| key.longest(list, text).or_else(|| node.longest(list, text)))
            }),
            _ => None,
        }
    }
}

fn refusal(what: &str, found: LimitExcess) -> Refusal {
    let LimitExcess { what: parts, length, most } = found;
    let message = format!("{what}: expected at most {most} {parts}, got {length}");
    Refusal::new(ErrorCode::TooLarge, message).got(Value::from(length)).allowed(most)
}
