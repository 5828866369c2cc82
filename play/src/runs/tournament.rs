//! Tournaments: runs in which entrants first play trial matches and then each other, in a tournament format.

pub mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ludex_agents::{AgentClass, llm};
use ludex_env::GameRef;
use ludex_games::load;
use ludex_protocol::record::Record;
use ludex_protocol::spec::Utility;
use ludex_referee::VerifiedRecord;
use ludex_referee::schedule::{Deals, MatchSeeds};
use ludex_referee::suite::plan::{Block, seeds};
use ludex_referee::suite::starts::Excerpts;
use ludex_referee::suite::{MatchPolicy, Suite};
use ludex_referee::tournament::{self, TournamentFormat};
use ludex_report::display;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::results;
use ludex_report::runs::run_files::RUN;
use ludex_report::runs::settings::{RunAgent, RunKind, RunSeeds, RunSettings, SuiteId};
use ludex_report::runs::summary::verified;
use rayon::prelude::*;
use schedule::{NAME, PART, TournamentSchedule, TournamentTerms};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer_cache::CachePolicy;
use super::driver::{Driver, RunBudget, RunNews, StopReason};
use super::executor::Executor;
use super::folder::{Folder, RunStatus, path_of, read_settings};
use super::settings;
use super::{GameRoster, RunPart};
use crate::agents_file::{AgentSource, Agents, NamedAgent};
use crate::local::{self, Participant, Unfit, check};

/// Number of blocks per thread that are played between two checks for disqualified entrants.
const WAVE: usize = 16;

/// Entrants and settings of a tournament.
pub struct TournamentRequest {
    /// Data folder with the runs.
    pub data: PathBuf,
    /// Name of the run.
    pub run: String,
    /// Game string as given by the user.
    pub game: String,
    pub agents: Agents,
    pub format: TournamentFormat,
    /// Number of blocks per pairing, each on its own seed.
    pub blocks: u64,
    /// Seed for the pairings and the games.
    pub seed: u64,
    /// Number of matches that an entrant must lose by its own failures to be disqualified; 0: never.
    pub strikes: u64,
    /// Time limit per move, in seconds; by default 30, or 300 with a language model.
    pub move_seconds: Option<u64>,
    /// Number of parallel matches; by default one per core, or 1,024 with a batched entrant.
    pub jobs: Option<usize>,
    /// Secret in hex from which the seeds of games are derived. If `None`, the seeds of games are derived from `seed`.
    pub secret: Option<String>,
    /// Seed sharing within a block. Entrants that remember earlier matches need a different seed in each match.
    pub deals: Deals,
    /// Reasons for excluding entrants, by entrant name.
    pub left_out: BTreeMap<String, String>,
}

/// Tournament with valid settings.
pub struct Contest {
    request: TournamentRequest,
    game: GameRef,
    names: Vec<String>,
    jobs: usize,
    /// Folder of the run.
    pub path: PathBuf,
    /// Settings of the tournament. Entrants that fail their trial are added to `left_out`.
    pub terms: TournamentTerms,
    /// Specs of the entrants that were excluded when the run started, by name.
    specs: BTreeMap<String, String>,
}

/// Outcome of an entrant's trial.
struct Trial {
    name: String,
    /// Player, or the reason why the entrant is excluded.
    player: Result<Participant, String>,
    /// Mean seconds of computation per seat and match; 0 without a trial.
    seconds: f64,
}

/// Tournament that is ready to be played.
pub struct ReadyTournament {
    /// Tournament with its final settings.
    pub contest: Contest,
    pub schedule: TournamentSchedule,
    /// Entrants that this call excluded, with reasons.
    pub left_out: Vec<(String, String)>,
    /// Estimated duration; `None` if the run has already started.
    pub estimate: Option<TournamentEstimate>,
    players: BTreeMap<usize, Participant>,
}

/// Records of a tournament after a call of [`ReadyTournament::play`], and the reason why the call returned.
pub struct PlayedTournament {
    /// Records of this call and of earlier calls.
    pub records: Vec<Record>,
    /// Number of records that this call added.
    pub played: usize,
    pub end: StopReason,
}

