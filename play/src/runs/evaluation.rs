//! Evaluations as runs: candidates play a suite against its anchors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use ludex_agents::{Agent, AgentClass, AgentError, AgentSpec, MoveReply, llm, wrap};
use ludex_env::{Games, MoveRequest};
use ludex_protocol::record::Record;
use ludex_referee::schedule::Deals;
use ludex_referee::suite::plan::{Block, Entrant, Plan};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::shard::Shard;
use ludex_referee::suite::summary::SummaryScore;
use ludex_referee::suite::{OnTimeout, Suite, starts};
use ludex_referee::verify::VerifiedRecord;

use super::driver::{Budget, Driver, RunNews, StopReason, results};
use super::estimate::{self, MeasuredCandidates, Pilot, RunEstimate};
use super::executor::Executor;
use super::folder::{Folder, RunStatus, path_of};
use super::plan_progress::PlanProgress;
use super::preflight;
use super::run_files::RUN;
use super::settings::{RunSeeds, RunSettings};
use super::summary::{
    GroupScore, PartResult, counting_or_invalid, groups, ids, rows, summaries, verified, verified_with, widths,
};
use super::{GameRoster, RunPart, tables};
use crate::agents_file;
use crate::local::{self, Participant};

/// Rounds of blocks that are played before the intervals are computed again.
const ROUNDS: u64 = 4;
/// Matches at a time with a language model. Most of their time is waiting.
const MODEL_JOBS: usize = 8;

/// Which agents are evaluated, and by which suite.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    /// Who is evaluated.
    pub candidates: Candidates,
    /// The text of the suite, see [`suite_text`].
    pub suite: String,
    /// The folder with runs and named agents.
    pub data: PathBuf,
    /// The share of the suite that is played.
    pub scale: f64,
    /// The parts that are played; empty: all.
    pub only: Vec<String>,
    /// The agents in the suite's roles, in the place of the suite's own: see [`cast`].
    pub roles: RoleAssignment,
    /// Bytes in hex that seeds are made from. Without them, the suite's public seeds are played.
    pub secret: Option<String>,
    /// Whether the matches of a block share a seed, in the place of what the suite says.
    pub deals: Option<Deals>,
    /// The share of the plan that is played; without it, the whole. The run's folder is that of the shard.
    pub shard: Option<Shard>,
    /// Matches at a time; by default 8 with a language model, 1,024 with one that is asked in batches, otherwise one for each core.
    pub jobs: Option<usize>,
}

/// The agents under evaluation.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Names and specs.
    list: Vec<(String, String)>,
    /// What was measured of their calls.
    known: MeasuredCandidates,
}

impl Candidates {
    /// Specs of agents, or names of the file of named agents in the folder `data`.
    ///
    /// # Errors
    /// An agent that does not exist, or is named twice.
    pub fn resolve(agents: &[String], data: &Path) -> anyhow::Result<Self> {
        let named = agents_file::of_data(data)?;
        let mut out = Candidates { list: Vec::new(), known: MeasuredCandidates::new() };
        for text in agents {
            let (name, spec) = named.resolve(text, &data.join("programs"))?;
            anyhow::ensure!(
                spec.class() != AgentClass::Remote,
                "{name} is remote: it enrols on a server (`ludex join URL --suite NAME --run NAME`)"
            );
            let name = name_of(name, &spec);
            anyhow::ensure!(out.list.iter().all(|(other, _)| *other != name), "{name} is named twice");
            if let Some(measured) = named.find(&name).and_then(|entry| entry.measured.clone()) {
                out.known.insert(out.list.len(), measured);
            }
            out.list.push((name, spec.to_string()));
        }
        Ok(out)
    }

    /// Agents that play as clients of a server, by their names there.
    pub fn remote(names: impl IntoIterator<Item = String>) -> Self {
        let list = names.into_iter().map(|name| (name, REMOTE.to_owned())).collect();
        Candidates { list, known: MeasuredCandidates::new() }
    }
}

/// What records call an agent. A model without a name is named by the arguments that decide its moves; endpoints and prices
/// may change.
fn name_of(name: String, spec: &AgentSpec) -> String {
    if name == spec.to_string() { llm::essence(spec).to_string() } else { name }
}

