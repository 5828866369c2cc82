//! Parts whose candidates meet in random pairs until their ratings have settled.
//!
//! Who meets in match n is a function of the suite's seed, the part and n. When it ends is a function of the results of the
//! first n matches, in the order of the plan. So a run that is continued, or that plays several matches at a time, plays the same.

use ludex_env::Stream;
use serde::{Deserialize, Serialize};

use crate::rating::PlayedGame;
use crate::rating::trueskill::Skills;

/// Largest `most`.
const MOST: u64 = 10_000;

/// When the ratings of a part have settled: for each candidate all of this holds, or nobody may play more.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The rating that must settle.
    pub metric: ConvergenceRating,
    /// It has played at least this many matches that count.
    pub games: u64,
    /// The standard deviation of its rating is below this.
    pub sigma: f64,
    /// Each of its last [`over`](Stop::over) matches changed the mean of its rating by less than this.
    pub change: f64,
    /// See [`change`](Stop::change).
    pub over: u64,
    /// A candidate plays at most this many matches.
    pub most: u64,
}

/// A rating that can settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceRating {
    /// [TrueSkill](crate::rating::trueskill).
    Trueskill,
}

impl Stop {
    pub(super) fn check(&self) -> Result<(), String> {
        let Stop { games, sigma, change, over, most, .. } = self;
        if !(1..=MOST).contains(most) || !(1..=*most).contains(games) || over > games {
            return Err(format!("stop: over is at most games, games at most most, and most from 1 to {MOST}"));
        }
        if !(sigma.is_finite() && *sigma > 0.0 && change.is_finite() && *change > 0.0) {
            return Err("stop: sigma and change are above 0".into());
        }
        Ok(())
    }

    /// The same for fewer matches, or for more.
    fn scaled(&self, scale: f64) -> Stop {
        let scaled = |n: u64| ((n as f64 * scale).round() as u64).max(1);
        let games = scaled(self.games);
        Stop { games, most: scaled(self.most).min(MOST), over: self.over.min(games), ..self.clone() }
    }
}

/// The matches of such a part.
#[derive(Clone, Debug)]
pub(super) struct Converge {
    stop: Stop,
    /// All matches that may be needed, by number.
    draws: Vec<RandomMatch>,
    /// How many candidates there are, by the numbers in `draws`.
    players: usize,
}

/// A match.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomMatch {
    /// The pairing, by its number.
    pub(super) pairing: usize,
    /// The place in the tables.
    pub(super) turn: usize,
    /// Who meets, by their numbers among the candidates.
    who: [usize; 2],
}

impl Converge {
    /// The matches among candidates, who meet in these pairings; `named` is the suite with its seed and the part.
    pub(super) fn new(stop: &Stop, scale: f64, pairings: &[Vec<usize>], turns: usize, named: &str) -> Converge {
        let stop = stop.scaled(scale);
        let mut all: Vec<usize> = pairings.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let number = |who: usize| all.binary_search(&who).unwrap_or_default();
        let pairs: Vec<[usize; 2]> = pairings.iter().map(|pair| [number(pair[0]), number(pair[1])]).collect();
        let mut played = vec![0; all.len()];
        let mut draws = Vec::new();
        loop {
            let open: Vec<usize> =
                (0..pairs.len()).filter(|&k| pairs[k].iter().all(|&who| played[who] < stop.most)).collect();
            if open.is_empty() {
                break Converge { stop, draws, players: all.len() };
            }
            let mut stream = Stream::from_text(&format!("ludex.v1:converge:{named}:{}", draws.len()));
            let pairing = open[stream.below(open.len())];
            let who = pairs[pairing];
            who.iter().for_each(|&who| played[who] += 1);
            draws.push(RandomMatch { pairing, turn: stream.below(turns), who });
        }
    }

    /// All matches that may be needed.
    pub(super) fn draws(&self) -> &[RandomMatch] {
        &self.draws
    }

    /// The matches that are needed in any case and that follow those which are done without a gap; empty when the ratings have
    /// settled. `done` gives what the first side got in a match that is done, if the match counts.
    pub(super) fn certain(&self, done: impl Fn(usize, &RandomMatch) -> Option<Option<f64>>) -> std::ops::Range<usize> {
        let mut standing = Standing::new(self.players);
        let mut next = 0;
        while let Some(draw) = self.draws.get(next) {
            let need = standing.need(&self.stop);
            if need.iter().all(|&more| more == 0) {
                return next..next;
            }
            let Some(points) = done(next, draw) else {
                return next..self.until(next, need);
            };
            standing.take(draw.who, points, &self.stop);
            next += 1;
        }
        next..next
    }

    /// The first match after those from `next` on which give each candidate the matches that it needs.
    fn until(&self, next: usize, mut need: Vec<u64>) -> usize {
        let mut end = next;
        while let Some(draw) = self.draws.get(end).filter(|_| need.iter().any(|&more| more > 0)) {
            draw.who.iter().for_each(|&who| need[who] = need[who].saturating_sub(1));
            end += 1;
        }
        end
    }
}

/// The ratings after some matches.
struct Standing {
    skills: Skills,
    games: Vec<u64>,
    /// Of each candidate: its matches since one changed its rating much.
    calm: Vec<u64>,
}

impl Standing {
    fn new(players: usize) -> Self {
        Standing { skills: Skills::new(players), games: vec![0; players], calm: vec![0; players] }
    }

    fn take(&mut self, [a, b]: [usize; 2], points: Option<f64>, stop: &Stop) {
        // What does not count changes nothing.
        let Some(points) = points else { return };
        let before = [a, b].map(|who| self.skills.of(who).mu);
        self.skills.play(&PlayedGame::two(a, b, points));
        for (who, before) in [a, b].into_iter().zip(before) {
            let calm = (self.skills.of(who).mu - before).abs() < stop.change;
            self.calm[who] = if calm { self.calm[who] + 1 } else { 0 };
            self.games[who] += 1;
        }
    }

    /// How many more matches each candidate needs at least; 0 for all when the ratings have settled.
    fn need(&self, stop: &Stop) -> Vec<u64> {
        let need = |who: usize| {
            let games = stop.games.saturating_sub(self.games[who]);
            let calm = stop.over.saturating_sub(self.calm[who]);
            games.max(calm).max(u64::from(self.skills.of(who).sigma >= stop.sigma))
        };
        (0..self.games.len()).map(need).collect()
    }
}

#[cfg(test)]
mod tests;