impl Contest {
    /// Creates a tournament and checks its settings, without playing trials.
    ///
    /// # Errors
    /// Returns an error for an unknown game, a game without winners, or invalid settings.
    pub fn new(request: TournamentRequest) -> anyhow::Result<Self> {
        let game = load(&request.game)?;
        let spec = game.spec();
        if spec.utility == Utility::Identical {
            anyhow::bail!("expected a game with winners, got {}, in which all seats win or lose together", spec.string);
        }
        let agents = &request.agents.entries;
        let limit_s = request.move_seconds.unwrap_or(if agents.iter().any(is_model) { 300 } else { 30 });
        let terms = TournamentTerms {
            game: spec.string.clone(),
            blocks: request.blocks,
            seed: request.seed,
            strikes: request.strikes,
            format: request.format,
            policy: MatchPolicy { skip_forced: false, limit_s, ..MatchPolicy::default() },
            left_out: request.left_out.clone(),
        };
        let names: Vec<String> = agents.iter().map(|entry| entry.name.clone()).collect();
        let path = std::path::absolute(path_of(&request.data, &request.run))?;
        let gathers = request.agents.entries.iter().any(gathers);
        let jobs = request.jobs.unwrap_or_else(|| if gathers { local::GATHERED_JOBS } else { local::cores() });
        let contest = Contest { request, game, names, jobs, path, terms, specs: BTreeMap::new() };
        contest.schedule()?;
        Ok(contest)
    }

    fn schedule(&self) -> anyhow::Result<TournamentSchedule> {
        TournamentSchedule::new(&self.request.run, &self.terms, &self.names, self.game.spec().players as usize)
    }

    /// Builds the entrants. If the run is new, each entrant plays trial matches against itself and against `random`; an
    /// entrant that fails is excluded. `tried` is called after each trial. If the run has already started, entrants are
    /// only rebuilt.
    ///
    /// Programs are compiled in the folder `bots` or, if `bots` is `None`, in the folder of the run. A started run is
    /// continued only if `bots` is `None`, because the specs in its records name programs in the folder of the run.
    ///
    /// # Errors
    /// Returns an error if an endpoint fails, if too few entrants pass, or if an entrant can no longer be built.
    pub fn ready(mut self, bots: Option<&Path>, tried: impl Fn() + Sync) -> anyhow::Result<ReadyTournament> {
        let begun = bots.is_none() && self.path.join(RUN).exists();
        let beside = self.path.join("bots");
        let bots = bots.unwrap_or(&beside);
        let trials = if begun { self.rebuild(bots)? } else { self.try_all(bots, tried)? };
        let (passed, failed): (Vec<Trial>, Vec<Trial>) = trials.into_iter().partition(|trial| trial.player.is_ok());
        let left_out: Vec<(String, String)> =
            failed.into_iter().filter_map(|trial| Some((trial.name, trial.player.err()?))).collect();
        self.terms.left_out.extend(left_out.iter().cloned());
        let schedule = self.schedule()?;
        let estimate = if begun { None } else { Some(self.estimate(&schedule, &passed)?) };
        let players = passed
            .into_iter()
            .filter_map(|trial| Some((self.names.iter().position(|name| *name == trial.name)?, trial.player.ok()?)));
        let players = players.collect();
        Ok(ReadyTournament { contest: self, schedule, left_out, estimate, players })
    }

    /// Rebuilds the entrants of a started run.
    fn rebuild(&mut self, bots: &Path) -> anyhow::Result<Vec<Trial>> {
        self.terms.left_out = TournamentTerms::parse(&fs::read_to_string(self.path.join("suite.toml"))?)?.left_out;
        let was = read_settings(&self.path)?.agents.into_iter();
        self.specs = was.filter(|a| self.terms.left_out.contains_key(&a.name)).map(|a| (a.name, a.spec)).collect();
        let entries = self.request.agents.entries.iter().filter(|entry| !self.terms.left_out.contains_key(&entry.name));
        let trials = entries.map(|entry| {
            let player = make(entry, &self.game, bots).map_err(anyhow::Error::msg)?;
            Ok(Trial { name: entry.name.clone(), player: Ok(player), seconds: 0.0 })
        });
        trials.collect()
    }

    fn try_all(&self, bots: &Path, tried: impl Fn() + Sync) -> anyhow::Result<Vec<Trial>> {
        let limit = Duration::from_secs(self.terms.policy.limit_s);
        let seats = self.game.spec().players;
        let of = |entry: &NamedAgent| {
            let player = make(entry, &self.game, bots);
            let begun = Instant::now();
            // Remote agents have no trial.
            if let Ok(player) = player.clone()
                && player.spec.class() == AgentClass::Remote
            {
                tried();
                return Ok(Trial { name: entry.name.clone(), player: Ok(player), seconds: 0.0 });
            }
            let tried_as = |player: &Participant| -> Participant {
                // Trials make single calls instead of batches, which can take hours.
                let plain = player
                    .agent
                    .is_batched()
                    .then(|| llm::without_batching(&player.spec).build(&self.game).ok())
                    .flatten();
                Participant { agent: plain.unwrap_or_else(|| player.agent.clone()), ..player.clone() }
            };
            let player = match player.map(|player| (check(tried_as(&player), &self.game, Some(limit)), player)) {
                Ok((Ok(()), player)) => Ok(player),
                Ok((Err(Unfit { why, own: true }), _)) | Err(why) => Err(why),
                // A failed endpoint is not the agent's fault.
                Ok((Err(unfit), _)) => anyhow::bail!("nothing was played: {}: {unfit}", entry.name),
            };
            tried();
            // The entrant played all seats of one match, and one seat in each of `seats` further matches.
            let seconds = begun.elapsed().as_secs_f64() / f64::from(2 * seats);
            Ok(Trial { name: entry.name.clone(), player, seconds })
        };
        let jobs = self.request.jobs.unwrap_or_else(local::cores);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        // `par_bridge` assigns entrants one by one, so that slow entrants do not share a thread.
        let trials: anyhow::Result<Vec<(usize, Trial)>> = pool.install(|| {
            let entries = self.request.agents.entries.iter();
            let entries = entries.filter(|entry| !self.terms.left_out.contains_key(&entry.name));
            entries.enumerate().par_bridge().map(|(k, entry)| Ok((k, of(entry)?))).collect()
        });
        let mut trials = trials?;
        trials.sort_by_key(|(k, _)| *k);
        Ok(trials.into_iter().map(|(_, trial)| trial).collect())
    }

