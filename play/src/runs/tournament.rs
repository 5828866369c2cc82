//! Tournaments as runs: entrants are tried, then play each other by a format.

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
use ludex_report::runs::summary::verified;
use rayon::prelude::*;
use schedule::{NAME, PART, TournamentSchedule, TournamentTerms};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer_cache::CachePolicy;
use super::driver::{Budget, Driver, RunNews, StopReason};
use super::executor::Executor;
use super::folder::{Folder, RunStatus, path_of, read_settings};
use super::run_files::RUN;
use super::settings::{self, RunAgent, RunKind, RunSeeds, RunSettings, SuiteId};
use super::{GameRoster, RunPart};
use crate::agents_file::{AgentSource, Agents, NamedAgent};
use crate::local::{self, Participant, Unfit, check};

/// Blocks for each thread in a wave. Between waves, the tournament looks which entrants are disqualified.
const WAVE: usize = 16;

/// What is played, and by whom.
pub struct TournamentRequest {
    /// Where runs are.
    pub data: PathBuf,
    /// Name of the run.
    pub run: String,
    /// The game, as the user wrote it.
    pub game: String,
    /// The entrants.
    pub agents: Agents,
    /// The format.
    pub format: TournamentFormat,
    /// Seeds for each meeting.
    pub blocks: u64,
    /// Seed of the draws and of the games.
    pub seed: u64,
    /// An entrant is disqualified after this many matches lost by its own failure (0 = never).
    pub strikes: u64,
    /// Seconds for a move; by default 30, or 300 if an entrant is a language model.
    pub move_seconds: Option<u64>,
    /// Matches at a time; by default one for each core, and 1,024 if an entrant is asked in batches.
    pub jobs: Option<usize>,
    /// Bytes in hex that the seeds of the games are made from; without them they follow from `seed`.
    pub secret: Option<String>,
    /// Whether the matches of a meeting share a deal. Entrants that can remember get each deal once.
    pub deals: Deals,
    /// Entrants that do not take part, by name, and why.
    pub left_out: BTreeMap<String, String>,
}

/// A tournament with valid terms.
pub struct Contest {
    request: TournamentRequest,
    game: GameRef,
    names: Vec<String>,
    jobs: usize,
    /// The run's folder.
    pub path: PathBuf,
    /// Its terms. Entrants that fail their trial are added to those left out.
    pub terms: TournamentTerms,
    /// Specs of entrants that were left out when the run began.
    specs: BTreeMap<String, String>,
}

/// An entrant that was tried.
struct Trial {
    name: String,
    /// The player, or why the entrant is left out.
    player: Result<Participant, String>,
    /// Seconds that each of its seats takes in a match; 0 if it was not tried.
    seconds: f64,
}

/// A tournament whose entrants are ready.
pub struct ReadyTournament {
    /// The tournament, with the terms as they are kept.
    pub contest: Contest,
    /// Its schedule.
    pub schedule: TournamentSchedule,
    /// Entrants that were left out now, with the reasons.
    pub left_out: Vec<(String, String)>,
    /// How long the tournament will take; absent if the run has begun.
    pub estimate: Option<TournamentEstimate>,
    players: BTreeMap<usize, Participant>,
}

/// A tournament that has ended or stopped.
pub struct PlayedTournament {
    /// All its records, of earlier calls too.
    pub records: Vec<Record>,
    /// How many of them were made now.
    pub played: usize,
    /// Why it ended.
    pub end: StopReason,
}

