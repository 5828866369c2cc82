//! Clock of the match plane.

use std::time::Duration;

use tokio::time::Instant;

/// Monotonic clock of all match times, in milliseconds since the server started.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Creates a clock that starts now.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// Returns the current time in milliseconds since the start.
    pub fn now(self) -> u64 {
        self.at(Instant::now())
    }

    /// Converts an instant to the time of this clock, 0 for an instant before its start.
    pub fn at(self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.0).as_millis()).unwrap_or(u64::MAX)
    }

    /// Converts a time back to an instant.
    pub fn instant(self, at: u64) -> Instant {
        // A time beyond the clock's range becomes one day from now.
        self.0.checked_add(Duration::from_millis(at)).unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400))
    }
}
