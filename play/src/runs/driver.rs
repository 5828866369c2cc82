//! Driver of a run, which plays the due matches.
//!
//! Blocks are played in parallel. The matches of a block are played in sequence on one thread, so a run can stop
//! between blocks.
//!
//! If the infrastructure ends a match (an endpoint is down, a rate limit persists), no agent loses the match. The run
//! repeats the match at the end, and discards it after a second failure. After several such failures in a row, the
//! driver probes the endpoints. If an endpoint is down, the run stops without recording the failed matches, and the
//! same command resumes the run later.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_protocol::record::{EndReason, Record};
use ludex_referee::suite::OnTimeout;
use ludex_referee::suite::plan::{Block, DueMatch, MatchScore, block_key, key};
use ludex_report::display::count;
use ludex_report::runs::episode::{AGAIN, name_of};
use ludex_report::runs::usage::Usage;
use ludex_report::runs::{RunSchedule, results};
use parking_lot::{Condvar, Mutex};

use super::answer_cache::AnswerCache;
use super::executor::{Executor, MatchJob};
use super::folder::{Calls, Folder, RunHistory};
use super::{GameRoster, RunPart};
use crate::local::{self, HostOptions, Participant, PlayedMatch, Turns};
use crate::machine::interface::MatchSetup;

/// Key of the log line with the interval width at which parts stop early.
pub(crate) const CI: &str = "ci";
/// The endpoints are probed after this many matches in a row were ended by infrastructure failures.
const STREAK: usize = 5;
/// Limits at which a run stops early, checked between blocks. A block is started only if the budget is expected to
/// cover the block, at the mean cost of a match so far. The budget is exceeded by at most about one block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunBudget {
    /// Maximum cost of the whole run in US dollars.
    pub usd: Option<f64>,
    /// Maximum number of input and output tokens in the whole run.
    pub tokens: Option<u64>,
    /// Maximum number of matches in the whole run.
    pub games: Option<u64>,
    /// Maximum duration in hours, from the start of this process.
    pub hours: Option<f64>,
}

/// Reason why the driver stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// All planned matches have been played.
    Done,
    /// Budget limit reached; contains a description of the limit.
    Budget(String),
    /// Repeated infrastructure failures; contains the last failure message.
    Infrastructure(String),
    /// Executor unable to play at present, for example because a remote agent is disconnected.
    Waiting,
}

/// Progress report of the driver.
pub enum RunNews<'a> {
    /// Number of matches that are due, given the results so far, by part.
    Due(&'a BTreeMap<usize, usize>),
    Match {
        record: &'a Record,
        /// Index of the part.
        part: usize,
        /// Cost of the run so far.
        spent: Usage,
    },
}

/// Filter that selects the blocks to play from the due blocks, given the records so far.
pub type BlockFilter<'a> = dyn Fn(&[Record], Vec<Block>) -> anyhow::Result<Vec<Block>> + Sync + 'a;

/// Driver that plays the due matches of a run.
pub struct Driver<'a> {
    pub executor: &'a dyn Executor,
    pub folder: &'a Folder,
    pub schedule: &'a dyn RunSchedule,
    /// Parts of the run with games and players.
    pub tables: &'a [RunPart],
    /// Number of parallel matches, at least 1.
    pub jobs: usize,
    pub budget: RunBudget,
    /// Width of rating intervals, in points, at which `wanted` skips the rest of a part. Written to the log.
    pub ci: Option<f64>,
    /// Filter for the blocks of a wave, for example to skip parts whose intervals are narrow enough.
    pub wanted: &'a BlockFilter<'a>,
    /// Callback that probes the endpoints of the agents.
    pub alive: &'a (dyn Fn() -> anyhow::Result<()> + Sync),
}

/// Finished match that is not yet recorded.
struct FinishedMatch {
    part: usize,
    turn: usize,
    key: String,
    played: PlayedMatch,
    /// Start time of the match.
    begun: Instant,
    over: Instant,
}

impl FinishedMatch {
    fn failure(&self) -> Option<&str> {
        self.played.failure.as_deref()
    }
}

/// Blocks that are played in parallel.
struct Wave<'a> {
    queue: Mutex<Queue>,
    /// Condition variable that is notified after each recorded match.
    kept: Condvar,
    /// Flag that prevents further blocks from starting.
    stop: AtomicBool,
    /// Flag that is set when the executor cannot play at present.
    waits: AtomicBool,
    book: &'a Arc<AnswerCache>,
    /// Calls of interrupted matches, by episode.
    open: &'a Mutex<HashMap<String, Calls>>,
    /// Players that are disqualified, whose due matches become walkovers.
    out: Mutex<BTreeSet<usize>>,
    /// Maximum number of concurrent matches of each player that has a limit.
    slots: HashMap<usize, usize>,
    /// Number of failures of each match that must be repeated.
    failed: &'a HashMap<String, u32>,
    /// Limit on the number of agents that compute at the same time, used if an agent is batched.
    turns: Option<&'a Turns>,
}

