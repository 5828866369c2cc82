//! Modes of pairing and rating that an operator sets.

/// Matches that are paired by default. A pair is two matches with one seed and swapped seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairMode {
    Off,
    #[default]
    Rated,
    All,
}

impl PairMode {
    /// Returns true if matches with this value of `rated` are paired by default.
    pub fn default_of(self, rated: bool) -> bool {
        self == PairMode::All || self == PairMode::Rated && rated
    }
}

/// Rating mode for people, whose agent kind is `human`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Humans {
    /// One rating scale for people and agents.
    #[default]
    Together,
    /// A separate rating scale for people. Standing ladders then admit only programs.
    Apart,
}
