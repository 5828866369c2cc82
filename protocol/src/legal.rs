//! Legal actions, as ids or as ranges.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Legal actions, in the form declared by `legal` in the game's spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Legal {
    /// Action ids in ascending order.
    Ids(Vec<u32>),
    /// Inclusive ranges `[lo, hi]` of action ids in ascending order.
    Ranges(Vec<[u32; 2]>),
}

impl Default for Legal {
    fn default() -> Self {
        Legal::Ids(Vec::new())
    }
}

impl Legal {
    /// Returns true if the actions include `id`.
    pub fn contains(&self, id: u32) -> bool {
        match self {
            Legal::Ids(ids) => ids.binary_search(&id).is_ok(),
            Legal::Ranges(ranges) => {
                let after = ranges.partition_point(|&[lo, _]| lo <= id);
                after > 0 && id <= ranges[after - 1][1]
            }
        }
    }

    /// Iterates over all ids in ascending order. Ranges are expanded lazily.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Legal::Ids(ids) => Box::new(ids.iter().copied()),
            Legal::Ranges(ranges) => Box::new(ranges.iter().flat_map(|&[lo, hi]| lo..=hi)),
        }
    }
}

impl<'de> Deserialize<'de> for Legal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(LegalVisitor)
    }
}

/// Deserializes ids or ranges; the first entry determines the form.
struct LegalVisitor;

impl<'de> Visitor<'de> for LegalVisitor {
    type Value = Legal;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of ids, or of ranges [lo, hi]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Legal, A::Error> {
        // A message may announce any length; reserve only a typical capacity.
        let room = list.size_hint().unwrap_or(0).min(1 << 10);
        match list.next_element()? {
            None => Ok(Legal::default()),
            Some(Entry::Id(first)) => rest(list, first, room).map(Legal::Ids),
            Some(Entry::Range(first)) => rest(list, first, room).map(Legal::Ranges),
        }
    }
}

fn rest<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut list: A, first: T, room: usize) -> Result<Vec<T>, A::Error> {
    let mut all = Vec::with_capacity(room + 1);
    all.push(first);
    while let Some(next) = list.next_element()? {
        all.push(next);
    }
    Ok(all)
}

enum Entry {
    Id(u32),
    Range([u32; 2]),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an id or a range [lo, hi]")
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Entry, E> {
        u32::try_from(id).map(Entry::Id).map_err(|_| E::custom(format_args!("expected an action id, got {id}")))
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<Entry, E> {
        u32::try_from(id).map(Entry::Id).map_err(|_| E::custom(format_args!("expected an action id, got {id}")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, range: A) -> Result<Entry, A::Error> {
        <[u32; 2]>::deserialize(SeqAccessDeserializer::new(range)).map(Entry::Range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_actions_deserialize_from_ids_or_ranges() {
        let ids: Legal = serde_json::from_str("[0,4,9]").unwrap();
        let ranges: Legal = serde_json::from_str("[[0,4],[9,9]]").unwrap();
        assert_eq!(ids, Legal::Ids(vec![0, 4, 9]));
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 9]);
        for id in 0..12 {
            assert_eq!(ids.contains(id), [0, 4, 9].contains(&id));
            assert_eq!(ranges.contains(id), id <= 4 || id == 9);
        }
        assert!(serde_json::from_str::<Legal>("[[1,2,3]]").is_err());
        assert_eq!(serde_json::to_string(&ranges).unwrap(), "[[0,4],[9,9]]");
    }
}