/// Reads which agents fill the roles of a suite, each as `ROLE=AGENT`: specs, or names of the file of named agents in the folder
/// `data`. A role that takes several agents is given as often.
///
/// # Errors
/// A text without `=`, or an agent that does not exist or that enrols from elsewhere.
pub fn parse_roles(roles: &[String], data: &Path) -> anyhow::Result<RoleAssignment> {
    let named = agents_file::of_data(data)?;
    let mut out = RoleAssignment::new();
    for text in roles {
        let parts = text.split_once('=').filter(|(role, agent)| !role.trim().is_empty() && !agent.trim().is_empty());
        let (role, agent) = parts.with_context(|| format!("role {text:?} is not written as ROLE=AGENT"))?;
        let (name, spec) = named.resolve(agent, &data.join("programs"))?;
        anyhow::ensure!(spec.class() != AgentClass::Remote, "{name} is remote and cannot fill a role");
        let agent = RoleAgent { name: name_of(name, &spec), spec: spec.to_string() };
        out.entry(role.trim().to_owned()).or_default().push(agent);
    }
    Ok(out)
}

/// The spec of a candidate that plays as a client of a server.
const REMOTE: &str = "remote";

/// An evaluation that can be estimated or played.
pub struct Evaluation {
    request: EvaluationRequest,
    /// All matches that may be played.
    pub plan: Plan,
    tables: Vec<RunPart>,
    jobs: usize,
    seeds: RunSeeds,
}

/// An evaluation that has ended or stopped.
pub struct PlayedEvaluation {
    /// Where it is kept.
    pub folder: Folder,
    /// All its records, of earlier calls too.
    pub records: Vec<Record>,
    /// How many of them were made now.
    pub played: usize,
    /// Why it ended.
    pub end: StopReason,
}

/// The results of an evaluation.
pub struct EvaluationResults {
    /// Every record, verified.
    pub games: Vec<VerifiedRecord>,
    /// By part and agent.
    pub rows: Vec<PartResult>,
    /// Means over groups of parts.
    pub groups: Vec<GroupScore>,
    /// The suite's own means over parts.
    pub summaries: Vec<SummaryScore>,
}

impl Evaluation {
    /// Reads the suite and builds every agent for every game that it plays.
    ///
    /// # Errors
    /// A suite or an agent that does not exist or cannot play.
    pub fn new(request: EvaluationRequest) -> anyhow::Result<Self> {
        let mut suite = Suite::parse(&request.suite, &Games::builtin()).context("the suite cannot be used")?;
        suite.fill(&request.roles)?;
        suite.keep_only(&request.only)?;
        suite.deals = request.deals.unwrap_or(suite.deals);
        let mut plan = Plan::new(suite, &request.candidates.list, request.scale, &Games::builtin())?;
        plan.shard = request.shard;
        if let Some(part) = plan.parts.iter().find(|part| !part.part.once.is_empty() && plan.shard.is_some()) {
            bail!("part {:?} asks some answers once in a run, so it cannot be played in shards", part.part.id);
        }
        let seeds = request.secret.clone().map_or(RunSeeds::Open(plan.suite.seed), RunSeeds::Secret);
        let tables = tables(&plan, seeds.secret().as_deref())?;
        let model = models(&plan).next().is_some();
        let of_people = |e: &Entrant| AgentSpec::parse(&e.spec).is_ok_and(|spec| spec.class() == AgentClass::Person);
        let person = plan.agents.iter().any(of_people);
        // A person plays one match at a time.
        let gathers = gathering(&tables).next().is_some();
        let usual = || match (gathers, model) {
            (true, _) => local::GATHERED_JOBS,
            (false, true) => MODEL_JOBS,
            (false, false) => local::cores(),
        };
        let strict = |table: &&RunPart| table.policy.on_timeout == OnTimeout::Forfeit;
        if let Some((table, player)) = gathering(&tables).find(|(table, _)| strict(table)) {
            bail!(
                "{} is asked in batches, whose answers take hours, and who is late in part {} loses there (on_timeout = \"forfeit\"): \
                 leave out batch=true",
                player.name,
                table.id
            );
        }
        let jobs = if person { 1 } else { request.jobs.unwrap_or_else(usual) };
        Ok(Evaluation { request, plan, tables, jobs, seeds })
    }

    /// The cost of the evaluation. `like` plays in the place of language models, and the pilot tells what their calls use, see
    /// [`estimate::of`].
    ///
    /// # Errors
    /// As [`estimate::of`].
    pub fn estimate(&self, like: Option<&str>, pilot: &Pilot) -> anyhow::Result<RunEstimate> {
        estimate::of(&self.plan, &self.tables, (&self.request.candidates.known, pilot), like, self.jobs)
    }

    /// The settings of the run `name` of this evaluation.
    ///
    /// # Errors
    /// A command line of a candidate with quotes that do not match.
    pub fn settings(&self, name: &str) -> anyhow::Result<RunSettings> {
        let EvaluationRequest { suite, scale, only, .. } = &self.request;
        let settings = RunSettings::of_plan(name, &self.plan, suite, self.seeds.clone(), *scale)?;
        Ok(RunSettings { only: only.clone(), ..settings })
    }

