//! Suites: plans of matches as data. A suite says which games are played with which parameters, against which
//! opponents, on which seeds and seats, under which policies, and what is reported. It does not say who is evaluated.
//!
//! `referee/suites/reference.toml` explains the format: it uses every field, and a test reads it.

pub mod converge;
pub mod plan;
pub mod roles;
mod seating;
pub mod shard;
pub mod starts;
pub mod summary;
pub mod sweep;
pub mod variants;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use ludex_env::{GameRef, Games};
use ludex_protocol::error::did_you_mean;
use ludex_protocol::record::{IllegalMoveRules, IllegalPolicy, Refusals};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::converge::Stop;
use self::roles::Role;
pub use self::seating::{Order, Seats};
use self::summary::Summary;
use self::sweep::Sweep;
use self::variants::{Variant, check_names};
use crate::metric::{MetricQuery, MetricSpec, known_marks};
use crate::report::figure::{Figure, spec::KnownPart};
use crate::schedule::Deals;

/// The built-in suites, by name.
pub const SUITES: &[(&str, &str)] = &[
    ("quick", include_str!("../suites/quick.toml")),
    ("absolute", include_str!("../suites/absolute.toml")),
    ("botzonebench", include_str!("../suites/botzonebench.toml")),
    ("gtbench", include_str!("../suites/gtbench.toml")),
    ("llmarena", include_str!("../suites/llmarena.toml")),
    ("advgamebench", include_str!("../suites/advgamebench.toml")),
    ("qitown", include_str!("../suites/qitown.toml")),
    ("reference", include_str!("../suites/reference.toml")),
];

/// Figures that every report has.
const RESERVED: [&str; 3] = ["overall", "leaderboard", "summaries"];

/// Largest number of blocks, and of cycles, of a part.
const MOST: u64 = 100_000;

/// Why a suite cannot be used: what is wrong, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SuiteError(pub String);

/// A plan of matches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name: a word of small letters, digits, `_` and `-`.
    pub name: String,
    /// Raised with every change that has an effect on results.
    pub version: u32,
    /// Heading of reports.
    pub title: String,
    /// What it is for, and whose protocol it follows.
    #[serde(default)]
    pub about: String,
    /// Seeds are drawn from this number, the part and the block, unless a run has a secret.
    #[serde(default)]
    pub seed: u64,
    /// Whether the matches of a block share its seed. A run may say otherwise.
    #[serde(default)]
    pub deals: Deals,
    /// How matches are held, unless a part says otherwise.
    #[serde(default)]
    pub policy: MatchPolicy,
    /// Arguments for `llm` agents, candidates and opponents, whose own spec does not give them.
    #[serde(default)]
    pub llm: toml::Table,
    /// The texts of files that parts name, so that the suite can be read where its folder is not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Opponents by the names of their roles.
    #[serde(default, rename = "role", skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Variants of the candidates, each of which plays all parts in a candidate's place.
    #[serde(default, rename = "variant", skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// Means over parts.
    #[serde(default, rename = "summary", skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Summary>,
    /// What is played, in the order of reports.
    #[serde(rename = "part")]
    pub parts: Vec<PartSpec>,
    /// The tables and drawings of its reports, in their order.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// How matches are held.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchPolicy {
    /// How many answers may be refused in one turn.
    pub tries: u32,
    /// What follows the last refusal.
    pub illegal: After,
    /// The same for answers that no parser understands, which are then counted apart from illegal moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<After>,
    /// Whether a seat with one legal action plays it without being asked.
    pub skip_forced: bool,
    /// Seconds for one move; agents that cannot be interrupted may take longer.
    pub limit_s: u64,
    /// What being late is.
    pub on_timeout: OnTimeout,
    /// How many times a match is replayed after an infrastructure failure; then it is discarded.
    pub rematches: u32,
    /// What a match is that a fault of the suite's own opponent ended.
    #[serde(skip_serializing_if = "OpponentFault::is_default")]
    pub opponent_fault: OpponentFault,
    /// What a match is that an illegal move ended.
    pub invalid: Invalid,
    /// With `invalid = "replay"`: a pairing plays at most this many times the matches that are wanted.
    pub replay_factor: u32,
}

