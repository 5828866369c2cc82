//! Plays the matches of a run that are still due.
//!
//! Blocks are played on threads. One thread plays a block from its first match to its last, so that a run stops between
//! blocks. If the infrastructure ends a match (an endpoint that is down, a rate limit that lasts), nobody loses it: it is
//! played again at the end, and discarded if it fails again. After several such matches in a row, the endpoint is asked for
//! a word. If it does not answer, the run stops and those matches are not kept; the same command continues the run when the
//! endpoint is back.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_protocol::record::{EndReason, Record};
use ludex_referee::suite::OnTimeout;
use ludex_referee::suite::plan::{Block, DueMatch, MatchScore, Results, block_key, key};

use super::answer_cache::AnswerCache;
use super::episode::{AGAIN, key_of, name_of};
use super::executor::{Executor, MatchJob};
use super::folder::{Calls, Folder, RunHistory};
use super::usage::Usage;
use super::{GameRoster, RunPart, RunSchedule};
use crate::local::{self, HostOptions, Participant, PlayedMatch, Turns};
use crate::machine::interface::MatchSetup;

/// In the log: parts stop when the intervals of their ratings have this width.
pub(crate) const CI: &str = "ci";
/// After this many infrastructure failures in a row, the endpoints are asked whether they are up.
const STREAK: usize = 5;
/// The bounds at which a run stops before it is done. They are checked between blocks. No block is begun that the budget does
/// not reach by the mean cost of a match so far, so that it is exceeded by about one block at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// US dollars, over the whole run.
    pub usd: Option<f64>,
    /// Tokens read and written, over the whole run.
    pub tokens: Option<u64>,
    /// Matches, over the whole run.
    pub games: Option<u64>,
    /// Hours from now.
    pub hours: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// Everything that is to be played is played.
    Done,
    /// A bound of the budget is reached, in words.
    Budget(String),
    /// The infrastructure failed repeatedly; the last failure.
    Infrastructure(String),
    /// The executor cannot play at present, for example because a remote agent is away.
    Waiting,
}

/// What a run reports while it is played.
pub enum RunNews<'a> {
    /// This many matches are due, as far as is known now.
    Due(usize),
    /// A match is done.
    Match(&'a Record),
}

/// Chooses among the blocks that are due, by the records so far.
pub type BlockFilter<'a> = dyn Fn(&[Record], Vec<Block>) -> anyhow::Result<Vec<Block>> + Sync + 'a;

/// Plays a run to its end, or until it must stop.
pub struct Driver<'a> {
    /// Plays its matches.
    pub executor: &'a dyn Executor,
    /// Where it is kept.
    pub folder: &'a Folder,
    /// What is due.
    pub schedule: &'a dyn RunSchedule,
    /// Games and players, by part.
    pub tables: &'a [RunPart],
    /// Matches at a time, at least 1.
    pub jobs: usize,
    /// When to stop.
    pub budget: Budget,
    /// The width of rating intervals at which `wanted` leaves the rest of a part out, if it does; the log tells it.
    pub ci: Option<f64>,
    /// Chooses the blocks of a wave, for example because some intervals are narrow enough.
    pub wanted: &'a BlockFilter<'a>,
    /// Asks whether the endpoints of the agents are up.
    pub alive: &'a (dyn Fn() -> anyhow::Result<()> + Sync),
}

/// The matches that are done by the records of a run, and how often each match failed that is to be played again.
pub fn results(run: &str, schedule: &dyn RunSchedule, records: &[Record]) -> (Results, HashMap<String, u32>) {
    let (mut done, mut failed) = (Results::new(), HashMap::new());
    for record in records {
        let Some((key, _)) = key_of(run, &record.header.episode) else { continue };
        let Some((part, turn)) = schedule.find(key) else { continue };
        match schedule.judge(part, turn, record) {
            MatchScore::Discarded => {
                let times = failed.entry(key.to_owned()).or_insert(0);
                *times += 1;
                if *times > schedule.rematches(part) {
                    done.insert(key.to_owned(), MatchScore::Discarded);
                }
            }
            counted => {
                done.insert(key.to_owned(), counted);
            }
        }
    }
    (done, failed)
}

