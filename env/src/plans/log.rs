//! Output of a simulation: events while it runs, and a summary at its end.

use serde_json::Value;

/// One field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A whole number, such as a tick or damage.
    Number(i64),
    /// A name: of a kind of event, a unit, or a status.
    Name(&'static str),
    /// A unit on the field: the letter of its side, and its number.
    Unit(char, u16),
    /// An absent unit or number.
    Nothing,
}

impl From<Word> for Value {
    fn from(word: Word) -> Value {
        match word {
            Word::Number(n) => n.into(),
            Word::Name(name) => name.into(),
            Word::Unit(side, n) => format!("{side}{n}").into(),
            Word::Nothing => Value::Null,
        }
    }
}

impl From<i32> for Word {
    fn from(n: i32) -> Self {
        Word::Number(n.into())
    }
}

impl From<&'static str> for Word {
    fn from(name: &'static str) -> Self {
        Word::Name(name)
    }
}

/// A receiver of simulation output. `()` ignores everything at no cost.
pub trait Log {
    /// Adds one event with its fields.
    fn put(&mut self, event: &[Word]);
    /// Stores the summary; `make` is called only if a summary is needed.
    fn summary(&mut self, make: impl FnOnce() -> Value);
}

impl Log for () {
    #[inline(always)]
    fn put(&mut self, _: &[Word]) {}
    #[inline(always)]
    fn summary(&mut self, _: impl FnOnce() -> Value) {}
}

/// A log that keeps only the summary.
#[derive(Debug, Default)]
pub struct Summary(pub Value);

impl Log for Summary {
    #[inline(always)]
    fn put(&mut self, _: &[Word]) {}
    fn summary(&mut self, make: impl FnOnce() -> Value) {
        self.0 = make();
    }
}

/// A log that keeps all events and the summary.
#[derive(Debug, Default)]
pub struct Events {
    /// Fields of all events in one list: a list per event would cost more time than the battle.
    words: Vec<Word>,
    /// End of each event in `words`.
    ends: Vec<usize>,
    /// Summary of the battle.
    pub summary: Value,
}

impl Events {
    /// Returns the events in order, each as an array.
    pub fn events(&self) -> Vec<Value> {
        let mut from = 0;
        let event = |&end: &usize| -> Value {
            let words = &self.words[std::mem::replace(&mut from, end)..end];
            words.iter().map(|&word| Value::from(word)).collect()
        };
        self.ends.iter().map(event).collect()
    }
}

impl Log for Events {
    fn put(&mut self, event: &[Word]) {
        self.words.extend_from_slice(event);
        self.ends.push(self.words.len());
    }
    fn summary(&mut self, make: impl FnOnce() -> Value) {
        self.summary = make();
    }
}

/// Adds one event whose fields are convertible to [`Word`].
macro_rules! tell {
    ($log:expr, $($word:expr),+ $(,)?) => {
        $crate::plans::Log::put(&mut *$log, &[$($crate::plans::Word::from($word)),+])
    };
}
pub(crate) use tell;

/// Parses the events of an example: JSON arrays separated by white space.
#[cfg(test)]
pub(crate) fn events(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().expect("arrays")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_become_json_arrays() {
        let mut log = Events::default();
        let words = [Word::Number(20), Word::Name("hit"), Word::Unit('h', 0), Word::Nothing];
        log.put(&words);
        log.put(&words[1..2]);
        log.summary(|| json!({ "ticks": 3 }));
        assert_eq!(log.events(), [json!([20, "hit", "h0", null]), json!(["hit"])]);
        assert_eq!(log.summary, json!({ "ticks": 3 }));
    }
}
