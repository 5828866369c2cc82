//! Conditions on the matches that a figure or a summary covers: `where = { opponent = "@reference" }`.

use std::collections::{BTreeMap, BTreeSet};

use ludex_protocol::error::did_you_mean;

use serde::{Deserialize, Deserializer, Serialize};

use super::Suite;
use crate::rows::{MetricMatch, Rows};

/// Conditions on matches. A match must fulfill each condition that has values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MatchSelection {
    /// Agents, one of which must play: names, or roles of the suite as `@ROLE`.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub opponent: Vec<String>,
    /// Variants, one of which a candidate must play.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub variant: Vec<String>,
    /// Seats, one of which a candidate must have.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub seat: Vec<usize>,
    /// Levels of the opponent on the ladder.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    pub level: Vec<u32>,
}

/// Parses a single value, or a list of values.
fn one_or_more<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a value or a list of values")]
    enum Values<T> {
        One(T),
        More(Vec<T>),
    }
    Ok(match Values::deserialize(from)? {
        Values::One(value) => vec![value],
        Values::More(values) => values,
    })
}

impl MatchSelection {
    /// Returns true if there are no conditions.
    pub fn is_empty(&self) -> bool {
        *self == MatchSelection::default()
    }

    /// Checks that the roles exist.
    pub(super) fn check(&self, suite: &Suite) -> Result<(), String> {
        let unknown = |name: &&str| suite.roles.iter().all(|role| role.name != **name);
        match self.opponent.iter().filter_map(|name| name.strip_prefix('@')).find(unknown) {
            Some(role) => Err(format!("where: unknown role {role:?}")),
            None => Ok(()),
        }
    }

    /// Parses conditions in the form `FIELD=VALUE`. Several values of a field are alternatives.
    ///
    /// # Errors
    /// Returns an error for an unknown field or an invalid value.
    pub fn parse(conditions: &[String]) -> Result<Self, String> {
        let mut fields: BTreeMap<&str, Vec<toml::Value>> = BTreeMap::new();
        for condition in conditions {
            let (name, value) =
                condition.split_once('=').ok_or_else(|| format!("where: expected FIELD=VALUE, got {condition:?}"))?;
            let value = match (name, value.parse::<i64>()) {
                ("seat" | "level", Ok(number)) => toml::Value::Integer(number),
                _ => toml::Value::String(value.to_owned()),
            };
            fields.entry(name).or_default().push(value);
        }
        let fields = fields.into_iter().map(|(name, values)| (name.to_owned(), toml::Value::Array(values)));
        fields.collect::<toml::Table>().try_into().map_err(|e: toml::de::Error| format!("where: {}", e.message()))
    }

