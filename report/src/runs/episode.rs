//! Names of episodes: `RUN.PART.PAIRING.INDEX.TURN`, with the suffix `.re` for a repeated match.

use ludex_protocol::record::RecordParts;
use ludex_referee::suite::plan::MatchKey;
use serde_json::Value;

/// Suffix for the episode of a repeated match.
pub const AGAIN: &str = ".re";

/// Position of a match in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlace {
    /// Part, pairing, seed and seating.
    pub place: MatchKey,
    /// True if the match repeats a match that failed.
    pub rematch: bool,
}

impl MatchPlace {
    /// Parses an episode name; `None` unless the name has the form of a match name of `run`.
    pub fn parse(run: &str, episode: &str) -> Option<MatchPlace> {
        let (key, rematch) = key_of(run, episode)?;
        Some(MatchPlace { place: MatchKey::parse(key)?, rematch })
    }

    /// Returns the indices of the paired agents in the run, joined by `-`.
    pub fn pairing(&self) -> String {
        self.place.pairing.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
    }
}

/// Returns the episode name of a match of `run`, by its [key](ludex_referee::suite::plan::key).
pub fn name_of(run: &str, key: &str, rematch: bool) -> String {
    format!("{run}.{key}{}", if rematch { AGAIN } else { "" })
}

/// Returns the match key in the name of an episode, and true if the episode repeats a failed match.
pub fn key_of<'e>(run: &str, episode: &'e str) -> Option<(&'e str, bool)> {
    let key = episode.strip_prefix(run)?.strip_prefix('.')?;
    Some(match key.strip_suffix(AGAIN) {
        Some(key) => (key, true),
        None => (key, false),
    })
}

/// Returns the name of a record's episode; empty for a record without a name.
pub fn episode_of(parts: &RecordParts) -> &str {
    parts.header.get("episode").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_place_parses_from_episode_name() {
        let name = name_of("my-run", "chess.0-12.3.1", true);
        assert_eq!(name, "my-run.chess.0-12.3.1.re");
        let found = MatchPlace::parse("my-run", &name).unwrap();
        let MatchKey { part, pairing, index, turn } = &found.place;
        assert_eq!((part.as_str(), pairing.as_slice(), *index, *turn), ("chess", &[0, 12][..], 3, 1));
        assert_eq!((found.pairing().as_str(), found.rematch), ("0-12", true));
        assert!(!MatchPlace::parse("r", "r.p.0-1.0.0").unwrap().rematch);
        for other in ["r.p.0-1.0", "x.p.0-1.0.0", "r.p.0-x.0.0", "r..0-1.0.0", "r", "l_0123_1"] {
            assert_eq!(MatchPlace::parse("r", other), None, "{other}");
        }
    }
}