/// What follows refused answers of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "forfeit, random or default, or a table such as { tries = 2, then = \"default\" }")]
pub enum After {
    /// This, after the policy's number of tries.
    Tries(IllegalPolicy),
    /// The same, with a number of its own.
    Own(OwnTries),
}

/// A number of tries, and what follows the last refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTries {
    /// How many answers may be refused in one turn.
    pub tries: u32,
    /// What follows the last refusal.
    pub then: IllegalPolicy,
}

impl After {
    fn refusals(self, tries: u32) -> Refusals {
        match self {
            After::Tries(policy) => Refusals { policy, tries },
            After::Own(OwnTries { tries, then }) => Refusals { policy: then, tries },
        }
    }
}

impl MatchPolicy {
    /// How matches treat refused answers.
    pub fn illegal(&self) -> IllegalMoveRules {
        let Refusals { policy, tries } = self.illegal.refusals(self.tries);
        IllegalMoveRules { policy, tries, unparsed: self.unparsed.map(|after| after.refusals(self.tries)) }
    }

    fn check(&self) -> Result<(), String> {
        let in_range = |name: &str, n: u64, least: u64, most: u64| {
            let fits = (least..=most).contains(&n);
            if fits { Ok(()) } else { Err(format!("{name} = {n}: from {least} to {most}")) }
        };
        in_range("tries", self.tries.into(), 1, 100)?;
        let illegal = self.illegal();
        in_range("illegal.tries", illegal.tries.into(), 1, 100)?;
        in_range("unparsed.tries", illegal.unparsed.map_or(1, |unparsed| unparsed.tries.into()), 1, 100)?;
        in_range("limit_s", self.limit_s, 1, 86_400)?;
        // At most one, so that no two records of a run have the same name.
        in_range("rematches", self.rematches.into(), 0, 1)?;
        in_range("replay_factor", self.replay_factor.into(), 1, 100)
    }
}

impl Default for MatchPolicy {
    fn default() -> Self {
        MatchPolicy {
            tries: 3,
            illegal: After::Tries(IllegalPolicy::Forfeit),
            unparsed: None,
            skip_forced: true,
            limit_s: 300,
            on_timeout: OnTimeout::Error,
            rematches: 1,
            opponent_fault: OpponentFault::Discard,
            invalid: Invalid::Count,
            replay_factor: 2,
        }
    }
}

/// What being late is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// An infrastructure failure: the match is played again.
    #[default]
    Error,
    /// The seat's own fault: it loses.
    Forfeit,
}

/// What a match is in which the suite's own opponent failed: it did not answer, answered too late, or, unless it is a language
/// model, made an illegal move. Such a match says nothing about the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpponentFault {
    /// An infrastructure failure: the match is played again, and then discarded.
    #[default]
    Discard,
    /// The candidate wins.
    Count,
}

impl OpponentFault {
    // Tournaments keep their policy as text, and the text of those that began earlier does not have this field.
    fn is_default(&self) -> bool {
        *self == OpponentFault::default()
    }
}

/// What a match is that an illegal move ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Invalid {
    /// Lost by the offender.
    #[default]
    Count,
    /// Not counted; another match is played instead.
    Replay,
}

