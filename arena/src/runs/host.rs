//! Execution of a run: the thread that plays its matches, and the notifications for its agents.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ludex_play::runs::driver::StopReason;
use ludex_play::runs::folder::path_of;
use ludex_play::time::epoch_ms;
use ludex_protocol::message::{Progress, RunEnd, RunReason, ServerMessage};
use ludex_protocol::record::{EndReason, Outcome, Record, RecordSeat};
use ludex_referee::suite::plan::MatchKey;
use ludex_report::runs::episode::key_of;
use ludex_store::{MatchFilter, Write};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::Runs;
use super::consents;
use super::contest::RunContest;
use super::enrolment::{EarlyStop, EnrolledAgent, Enrolment};
use super::enrolment_state::EnrolmentState;
use super::server_executor::ServerExecutor;

pub(super) struct Host {
    pub(super) book: Arc<EnrolmentState>,
    /// True while the run's thread is running.
    playing: AtomicBool,
    /// Number of consecutive failures of the run.
    stumbles: AtomicU32,
    standing: Mutex<Standing>,
}

/// Progress of a run.
#[derive(Clone, Default)]
struct Standing {
    /// True once the finished matches have been counted from the run's directory. Later matches are counted as they
    /// end.
    read: bool,
    done: u64,
    due: u64,
    /// Start time of the run's thread, and number of matches finished since then.
    since: Option<(Instant, u64)>,
    /// Wins, draws and losses by agent and part.
    tallies: BTreeMap<String, BTreeMap<String, [u64; 3]>>,
}

impl Standing {
    /// Returns the estimated remaining time of the run in milliseconds.
    fn eta_ms(&self) -> Option<u64> {
        let (since, matches) = self.since.filter(|(_, matches)| *matches > 0)?;
        let each = since.elapsed().as_secs_f64() / matches as f64;
        Some((each * self.due as f64 * 1_000.0) as u64)
    }
}

impl Host {
    pub(super) fn new(kept: Enrolment) -> Self {
        Host {
            book: Arc::new(EnrolmentState::new(kept)),
            playing: AtomicBool::new(false),
            stumbles: AtomicU32::new(0),
            standing: Mutex::default(),
        }
    }

    pub(super) fn run(&self) -> String {
        self.book.run()
    }

    pub(super) fn enrolment(&self) -> Enrolment {
        self.book.enrolment()
    }

    /// Returns the contest of the run.
    ///
    /// # Errors
    ///
    /// A suite, game or agent that this version cannot play.
    pub(super) async fn contest(runs: &Runs, kept: &Enrolment) -> anyhow::Result<RunContest> {
        let secret = runs.hub.store.secret(&kept.secret()).await?;
        let (kept, data) = (kept.clone(), runs.hub.config.data.clone());
        let made = runs.hub.compute.wait(move || RunContest::new(&kept, &data, secret)).await;
        made.map_err(anyhow::Error::from)?
    }

    /// Passes the numbers of due and finished matches, and the estimated remaining time in milliseconds, to `tell`.
    /// Blocks all other notifications of the run until `tell` returns, so that agents receive the numbers in order.
    pub(super) fn with_standing<T>(&self, tell: impl FnOnce(u64, u64, Option<u64>) -> T) -> T {
        let standing = self.standing.lock();
        tell(standing.due, standing.done, standing.eta_ms())
    }

    /// Sets the numbers of due and finished matches, as counted in the run's directory. Only the first call has an
    /// effect, since later matches are counted as they end.
    pub(super) fn stands(&self, due: usize, done: usize) {
        let mut standing = self.standing.lock();
        if !std::mem::replace(&mut standing.read, true) {
            (standing.due, standing.done) = (due as u64, done as u64);
        }
    }

    /// Starts or continues the run, unless its thread is already running.
    pub(super) fn start(self: &Arc<Self>, runs: &Arc<Runs>) {
        if runs.is_halted() || self.playing.swap(true, Ordering::SeqCst) {
            return;
        }
        let (host, runs, runtime) = (self.clone(), runs.clone(), Handle::current());
        tokio::spawn(async move {
            let run = host.run();
            let kept = host.leave_out_the_late(&runs).await;
            let contest = match Host::contest(&runs, &kept).await {
                Ok(contest) => contest,
                Err(error) => {
                    tracing::error!(run, error = %format!("{error:#}"), "run start failed");
                    return host.playing.store(false, Ordering::SeqCst);
                }
            };
            let (name, again) = (format!("run-{run}"), host.clone());
            let thread = std::thread::Builder::new().name(name).spawn(move || host.play(&runs, &contest, &runtime));
            if let Err(error) = thread {
                tracing::error!(run, %error, "run thread creation failed");
                again.playing.store(false, Ordering::SeqCst);
            }
        });
    }

