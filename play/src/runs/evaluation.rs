//! Evaluations: runs in which candidates play a suite against anchors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use ludex_agents::{Agent, AgentClass, AgentError, AgentSpec, MoveReply, llm, wrap};
use ludex_env::MoveRequest;
use ludex_protocol::record::Record;
use ludex_referee::schedule::Deals;
use ludex_referee::suite::plan::{Block, Entrant, Plan};
use ludex_referee::suite::roles::{RoleAgent, RoleAssignment};
use ludex_referee::suite::shard::Shard;
use ludex_referee::suite::{OnTimeout, Suite, starts};
use ludex_referee::verify::VerifiedRecord;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::results;
use ludex_report::runs::run_files::RUN;
use ludex_report::runs::settings::{RunSeeds, RunSettings};
use ludex_report::runs::summary::SummaryScore;
use ludex_report::runs::summary::{
    GroupScore, PartResult, counting_or_invalid, groups, ids, rows, summaries, verified, verified_with, widths,
};
use parking_lot::Mutex;

use super::driver::{Driver, RunBudget, RunNews, StopReason};
use super::estimate::{self, MeasuredCandidates, Pilot, RunEstimate};
use super::executor::Executor;
use super::folder::{Folder, RunStatus, path_of};
use super::preflight;
use super::settings;
use super::{GameRoster, RunPart, tables};
use crate::agents_file;
use crate::local::{self, Participant};

/// Number of rounds of blocks between two computations of the rating intervals.
const ROUNDS: u64 = 4;
/// Default number of parallel matches with a language model; these matches mostly wait for replies.
const MODEL_JOBS: usize = 8;

/// Candidates, suite and options of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    pub candidates: Candidates,
    /// Text of the suite file, see [`suite_text`].
    pub suite: String,
    /// Data folder with runs and named agents.
    pub data: PathBuf,
    /// Factor by which the suite's numbers of blocks are multiplied.
    pub scale: f64,
    /// Ids of the parts to play. If the list is empty, all parts are played.
    pub only: Vec<String>,
    /// Agents that fill roles of the suite, instead of the suite's own agents; see [`parse_roles`].
    pub roles: RoleAssignment,
    /// Secret in hex from which seeds are derived. If `None`, the public seeds of the suite are used.
    pub secret: Option<String>,
    /// Seed sharing within a block; `None` keeps the setting of the suite.
    pub deals: Option<Deals>,
    /// Shard of the plan to play, with its own run folder. `None` plays the whole plan.
    pub shard: Option<Shard>,
    /// Parts that cannot be played, by part, each with the reason; only for the report.
    pub left_out: BTreeMap<String, String>,
    /// Labels of the candidates' variants, for candidates that play as clients of a server: see
    /// [`Suite::play_remotely`]. `None`: local candidates.
    pub variants: Option<Vec<String>>,
    /// True if the matches do not count for the ratings of the server that plays them.
    pub unrated: bool,
    /// Number of parallel matches. By default, 1,024 with batched calls, 8 with other language models, otherwise one
    /// per core.
    pub jobs: Option<usize>,
}

/// Agents to evaluate, with measurements of their language model calls.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Name and spec of each agent.
    list: Vec<(String, String)>,
    /// Measurements of the agents' calls.
    known: MeasuredCandidates,
}

impl Candidates {
    /// Resolves `agents`, each a spec or a name from the agents file in the folder `data`.
    ///
    /// # Errors
    /// Returns an error for an unknown agent or a repeated name.
    pub fn resolve(agents: &[String], data: &Path) -> anyhow::Result<Self> {
        let named = agents_file::of_data(data)?;
        let mut out = Candidates { list: Vec::new(), known: MeasuredCandidates::new() };
        for text in agents {
            let (name, spec) = named.resolve(text, &data.join("programs"))?;
            anyhow::ensure!(
                spec.class() != AgentClass::Remote,
                "expected a local agent, got {name}, which is remote and enrolls on a server with `ludex join`"
            );
            let name = name_of(name, &spec);
            let is_new = out.list.iter().all(|(other, _)| *other != name);
            anyhow::ensure!(is_new, "expected distinct agents, got {name} twice");
            if let Some(measured) = named.find(&name).and_then(|entry| entry.measured.clone()) {
                out.known.insert(out.list.len(), measured);
            }
            out.list.push((name, spec.to_string()));
        }
        Ok(out)
    }

    /// Creates candidates that play as clients of a server, from their names on the server.
    pub fn remote(names: impl IntoIterator<Item = String>) -> Self {
        let list = names.into_iter().map(|name| (name, REMOTE.to_owned())).collect();
        Candidates { list, known: MeasuredCandidates::new() }
    }
}

