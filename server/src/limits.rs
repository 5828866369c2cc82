//! How many messages may come, and the limits as options.

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

/// The rate is an average over this many seconds.
const BURST_SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// Addresses in the table before those without connections are swept out.
const SWEEP: usize = 1024;

/// The allowance of one address, shared by its connections: as many requests at once as it gets in four seconds.
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

    /// Takes one request off; when there is none left, the milliseconds until there is.
    pub fn take(&self) -> Option<u32> {
        let until = self.limiter.check().err()?;
        let wait = until.wait_time_from(self.limiter.clock().now());
        Some(u32::try_from(wait.as_micros().div_ceil(1_000)).unwrap_or(u32::MAX))
    }
}

/// The allowances of all addresses.
#[derive(Debug)]
pub struct Rates {
    per_s: u32,
    buckets: Mutex<HashMap<IpAddr, Weak<Bucket>>>,
}

impl Rates {
    /// `per_s` requests for each address.
    pub fn new(per_s: u32) -> Self {
        Rates { per_s, buckets: Mutex::default() }
    }

    /// The allowance of an address.
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

/// Whether an option that limits something makes sense together with the others.
///
/// # Errors
/// One sentence.
pub fn sane(limits: &Limits) -> Result<(), String> {
    if limits.replies_kept < limits.window {
        return Err(format!(
            "replies_kept ({}) must be at least window ({}), or a client that comes back could lose replies",
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
        Some((name, _)) => Err(format!("{name} must be at least 1")),
        None => Ok(()),
    }
}

/// A value as a limit that was read from `NAME=VALUE`.
///
/// # Errors
/// An unknown name, with all that there are, or no number.
pub fn set(limits: &mut Limits, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    let mut all = serde_json::to_value(&*limits).map_err(|e| e.to_string())?;
    let map = all.as_object_mut().ok_or("limits are a map")?;
    let known: Vec<String> = map.keys().cloned().collect();
    let number: u64 = value.trim().parse().map_err(|_| format!("{name}={value}: {value:?} is not a whole number"))?;
    let Some(slot) = map.get_mut(name.trim()) else {
        return Err(format!("there is no limit {name:?}{}", did_you_mean(name, &known)));
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
    fn an_allowance_is_an_average() {
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