    /// How many matches of the run `name` are due, as far as is known now, and how many are done.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn standing(&self, name: &str) -> anyhow::Result<(usize, usize)> {
        let path = path_of(&self.request.data, name);
        let records = if path.join(RUN).exists() { RunStatus::at(&path)?.past.records } else { Vec::new() };
        let (done, _) = results(name, &self.plan, &records);
        Ok((self.plan.next(&done).iter().map(|block| block.matches.len()).sum(), done.len()))
    }

    /// Plays the matches of the run `name` that are still due. With `ci`, a part stops when the 95 % interval of its rating
    /// is at most this many points wide to each side.
    ///
    /// # Errors
    /// A suite in which nothing is played, a run of this name with other settings, an endpoint that does not answer, or a file
    /// that cannot be written.
    pub fn play(
        &self,
        executor: &dyn Executor,
        name: &str,
        budget: Budget,
        ci: Option<f64>,
        news: impl FnMut(RunNews),
    ) -> anyhow::Result<PlayedEvaluation> {
        let plan = &self.plan;
        preflight::something_is_played(plan)?;
        let (folder, past) = Folder::open(&self.request.data, &self.settings(name)?, &self.request.suite)?;
        let no_price = past.usage.unpriced == past.usage.calls && models(plan).any(|spec| !is_priced(spec));
        if budget.usd.is_some() && no_price {
            bail!(
                "a budget in dollars needs prices: give the agent price_in and price_out (dollars per million tokens)"
            );
        }
        let bounded = budget.usd.is_some() || budget.tokens.is_some();
        if bounded && past.records.is_empty() && gathering(&self.tables).next().is_some() {
            bail!(
                "a budget in dollars or tokens begins with one match alone, to know what a match costs, and its batches would have one \
                 question each. Play a few matches first with --budget games=20; then the same line with this budget continues"
            );
        }
        let (done, _) = results(name, plan, &past.records);
        if !plan.next(&done).is_empty() {
            hello(plan, &folder).context("nothing was played")?;
            greet(plan, &self.tables).context("nothing was played")?;
        }
        let before = past.records.len();
        let wanted = |records: &[Record], due: Vec<Block>| choose_blocks(name, plan, ci, records, due);
        let alive = || hello(plan, &folder);
        let (tables, jobs) = (&self.tables, self.jobs);
        let driver = Driver {
            executor,
            folder: &folder,
            schedule: plan,
            tables,
            jobs,
            budget,
            ci,
            wanted: &wanted,
            alive: &alive,
        };
        let (end, records) = driver.play(past, news)?;
        let played = records.len() - before;
        Ok(PlayedEvaluation { folder, records, played, end })
    }
}

impl PlayedEvaluation {
    /// The results by the records.
    ///
    /// # Errors
    /// A record that does not verify.
    pub fn findings(&self, plan: &Plan) -> anyhow::Result<EvaluationResults> {
        EvaluationResults::of(self.folder.run(), plan, &self.records)
    }

    /// Why the last match with an infrastructure failure failed, by the log.
    pub fn last_failure(&self) -> String {
        let log = RunStatus::at(self.folder.path()).map(|look| look.past.log).unwrap_or_default();
        let spoiled = log.iter().rev().filter(|line| matches!(line.what.as_str(), "discarded" | "failed"));
        spoiled.filter_map(|line| line.why.as_deref()).next().unwrap_or("log.jsonl says why").to_owned()
    }
}

impl EvaluationResults {
    /// The results of a run by its records.
    ///
    /// # Errors
    /// A record that does not verify.
    pub fn of(run: &str, plan: &Plan, records: &[Record]) -> anyhow::Result<EvaluationResults> {
        let (done, _) = results(run, plan, records);
        let rows = rows(run, plan, &done, verified_with(counting_or_invalid(run, &done, records), plan.marks())?);
        let mut games = verified(records)?;
        PlanProgress::new(plan, &ids(plan), &done, &[]).put_in_order(run, &mut games);
        Ok(EvaluationResults { games, groups: groups(plan, &rows), summaries: summaries(plan, &rows), rows })
    }
}

/// The text of a built-in suite, or of a file. The text of a file holds the files that it names.
///
/// # Errors
/// A suite that does not exist, or a file that cannot be read.
pub fn suite_text(name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.extension().is_some() || path.exists() {
        let text = fs::read_to_string(path).with_context(|| format!("the suite {name} cannot be read"))?;
        return Ok(starts::carrying(&text, &files_beside(path, &text)?)?);
    }
    Ok(Suite::builtin_text(name)?.to_owned())
}

