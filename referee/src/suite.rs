//! Suites: plans of matches as data. A suite defines the games with their parameters, the opponents, seeds, seats and
//! policies, and the content of reports. The candidates are not part of the suite.
//!
//! `referee/suites/reference.toml` explains the format: it uses every field, and a test reads it.

pub mod converge;
pub mod figure;
pub mod plan;
pub mod roles;
pub mod rubric;
mod seating;
pub mod selection;
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
use self::figure::{Along, Figure, KnownPart};
use self::roles::Role;
use self::rubric::Rubric;
pub use self::seating::{Order, Seats};
use self::summary::Summary;
use self::sweep::Sweep;
use self::variants::{Variant, check_names};
use crate::metric::{MetricQuery, MetricSpec, known_marks};
use crate::schedule::Deals;

/// Built-in suites by name.
pub const SUITES: &[(&str, &str)] = &[
    ("quick", include_str!("../suites/quick.toml")),
    ("absolute", include_str!("../suites/absolute.toml")),
    ("botzonebench", include_str!("../suites/botzonebench.toml")),
    ("gtbench", include_str!("../suites/gtbench.toml")),
    ("llmarena", include_str!("../suites/llmarena.toml")),
    ("advgamebench", include_str!("../suites/advgamebench.toml")),
    ("qitown", include_str!("../suites/qitown.toml")),
    ("robustness", include_str!("../suites/robustness.toml")),
    ("reference", include_str!("../suites/reference.toml")),
];

/// Ids of the figures that every report has.
const RESERVED: [&str; 6] = ["overall", "leaderboard", "summaries", "cost", "frontier", "wordings"];

/// Maximum number of blocks of a part, and maximum number of cycles.
const MOST: u64 = 100_000;

/// Description of an error in a suite: the problem, its location and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SuiteError(pub String);

/// Suite as defined in its file. Policy fields that a part omits are filled in from the suite's policy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name: lowercase letters, digits, `_` and `-`.
    pub name: String,
    /// Version, raised with every change that affects results.
    pub version: u32,
    pub title: String,
    /// Purpose of the suite, and source of its protocol.
    #[serde(default)]
    pub about: String,
    /// Seed that, with the part and the block, determines the seeds of matches. Unused if a run has a secret.
    #[serde(default)]
    pub seed: u64,
    /// Sharing of seeds between the matches of a block. A run may override this setting.
    #[serde(default)]
    pub deals: Deals,
    /// Match policy, unless a part overrides it.
    #[serde(default)]
    pub policy: MatchPolicy,
    /// Default arguments for all `llm` agents, candidates and opponents. Arguments in an agent's spec take precedence.
    #[serde(default)]
    pub llm: toml::Table,
    /// Contents of the files named in parts, so that the suite does not depend on its directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Named groups of opponents.
    #[serde(default, rename = "role", skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Variants of the candidates, each of which replaces its candidate in all parts.
    #[serde(default, rename = "variant", skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// Wordings of the prompts: every candidate, or each of its variants, plays in each of them.
    #[serde(default, rename = "paraphrase", skip_serializing_if = "Vec::is_empty")]
    pub paraphrases: Vec<Variant>,
    #[serde(default, rename = "summary", skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Summary>,
    /// Parts, in the order in which reports list them.
    #[serde(rename = "part")]
    pub parts: Vec<PartSpec>,
    /// Questions about decisions, which people or a judge model answer by labels.
    #[serde(default, rename = "rubric", skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
    /// Tables and figures of reports, in order.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Id of the figure with the suite's main result, which comes first in reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// False if anchored ratings say nothing about the results of the suite. Reports then omit the leaderboard of ratings.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub ratings: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct MatchPolicy {
    /// Maximum number of refused replies in one turn.
    pub tries: u32,
    /// Policy after the last refusal.
    pub illegal: After,
    /// Policy for unparsed replies. If set, they are counted separately from illegal moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unparsed: Option<After>,
    /// True to play a seat's only legal action without requesting a move.
    pub skip_forced: bool,
    /// Time limit per move in seconds; agents that cannot be interrupted may take longer.
    pub limit_s: u64,
    /// Seconds for which a remote agent may be disconnected in one match, during which its clock stands still; `None`:
    /// without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_s: Option<u64>,
    pub on_timeout: OnTimeout,
    /// Maximum number of repetitions of a match after infrastructure failures. If the last repetition fails, the match
    /// is discarded.
    pub rematches: u32,
    /// Policy for a match that ended because an opponent from the suite failed.
    #[serde(skip_serializing_if = "OpponentFault::is_default")]
    pub opponent_fault: OpponentFault,
    /// Policy for a match ended by an illegal move.
    pub invalid: Invalid,
    /// Limit for `invalid = "replay"`: a pairing plays at most its number of planned matches times this factor.
    pub replay_factor: u32,
}

