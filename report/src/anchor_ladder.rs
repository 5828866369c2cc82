//! Calibration of anchor ladders: the matches that compare the anchors of a game's ladder, and the ratings computed
//! from their results.
//!
//! Anchors are compared in [`Unit`]s of play. In duels, each bot of a level meets each bot of the level below. With two
//! seats, the bots swap seats on one seed. With four seats, in duplicate units, the bots sit on alternating seats and
//! then swap them. In other games, one bot sits among copies of the second bot, on each seat in turn, and then vice
//! versa. In a field, each anchor meets each agent of the field, on every seat.
//!
//! Scores count whole units and measure the distance between levels. Ratings are on the scale of single episodes, as in
//! [`crate::scale`], so that records can be rated with these ratings as constants.

use ludex_env::Unit;
use ludex_env::anchor_ladder::{AnchorRow, AnchorTable};
use ludex_protocol::Spec;
use ludex_protocol::spec::Anchor;
use ludex_referee::moments::Moments;
use ludex_referee::rating::anchored::{Anchored, anchored};
use ludex_referee::rating::table::{Interval, Tally};
use ludex_referee::rating::{PlayedGame, gain, points};
use ludex_referee::schedule::Planned;

/// Acceptable range for the score of a level against the level below.
pub const WANTED: [f64; 2] = [0.6, 0.95];

/// Two agents to compare, as indices into [`AnchorLadder::agents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pairing {
    a: usize,
    b: usize,
}

/// Ladder with the matches for its calibration.
pub struct AnchorLadder {
    spec: Spec,
    unit: Unit,
    /// Specs of the anchors in the ladder's order, followed by the specs of the agents in the field.
    agents: Vec<String>,
    pairings: Vec<Pairing>,
    /// Seatings of the episodes on one seed; `true` marks the seats of the pairing's agent `a`.
    tables: Vec<Vec<bool>>,
}

/// Returns the seating of two sides that alternate on four seats. If `first` is true, side `a` has the first seat.
const fn two_and_two(first: bool) -> [bool; 4] {
    [first, !first, first, !first]
}

/// Return of each seat in each episode of a unit. Episodes are ordered by seed, then by seating.
pub type Returns = Vec<Vec<f64>>;

impl AnchorLadder {
    /// Creates the ladder of a game.
    pub fn new(spec: &Spec, unit: Unit) -> AnchorLadder {
        let rungs = &spec.anchors;
        let mut agents: Vec<String> = rungs.iter().map(|r| r.agent.clone()).collect();
        let all = 0..rungs.len();
        let pairings = match unit {
            Unit::Field(field) => {
                agents.extend(field.iter().map(|f| (*f).to_owned()));
                let others = rungs.len()..agents.len();
                all.flat_map(|a| others.clone().map(move |b| Pairing { a, b })).collect()
            }
            Unit::Episode | Unit::Duplicate(_) => {
                let below = |a: usize, b: usize| rungs[b].level + 1 == rungs[a].level;
                let pairs = all.clone().flat_map(|a| all.clone().map(move |b| Pairing { a, b }));
                pairs.filter(|p| below(p.a, p.b)).collect()
            }
        };
        let n = spec.players as usize;
        let alone = |who: bool| (0..n).map(move |at| (0..n).map(|seat| (seat == at) == who).collect::<Vec<bool>>());
        let both_ways = n > 2 && !matches!(unit, Unit::Field(_));
        let tables = match unit {
            Unit::Duplicate(_) if n == 4 => [true, false].map(|first| two_and_two(first).to_vec()).into(),
            _ => alone(true).chain(alone(false).filter(|_| both_ways)).collect(),
        };
        AnchorLadder { spec: spec.clone(), unit, agents, pairings, tables }
    }

    /// Returns the agents as specs: the anchors, then the field.
    pub fn agents(&self) -> &[String] {
        &self.agents
    }

    /// Returns the number of pairings. A round plays one unit of each pairing.
    pub fn pairings(&self) -> usize {
        self.pairings.len()
    }