    /// Estimates the duration of a tournament among the entrants that passed.
    fn estimate(&self, schedule: &TournamentSchedule, passed: &[Trial]) -> anyhow::Result<TournamentEstimate> {
        let settings =
            tournament::TournamentSettings { entrants: passed.len(), ..schedule.tournament.settings().clone() };
        let left_out = self.terms.left_out.len();
        let tournament = tournament::Tournament::new(settings)
            .map_err(|e| anyhow::anyhow!("too few entrants remain, since {left_out} were excluded: {e}"))?;
        let matches = tournament.blocks_at_most().saturating_mul(tournament.matches_of_block());
        let all: f64 = passed.iter().map(|trial| trial.seconds).sum();
        let each = all / passed.len() as f64 * f64::from(self.game.spec().players);
        let seconds = each * matches as f64 / self.jobs as f64;
        Ok(TournamentEstimate {
            entrants: passed.len(),
            matches_at_most: matches,
            seconds_per_match: each,
            jobs: self.jobs,
            seconds,
            batches: self.request.agents.entries.iter().any(gathers),
        })
    }

    fn seeds(&self) -> RunSeeds {
        self.request.secret.clone().map_or(RunSeeds::Open(self.request.seed), RunSeeds::Secret)
    }

    fn settings(&self, text: &str, agents: Vec<RunAgent>) -> RunSettings {
        let spec = self.game.spec();
        RunSettings {
            ludex: crate::PROGRAM.into(),
            run: self.request.run.clone(),
            kind: RunKind::Tournament,
            suite: SuiteId { name: NAME.into(), version: 1, digest: Suite::digest(text) },
            agents,
            seeds: self.seeds(),
            deals: self.request.deals,
            scale: 1.0,
            only: Vec::new(),
            games: BTreeMap::from([(spec.string.clone(), spec.hash.clone())]),
            calls_bound: true,
            wording: llm::PROMPT_VERSION,
            begun: crate::time::now_text(),
            ..RunSettings::default()
        }
    }
}

impl ReadyTournament {
    /// Returns the numbers of due and of finished matches. Due matches depend on the results so far.
    ///
    /// # Errors
    /// Returns an error if the run cannot be read.
    pub fn standing(&self) -> anyhow::Result<(usize, usize)> {
        let TournamentRequest { run, .. } = &self.contest.request;
        let path = &self.contest.path;
        let records = if path.join(RUN).exists() { RunStatus::at(path)?.past.records } else { Vec::new() };
        let (done, _) = results(run, &self.schedule, &records);
        let due = ludex_report::runs::RunSchedule::next(&self.schedule, &done, &records);
        Ok((due.iter().map(|block| block.matches.len()).sum(), done.len()))
    }

