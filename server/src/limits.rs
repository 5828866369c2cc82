//! Rate limits, and the parsing of limits from command-line options.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{NotUntil, Quota, RateLimiter};
use ludex_protocol::Limits;
use ludex_protocol::error::did_you_mean;
use parking_lot::Mutex;
use serde_json::Value;

/// Period over which a rate is averaged, in seconds.
const BURST_SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// Time for which the budget of an address without connections is stored, so that a new connection does not refill it.
const KEPT: Duration = Duration::from_secs(60);

/// Minimum number of addresses that triggers the removal of old budgets.
const SWEEP: usize = 1024;

/// Request budget of one address, shared by its connections. A burst may use up to four seconds' worth of requests.
#[derive(Debug)]
pub struct Bucket<C: Clock = DefaultClock> {
    limiter: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
    burst: NonZeroU32,
}

impl<C: Clock> Bucket<C> {
    fn new(per_s: u32, clock: C) -> Self {
        let per_s = NonZeroU32::new(per_s).unwrap_or(NonZeroU32::MIN);
        let burst = per_s.saturating_mul(BURST_SECONDS);
        let quota = Quota::per_second(per_s).allow_burst(burst);
        Bucket { limiter: RateLimiter::direct_with_clock(quota, clock), burst }
    }

    /// Takes one request from the budget. If the budget is empty, returns the time in milliseconds until the next
    /// request is allowed.
    pub fn take(&self) -> Option<u32> {
        self.wait(self.limiter.check().err()?)
    }

    /// Takes a request that counts as `cost` requests, or as a whole burst if that is less. If the budget is too small,
    /// takes nothing and returns the time in milliseconds until the request is allowed.
    pub fn take_many(&self, cost: NonZeroU32) -> Option<u32> {
        // A cost within the burst never exceeds the capacity.
        self.wait(self.limiter.check_n(cost.min(self.burst)).ok()?.err()?)
    }

    fn wait(&self, until: NotUntil<C::Instant>) -> Option<u32> {
        let wait = until.wait_time_from(self.limiter.clock().now());
        Some(u32::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX))
    }
}

/// Request budgets, by address.
#[derive(Debug)]
pub struct Rates {
    per_s: u32,
    inside: Mutex<Buckets>,
}

#[derive(Debug)]
struct Buckets {
    by_address: HashMap<IpAddr, StoredBucket>,
    /// Number of addresses that triggers the next removal of old budgets.
    sweep: usize,
}

#[derive(Debug)]
struct StoredBucket {
    bucket: Arc<Bucket>,
    /// Time of the last request for the bucket.
    used: Instant,
}

impl Rates {
    /// Creates budgets of `per_s` requests per second and address.
    pub fn new(per_s: u32) -> Self {
        Rates { per_s, inside: Mutex::new(Buckets { by_address: HashMap::new(), sweep: SWEEP }) }
    }

    /// Returns the budget of an address.
    pub fn bucket(&self, ip: IpAddr) -> Arc<Bucket> {
        self.bucket_at(ip, Instant::now())
    }

    fn bucket_at(&self, ip: IpAddr, now: Instant) -> Arc<Bucket> {
        let mut inside = self.inside.lock();
        if inside.by_address.len() >= inside.sweep {
            let current = |stored: &StoredBucket| now.saturating_duration_since(stored.used) < KEPT;
            inside.by_address.retain(|_, stored| Arc::strong_count(&stored.bucket) > 1 || current(stored));
            // Sweeps when the number of addresses has doubled, so that sweeps cost a constant time per address.
            inside.sweep = SWEEP.max(2 * inside.by_address.len());
        }
        let new = || StoredBucket { bucket: Arc::new(Bucket::new(self.per_s, DefaultClock::default())), used: now };
        let stored = inside.by_address.entry(ip).or_insert_with(new);
        stored.used = now;
        stored.bucket.clone()
    }
}