/// Queue of due blocks, with counters.
struct Queue {
    blocks: VecDeque<Block>,
    /// Number of unfinished matches in the blocks that have started.
    flying: usize,
    /// Number of matches recorded by the run.
    kept: usize,
    /// Number of blocks in progress of each player.
    busy: HashMap<usize, usize>,
}

impl Queue {
    /// Takes the first block whose players all have a free slot. `slots` holds the players with a limit.
    fn take(&mut self, slots: &HashMap<usize, usize>) -> Option<Block> {
        let free = |who: &usize| slots.get(who).is_none_or(|most| self.busy.get(who).is_none_or(|n| n < most));
        let at = self.blocks.iter().position(|block| players_of(block).iter().all(free))?;
        let block = self.blocks.remove(at)?;
        players_of(&block).into_iter().for_each(|who| *self.busy.entry(who).or_default() += 1);
        self.flying += block.matches.len();
        Some(block)
    }

    /// Frees the slots of a block that has ended.
    fn free(&mut self, block: &Block) {
        for who in players_of(block) {
            self.busy.entry(who).and_modify(|n| *n -= 1);
        }
    }
}

fn players_of(block: &Block) -> BTreeSet<usize> {
    block.matches.iter().flat_map(|due| &due.seats).copied().collect()
}

/// Counts a match that the failure of a player ended.
fn count_failure(schedule: &dyn RunSchedule, record: &Record, failures: &mut HashMap<usize, u64>) {
    if let Some(who) = schedule.failed(record) {
        *failures.entry(who).or_default() += 1;
    }
}

/// Finished match, with the channel that notifies the match's thread once the match is recorded.
type Handover = (FinishedMatch, mpsc::Sender<()>);

