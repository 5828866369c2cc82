//! Metrics of the writer.

use metrics::Histogram;

/// Metrics of the store's commits. The default value discards all samples.
#[derive(Clone)]
pub struct Commits {
    /// Duration of each commit in seconds.
    pub seconds: Histogram,
    /// Number of jobs per commit.
    pub jobs: Histogram,
}

impl Default for Commits {
    fn default() -> Self {
        Commits { seconds: Histogram::noop(), jobs: Histogram::noop() }
    }
}