/// A match that was played and is not kept yet.
struct FinishedMatch {
    part: usize,
    turn: usize,
    key: String,
    played: PlayedMatch,
    /// When it began and when it ended.
    begun: Instant,
    over: Instant,
}

impl FinishedMatch {
    fn failure(&self) -> Option<&str> {
        self.played.failure.as_deref()
    }
}

/// Blocks that are played together.
struct Wave<'a> {
    queue: Mutex<Queue>,
    /// Told whenever a match is kept.
    kept: Condvar,
    /// No block is begun after this is set.
    stop: AtomicBool,
    /// The executor cannot play at present.
    waits: AtomicBool,
    /// Answers that are given again.
    book: &'a Arc<AnswerCache>,
    /// Calls of matches that were interrupted.
    open: &'a Mutex<HashMap<String, Calls>>,
    /// Matches that failed once.
    failed: &'a HashMap<String, u32>,
    /// Where agents that compute wait for their turn, if another agent gathers questions.
    turns: Option<&'a Turns>,
}

/// The blocks that are due, and what is under way.
struct Queue {
    blocks: VecDeque<Block>,
    /// Matches of blocks that were begun, and that are not over.
    flying: usize,
    /// Matches that the run has kept.
    kept: usize,
}

/// A match, and where its thread is told that it has been kept.
type Handover = (FinishedMatch, mpsc::Sender<()>);

