//! Plays what a run still has to play.
//!
//! Blocks are played on threads, each by one from its first match to its last, so that a run stops between blocks. A match
//! that the infrastructure spoiled (an endpoint that is down, a rate limit that lasts) is nobody's loss: it is played again at
//! the end, and discarded if it fails again. Where one match after the other fails so, the endpoint is asked for a word; if it
//! does not answer either the run stops, and those failures count for nothing: the same line goes on when the endpoint is back.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use ludex_protocol::record::{Illegal, Reason, Record};
use ludex_referee::suite::OnTimeout;
use ludex_referee::suite::plan::{Block, Done, Due, Results, block_key, key};

use super::episode::{AGAIN, key_of, name_of};
use super::folder::{Calls, Folder, Past};
use super::usage::Usage;
use super::{Schedule, Table};
use crate::local::{self, Asking, Played};
use crate::machine::terms::Setup;

/// How many matches may fail one after the other by the infrastructure before it is asked whether it is there.
const STREAK: usize = 5;
/// When a run stops before it is done. Every bound is looked at between blocks; `None` is no bound.
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
pub enum End {
    /// Everything that is to be played is played.
    Done,
    /// A bound of the budget, in words.
    Budget(String),
    /// The infrastructure failed again and again; the last failure.
    Infrastructure(String),
}

/// What is told while a run is played.
pub enum News<'a> {
    /// So many matches are due, as far as can be told now.
    Due(usize),
    /// A match is done.
    Match(&'a Record),
}

/// Those of the blocks that are due which are wanted, as the records stand.
pub type Wanted<'a> = dyn Fn(&[Record], Vec<Block>) -> anyhow::Result<Vec<Block>> + Sync + 'a;

/// A run in the middle of being played.
pub struct Play<'a> {
    /// Where it is kept.
    pub folder: &'a Folder,
    /// What is due.
    pub schedule: &'a dyn Schedule,
    /// Who plays it, by part.
    pub tables: &'a [Table],
    /// Matches at a time, at least 1.
    pub jobs: usize,
    /// When to stop.
    pub budget: Budget,
    /// A wave of blocks is cut to those that are wanted, e.g. because an interval is narrow enough.
    pub wanted: &'a Wanted<'a>,
    /// Whether what the agents stand on is there at all: asked when matches fail one after the other.
    pub alive: &'a (dyn Fn() -> anyhow::Result<()> + Sync),
}

/// What the records of a run say is done, and which matches failed once and are to be played again.
pub fn results(run: &str, schedule: &dyn Schedule, records: &[Record]) -> (Results, HashMap<String, u32>) {
    let (mut done, mut failed) = (Results::new(), HashMap::new());
    for record in records {
        let Some((key, _)) = key_of(run, &record.header.episode) else { continue };
        let Some((part, turn)) = schedule.find(key) else { continue };
        match schedule.judge(part, turn, record) {
            Done::Discarded => {
                let times = failed.entry(key.to_owned()).or_insert(0);
                *times += 1;
                if *times > schedule.rematches(part) {
                    done.insert(key.to_owned(), Done::Discarded);
                }
            }
            counted => {
                done.insert(key.to_owned(), counted);
            }
        }
    }
    (done, failed)
}

/// A match on its way: what it is, and how it went.
struct Finished {
    part: usize,
    turn: usize,
    key: String,
    played: Played,
    /// When it was begun, and when it was over.
    begun: Instant,
    over: Instant,
}

