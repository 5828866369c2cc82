//! Rating scales: verified records are grouped by game, rules and part of their suite, and each group is rated
//! separately.
//!
//! Ratings are comparable only on one scale: the same game with the same parameters, the same rules, and the same
//! constants. The scale's name, `game@rules/ladder-digest`, encodes all three. Ratings of different scales are never
//! mixed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ludex_env::anchor_ladder;
use ludex_protocol::Spec;
use ludex_protocol::record::AgentKind;
use ludex_protocol::spec::Anchor;
use ludex_referee::answer_counts::Answers;
use ludex_referee::distribution::round_up;
use ludex_referee::metric::{Measurement, USUAL};
use ludex_referee::outcome::is_competitive;
use ludex_referee::rating::PlayedGame;
use ludex_referee::rating::anchored::{Anchored, Bound, RESAMPLES, anchored};
use ludex_referee::rating::elo::{Elo, elo_courses};
use ludex_referee::rating::history::RatingHistory;
use ludex_referee::rating::table::{Interval, Tally, crosstable, total};
use ludex_referee::rating::trueskill::trueskill;
use ludex_referee::result::{GameResult, SeatCost, TokenUse};
use ludex_referee::rows::{MetricMatch, ResultTable, RowAgent, RowPart, Rows, rung};
use rayon::prelude::*;
use serde::Serialize;

/// Half width, in points, for which reports state the number of blocks needed.
pub const REPORTED: f64 = 30.0;

/// Returns the number of blocks needed for the half width `wanted`, given the half width that was computed from
/// `blocks` blocks. `None` unless all arguments are positive.
pub fn blocks_like(half_width: f64, blocks: usize, wanted: f64) -> Option<u64> {
    round_up(blocks as f64 * (half_width / wanted).powi(2), [half_width, blocks as f64, wanted])
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatingOptions {
    /// Agents with a constant rating, by name or spec, in Elo points. Default: anchors run by the server, with the
    /// ratings of the game's ladder, and `random` with 0.
    pub fixed: Option<BTreeMap<String, f64>>,
    /// Number of resamples for the intervals.
    pub resamples: usize,
    /// Seed of the resampling.
    pub seed: u64,
    /// Factor K of the sequential Elo rating.
    pub elo_k: f64,
    /// Initial value of the sequential Elo rating.
    pub elo_start: f64,
    /// True if unrated and flagged episodes count too.
    pub unrated: bool,
}

impl Default for RatingOptions {
    fn default() -> Self {
        let Elo { start, k } = Elo::default();
        RatingOptions { fixed: None, resamples: RESAMPLES, seed: 0, elo_k: k, elo_start: start, unrated: false }
    }
}

impl RatingOptions {
    /// Returns the reason that an episode does not count; `None` if it counts.
    pub fn discards(&self, game: &impl AsRef<GameResult>) -> Option<String> {
        let game = game.as_ref();
        if !game.reason.counts() {
            return serde_json::to_value(game.reason).ok()?.as_str().map(str::to_owned);
        }
        if game.replayed {
            return Some("replayed".to_owned());
        }
        if self.unrated {
            return None;
        }
        game.flag.clone().or_else(|| (!game.rated).then(|| "unrated".to_owned()))
    }
}

/// Rating scale with its agents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Name in the form `game@rules/ladder-digest`, where `game` includes the parameters.
    pub name: String,
    pub game: String,
    pub title: String,
    pub string: String,
    /// Part of the suite that the episodes belong to; absent for episodes without a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub rules: u32,
    /// Hash of rules, parameters, actions and views.
    pub hash: String,
    /// Number of episodes that count.
    pub games: usize,
    /// Number of blocks of episodes on one seed; an episode without a block is its own block.
    pub blocks: usize,
    /// Share of draws between agents of equal strength, which is a constant of the ladder.
    pub draws: f64,
    /// Constant ratings, by agent; agents without games are omitted.
    pub constants: BTreeMap<String, f64>,
    /// Points by seat, over all agents on the seat.
    pub seats: Vec<SeatScores>,
    /// Agents, best rating first.
    pub agents: Vec<AgentRow>,
    /// Results of agent `a` against agent `b` in `crosstable[a][b]`, in the order of `agents`.
    pub crosstable: Vec<Vec<Tally>>,
}

