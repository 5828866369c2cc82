//! Operator settings of a ladder.

use serde::Deserialize;

use super::pairing::Pacing;
use super::table::LadderSettings;
use crate::seasons::{Season, in_order};

/// Settings of a standing ladder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LadderTerms {
    /// Game: its id, and any parameters that differ from the defaults.
    pub game: String,
    /// Name of the ladder; by default the id of the game.
    #[serde(default)]
    pub name: Option<String>,
    /// Time per move in milliseconds.
    #[serde(default = "move_ms")]
    pub move_ms: u64,
    /// Levels of the game's anchor ladder to use as anchors; `None`: all levels that have a rating.
    #[serde(default)]
    pub anchors: Option<Vec<u32>>,
    /// Maximum number of agents in a season. The time of a fit grows with the cube of this number, its memory with the
    /// square.
    #[serde(default = "max_agents")]
    pub max_agents: usize,
    #[serde(default)]
    pub rating: LadderSettings,
    #[serde(default)]
    pub pairing: Pacing,
    /// Seasons in chronological order. Without any, there is one endless season named `open`.
    #[serde(default, rename = "season")]
    pub seasons: Vec<Season>,
}

fn move_ms() -> u64 {
    10_000
}

fn max_agents() -> usize {
    2_000
}

impl LadderTerms {
    /// Returns the default settings for a game.
    pub fn of(game: &str) -> Self {
        LadderTerms {
            game: game.to_owned(),
            name: None,
            move_ms: move_ms(),
            anchors: None,
            max_agents: max_agents(),
            rating: LadderSettings::default(),
            pairing: Pacing::default(),
            seasons: Vec::new(),
        }
    }

    /// Parses settings from TOML.
    ///
    /// # Errors
    ///
    /// Invalid or contradictory settings.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let terms: Self = toml::from_str(text)?;
        terms.check()?;
        Ok(terms)
    }

    /// Checks that the settings are consistent.
    ///
    /// # Errors
    ///
    /// The first contradiction between the settings.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(self.move_ms > 0, "move_ms: expected a number above 0, got 0");
        anyhow::ensure!(self.max_agents > 0, "max_agents: expected a number above 0, got 0");
        let fault = self.rating.fault().or_else(|| self.pairing.fault());
        anyhow::ensure!(fault.is_none(), "{}", fault.unwrap_or_default());
        in_order(&self.seasons)
    }

    /// Returns the configured seasons or, without any, the default season.
    pub(super) fn all_seasons(&self) -> Vec<Season> {
        match self.seasons.as_slice() {
            [] => vec![Season { name: "open".to_owned(), begin: 0, end: None, every: None }],
            seasons => seasons.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictory_ladder_settings_are_rejected() {
        let text = "game = \"connect_four\"\nmove_ms = 500\nanchors = [0, 2]\n[rating]\nprovisional = 90\n[pairing]\nnear = 50\n\
                    [[season]]\nname = \"one\"\nbegin = \"1970-01-01T00:00:01Z\"\nend = \"1970-01-01T00:00:02Z\"\n\
                    [[season]]\nname = \"two\"\nbegin = \"1970-01-01T00:00:02Z\"";
        let terms = LadderTerms::parse(text).unwrap();
        assert_eq!((terms.move_ms, terms.rating.provisional, terms.pairing.near), (500, 90.0, 50.0));
        assert_eq!((terms.rating.start_deviation, terms.anchors.as_deref()), (350.0, Some(&[0, 2][..])));
        let ends = terms.seasons.iter().map(|s| (s.begin, s.end)).collect::<Vec<_>>();
        assert_eq!(ends, [(1_000, Some(2_000)), (2_000, None)]);
        for (wrong, why) in [
            (text.replace("00:00:02Z\"\n", "00:00:00Z\"\n"), "ends before it begins"),
            (text.replace("\"two\"", "\"one\""), "got one twice"),
            (text.replace("\"two\"", "\"Two!\""), "lower-case letters"),
            (text.replace("near = 50", "near = -1"), "[pairing]"),
            (text.replace("provisional", "provisionl"), "unknown field"),
            (text.replace("near = 50", "anchor_share = 0.001"), "anchor_share"),
            (text.replace("move_ms = 500", "move_ms = 0"), "move_ms"),
            (format!("{text}\n[[season]]\nname = \"three\""), "two has no end"),
        ] {
            let error = format!("{:#}", LadderTerms::parse(&wrong).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(LadderTerms::of("nim").all_seasons()[0].name, "open");
    }
}