impl Driver<'_> {
    /// Plays until no match is due, the budget is used up, or the infrastructure fails.
    ///
    /// # Errors
    /// Returns an error if a record or a log line cannot be written. In that case, no further match is played.
    pub fn play(&self, past: RunHistory, mut news: impl FnMut(RunNews)) -> anyhow::Result<(StopReason, Vec<Record>)> {
        if let Some(points) = self.ci {
            self.folder.log(CI, None, Some(&points.to_string()))?;
        }
        let open = Mutex::new(past.open);
        let book = AnswerCache::new(self.folder.path(), past.answers);
        let gathers =
            |table: &RunPart| table.rooms.iter().any(|room| room.players.values().any(|p| p.agent.is_batched()));
        let turns = self.tables.iter().any(gathers).then(Turns::of_cores);
        let begun = Instant::now();
        let (failures, spoiled) = (HashMap::new(), Vec::new());
        let mut keeper =
            Keeper { driver: self, begun, records: past.records, failures, spoiled, end: None, news: &mut news };
        keeper.records.iter().for_each(|record| count_failure(self.schedule, record, &mut keeper.failures));
        loop {
            keeper.check_budget()?;
            if let Some(end) = keeper.end {
                return Ok((end, keeper.records));
            }
            let (done, failed) = results(self.folder.run(), self.schedule, &keeper.records);
            let asked = self.schedule.next(&done, &keeper.records);
            let mut due = (self.wanted)(&keeper.records, asked)?;
            // A block without matches would stay due forever.
            due.retain(|block| !block.matches.is_empty());
            self.put_live_first(&mut due, &failed);
            let mut by_part: BTreeMap<usize, usize> = BTreeMap::new();
            due.iter().for_each(|block| *by_part.entry(block.part).or_default() += block.matches.len());
            (keeper.news)(RunNews::Due(&by_part));
            if due.is_empty() {
                self.folder.log("done", None, None)?;
                return Ok((StopReason::Done, keeper.records));
            }
            let queue = Queue { blocks: due.into(), flying: 0, kept: keeper.records.len(), busy: HashMap::new() };
            let (queue, kept) = (Mutex::new(queue), Condvar::new());
            let (stop, waits) = (AtomicBool::new(false), AtomicBool::new(false));
            let out = Mutex::new(keeper.disqualified());
            let (book, open, failed, turns) = (&book, &open, &failed, turns.as_ref());
            let slots = self.slots();
            let wave = Wave { queue, kept, stop, waits, book, open, out, slots, failed, turns };
            self.play_wave(&wave, &mut keeper)?;
            keeper.end_wave()?;
            if wave.waits.load(Relaxed) && keeper.end.is_none() {
                return Ok((StopReason::Waiting, keeper.records));
            }
        }
    }

    /// Moves the matches in progress to the front. They occupy the slots of their players until they are played on.
    fn put_live_first(&self, due: &mut [Block], failed: &HashMap<String, u32>) {
        for block in &mut *due {
            let mut matches = std::mem::take(&mut block.matches);
            matches.sort_by_cached_key(|due| !self.executor.is_live(&self.place(block, due, failed).1));
            block.matches = matches;
        }
        due.sort_by_cached_key(|block| {
            let first = block.matches.first();
            !first.is_some_and(|due| self.executor.is_live(&self.place(block, due, failed).1))
        });
    }

    /// Returns the key and the episode of a match. `failed` has the matches that must be repeated.
    fn place(&self, block: &Block, due: &DueMatch, failed: &HashMap<String, u32>) -> (String, String) {
        let key = key(&self.tables[block.part].id, &block.pairing, block.index, due.turn);
        let episode = name_of(self.folder.run(), &key, failed.contains_key(&key));
        (key, episode)
    }

    /// Plays blocks on threads and passes the finished matches to `keeper` one by one.
    fn play_wave(&self, wave: &Wave, keeper: &mut Keeper) -> anyhow::Result<()> {
        let (matches, finished) = mpsc::channel::<Handover>();
        std::thread::scope(|scope| {
            let blocks = wave.queue.lock().blocks.len();
            for k in 0..self.jobs.min(blocks).max(1) {
                let matches = matches.clone();
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || self.play_blocks(wave, &matches));
                match thread {
                    Ok(_) => {}
                    Err(e) if k == 0 => return Err(e).context("cannot start a thread for matches"),
                    // Continue with the threads started so far.
                    Err(_) => break,
                }
            }
            drop(matches);
            let kept = finished.into_iter().try_for_each(|(finished, kept)| {
                keeper.take(finished)?;
                *wave.out.lock() = keeper.disqualified();
                if keeper.end.is_some() {
                    wave.stop.store(true, Relaxed);
                }
                let mut queue = wave.queue.lock();
                queue.flying = queue.flying.saturating_sub(1);
                queue.kept = keeper.records.len();
                drop(queue);
                wave.kept.notify_all();
                kept.send(()).map_err(|_| anyhow::anyhow!("the thread of a match ended unexpectedly"))
            });
            wave.stop.store(true, Relaxed);
            wave.kept.notify_all();
            kept
        })
    }

    /// Returns the maximum number of concurrent matches of each player that has a limit.
    fn slots(&self) -> HashMap<usize, usize> {
        let players = self.tables.iter().flat_map(|table| &table.rooms).flat_map(|room| &room.players);
        players.filter_map(|(&who, player)| Some((who, self.executor.slots(&player.name)?))).collect()
    }

    /// Returns the next block to play, or `None` if no block is left. Waits while the matches in progress are expected
    /// to use up the budget, and while every block has a player without a free slot.
    fn next_block(&self, wave: &Wave) -> Option<Block> {
        let mut queue = wave.queue.lock();
        loop {
            if wave.stop.load(Relaxed) || queue.blocks.is_empty() {
                return None;
            }
            if (queue.flying == 0 || self.has_room(&queue))
                && let Some(block) = queue.take(&wave.slots)
            {
                return Some(block);
            }
            // A thread that ends without a match sends no notification, so wait with a timeout.
            wave.kept.wait_for(&mut queue, Duration::from_millis(200));
        }
    }

    /// Returns true if, at the mean cost of a match so far, the budget covers more than the matches in progress.
    fn has_room(&self, queue: &Queue) -> bool {
        let RunBudget { usd, tokens, games, .. } = self.budget;
        let used = self.folder.usage();
        // Until the first match has finished, the cost of a match is unknown and counts as infinite.
        let each = |used: f64| if queue.kept == 0 { f64::INFINITY } else { used / queue.kept as f64 };
        let room = |used: f64, most: f64| used + each(used) * (queue.flying as f64) < most;
        games.is_none_or(|most| ((queue.kept + queue.flying) as u64) < most)
            && usd.is_none_or(|most| room(used.usd, most))
            && tokens.is_none_or(|most| room(used.tokens() as f64, most as f64))
    }

    /// Plays blocks until the queue is empty or the wave stops.
    fn play_blocks(&self, wave: &Wave, matches: &mpsc::Sender<Handover>) {
        while let Some(block) = self.next_block(wave) {
            for due in &block.matches {
                let Some(finished) = self.play_match(wave, &block, due) else {
                    wave.stop.store(true, Relaxed);
                    wave.waits.store(true, Relaxed);
                    return;
                };
                // Wait until the match is recorded, so that no match starts beyond the budget. A closed channel means
                // that the match could not be recorded and the run ends.
                let (kept, is_kept) = mpsc::channel();
                if matches.send((finished, kept)).is_err() || is_kept.recv().is_err() {
                    return;
                }
            }
            wave.queue.lock().free(&block);
            wave.kept.notify_all();
        }
    }

    /// Plays a match; `None` if the executor cannot play at present.
    fn play_match(&self, wave: &Wave, block: &Block, due: &DueMatch) -> Option<FinishedMatch> {
        let table = &self.tables[block.part];
        let (key, episode) = self.place(block, due, wave.failed);
        let before = wave.open.lock().remove(&episode).unwrap_or_default();
        let begun = Instant::now();
        let GameRoster { game, players } = table.room(due.turn);
        let (game_ref, game) = (game, &game.spec().string);
        let players = due.seats.iter().map(|who| wave.book.player(&table.caching, game, &episode, &players[who]));
        let players: Vec<Participant> = players.collect();
        let players: Vec<&Participant> = players.iter().collect();
        let mut setup = setup(table, block, due, self.folder.run(), &episode);
        setup.forfeit = due.seats.iter().position(|who| wave.out.lock().contains(who));
        setup.header.rated &= setup.forfeit.is_none();
        let journals = self.folder.journals(&episode, players.len(), before);
        let policy = &table.policy;
        let asking = HostOptions {
            limit: Some(Duration::from_secs(policy.limit_s)),
            turns: wave.turns,
            skip_forced: policy.skip_forced,
            late_is_infra: policy.on_timeout == OnTimeout::Error,
            journals: Some(&journals),
            stop: None,
        };
        let blameless = due.seats.iter().map(|who| table.own_opponents.contains(who)).collect();
        // Until a client has answered a question, only one match may ask it.
        let clients = wave.book.clients(&table.caching, game, &players);
        let known = clients.answers_for(&episode);
        let played = self.executor.play(MatchJob { setup, players: &players, blameless, known, asking })?;
        let played = match clients.learn(game_ref, &episode, &played.record) {
            Ok(()) => played,
            Err(error) => PlayedMatch { failure: Some(format!("{error:#}")), ..played },
        };
        Some(FinishedMatch { part: block.part, turn: due.turn, key, played, begun, over: Instant::now() })
    }

    /// Describes the budget limit that is reached, if any.
    fn spent(&self, games: usize, begun: Instant) -> Option<String> {
        let RunBudget { usd, tokens, games: most, hours } = self.budget;
        let used: Usage = self.folder.usage();
        let hour = Duration::from_secs(3600).as_secs_f64();
        if let Some(usd) = usd.filter(|&usd| used.usd >= usd) {
            return Some(format!("the budget of {usd} dollars is used up ({:.2})", used.usd));
        }
        if let Some(tokens) = tokens.filter(|&tokens| used.tokens() >= tokens) {
            return Some(format!("the budget of {tokens} tokens is used up ({})", used.tokens()));
        }
        if let Some(most) = most.filter(|&most| games as u64 >= most) {
            return Some(format!("the budget of {} is used up ({games})", count(most as usize, "match", "matches")));
        }
        let hours = hours.filter(|&hours| begun.elapsed().as_secs_f64() >= hours * hour)?;
        Some(format!("the budget of {hours} hours is used up"))
    }
}