/// Returns the name of an agent in records. The name of an unnamed language model consists of the arguments that
/// determine the model's moves, without endpoint and prices.
fn name_of(name: String, spec: &AgentSpec) -> String {
    if name == spec.to_string() { llm::without_transport_args(spec).to_string() } else { name }
}

/// Parses role assignments of the form `ROLE=AGENT`, in which `AGENT` is a spec or a name from the agents file in the
/// folder `data`. If several agents fill a role, each agent has its own assignment.
///
/// # Errors
/// Returns an error if a text has no `=`, or if an agent is unknown or remote.
pub fn parse_roles(roles: &[String], data: &Path) -> anyhow::Result<RoleAssignment> {
    let named = agents_file::of_data(data)?;
    let mut out = RoleAssignment::new();
    for text in roles {
        let parts = text.split_once('=').filter(|(role, agent)| !role.trim().is_empty() && !agent.trim().is_empty());
        let (role, agent) = parts.with_context(|| format!("role: expected ROLE=AGENT, got {text:?}"))?;
        let (name, spec) = named.resolve(agent, &data.join("programs"))?;
        anyhow::ensure!(spec.class() != AgentClass::Remote, "role {role}: expected a local agent, got a remote one");
        let agent = RoleAgent { name: name_of(name, &spec), spec: spec.to_string() };
        out.entry(role.trim().to_owned()).or_default().push(agent);
    }
    Ok(out)
}

/// Spec of a candidate that plays as a client of a server.
const REMOTE: &str = "remote";

/// Evaluation that is ready to be estimated or played.
pub struct Evaluation {
    request: EvaluationRequest,
    /// Plan of all matches that may be played.
    pub plan: Plan,
    tables: Vec<RunPart>,
    jobs: usize,
    seeds: RunSeeds,
}

/// Records of an evaluation after a call of [`Evaluation::play`], and the reason why the call returned.
pub struct PlayedEvaluation {
    pub folder: Folder,
    /// Records of this call and of earlier calls.
    pub records: Vec<Record>,
    /// Number of records that this call added.
    pub played: usize,
    pub end: StopReason,
}

/// Results of an evaluation.
pub struct EvaluationResults {
    pub games: Vec<VerifiedRecord>,
    /// Results per part and agent.
    pub rows: Vec<PartResult>,
    /// Mean scores over groups of parts.
    pub groups: Vec<GroupScore>,
    /// Summary scores that the suite defines as means over parts.
    pub summaries: Vec<SummaryScore>,
}

impl Evaluation {
    /// Parses the suite and builds every agent for each of its games.
    ///
    /// # Errors
    /// Returns an error if the suite or an agent does not exist or cannot be used.
    pub fn new(request: EvaluationRequest) -> anyhow::Result<Self> {
        let mut suite = Suite::parse(&request.suite, &ludex_games::builtin()).context("the suite cannot be used")?;
        suite.fill(&request.roles)?;
        suite.keep_only(&request.only)?;
        if let Some(labels) = &request.variants {
            suite.play_remotely(labels)?;
        }
        suite.deals = request.deals.unwrap_or(suite.deals);
        let mut plan = Plan::new(suite, &request.candidates.list, request.scale, &ludex_games::builtin())?;
        plan.shard = request.shard;
        if let Some(part) = plan.parts.iter().find(|part| !part.part.cache_answers.is_empty() && plan.shard.is_some()) {
            bail!(
                "part {:?} caches replies within a run (key `cache_answers`), so it cannot be played in shards",
                part.part.id
            );
        }
        let seeds = request.secret.clone().map_or(RunSeeds::Open(plan.suite.seed), RunSeeds::Secret);
        let tables = tables(&plan, seeds.secret().as_deref())?;
        let model = models(&plan).next().is_some();
        let of_people = |e: &Entrant| AgentSpec::parse(&e.spec).is_ok_and(|spec| spec.class() == AgentClass::Person);
        let person = plan.agents.iter().any(of_people);
        let gathers = gathering(&tables).next().is_some();
        let usual = || match (gathers, model) {
            (true, _) => local::GATHERED_JOBS,
            (false, true) => MODEL_JOBS,
            (false, false) => local::cores(),
        };
        let strict = |table: &&RunPart| table.policy.on_timeout == OnTimeout::Forfeit;
        if let Some((table, player)) = gathering(&tables).find(|(table, _)| strict(table)) {
            bail!(
                "{} uses batches, which take hours, but in part {} a timeout is a loss (on_timeout = \"forfeit\"); \
                 remove batch=true",
                player.name,
                table.id
            );
        }
        // A person plays one match at a time.
        let jobs = if person { 1 } else { request.jobs.unwrap_or_else(usual) };
        Ok(Evaluation { request, plan, tables, jobs, seeds })
    }

