//! Seasons of ladders and suites, with start and end times set by the operator.

use anyhow::Context as _;
use jiff::Timestamp;
use ludex_referee::suite::is_word;
use serde::{Deserialize, Deserializer, Serialize};

/// Season of a ladder or a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Season {
    /// Name of the season.
    pub name: String,
    /// Start time in milliseconds since the Unix epoch. A settings file may also use a text such as
    /// `2026-11-01T00:00:00Z`.
    #[serde(default, deserialize_with = "moment")]
    pub begin: i64,
    /// End time in milliseconds since the Unix epoch. `None`: the season ends when the server restarts with a different
    /// season.
    #[serde(default, deserialize_with = "some_moment")]
    pub end: Option<i64>,
}

/// Seasons of a suite. Runs that start in the same season share seeds, and each agent enrolls once per season.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSeasons {
    /// Name of the suite.
    pub suite: String,
    /// Seasons in chronological order.
    #[serde(rename = "season")]
    pub seasons: Vec<Season>,
}

impl Season {
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.end.is_some_and(|end| end <= now_ms)
    }
}

impl SuiteSeasons {
    /// Parses seasons from TOML.
    ///
    /// # Errors
    ///
    /// Invalid or contradictory settings.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let seasons: Self = toml::from_str(text)?;
        anyhow::ensure!(!seasons.seasons.is_empty(), "suite {}: expected at least one [[season]]", seasons.suite);
        in_order(&seasons.seasons)?;
        Ok(seasons)
    }
}

/// Checks the names and the order of seasons.
///
/// # Errors
///
/// Seasons that share a name, overlap, or end before they start.
pub(crate) fn in_order(seasons: &[Season]) -> anyhow::Result<()> {
    for (k, season) in seasons.iter().enumerate() {
        let name = &season.name;
        anyhow::ensure!(is_word(name), "expected a season name of lower-case letters, digits, _ and -, got {name:?}");
        anyhow::ensure!(season.end.is_none_or(|end| end > season.begin), "season {name} ends before it begins");
        let Some(before) = k.checked_sub(1).map(|k| &seasons[k]) else { continue };
        let end = before.end.with_context(|| format!("season {} has no end but is not the last", before.name))?;
        anyhow::ensure!(end <= season.begin, "season {name} begins before {} ends", before.name);
        anyhow::ensure!(
            seasons[..k].iter().all(|other| other.name != *name),
            "expected unique season names, got {name} twice"
        );
    }
    Ok(())
}

/// Time as RFC 3339 text, or in milliseconds since the Unix epoch.
#[derive(Deserialize)]
#[serde(untagged)]
enum Moment {
    Ms(i64),
    Text(String),
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match Moment::deserialize(deserializer)? {
        Moment::Ms(ms) => Ok(ms),
        Moment::Text(text) => {
            let moment: Timestamp = text.parse().map_err(serde::de::Error::custom)?;
            Ok(moment.as_millisecond())
        }
    }
}

fn some_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let given = Option::<Moment>::deserialize(deserializer)?;
    let ms = |given| match given {
        Moment::Ms(ms) => Ok(ms),
        Moment::Text(text) => text.parse::<Timestamp>().map(|t| t.as_millisecond()).map_err(serde::de::Error::custom),
    };
    given.map(ms).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictory_seasons_are_rejected() {
        let text = "suite = \"quick\"\n[[season]]\nname = \"one\"\nend = \"1970-01-01T00:00:02Z\"\n\
                    [[season]]\nname = \"two\"\nbegin = 3000";
        let read = SuiteSeasons::parse(text).unwrap();
        let open = |now| {
            read.seasons
                .iter()
                .filter(|s| s.begin <= now && !s.is_over(now))
                .map(|s| s.name.as_str())
                .collect::<String>()
        };
        assert_eq!([0, 1_999, 2_000, 2_999, 3_000].map(open), ["one", "one", "", "", "two"]);
        for (wrong, why) in [
            ("suite = \"quick\"".to_owned(), "missing field"),
            ("suite = \"quick\"\nseason = []".to_owned(), "at least one [[season]]"),
            (text.replace("3000", "1999"), "begins before one ends"),
            (text.replace("\"two\"", "\"one\""), "got one twice"),
            (text.replace("suite", "suit"), "unknown field"),
        ] {
            let error = format!("{:#}", SuiteSeasons::parse(&wrong).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
    }
}
