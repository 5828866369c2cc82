//! Rate limits, and the parsing of limits from command-line options.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Weak};

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use ludex_protocol::Limits;
use ludex_protocol::error::did_you_mean;
use parking_lot::Mutex;
use serde_json::Value;

/// Period over which the request rate is averaged, in seconds.
const BURST_SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// Number of addresses at which addresses without connections are removed.
const SWEEP: usize = 1024;

/// Request budget of one address, shared by its connections. A burst may use the requests of four seconds.
#[derive(Debug)]
pub struct Bucket<C: Clock = DefaultClock> {
    limiter: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
}

impl<C: Clock> Bucket<C> {
    fn new(per_s: u32, clock: C) -> Self {
        let per_s = NonZeroU32::new(per_s).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(per_s).allow_burst(per_s.saturating_mul(BURST_SECONDS));
        Bucket { limiter: RateLimiter::direct_with_clock(quota, clock) }
    }

    /// Takes one request from the budget. If the budget is empty, returns the time in milliseconds until the next
    /// request is allowed.
    pub fn take(&self) -> Option<u32> {
        let until = self.limiter.check().err()?;
        let wait = until.wait_time_from(self.limiter.clock().now());
        Some(u32::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX))
    }
}

/// Request budgets, by address.
#[derive(Debug)]
pub struct Rates {
    per_s: u32,
    buckets: Mutex<HashMap<IpAddr, Weak<Bucket>>>,
}

impl Rates {
    /// Creates budgets of `per_s` requests per second and address.
    pub fn new(per_s: u32) -> Self {
        Rates { per_s, buckets: Mutex::default() }
    }

    /// Returns the budget of an address.
    pub fn bucket(&self, ip: IpAddr) -> Arc<Bucket> {
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get(&ip).and_then(Weak::upgrade) {
            return bucket;
        }
        if buckets.len() >= SWEEP {
            buckets.retain(|_, bucket| bucket.strong_count() > 0);
        }
        let bucket = Arc::new(Bucket::new(self.per_s, DefaultClock::default()));
        buckets.insert(ip, Arc::downgrade(&bucket));
        bucket
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
    let named: [(&str, u64); 9] = [
        ("frame_bytes", limits.frame_bytes),
        ("message_bytes", limits.message_bytes),
        ("depth", limits.depth.into()),
        ("window", limits.window.into()),
        ("envs", limits.envs.into()),
        ("batch", limits.batch.into()),
        ("batch_bytes", limits.batch_bytes),
        ("hello_ms", limits.hello_ms),
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
/// A name that is not a limit, with the nearest limit, or a value that is not a number.
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
    use std::time::Duration;

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