impl Driver<'_> {
    /// Plays until nothing is due, the budget is used up, or the infrastructure fails.
    ///
    /// # Errors
    /// A record or a line of the log cannot be written. Nothing is played after that.
    pub fn play(&self, past: RunHistory, mut news: impl FnMut(RunNews)) -> anyhow::Result<(StopReason, Vec<Record>)> {
        if let Some(points) = self.ci {
            self.folder.log(CI, None, Some(&points.to_string()))?;
        }
        let open = Mutex::new(past.open);
        let book = AnswerCache::new(self.folder.path(), past.once);
        let gathers =
            |table: &RunPart| table.rooms.iter().any(|room| room.players.values().any(|p| p.agent.is_batched()));
        let turns = self.tables.iter().any(gathers).then(Turns::of_cores);
        let begun = Instant::now();
        let mut keeper =
            Keeper { driver: self, begun, records: past.records, spoiled: Vec::new(), end: None, news: &mut news };
        loop {
            keeper.check_budget()?;
            if let Some(end) = keeper.end {
                return Ok((end, keeper.records));
            }
            let (done, failed) = results(self.folder.run(), self.schedule, &keeper.records);
            let asked = self.schedule.next(&done, &keeper.records);
            let mut due = (self.wanted)(&keeper.records, asked)?;
            // A block without matches would stay due.
            due.retain(|block| !block.matches.is_empty());
            (keeper.news)(RunNews::Due(due.iter().map(|b| b.matches.len()).sum()));
            if due.is_empty() {
                self.folder.log("done", None, None)?;
                return Ok((StopReason::Done, keeper.records));
            }
            let queue = Queue { blocks: due.into(), flying: 0, kept: keeper.records.len() };
            let (queue, kept) = (Mutex::new(queue), Condvar::new());
            let (stop, waits) = (AtomicBool::new(false), AtomicBool::new(false));
            let wave =
                Wave { queue, kept, stop, waits, book: &book, open: &open, failed: &failed, turns: turns.as_ref() };
            self.play_wave(&wave, &mut keeper)?;
            keeper.end_wave()?;
            if wave.waits.load(Relaxed) && keeper.end.is_none() {
                return Ok((StopReason::Waiting, keeper.records));
            }
        }
    }

    /// Plays blocks on threads, and gives the keeper their matches one by one.
    fn play_wave(&self, wave: &Wave, keeper: &mut Keeper) -> anyhow::Result<()> {
        let (matches, finished) = mpsc::channel::<Handover>();
        std::thread::scope(|scope| {
            let blocks = wave.queue.lock().unwrap_or_else(PoisonError::into_inner).blocks.len();
            for k in 0..self.jobs.min(blocks).max(1) {
                let matches = matches.clone();
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || self.play_blocks(wave, &matches));
                match thread {
                    Ok(_) => {}
                    Err(e) if k == 0 => return Err(e).context("the system gives no thread to play on"),
                    // Those that there are play everything.
                    Err(_) => break,
                }
            }
            drop(matches);
            let kept = finished.into_iter().try_for_each(|(finished, kept)| {
                keeper.take(finished)?;
                if keeper.end.is_some() {
                    wave.stop.store(true, Relaxed);
                }
                let mut queue = wave.queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.flying = queue.flying.saturating_sub(1);
                queue.kept = keeper.records.len();
                drop(queue);
                wave.kept.notify_all();
                kept.send(()).map_err(|_| anyhow::anyhow!("a thread that plays matches has ended"))
            });
            wave.stop.store(true, Relaxed);
            wave.kept.notify_all();
            kept
        })
    }

    /// The next block to play; waits while the matches that are under way will probably use the budget up. `None` if there is
    /// nothing more to begin.
    fn next_block(&self, wave: &Wave) -> Option<Block> {
        let mut queue = wave.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if wave.stop.load(Relaxed) || queue.blocks.is_empty() {
                return None;
            }
            if queue.flying == 0 || self.has_room(&queue) {
                let block = queue.blocks.pop_front()?;
                queue.flying += block.matches.len();
                return Some(block);
            }
            // A thread that ends without a match tells nobody, so nobody waits without end.
            let waited = wave.kept.wait_timeout(queue, Duration::from_millis(200));
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the budget reaches beyond the matches under way, if each costs what a match has cost so far.
    fn has_room(&self, queue: &Queue) -> bool {
        let Budget { usd, tokens, games, .. } = self.budget;
        let used = self.folder.usage();
        // Before the first match is over, nobody knows what one costs.
        let each = |used: f64| if queue.kept == 0 { f64::INFINITY } else { used / queue.kept as f64 };
        let room = |used: f64, most: f64| used + each(used) * (queue.flying as f64) < most;
        games.is_none_or(|most| ((queue.kept + queue.flying) as u64) < most)
            && usd.is_none_or(|most| room(used.usd, most))
            && tokens.is_none_or(|most| room(used.tokens() as f64, most as f64))
    }

    /// Plays blocks until the queue is empty or the wave is stopped.
    fn play_blocks(&self, wave: &Wave, matches: &mpsc::Sender<Handover>) {
        while let Some(block) = self.next_block(wave) {
            for due in &block.matches {
                let Some(finished) = self.play_match(wave, &block, due) else {
                    wave.stop.store(true, Relaxed);
                    wave.waits.store(true, Relaxed);
                    return;
                };
                // The thread waits until the match is kept, so that it begins nothing that the budget does not allow. Without
                // an answer the match could not be kept, and the run ends.
                let (kept, is_kept) = mpsc::channel();
                if matches.send((finished, kept)).is_err() || is_kept.recv().is_err() {
                    return;
                }
            }
        }
    }

    /// Plays a match; `None` if the executor cannot.
    fn play_match(&self, wave: &Wave, block: &Block, due: &DueMatch) -> Option<FinishedMatch> {
        let table = &self.tables[block.part];
        let key = key(&table.id, &block.pairing, block.index, due.turn);
        let episode = name_of(self.folder.run(), &key, wave.failed.contains_key(&key));
        let before = wave.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&episode).unwrap_or_default();
        let begun = Instant::now();
        let GameRoster { game, players } = table.room(due.turn);
        let game = &game.spec().string;
        let players = due.seats.iter().map(|who| wave.book.player(&table.once, game, &episode, &players[who]));
        let players: Vec<Participant> = players.collect();
        let players: Vec<&Participant> = players.iter().collect();
        let setup = setup(table, block, due, self.folder.run(), &episode);
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
        let played = self.executor.play(MatchJob { setup, players: &players, blameless, asking })?;
        Some(FinishedMatch { part: block.part, turn: due.turn, key, played, begun, over: Instant::now() })
    }

    /// The bound that is reached, in words.
    fn spent(&self, games: usize, begun: Instant) -> Option<String> {
        let Budget { usd, tokens, games: most, hours } = self.budget;
        let used: Usage = self.folder.usage();
        let hour = Duration::from_secs(3600).as_secs_f64();
        if let Some(usd) = usd.filter(|&usd| used.usd >= usd) {
            return Some(format!("the budget of {usd} dollars is used up ({:.2})", used.usd));
        }
        if let Some(tokens) = tokens.filter(|&tokens| used.tokens() >= tokens) {
            return Some(format!("the budget of {tokens} tokens is used up ({})", used.tokens()));
        }
        if let Some(most) = most.filter(|&most| games as u64 >= most) {
            return Some(format!("the budget of {most} matches is used up ({games})"));
        }
        let hours = hours.filter(|&hours| begun.elapsed().as_secs_f64() >= hours * hour)?;
        Some(format!("the budget of {hours} hours is used up"))
    }
}

