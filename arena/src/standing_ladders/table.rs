//! Rating table of a standing ladder.

use std::collections::BTreeMap;

use ludex_referee::rating::glicko::GlickoSkill;
use ludex_referee::result::{GameResult, SeatResult};
use ludex_report::scale::RatingOptions;
use serde::{Deserialize, Serialize};

const DAY: f64 = 86_400_000.0;

/// Rating settings of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LadderSettings {
    /// Initial rating of an agent. Default: the middle of the anchors' ratings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Initial and maximum rating deviation of an agent.
    pub start_deviation: f64,
    /// Minimum rating deviation. The minimum lets the ratings of modified agents keep changing (M. Glickman, "The
    /// Glicko system", 1995, section 5).
    pub least_deviation: f64,
    /// Rating deviation above which a rating is provisional.
    pub provisional: f64,
    /// Days without a match after which an agent has no rank.
    pub inactive_days: f64,
    /// Length of a rating period in days. The length determines how fast the deviation of an inactive agent grows.
    pub period_days: f64,
}

impl Default for LadderSettings {
    /// Returns the default settings. With these settings, a deviation of 60 becomes provisional after 78 days without a
    /// match.
    fn default() -> Self {
        LadderSettings {
            start: None,
            start_deviation: 350.0,
            least_deviation: 30.0,
            provisional: 110.0,
            inactive_days: 30.0,
            period_days: 1.0,
        }
    }
}

impl LadderSettings {
    /// Returns the first error in the settings, if any.
    pub fn fault(&self) -> Option<&'static str> {
        let positive =
            [self.start_deviation, self.least_deviation, self.provisional, self.inactive_days, self.period_days];
        if positive.iter().any(|x| !x.is_finite() || *x <= 0.0) || self.start.is_some_and(|x| !x.is_finite()) {
            return Some("[rating]: expected numbers above 0");
        }
        (self.least_deviation > self.start_deviation).then_some("least_deviation: expected at most start_deviation")
    }
}

/// Initial volatility, as in the Glicko-2 paper.
const VOLATILITY: f64 = 0.06;

/// Entry of an agent in the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingEntry {
    /// Skill of the agent after its last match.
    #[serde(flatten)]
    pub skill: GlickoSkill,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// End of the last match, in milliseconds since the Unix epoch; 0 before the first.
    pub last_ms: i64,
    /// Name of the last opponent.
    pub met: String,
}

/// Ratings of a standing ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingTable {
    pub rating: LadderSettings,
    /// Anchors with their constant ratings, by spec.
    pub anchors: BTreeMap<String, f64>,
    /// Agents with at least one match, by name. Each has a row of its own in the store.
    #[serde(skip)]
    pub agents: BTreeMap<String, StandingEntry>,
    /// Number of matches that counted.
    pub matches: u64,
}

/// Rank status of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankStatus {
    /// Agent with a rank.
    Ranked,
    /// Agent whose deviation is too large for a rank.
    Provisional,
    /// Agent without recent matches.
    Inactive,
    /// Anchor with a constant rating.
    Anchor,
}

/// Row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StandingLine {
    /// Rank among the ranked agents, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// Agent name; for an anchor its spec.
    pub agent: String,
    /// Rating in Elo points.
    pub rating: f64,
    /// Current standard deviation of the rating.
    pub deviation: f64,
    pub standing: RankStatus,
    /// True if the rating is provisional.
    pub provisional: bool,
    /// True if the agent is an anchor.
    pub anchor: bool,
    /// Number of matches. This field and the following fields are absent for an anchor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub games: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wins: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<u64>,
    /// End of the last match, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<i64>,
}

impl StandingTable {
    /// Creates a table without matches.
    pub fn new(rating: LadderSettings, anchors: BTreeMap<String, f64>) -> Self {
        StandingTable { rating, anchors, agents: BTreeMap::new(), matches: 0 }
    }

    /// Updates the ratings of two agents with the matches of a pair, or with one unpaired match. `at_ms` is the end of
    /// the last match. Ignores matches that do not count (see [`RatingOptions::discards`]), matches of more than two
    /// seats, and matches of an agent against itself.
    pub fn take(&mut self, games: &[&GameResult], at_ms: i64) {
        let counted = |game: &&&GameResult| game.seats.len() == 2 && RatingOptions::default().discards(game).is_none();
        let mut scores: BTreeMap<[&SeatName; 2], Vec<f64>> = BTreeMap::new();
        let names: Vec<[SeatName; 2]> = games
            .iter()
            .filter(counted)
            .map(|game| [SeatName::of(&game.seats[0]), SeatName::of(&game.seats[1])])
            .collect();
        for (game, [first, second]) in games.iter().filter(counted).zip(&names) {
            let Some(duel) = game.played(vec![0, 1], None).duels().pop() else { continue };
            if first == second {
                continue;
            }
            let (key, score) = match first < second {
                true => ([first, second], duel.score),
                false => ([second, first], 1.0 - duel.score),
            };
            scores.entry(key).or_default().push(score);
        }
        for ([a, b], scores) in scores {
            self.meet(a, b, &scores, at_ms);
        }
    }