    /// Estimates the cost of the evaluation. `like` is the substitute for language models, and `pilot` has the usage
    /// of an earlier run, see [`estimate::of`].
    ///
    /// # Errors
    /// Same as [`estimate::of`].
    pub fn estimate(&self, like: Option<&str>, pilot: &Pilot) -> anyhow::Result<RunEstimate> {
        estimate::of(&self.plan, &self.tables, (&self.request.candidates.known, pilot), like, self.jobs)
    }

    /// Returns the settings of this evaluation for the run `name`.
    ///
    /// # Errors
    /// Returns an error if a candidate's command line has unbalanced quotes.
    pub fn settings(&self, name: &str) -> anyhow::Result<RunSettings> {
        let EvaluationRequest { suite, scale, only, left_out, variants, unrated, .. } = &self.request;
        let settings = settings::of_plan(name, &self.plan, suite, self.seeds.clone(), *scale)?;
        let (only, left_out, variants) = (only.clone(), left_out.clone(), variants.clone());
        Ok(RunSettings { only, left_out, variants, unrated: *unrated, ..settings })
    }

    /// Returns the numbers of due and of finished matches of the run `name`. Due matches depend on the results so far.
    ///
    /// # Errors
    /// Returns an error if the run cannot be read.
    pub fn standing(&self, name: &str) -> anyhow::Result<(usize, usize)> {
        let path = path_of(&self.request.data, name);
        let records = if path.join(RUN).exists() { RunStatus::at(&path)?.past.records } else { Vec::new() };
        let (done, _) = results(name, &self.plan, &records);
        Ok((self.plan.next(&done).iter().map(|block| block.matches.len()).sum(), done.len()))
    }

