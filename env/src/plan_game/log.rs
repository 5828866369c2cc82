//! What a simulation tells while it runs: events, and a summary at its end.

use serde_json::Value;

/// One word of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventField {
    /// A number.
    Number(i64),
    /// A name: of a kind of event, a unit, a status.
    Name(&'static str),
    /// A unit on the field: the letter of its side, and its number.
    Unit(char, u16),
    /// Nothing: no unit, no number.
    Nothing,
}

impl From<EventField> for Value {
    fn from(word: EventField) -> Value {
        match word {
            EventField::Number(n) => n.into(),
            EventField::Name(name) => name.into(),
            EventField::Unit(side, n) => format!("{side}{n}").into(),
            EventField::Nothing => Value::Null,
        }
    }
}

impl From<i32> for EventField {
    fn from(n: i32) -> Self {
        EventField::Number(n.into())
    }
}

impl From<&'static str> for EventField {
    fn from(name: &'static str) -> Self {
        EventField::Name(name)
    }
}

/// Who listens to a simulation. `()` does not, and costs nothing.
pub trait BattleLog {
    /// Takes one event.
    fn put(&mut self, event: &[EventField]);
    /// Takes the summary, which is made only if it is wanted.
    fn summary(&mut self, make: impl FnOnce() -> Value);
}

impl BattleLog for () {
    #[inline(always)]
    fn put(&mut self, _: &[EventField]) {}
    #[inline(always)]
    fn summary(&mut self, _: impl FnOnce() -> Value) {}
}

/// Keeps the summary alone.
#[derive(Debug, Default)]
pub struct SummaryLog(pub Value);

impl BattleLog for SummaryLog {
    #[inline(always)]
    fn put(&mut self, _: &[EventField]) {}
    fn summary(&mut self, make: impl FnOnce() -> Value) {
        self.0 = make();
    }
}

/// Keeps everything.
#[derive(Debug, Default)]
pub struct FullLog {
    /// The words of all events, one event after the other: a list for each would cost more than the battle.
    words: Vec<EventField>,
    /// Where each event ends.
    ends: Vec<usize>,
    /// The summary.
    pub summary: Value,
}

impl FullLog {
    /// The events in order, each an array.
    pub fn events(&self) -> Vec<Value> {
        let mut from = 0;
        let event = |&end: &usize| -> Value {
            let words = &self.words[std::mem::replace(&mut from, end)..end];
            words.iter().map(|&word| Value::from(word)).collect()
        };
        self.ends.iter().map(event).collect()
    }
}

impl BattleLog for FullLog {
    fn put(&mut self, event: &[EventField]) {
        self.words.extend_from_slice(event);
        self.ends.push(self.words.len());
    }
    fn summary(&mut self, make: impl FnOnce() -> Value) {
        self.summary = make();
    }
}

/// Puts one event: its words in order, each anything that a [`Word`] is made from.
macro_rules! tell {
    ($log:expr, $($word:expr),+ $(,)?) => {
        $crate::plan_game::BattleLog::put(&mut *$log, &[$($crate::plan_game::EventField::from($word)),+])
    };
}
pub(crate) use tell;

/// The events of an example: JSON arrays with white space between them.
#[cfg(test)]
pub(crate) fn events(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().expect("arrays")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_arrays() {
        let mut log = FullLog::default();
        let words = [EventField::Number(20), EventField::Name("hit"), EventField::Unit('h', 0), EventField::Nothing];
        log.put(&words);
        log.put(&words[1..2]);
        log.summary(|| json!({ "ticks": 3 }));
        assert_eq!(log.events(), [json!([20, "hit", "h0", null]), json!(["hit"])]);
        assert_eq!(log.summary, json!({ "ticks": 3 }));
    }
}