    /// Counts matches between the agents `a` and `b`. `scores` holds the score of `a` in each match.
    pub(super) fn meet(&mut self, a: &SeatName, b: &SeatName, scores: &[f64], at_ms: i64) {
        let (Some(of_a), Some(of_b)) = (self.known(a, at_ms), self.known(b, at_ms)) else { return };
        self.matches += scores.len() as u64;
        let for_a: Vec<(GlickoSkill, f64)> = scores.iter().map(|&score| (of_b, score)).collect();
        let for_b: Vec<(GlickoSkill, f64)> = scores.iter().map(|&score| (of_a, 1.0 - score)).collect();
        self.update(a, b, &for_a, at_ms);
        self.update(b, a, &for_b, at_ms);
    }

    /// Returns the skill of the player of a seat. Returns `None` for a server-run agent that is not an anchor of this
    /// ladder.
    fn known(&self, who: &SeatName, at_ms: i64) -> Option<GlickoSkill> {
        match who {
            SeatName::Server(spec) => self.anchors.get(spec).map(|&rating| GlickoSkill::fixed(rating)),
            SeatName::Client(name) => Some(self.skill(name, at_ms)),
        }
    }

    fn update(&mut self, who: &SeatName, other: &SeatName, games: &[(GlickoSkill, f64)], at_ms: i64) {
        let SeatName::Client(name) = who else { return };
        let (periods, least) = (self.periods(name, at_ms), self.rating.least_deviation);
        let most = self.rating.start_deviation;
        let new =
            StandingEntry { skill: self.newcomer(), wins: 0, draws: 0, losses: 0, last_ms: 0, met: String::new() };
        let entry = self.agents.entry(name.clone()).or_insert(new);
        entry.skill = entry.skill.after_games(games, periods);
        entry.skill.deviation = entry.skill.deviation.clamp(least, most);
        for (_, score) in games {
            let count = match score {
                s if *s > 0.5 => &mut entry.wins,
                s if *s < 0.5 => &mut entry.losses,
                _ => &mut entry.draws,
            };
            *count += 1;
        }
        entry.last_ms = entry.last_ms.max(at_ms);
        entry.met = other.name().to_owned();
    }

    fn periods(&self, name: &str, at_ms: i64) -> f64 {
        let since = self.agents.get(name).map_or(0, |entry| at_ms.saturating_sub(entry.last_ms).max(0));
        since as f64 / (DAY * self.rating.period_days)
    }

    fn newcomer(&self) -> GlickoSkill {
        let ends = self.anchors.values().fold(None, |ends: Option<(f64, f64)>, &r| {
            Some(ends.map_or((r, r), |(low, high)| (low.min(r), high.max(r))))
        });
        let middle = ends.map_or(1500.0, |(low, high)| f64::midpoint(low, high));
        GlickoSkill {
            rating: self.rating.start.unwrap_or(middle),
            deviation: self.rating.start_deviation,
            volatility: VOLATILITY,
        }
    }

    /// Returns the skill of an agent at the time `at_ms`, in milliseconds since the Unix epoch.
    pub fn skill(&self, agent: &str, at_ms: i64) -> GlickoSkill {
        let known = self.agents.get(agent).map(|entry| entry.skill);
        let rested = |skill: GlickoSkill| skill.after_rest(self.periods(agent, at_ms), self.rating.start_deviation);
        known.map_or_else(|| self.newcomer(), rested)
    }

    /// Returns the rows of the table at the time `at_ms`, best rating first.
    pub fn rows(&self, at_ms: i64) -> Vec<StandingLine> {
        let agent = |(name, entry): (&String, &StandingEntry)| {
            let skill = self.skill(name, at_ms);
            let idle = at_ms.saturating_sub(entry.last_ms) as f64 / DAY;
            let provisional = skill.deviation > self.rating.provisional;
            let standing = match () {
                () if idle > self.rating.inactive_days => RankStatus::Inactive,
                () if provisional => RankStatus::Provisional,
                () => RankStatus::Ranked,
            };
            StandingLine {
                rank: None,
                agent: name.clone(),
                rating: skill.rating,
                deviation: skill.deviation,
                standing,
                provisional,
                anchor: false,
                games: Some(entry.wins + entry.draws + entry.losses),
                wins: Some(entry.wins),
                draws: Some(entry.draws),
                losses: Some(entry.losses),
                last_ms: Some(entry.last_ms),
            }
        };
        let anchor = |(spec, rating): (&String, &f64)| StandingLine {
            rank: None,
            agent: spec.clone(),
            rating: *rating,
            deviation: 0.0,
            standing: RankStatus::Anchor,
            provisional: false,
            anchor: true,
            games: None,
            wins: None,
            draws: None,
            losses: None,
            last_ms: None,
        };
        let mut rows: Vec<StandingLine> =
            self.agents.iter().map(agent).chain(self.anchors.iter().map(anchor)).collect();
        rows.sort_by(|a, b| b.rating.total_cmp(&a.rating).then_with(|| a.agent.cmp(&b.agent)));
        let ranked = rows.iter_mut().filter(|row| row.standing == RankStatus::Ranked);
        ranked.zip(1..).for_each(|(row, rank)| row.rank = Some(rank));
        rows
    }
}

/// Identity of a player. Agents run by the server are identified by spec, so that no client becomes an anchor by using
/// the anchor's name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SeatName {
    Client(String),
    Server(String),
}

impl SeatName {
    fn of(seat: &SeatResult) -> Self {
        match &seat.spec {
            Some(spec) => SeatName::Server(spec.clone()),
            None => SeatName::Client(seat.name.clone()),
        }
    }

    fn name(&self) -> &str {
        match self {
            SeatName::Client(name) | SeatName::Server(name) => name,
        }
    }
}

#[cfg(test)]
mod tests;
