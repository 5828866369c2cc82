//! Parts whose candidates meet in random pairs until their ratings converge.
//!
//! The pairing of match n depends only on the suite's seed, the part and n. The end depends only on the results of the
//! preceding matches, in the order of the plan. Resumed runs and runs with parallel matches therefore play the same
//! matches as an uninterrupted sequential run.

use ludex_env::Stream;
use serde::{Deserialize, Serialize};

use crate::rating::PlayedGame;
use crate::rating::trueskill::Skills;

/// Largest value of [`Stop::most`].
const MOST: u64 = 10_000;

/// Convergence criterion. A part ends when all conditions hold for each candidate, or when no pair of candidates may
/// play further matches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Rating that must converge.
    pub metric: ConvergenceRating,
    /// Minimum number of counted matches per candidate.
    pub games: u64,
    /// Exclusive upper bound for the standard deviation of the rating.
    pub sigma: f64,
    /// Exclusive upper bound for the change of the rating's mean. The bound applies to each of the last
    /// [`over`](Stop::over) matches.
    pub change: f64,
    /// Number of last matches to which [`change`](Stop::change) applies.
    pub over: u64,
    /// Maximum number of matches per candidate.
    pub most: u64,
}

/// Ratings with a convergence test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceRating {
    /// Skill in the [TrueSkill](crate::rating::trueskill) model.
    Trueskill,
}

impl Stop {
    pub(super) fn check(&self) -> Result<(), String> {
        let Stop { games, sigma, change, over, most, .. } = self;
        if !(1..=MOST).contains(most) || !(1..=*most).contains(games) || over > games {
            return Err(format!(
                "stop: expected over <= games <= most, and games and most from 1 to {MOST}, \
                 got over = {over}, games = {games}, most = {most}"
            ));
        }
        if !(sigma.is_finite() && *sigma > 0.0 && change.is_finite() && *change > 0.0) {
            return Err(format!("stop: expected sigma and change above 0, got {sigma} and {change}"));
        }
        Ok(())
    }

    /// Returns the criterion with its numbers of matches multiplied by `scale`.
    fn scaled(&self, scale: f64) -> Stop {
        let scaled = |n: u64| ((n as f64 * scale).round() as u64).max(1);
        let games = scaled(self.games);
        Stop { games, most: scaled(self.most).min(MOST), over: self.over.min(games), ..self.clone() }
    }
}

/// Matches of a part with random pairs.
#[derive(Clone, Debug)]
pub(super) struct Converge {
    stop: Stop,
    /// All potential matches, by number.
    draws: Vec<RandomMatch>,
    players: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RandomMatch {
    /// Index of the pairing in the part.
    pub(super) pairing: usize,
    /// Index of the seating in the part's seatings.
    pub(super) turn: usize,
    /// Candidate index of each side.
    who: [usize; 2],
}

impl Converge {
    /// Draws the matches between the candidates of `pairings`. `named` identifies the suite, its seed and the
    /// part, and seeds the draw.
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

    /// Returns all potential matches.
    pub(super) fn draws(&self) -> &[RandomMatch] {
        &self.draws
    }

    /// Returns the range of due matches. The range starts at the first match that is not completed, and contains the
    /// matches that must be played whatever their results are. The range is empty after convergence. `done` returns
    /// `None` for a match that is not completed, `Some(None)` for a match that does not count, and otherwise the first
    /// side's points.
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

    /// Returns the end of the shortest range of matches that starts at `next` and gives each candidate the number of
    /// matches in `need`.
    fn until(&self, next: usize, mut need: Vec<u64>) -> usize {
        let mut end = next;
        while let Some(draw) = self.draws.get(end).filter(|_| need.iter().any(|&more| more > 0)) {
            draw.who.iter().for_each(|&who| need[who] = need[who].saturating_sub(1));
            end += 1;
        }
        end
    }
}

/// Ratings after the first matches of a part.
struct Standing {
    skills: Skills,
    games: Vec<u64>,
    /// Number of matches since the last large rating change, by candidate.
    calm: Vec<u64>,
}

impl Standing {
    fn new(players: usize) -> Self {
        Standing { skills: Skills::new(players), games: vec![0; players], calm: vec![0; players] }
    }

    fn take(&mut self, [a, b]: [usize; 2], points: Option<f64>, stop: &Stop) {
        // Matches that do not count change no rating.
        let Some(points) = points else { return };
        let before = [a, b].map(|who| self.skills.of(who).mu);
        self.skills.play(&PlayedGame::two(a, b, points));
        for (who, before) in [a, b].into_iter().zip(before) {
            let calm = (self.skills.of(who).mu - before).abs() < stop.change;
            self.calm[who] = if calm { self.calm[who] + 1 } else { 0 };
            self.games[who] += 1;
        }
    }

    /// Returns the minimum number of further matches of each candidate; 0 for all after convergence.
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