/// One game of a suite, and how it is played.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// Its name in results: a word of small letters, digits, `_` and `-`.
    pub id: String,
    /// The game, with parameters, e.g. `breakthrough(rows=8,columns=3)` or `chess(preset=qitown)`.
    pub game: String,
    /// Who meets whom.
    pub schedule: Schedule,
    /// The candidate's opponents (with `against`): agents as they are written everywhere, and `@NAME` for those of a [`Role`].
    #[serde(default)]
    pub opponents: Vec<String>,
    /// Whether a candidate that is also an opponent, by its spec, is one agent on both sides and meets itself too. Otherwise an opponent
    /// is an agent of its own.
    #[serde(default, rename = "self", skip_serializing_if = "std::ops::Not::not")]
    pub itself: bool,
    /// Game parameters that vary inside a block, with their values: each value is one more match of each table on the same
    /// seed.
    #[serde(default, skip_serializing_if = "Sweep::is_empty")]
    pub sweep: Sweep,
    /// Blocks of matches on one seed for each pairing (with `climb` and `bisect`: for each level).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// When the ratings have settled (with `converge`, in the place of `blocks`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The same at level 0, where fewer are enough.
    #[serde(default)]
    pub blocks_of_random: Option<u64>,
    /// Who sits where in the matches of a block: one text for each match, one letter for each seat, `a` the candidate (the
    /// first of a pairing) and `b` the other. With letters up to `h` as many entrants meet: the candidates, or with `against` the
    /// candidate and that many opponents. Without it each side takes each seat once.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Whether the tables say who sits where, or as many entrants as there are seats take them in every order, or it is
    /// drawn.
    #[serde(default, skip_serializing_if = "Seats::is_default")]
    pub seats: Seats,
    /// Whether all tables of a block are played on one seed before the next seed, or the first table is played on all
    /// seeds first, or the order is drawn.
    #[serde(default)]
    pub order: Order,
    /// How many times a round robin is held, each time on other seeds.
    #[serde(default = "one")]
    pub cycles: u32,
    /// A file of [starts], one a line: block k begins at that of line k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// After how many decisions of the candidate a match is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u32>,
    /// Phases whose questions an agent is asked once for each game, seat and view; the answer is given again in later matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub once: Vec<String>,
    /// Whether a draw is the best possible result against the top level: then progress counts draws.
    #[serde(default)]
    pub drawn: bool,
    /// Arguments for `llm` agents, before those of the suite.
    #[serde(default)]
    pub llm: toml::Table,
    /// Variants of the candidate, each of which plays the whole part: for ablations.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// How matches are held. What the text leaves out is as in the suite's policy.
    #[serde(default)]
    pub policy: Option<MatchPolicy>,
    /// What is measured, beside wins, draws and losses: ids of metrics, or tables with the id and arguments.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// Groups that averages are taken over, e.g. `board`, `bluff`.
    #[serde(default)]
    pub groups: Vec<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn one() -> u32 {
    1
}

/// Who meets whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Each candidate meets each of the opponents.
    Against,
    /// Each candidate meets the levels of the game's ladder from the lowest up, until it fails one.
    Climb,
    /// Each candidate meets levels of the game's ladder; the first level that it fails is found by bisection.
    Bisect,
    /// The candidates meet each other.
    RoundRobin,
    /// The candidates meet in random pairs until their ratings have settled, see [`Stop`].
    Converge,
    /// A candidate takes all seats.
    SelfPlay,
}

