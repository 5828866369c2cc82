//! Shards: shares of a plan for several machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Share of a plan: `2/8` is the second of eight shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// Returns the number of the shard, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Returns the number of shards.
    pub fn of(self) -> u64 {
        self.of
    }

    /// Returns true if the shard contains this piece of the plan.
    pub(super) fn has(self, piece: u64) -> bool {
        piece % self.of == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err(format!("expected a shard, got {text:?}; 1/8 is the first of eight shards and 8/8 the last")),
        }
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_round_trip_through_text() {
        for text in ["1/1", "1/8", "8/8"] {
            let shard: Shard = text.parse().unwrap();
            assert_eq!(shard.to_string(), text);
            assert_eq!(serde_json::from_value::<Shard>(serde_json::to_value(shard).unwrap()).unwrap(), shard);
        }
        for bad in ["0/8", "9/8", "2/x", "2", "", "/", "1/0", "-1/8", "2/8/8", " 2/8"] {
            assert!(bad.parse::<Shard>().unwrap_err().contains("1/8 is the first of eight"), "{bad}");
            assert!(serde_json::from_value::<Shard>(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_piece_belongs_to_one_shard() {
        let shards: Vec<Shard> = (1..=3).map(|number| Shard { number, of: 3 }).collect();
        for piece in 0..12 {
            assert_eq!(shards.iter().filter(|shard| shard.has(piece)).count(), 1);
        }
        assert!(shards[1].has(1) && shards[1].has(4));
    }
}
