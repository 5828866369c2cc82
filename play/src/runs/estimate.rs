//! Estimates the cost of a run before it is played. A small part of the plan is played, with agents of this program in the
//! place of language models, which cost nothing; the result is multiplied.
//!
//! A stand-in gets the questions that the model would get, so the prompts are rendered and measured as they would be sent. The
//! length of the answers and their time are known once `ludex agents check` has asked the model. Until then they are guessed
//! from the prompting strategy, and the estimate says so. An earlier run of the same model ([`Pilot`]) tells more: its moves in a
//! match and all that they used, game by game. Agents of this program and external programs play themselves.

mod pilot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use ludex_agents::llm::{self, Forecast};
use ludex_agents::{Agent, AgentClass, AgentSpec, wrap};
use ludex_env::{GameRef, MoveRequest, Stream};
use ludex_referee::suite;
use ludex_referee::suite::plan::{Block, MatchScore, Plan, PlannedPart, Results, key};
use rayon::prelude::*;
use serde::Serialize;

pub use self::pilot::Pilot;
use self::pilot::Spent;
use super::driver::setup;
use super::{RunPart, spec_in};
use crate::agents_file::MeasuredCalls;
use crate::local::{self, HostOptions, Participant};

/// Blocks of each pairing that are tried.
const TRIED: u64 = 2;

/// The cost of a part, or of all parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Matches.
    pub matches: f64,
    /// Moves that the candidates are asked for.
    pub moves: f64,
    /// Calls of language models.
    pub calls: f64,
    /// Tokens read.
    pub tokens_in: f64,
    /// Tokens written.
    pub tokens_out: f64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
    /// Calls without a known price.
    pub unpriced: f64,
    /// Those of the calls that are asked in batches.
    pub batched: f64,
    /// Seconds of waiting for endpoints, all calls one after the other. Nobody knows how long batches take, so their calls are left out.
    pub waiting: f64,
    /// Seconds of computing, of all agents on this machine.
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

/// An estimate of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunEstimate {
    /// By part.
    pub parts: Vec<PartEstimate>,
    /// Of the whole.
    pub total: Cost,
    /// US dollars; absent where a price is not known.
    pub usd: Option<f64>,
    /// Hours by the clock, with the requested number of matches at a time.
    pub hours: f64,
    /// What is guessed, and how it could be known.
    pub guesses: Vec<String>,
}