    /// Returns the two agents of a pairing.
    pub fn agents_of(&self, pairing: usize) -> [&str; 2] {
        let Pairing { a, b } = self.pairings[pairing];
        [&self.agents[a], &self.agents[b]]
    }

    /// Returns the number of seeds in a unit.
    fn seeds(&self) -> u64 {
        if let Unit::Duplicate(n) = self.unit { u64::from(n) } else { 1 }
    }

    /// Returns the number of episodes in a unit.
    pub fn episodes(&self) -> usize {
        self.seeds() as usize * self.tables.len()
    }

    /// Returns the episodes of a unit of a pairing. The block number of an episode is the number of its seed, so that
    /// all pairings have the same block numbers.
    pub fn plan(&self, pairing: usize, unit: u64) -> Vec<Planned> {
        let Pairing { a, b } = self.pairings[pairing];
        let seeds = unit * self.seeds()..(unit + 1) * self.seeds();
        let of = |seed| {
            self.tables.iter().enumerate().map(move |(turn, table)| {
                let seats = table.iter().map(|&first| if first { a } else { b }).collect();
                Planned { pair: seed, turn, seats }
            })
        };
        seeds.flat_map(of).collect()
    }

    /// Computes the row of each anchor, and the share of draws between agents of equal strength, from the units of each
    /// pairing. All pairings must have the same number of units.
    ///
    /// # Panics
    /// If a unit lacks the returns of a planned episode.
    pub fn measure(&self, units: &[Vec<Returns>]) -> (Vec<AnchorRow>, f64) {
        let rungs = self.spec.anchors.len();
        let found: Vec<Option<Interval>> = match self.unit {
            Unit::Field(field) => (0..rungs).map(|a| self.mean(&units[a * field.len()..][..field.len()])).collect(),
            Unit::Episode | Unit::Duplicate(_) => (0..rungs).map(|a| self.score(a, units)).collect(),
        };
        let (ratings, draws) = self.ratings(units);
        let row = |(k, a): (usize, &Anchor)| {
            let [rating, low, high] = ratings[k];
            AnchorRow {
                anchor: Anchor { rating, low, high, ..a.clone() },
                found: found[k].map(|i| [i.value, i.low, i.high]),
            }
        };
        (self.spec.anchors.iter().enumerate().map(row).collect(), draws)
    }

    /// Returns the score of an anchor against the level below.
    fn score(&self, rung: usize, units: &[Vec<Returns>]) -> Option<Interval> {
        let mut tally = Tally::default();
        let own = self.pairings.iter().zip(units).filter(|(p, _)| p.a == rung);
        for unit in own.flat_map(|(_, units)| units) {
            let tables = self.tables.iter().cycle();
            let gains = unit.iter().zip(tables).map(|(returns, table)| gain(table, returns)[0]);
            if self.unit == Unit::Episode {
                gains.for_each(|gain| tally.add(points(gain)));
            } else {
                tally.add(points(gains.sum()));
            }
        }
        tally.score()
    }

    /// Returns the mean return of an anchor against all agents of its field.
    fn mean(&self, units: &[Vec<Returns>]) -> Option<Interval> {
        let most = units.iter().map(Vec::len).min()?;
        // All episodes on one seed, with any agent of the field, are one observation.
        let on = |k: usize| {
            let all = units.iter().flat_map(|of| of[k].iter().zip(self.tables.iter().cycle()));
            let own = all.map(|(returns, table)| gain(table, returns)[1]);
            own.clone().sum::<f64>() / own.count() as f64
        };
        let seen: Moments = (0..most).map(on).collect();
        let (value, half) = (seen.mean()?, seen.half_width()?);
        Some(Interval { value, low: value - half, high: value + half })
    }

