//! Cost estimates for runs. Before a run starts, a small part of the plan is played with free substitutes for language
//! models, and the result is scaled up.
//!
//! A substitute receives the model's move requests, so the actual prompts are rendered and measured. Length and duration
//! of replies were measured by `ludex agents check`, or are guessed from the prompting strategy; the estimate lists
//! guesses. If there is an earlier run of the same model ([`Pilot`]), that run supplies the moves per match and their
//! usage. Agents other than language models play without substitutes.

mod pilot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use ludex_agents::llm::{self, Forecast};
use ludex_agents::{Agent, AgentClass, AgentSpec, wrap};
use ludex_env::{GameRef, MoveRequest, Stream};
use ludex_referee::rating::table::Z95;
use ludex_referee::suite;
use ludex_referee::suite::plan::{Block, MatchScore, Plan, PlannedPart, Results, key};
use parking_lot::Mutex;
use rayon::prelude::*;
use serde::Serialize;

pub use self::pilot::Pilot;
use self::pilot::Spent;
use super::driver::setup;
use super::{RunPart, spec_in};
use crate::agents_file::MeasuredCalls;
use crate::local::{self, HostOptions, Participant};

/// Number of blocks per pairing that are played for an estimate.
const TRIED: u64 = 2;

/// Estimated cost of a part, or of all parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    pub matches: f64,
    /// Number of move requests to candidates.
    pub moves: f64,
    /// Number of language model calls.
    pub calls: f64,
    pub tokens_in: f64,
    pub tokens_out: f64,
    /// Cost in US dollars of the calls whose price is known.
    pub usd: f64,
    /// Number of calls whose price is unknown.
    pub unpriced: f64,
    /// Number of calls made in batches.
    pub batched: f64,
    /// Seconds spent waiting for endpoints, summed over all calls except batched calls, whose duration is unknown.
    pub waiting: f64,
    /// Seconds of computation by all agents on this machine.
    pub computing: f64,
}

impl Cost {
    fn add(&mut self, other: &Cost, times: f64) {
        self.matches += other.matches * times;
        self.moves += other.moves * times;
        self.calls += other.calls * times;
        self.tokens_in += other.tokens_in * times;
        self.tokens_out += other.tokens_out * times;
        self.usd += other.usd * times;
        self.unpriced += other.unpriced * times;
        self.batched += other.batched * times;
        self.waiting += other.waiting * times;
        self.computing += other.computing * times;
    }
}

/// Cost estimate of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunEstimate {
    pub parts: Vec<PartEstimate>,
    pub total: Cost,
    /// Cost in US dollars; `None` if a price is unknown.
    pub usd: Option<f64>,
    /// 95 % interval of [`usd`](RunEstimate::usd) by the spread of the pilot's blocks, with the normal approximation. `None`
    /// without a pilot that has two blocks of each model and game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_range: Option<[f64; 2]>,
    /// True if a pilot gave the usage of all models and games.
    #[serde(skip)]
    pub piloted: bool,
    /// Elapsed hours with the requested number of parallel matches.
    pub hours: f64,
    /// Quantities that were guessed, with instructions for measuring them.
    pub guesses: Vec<String>,
}

