//! Output of a simulation: events during the battle, and a summary at the end.

use serde_json::Value;

/// One field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventField {
    /// A whole number, such as a tick or damage.
    Number(i64),
    /// A name of an event, a unit, or a status.
    Name(&'static str),
    /// A unit on the field: the letter of its side, and the number of the unit.
    Unit(char, u16),
    /// An absent unit or number.
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

/// A receiver of simulation output. The receiver `()` discards everything at no cost.
pub trait BattleLog {
    /// Adds one event with its fields.
    fn put(&mut self, event: &[EventField]);
    /// Stores the summary of the battle. Calls `make` only if the receiver needs a summary.
    fn summary(&mut self, make: impl FnOnce() -> Value);
}

impl BattleLog for () {
    #[inline(always)]
    fn put(&mut self, _: &[EventField]) {}
    #[inline(always)]
    fn summary(&mut self, _: impl FnOnce() -> Value) {}
}

/// A log that stores only the summary.
#[derive(Debug, Default)]
pub struct SummaryLog(pub Value);

impl BattleLog for SummaryLog {
    #[inline(always)]
    fn put(&mut self, _: &[EventField]) {}
    fn summary(&mut self, make: impl FnOnce() -> Value) {
        self.0 = make();
    }
}

/// A log that stores all events and the summary.
#[derive(Debug, Default)]
pub struct FullLog {
    /// Fields of all events in one list. Allocating a separate list for each event would take longer than simulating
    /// the battle.
    words: Vec<EventField>,
    /// End index of each event in `words`.
    ends: Vec<usize>,
    /// Summary of the battle.
    pub summary: Value,
}

impl FullLog {
    /// Returns the events in order, each as a JSON array.
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

/// Logs one event. Its fields are converted to [`EventField`].
macro_rules! event {
    ($log:expr, $($word:expr),+ $(,)?) => {
        $crate::plan_game::BattleLog::put(&mut *$log, &[$($crate::plan_game::EventField::from($word)),+])
    };
}
pub(crate) use event;

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
        let mut log = FullLog::default();
        let words = [EventField::Number(20), EventField::Name("hit"), EventField::Unit('h', 0), EventField::Nothing];
        log.put(&words);
        log.put(&words[1..2]);
        log.summary(|| json!({ "ticks": 3 }));
        assert_eq!(log.events(), [json!([20, "hit", "h0", null]), json!(["hit"])]);
        assert_eq!(log.summary, json!({ "ticks": 3 }));
    }
}