/// The texts of the files that a suite names and does not hold: they lie beside it.
fn files_beside(suite: &Path, text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let folder = suite.parent().unwrap_or(Path::new(""));
    let read = |name: String| {
        let plain = Path::new(&name).file_name().is_some_and(|file| file == name.as_str());
        anyhow::ensure!(plain, "starts = {name:?}: the name of a file beside the suite, without a folder");
        let file = folder.join(&name);
        let text = fs::read_to_string(&file).with_context(|| format!("starts: {} cannot be read", file.display()))?;
        Ok((name, text))
    };
    starts::missing(text).into_iter().map(read).collect()
}

/// Asks every endpoint for a word before the first match, so that a wrong URL, key or model spoils no match.
fn hello(plan: &Plan, folder: &Folder) -> anyhow::Result<()> {
    for entrant in plan.agents.iter().filter(|e| e.variant.is_none() && is_model(&e.spec)) {
        let told = llm::hello(&AgentSpec::parse(&entrant.spec)?);
        let told = told.with_context(|| format!("{} does not answer", entrant.name))?;
        let tokens = told.tokens;
        let words =
            format!("{} answers: {} tokens in, {} out, {:.1} s", entrant.name, tokens.input, tokens.out, told.seconds);
        folder.log("hello", None, Some(&words))?;
    }
    Ok(())
}

/// Asks every program among the suite's own opponents for one move, so that an engine that is not installed spoils no match.
fn greet(plan: &Plan, tables: &[RunPart]) -> anyhow::Result<()> {
    for (table, room) in tables.iter().flat_map(|table| table.rooms.iter().map(move |room| (table, room))) {
        let own = room.players.iter().filter(|(who, _)| table.own_opponents.contains(who));
        // A language model was asked for a word already, and a batch would take hours.
        let own = own.filter(|(_, player)| !player.agent.is_batched());
        for (_, player) in
            own.filter(|(_, player)| player.spec.class() == AgentClass::External || player.agent.is_io_bound())
        {
            let answer = first_answer(player, room, plan.suite.seed)?;
            answer.with_context(|| format!("{}, an opponent in part {}, does not play", player.name, table.id))?;
        }
    }
    Ok(())
}

/// The players that are asked in batches, and their parts.
fn gathering(tables: &[RunPart]) -> impl Iterator<Item = (&RunPart, &Participant)> {
    tables.iter().flat_map(|table| {
        let players = table.rooms.iter().flat_map(|room| room.players.values());
        players.filter(|player| player.agent.is_batched()).map(move |player| (table, player))
    })
}

/// Whether an agent answers the first question of a match against itself, in which it gives up then.
fn first_answer(player: &Participant, room: &GameRoster, seed: u64) -> anyhow::Result<Result<(), AgentError>> {
    let failure = Arc::new(Mutex::new(None));
    let told = failure.clone();
    let once: Arc<dyn Agent> =
        Arc::new(wrap(player.agent.clone(), move |agent: &dyn Agent, ask: &MoveRequest<'_>, deadline| {
            let error = agent.act(ask, deadline).err();
            told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            Ok(MoveReply::resign())
        }));
    let seats = room.game.spec().players as usize;
    local::play(&room.game, (0..seats).map(|_| once.clone()), seed)?;
    let first = failure.lock().unwrap_or_else(PoisonError::into_inner).take().flatten();
    Ok(first.map_or(Ok(()), Err))
}

/// The specs of the candidates that are language models.
fn models(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.agents.iter().filter(|agent| agent.candidate).map(|agent| agent.spec.as_str()).filter(|spec| is_model(spec))
}

fn is_model(spec: &str) -> bool {
    AgentSpec::parse(spec).is_ok_and(|spec| spec.class() == AgentClass::Model)
}

fn is_priced(spec: &str) -> bool {
    AgentSpec::parse(spec).is_ok_and(|spec| spec.gives("price_in") && spec.gives("price_out"))
}

/// The blocks to play next. With `ci`, these are a few rounds of the parts whose intervals are still wider.
pub(super) fn choose_blocks(
    run: &str,
    plan: &Plan,
    ci: Option<f64>,
    records: &[Record],
    due: Vec<Block>,
) -> anyhow::Result<Vec<Block>> {
    let Some(ci) = ci else { return Ok(due) };
    let widths = widths(run, plan, records)?;
    let open = |b: &Block| {
        b.pairing.iter().any(|&a| plan.agents[a].candidate && widths.get(&(b.part, a)).is_none_or(|&w| w > ci))
    };
    let due: Vec<Block> = due.into_iter().filter(open).collect();
    let first = |b: &Block| due.iter().filter(|o| o.part == b.part).map(|o| o.index).min().unwrap_or(0);
    let near: Vec<Block> = due.iter().filter(|b| b.index < first(b) + ROUNDS).cloned().collect();
    Ok(near)
}