    /// Returns the rating and interval of each anchor, where `random` has the rating 0, and the share of draws between
    /// agents of equal strength. For a ladder with a field, whose agents are not compared by duels, ratings are absent.
    fn ratings(&self, units: &[Vec<Returns>]) -> (Vec<[Option<f64>; 3]>, f64) {
        let rungs = self.spec.anchors.len();
        if let Unit::Field(_) = self.unit {
            return (vec![[None; 3]; rungs], 0.0);
        }
        let mut games = Vec::new();
        let mut blocks = 0;
        for (k, own) in units.iter().enumerate() {
            for (u, unit) in own.iter().enumerate() {
                for (planned, scores) in self.plan(k, u as u64).into_iter().zip(unit) {
                    blocks += usize::from(planned.turn == 0);
                    let seats = planned.seats;
                    games.push(PlayedGame {
                        seats,
                        scores: scores.clone(),
                        pair: Some(blocks),
                        ..PlayedGame::default()
                    });
                }
            }
        }
        let zero = self.spec.anchors.iter().position(|a| a.level == 0).map(|k| (k, 0.0));
        let settings = Anchored { fixed: zero.into_iter().collect(), ..Anchored::default() };
        let ratings = anchored(rungs, &games, &settings);
        let ends = |r: Option<ludex_referee::rating::anchored::Rating>| {
            let interval = r.and_then(|r| r.interval);
            [r.map(|r| r.rating), interval.map(|i| i.low), interval.map(|i| i.high)]
        };
        (ratings.players.into_iter().map(ends).collect(), ratings.draws)
    }

    /// Returns a message for each anchor that is too close to the level below, or too far above it. A score must be in
    /// [`WANTED`], but the score of the highest level may be higher. The interval of a mean return must lie above the
    /// intervals of the level below.
    pub fn rungs_out_of_range(&self, rows: &[AnchorRow]) -> Vec<String> {
        let top = rows.iter().map(|r| r.anchor.level).max().unwrap_or(0);
        let mut out = Vec::new();
        for AnchorRow { anchor: a, found } in rows.iter().filter(|r| r.anchor.level > 0) {
            let Some([value, low, _]) = *found else { continue };
            let who = format!("level {} bot {}", a.level, a.bot);
            if let Unit::Field(_) = self.unit {
                let below = rows.iter().filter(|r| r.anchor.level + 1 == a.level);
                let best = below.filter_map(|r| Some(r.found?[2])).fold(f64::NEG_INFINITY, f64::max);
                if low <= best {
                    out.push(format!(
                        "{who}: expected an interval above {best:.3} (top of the level below), got a start at {low:.3}"
                    ));
                }
            } else if value < WANTED[0] || (value > WANTED[1] && a.level < top) {
                let [least, most] = WANTED;
                out.push(format!(
                    "{who}: expected a score of {least} to {most} against the level below, got {value:.3}"
                ));
            }
        }
        out
    }

    /// Returns the table for the game's page.
    pub fn table(&self, rows: Vec<AnchorRow>, draws: f64, about: String) -> AnchorTable {
        let measure = match self.unit {
            Unit::Field(_) => "mean return in the field",
            Unit::Episode | Unit::Duplicate(_) => "score against the level below",
        };
        let (string, rules) = (self.spec.string.clone(), self.spec.rules);
        AnchorTable { string, rules, measure: measure.into(), rows, draws, about }
    }

    /// Describes a number of units in words.
    pub fn in_words(&self, units: u64) -> String {
        let seats = self.spec.players;
        match self.unit {
            Unit::Field(field) => {
                let field: Vec<String> = field.iter().map(|f| format!("`{f}`")).collect();
                let each = if seats == 2 { "both seats" } else { "every seat, against copies of that agent" };
                format!("{units} seeds against each agent of the field ({}), on {each}", field.join(", "))
            }
            Unit::Episode => format!("{units} seat-swapped pairs of episodes against each bot of the level below"),
            Unit::Duplicate(n) => {
                let how = match seats {
                    2 => "seat-swapped",
                    4 => "two seats each, alternating, seat-swapped",
                    _ => "one bot against copies of the other bot, on every seat and with roles exchanged",
                };
                format!("{units} units against each bot of the level below (seeds per unit: {n}; {how})")
            }
        }
    }
}

#[cfg(test)]
mod tests;