/// Recorder of finished matches. Decides when the run ends.
struct Keeper<'a, 'n> {
    driver: &'a Driver<'a>,
    begun: Instant,
    records: Vec<Record>,
    /// Number of matches that each player's own failures ended.
    failures: HashMap<usize, u64>,
    /// Matches ended by the infrastructure. Recorded only after a probe shows that the endpoints are up.
    spoiled: Vec<FinishedMatch>,
    /// Reason for the end of the run; `None` while the run continues.
    end: Option<StopReason>,
    news: &'n mut dyn FnMut(RunNews),
}

impl Keeper<'_, '_> {
    /// Records a finished match, or buffers it if the infrastructure ended it.
    fn take(&mut self, finished: FinishedMatch) -> anyhow::Result<()> {
        let judged = self.driver.schedule.judge(finished.part, finished.turn, &finished.played.record);
        if judged == MatchScore::Discarded {
            self.take_spoiled(finished)?;
        } else {
            // A successful match proves that the endpoints are up. Matches that failed before this match started
            // therefore failed for reasons of their own, and are recorded.
            let (own, others) = self.spoiled.drain(..).partition(|f| f.over <= finished.begun);
            self.spoiled = others;
            self.keep_all(own)?;
            self.keep(finished)?;
        }
        // Failed matches count toward the budget too.
        self.check_budget()
    }

