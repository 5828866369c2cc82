//! Metrics of the writer.

use metrics::{Counter, Gauge, Histogram};

/// Metrics of the store's commits. The default value discards all samples.
#[derive(Clone)]
pub struct Commits {
    /// Duration of each commit in seconds.
    pub seconds: Histogram,
    /// Number of jobs per commit.
    pub jobs: Histogram,
    /// Number of failed commits.
    pub errors: Counter,
    /// Number of queued jobs, as of the last commit.
    pub queue: Gauge,
}

impl Default for Commits {
    fn default() -> Self {
        Commits { seconds: Histogram::noop(), jobs: Histogram::noop(), errors: Counter::noop(), queue: Gauge::noop() }
    }
}