/// An estimate of a part.
#[derive(Clone, Debug, Serialize)]
pub struct PartEstimate {
    /// The part's id.
    pub part: String,
    /// What it costs.
    #[serde(flatten)]
    pub cost: Cost,
    /// Half the width of the 95 % interval of a rating, in points, at even strength: `1.96 * 400 / ln 10 * 2 / sqrt(matches)`;
    /// absent where nothing is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<f64>,
    /// Why nothing is played, if the part needs more candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What `ludex agents check` measured of the candidates' calls, by the candidate's index.
pub type MeasuredCandidates = BTreeMap<usize, MeasuredCalls>;

/// Estimates a run. `pilot` tells what a match of a language model uses; where it does not, `known` tells what a call uses.
/// `like` is the agent that plays in the place of language models. Without it, the estimate is the mean of two: with `random`,
/// and with the middle of the ladder.
///
/// # Errors
/// A stand-in that does not play a game of the suite, or a failure of an agent that is tried.
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
        let (small, meters) = stand_ins(plan, known, &models, *like)?;
        plays_for_models |= meters.iter().flatten().flat_map(Meters::values).any(|stand_in| stand_in.spent.is_none());
        guessed.extend(
            (0..meters.len()).filter(|&part| meters[part].iter().flat_map(Meters::values).any(StandIn::guesses)),
        );
        let tried = tried(plan, tables, &small, &meters)?;
        parts.iter_mut().zip(tried).for_each(|(sum, cost)| sum.add(&cost, 1.0 / likes.len() as f64));
    }
    let mut total = Cost::default();
    parts.iter().for_each(|cost| total.add(cost, 1.0));
    let mut guesses = Vec::new();
    let usd = (total.unpriced == 0.0).then_some(total.usd);
    if usd.is_none() {
        guesses.push("dollars: no price is known; price_in and price_out say dollars for a million tokens".into());
    }
    if !guessed.is_empty() {
        let ids: Vec<&str> = guessed.iter().map(|&at| plan.parts[at].part.id.as_str()).collect();
        let place = if ids.len() == plan.parts.len() { String::new() } else { format!(" in {}", ids.join(", ")) };
        guesses.push(format!(
            "length of the answers and seconds for each{place}: by the prompting strategy; `ludex agents add` and `ludex agents check` \
             measure them, and --pilot RUN takes them from an earlier run of the same agent in the same games"
        ));
    }
    if plays_for_models && like.is_none() {
        guesses.push("length of the matches: between one who plays at random and the middle of the ladder; --stand-in AGENT says how it plays".into());
    }
    if total.batched > 0.0 {
        // A batch has one question of each match that is under way.
        let rows = (total.batched / (jobs.max(1) as f64).min(total.matches.max(1.0))).ceil();
        guesses.push(format!(
            "hours: without the time of batches, at least {rows} of them one after the other, which take minutes to 24 hours each"
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
    Ok(RunEstimate { parts, total, usd, hours, guesses })
}

fn is_model(plan: &Plan, who: usize) -> bool {
    AgentSpec::parse(&plan.agents[who].spec).is_ok_and(|spec| spec.class() == AgentClass::Model)
}

/// A plan of a few blocks of each pairing, and in each of its parts and games the stand-ins of the language models, which play as
/// `like` does.
fn stand_ins(
    plan: &Plan,
    known: (&MeasuredCandidates, &Pilot),
    models: &BTreeSet<usize>,
    like: Option<&str>,
) -> anyhow::Result<(Plan, Vec<Vec<Meters>>)> {
    let mut suite = plan.suite.clone();
    for part in &mut suite.parts {
        if part.stop.take().is_some() {
            // A few blocks of all pairings in the place of random pairs.
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
        let of = |game| here().map(|who| Ok((who, stand_in(plan, (at, who), game, known, like)?))).collect();
        meters.push(part.games.iter().map(of).collect::<anyhow::Result<Vec<Meters>>>()?);
    }
    Ok((small, meters))
}

/// The blocks of a pairing that were tried: what they cost, and how their matches ended.
#[derive(Default)]
struct Pairing {
    cost: Cost,
    ends: Vec<MatchScore>,
}

/// What was tried of each part.
type Found = Vec<BTreeMap<Vec<usize>, Pairing>>;

/// The cost of each part of a plan: the blocks of the small one that are due are played, and their cost is multiplied.
fn tried(plan: &Plan, tables: &[RunPart], small: &Plan, meters: &[Vec<Meters>]) -> anyhow::Result<Vec<Cost>> {
    let mut done = Results::new();
    let mut found: Found = Vec::new();
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
            // Agents have the same order in the small plan and in the whole one.
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

/// How many matches each pairing plays in parts that end when ratings have settled, if their matches end as those that were tried:
/// each end is drawn from those of its pairing.
fn settled(plan: &Plan, found: &Found) -> BTreeMap<(usize, Vec<usize>), u64> {
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

/// The cost of a block, and what its matches count.
type Tried = (Cost, Vec<(String, MatchScore)>);

/// The stand-ins in a game, by agent.
type Meters = BTreeMap<usize, StandIn>;

fn try_block(small: &Plan, table: &RunPart, meters: &[Meters], block: &Block) -> anyhow::Result<Tried> {
    let mut cost = Cost::default();
    let mut matches = Vec::new();
    for due in &block.matches {
        let name = key(&table.id, &block.pairing, block.index, due.turn);
        let seen: Arc<Mutex<Cost>> = Arc::default();
        let players: Vec<Participant> = due
            .seats
            .iter()
            .map(|who| {
                let player = table
                    .room(due.turn)
                    .players
                    .get(who)
                    .with_context(|| format!("agent {who} is not at this table"))?;
                let candidate = small.agents[*who].candidate;
                let agent = match meters[small.parts[block.part].game_at(due.turn)].get(who) {
                    Some(stand_in) => stand_in.metered(seen.clone())?,
                    None if candidate => counted(player.agent.clone(), seen.clone()),
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
        // A failure here will occur in the run too, and is reported there.
        matches.push((name, judged));
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        cost.add(&Cost { matches: 1.0, computing: seconds, ..seen.clone() }, 1.0);
    }
    Ok((cost, matches))
}

/// An agent that plays in the place of a language model, and the model's settings.
#[derive(Clone)]
struct StandIn {
    agent: Arc<dyn Agent>,
    spec: AgentSpec,
    game: GameRef,
    /// What was measured of the model, if it was.
    measured: Option<MeasuredCalls>,
    /// What its matches in this game used in the pilot, if it played it there.
    spent: Option<Spent>,
}

fn stand_in(
    plan: &Plan,
    (part, who): (usize, usize),
    game: &GameRef,
    (known, pilot): (&MeasuredCandidates, &Pilot),
    like: Option<&str>,
) -> anyhow::Result<StandIn> {
    let middle = || {
        let levels = game.spec().anchors.iter().map(|a| a.level).max().unwrap_or(0);
        format!("anchor level={}", levels.div_ceil(2))
    };
    let like = like.map_or_else(middle, str::to_owned);
    let agent = AgentSpec::parse(&like)?.build(game)?;
    let spec = spec_in(plan, part, who)?;
    let entrant = &plan.agents[who];
    let candidate = entrant.variant.as_ref().map_or(who, |variant| variant.candidate);
    // What was measured of short answers says nothing about answers with reasons.
    let alike = llm::typical_out_tokens(&AgentSpec::parse(&entrant.spec)?)? == llm::typical_out_tokens(&spec)?;
    let measured = known.get(&candidate).filter(|_| alike).cloned();
    let spent = pilot.spent(&spec, &game.spec().game);
    Ok(StandIn { agent, spec, game: game.clone(), measured, spent })
}

impl StandIn {
    /// Whether nothing is known of the model's answers.
    fn guesses(&self) -> bool {
        self.measured.is_none() && self.spent.is_none()
    }

    /// The stand-in's agent for a match. What the model would use is added to `seen`: what a match used in the pilot, else what is
    /// measured of each question.
    fn metered(&self, seen: Arc<Mutex<Cost>>) -> anyhow::Result<Arc<dyn Agent>> {
        let StandIn { agent, spec, game, measured, spent } = self.clone();
        if let Some(spent) = spent {
            add(&seen, &spec, spent.moves(), &spent.forecast(&spec)?, spent.seconds());
            return Ok(agent);
        }
        let act = move |agent: &dyn Agent, ask: &MoveRequest<'_>, deadline: Option<Instant>| {
            let forecast = llm::forecast(&spec, &game, ask, measured.as_ref().map(|m| m.tokens_out))?;
            // If nothing was measured: half a second, and sixty tokens a second.
            let seconds = match &measured {
                Some(measured) => measured.seconds * forecast.calls,
                None => 0.5 * forecast.calls + forecast.tokens_out / 60.0,
            };
            add(&seen, &spec, 1.0, &forecast, seconds);
            agent.act(ask, deadline)
        };
        // The prompts that are measured may contain the last moves.
        Ok(Arc::new(wrap(agent, act).with_history()))
    }
}

/// Adds what some moves of a language model use. Nobody knows how long batches take.
fn add(seen: &Mutex<Cost>, spec: &AgentSpec, moves: f64, forecast: &Forecast, seconds: f64) {
    let batched = llm::uses_batching(spec);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
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

/// A candidate that plays itself; its moves are counted.
fn counted(agent: Arc<dyn Agent>, seen: Arc<Mutex<Cost>>) -> Arc<dyn Agent> {
    Arc::new(wrap(agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>, deadline| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).moves += 1.0;
        agent.act(ask, deadline)
    }))
}
