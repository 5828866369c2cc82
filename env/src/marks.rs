//! Marks: what the rules count of a step, for metrics over records.

use std::collections::BTreeSet;

use serde::Serialize;

/// The unit of marks that say whether something is so.
pub(crate) const FLAG: &str = "1 or 0";
/// The unit of marks that are one of a few words.
pub(crate) const WORD: &str = "word";
/// The unit of marks that count.
pub(crate) const COUNT: &str = "number";
/// The source of marks that no paper has.
pub(crate) const OURS: &str = "ours";

/// What the rules count of a step, for metrics over records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Whom it is about.
    pub seat: usize,
    /// Its name, which the game's page explains under `## Marks`.
    pub name: &'static str,
    /// Its value.
    pub value: MarkValue,
}

/// The value of a mark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MarkValue {
    /// A number.
    Number(f64),
    /// One of a few words.
    Word(&'static str),
    /// A name that the seats made, such as the hash of their rules.
    Text(String),
}

/// What a mark is: a row of the table `## Marks` on the game's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MarkDoc {
    /// Its name.
    pub name: &'static str,
    /// What its value is: `1 or 0`, `word`, `number`, `share`, ..
    pub unit: &'static str,
    /// When it is counted, of whom, and how its value is found.
    pub formula: &'static str,
    /// Who defined it so.
    pub source: &'static str,
}

impl MarkDoc {
    /// A row of the table.
    pub const fn new(name: &'static str, unit: &'static str, formula: &'static str, source: &'static str) -> Self {
        MarkDoc { name, unit, formula, source }
    }
}

/// Takes marks, and keeps those that are wanted. Some marks are costly, so games ask [`Marks::wants`] before they compute them.
#[derive(Clone, Debug, Default)]
pub struct Marks<'a> {
    /// `None`: all.
    wanted: Option<&'a BTreeSet<String>>,
    kept: Vec<Mark>,
}

impl<'a> Marks<'a> {
    /// Keeps all marks.
    pub fn all() -> Self {
        Marks::default()
    }

    /// Keeps marks of these names alone.
    pub fn only(names: &'a BTreeSet<String>) -> Self {
        Marks { wanted: Some(names), kept: Vec::new() }
    }

    /// Whether marks of this name are kept.
    pub fn wants(&self, name: &str) -> bool {
        self.wanted.is_none_or(|names| names.contains(name))
    }

    /// Whether any mark of these is kept.
    pub fn wants_any(&self, docs: &[MarkDoc]) -> bool {
        docs.iter().any(|doc| self.wants(doc.name))
    }

    /// Whether nothing is kept, whatever comes.
    pub fn wants_none(&self) -> bool {
        self.wanted.is_some_and(BTreeSet::is_empty)
    }

    /// Takes a mark.
    pub fn put(&mut self, seat: usize, name: &'static str, value: MarkValue) {
        if self.wants(name) {
            self.kept.push(Mark { seat, name, value });
        }
    }

    /// Takes a number.
    pub fn number(&mut self, seat: usize, name: &'static str, value: impl Into<f64>) {
        self.put(seat, name, MarkValue::Number(value.into()));
    }

    /// Takes 1 for yes, 0 for no.
    pub fn flag(&mut self, seat: usize, name: &'static str, yes: bool) {
        self.number(seat, name, u8::from(yes));
    }

    /// Takes a word.
    pub fn word(&mut self, seat: usize, name: &'static str, word: &'static str) {
        self.put(seat, name, MarkValue::Word(word));
    }

    /// What was kept, in the order in which it came; nothing is left.
    pub fn take(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_wanted_is_not_kept() {
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
