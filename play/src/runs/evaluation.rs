//! Evaluations as runs: candidates play a suite against its anchors.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_env::Games;
use ludex_protocol::record::Record;
use ludex_referee::suite::Suite;
use ludex_referee::suite::plan::{Block, Plan};
use ludex_referee::verify::Verified;

use super::estimate::{self, Estimate, Known};
use super::folder::{Folder, Look};
use super::play::{Budget, End, News, Play, results};
use super::settings::{RunSeeds, Settings};
use super::summary::{Group, Row, counting, groups, rows, verified, widths};
use super::{Table, tables};
use crate::named;

/// Rounds of blocks that are played before the intervals are looked at again.
const ROUNDS: u64 = 4;
/// Matches at a time with a language model: most of their time is waiting.
const MODEL_JOBS: usize = 8;

/// What is evaluated, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Agents, or names of the file of named agents.
    pub agents: &'a [String],
    /// A built-in suite, or a file.
    pub suite: &'a str,
    /// Where runs and named agents are.
    pub data: &'a Path,
    /// The share of the suite that is played.
    pub scale: f64,
    /// Bytes in hex that seeds are made from; absent: the seeds that everybody plays.
    pub secret: Option<&'a str>,
    /// Matches at a time; absent: 8 with a language model, else one for each core.
    pub jobs: Option<usize>,
}

/// An evaluation that can be estimated or played.
pub struct Evaluation<'a> {
    request: Request<'a>,
    /// Everything that may be played.
    pub plan: Plan,
    tables: Vec<Table>,
    known: Known,
    jobs: usize,
    /// The suite's text.
    text: String,
    seeds: RunSeeds,
}

/// A run that has ended, for now.
pub struct Played {
    /// Where it is kept.
    pub folder: Folder,
    /// All its records, of earlier calls too.
    pub records: Vec<Record>,
    /// How many of them were made now.
    pub played: usize,
    /// Why it ended.
    pub end: End,
}

/// What the records of an evaluation come to.
pub struct Findings {
    /// Every record, verified.
    pub games: Vec<Verified>,
    /// By part and agent.
    pub rows: Vec<Row>,
    /// Means over groups of parts.
    pub groups: Vec<Group>,
}

impl<'a> Evaluation<'a> {
    /// Reads the suite and builds every agent for every game that it plays.
    ///
    /// # Errors
    /// A suite or an agent that does not exist or cannot play.
    pub fn new(request: Request<'a>) -> anyhow::Result<Self> {
        let text = suite_text(request.suite)?;
        let suite = Suite::parse(&text, &Games::builtin())
            .with_context(|| format!("the suite {} cannot be used", request.suite))?;
        let (candidates, known) = candidates(request.agents, request.data)?;
        let plan = Plan::new(suite, &candidates, request.scale, &Games::builtin())?;
        let seeds = request.secret.map_or(RunSeeds::Open(plan.suite.seed), |text| RunSeeds::Secret(text.to_owned()));
        let tables = tables(&plan, seeds.secret().as_deref())?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let model = models(&plan).next().is_some();
        let jobs = request.jobs.unwrap_or_else(|| if model { MODEL_JOBS } else { cores() });
        Ok(Evaluation { request, plan, tables, known, jobs, text, seeds })
    }

    /// What it will take. `like` stands in for language models, see [`estimate::of`].
    ///
    /// # Errors
    /// As [`estimate::of`].
    pub fn estimate(&self, like: Option<&str>) -> anyhow::Result<Estimate> {
        estimate::of(&self.plan, &self.tables, &self.known, like, self.jobs)
    }

    /// Plays what the run `name` still has to play. With `ci`, a part stops when the 95 % interval of its rating is at most
    /// this many points to each side.
    ///
    /// # Errors
    /// A run of this name with other settings, an endpoint that does not answer, a file that cannot be written.
    pub fn play(&self, name: &str, budget: Budget, ci: Option<f64>, news: impl FnMut(News)) -> anyhow::Result<Played> {
        let plan = &self.plan;
        let settings = Settings::of_plan(name, plan, &self.text, self.seeds.clone(), self.request.scale)?;
        let (folder, past) = Folder::open(self.request.data, &settings, &self.text)?;
        let no_price = past.usage.unpriced == past.usage.calls && models(plan).any(|spec| !is_priced(spec));
        if budget.usd.is_some() && no_price {
            bail!(
                "a budget in dollars needs prices: give the agent price_in and price_out (dollars per million tokens)"
            );
        }
        let (done, _) = results(name, plan, &past.records);
        if !plan.next(&done).is_empty() {
            hello(plan, &folder).context("nothing was played")?;
        }
        let before = past.records.len();
        let wanted = |records: &[Record], due: Vec<Block>| wanted(name, plan, ci, records, due);
        let alive = || hello(plan, &folder);
        let (tables, jobs) = (&self.tables, self.jobs);
        let play = Play { folder: &folder, schedule: plan, tables, jobs, budget, wanted: &wanted, alive: &alive };
        let (end, records) = play.run(past, news)?;
        let played = records.len() - before;
        Ok(Played { folder, records, played, end })
    }
}

impl Played {
    /// What the records come to.
    ///
    /// # Errors
    /// A record that does not verify.
    pub fn findings(&self, plan: &Plan) -> anyhow::Result<Findings> {
        let run = self.folder.run();
        let (done, _) = results(run, plan, &self.records);
        let rows = rows(run, plan, &done, &verified(counting(run, &done, &self.records))?);
        Ok(Findings { games: verified(&self.records)?, groups: groups(plan, &rows), rows })
    }

    /// Why the last match failed that the infrastructure spoiled, by the log.
    pub fn last_failure(&self) -> String {
        let log = Look::at(self.folder.path()).map(|look| look.past.log).unwrap_or_default();
        let spoiled = log.iter().rev().filter(|line| matches!(line.what.as_str(), "discarded" | "failed"));
        spoiled.filter_map(|line| line.why.as_deref()).next().unwrap_or("log.jsonl says why").to_owned()
    }
}

/// The text of a built-in suite, or of a file.
fn suite_text(name: &str) -> anyhow::Result<String> {
    let path = Path::new(name);
    if path.extension().is_some() || path.exists() {
        return fs::read_to_string(path).with_context(|| format!("the suite {name} cannot be read"));
    }
    Ok(Suite::named(name)?.to_owned())
}

/// Names and specs of the candidates, and what is known of their calls.
fn candidates(agents: &[String], data: &Path) -> anyhow::Result<(Vec<(String, String)>, Known)> {
    let named = named::of_data(data)?;
    let mut out: Vec<(String, String)> = Vec::new();
    let mut known = Known::new();
    for text in agents {
        let (name, spec) = named.resolve(text, &data.join("programs"))?;
        // A model without a name is known by what decides its moves: endpoints and prices may change.
        let name = if name == spec.to_string() { llm::essence(&spec).to_string() } else { name };
        anyhow::ensure!(out.iter().all(|(other, _)| *other != name), "{name} is named twice");
        if let Some(measured) = named.find(&name).and_then(|entry| entry.measured.clone()) {
            known.insert(out.len(), measured);
        }
        out.push((name, spec.to_string()));
    }
    Ok((out, known))
}

/// Asks every endpoint for a word before anything is played, so that a wrong URL, key or model costs no match.
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

/// With `ci`, a few rounds of the parts whose intervals are still wider.
fn wanted(run: &str, plan: &Plan, ci: Option<f64>, records: &[Record], due: Vec<Block>) -> anyhow::Result<Vec<Block>> {
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