impl Suite {
    /// The suite of a name that comes with the program, or of a text.
    ///
    /// # Errors
    /// A name that does not exist, with those that do.
    pub fn builtin_text(name: &str) -> Result<&'static str, SuiteError> {
        let found = SUITES.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| {
            let names: Vec<&str> = SUITES.iter().map(|s| s.0).collect();
            SuiteError(format!("there is no suite {name:?}{}, or a file of your own", did_you_mean(name, &names)))
        })
    }

    /// Reads a suite and checks everything that can be checked without the agents.
    ///
    /// # Errors
    /// The text is not a suite (with the line), or a game, a table or a metric does not exist (with the part).
    pub fn parse(text: &str, games: &Games) -> Result<Suite, SuiteError> {
        let wrong = |e: toml::de::Error| SuiteError(e.to_string().trim_end().to_owned());
        let mut suite: Suite = toml::from_str(text).map_err(wrong)?;
        suite.lay_policies(&toml::from_str(text).map_err(wrong)?).map_err(wrong)?;
        if !is_word(&suite.name) {
            return Err(SuiteError(format!("name = {:?}: a word of small letters, digits, _ and -", suite.name)));
        }
        if suite.parts.is_empty() {
            return Err(SuiteError("a suite has at least one [[part]]".into()));
        }
        suite.policy.check().map_err(|why| SuiteError(format!("policy: {why}")))?;
        let mut ids = BTreeSet::new();
        for part in &suite.parts {
            if !is_word(&part.id) || !ids.insert(&part.id) {
                let why = "a word of small letters, digits, _ and -, used by one part only";
                return Err(SuiteError(format!("part id = {:?}: {why}", part.id)));
            }
            let opponents = suite.count_opponents(part);
            let checked = opponents.and_then(|opponents| part.check(games, &suite.files, opponents));
            checked.map_err(|why| SuiteError(format!("part {:?}: {why}", part.id)))?;
        }
        suite.check_roles().map_err(SuiteError)?;
        suite.check_variants().map_err(SuiteError)?;
        suite.check_summaries().map_err(SuiteError)?;
        suite.check_figures(games)?;
        Ok(suite)
    }

    /// Checks that each figure can be drawn from what the parts give.
    fn check_figures(&self, games: &Games) -> Result<(), SuiteError> {
        let mut known = Vec::new();
        // Loading a game takes time, and only figures need it here.
        for part in self.parts.iter().filter(|_| !self.figures.is_empty()) {
            let game = part.load(games).map_err(SuiteError)?;
            known.push(KnownPart { id: &part.id, marks: known_marks(&*game) });
        }
        let mut ids = BTreeSet::new();
        for figure in &self.figures {
            if !is_word(&figure.id) || !ids.insert(&figure.id) || RESERVED.contains(&figure.id.as_str()) {
                let why = format!(
                    "a word of small letters, digits, _ and -, used by one figure only, and not {}",
                    RESERVED.join(" or ")
                );
                return Err(SuiteError(format!("figure id = {:?}: {why}", figure.id)));
            }
            figure.check(&known).map_err(|why| SuiteError(format!("figure {:?}: {why}", figure.id)))?;
        }
        Ok(())
    }

    /// The groups of parts: their names, and the ids of their parts, in the order of the suite.
    pub fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut out: Vec<(String, Vec<String>)> = Vec::new();
        for part in &self.parts {
            for group in &part.groups {
                match out.iter_mut().find(|(name, _)| name == group) {
                    Some((_, ids)) => ids.push(part.id.clone()),
                    None => out.push((group.clone(), vec![part.id.clone()])),
                }
            }
        }
        out
    }

    /// Gives the policy of each part what its text leaves out and the suite's policy says.
    fn lay_policies(&mut self, text: &toml::Table) -> Result<(), toml::de::Error> {
        let table = |of: &toml::Table| of.get("policy").and_then(toml::Value::as_table).cloned();
        let parts = text.get("part").and_then(toml::Value::as_array).into_iter().flatten();
        for (part, own) in self.parts.iter_mut().zip(parts) {
            if let Some(own) = own.as_table().and_then(table) {
                let mut all = table(text).unwrap_or_default();
                all.extend(own);
                part.policy = Some(toml::Value::Table(all).try_into()?);
            }
        }
        Ok(())
    }

    /// Leaves out all parts but these; without any, all stay.
    ///
    /// # Errors
    /// A part that the suite does not have.
    pub fn keep_only(&mut self, only: &[String]) -> Result<(), SuiteError> {
        if let Some(other) = only.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
            let ids: Vec<&str> = self.parts.iter().map(|part| part.id.as_str()).collect();
            return Err(SuiteError(format!("{} has no part {other:?}; its parts: {}", self.name, ids.join(", "))));
        }
        self.parts.retain(|part| only.is_empty() || only.contains(&part.id));
        // A figure of parts that are not played has nothing to show.
        self.figures.retain(|figure| self.parts.iter().any(|part| figure.has(&part.id)));
        Ok(())
    }

    /// Names the suite's text: hex SHA-256, shortened.
    pub fn digest(text: &str) -> String {
        hex::encode(&Sha256::digest(text)[..8])
    }

    /// How the matches of a part are held.
    pub fn policy<'a>(&'a self, part: &'a PartSpec) -> &'a MatchPolicy {
        part.policy.as_ref().unwrap_or(&self.policy)
    }
}