/// Results of a seat.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeatScores {
    pub seat: String,
    /// Wins, draws and losses of the seat against the other seats.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Agent on a scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentRow {
    /// Name of the agent. If several agents share a name, the spec or `remote` follows the name.
    pub name: String,
    pub kind: AgentKind,
    /// Main rating, in Elo points; absent in non-competitive games ([`is_competitive`]).
    pub rating: Option<f64>,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Bound, if the agent lost or won all its games: the rating is known to be below `high`, or above `low`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Number of blocks that the rating is based on; 0 if the rating is constant or absent.
    pub blocks: usize,
    /// Number of similar blocks that would give an interval of ±30 points ([`REPORTED`]).
    pub blocks_for_30: Option<u64>,
    /// Standard error that decides if a run may stop: [`Rating::error`](ludex_referee::rating::anchored::Rating::error).
    #[serde(skip)]
    pub error: Option<f64>,
    /// True if the rating is a constant.
    pub fixed: bool,
    /// True if a chain of games connects the agent with a constant. Otherwise, the rating is relative to the connected
    /// agents.
    pub anchored: bool,
    pub elo: Option<f64>,
    /// Sequential Elo after each of the agent's episodes.
    #[serde(skip)]
    pub course: RatingHistory,
    /// Tokens of the agent's replies.
    #[serde(skip)]
    pub tokens: TokenUse,
    /// Cost of the agent's replies.
    #[serde(skip)]
    pub spent: SeatCost,
    pub mu: Option<f64>,
    pub sigma: Option<f64>,
    /// Reply counts by verdict, for a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// Number of episodes. An episode in which the agent plays itself counts once.
    pub games: u64,
    /// Wins, draws and losses against other agents.
    #[serde(flatten)]
    pub tally: Tally,
    /// All metrics by id.
    pub metrics: BTreeMap<&'static str, Measurement>,
}

impl AgentRow {
    /// Returns the rating with its interval, or a bound; `None` without an interval.
    pub fn measured(&self) -> Option<Measurement> {
        let interval = Interval { value: self.rating?, low: self.low?, high: self.high? };
        Some(Measurement::of_interval(interval, self.bound, self.blocks as u64))
    }
}

/// Identity of an agent: the name, and the spec if the server ran the agent. A client with the name `random` is thus
/// distinct from the server's `random`.
pub type AgentLabel<'a> = (&'a str, Option<&'a str>);

/// Returns the agents of an episode, by seat.
pub fn keys(game: &GameResult) -> impl Iterator<Item = AgentLabel<'_>> {
    game.seats.iter().map(|s| (s.name.as_str(), s.spec.as_deref()))
}

/// Returns a label for every agent: the name, with a suffix if several agents share the name.
pub fn labels<'a>(games: impl IntoIterator<Item = &'a GameResult>) -> BTreeMap<AgentLabel<'a>, String> {
    // `collect` would first sort the seats of all games; a lookup among the few agents is faster.
    let mut all: BTreeMap<AgentLabel, String> = BTreeMap::new();
    all.extend(games.into_iter().flat_map(keys).map(|k| (k, String::new())));
    let mut shared: HashMap<&str, u32> = HashMap::new();
    all.keys().for_each(|(name, _)| *shared.entry(name).or_default() += 1);
    for ((name, spec), label) in &mut all {
        *label = match (shared[name], spec) {
            (1, _) => (*name).to_owned(),
            (_, Some(spec)) if spec == name => (*name).to_owned(),
            (_, Some(spec)) => format!("{name} ({spec})"),
            (_, None) => format!("{name} (remote)"),
        };
    }
    all
}

/// Suffix of the labels of people in reports.
pub(crate) const PERSON: &str = " (person)";

