//! Whether a thread comes round to its work. One that does not, because something on it takes too long or the machine is
//! busy, reads no socket meanwhile, and what came in counts as late although nobody but the server was.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How often a thread says that it comes round.
const BEAT: Duration = Duration::from_millis(25);
/// A thread that says nothing for longer than this is held up.
const SLOW: Duration = Duration::from_millis(100);

thread_local! {
    static HERE: RefCell<StallMonitor> = RefCell::default();
}

/// The pulse of a thread. The default one never beats, and is never held up.
#[derive(Clone, Debug, Default)]
pub(crate) struct StallMonitor(Arc<Mutex<Beats>>);

#[derive(Debug, Default)]
struct Beats {
    last: Option<Instant>,
    lost: Duration,
}

impl Beats {
    /// The time lost so far, what is being lost just now included.
    fn lost(&self, now: Instant) -> Duration {
        let gap = self.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        if gap > SLOW { self.lost + gap } else { self.lost }
    }

    fn beat(&mut self, now: Instant) {
        self.lost = self.lost(now);
        self.last = Some(now);
    }
}

impl StallMonitor {
    /// That of this thread.
    pub fn here() -> Self {
        HERE.with_borrow(StallMonitor::clone)
    }

    /// Gives this thread a pulse; to be run on it as a task for as long as the thread serves anybody.
    pub async fn keep() {
        let pulse = StallMonitor::default();
        HERE.set(pulse.clone());
        let _stops = Stops(pulse.clone());
        loop {
            pulse.0.lock().beat(Instant::now());
            tokio::time::sleep(BEAT).await;
        }
    }

    /// For how many milliseconds the thread was held up so far. It never falls.
    pub fn lost_ms(&self) -> u64 {
        u64::try_from(self.0.lock().lost(Instant::now()).as_millis()).unwrap_or(u64::MAX)
    }
}

/// A thread that has ended is not held up.
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
    fn long_gaps_between_beats_are_lost_time() {
        let (mut beats, start) = (Beats::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let lost = |beats: &Beats, ms| beats.lost(at(ms)).as_millis();
        assert_eq!(lost(&beats, 9_000), 0, "it has not begun");
        beats.beat(at(0));
        beats.beat(at(100));
        assert_eq!(lost(&beats, 200), 0);
        assert_eq!(lost(&beats, 1_100), 1_000, "while it lasts");
        beats.beat(at(1_200));
        assert_eq!((lost(&beats, 1_200), lost(&beats, 1_300)), (1_100, 1_100));
        beats.beat(at(2_000));
        assert_eq!(lost(&beats, 2_050), 1_900);
    }
}