/// Policy after refused replies in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "forfeit, random or default, or a table such as { tries = 2, then = \"default\" }")]
pub enum After {
    /// Consequence of the last refusal, after the number of attempts in [`MatchPolicy::tries`].
    Tries(IllegalPolicy),
    /// Consequence of the last refusal, after the number of attempts in [`OwnTries::tries`].
    Own(OwnTries),
}

/// Number of attempts, instead of [`MatchPolicy::tries`], and the consequence of the last refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTries {
    /// Maximum number of refused replies in one turn.
    pub tries: u32,
    /// Consequence of the last refusal.
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
    /// Returns the policy for refused replies.
    pub fn illegal(&self) -> IllegalMoveRules {
        let Refusals { policy, tries } = self.illegal.refusals(self.tries);
        IllegalMoveRules { policy, tries, unparsed: self.unparsed.map(|after| after.refusals(self.tries)) }
    }

    fn check(&self) -> Result<(), String> {
        let in_range = |name: &str, n: u64, least: u64, most: u64| {
            let fits = (least..=most).contains(&n);
            if fits { Ok(()) } else { Err(format!("{name}: expected {least} to {most}, got {n}")) }
        };
        in_range("tries", self.tries.into(), 1, 100)?;
        let illegal = self.illegal();
        in_range("illegal.tries", illegal.tries.into(), 1, 100)?;
        in_range("unparsed.tries", illegal.unparsed.map_or(1, |unparsed| unparsed.tries.into()), 1, 100)?;
        in_range("limit_s", self.limit_s, 1, 86_400)?;
        in_range("away_s", self.away_s.unwrap_or(0), 0, 2_592_000)?;
        // At most one: the names of episodes do not number the rematches of a match.
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
            away_s: None,
            on_timeout: OnTimeout::Error,
            rematches: 1,
            opponent_fault: OpponentFault::Discard,
            invalid: Invalid::Count,
            replay_factor: 2,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// Infrastructure failure: the match is played again.
    #[default]
    Error,
    /// Loss for the seat that timed out.
    Forfeit,
}

/// Policy for a match in which an opponent from the suite failed. A missing reply and a timeout are failures. An
/// illegal move is a failure unless the opponent is a language model. The result of such a match does not measure the
/// candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpponentFault {
    /// Infrastructure failure: the match is played again, and discarded after further failures.
    #[default]
    Discard,
    /// Win for the candidate.
    Count,
}

impl OpponentFault {
    // Not written by default: tournaments store their policy as text, and older versions lack this field.
    fn is_default(&self) -> bool {
        *self == OpponentFault::default()
    }
}

/// Policy for a match ended by an illegal move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Invalid {
    /// Loss for the offender.
    #[default]
    Count,
    /// Replay: the match does not count, and a new match replaces it.
    Replay,
}

