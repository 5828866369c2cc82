//! Marks: quantities that a game computes at each step, as input for metrics over records.

use std::collections::BTreeSet;

use serde::Serialize;

/// Unit of yes/no marks.
pub const FLAG: &str = "1 or 0";
/// Unit of marks with a few fixed words as values.
pub const WORD: &str = "word";
/// Unit of marks that are counts.
pub const COUNT: &str = "number";
/// Source of marks that no paper defines.
pub const OURS: &str = "ours";

/// A quantity that a game computes at a step, for metrics over records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The seat that the mark describes.
    pub seat: usize,
    /// Name, documented on the game's page under `## Marks`.
    pub name: &'static str,
    /// The value of the mark.
    pub value: MarkValue,
}

/// Value of a mark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MarkValue {
    /// A number, including 1 or 0 for a flag.
    Number(f64),
    /// One of a few fixed words.
    Word(&'static str),
    /// An arbitrary name from the game, such as a hash of a seat's rules.
    Text(String),
}

/// Documentation of a mark: a row of the table `## Marks` on the game's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MarkDoc {
    /// Name of the mark.
    pub name: &'static str,
    /// Unit of the value: `1 or 0`, `word`, `number`, `share` and so on.
    pub unit: &'static str,
    /// Definition: time of emission, seats, and computation of the value.
    pub formula: &'static str,
    /// Paper or benchmark that defines the mark.
    pub source: &'static str,
}

impl MarkDoc {
    /// Creates a row of the table.
    pub const fn new(name: &'static str, unit: &'static str, formula: &'static str, source: &'static str) -> Self {
        MarkDoc { name, unit, formula, source }
    }

    /// Returns the least and the greatest possible value, if the unit gives them: `1 or 0`, or `A to B`.
    pub fn range(&self) -> Option<[f64; 2]> {
        if self.unit == FLAG {
            return Some([0.0, 1.0]);
        }
        let (low, high) = self.unit.split_once(" to ")?;
        Some([low.parse().ok()?, high.parse().ok()?])
    }
}

/// A collector that stores the requested marks. A game checks [`Marks::wants`] before it computes an expensive mark.
#[derive(Clone, Debug, Default)]
pub struct Marks<'a> {
    /// Names of the requested marks; `None`: all marks.
    wanted: Option<&'a BTreeSet<String>>,
    kept: Vec<Mark>,
}

impl<'a> Marks<'a> {
    /// Creates a collector that stores all marks.
    pub fn all() -> Self {
        Marks::default()
    }

    /// Creates a collector that stores only marks with these names.
    pub fn only(names: &'a BTreeSet<String>) -> Self {
        Marks { wanted: Some(names), kept: Vec::new() }
    }

    /// Returns true if marks with this name are requested.
    pub fn wants(&self, name: &str) -> bool {
        self.wanted.is_none_or(|names| names.contains(name))
    }

    /// Returns true if any of these marks is requested.
    pub fn wants_any(&self, docs: &[MarkDoc]) -> bool {
        docs.iter().any(|doc| self.wants(doc.name))
    }

    /// Returns true if no marks are requested.
    pub fn wants_none(&self) -> bool {
        self.wanted.is_some_and(BTreeSet::is_empty)
    }

    /// Adds a mark of a seat.
    pub fn put(&mut self, seat: usize, name: &'static str, value: MarkValue) {
        if self.wants(name) {
            self.kept.push(Mark { seat, name, value });
        }
    }

    /// Adds a mark with a number.
    pub fn number(&mut self, seat: usize, name: &'static str, value: impl Into<f64>) {
        self.put(seat, name, MarkValue::Number(value.into()));
    }

    /// Adds a mark with the value 1 if `yes`, else 0.
    pub fn flag(&mut self, seat: usize, name: &'static str, yes: bool) {
        self.number(seat, name, u8::from(yes));
    }

    /// Adds a mark with a word.
    pub fn word(&mut self, seat: usize, name: &'static str, word: &'static str) {
        self.put(seat, name, MarkValue::Word(word));
    }

    /// Takes the stored marks, in the order in which they were added.
    pub fn take(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collector_drops_unrequested_marks() {
        let names = BTreeSet::from(["b".to_owned()]);
        let mut marks = Marks::only(&names);
        assert!(marks.wants("b") && !marks.wants("a") && !marks.wants_none());
        marks.number(0, "a", 1.0);
        marks.flag(1, "b", true);
        assert_eq!(marks.take(), [Mark { seat: 1, name: "b", value: MarkValue::Number(1.0) }]);
        assert!(marks.take().is_empty());
        assert!(Marks::only(&BTreeSet::new()).wants_none() && Marks::all().wants("a"));
        let doc = |name| MarkDoc::new(name, FLAG, "", OURS);
        assert!(marks.wants_any(&[doc("a"), doc("b")]) && !marks.wants_any(&[doc("a")]));
    }
}