/// Checks that the limits are consistent.
///
/// # Errors
///
/// A description of the first contradiction between limits.
pub fn sane(limits: &Limits) -> Result<(), String> {
    if limits.replies_kept < limits.window {
        return Err(format!(
            "replies_kept: expected at least window ({1}), got {0}; fewer would lose replies when a client resumes",
            limits.replies_kept, limits.window
        ));
    }
    let named: [(&str, u64); 10] = [
        ("frame_bytes", limits.frame_bytes),
        ("message_bytes", limits.message_bytes),
        ("depth", limits.depth.into()),
        ("window", limits.window.into()),
        ("envs", limits.envs.into()),
        ("batch", limits.batch.into()),
        ("batch_bytes", limits.batch_bytes),
        ("hello_ms", limits.hello_ms),
        ("write_stall_ms", limits.write_stall_ms),
        ("idle_ms", limits.idle_ms),
    ];
    match named.into_iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(format!("{name}: expected at least 1, got 0")),
        None => Ok(()),
    }
}

/// Sets a limit from text of the form `NAME=VALUE`.
///
/// # Errors
///
/// Fails if no limit has the name (the message suggests the nearest name), or if the value is not a whole number.
pub fn set(limits: &mut Limits, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, got {text:?}"))?;
    let mut all = serde_json::to_value(&*limits).map_err(|e| e.to_string())?;
    let map = all.as_object_mut().ok_or("expected limits as a map")?;
    let known: Vec<String> = map.keys().cloned().collect();
    let number: u64 = value.trim().parse().map_err(|_| format!("{name}: expected a whole number, got {value:?}"))?;
    let Some(slot) = map.get_mut(name.trim()) else {
        return Err(format!("expected the name of a limit, got {name:?}{}", did_you_mean(name, &known)));
    };
    *slot = Value::from(number);
    *limits = serde_json::from_value(all).map_err(|e| format!("{name}={value}: {e}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::FakeRelativeClock;

    #[test]
    fn rate_limit_allows_bursts_within_the_average_rate() {
        let clock = FakeRelativeClock::default();
        let bucket = Bucket::new(10, clock.clone());
        assert_eq!((0..50).filter(|_| bucket.take().is_none()).count(), 40);
        assert_eq!(bucket.take(), Some(100));
        clock.advance(Duration::from_millis(500));
        assert_eq!((0..50).filter(|_| bucket.take().is_none()).count(), 5);
    }

    #[test]
    fn costly_request_uses_its_full_cost_or_nothing() {
        let clock = FakeRelativeClock::default();
        let bucket = Bucket::new(10, clock.clone());
        let ten = NonZeroU32::new(10).unwrap();
        assert_eq!((0..9).filter(|_| bucket.take_many(ten).is_none()).count(), 4);
        assert_eq!(bucket.take_many(ten), Some(1_000));
        clock.advance(Duration::from_millis(100));
        assert_eq!((bucket.take_many(ten), bucket.take()), (Some(900), None));
        let small = Bucket::new(1, clock);
        assert_eq!(small.take_many(ten), None, "the cost is at most a burst");
        assert!(small.take_many(ten).is_some());
    }

    #[test]
    fn reconnecting_does_not_refill_a_budget() {
        let (rates, start) = (Rates::new(1), Instant::now());
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let crowd = |from: u32, at: Duration| {
            (from..from + 4 * SWEEP as u32).for_each(|n| drop(rates.bucket_at(address(n), start + at)));
        };
        // No connection uses this budget any longer.
        let first = Arc::downgrade(&rates.bucket_at(address(0), start));
        crowd(1, KEPT / 2);
        assert!(first.upgrade().is_some(), "the budget was removed with its connection");
        crowd(1 << 20, 3 * KEPT);
        crowd(1 << 21, 6 * KEPT);
        assert!(first.upgrade().is_none(), "the budget was not removed");
        assert!(rates.inside.lock().by_address.len() < 10 * SWEEP);
    }

    #[test]
    fn limits_are_set_by_name() {
        let mut limits = Limits::default();
        set(&mut limits, "window=8").unwrap();
        assert_eq!(limits.window, 8);
        assert!(set(&mut limits, "windo=8").unwrap_err().contains("did you mean window?"));
        assert!(set(&mut limits, "window=-1").is_err());
        assert!(set(&mut limits, "window=99999999999").is_err());
        assert!(set(&mut limits, "window").is_err());
        set(&mut limits, "window=500").unwrap();
        assert!(sane(&limits).is_err());
    }
}