/// Part of a suite: one game with its schedule and policy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// Name in results: lowercase letters, digits, `_` and `-`.
    pub id: String,
    /// Game with parameters, e.g. `breakthrough(rows=8,columns=3)` or `chess(preset=qitown)`.
    pub game: String,
    pub schedule: Schedule,
    /// Opponents of the candidate (with `against`): agent specs, and `@NAME` for the agents of a [`Role`].
    #[serde(default)]
    pub opponents: Vec<String>,
    /// True to treat a candidate and an opponent with equal specs as one agent, which then also plays against itself.
    /// If false, the opponent is a separate agent.
    #[serde(default, rename = "self", skip_serializing_if = "std::ops::Not::not")]
    pub itself: bool,
    /// Game parameters that vary inside a block. For each value, the block has one match per seating, on the seed of
    /// the block.
    #[serde(default, skip_serializing_if = "Sweep::is_empty")]
    pub sweep: Sweep,
    /// Number of blocks (matches on one seed) for each pairing; with `climb` and `bisect`, for each level.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// Stopping rule of the schedule `converge`; replaces `blocks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Number of blocks at level 0 of a ladder, where fewer blocks are enough.
    #[serde(default)]
    pub blocks_of_random: Option<u64>,
    /// Seatings of a block: one text per match, with one letter per seat. `a` is the candidate (the first entrant of a
    /// pairing), `b` the opponent. Letters `c` to `h` stand for further entrants: candidates with `round_robin`,
    /// opponents with `against`. Default: one match per seat, in which `a` has this seat and `b` all other seats.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Source of the seatings: the field `tables`, all permutations of the entrants, or a random draw.
    #[serde(default, skip_serializing_if = "Seats::is_default")]
    pub seats: Seats,
    /// Order of the matches: block by block, seating by seating, or random.
    #[serde(default)]
    pub order: Order,
    /// Number of cycles of a round robin. Each cycle has its own seeds.
    #[serde(default = "one")]
    pub cycles: u32,
    /// File of [starts], one per line: block k starts with line k.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// Maximum number of the candidate's decisions in a match. A longer match is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u32>,
    /// Phases whose replies are cached by game, seat and view. Later matches reuse the cached replies.
    #[serde(default, alias = "once", skip_serializing_if = "Vec::is_empty")]
    pub cache_answers: Vec<String>,
    /// True if a draw is the best possible result against the top level; progress then counts draws.
    #[serde(default)]
    pub drawn: bool,
    /// Arguments for `llm` agents, which take precedence over the suite's arguments.
    #[serde(default)]
    pub llm: toml::Table,
    /// Variants of the candidate for ablations, each of which plays the whole part.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// Match policy. Missing fields default to the suite's policy.
    #[serde(default)]
    pub policy: Option<MatchPolicy>,
    /// Metrics besides wins, draws and losses: ids, or tables with the id and arguments.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// Groups for averages, e.g. `board`, `bluff`.
    #[serde(default)]
    pub groups: Vec<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Each candidate meets each of the opponents.
    Against,
    /// Each candidate meets the levels of the game's ladder, from the lowest upward, until it fails a level.
    Climb,
    /// Each candidate meets levels of the game's ladder; bisection finds the first level that it fails.
    Bisect,
    /// Each candidate meets every other candidate.
    RoundRobin,
    /// The candidates meet in random pairs until their ratings converge, see [`Stop`].
    Converge,
    /// A candidate plays on all seats.
    SelfPlay,
}

