//! Rating table of a standing ladder.
//!
//! The table counts results. Its ratings are the anchored ratings of the referee for all counted matches, as in
//! `ludex rate`.

use std::collections::BTreeMap;

use ludex_referee::rating::Duel;
use ludex_referee::rating::anchored::{Anchored, Rating, anchored_blocks};
use ludex_referee::result::{GameResult, SeatResult};
use ludex_report::scale::RatingOptions;
use serde::{Deserialize, Serialize};

const DAY: f64 = 86_400_000.0;

/// Rating settings of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LadderSettings {
    /// Rating of an agent without matches. Default: the middle of the anchors' ratings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Initial and maximum rating deviation of an agent.
    pub start_deviation: f64,
    /// Rating deviation above which a rating is provisional.
    pub provisional: f64,
    /// Days without a match after which an agent has no rank.
    pub inactive_days: f64,
}

impl Default for LadderSettings {
    fn default() -> Self {
        LadderSettings { start: None, start_deviation: 350.0, provisional: 110.0, inactive_days: 30.0 }
    }
}

impl LadderSettings {
    /// Returns the first error in the settings, if any.
    pub fn fault(&self) -> Option<&'static str> {
        let positive = [self.start_deviation, self.provisional, self.inactive_days];
        let wrong = positive.iter().any(|x| !x.is_finite() || *x <= 0.0) || self.start.is_some_and(|x| !x.is_finite());
        wrong.then_some("[rating]: expected numbers above 0")
    }
}

/// Rating of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingSkill {
    /// Rating in Elo points.
    pub rating: f64,
    /// Standard deviation of the rating, which includes the uncertainty of the agent's tie to the anchors.
    pub deviation: f64,
}

/// Entry of an agent in the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StandingEntry {
    /// Final rating, in the table of a frozen season.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<StandingSkill>,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Number of matches that the agent lost without having acted, or missed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub absences: u64,
    /// End of the last match, in milliseconds since the Unix epoch; 0 before the first.
    pub last_ms: i64,
    /// Number of blocks (pairs, and single matches) by results and opponent: `WL bob`, or `WL* SPEC` for an anchor. A
    /// block of two agents is in the entry of the agent whose name sorts first.
    pub blocks: BTreeMap<String, usize>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Ratings of a standing ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingTable {
    pub rating: LadderSettings,
    /// Anchors with their constant ratings, by spec.
    pub anchors: BTreeMap<String, f64>,
    /// Share of draws between agents of equal strength, which is a constant of the game.
    pub draws: f64,
    /// Agents with at least one match, by name. Each has a row of its own in the store.
    #[serde(skip)]
    pub agents: BTreeMap<String, StandingEntry>,
    /// Number of matches that counted.
    pub matches: u64,
    /// Ratings of the agents at the last [fit](Self::fit), which the store does not have.
    #[serde(skip)]
    pub skills: BTreeMap<String, StandingSkill>,
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
    /// Standard deviation of the rating.
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
    /// Number of matches that the agent lost without having acted, or missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absences: Option<u64>,
    /// End of the last match, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ms: Option<i64>,
}

impl StandingTable {
    /// Creates a table without matches.
    pub fn new(rating: LadderSettings, anchors: BTreeMap<String, f64>, draws: f64) -> Self {
        StandingTable { rating, anchors, draws, agents: BTreeMap::new(), matches: 0, skills: BTreeMap::new() }
    }

    /// Counts the matches of a pair, or one unpaired match. `at_ms` is the end of the last match. Ignores matches that
    /// do not count (see [`RatingOptions::discards`]), matches of more than two seats, and matches of an agent against
    /// itself. Absences of the table's agents are counted in all matches.
    pub fn take(&mut self, games: &[&GameResult], at_ms: i64) {
        let counted = |game: &&&GameResult| game.seats.len() == 2 && RatingOptions::default().discards(game).is_none();
        let mut scores: BTreeMap<[SeatName; 2], Vec<f64>> = BTreeMap::new();
        for game in games.iter().filter(counted) {
            let [first, second] = [SeatName::of(&game.seats[0]), SeatName::of(&game.seats[1])];
            let Some(duel) = game.played(vec![0, 1], None).duels().pop() else { continue };
            let (key, score) = match first < second {
                true => ([first, second], duel.score),
                false => ([second, first], 1.0 - duel.score),
            };
            scores.entry(key).or_default().push(score);
        }
        for ([a, b], scores) in scores.into_iter().filter(|([a, b], _)| a != b) {
            self.meet(&a, &b, scores, at_ms);
        }
        for absent in games.iter().filter_map(|game| game.seats.get(game.absent?)) {
            if let Some(entry) = self.agents.get_mut(&absent.name).filter(|_| absent.spec.is_none()) {
                entry.absences += 1;
            }
        }
    }

