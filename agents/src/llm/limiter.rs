//! Concurrency and rate limits of endpoints. All agents of the process share one limiter per endpoint and model. The
//! limiter also records if the endpoint supports JSON schemas.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Limiters by base URL and model.
type Limiters = HashMap<(String, String), Arc<EndpointLimiter>>;

static LIMITERS: LazyLock<Mutex<Limiters>> = LazyLock::new(Mutex::default);

/// Limiter of the calls to one model at one endpoint.
#[derive(Default)]
pub(super) struct EndpointLimiter {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Earliest start time of the next call, if there is a rate limit.
    next: Option<Instant>,
    /// Strength of the evidence that the endpoint does not support JSON schemas: 2 for each refusal, plus 1 for each
    /// server error.
    refusals: u32,
}

/// Permit for one call in flight, released on drop.
pub(super) struct LimiterPermit(Arc<EndpointLimiter>);

impl EndpointLimiter {
    /// Returns the limiter shared by all agents with this endpoint and model.
    pub(super) fn of(base_url: &str, model: &str) -> Arc<EndpointLimiter> {
        let mut limiters = LIMITERS.lock();
        limiters.entry((base_url.to_owned(), model.to_owned())).or_default().clone()
    }

    /// Blocks until one of `concurrency` permits is free and the rate of `rpm` calls per minute (0: unlimited) allows a
    /// call. Returns `None` if the call could not start before `deadline`.
    pub(super) fn acquire(
        self: &Arc<Self>,
        concurrency: usize,
        rpm: u64,
        deadline: Option<Instant>,
    ) -> Option<LimiterPermit> {
        let mut state = self.state.lock();
        while state.running >= concurrency {
            match deadline {
                None => self.left.wait(&mut state),
                Some(deadline) => {
                    let rest = deadline.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())?;
                    self.left.wait_for(&mut state, rest);
                }
            }
        }
        let now = Instant::now();
        let start = begin(&mut state.next, rpm, now, deadline)?;
        state.running += 1;
        drop(state);
        std::thread::sleep(start.saturating_duration_since(now));
        Some(LimiterPermit(self.clone()))
    }

    /// Returns true if the endpoint does not seem to support JSON schemas. Sufficient evidence is one refusal, or two
    /// requests that failed with a server error and succeeded without the schema.
    pub(super) fn text_only(&self) -> bool {
        self.state.lock().refusals >= 2
    }

    /// Records that a request with a JSON schema failed and the same request without a schema succeeded.
    pub(super) fn schema_refused(&self, certain: bool) {
        self.state.lock().refusals += if certain { 2 } else { 1 };
    }
}

impl Drop for LimiterPermit {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.left.notify_one();
    }
}

/// Reserves and returns the start time of a call that arrives at `now`. Returns `None`, without a reservation, if the
/// start would be after `deadline`. Calls are spaced evenly, since some endpoints also limit calls per second.
fn begin(next: &mut Option<Instant>, rpm: u64, now: Instant, deadline: Option<Instant>) -> Option<Instant> {
    if rpm == 0 {
        return Some(now);
    }
    let start = next.map_or(now, |next| next.max(now));
    if deadline.is_some_and(|deadline| start > deadline) {
        return None;
    }
    *next = Some(start + Duration::from_secs(60) / u32::try_from(rpm).unwrap_or(u32::MAX));
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limiter_spaces_calls_evenly() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut next = None;
        assert_eq!(begin(&mut next, 60, now, None), Some(now));
        assert_eq!(begin(&mut next, 60, now, None), Some(now + second));
        assert_eq!(begin(&mut next, 60, now, Some(now + second)), None);
        assert_eq!(begin(&mut next, 60, now + 5 * second, None), Some(now + 5 * second));
        assert_eq!(begin(&mut next, 0, now, None), Some(now));
    }

    #[test]
    fn dropped_permit_can_be_acquired_again() {
        let limiter = EndpointLimiter::of("http://gate.test", "m");
        let pass = limiter.acquire(1, 0, None).unwrap();
        assert!(limiter.acquire(1, 0, Some(Instant::now())).is_none());
        assert!(limiter.acquire(2, 0, Some(Instant::now())).is_some());
        drop(pass);
        assert!(EndpointLimiter::of("http://gate.test", "m").acquire(1, 0, Some(Instant::now())).is_some());
    }
}
