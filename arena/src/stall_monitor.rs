//! Detection of blocked threads. A long task or a busy machine may block a thread, which then reads no sockets. Without
//! this detection, messages that arrive meanwhile would count as late.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Interval of the heartbeat.
const BEAT: Duration = Duration::from_millis(25);
/// Time without a heartbeat after which a thread counts as stalled.
const SLOW: Duration = Duration::from_millis(100);

thread_local! {
    static HERE: RefCell<StallMonitor> = RefCell::default();
}

/// Stall monitor of a thread. The default monitor has no heartbeat and never reports a stall.
#[derive(Clone, Debug, Default)]
pub struct StallMonitor(Arc<Mutex<Beats>>);

#[derive(Debug, Default)]
struct Beats {
    last: Option<Instant>,
    lost: Duration,
    /// Longest gap between heartbeats since the last reading.
    longest: Duration,
}

impl Beats {
    /// Returns the total stall time, including an ongoing stall.
    fn total_stall(&self, now: Instant) -> Duration {
        let gap = self.gap(now);
        if gap > SLOW { self.lost + gap } else { self.lost }
    }

    fn gap(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last))
    }

    fn beat(&mut self, now: Instant) {
        self.lost = self.total_stall(now);
        self.longest = self.longest.max(self.gap(now));
        self.last = Some(now);
    }

    /// Takes the longest gap since the last call, including an ongoing gap.
    fn take_longest(&mut self, now: Instant) -> Duration {
        std::mem::take(&mut self.longest).max(self.gap(now))
    }
}

impl StallMonitor {
    /// Returns the monitor of the current thread.
    pub fn here() -> Self {
        HERE.with_borrow(StallMonitor::clone)
    }

    /// Runs the heartbeat of the current thread. Must run as a task while the thread serves connections.
    pub async fn keep(self) {
        let pulse = self;
        HERE.set(pulse.clone());
        let _stops = Stops(pulse.clone());
        loop {
            pulse.0.lock().beat(Instant::now());
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Returns true if both monitors watch the same thread.
    pub fn is_same(&self, other: &StallMonitor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the total stall time of the thread in milliseconds. The total never decreases.
    pub fn lost_ms(&self) -> u64 {
        u64::try_from(self.0.lock().total_stall(Instant::now()).as_millis()).unwrap_or(u64::MAX)
    }
}

/// Stall monitors of all threads that serve connections.
#[derive(Debug, Default)]
pub struct WorkerMonitors(Mutex<Vec<StallMonitor>>);

impl WorkerMonitors {
    /// Returns the monitor of a new worker.
    pub fn add(&self) -> StallMonitor {
        let monitor = StallMonitor::default();
        self.0.lock().push(monitor.clone());
        monitor
    }

    /// Takes the longest time without a heartbeat of a worker since the last call.
    pub fn take_lag(&self) -> Duration {
        let now = Instant::now();
        self.0.lock().iter().map(|monitor| monitor.0.lock().take_longest(now)).max().unwrap_or_default()
    }

    /// Returns the longest time since the last heartbeat of a running worker.
    pub fn longest_silence(&self) -> Duration {
        let silence = |monitor: &StallMonitor| monitor.0.lock().last.map(|last| last.elapsed());
        self.0.lock().iter().filter_map(silence).max().unwrap_or_default()
    }
}

/// Guard that stops monitoring on drop, since a thread that has ended is not stalled.
struct Stops(StallMonitor);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.0.lock().last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_heartbeat_gap_counts_as_stall() {
        let (mut beats, start) = (Beats::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let lost = |beats: &Beats, ms| beats.total_stall(at(ms)).as_millis();
        assert_eq!(lost(&beats, 9_000), 0, "before the first heartbeat");
        beats.beat(at(0));
        beats.beat(at(100));
        assert_eq!(lost(&beats, 200), 0);
        assert_eq!(lost(&beats, 1_100), 1_000, "during the stall");
        beats.beat(at(1_200));
        assert_eq!((lost(&beats, 1_200), lost(&beats, 1_300)), (1_100, 1_100));
        beats.beat(at(2_000));
        assert_eq!(lost(&beats, 2_050), 1_900);
    }

    #[test]
    fn lag_is_the_longest_gap_since_the_last_reading() {
        let (mut beats, start) = (Beats::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        [0, 25, 525, 550].into_iter().for_each(|ms| beats.beat(at(ms)));
        assert_eq!(beats.take_longest(at(560)).as_millis(), 500);
        assert_eq!(beats.take_longest(at(570)).as_millis(), 20, "an ongoing gap counts");
    }

    #[test]
    fn longest_silence_is_that_of_the_slowest_running_worker() {
        let workers = WorkerMonitors::default();
        let (slow, quick, _new) = (workers.add(), workers.add(), workers.add());
        assert_eq!(workers.longest_silence(), Duration::ZERO);
        slow.0.lock().last = Instant::now().checked_sub(Duration::from_secs(60));
        quick.0.lock().last = Some(Instant::now());
        assert!(workers.longest_silence() >= Duration::from_secs(60));
        drop(Stops(slow));
        assert!(workers.longest_silence() < Duration::from_secs(60), "a worker that has ended is not silent");
    }
}