impl Contest {
    /// Checks the terms, before any entrant is tried.
    ///
    /// # Errors
    /// A game that does not exist or that nobody can win, or invalid terms.
    pub fn new(request: TournamentRequest) -> anyhow::Result<Self> {
        let game = load(&request.game)?;
        let spec = game.spec();
        if spec.utility == Utility::Identical {
            anyhow::bail!("in {} all seats win or lose together, so a tournament makes no sense", spec.string);
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

    /// Makes the entrants ready. If the run has begun, its entrants are made as they were. Otherwise each entrant plays
    /// against itself and against `random`, and is left out if it fails; `tried` is called after each trial.
    ///
    /// Programs are compiled in `bots`. Without it, they are compiled beside the run, so that its records name what played,
    /// and a run that has begun is continued.
    ///
    /// # Errors
    /// An endpoint that fails, too few entrants that pass, or an entrant of a run that can no longer be made.
    pub fn ready(mut self, bots: Option<&Path>, tried: impl Fn() + Sync) -> anyhow::Result<ReadyTournament> {
        let begun = bots.is_none() && self.path.join(RUN).exists();
        let beside = self.path.join("bots");
        let bots = bots.unwrap_or(&beside);
        let trials = if begun { self.known(bots)? } else { self.try_all(bots, tried)? };
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

    /// The entrants of a run that has begun.
    fn known(&mut self, bots: &Path) -> anyhow::Result<Vec<Trial>> {
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
            // A remote agent shows what it can when it plays.
            if let Ok(player) = player.clone()
                && player.spec.class() == AgentClass::Remote
            {
                tried();
                return Ok(Trial { name: entry.name.clone(), player: Ok(player), seconds: 0.0 });
            }
            let tried_as = |player: &Participant| -> Participant {
                // Trials do not wait for batches.
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
                // If an endpoint is down, the trial shows nothing about the agent that needs it.
                Ok((Err(unfit), _)) => anyhow::bail!("nothing was played: {}: {unfit}", entry.name),
            };
            tried();
            // It played all seats of one match, and each seat of another.
            let seconds = begun.elapsed().as_secs_f64() / f64::from(2 * seats);
            Ok(Trial { name: entry.name.clone(), player, seconds })
        };
        let jobs = self.request.jobs.unwrap_or_else(local::cores);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
        // `par_bridge` hands out one entrant after the other, so that slow entrants at the end do not share one thread.
        let trials: anyhow::Result<Vec<(usize, Trial)>> = pool.install(|| {
            let entries = self.request.agents.entries.iter();
            let entries = entries.filter(|entry| !self.terms.left_out.contains_key(&entry.name));
            entries.enumerate().par_bridge().map(|(k, entry)| Ok((k, of(entry)?))).collect()
        });
        let mut trials = trials?;
        trials.sort_by_key(|(k, _)| *k);
        Ok(trials.into_iter().map(|(_, trial)| trial).collect())
    }

    /// How long a tournament among the entrants that passed will take.
    fn estimate(&self, schedule: &TournamentSchedule, passed: &[Trial]) -> anyhow::Result<TournamentEstimate> {
        let settings =
            tournament::TournamentSettings { entrants: passed.len(), ..schedule.tournament.settings().clone() };
        let left_out = self.terms.left_out.len();
        let tournament = tournament::Tournament::new(settings)
            .map_err(|e| anyhow::anyhow!("{left_out} of the entrants were left out, and the rest are too few: {e}"))?;
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
    /// How many matches are due, as far as is known now, and how many are done.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn standing(&self) -> anyhow::Result<(usize, usize)> {
        let TournamentRequest { run, .. } = &self.contest.request;
        let path = &self.contest.path;
        let records = if path.join(RUN).exists() { RunStatus::at(path)?.past.records } else { Vec::new() };
        let (done, _) = results(run, &self.schedule, &records);
        let due = ludex_report::runs::RunSchedule::next(&self.schedule, &done, &records);
        Ok((due.iter().map(|block| block.matches.len()).sum(), done.len()))
    }

    /// The table as JSON: rank, points, wins, draws and losses of each entrant by name.
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

    /// Matches that the tournament has at most.
    pub fn matches_at_most(&self) -> u64 {
        let tournament = &self.schedule.tournament;
        tournament.blocks_at_most().saturating_mul(tournament.matches_of_block())
    }

    /// The verified games of these records, in the order of the schedule.
    ///
    /// # Errors
    /// A record that does not verify.
    pub fn games(&self, records: &[Record]) -> anyhow::Result<Vec<VerifiedRecord>> {
        let run = &self.contest.request.run;
        let mut games = verified(records)?;
        let (done, _) = results(run, &self.schedule, records);
        PlanProgress::new(&self.schedule, &[PART], &done, records).put_in_order(run, &mut games);
        Ok(games)
    }

    /// Plays the matches that are still due. `progress` gets the number of matches that the run has, and the match
    /// that was played last.
    ///
    /// # Errors
    /// A run of this name with other terms, or a file that cannot be written.
    pub fn play(
        &self,
        executor: &dyn Executor,
        mut progress: impl FnMut(usize, Option<&Record>),
    ) -> anyhow::Result<PlayedTournament> {
        let ReadyTournament { contest, players, .. } = self;
        let id = |(who, name): (usize, &String)| {
            let (spec, program) = match players.get(&who) {
                Some(player) => (player.spec.to_string(), settings::program(&player.spec)?),
                // An entrant that was left out keeps the spec of the beginning, which is empty if it could not be made ready.
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
            once: CachePolicy::default(),
        }];
        let jobs = contest.jobs;
        let wave = |_: &[Record], mut due: Vec<Block>| {
            due.truncate(jobs * WAVE);
            Ok(due)
        };
        let budget = Budget::default();
        let alive = || Ok(());
        let (folder, tables, schedule) = (&folder, &tables, &self.schedule);
        let driver =
            Driver { executor, folder, schedule, tables, jobs, budget, ci: None, wanted: &wave, alive: &alive };
        let before = past.records.len();
        let mut all = before;
        progress(all, None);
        let (end, records) = driver.play(past, |news| {
            if let RunNews::Match(record) = news {
                all += 1;
                progress(all, Some(record));
            }
        })?;
        Ok(PlayedTournament { played: records.len() - before, records, end })
    }
}

/// An entrant made ready to play.
fn make(entry: &NamedAgent, game: &GameRef, bots: &Path) -> Result<Participant, String> {
    let spec = entry.spec(bots).map_err(|e| format!("{e:#}"))?;
    if spec.class() == AgentClass::Person {
        return Err("a person cannot play in tournaments".into());
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

/// How long a tournament will take, by the time of the trials.
#[derive(Clone, Debug, Serialize)]
pub struct TournamentEstimate {
    /// Entrants that passed.
    pub entrants: usize,
    /// Matches, at most.
    pub matches_at_most: u64,
    /// Seconds of a match.
    pub seconds_per_match: f64,
    /// Matches at a time.
    pub jobs: usize,
    /// Seconds of the whole, without the time of batches.
    pub seconds: f64,
    /// Whether an entrant is asked in batches.
    pub batches: bool,
}

impl fmt::Display for TournamentEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TournamentEstimate { entrants, matches_at_most: matches, seconds_per_match, jobs, seconds, batches } = self;
        let each = display::number(*seconds_per_match, 3);
        write!(f, "{entrants} entrants, at most {matches} matches of about {each} s, {jobs} at a time: about ")?;
        let seconds = seconds.round() as u64;
        match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, 0, s) => write!(f, "{s} s"),
            (0, m, s) => write!(f, "{m} min {s} s"),
            (h, m, _) => write!(f, "{h} h {m} min"),
        }?;
        if *batches { f.write_str(", and the time of the batches, up to 24 hours for each") } else { Ok(()) }
    }
}
