//! Names of episodes: `RUN.PART.PAIRING.INDEX.TURN`, with `.re` at the end if the match was played again.

use ludex_protocol::record::RecordParts;
use ludex_referee::suite::plan::MatchKey;
use serde_json::Value;

/// The mark of an episode that was played again.
pub const AGAIN: &str = ".re";

/// Where a match belongs in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlace {
    /// Part, pairing, seed and seating.
    pub place: MatchKey,
    /// Whether it was played because the first try failed.
    pub rematch: bool,
}

impl MatchPlace {
    /// The place of an episode of `run`; `None` if the name is not that of a match of the run.
    pub fn parse(run: &str, episode: &str) -> Option<MatchPlace> {
        let (key, rematch) = key_of(run, episode)?;
        Some(MatchPlace { place: MatchKey::parse(key)?, rematch })
    }

    /// Who met, as indices of the run's agents, joined by `-`.
    pub fn pairing(&self) -> String {
        self.place.pairing.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
    }
}

/// The episode of a match of `run`, by the match's [key](ludex_referee::suite::plan::key).
pub(crate) fn name_of(run: &str, key: &str, rematch: bool) -> String {
    format!("{run}.{key}{}", if rematch { AGAIN } else { "" })
}

/// The key of the match that an episode's name holds, and whether it was played again.
pub fn key_of<'e>(run: &str, episode: &'e str) -> Option<(&'e str, bool)> {
    let key = episode.strip_prefix(run)?.strip_prefix('.')?;
    Some(match key.strip_suffix(AGAIN) {
        Some(key) => (key, true),
        None => (key, false),
    })
}

/// The name of a record's episode; empty if it has none.
pub fn episode_of(parts: &RecordParts) -> &str {
    parts.header.get("episode").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
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