    /// Returns the standings as JSON: rank, points, wins, draws and losses, by entrant name.
    pub fn table(&self, records: &[Record]) -> Value {
        let (done, _) = results(&self.contest.request.run, &self.schedule, records);
        let standings = self.schedule.tournament.standings(&self.schedule.results(&done, records));
        let row = |line: &tournament::Standing| {
            let mut row = json!(line);
            row["name"] = self.contest.names[line.entrant].clone().into();
            row
        };
        json!({
            "game": self.contest.terms.game, "format": self.contest.terms.format,
            "entrants": standings.iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// Returns the maximum number of matches in the tournament.
    pub fn matches_at_most(&self) -> u64 {
        let tournament = &self.schedule.tournament;
        tournament.blocks_at_most().saturating_mul(tournament.matches_of_block())
    }

    /// Verifies `records` and returns the games in the order of the schedule.
    ///
    /// # Errors
    /// Returns an error for a record that fails verification.
    pub fn games(&self, records: &[Record]) -> anyhow::Result<Vec<VerifiedRecord>> {
        let run = &self.contest.request.run;
        let mut games = verified(records)?;
        let (done, _) = results(run, &self.schedule, records);
        PlanProgress::new(&self.schedule, &[PART], &done, records).put_in_order(run, &mut games);
        Ok(games)
    }

    /// Plays the due matches. After each match, `progress` receives the number of matches in the run and the match.
    ///
    /// # Errors
    /// Returns an error if a run with this name exists and has different settings, or if a file cannot be written.
    pub fn play(
        &self,
        executor: &dyn Executor,
        mut progress: impl FnMut(usize, Option<&Record>),
    ) -> anyhow::Result<PlayedTournament> {
        let ReadyTournament { contest, players, .. } = self;
        let id = |(who, name): (usize, &String)| {
            let (spec, program) = match players.get(&who) {
                Some(player) => (player.spec.to_string(), settings::program(&player.spec)?),
                // An excluded entrant keeps its original spec. If the entrant could not be built, the spec is empty.
                None => (contest.specs.get(name).cloned().unwrap_or_else(String::new), String::new()),
            };
            Ok(RunAgent { name: name.clone(), spec, program, candidate: true, variant: false })
        };
        let ids = contest.names.iter().enumerate().map(id).collect::<anyhow::Result<_>>()?;
        let text = contest.terms.text()?;
        let (folder, past) = Folder::open(&contest.request.data, &contest.settings(&text, ids), &text)?;
        let seeds = seeds(NAME, contest.request.seed, PART, contest.seeds().secret().as_deref());
        let tables = [RunPart {
            id: PART.into(),
            rooms: vec![GameRoster { game: contest.game.clone(), players: players.clone() }],
            seatings: 1,
            policy: contest.terms.policy.clone(),
            seeds: MatchSeeds::new(seeds, contest.request.deals, &contest.game, BTreeMap::new()),
            own_opponents: BTreeSet::new(),
            excerpts: Excerpts::default(),
            caching: CachePolicy::default(),
        }];
        let jobs = contest.jobs;
        let wave = |_: &[Record], mut due: Vec<Block>| {
            due.truncate(jobs * WAVE);
            Ok(due)
        };
        let budget = RunBudget::default();
        let alive = || Ok(());
        let (folder, tables, schedule) = (&folder, &tables, &self.schedule);
        let driver =
            Driver { executor, folder, schedule, tables, jobs, budget, ci: None, wanted: &wave, alive: &alive };
        let before = past.records.len();
        let mut all = before;
        progress(all, None);
        let (end, records) = driver.play(past, |news| {
            if let RunNews::Match { record, .. } = news {
                all += 1;
                progress(all, Some(record));
            }
        })?;
        Ok(PlayedTournament { played: records.len() - before, records, end })
    }
}

/// Builds the agent of an entrant.
fn make(entry: &NamedAgent, game: &GameRef, bots: &Path) -> Result<Participant, String> {
    let spec = entry.spec(bots).map_err(|e| format!("{e:#}"))?;
    if spec.class() == AgentClass::Person {
        return Err("expected an agent, got a person".into());
    }
    let agent = spec.build(game).map_err(|e| e.to_string())?;
    Ok(Participant { name: entry.name.clone(), spec, agent })
}

fn is_model(entry: &NamedAgent) -> bool {
    matches!(&entry.source, AgentSource::Spec(spec) if spec.class() == AgentClass::Model)
}

fn gathers(entry: &NamedAgent) -> bool {
    matches!(&entry.source, AgentSource::Spec(spec) if llm::uses_batching(spec))
}

/// Duration of a tournament, estimated from the trials.
#[derive(Clone, Debug, Serialize)]
pub struct TournamentEstimate {
    /// Number of entrants that passed their trial.
    pub entrants: usize,
    pub matches_at_most: u64,
    pub seconds_per_match: f64,
    /// Number of parallel matches.
    pub jobs: usize,
    /// Duration of the tournament in seconds, excluding the time spent waiting for batches.
    pub seconds: f64,
    /// True if at least one entrant is batched.
    pub batches: bool,
}

impl fmt::Display for TournamentEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TournamentEstimate { entrants, matches_at_most: matches, seconds_per_match, jobs, seconds, batches } = self;
        let each = display::number(*seconds_per_match, 3);
        let matches = display::count(*matches as usize, "match", "matches");
        write!(f, "{entrants} entrants, at most {matches} of about {each} s, {jobs} at a time: about ")?;
        let seconds = seconds.round() as u64;
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => write!(f, "{s} s"),
            (0, m, s) => write!(f, "{m} min {s} s"),
            (h, m, _) => write!(f, "{h} h {m} min"),
        }?;
        if *batches { f.write_str(", plus the time of the batches, up to 24 hours each") } else { Ok(()) }
    }
}