    /// Excludes absent entrants at the start of a tournament, and returns the changed enrolment.
    async fn leave_out_the_late(&self, runs: &Runs) -> Enrolment {
        let late = |kept: &mut Enrolment| {
            let Some(cup) = &mut kept.cup else { return };
            for entrant in kept.entrants.iter().filter(|e| !e.came) {
                cup.left_out.entry(entrant.agent.clone()).or_insert_with(|| "did not enroll in time".to_owned());
            }
            // A tournament without clients need not wait.
            cup.begins_ms = 0;
        };
        if let Err(error) = self.book.change(&runs.hub.store, Vec::new(), late).await {
            tracing::error!(run = self.run(), error = %format!("{error:#}"), "enrolment write failed");
        }
        self.enrolment()
    }

    /// Plays the run on its own thread until the run stops.
    fn play(self: Arc<Self>, runs: &Arc<Runs>, contest: &RunContest, runtime: &Handle) {
        let kept = self.enrolment();
        let run = kept.run().to_owned();
        tracing::info!(run, "run started");
        if let Ok((due, done)) = contest.standing(&run) {
            self.stands(due, done);
        }
        self.standing.lock().since = Some((Instant::now(), 0));
        if let Err(error) = consents::write(&path_of(&runs.hub.config.data, &run), &kept) {
            tracing::error!(run, error = %format!("{error:#}"), "storing the consents of a run failed");
        }
        let there = ServerExecutor::new(runs.clone(), self.book.clone(), &kept, contest, runtime.clone());
        let played = contest.play(&there, &run, |record, due| {
            if let Some(due) = due {
                self.standing.lock().due = due as u64;
            }
            if let Some(record) = record {
                self.tell(runs, &run, record);
            }
        });
        let (reason, verdict) = match played {
            Ok((StopReason::Done, verdict)) => (Some(RunReason::Done), verdict),
            // Matches in progress have ended, and no others start.
            Ok((StopReason::Waiting, verdict)) => (self.book.stop(), verdict),
            Ok((StopReason::Budget(why) | StopReason::Infrastructure(why), _)) => {
                tracing::error!(run, why, "run stopped");
                (None, Value::Null)
            }
            Err(error) => {
                tracing::error!(run, error = %format!("{error:#}"), "run stopped");
                (None, Value::Null)
            }
        };
        if let Some(reason) = reason
            && let Err(error) = runtime.block_on(self.end(runs, reason, verdict))
        {
            tracing::error!(run, error = %format!("{error:#}"), "storing the end of a run failed");
        }
        self.playing.store(false, Ordering::SeqCst);
        // An agent may have enrolled or withdrawn while the thread ended.
        let ready = self.enrolment();
        let here = |e: &EnrolledAgent| runs.hub.is_here(&e.ticket);
        let called = ready.stop.is_some() || ready.cup.is_none() && ready.entrants.iter().all(here);
        if reason.is_none() && called && !runs.is_halted() {
            // The fault, such as a full disk, may take any time to repair.
            let pause = Duration::from_secs(1 << self.stumbles.fetch_add(1, Ordering::Relaxed).min(6));
            let (host, runs) = (self.clone(), runs.clone());
            runtime.spawn(async move {
                tokio::time::sleep(pause).await;
                host.start(&runs);
            });
        }
    }