    /// Buffers a match that the infrastructure ended, and probes the endpoints after several of them.
    fn take_spoiled(&mut self, finished: FinishedMatch) -> anyhow::Result<()> {
        self.driver.folder.log("failed", Some(&finished.played.record.header.episode), finished.failure())?;
        self.spoiled.push(finished);
        if self.spoiled.len() >= STREAK { self.ask_endpoints() } else { Ok(()) }
    }

    /// Probes the endpoints at the end of a wave, because no later match of the wave can show that they are up.
    fn end_wave(&mut self) -> anyhow::Result<()> {
        if self.spoiled.is_empty() { Ok(()) } else { self.ask_endpoints() }
    }

    /// Probes the endpoints. If all are up, the failed matches are recorded; otherwise the run ends.
    fn ask_endpoints(&mut self) -> anyhow::Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        if (self.driver.alive)().is_ok() {
            let spoiled = std::mem::take(&mut self.spoiled);
            return self.keep_all(spoiled);
        }
        let why = self.spoiled.last().and_then(FinishedMatch::failure).unwrap_or("reason unknown").to_owned();
        self.driver.folder.log("stopped", None, Some(&why))?;
        self.end = Some(StopReason::Infrastructure(why));
        Ok(())
    }

    /// Ends the run if the budget is used up.
    fn check_budget(&mut self) -> anyhow::Result<()> {
        if self.end.is_none()
            && let Some(why) = self.driver.spent(self.records.len(), self.begun)
        {
            self.driver.folder.log("stopped", None, Some(&why))?;
            self.end = Some(StopReason::Budget(why));
        }
        Ok(())
    }

    /// Returns the players that are disqualified because of their failures.
    fn disqualified(&self) -> BTreeSet<usize> {
        let strikes = self.driver.schedule.strikes();
        self.failures.iter().filter(|&(_, &n)| strikes > 0 && n >= strikes).map(|(&who, _)| who).collect()
    }

    fn keep_all(&mut self, all: Vec<FinishedMatch>) -> anyhow::Result<()> {
        all.into_iter().try_for_each(|finished| self.keep(finished))
    }

    fn keep(&mut self, finished: FinishedMatch) -> anyhow::Result<()> {
        let Driver { folder, schedule, .. } = self.driver;
        let record = finished.played.record;
        folder.keep(&record)?;
        if record.footer.reason == Some(EndReason::InfraError) {
            let again = record.header.episode.ends_with(AGAIN);
            let what = if again || schedule.rematches(finished.part) == 0 { "discarded" } else { "rematch" };
            folder.log(what, Some(&finished.key), finished.played.failure.as_deref())?;
        } else if let Some(why) = &finished.played.failure {
            folder.log("forfeit", Some(&record.header.episode), Some(why))?;
        }
        count_failure(*schedule, &record, &mut self.failures);
        (self.news)(RunNews::Match { record: &record, part: finished.part, spent: folder.usage() });
        self.records.push(record);
        Ok(())
    }
}

/// Returns the setup of a match of a run. The setup equals that of a local match, except for the names and the policy,
/// which come from the run.
pub fn setup(table: &RunPart, block: &Block, due: &DueMatch, run: &str, episode: &str) -> MatchSetup {
    let GameRoster { game, players } = table.room(due.turn);
    let players: Vec<_> = due.seats.iter().map(|who| &players[who]).collect();
    let seed = table.seeds.of(&block.pairing, block.index, due.turn);
    let pair = || format!("{run}.{}", block_key(&table.id, &block.pairing, block.index));
    let pair = table.seeds.are_paired().then(pair);
    let named = local::block_key(game, &players, seed);
    let mut setup = local::setup(game, &players, seed, &named, due.turn, pair);
    setup.header.episode = episode.to_owned();
    setup.header.rated = players.iter().all(|p| !p.agent.needs_full_state());
    setup.header.illegal = table.policy.illegal();
    setup.grace_ms = table.policy.away_s.map(|seconds| seconds * 1_000);
    setup.run = Some(run.to_owned());
    setup.excerpt = table.excerpts.of(block.index, due.turn);
    setup.header.start = setup.excerpt.start.len() as u32;
    setup
}
