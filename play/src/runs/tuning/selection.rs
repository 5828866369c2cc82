//! SeatSelection of the seats whose decisions are exported.

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::recording::is_forfeit;
use ludex_protocol::record::Outcome;
use ludex_referee::VerifiedRecord;

use super::{DecisionFilter, TuningSettings};

/// Rule that selects seats of matches.
pub(super) struct SeatSelection<'s> {
    filter: DecisionFilter,
    agent: Option<&'s str>,
    /// Games in which no match has a winner, a loser or a draw.
    unwon: BTreeSet<String>,
    /// Mean return by game and seat, of the matches that the rules of the game ended.
    means: BTreeMap<(String, usize), f64>,
}

impl<'s> SeatSelection<'s> {
    /// Prepares the selection for these matches.
    ///
    /// # Errors
    /// Returns an error for an agent that played none of the matches.
    pub(super) fn new(games: &[VerifiedRecord], settings: &'s TuningSettings) -> anyhow::Result<SeatSelection<'s>> {
        let agent = settings.agent.as_deref();
        let names: BTreeSet<&str> = games.iter().flat_map(names).collect();
        if let Some(agent) = agent.filter(|agent| !names.iter().any(|name| is_agent(name, agent))) {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            anyhow::bail!("--agent: expected an agent of the exported matches, got {agent:?}; allowed: {names}");
        }
        let (mut won, mut all) = (BTreeSet::new(), BTreeSet::new());
        let mut returns: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
        for game in games.iter().filter(|game| was_played_out(game)) {
            let footer = &game.record().footer;
            let name = &game.spec().string;
            all.insert(name.clone());
            if footer.outcome.iter().any(|outcome| *outcome != Outcome::None) {
                won.insert(name.clone());
            }
            for (seat, points) in footer.returns.iter().enumerate() {
                returns.entry((name.clone(), seat)).or_default().push(*points);
            }
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let means = returns.into_iter().map(|(key, all)| (key, mean(&all))).collect();
        let unwon = all.difference(&won).cloned().collect();
        Ok(SeatSelection { filter: settings.decisions, agent, unwon, means })
    }

    /// Returns the selected seats of a match.
    pub(super) fn seats<'a>(&'a self, game: &'a VerifiedRecord) -> impl Iterator<Item = usize> + 'a {
        let agents = names(game).enumerate().filter(|(_, name)| self.agent.is_none_or(|agent| is_agent(name, agent)));
        agents.map(|(seat, _)| seat).filter(|&seat| self.selects(game, seat))
    }

    fn selects(&self, game: &VerifiedRecord, seat: usize) -> bool {
        let (footer, name) = (&game.record().footer, &game.spec().string);
        let is_above = || {
            let mean = self.means.get(&(name.clone(), seat));
            footer.returns.get(seat).zip(mean).is_some_and(|(points, mean)| points > mean)
        };
        match self.filter {
            DecisionFilter::All => game.reason().counts(),
            _ if !was_played_out(game) => false,
            DecisionFilter::Winners if !self.unwon.contains(name) => footer.outcome.get(seat) == Some(&Outcome::Win),
            DecisionFilter::Winners | DecisionFilter::AboveMean => is_above(),
        }
    }
}

/// Returns true if the moves decided the match. The result of a match that a seat forfeits does not show that the other
/// seats moved well.
fn was_played_out(game: &VerifiedRecord) -> bool {
    game.reason().counts() && !is_forfeit(game.reason())
}

fn names(game: &VerifiedRecord) -> impl Iterator<Item = &str> {
    game.record().header.seats.iter().map(|seat| seat.name.as_str())
}

/// Returns true if `agent` is the name of an agent, with or without its variant.
fn is_agent(name: &str, agent: &str) -> bool {
    name == agent || name.split(" / ").next() == Some(agent)
}
