//! History of a game as its player saw it, in bounded memory.

use std::collections::VecDeque;

/// Maximum size of a history in bytes. Beyond it, the oldest entries are dropped.
const MAX_BYTES: usize = 256 << 10;

/// Maximum size of one entry in bytes. A longer entry is cut.
const MAX_ENTRY_BYTES: usize = 16 << 10;

/// Texts in order of time.
#[derive(Debug, Default)]
pub(super) struct SeenHistory {
    entries: VecDeque<String>,
    bytes: usize,
    /// Number of all entries, including the dropped ones.
    count: usize,
}

impl SeenHistory {
    /// Adds an entry at the end.
    pub fn push(&mut self, mut entry: String) {
        entry.truncate(entry.floor_char_boundary(MAX_ENTRY_BYTES));
        self.bytes += entry.len();
        self.entries.push_back(entry);
        self.count += 1;
        while self.bytes > MAX_BYTES {
            self.bytes -= self.entries.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    /// Returns the number of all entries, including the dropped ones.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the entries from number `first` on, from 0, without the dropped ones.
    pub fn since(&self, first: usize) -> Vec<String> {
        let dropped = self.count - self.entries.len();
        self.entries.iter().skip(first.saturating_sub(dropped)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_entries_are_dropped() {
        let mut history = SeenHistory::default();
        for k in 0..100 {
            history.push(format!("{k}{}", "é".repeat(MAX_ENTRY_BYTES)));
        }
        assert_eq!(history.count(), 100);
        assert!(history.bytes <= MAX_BYTES && history.since(0).iter().all(|entry| entry.len() <= MAX_ENTRY_BYTES));
        assert_eq!(history.since(99).len(), 1);
        assert!(history.since(0)[0].starts_with("84"), "{}", &history.since(0)[0][..3]);
        assert!(history.since(100).is_empty());
    }
}