/// Appends a suffix to the labels of agents that played as people, of the kind `human`.
pub fn mark_people<'a>(labels: &mut BTreeMap<AgentLabel<'a>, String>, games: impl IntoIterator<Item = &'a GameResult>) {
    for seat in games.into_iter().flat_map(|game| &game.seats).filter(|seat| seat.kind == AgentKind::Human) {
        if let Some(label) = labels.get_mut(&(seat.name.as_str(), seat.spec.as_deref()))
            && !label.ends_with(PERSON)
        {
            label.push_str(PERSON);
        }
    }
}

/// Rates all records that count ([`RatingOptions::discards`]): returns one scale for each game string, rules hash and
/// part, sorted in this order. Takes [`GameResult`]s or [`VerifiedRecord`](ludex_referee::VerifiedRecord)s.
pub fn rate(games: &[impl AsRef<GameResult>], options: &RatingOptions) -> Vec<Scale> {
    let labels = labels(games.iter().map(AsRef::as_ref));
    let mut groups: BTreeMap<(&str, &str, Option<&str>), Vec<&GameResult>> = BTreeMap::new();
    for game in games.iter().map(AsRef::as_ref).filter(|g| options.discards(g).is_none()) {
        groups.entry((&game.spec().string, &game.spec().hash, game.part.as_deref())).or_default().push(game);
    }
    groups.into_values().map(|group| scale(group, &labels, options)).collect()
}

/// Returns the records that count ([`RatingOptions::discards`]) as [`Rows`]. There is one part for each game string and
/// part of a suite, and every agent is a candidate. Without a plan, a match of an agent against itself counts once for
/// each of the agent's seats.
pub fn rows<'a>(games: &'a [GameResult], options: &RatingOptions) -> Rows<'a> {
    Rows::new(table(games, options))
}

/// Returns the matches of [`rows`] as a table.
pub fn table<'a>(games: &'a [GameResult], options: &RatingOptions) -> ResultTable<'a> {
    let labels = labels(games);
    let agents = Vec::from_iter(labels.keys());
    let mut table = ResultTable {
        agents: labels.values().map(|name| RowAgent { name: name.clone(), candidate: true }).collect(),
        ..ResultTable::default()
    };
    let mut counting: Vec<&GameResult> = games.iter().filter(|g| options.discards(*g).is_none()).collect();
    counting.sort_by_key(|g| (g.order, g.ended.as_deref(), &*g.started, &*g.episode, &*g.digest));
    let mut parts: BTreeMap<(&str, &str, Option<&str>), usize> = BTreeMap::new();
    for (place, game) in counting.into_iter().enumerate() {
        let next = parts.len();
        let part = *parts.entry((&game.spec().string, &game.spec().hash, game.part.as_deref())).or_insert(next);
        if part == next {
            table.parts.push(RowPart::of_game(game.part.as_deref().unwrap_or(&game.spec().string), game.game()));
        }
        let players = keys(game).map(|key| agents.partition_point(|a| **a < key)).collect();
        table.matches.push(MetricMatch { order: place, ..MetricMatch::of(game, part, players) });
    }
    table
}