    /// Notifies the run's agents that a match has been stored.
    fn tell(&self, runs: &Runs, run: &str, record: &Record) {
        let kept = self.enrolment();
        self.stumbles.store(0, Ordering::Relaxed);
        let mut standing = self.standing.lock();
        if record.footer.reason.is_some_and(EndReason::counts) {
            standing.done += 1;
            standing.due = standing.due.saturating_sub(1);
            let part =
                key_of(run, &record.header.episode).and_then(|(key, _)| MatchKey::parse(key)).map(|place| place.part);
            for (seat, outcome) in record.header.seats.iter().zip(&record.footer.outcome) {
                let place = match outcome {
                    Outcome::Win => 0,
                    Outcome::Draw => 1,
                    Outcome::Loss => 2,
                    _ => continue,
                };
                if let Some(entrant) = kept.entrants.iter().find(|e| plays(e, seat)) {
                    let of = standing.tallies.entry(entrant.agent.clone()).or_default();
                    of.entry(part.clone().unwrap_or_default()).or_default()[place] += 1;
                }
            }
        }
        if let Some((_, matches)) = &mut standing.since {
            *matches += 1;
        }
        for entrant in &kept.entrants {
            let tally = |(part, [wins, draws, losses]): (&String, &[u64; 3])| {
                (part.clone(), json!({ "wins": wins, "draws": draws, "losses": losses }))
            };
            let so_far: serde_json::Map<String, Value> =
                standing.tallies.get(&entrant.agent).into_iter().flatten().map(tally).collect();
            let progress = Progress {
                run: run.to_owned(),
                done: standing.done,
                due: standing.due,
                verdict_so_far: (!so_far.is_empty()).then(|| so_far.into()),
            };
            runs.hub.tell_holder(&entrant.ticket, ServerMessage::Progress(Box::new(progress)));
        }
    }

    /// Ends the run: writes its report, releases its seeds, and notifies its agents. The report and the seeds of a run
    /// in a season are published when the season ends.
    async fn end(&self, runs: &Arc<Runs>, reason: RunReason, verdict: Value) -> anyhow::Result<()> {
        let run = self.run();
        let filter = MatchFilter { run: Some(run.clone()), live: Some(true), ..MatchFilter::default() };
        for line in runs.hub.store.matches(&filter, u32::MAX).await? {
            runs.hub.abandon(&line.id, EndReason::InfraError, "the run ended before the match").await?;
        }
        // An agent that enrolls now either finds the run open and is notified of its end, or finds it finished.
        let _one_by_one = runs.enrolling.lock().await;
        let kept = self.enrolment();
        // Data that other runs of the season have yet to play stay hidden.
        let ids = if kept.is_held() { Vec::new() } else { runs.report(&run).await? };
        let ratings = ratings(&verdict);
        let over = RunEnd { run: run.clone(), reason, verdict, ratings, report: format!("/runs/{run}/report.html") };
        let mut writes = vec![Write::Released { ids: ids.clone() }];
        writes.extend(kept.entrants.into_iter().map(|e| Write::JoinGone { id: e.join }));
        let end = |kept: &mut Enrolment| (kept.over, kept.ended_ms) = (Some(over.clone()), Some(epoch_ms()));
        self.book.change(&runs.hub.store, writes, end).await?;
        runs.hub.mark_released(&ids);
        let kept = self.enrolment();
        if kept.is_held() {
            runs.held.lock().insert(run.clone(), kept.clone());
        }
        runs.hosts.lock().remove(&run);
        tracing::info!(run, reason = <&str>::from(reason), "run ended");
        for entrant in kept.entrants {
            runs.hub.tell_holder(&entrant.ticket, ServerMessage::RunEnd(Box::new(over.clone())));
            runs.hub.drop_ticket(&entrant.ticket).await;
        }
        Ok(())
    }

    /// Ends the run early, for the reason `stop`.
    ///
    /// # Errors
    ///
    /// A failed write; the run then continues.
    pub(super) async fn stop_for(self: &Arc<Self>, runs: &Arc<Runs>, stop: EarlyStop) -> anyhow::Result<()> {
        self.book.change(&runs.hub.store, Vec::new(), |kept| kept.stop = Some(stop)).await?;
        let run = self.run();
        // Pending matches are not played.
        runs.hub.pause_run(&run);
        runs.under_way(&run).iter().for_each(|id| self.book.give_up(&runs.hub, id));
        self.start(runs);
        Ok(())
    }
}

/// Returns true if an agent, or one of its variants, played a seat. Names of agents contain no spaces, and the seats of
/// clients have no spec.
fn plays(entrant: &EnrolledAgent, seat: &RecordSeat) -> bool {
    seat.spec.is_none() && seat.name.split(' ').next() == Some(entrant.agent.as_str())
}

/// Returns the ratings of a verdict by agent and game.
fn ratings(verdict: &Value) -> Value {
    let rows = verdict["parts"].as_array().into_iter().flatten();
    let rated = rows.filter(|row| row["rating"].is_object());
    let rating = |row: &Value| json!({ "agent": row["agent"], "part": row["part"], "game": row["game"], "rating": row["rating"] });
    rated.map(rating).collect()
}
