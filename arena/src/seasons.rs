//! Seasons of ladders and suites, with start and end times set by the operator. Both kinds open, close and freeze by
//! [`step`].

use std::num::NonZeroUsize;

use anyhow::Context as _;
use jiff::{Span, SpanRelativeTo, Timestamp};
use ludex_referee::suite::is_word;
use ludex_store::SeasonRow;
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
    /// Period in milliseconds after which the season repeats, under its name and the date of its start. A settings file
    /// uses a text such as `1 week`. Only the last season may repeat.
    #[serde(default, deserialize_with = "period", skip_serializing_if = "Option::is_none")]
    pub every: Option<i64>,
}

impl Season {
    /// Returns the repetition that is in progress at `now_ms`, or else the next one, and the repetition after it.
    fn repetitions(&self, every: i64, now_ms: i64) -> [Season; 2] {
        let length = self.end.map_or(every, |end| end - self.begin);
        let over = (now_ms - self.begin - length).div_euclid(every) + 1;
        let repetition = |k: i64| {
            let begin = self.begin.saturating_add(k.saturating_mul(every));
            let date = Timestamp::from_millisecond(begin)
                .map_or_else(|_| k.to_string(), |t| t.strftime("%Y-%m-%d").to_string());
            Season {
                name: format!("{}-{date}", self.name),
                begin,
                end: Some(begin.saturating_add(length)),
                every: None,
            }
        };
        [over.max(0), over.max(0) + 1].map(repetition)
    }
}

/// Returns the seasons of the settings, with a repeating season replaced by its current and its next repetition.
pub fn calendar(settings: &[Season], now_ms: i64) -> Vec<Season> {
    let spread = |season: &Season| match season.every {
        Some(every) => season.repetitions(every, now_ms).to_vec(),
        None => vec![season.clone()],
    };
    settings.iter().flat_map(spread).collect()
}

/// Adds the repetitions that have become current or next to the list of seasons that are not frozen.
pub fn add_repetitions(seasons: &mut Vec<Season>, settings: &[Season], now_ms: i64) {
    for season in settings.iter().filter_map(|season| Some(season.repetitions(season.every?, now_ms))).flatten() {
        if seasons.iter().all(|known| known.name != season.name) {
            seasons.push(season);
        }
    }
}

/// Seasons of a suite. Runs that start in the same season share seeds, and each agent enrolls once per season.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSeasons {
    /// Name of the suite.
    pub suite: String,
    /// Maximum number of agents of one owner in a season, whose deals are the same for all.
    #[serde(default = "one")]
    pub entries: NonZeroUsize,
    /// Seasons in chronological order.
    #[serde(rename = "season")]
    pub seasons: Vec<Season>,
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

/// Pending step of a season that is not frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeasonStep {
    /// Matches and runs of the season may start.
    Open,
    /// No others start, and those in progress end.
    Close,
    /// The results become final, and hidden data public.
    Freeze,
}

/// Returns the step that is pending at `now_ms` for a season that is not frozen; `None` before the season begins. The
/// season is `busy` while one of its matches or runs is in progress.
pub fn step(season: &Season, now_ms: i64, busy: bool) -> Option<SeasonStep> {
    let is_over = season.end.is_some_and(|end| end <= now_ms);
    match (season.begin <= now_ms, is_over) {
        (false, _) => None,
        (true, false) => Some(SeasonStep::Open),
        (true, true) if busy => Some(SeasonStep::Close),
        (true, true) => Some(SeasonStep::Freeze),
    }
}