/// Cost estimate of a part.
#[derive(Clone, Debug, Serialize)]
pub struct PartEstimate {
    pub part: String,
    #[serde(flatten)]
    pub cost: Cost,
    /// Half the width of a rating's 95 % interval, in points, between agents of equal strength:
    /// `1.96 * 400 / ln 10 * 2 / sqrt(matches)`. `None` if the part is not played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<f64>,
    /// Reason why the part is not played, if it needs more candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Measurements that `ludex agents check` made of the candidates' calls, by candidate index.
pub type MeasuredCandidates = BTreeMap<usize, MeasuredCalls>;

/// Estimates the cost of a run.
///
/// `known` has the measured usage per call and the usage per match in an earlier run. The usage per match takes
/// precedence. `like` is the substitute for language models. Without `like`, the estimate is the mean of an estimate
/// with `random` and an estimate with the middle level of the anchor ladder.
///
/// # Errors
/// Returns an error if the substitute cannot play a game of the suite, or if an agent fails.
pub fn of(
    plan: &Plan,
    tables: &[RunPart],
    known: (&MeasuredCandidates, &Pilot),
    like: Option<&str>,
    jobs: usize,
) -> anyhow::Result<RunEstimate> {
    let models: BTreeSet<usize> = (0..plan.agents.len()).filter(|&who| is_model(plan, who)).collect();
    let mut likes: Vec<Option<&str>> = like.map_or_else(|| vec![Some("random"), None], |like| vec![Some(like)]);
    if models.is_empty() {
        likes.truncate(1);
    }
    let mut parts = vec![Cost::default(); plan.parts.len()];
    let mut guessed = BTreeSet::new();
    let mut plays_for_models = false;
    for like in &likes {
        let (small, meters) = substitutes(plan, known, &models, *like)?;
        plays_for_models |=
            meters.iter().flatten().flat_map(Meters::values).any(|substitute| substitute.spent.is_none());
        guessed.extend(
            (0..meters.len()).filter(|&part| meters[part].iter().flat_map(Meters::values).any(Substitute::guesses)),
        );
        let tried = play_sample(plan, tables, &small, &meters)?;
        parts.iter_mut().zip(tried).for_each(|(sum, cost)| sum.add(&cost, 1.0 / likes.len() as f64));
    }
    let mut total = Cost::default();
    parts.iter().for_each(|cost| total.add(cost, 1.0));
    let half = pilot_error(plan, &models, known.1)?.map(|variance| Z95 * variance.sqrt());
    let mut guesses = Vec::new();
    let usd = (total.unpriced == 0.0).then_some(total.usd);
    if usd.is_none() {
        guesses.push("dollars: no price is known; set price_in and price_out (USD per million tokens)".into());
    }
    if !guessed.is_empty() {
        let ids: Vec<&str> = guessed.iter().map(|&at| plan.parts[at].part.id.as_str()).collect();
        let place = if ids.len() == plan.parts.len() { String::new() } else { format!(" in {}", ids.join(", ")) };
        guesses.push(format!(
            "length and duration of answers{place}: by the prompting strategy; measure them with `ludex agents add` \
             and `ludex agents check`, or use --pilot RUN with an earlier run of the same agent in the same games"
        ));
    }
    if plays_for_models && like.is_none() {
        guesses.push(
            "length of the matches: mean of random and the middle anchor; set --stand-in to a similar agent".into(),
        );
    }
    if total.batched > 0.0 {
        // A batch has one request of each match in progress.
        let rows = (total.batched / (jobs.max(1) as f64).min(total.matches.max(1.0))).ceil();
        guesses.push(format!(
            "hours: excludes at least {rows} consecutive batches, each of which takes from minutes to 24 hours"
        ));
    }
    let cores = local::cores().min(jobs.max(1));
    let hours = (total.waiting / jobs.max(1) as f64).max(total.computing / cores as f64) / 3600.0;
    let width = |cost: &Cost| 1.96 * 400.0 / std::f64::consts::LN_10 * 2.0 / cost.matches.max(1.0).sqrt();
    let part = |(of, cost): (&PlannedPart, Cost)| {
        let points = (cost.matches > 0.0).then(|| width(&cost));
        PartEstimate { part: of.part.id.clone(), points, note: of.short_of(), cost }
    };
    let parts = plan.parts.iter().zip(parts).map(part).collect();
    let usd_range = usd.zip(half).map(|(usd, half)| [(usd - half).max(0.0), usd + half]);
    let piloted = !plays_for_models && !models.is_empty();
    Ok(RunEstimate { parts, total, usd, usd_range, piloted, hours, guesses })
}

/// Returns the variance of the estimated dollars of a plan; `None` if the pilot lacks a model or a game.
fn pilot_error(plan: &Plan, models: &BTreeSet<usize>, pilot: &Pilot) -> anyhow::Result<Option<f64>> {
    // Parts with the same model and game share the mean of the pilot, and so its error.
    let mut matches: BTreeMap<(String, String), (AgentSpec, f64)> = BTreeMap::new();
    for (at, part) in plan.parts.iter().enumerate() {
        for (pairing, _) in part.pairings() {
            let planned = part.planned(&pairing) as f64 / part.games.len() as f64;
            for &who in pairing.iter().filter(|who| models.contains(who)) {
                let spec = spec_in(plan, at, who)?;
                for game in &part.games {
                    let entry = matches.entry(pilot::key(&spec, &game.spec().game));
                    entry.or_insert_with(|| (spec.clone(), 0.0)).1 += planned;
                }
            }
        }
    }
    let mut sum = 0.0;
    for ((_, game), (spec, matches)) in &matches {
        let Some(spent) = pilot.spent(spec, game) else { return Ok(None) };
        let Some(variance) = spent.variance(spec, *matches)? else { return Ok(None) };
        sum += variance;
    }
    Ok((!matches.is_empty()).then_some(sum))
}

fn is_model(plan: &Plan, who: usize) -> bool {
    AgentSpec::parse(&plan.agents[who].spec).is_ok_and(|spec| spec.class() == AgentClass::Model)
}

/// Returns a plan with a few blocks per pairing, and the substitutes for language models by part and game.
fn substitutes(
    plan: &Plan,
    known: (&MeasuredCandidates, &Pilot),
    models: &BTreeSet<usize>,
    like: Option<&str>,
) -> anyhow::Result<(Plan, Vec<Vec<Meters>>)> {
    let mut suite = plan.suite.clone();
    for part in &mut suite.parts {
        if part.stop.take().is_some() {
            // Instead of matches between random pairs, every pairing plays a few blocks.
            (part.schedule, part.blocks) = (suite::Schedule::RoundRobin, TRIED);
        }
        part.blocks = part.blocks.min(TRIED);
        part.blocks_of_random = part.blocks_of_random.map(|n| n.min(TRIED));
    }
    let own: Vec<(String, String)> = plan
        .agents
        .iter()
        .filter(|e| e.candidate && e.variant.is_none())
        .map(|e| (e.name.clone(), e.spec.clone()))
        .collect();
    let small = Plan::new(suite, &own, 1.0, &ludex_games::builtin())?;
    let mut meters: Vec<Vec<Meters>> = Vec::new();
    for (at, part) in small.parts.iter().enumerate() {
        let here = || part.pairings().into_iter().flat_map(|(pairing, _)| pairing).filter(|who| models.contains(who));
        let of = |game| here().map(|who| Ok((who, substitute(plan, (at, who), game, known, like)?))).collect();
        meters.push(part.games.iter().map(of).collect::<anyhow::Result<Vec<Meters>>>()?);
    }
    Ok((small, meters))
}

/// Blocks of a pairing that were played for the estimate.
#[derive(Default)]
struct Pairing {
    cost: Cost,
    ends: Vec<MatchScore>,
}

/// Played blocks by part and pairing.
type Sample = Vec<BTreeMap<Vec<usize>, Pairing>>;

/// Plays the plan `small` and returns the estimated cost of each part of the whole plan.
fn play_sample(plan: &Plan, tables: &[RunPart], small: &Plan, meters: &[Vec<Meters>]) -> anyhow::Result<Vec<Cost>> {
    let mut done = Results::new();
    let mut found: Sample = Vec::new();
    found.resize_with(small.parts.len(), BTreeMap::new);
    loop {
        let due = small.next(&done);
        if due.is_empty() {
            break;
        }
        let tried: Vec<anyhow::Result<Tried>> =
            due.par_iter().map(|block| try_block(small, &tables[block.part], &meters[block.part], block)).collect();
        for (block, tried) in due.iter().zip(tried) {
            let (cost, matches) = tried?;
            let pairing = found[block.part].entry(block.pairing.clone()).or_default();
            pairing.cost.add(&cost, 1.0);
            pairing.ends.extend(matches.iter().map(|(_, end)| *end));
            done.extend(matches);
        }
    }
    let settled = settled(plan, &found);
    let cost = |(at, pairings): (usize, &BTreeMap<Vec<usize>, Pairing>)| {
        let part = &plan.parts[at];
        let mut sum = Cost::default();
        for (pairing, Pairing { cost, .. }) in pairings {
            // Both plans list the agents in the same order, so pairings of one plan are valid in the other.
            let planned = match part.part.stop {
                Some(_) => settled.get(&(at, pairing.clone())).copied().unwrap_or(0),
                None => part.planned(pairing),
            };
            sum.add(cost, planned as f64 / cost.matches.max(1.0));
        }
        sum
    };
    Ok(found.iter().enumerate().map(cost).collect())
}

/// Returns the estimated number of matches per pairing in parts with a stop rule. Results are resampled from the played
/// matches of the pairing.
fn settled(plan: &Plan, found: &Sample) -> BTreeMap<(usize, Vec<usize>), u64> {
    let mut counts = BTreeMap::new();
    if plan.parts.iter().all(|part| part.part.stop.is_none()) {
        return counts;
    }
    let (mut done, mut stream) = (Results::new(), Stream::from_text("ludex.v1:estimate"));
    loop {
        let mut due = plan.next(&done);
        due.retain(|block| plan.parts[block.part].part.stop.is_some());
        if due.is_empty() {
            return counts;
        }
        for block in due {
            let ends = found[block.part].get(&block.pairing).map_or(&[][..], |pairing| &pairing.ends);
            for of in &block.matches {
                let end = if ends.is_empty() { MatchScore::Invalid } else { ends[stream.below(ends.len())] };
                done.insert(key(&plan.parts[block.part].part.id, &block.pairing, block.index, of.turn), end);
                *counts.entry((block.part, block.pairing.clone())).or_default() += 1;
            }
        }
    }
}

/// Cost of a played block, and the scores of its matches.
type Tried = (Cost, Vec<(String, MatchScore)>);

/// Substitutes for language models in a game, by agent index.
type Meters = BTreeMap<usize, Substitute>;

fn try_block(small: &Plan, table: &RunPart, meters: &[Meters], block: &Block) -> anyhow::Result<Tried> {
    let mut cost = Cost::default();
    let mut matches = Vec::new();
    for due in &block.matches {
        let name = key(&table.id, &block.pairing, block.index, due.turn);
        let seen: Arc<Mutex<Cost>> = Arc::default();
        let players: Vec<Participant> =
            due.seats
                .iter()
                .map(|who| {
                    let player =
                        table.room(due.turn).players.get(who).with_context(|| {
                            format!("expected agent {who} among the players of this game, found none")
                        })?;
                    let candidate = small.agents[*who].candidate;
                    let agent = match meters[small.parts[block.part].game_at(due.turn)].get(who) {
                        Some(substitute) => substitute.metered(seen.clone())?,
                        None if candidate => count_moves(player.agent.clone(), seen.clone()),
                        None => return Ok(player.clone()),
                    };
                    Ok(Participant { agent, ..player.clone() })
                })
                .collect::<anyhow::Result<_>>()?;
        let players: Vec<&Participant> = players.iter().collect();
        let asking = HostOptions { skip_forced: table.policy.skip_forced, ..HostOptions::default() };
        let begun = Instant::now();
        let played = local::play_match(setup(table, block, due, "estimate", &name), &players, asking);
        let seconds = begun.elapsed().as_secs_f64();
        let judged = small.score_match(block.part, due.turn, &played.record);
        // A failure here will also occur in the run, which reports it.
        matches.push((name, judged));
        let seen = seen.lock();
        cost.add(&Cost { matches: 1.0, computing: seconds, ..seen.clone() }, 1.0);
    }
    Ok((cost, matches))
}

/// Substitute for a language model, with the settings of the model.
#[derive(Clone)]
struct Substitute {
    agent: Arc<dyn Agent>,
    spec: AgentSpec,
    game: GameRef,
    /// Measurements of the model's calls.
    measured: Option<MeasuredCalls>,
    /// Usage of the model in this game during the pilot run.
    spent: Option<Spent>,
}

fn substitute(
    plan: &Plan,
    (part, who): (usize, usize),
    game: &GameRef,
    (known, pilot): (&MeasuredCandidates, &Pilot),
    like: Option<&str>,
) -> anyhow::Result<Substitute> {
    let middle = || {
        let levels = game.spec().anchors.iter().map(|a| a.level).max().unwrap_or(0);
        format!("anchor level={}", levels.div_ceil(2))
    };
    let like = like.map_or_else(middle, str::to_owned);
    let agent = AgentSpec::parse(&like)?.build(game)?;
    let spec = spec_in(plan, part, who)?;
    let entrant = &plan.agents[who];
    let candidate = entrant.variant.as_ref().map_or(who, |variant| variant.candidate);
    // Measurements of replies without reasoning do not apply to replies with reasoning.
    let alike = llm::typical_out_tokens(&AgentSpec::parse(&entrant.spec)?)? == llm::typical_out_tokens(&spec)?;
    let measured = known.get(&candidate).filter(|_| alike).cloned();
    let spent = pilot.spent(&spec, &game.spec().game);
    Ok(Substitute { agent, spec, game: game.clone(), measured, spent })
}

impl Substitute {
    /// Returns true if usage must be guessed because the model's replies were not measured.
    fn guesses(&self) -> bool {
        self.measured.is_none() && self.spent.is_none()
    }