    /// Plays the due matches of the run `name`. With `ci`, a part stops once the half-width of its 95 % rating interval
    /// is at most `ci` points.
    ///
    /// # Errors
    /// Returns an error if:
    /// - the suite has no matches,
    /// - a run with this name exists and has different settings,
    /// - an endpoint does not reply,
    /// - a file cannot be written.
    pub fn play(
        &self,
        executor: &dyn Executor,
        name: &str,
        budget: RunBudget,
        ci: Option<f64>,
        news: impl FnMut(RunNews),
    ) -> anyhow::Result<PlayedEvaluation> {
        let plan = &self.plan;
        preflight::something_is_played(plan)?;
        let (folder, past) = Folder::open(&self.request.data, &self.settings(name)?, &self.request.suite)?;
        let no_price = past.usage.unpriced == past.usage.calls && models(plan).any(|spec| !is_priced(spec));
        if budget.usd.is_some() && no_price {
            bail!(
                "--budget usd: expected an agent with price_in and price_out (USD per million tokens), got no prices"
            );
        }
        let bounded = budget.usd.is_some() || budget.tokens.is_some();
        if bounded && past.records.is_empty() && gathering(&self.tables).next().is_some() {
            bail!(
                "--budget usd, tokens: expected a run with matches, since the cost of a batched match is unknown; run \
                 the same command with --budget games=20 first"
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
    /// Computes the results of the evaluation from its records.
    ///
    /// # Errors
    /// Returns an error for a record that fails verification.
    pub fn findings(&self, plan: &Plan) -> anyhow::Result<EvaluationResults> {
        EvaluationResults::of(self.folder.run(), plan, &self.records)
    }

    /// Returns the reason for the last infrastructure failure in the run's log.
    pub fn last_failure(&self) -> String {
        let log = RunStatus::at(self.folder.path()).map(|look| look.past.log).unwrap_or_default();
        let spoiled = log.iter().rev().filter(|line| matches!(line.what.as_str(), "discarded" | "failed"));
        spoiled.filter_map(|line| line.why.as_deref()).next().unwrap_or("see log.jsonl for the reason").to_owned()
    }
}

impl EvaluationResults {
    /// Computes the results of a run from its records.
    ///
    /// # Errors
    /// Returns an error for a record that fails verification.
    pub fn of(run: &str, plan: &Plan, records: &[Record]) -> anyhow::Result<EvaluationResults> {
        let (done, _) = results(run, plan, records);
        let rows = rows(run, plan, &done, verified_with(counting_or_invalid(run, &done, records), plan.marks())?);
        let mut games = verified(records)?;
        PlanProgress::new(plan, &ids(plan), &done, &[]).put_in_order(run, &mut games);
        Ok(EvaluationResults { games, groups: groups(plan, &rows), summaries: summaries(plan, &rows), rows })
    }
}

/// Returns the text of a built-in suite or of a suite file. Files that the suite file references are embedded in the
/// text.
///
/// # Errors
/// Returns an error if the suite is unknown or a file cannot be read.
pub fn suite_text(name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.extension().is_some() || path.is_file() {
        let text = fs::read_to_string(path).with_context(|| format!("the suite {name} cannot be read"))?;
        return Ok(starts::carrying(&text, &files_beside(path, &text)?)?);
    }
    Ok(Suite::builtin_text(name)?.to_owned())
}

/// Reads the files that a suite references but does not embed, from the folder of the suite file.
fn files_beside(suite: &Path, text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let folder = suite.parent().unwrap_or(Path::new(""));
    let read = |name: String| {
        let plain = Path::new(&name).file_name().is_some_and(|file| file == name.as_str());
        anyhow::ensure!(plain, "starts: expected the name of a file in the suite's folder, got {name:?}");
        let file = folder.join(&name);
        let text = fs::read_to_string(&file).with_context(|| format!("starts: {} cannot be read", file.display()))?;
        Ok((name, text))
    };
    starts::missing(text).into_iter().map(read).collect()
}

/// Sends a short request to every endpoint before the first match, so that a wrong URL, key or model is found early.
fn hello(plan: &Plan, folder: &Folder) -> anyhow::Result<()> {
    for entrant in plan.agents.iter().filter(|e| e.variant.is_none() && is_model(&e.spec)) {
        let told = llm::hello(&AgentSpec::parse(&entrant.spec)?);
        let told = told.with_context(|| format!("no reply from the endpoint of {}", entrant.name))?;
        let tokens = told.tokens;
        let words =
            format!("{} answers: {} tokens in, {} out, {:.1} s", entrant.name, tokens.input, tokens.out, told.seconds);
        folder.log("hello", None, Some(&words))?;
    }
    Ok(())
}

/// Requests one move from every program among the suite's own opponents, so that a missing engine is found before the
/// first match.
fn greet(plan: &Plan, tables: &[RunPart]) -> anyhow::Result<()> {
    for (table, room) in tables.iter().flat_map(|table| table.rooms.iter().map(move |room| (table, room))) {
        let own = room.players.iter().filter(|(who, _)| table.own_opponents.contains(who));
        // Batched agents are skipped: their endpoints have been probed already, and a batch would take hours.
        let own = own.filter(|(_, player)| !player.agent.is_batched());
        for (_, player) in
            own.filter(|(_, player)| player.spec.class() == AgentClass::External || player.agent.is_io_bound())
        {
            let answer = first_answer(player, room, plan.suite.seed)?;
            answer.with_context(|| format!("no move from {}, an opponent in part {}", player.name, table.id))?;
        }
    }
    Ok(())
}

/// Returns the players with batched calls, each with its part.
fn gathering(tables: &[RunPart]) -> impl Iterator<Item = (&RunPart, &Participant)> {
    tables.iter().flat_map(|table| {
        let players = table.rooms.iter().flat_map(|room| room.players.values());
        players.filter(|player| player.agent.is_batched()).map(move |player| (table, player))
    })
}

/// Starts a match of an agent against itself, requests the first move, and then resigns.
fn first_answer(player: &Participant, room: &GameRoster, seed: u64) -> anyhow::Result<Result<(), AgentError>> {
    let failure = Arc::new(Mutex::new(None));
    let told = failure.clone();
    let once: Arc<dyn Agent> = Arc::new(wrap(player.agent.clone(), move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
        let error = agent.act(ask).err();
        told.lock().get_or_insert(error);
        Ok(MoveReply::resign())
    }));
    let seats = room.game.spec().players as usize;
    local::play(&room.game, (0..seats).map(|_| once.clone()), seed)?;
    let first = failure.lock().take().flatten();
    Ok(first.map_or(Ok(()), Err))
}

/// Returns the specs of those candidates that are language models.
fn models(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.agents.iter().filter(|agent| agent.candidate).map(|agent| agent.spec.as_str()).filter(|spec| is_model(spec))
}

fn is_model(spec: &str) -> bool {
    AgentSpec::parse(spec).is_ok_and(|spec| spec.class() == AgentClass::Model)
}

fn is_priced(spec: &str) -> bool {
    AgentSpec::parse(spec).is_ok_and(|spec| spec.has_arg("price_in") && spec.has_arg("price_out"))
}

/// Returns the blocks to play next. With `ci`, returns a few rounds of blocks, of parts with intervals wider than `ci`.
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