/// Keeps what was played, and decides when the run ends.
struct Keeper<'a, 'n> {
    driver: &'a Driver<'a>,
    begun: Instant,
    records: Vec<Record>,
    /// Matches that the infrastructure ended. They are not kept before it is known that the endpoints are up.
    spoiled: Vec<FinishedMatch>,
    /// Why the run ends, once it is known.
    end: Option<StopReason>,
    news: &'n mut dyn FnMut(RunNews),
}

impl Keeper<'_, '_> {
    /// Takes a match that is over.
    fn take(&mut self, finished: FinishedMatch) -> anyhow::Result<()> {
        let judged = self.driver.schedule.judge(finished.part, finished.turn, &finished.played.record);
        if judged == MatchScore::Discarded {
            self.take_spoiled(finished)?;
        } else {
            // A success proves that the endpoints are up, so failures of matches that ended before it began count against
            // those matches.
            let (own, others) = self.spoiled.drain(..).partition(|f| f.over <= finished.begun);
            self.spoiled = others;
            self.keep_all(own)?;
            self.keep(finished)?;
        }
        // A match that was spoiled costs something too.
        self.check_budget()
    }

    /// Takes a match that the infrastructure ended.
    fn take_spoiled(&mut self, finished: FinishedMatch) -> anyhow::Result<()> {
        self.driver.folder.log("failed", Some(&finished.played.record.header.episode), finished.failure())?;
        self.spoiled.push(finished);
        if self.spoiled.len() >= STREAK { self.ask_endpoints() } else { Ok(()) }
    }

    /// At the end of a wave, no later match can show whether the endpoints are up.
    fn end_wave(&mut self) -> anyhow::Result<()> {
        if self.spoiled.is_empty() { Ok(()) } else { self.ask_endpoints() }
    }

    /// Asks whether the endpoints are up. If they are, the spoiled matches are kept; if not, the run ends.
    fn ask_endpoints(&mut self) -> anyhow::Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        if (self.driver.alive)().is_ok() {
            let spoiled = std::mem::take(&mut self.spoiled);
            return self.keep_all(spoiled);
        }
        let why = self.spoiled.last().and_then(FinishedMatch::failure).unwrap_or("no reason is known").to_owned();
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
        (self.news)(RunNews::Match(&record));
        self.records.push(record);
        Ok(())
    }
}

/// The setup of a match of a run: that of any match in this process, with the names and the policy of the run.
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
    setup.run = Some(run.to_owned());
    setup.excerpt = table.excerpts.of(block.index, due.turn);
    setup.header.start = setup.excerpt.start.len() as u32;
    setup
}
