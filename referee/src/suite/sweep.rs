//! Game parameters that vary inside a block: each value adds one match per seating, on the seed of the block.

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::{GameRef, Games};
use ludex_protocol::spec::Params;
use serde_json::Value;

use super::{PartSpec, Schedule};

/// Values of parameters, by name.
pub type Sweep = BTreeMap<String, Vec<Value>>;

impl PartSpec {
    /// Returns the games of a block: the part's game, or one for each combination of the swept values. Values of the
    /// alphabetically last parameter vary fastest.
    ///
    /// # Errors
    /// Same as [`Games::load_with`]. Also returns an error if a parameter has no values, or if two combinations give
    /// the same game.
    pub fn games(&self, games: &Games) -> Result<Vec<GameRef>, String> {
        let load = |params: &Params| games.load_with(&self.game, params).map_err(|e| format!("sweep: {e}"));
        let swept = points(&self.sweep).iter().map(load).collect::<Result<Vec<GameRef>, String>>()?;
        let strings: BTreeSet<&str> = swept.iter().map(|game| game.spec().string.as_str()).collect();
        if swept.is_empty() || strings.len() < swept.len() {
            return Err("sweep: parameters need at least one value, and combinations need different games".into());
        }
        Ok(swept)
    }

    /// Checks the sweep against the schedule and the number of seats of the part's own game.
    pub(super) fn check_sweep(&self, games: &Games, seats: usize) -> Result<(), String> {
        if self.sweep.is_empty() {
            return Ok(());
        }
        if matches!(self.schedule, Schedule::Climb | Schedule::Bisect) {
            return Err("sweep is not for a ladder, which belongs to a single game".into());
        }
        if self.schedule == Schedule::Converge || self.starts.is_some() {
            return Err("sweep is not for schedule = \"converge\" or for parts with starts".into());
        }
        let other = self.games(games)?.into_iter().find(|game| game.spec().players as usize != seats);
        other.map_or(Ok(()), |game| Err(format!("sweep: expected games of {seats} seats, got {}", game.spec().string)))
    }
}

/// Returns all combinations of the values.
fn points(sweep: &Sweep) -> Vec<Params> {
    sweep.iter().fold(vec![Params::new()], |all, (name, values)| {
        let with = |params: &Params, value: &Value| {
            let mut params = params.clone();
            params.insert(name.clone(), value.clone());
            params
        };
        all.iter().flat_map(|params| values.iter().map(move |value| with(params, value))).collect()
    })
}