fn scale(mut games: Vec<&GameResult>, labels: &BTreeMap<AgentLabel, String>, options: &RatingOptions) -> Scale {
    // Order of the plan; without a plan, the order in which the episodes ended.
    games.par_sort_by_key(|g| (g.order, g.ended.as_deref(), &*g.started, &*g.episode, &*g.digest));
    let mut agents: BTreeSet<AgentLabel> = BTreeSet::new();
    agents.extend(games.iter().flat_map(|g| keys(g)));
    let agents = Vec::from_iter(agents);
    let mut pairs = HashMap::new();
    let mut all: Vec<PlayedGame> = Vec::with_capacity(games.len());
    let mut rows = ResultTable {
        agents: agents.iter().map(|key| RowAgent { name: labels[key].clone(), candidate: true }).collect(),
        parts: vec![RowPart::of_game(games[0].part.as_deref().unwrap_or_default(), games[0].game())],
        ..ResultTable::default()
    };
    for (place, &game) in games.iter().enumerate() {
        let next = pairs.len();
        let pair = game.pair.as_deref().map(|p| *pairs.entry((game.run.as_deref(), p)).or_insert(next));
        let players: Vec<usize> = keys(game).map(|k| agents.partition_point(|a| *a < k)).collect();
        rows.matches.push(MetricMatch { order: place, ..MetricMatch::of(game, 0, players.clone()) });
        all.push(game.played(players, pair));
    }
    let rows = Rows::new(rows);
    let game = &**games[0].game();
    let spec = game.spec();
    let fixed = match &options.fixed {
        _ if !is_competitive(game) => Vec::new(),
        Some(given) => constants(&agents, labels, given),
        None => ladder_constants(&agents, spec),
    };
    let (players, unpaired) = (agents.len(), all.iter().filter(|g| g.pair.is_none()).count());
    // Sequential Elo and TrueSkill follow the order of the plan. TrueSkill is also computed for games that are not
    // competitive but have teams, since the teams compete.
    let teamed = all.iter().any(|game| !game.teams.is_empty());
    let skills = if is_competitive(game) || teamed { trueskill(players, &all) } else { Vec::new() };
    if !is_competitive(game) {
        all.clear();
    }
    let (elos, mut courses) = elo_courses(players, &all, Elo { start: options.elo_start, k: options.elo_k });
    let (table, seats) = (crosstable(players, &all), seat_rows(spec, &all));
    // The anchored rating and its interval must not depend on the plan, so games are sorted by pair and episode.
    let mut by_name: Vec<usize> = (0..all.len()).collect();
    by_name.par_sort_by_key(|&k| (games[k].pair.as_deref(), &*games[k].episode));
    let unordered: Vec<PlayedGame> = by_name.into_iter().map(|k| std::mem::take(&mut all[k])).collect();
    let draws = Some(anchor_ladder::draws(game.info().page, &spec.string));
    let settings = Anchored { fixed: fixed.clone(), draws, resamples: options.resamples, seed: options.seed };
    let ratings = anchored(players, &unordered, &settings);
    let rows = agents.iter().enumerate().map(|(k, key)| {
        let rows = rows.of_agent(k);
        let samples = rows.samples();
        let (rating, tally) = (ratings.players[k], total(&table[k]));
        let interval = rating.and_then(|r| r.interval);
        let blocks = rating.map_or(0, |r| r.blocks);
        let met = tally.games() > 0;
        let skill = skills.get(k).filter(|_| met || teamed);
        let mut answers = Answers::default();
        samples.iter().for_each(|s| answers.add(&s.own().answers));
        // A match of an agent against itself is one game with two samples.
        let played = samples.chunk_by(|a, b| std::ptr::eq(a.game, b.game)).count() as u64;
        AgentRow {
            name: labels[key].clone(),
            kind: samples.last().map(|s| s.own().kind).unwrap_or_default(),
            rating: rating.map(|r| r.rating),
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
            bound: rating.and_then(|r| r.bound).filter(|_| interval.is_some()),
            blocks,
            blocks_for_30: interval.and_then(|i| blocks_like((i.high - i.low) / 2.0, blocks, REPORTED)),
            error: rating.filter(|r| r.anchored).and_then(|r| r.error),
            fixed: rating.is_some_and(|r| r.fixed),
            anchored: rating.is_some_and(|r| r.anchored),
            elo: met.then(|| elos[k]),
            course: if met { std::mem::take(&mut courses[k]) } else { RatingHistory::default() },
            tokens: samples.iter().map(|s| s.own().tokens).fold(TokenUse::default(), TokenUse::plus),
            spent: samples.iter().map(|s| s.own().spent).fold(SeatCost::default(), SeatCost::plus),
            mu: skill.map(|skill| skill.mu),
            sigma: skill.map(|skill| skill.sigma),
            answers: Some(answers).filter(|answers| answers.total() > 0),
            games: played,
            tally,
            metrics: USUAL.iter().filter_map(|m| Some((m.id, m.usual(&rows)?))).collect(),
        }
    });
    let mut rows: Vec<(usize, AgentRow)> = rows.enumerate().collect();
    rows.sort_by(|(_, a), (_, b)| {
        let of = |r: &AgentRow| r.rating.unwrap_or(f64::NEG_INFINITY);
        let paid = |r: &AgentRow| r.metrics.get("mean_return").map_or(f64::NEG_INFINITY, |m| m.value);
        of(b).total_cmp(&of(a)).then(paid(b).total_cmp(&paid(a))).then_with(|| a.name.cmp(&b.name))
    });
    let order: Vec<usize> = rows.iter().map(|(k, _)| *k).collect();
    Scale {
        name: name(spec, options),
        game: spec.game.clone(),
        title: spec.title.clone(),
        string: spec.string.clone(),
        part: games[0].part.clone(),
        rules: spec.rules,
        hash: spec.hash.clone(),
        games: games.len(),
        blocks: pairs.len() + unpaired,
        draws: ratings.draws,
        constants: fixed.iter().map(|&(k, r)| (labels[&agents[k]].clone(), r)).collect(),
        seats,
        agents: rows.into_iter().map(|(_, row)| row).collect(),
        crosstable: order.iter().map(|&a| order.iter().map(|&b| table[a][b]).collect()).collect(),
    }
}

