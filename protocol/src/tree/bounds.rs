//! Which list or text of a tree is longer than a server allows.

use serde_json::Value;

use super::Node;
use crate::error::{ErrorCode, Refusal};
use crate::limits::Limits;

impl Node<'_> {
    /// The answer about the first list, map or text of a message that is too long. In `bulk` messages lists have an entry
    /// for each environment, and texts stand for packed columns and snapshots, which other limits bound.
    pub fn beyond(&self, limits: &Limits, bulk: bool) -> Option<Refusal> {
        let (list, text) = if bulk { (limits.batch, u32::MAX) } else { (limits.list, limits.text_bytes) };
        let (path, what, length, most) = self.longest_beyond(list as usize, text as usize, "")?;
        let message = format!("{path} has {length} {what}, {most} are allowed");
        let refusal = Refusal::new(ErrorCode::TooLarge, message).path(&path);
        Some(refusal.got(Value::from(length)).allowed(most))
    }

    fn longest_beyond(&self, list: usize, text: usize, path: &str) -> Option<(String, &'static str, usize, usize)> {
        let beyond = |what, length, most| (length > most).then(|| (path.to_owned(), what, length, most));
        match self {
            Node::Text(t) => beyond("bytes", t.len(), text),
            Node::Bytes(b) => beyond("bytes", b.len(), text),
            Node::List(nodes) => beyond("entries", nodes.len(), list)
                .or_else(|| nodes.iter().find_map(|node| node.longest_beyond(list, text, path))),
            Node::Map(entries) => beyond("entries", entries.len(), list).or_else(|| {
                entries.iter().find_map(|(key, node)| {
                    // The path of an answer names fields of the message, and not what is inside.
                    let name = if path.is_empty() { key.as_str().unwrap_or_default() } else { path };
                    key.longest_beyond(list, text, path).or_else(|| node.longest_beyond(list, text, name))
                })
            }),
            _ => None,
        }
    }
}