    /// Returns the substitute's agent for a match. The usage of the model is added to `seen`: once per match if the
    /// pilot run has the model's usage, otherwise per move request.
    fn metered(&self, seen: Arc<Mutex<Cost>>) -> anyhow::Result<Arc<dyn Agent>> {
        let Substitute { agent, spec, game, measured, spent } = self.clone();
        if let Some(spent) = spent {
            add(&seen, &spec, spent.moves(), &spent.forecast(&spec)?, spent.seconds());
            return Ok(agent);
        }
        let act = move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
            let forecast = llm::forecast(&spec, &game, ask, measured.as_ref().map(|m| m.tokens_out))?;
            // Without measurements, assume 0.5 s per call plus 1 s per 60 tokens.
            let seconds = match &measured {
                Some(measured) => measured.seconds * forecast.calls,
                None => 0.5 * forecast.calls + forecast.tokens_out / 60.0,
            };
            add(&seen, &spec, 1.0, &forecast, seconds);
            agent.act(ask)
        };
        // The substitute requests the history, because the measured prompts may contain earlier moves.
        Ok(Arc::new(wrap(agent, act).with_history()))
    }
}

/// Adds the usage of `moves` moves of a language model to `seen`.
fn add(seen: &Mutex<Cost>, spec: &AgentSpec, moves: f64, forecast: &Forecast, seconds: f64) {
    let batched = llm::uses_batching(spec);
    let mut seen = seen.lock();
    seen.moves += moves;
    seen.calls += forecast.calls;
    seen.tokens_in += forecast.tokens_in;
    seen.tokens_out += forecast.tokens_out;
    match forecast.usd {
        Some(usd) => seen.usd += usd,
        None => seen.unpriced += forecast.calls,
    }
    seen.batched += if batched { forecast.calls } else { 0.0 };
    seen.waiting += if batched { 0.0 } else { seconds };
}

/// Wraps a candidate's agent to count moves in `seen`.
fn count_moves(agent: Arc<dyn Agent>, seen: Arc<Mutex<Cost>>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
        seen.lock().moves += 1.0;
        agent.act(ask)
    }))
}