impl PartSpec {
    fn check(&self, games: &Games, files: &BTreeMap<String, String>, opponents: usize) -> Result<(), String> {
        let game = self.load(games)?;
        let seats = game.spec().players as usize;
        match (self.schedule, self.opponents.is_empty()) {
            (Schedule::Against, true) => return Err("schedule against needs opponents".into()),
            (Schedule::Against, false) | (_, true) => {}
            (_, false) => return Err("opponents are for schedule = \"against\" only".into()),
        }
        let distinct: BTreeSet<&str> = self.opponents.iter().map(|o| o.trim()).collect();
        if distinct.len() < self.opponents.len() {
            return Err("an opponent is named twice; blocks says how often it is met".into());
        }
        if matches!(self.schedule, Schedule::Climb | Schedule::Bisect) && game.spec().anchors.len() < 2 {
            return Err(format!("{} has no ladder", game.spec().string));
        }
        self.check_stop()?;
        if self.cycles != 1 && self.schedule != Schedule::RoundRobin {
            return Err(
                "cycles is for schedule = \"round_robin\" only; elsewhere blocks says how much is played".into()
            );
        }
        let counts = [
            if self.stop.is_some() { 1 } else { self.blocks },
            self.blocks_of_random.unwrap_or(1),
            u64::from(self.cycles),
        ];
        if counts.iter().any(|n| !(1..=MOST).contains(n)) {
            return Err(format!("blocks, blocks_of_random and cycles are at least 1 and at most {MOST}"));
        }
        if let Some(policy) = &self.policy {
            policy.check()?;
        }
        self.check_seating(seats, opponents)?;
        self.check_sweep(games, seats)?;
        for ask in &self.metrics {
            MetricQuery::new(ask)?.check_marks(&*game)?;
        }
        starts::check(self, &game, files)?;
        self.check_once(&game)?;
        check_names(&self.variants)
    }

    /// The game.
    ///
    /// # Errors
    /// As [`Games::load`].
    pub fn load(&self, games: &Games) -> Result<GameRef, String> {
        games.load(&self.game).map_err(|e| e.to_string())
    }

    /// Checks that the game has the phases whose questions are asked once.
    fn check_once(&self, game: &GameRef) -> Result<(), String> {
        let schemas = game.spec().proposals.iter().flat_map(|schemas| schemas.keys());
        let phases: BTreeSet<&str> = schemas.map(|key| key.split('/').next().unwrap_or(key)).collect();
        match self.once.iter().find(|name| !phases.contains(name.as_str())) {
            None => Ok(()),
            Some(other) if phases.is_empty() => Err(format!("once = {other:?}: {} has no phases", game.spec().string)),
            Some(other) => {
                let phases = phases.into_iter().collect::<Vec<_>>().join(", ");
                Err(format!("once = {other:?}: {} has no such phase; it has {phases}", game.spec().string))
            }
        }
    }

    /// Checks that the schedule has an end, and one only.
    fn check_stop(&self) -> Result<(), String> {
        let Some(stop) = &self.stop else {
            let needs = self.schedule == Schedule::Converge;
            return if needs {
                Err("schedule converge needs stop: when the ratings have settled".into())
            } else {
                Ok(())
            };
        };
        if self.schedule != Schedule::Converge {
            return Err("stop is for schedule = \"converge\" only".into());
        }
        if (self.blocks, self.blocks_of_random, self.cycles, self.order) != (0, None, 1, Order::Blocks) {
            return Err("with schedule converge, stop says how much is played: without blocks, cycles and order".into());
        }
        stop.check()
    }
}

/// Whether a text can be part of an episode's name.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests;