/// Returns the seasons of a contest that are not frozen, those in `settings` in their order. A season that has begun
/// and is missing in the settings ends at once.
///
/// # Errors
///
/// A row that cannot be read.
pub fn unfrozen(settings: &[Season], rows: &[SeasonRow]) -> serde_json::Result<Vec<Season>> {
    #[derive(Deserialize)]
    struct Body {
        season: Season,
    }
    let mut seasons = Vec::new();
    for row in rows.iter().filter(|row| row.frozen_ms.is_none() && settings.iter().all(|s| s.name != row.name)) {
        let Body { season } = serde_json::from_str(&row.body)?;
        seasons.push(Season { end: Some(season.begin), ..season });
    }
    let is_frozen = |season: &Season| rows.iter().any(|row| row.name == season.name && row.frozen_ms.is_some());
    seasons.extend(settings.iter().filter(|season| !is_frozen(season)).cloned());
    Ok(seasons)
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
pub fn in_order(seasons: &[Season]) -> anyhow::Result<()> {
    for (k, season) in seasons.iter().enumerate() {
        let name = &season.name;
        anyhow::ensure!(is_word(name), "expected a season name of lower-case letters, digits, _ and -, got {name:?}");
        anyhow::ensure!(season.end.is_none_or(|end| end > season.begin), "season {name} ends before it begins");
        if let Some(every) = season.every {
            let fits = season.end.is_none_or(|end| end - season.begin <= every);
            anyhow::ensure!(every >= DAY_MS, "season {name}: expected every = \"1 day\" or longer");
            anyhow::ensure!(fits, "season {name} is longer than the period after which it repeats");
            anyhow::ensure!(k + 1 == seasons.len(), "season {name} repeats but is not the last");
        }
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

/// Length of a day in milliseconds. Repetitions are named by their dates, so a period is at least a day.
const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// Parses a period such as `1 week` or `3 days`, in days of 24 hours.
fn period<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Period {
        Ms(i64),
        Text(String),
    }
    Ok(Some(match Period::deserialize(deserializer)? {
        Period::Ms(ms) => ms,
        Period::Text(text) => {
            let span: Span = text.parse().map_err(serde::de::Error::custom)?;
            let days = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(serde::de::Error::custom)?;
            i64::try_from(days.as_millis()).map_err(serde::de::Error::custom)?
        }
    }))
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

    fn season(name: &str, begin: i64, end: Option<i64>) -> Season {
        Season { name: name.to_owned(), begin, end, every: None }
    }

    #[test]
    fn season_opens_closes_and_freezes_in_order() {
        let [one, two] = [season("one", 1_000, Some(2_000)), season("two", 3_000, None)];
        let (open, close, freeze) = (Some(SeasonStep::Open), Some(SeasonStep::Close), Some(SeasonStep::Freeze));
        for (now, busy, of_one, of_two) in [
            (999, false, None, None),
            (1_000, true, open, None),
            (1_999, false, open, None),
            (2_000, true, close, None),
            (2_000, false, freeze, None),
            (3_000, true, close, open),
            (i64::MAX, false, freeze, open),
        ] {
            assert_eq!((step(&one, now, busy), step(&two, now, busy)), (of_one, of_two), "{now} {busy}");
        }
    }

    #[test]
    fn season_repeats_under_the_date_of_its_start() {
        let text =
            "suite = \"quick\"\n[[season]]\nname = \"weekly\"\nbegin = \"2026-11-02T00:00:00Z\"\nevery = \"1 week\"";
        let settings = SuiteSeasons::parse(text).unwrap().seasons;
        let at = |day: &str| format!("2026-{day}T12:00:00Z").parse::<Timestamp>().unwrap().as_millisecond();
        let names = |seasons: &[Season]| seasons.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
        for (now, current, next) in [
            ("10-01", "weekly-2026-11-02", "weekly-2026-11-09"),
            ("11-02", "weekly-2026-11-02", "weekly-2026-11-09"),
            ("11-08", "weekly-2026-11-02", "weekly-2026-11-09"),
            ("11-26", "weekly-2026-11-23", "weekly-2026-11-30"),
        ] {
            assert_eq!(names(&calendar(&settings, at(now))), [current, next], "{now}");
        }
        let mut seasons = calendar(&settings, at("11-02"));
        assert_eq!(seasons[0].end, Some(seasons[1].begin));
        add_repetitions(&mut seasons, &settings, at("11-08"));
        add_repetitions(&mut seasons, &settings, at("11-09"));
        assert_eq!(names(&seasons), ["weekly-2026-11-02", "weekly-2026-11-09", "weekly-2026-11-16"]);
        for (wrong, why) in [
            (text.replace("1 week", "1 month"), "month"),
            (text.replace("1 week", "1 hour"), "1 day"),
            (format!("{text}\nend = \"2026-11-10T00:00:00Z\""), "longer than the period"),
            (format!("{text}\n[[season]]\nname = \"two\"\nbegin = 1"), "not the last"),
        ] {
            let error = format!("{:#}", SuiteSeasons::parse(&wrong).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn removed_season_ends_at_once_and_frozen_season_stays_frozen() {
        let row = |name: &str, frozen_ms| SeasonRow {
            contest: "suite:quick".to_owned(),
            name: name.to_owned(),
            frozen_ms,
            body: serde_json::json!({ "season": season(name, 5, None), "more": 1 }).to_string(),
        };
        let settings = [season("two", 0, Some(9)), season("three", 9, Some(20)), season("four", 20, None)];
        let rows = [row("one", None), row("three", None), row("two", Some(9)), row("zero", Some(5))];
        let [_, three, four] = settings.clone();
        assert_eq!(unfrozen(&settings, &rows).unwrap(), [season("one", 5, Some(5)), three, four]);
        assert_eq!(unfrozen(&settings, &[]).unwrap(), settings);
        assert!(unfrozen(&[], &[SeasonRow { body: "{}".to_owned(), ..row("one", None) }]).is_err());
    }

    #[test]
    fn contradictory_seasons_are_rejected() {
        let text = "suite = \"quick\"\n[[season]]\nname = \"one\"\nend = \"1970-01-01T00:00:02Z\"\n\
                    [[season]]\nname = \"two\"\nbegin = 3000";
        let read = SuiteSeasons::parse(text).unwrap();
        assert_eq!(
            read.seasons.iter().map(|s| (s.begin, s.end)).collect::<Vec<_>>(),
            [(0, Some(2_000)), (3_000, None)]
        );
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