    /// Counts a block of matches between the agents `a` and `b`, where `a` sorts first. `scores` holds the score of `a`
    /// in each match. Ignores a server-run agent that is not an anchor of this ladder.
    pub(super) fn meet(&mut self, a: &SeatName, b: &SeatName, mut scores: Vec<f64>, at_ms: i64) {
        let (SeatName::Client(name), true) = (a, self.can_rate(b)) else { return };
        scores.sort_by(|x, y| y.total_cmp(x));
        let results: String = scores.iter().map(|&score| result(score)).collect();
        let key = match b {
            SeatName::Client(other) => format!("{results} {other}"),
            SeatName::Server(spec) => format!("{results}* {spec}"),
        };
        *self.count(name, &scores, at_ms).blocks.entry(key).or_default() += 1;
        if let SeatName::Client(other) = b {
            self.count(other, &scores.iter().map(|score| 1.0 - score).collect::<Vec<_>>(), at_ms);
        }
        self.matches += scores.len() as u64;
    }

    fn can_rate(&self, who: &SeatName) -> bool {
        match who {
            SeatName::Server(spec) => self.anchors.contains_key(spec),
            SeatName::Client(_) => true,
        }
    }

    fn count(&mut self, name: &str, scores: &[f64], at_ms: i64) -> &mut StandingEntry {
        let entry = self.agents.entry(name.to_owned()).or_default();
        for &score in scores {
            let count = match result(score) {
                'W' => &mut entry.wins,
                'L' => &mut entry.losses,
                _ => &mut entry.draws,
            };
            *count += 1;
        }
        entry.last_ms = entry.last_ms.max(at_ms);
        entry
    }

    /// Returns the ratings of all agents: the referee's anchored ratings for the counted matches.
    ///
    /// Without a chain of matches to an anchor, a rating is relative to [`start`](LadderSettings::start), with the
    /// initial deviation. On a ladder without anchors all ratings are relative, with their own deviations.
    pub fn fit(&self) -> BTreeMap<String, StandingSkill> {
        let names: Vec<&str> = self.agents.keys().map(String::as_str).collect();
        let specs: Vec<&str> = self.anchors.keys().map(String::as_str).collect();
        let block = |a: usize, key: &str| -> Option<Vec<Duel>> {
            let (results, other) = key.split_once(' ')?;
            let b = match results.ends_with('*') {
                true => names.len() + specs.binary_search(&other).ok()?,
                false => names.binary_search(&other).ok()?,
            };
            let score = |result| match result {
                'W' => 1.0,
                'L' => 0.0,
                _ => 0.5,
            };
            Some(results.trim_end_matches('*').chars().map(|result| Duel { a, b, score: score(result) }).collect())
        };
        let of_agent = |(a, entry): (usize, &StandingEntry)| -> Vec<(Vec<Duel>, usize)> {
            entry.blocks.iter().filter_map(|(key, &times)| Some((block(a, key)?, times))).collect()
        };
        let blocks = self.agents.values().enumerate().flat_map(of_agent).collect();
        let fixed = (names.len()..).zip(self.anchors.values().copied()).collect();
        let settings = Anchored { fixed, draws: Some(self.draws), resamples: 0, seed: 0 };
        let ratings = anchored_blocks(names.len() + specs.len(), blocks, &settings).players;
        let new = self.newcomer();
        let skill = |rating: Rating| {
            let (base, error) = match rating.anchored {
                true => (0.0, rating.error),
                false => (new.rating, rating.error.filter(|_| self.anchors.is_empty())),
            };
            let deviation = error.map_or(new.deviation, |error| error.min(new.deviation));
            StandingSkill { rating: base + rating.rating, deviation }
        };
        names.into_iter().zip(ratings).filter_map(|(name, rating)| Some((name.to_owned(), skill(rating?)))).collect()
    }

    fn newcomer(&self) -> StandingSkill {
        let ends = self
            .anchors
            .values()
            .copied()
            .min_by(f64::total_cmp)
            .zip(self.anchors.values().copied().max_by(f64::total_cmp));
        let middle = ends.map_or(1500.0, |(low, high)| f64::midpoint(low, high));
        StandingSkill { rating: self.rating.start.unwrap_or(middle), deviation: self.rating.start_deviation }
    }

    /// Returns the skill of an agent.
    pub fn skill(&self, agent: &str) -> StandingSkill {
        let last = self.agents.get(agent).and_then(|entry| entry.skill);
        last.or_else(|| self.skills.get(agent).copied()).unwrap_or_else(|| self.newcomer())
    }

    /// Returns the rows of the table at the time `at_ms`, best rating first.
    pub fn rows(&self, at_ms: i64) -> Vec<StandingLine> {
        let agent = |(name, entry): (&String, &StandingEntry)| {
            let skill = self.skill(name);
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
                absences: Some(entry.absences),
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
            absences: None,
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}

/// Returns `W` for a win, `D` for a draw, `L` for a loss.
fn result(score: f64) -> char {
    match score {
        s if s > 0.5 => 'W',
        s if s < 0.5 => 'L',
        _ => 'D',
    }
}

#[cfg(test)]
mod tests;