impl Suite {
    /// Returns the text of a built-in suite.
    ///
    /// # Errors
    /// Returns an error for an unknown name, with a list of the built-in names.
    pub fn builtin_text(name: &str) -> Result<&'static str, SuiteError> {
        let found = SUITES.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| {
            let names: Vec<&str> = SUITES.iter().map(|s| s.0).collect();
            let hint = did_you_mean(name, &names);
            SuiteError(format!("unknown suite {name:?}{hint}. A path to a suite file is also allowed"))
        })
    }

    /// Parses a suite, and checks everything that does not depend on the agents.
    ///
    /// # Errors
    /// Returns an error with the line if the text is not a suite, or an error with the part if a game, a table or a
    /// metric is invalid.
    pub fn parse(text: &str, games: &Games) -> Result<Suite, SuiteError> {
        let wrong = |e: toml::de::Error| SuiteError(e.to_string().trim_end().to_owned());
        let mut suite: Suite = toml::from_str(text).map_err(wrong)?;
        suite.lay_policies(&toml::from_str(text).map_err(wrong)?).map_err(wrong)?;
        if !is_word(&suite.name) {
            return Err(SuiteError(format!("name = {:?}: expected lowercase letters, digits, _ and -", suite.name)));
        }
        if suite.parts.is_empty() {
            return Err(SuiteError("expected at least one [[part]], got none".into()));
        }
        suite.policy.check().map_err(|why| SuiteError(format!("policy: {why}")))?;
        let mut ids = BTreeSet::new();
        for part in &suite.parts {
            if !is_word(&part.id) || !ids.insert(&part.id) {
                let why = "expected lowercase letters, digits, _ and -, used by one part only";
                return Err(SuiteError(format!("part id = {:?}: {why}", part.id)));
            }
            let opponents = suite.count_opponents(part);
            let checked = opponents.and_then(|opponents| part.check(games, &suite.files, opponents));
            checked.map_err(|why| SuiteError(format!("part {:?}: {why}", part.id)))?;
        }
        suite.check_roles().map_err(SuiteError)?;
        suite.check_variants().map_err(SuiteError)?;
        suite.check_summaries().map_err(SuiteError)?;
        suite.check_figures_and_rubrics(games)?;
        Ok(suite)
    }

    /// Checks that the parts have the data for each figure and for each rubric.
    fn check_figures_and_rubrics(&self, games: &Games) -> Result<(), SuiteError> {
        let mut known = Vec::new();
        // Loading a game takes time, so games are loaded only if the suite has figures or rubrics.
        for part in self.parts.iter().filter(|_| !self.figures.is_empty() || !self.rubrics.is_empty()) {
            let game = part.load(games).map_err(SuiteError)?;
            known.push(KnownPart { id: &part.id, marks: known_marks(&*game) });
        }
        self.check_rubrics(&known).map_err(SuiteError)?;
        self.check_figures(&known)
    }

    fn check_figures(&self, known: &[KnownPart]) -> Result<(), SuiteError> {
        let mut ids = BTreeSet::new();
        for figure in &self.figures {
            if !is_word(&figure.id) || !ids.insert(&figure.id) || RESERVED.contains(&figure.id.as_str()) {
                let why = format!(
                    "expected lowercase letters, digits, _ and -, used by one figure only, and not {}",
                    RESERVED.join(" or ")
                );
                return Err(SuiteError(format!("figure id = {:?}: {why}", figure.id)));
            }
            figure.select.check(self).map_err(|why| SuiteError(format!("figure {:?}: {why}", figure.id)))?;
            figure.check(known).map_err(|why| SuiteError(format!("figure {:?}: {why}", figure.id)))?;
            let of_suite =
                self.parts.iter().flat_map(|part| self.variants_in(&part.id)).map(|(variant, _)| variant.name);
            let of_parts = self.parts.iter().flat_map(|part| &part.variants).map(|variant| variant.name.clone());
            let variants: Vec<String> = of_suite.chain(of_parts).collect();
            let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
            let of_variants = figure.baseline.as_deref().filter(|_| figure.rows == Some(Along::Variant));
            if let Some(name) = of_variants.filter(|name| !variants.contains(name)) {
                let why = format!("baseline: unknown variant {name:?}{}", did_you_mean(name, &variants));
                return Err(SuiteError(format!("figure {:?}: {why}", figure.id)));
            }
        }
        match self.headline.as_ref().filter(|id| !ids.contains(id)) {
            Some(id) => {
                Err(SuiteError(format!("headline: unknown figure {id:?}{}", did_you_mean(id, &Vec::from_iter(&ids)))))
            }
            None => Ok(()),
        }
    }

    /// Replaces the roles in the conditions of figures, summaries and rubrics by the names of their agents.
    fn name_selected(&mut self) {
        let mut figures = std::mem::take(&mut self.figures);
        figures.iter_mut().for_each(|figure| figure.select = figure.select.with_names(self));
        let mut summaries = std::mem::take(&mut self.summaries);
        summaries.iter_mut().for_each(|summary| summary.select = summary.select.with_names(self));
        let mut rubrics = std::mem::take(&mut self.rubrics);
        rubrics.iter_mut().for_each(|rubric| rubric.select = rubric.select.with_names(self));
        (self.figures, self.summaries, self.rubrics) = (figures, summaries, rubrics);
    }

    /// Returns the groups of parts in the order of the suite, as (name, ids of the parts).
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

    /// Fills missing fields of each part's policy from the suite's policy.
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

    /// Removes all parts that `only` does not list. An empty list keeps all parts.
    ///
    /// # Errors
    /// Returns an error for a part that the suite does not have.
    pub fn keep_only(&mut self, only: &[String]) -> Result<(), SuiteError> {
        if let Some(other) = only.iter().find(|id| self.parts.iter().all(|part| part.id != **id)) {
            let ids: Vec<&str> = self.parts.iter().map(|part| part.id.as_str()).collect();
            return Err(SuiteError(format!("{} has no part {other:?}; its parts: {}", self.name, ids.join(", "))));
        }
        self.parts.retain(|part| only.is_empty() || only.contains(&part.id));
        // Drop figures and rubrics without any remaining part.
        self.figures.retain(|figure| self.parts.iter().any(|part| figure.has(&part.id)));
        self.rubrics.retain(|rubric| self.parts.iter().any(|part| rubric.has(&part.id)));
        Ok(())
    }

    /// Returns the digest of the suite's text: the first 16 digits of the SHA-256 in hex.
    pub fn digest(text: &str) -> String {
        hex::encode(&Sha256::digest(text)[..8])
    }

    /// Returns the match policy of a part.
    pub fn policy<'a>(&'a self, part: &'a PartSpec) -> &'a MatchPolicy {
        part.policy.as_ref().unwrap_or(&self.policy)
    }
}