fn seat_rows(spec: &Spec, games: &[PlayedGame]) -> Vec<SeatScores> {
    let seats = spec.players as usize;
    let by_seat = games.iter().map(|g| PlayedGame { seats: (0..seats).collect(), ..g.clone() });
    let table = crosstable(seats, by_seat);
    let row = |(seat, name): (usize, &String)| SeatScores { seat: name.clone(), tally: total(&table[seat]) };
    spec.seats.iter().enumerate().map(row).collect()
}

/// Returns the constants of a game. Constants are the anchors that the server ran, with their ladder ratings, and
/// `random`, with the rating of level 0. Anchors are identified by anchor spec or by the spec of their bot, so that no
/// client becomes an anchor by its name.
fn ladder_constants(agents: &[AgentLabel], spec: &Spec) -> Vec<(usize, f64)> {
    let random = agents.iter().enumerate().filter(|(_, key)| key.1 == Some("random"));
    let mut out: Vec<(usize, f64)> = random.map(|(k, _)| (k, 0.0)).collect();
    let rungs =
        agents.iter().enumerate().filter_map(|(k, key)| Some((k, rung(spec, key.1.filter(|s| *s != "random")?)?)));
    out.extend(rungs);
    out
}

/// Returns the agents with a constant rating, found by label, spec or name. If several agents match, only the agents
/// that the server ran are constants.
fn constants(
    agents: &[AgentLabel],
    labels: &BTreeMap<AgentLabel, String>,
    given: &BTreeMap<String, f64>,
) -> Vec<(usize, f64)> {
    let mut out = Vec::new();
    for (wanted, &rating) in given {
        let named = |key: &&AgentLabel| labels[*key] == *wanted || key.1 == Some(wanted) || key.0 == *wanted;
        let able: Vec<&AgentLabel> = agents.iter().filter(named).collect();
        let served = able.iter().any(|key| key.1.is_some());
        let chosen = agents.iter().enumerate().filter(|(_, key)| able.contains(key) && key.1.is_some() == served);
        out.extend(chosen.map(|(k, _)| (k, rating)));
    }
    out
}

/// Returns the name `game@rules/digest`, with the digest of the ladder, or of the constants that replace the ladder.
fn name(spec: &Spec, options: &RatingOptions) -> String {
    let Some(given) = &options.fixed else {
        return anchor_ladder::scale(&spec.string, spec.rules, &spec.anchors);
    };
    let rung = |(bot, (agent, &rating)): (u32, (&String, &f64))| Anchor {
        level: 0,
        bot,
        agent: agent.clone(),
        rating: Some(rating),
        low: None,
        high: None,
    };
    anchor_ladder::scale(&spec.string, spec.rules, &(0..).zip(given).map(rung).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