    /// Returns the conditions as text: `opponent anchor level=1, seat 0 or 1`; empty without conditions.
    pub fn to_text(&self) -> String {
        let join =
            |name: &str, values: Vec<String>| (!values.is_empty()).then(|| format!("{name} {}", values.join(" or ")));
        let numbers = |values: &[usize]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let parts = [
            join("opponent", self.opponent.clone()),
            join("variant", self.variant.clone()),
            join("seat", numbers(&self.seat)),
            join("level", self.level.iter().map(ToString::to_string).collect()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Checks that each value occurs in the matches.
    ///
    /// # Errors
    /// Returns an error for the first value that no match has, with the allowed values.
    pub fn check_values(&self, rows: &Rows) -> Result<(), String> {
        let (mut agents, mut variants, mut levels, mut seats) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), 0);
        for game in rows.everything() {
            seats = seats.max(game.players.len());
            levels.extend(game.level.map(|level| level.to_string()));
            let names = game.players.iter().map(|&who| rows.agents()[who].name.as_str());
            names.for_each(|name| {
                agents.insert(name.to_owned());
                variants.extend(variant_of(name).map(str::to_owned));
            });
        }
        let seats: BTreeSet<String> = (0..seats).map(|seat| seat.to_string()).collect();
        let check = |name: &str, values: Vec<String>, known: &BTreeSet<String>| {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            match values.iter().find(|value| !known.contains(&value.as_str())) {
                Some(value) => Err(format!("where: unknown {name} {value:?}{}", did_you_mean(value, &known))),
                None => Ok(()),
            }
        };
        check("opponent", self.opponent.clone(), &agents)?;
        check("variant", self.variant.clone(), &variants)?;
        check("seat", self.seat.iter().map(ToString::to_string).collect(), &seats)?;
        check("level", self.level.iter().map(ToString::to_string).collect(), &levels)
    }

    /// Returns the conditions for a suite, with the names of agents in place of roles.
    ///
    /// # Errors
    /// Returns an error for a role that the suite does not have.
    pub fn in_suite(&self, suite: &Suite) -> Result<Self, String> {
        self.check(suite)?;
        Ok(self.with_names(suite))
    }

    /// Returns the conditions with the names of agents in place of roles. A role without agents stays in its condition,
    /// which no match fulfills.
    pub(super) fn with_names(&self, suite: &Suite) -> Self {
        let roles = suite.assigned_roles();
        let names = |text: &String| match text.strip_prefix('@').and_then(|role| roles.get(role)) {
            Some(agents) => agents.iter().map(|agent| agent.name.clone()).collect(),
            None => vec![text.clone()],
        };
        MatchSelection { opponent: self.opponent.iter().flat_map(names).collect(), ..self.clone() }
    }

    /// Returns the rows of the matches that fulfill the conditions.
    pub fn of<'a>(&self, rows: &Rows<'a>) -> Rows<'a> {
        if self.is_empty() {
            return rows.clone();
        }
        let name = |who: usize| rows.agents()[who].name.as_str();
        rows.filtered(|game: &MetricMatch<'a>| {
            let seats = game.players.iter().copied().enumerate();
            let candidates = || seats.clone().filter(|(_, who)| rows.agents()[*who].candidate);
            let opponent = || game.players.iter().any(|&who| self.opponent.iter().any(|known| known == name(who)));
            let variant = || candidates().any(|(_, who)| self.variant.iter().any(|known| is_variant(name(who), known)));
            let seat = || candidates().any(|(seat, _)| self.seat.contains(&seat));
            (self.opponent.is_empty() || opponent())
                && (self.variant.is_empty() || variant())
                && (self.seat.is_empty() || seat())
                && (self.level.is_empty() || game.level.is_some_and(|level| self.level.contains(&level)))
        })
    }
}

/// Returns true if `agent` is the name of a candidate's variant.
fn is_variant(agent: &str, variant: &str) -> bool {
    variant_of(agent).any(|own| own == variant)
}

/// Returns the variants in the name of an agent: `NAME / VARIANT`, `NAME (PART: VARIANT)`, or both.
fn variant_of(agent: &str) -> impl Iterator<Item = &str> {
    let of_part = agent.strip_suffix(')').and_then(|name| name.rsplit_once(": ")).map(|(_, own)| own);
    let of_suite = agent.split_once(" / ").map(|(_, own)| own.split(" (").next().unwrap_or(own));
    of_part.into_iter().chain(of_suite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_without_agents_selects_no_match() {
        let mut suite = Suite::parse(Suite::builtin_text("reference").unwrap(), &ludex_games::builtin()).unwrap();
        let select = MatchSelection { opponent: vec!["@reference".to_owned()], ..MatchSelection::default() };
        let names: Vec<String> = suite.assigned_roles()["reference"].iter().map(|agent| agent.name.clone()).collect();
        assert_eq!(select.with_names(&suite).opponent, names);
        suite.roles.iter_mut().for_each(|role| role.agents.clear());
        assert!(!select.with_names(&suite).is_empty(), "without conditions, all matches are selected");
    }
}