impl PartSpec {
    fn check(&self, games: &Games, files: &BTreeMap<String, String>, opponents: usize) -> Result<(), String> {
        let game = self.load(games)?;
        let seats = game.spec().players as usize;
        match (self.schedule, self.opponents.is_empty()) {
            (Schedule::Against, true) => return Err("schedule = \"against\" needs opponents".into()),
            (Schedule::Against, false) | (_, true) => {}
            (_, false) => return Err("opponents are for schedule = \"against\" only".into()),
        }
        let distinct: BTreeSet<&str> = self.opponents.iter().map(|o| o.trim()).collect();
        if distinct.len() < self.opponents.len() {
            return Err("opponents: expected each opponent once, got a duplicate; set blocks for more matches".into());
        }
        if matches!(self.schedule, Schedule::Climb | Schedule::Bisect) && game.spec().anchors.len() < 2 {
            return Err(format!("expected a game with an anchor ladder, got {}", game.spec().string));
        }
        self.check_stop()?;
        if self.cycles != 1 && self.schedule != Schedule::RoundRobin {
            return Err("cycles is for schedule = \"round_robin\" only; set blocks in other schedules".into());
        }
        let counts = [
            if self.stop.is_some() { 1 } else { self.blocks },
            self.blocks_of_random.unwrap_or(1),
            u64::from(self.cycles),
        ];
        if counts.iter().any(|n| !(1..=MOST).contains(n)) {
            return Err(format!("blocks, blocks_of_random and cycles: expected 1 to {MOST} each, got {counts:?}"));
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
        self.check_cache_answers(&game)?;
        check_names(&self.variants).map_err(|why| format!("variants: {why}"))
    }

    /// Loads the part's game.
    ///
    /// # Errors
    /// Same as [`Games::load`].
    pub fn load(&self, games: &Games) -> Result<GameRef, String> {
        games.load(&self.game).map_err(|e| e.to_string())
    }

    /// Checks that the game has the phases in `cache_answers`.
    fn check_cache_answers(&self, game: &GameRef) -> Result<(), String> {
        let schemas = game.spec().document_schemas.iter().flat_map(|schemas| schemas.keys());
        let phases: BTreeSet<&str> = schemas.map(|key| key.split('/').next().unwrap_or(key)).collect();
        match self.cache_answers.iter().find(|name| !phases.contains(name.as_str())) {
            None => Ok(()),
            Some(other) if phases.is_empty() => {
                Err(format!("cache_answers = {other:?}: {} has no phases", game.spec().string))
            }
            Some(other) => {
                let phases = phases.into_iter().collect::<Vec<_>>().join(", ");
                Err(format!("cache_answers: expected phases of {} ({phases}), got {other:?}", game.spec().string))
            }
        }
    }

    /// Checks that the schedule has exactly one stopping rule: `stop`, or a number of blocks.
    fn check_stop(&self) -> Result<(), String> {
        let Some(stop) = &self.stop else {
            let needs = self.schedule == Schedule::Converge;
            return if needs {
                Err("schedule = \"converge\" needs stop, the convergence criterion".into())
            } else {
                Ok(())
            };
        };
        if self.schedule != Schedule::Converge {
            return Err("stop is for schedule = \"converge\" only".into());
        }
        if (self.blocks, self.blocks_of_random, self.cycles, self.order) != (0, None, 1, Order::Blocks) {
            return Err("schedule = \"converge\" takes stop instead of blocks, cycles and order".into());
        }
        stop.check()
    }
}

/// Returns true if a text can be part of an episode's name.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests;
