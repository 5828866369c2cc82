//! What the matches of one event loop share.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ludex_gym::compute::Compute;
use ludex_store::{Store, Write};
use tokio::sync::oneshot;

use super::observer::MatchObserver;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::stall_monitor::StallMonitor;

/// Parts of the server that matches use.
pub(super) struct MatchParts {
    pub clock: Clock,
    pub compute: Compute,
    pub metrics: Arc<Metrics>,
    pub store: Store,
    /// Time limit per turn of a server agent, in milliseconds; applies where the clock rule of the match sets no limit.
    pub agent_ms: u64,
    pub draining: Arc<AtomicBool>,
}

/// State that the matches of one event loop share.
pub(super) struct LoopContext {
    pub parts: MatchParts,
    pub observer: Arc<dyn MatchObserver>,
    /// Stall time of each seat; reused to save allocations.
    pub losses: RefCell<Vec<u64>>,
    /// True once log rows are no longer buffered.
    settled: Cell<bool>,
    /// Stall monitor of the loop's thread.
    monitor: StallMonitor,
    /// Total of the monitor, and time in milliseconds, as last read by [`refresh`](Self::refresh).
    stalled_ms: Cell<u64>,
    now: Cell<u64>,
}

impl LoopContext {
    /// Creates the context of a loop on the current thread.
    pub fn new(parts: MatchParts, observer: Arc<dyn MatchObserver>) -> Self {
        let monitor = StallMonitor::here();
        let stalled_ms = Cell::new(monitor.lost_ms());
        let now = Cell::new(parts.clock.now());
        LoopContext { parts, observer, losses: RefCell::default(), settled: Cell::new(false), monitor, stalled_ms, now }
    }

    /// Returns the time of the current step in milliseconds since the server started.
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Reads the clock and the stall monitor. Must be called at the start of a round and after an agent's computation.
    pub fn refresh(&self) {
        self.now.set(self.parts.clock.now());
        self.stalled_ms.set(self.monitor.lost_ms());
    }

    /// Returns the total stall time of the loop's thread in milliseconds.
    pub fn stalled_ms(&self) -> u64 {
        self.stalled_ms.get()
    }

    /// Returns true if `monitor` watches the loop's thread.
    pub fn is_own(&self, monitor: &StallMonitor) -> bool {
        self.monitor.is_same(monitor)
    }

    /// Returns true if the server is shutting down.
    pub fn is_draining(&self) -> bool {
        self.parts.draining.load(Ordering::Relaxed)
    }

    /// Returns true if log rows are no longer buffered.
    pub fn is_settled(&self) -> bool {
        self.settled.get()
    }

    /// Ends the buffering of log rows.
    pub fn settle(&self) {
        self.settled.set(true);
    }
}

/// Writes of one round of an event loop.
#[derive(Default)]
pub(super) struct RoundWrites {
    /// Groups of writes that a match waits for, with the number of the match.
    pub durable: Vec<(u64, Vec<Write>)>,
    /// Groups of writes that no match waits for.
    pub behind: Vec<Vec<Write>>,
    /// Readers to notify when the writes of the round are queued.
    pub persisted: Vec<oneshot::Sender<()>>,
}
