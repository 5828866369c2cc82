//! How often and how many at a time an endpoint is called: all agents of the process share one gate for each endpoint and
//! model. It also remembers whether the endpoint takes JSON schemas.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Gates by base URL and model.
type Gates = HashMap<(String, String), Arc<EndpointLimiter>>;

static GATES: LazyLock<Mutex<Gates>> = LazyLock::new(Mutex::default);

/// The gate before an endpoint and model.
#[derive(Default)]
pub(super) struct EndpointLimiter {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    /// When the next call may begin, where calls are spaced.
    next: Option<Instant>,
    /// How often the endpoint would not take a JSON schema: refusals count twice, failures once.
    refusals: u32,
}

/// A call that is under way; the place is free again when it is dropped.
pub(super) struct LimiterPermit(Arc<EndpointLimiter>);

impl EndpointLimiter {
    /// The gate of this endpoint and model.
    pub(super) fn of(base_url: &str, model: &str) -> Arc<EndpointLimiter> {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry((base_url.to_owned(), model.to_owned())).or_default().clone()
    }

    /// Waits for one of `concurrency` places, and for the moment that is free for this call at `rpm` calls a minute (0: any
    /// number). `None` if that is not before `deadline`.
    pub(super) fn enter(
        self: &Arc<Self>,
        concurrency: usize,
        rpm: u64,
        deadline: Option<Instant>,
    ) -> Option<LimiterPermit> {
        let mut state = self.lock();
        while state.running >= concurrency {
            state = match deadline {
                None => self.left.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let rest = deadline.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())?;
                    self.left.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        let now = Instant::now();
        let start = begin(&mut state.next, rpm, now, deadline)?;
        state.running += 1;
        drop(state);
        std::thread::sleep(start.saturating_duration_since(now));
        Some(LimiterPermit(self.clone()))
    }

    /// Whether the endpoint does not take JSON schemas: it refused one, or failed on two and answered the same questions without.
    pub(super) fn text_only(&self) -> bool {
        self.lock().refusals >= 2
    }

    /// Remembers that the endpoint did not take a JSON schema and answered without.
    pub(super) fn schema_refused(&self, certain: bool) {
        self.lock().refusals += if certain { 2 } else { 1 };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LimiterPermit {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.left.notify_one();
    }
}

/// When a call that comes at `now` may begin; it also sets when the next one may. `None`, with nothing reserved, if that is
/// after `deadline`. Calls are spaced evenly, as endpoints count by the second too.
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
    fn calls_are_spaced() {
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
    fn places_are_given_back() {
        let gate = EndpointLimiter::of("http://gate.test", "m");
        let pass = gate.enter(1, 0, None).unwrap();
        assert!(gate.enter(1, 0, Some(Instant::now())).is_none());
        assert!(gate.enter(2, 0, Some(Instant::now())).is_some());
        drop(pass);
        assert!(EndpointLimiter::of("http://gate.test", "m").enter(1, 0, Some(Instant::now())).is_some());
    }
}