impl Play<'_> {
    /// Plays until nothing is due, the budget is used up, or the infrastructure fails.
    ///
    /// # Errors
    /// When something cannot be kept: nothing is played on then.
    pub fn run(&self, past: Past, mut news: impl FnMut(News)) -> anyhow::Result<(End, Vec<Record>)> {
        let begun = Instant::now();
        let mut records = past.records;
        let open = Mutex::new(past.open);
        let (mut done, mut failed) = results(self.folder.run(), self.schedule, &records);
        loop {
            if let Some(why) = self.spent(records.len(), begun) {
                self.folder.log("stopped", None, Some(&why))?;
                return Ok((End::Budget(why), records));
            }
            let mut due = (self.wanted)(&records, self.schedule.next(&done, &records))?;
            // A block without matches would be due for ever.
            due.retain(|block| !block.matches.is_empty());
            news(News::Due(due.iter().map(|b| b.matches.len()).sum()));
            if due.is_empty() {
                self.folder.log("done", None, None)?;
                return Ok((End::Done, records));
            }
            let queue: Mutex<VecDeque<Block>> = Mutex::new(due.into());
            let stop = AtomicBool::new(false);
            let (tx, rx) = mpsc::channel();
            let mut pending: Vec<Finished> = Vec::new();
            let mut end = None;
            std::thread::scope(|scope| -> anyhow::Result<()> {
                // Whatever happens here, threads do not begin another block afterwards.
                let _stop = StopOnDrop(&stop);
                for _ in 0..self.jobs.max(1) {
                    let (tx, queue, stop, open, failed) = (tx.clone(), &queue, &stop, &open, &failed);
                    scope.spawn(move || self.work(queue, stop, open, failed, &tx));
                }
                drop(tx);
                for (finished, _kept) in rx {
                    let spoiled = self.schedule.judge(finished.part, finished.turn, &finished.played.record);
                    if spoiled == Done::Discarded {
                        let why = finished.played.failure.clone().unwrap_or_default();
                        self.folder.log("failed", Some(&finished.played.record.header.episode), Some(&why))?;
                        pending.push(finished);
                        if pending.len() >= STREAK && end.is_none() {
                            end = self.dead(&why)?;
                            match end {
                                Some(_) => stop.store(true, Relaxed),
                                None => self.commit_all(&mut pending, &mut records, &mut news)?,
                            }
                        }
                    } else {
                        // What was over before this one began failed for itself: since then it works.
                        let (mut own, open) = pending.drain(..).partition(|f| f.over <= finished.begun);
                        pending = open;
                        self.commit_all(&mut own, &mut records, &mut news)?;
                        self.commit(finished, &mut records, &mut news)?;
                    }
                    // A match that was spoiled has its price too.
                    if end.is_none()
                        && let Some(why) = self.spent(records.len(), begun)
                    {
                        self.folder.log("stopped", None, Some(&why))?;
                        end = Some(End::Budget(why));
                        stop.store(true, Relaxed);
                    }
                }
                Ok(())
            })?;
            if end.is_none()
                && let Some(last) = pending.last()
            {
                // Nothing came after them that could tell whose fault they were.
                end = self.dead(&last.played.failure.clone().unwrap_or_default())?;
            }
            if let Some(end) = end {
                return Ok((end, records));
            }
            self.commit_all(&mut pending, &mut records, &mut news)?;
            (done, failed) = results(self.folder.run(), self.schedule, &records);
        }
    }

    /// The end of the run, if what the agents stand on is not there; `why` is what a match failed by.
    fn dead(&self, why: &str) -> anyhow::Result<Option<End>> {
        if (self.alive)().is_ok() {
            return Ok(None);
        }
        self.folder.log("stopped", None, Some(why))?;
        Ok(Some(End::Infrastructure(why.to_owned())))
    }

    fn commit_all(
        &self,
        pending: &mut Vec<Finished>,
        records: &mut Vec<Record>,
        news: &mut impl FnMut(News),
    ) -> anyhow::Result<()> {
        pending.drain(..).try_for_each(|finished| self.commit(finished, records, news))
    }

    fn commit(&self, finished: Finished, records: &mut Vec<Record>, news: &mut impl FnMut(News)) -> anyhow::Result<()> {
        let record = finished.played.record;
        self.folder.keep(&record)?;
        if record.footer.reason == Some(Reason::InfraError) {
            let again = record.header.episode.ends_with(AGAIN);
            let what = if again || self.schedule.rematches(finished.part) == 0 { "discarded" } else { "rematch" };
            self.folder.log(what, Some(&finished.key), finished.played.failure.as_deref())?;
        } else if let Some(why) = &finished.played.failure {
            self.folder.log("forfeit", Some(&record.header.episode), Some(why))?;
        }
        news(News::Match(&record));
        records.push(record);
        Ok(())
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

    /// Plays blocks until there is none, or somebody says stop.
    fn work(
        &self,
        queue: &Mutex<VecDeque<Block>>,
        stop: &AtomicBool,
        open: &Mutex<HashMap<String, Calls>>,
        failed: &HashMap<String, u32>,
        tx: &mpsc::Sender<(Finished, mpsc::Sender<()>)>,
    ) {
        while !stop.load(Relaxed) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(block) = next else { return };
            for due in &block.matches {
                let key = key(&self.tables[block.part].id, &block.pairing, block.index, due.turn);
                let episode = name_of(self.folder.run(), &key, failed.contains_key(&key));
                let before = open.lock().unwrap_or_else(PoisonError::into_inner).remove(&episode).unwrap_or_default();
                let begun = Instant::now();
                let played = self.play(&block, due, &episode, before);
                let over = Instant::now();
                let finished = Finished { part: block.part, turn: due.turn, key, played, begun, over };
                // Waits until the match is kept, so that nothing is begun that the budget does not allow.
                let (kept, waits) = mpsc::channel();
                if tx.send((finished, kept)).is_err() {
                    return;
                }
                let _ = waits.recv();
            }
        }
    }

    fn play(&self, block: &Block, due: &Due, episode: &str, before: Calls) -> Played {
        let table = &self.tables[block.part];
        let players: Vec<_> = due.seats.iter().map(|who| &table.players[who]).collect();
        let setup = setup(table, block, due, self.folder.run(), episode);
        let journals = self.folder.journals(episode, players.len(), before);
        let policy = &table.policy;
        let asking = Asking {
            limit: Some(Duration::from_secs(policy.limit_s)),
            skip_forced: policy.skip_forced,
            late_is_infra: policy.on_timeout == OnTimeout::Error,
            journals: Some(&journals),
        };
        local::play_match(setup, &players, asking)
    }
}

/// Sets a flag when it goes.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What a match of a run is made of: that of any match here, under the names and the policy of the run.
pub fn setup(table: &Table, block: &Block, due: &Due, run: &str, episode: &str) -> Setup {
    let players: Vec<_> = due.seats.iter().map(|who| &table.players[who]).collect();
    let seed = table.seeds.of(block.index);
    let pair = format!("{run}.{}", block_key(&table.id, &block.pairing, block.index));
    let named = local::block_key(&table.game, &players, seed);
    let mut setup = local::setup(&table.game, &players, seed, &named, due.turn, Some(pair));
    setup.header.episode = episode.to_owned();
    setup.header.rated = players.iter().all(|p| !p.agent.peeks());
    setup.header.illegal = Illegal { policy: table.policy.illegal, tries: table.policy.tries };
    setup.run = Some(run.to_owned());
    setup
}
