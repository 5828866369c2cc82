//! Limits on what a message may hold, and on how many may come.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Weak};

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use ludex_protocol::Move;
use ludex_protocol::client::Act;
use ludex_protocol::record::Notes;
use ludex_protocol::{ClientMessage, ErrorCode, Limits, Refusal};
use parking_lot::Mutex;
use serde_json::Value;

/// The rate is an average over this many seconds.
const BURST_SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// Addresses in the table before those without connections are swept out.
const SWEEP: usize = 1024;

/// Checks texts and notes against their limits.
///
/// # Errors
/// `too_large` with the path of the field.
pub fn check(message: &ClientMessage, limits: &Limits) -> Result<(), Box<Refusal>> {
    use ClientMessage as M;
    let most = limits.text_bytes as usize;
    let text = |path: &str, text: &str| measure(path, text.len(), most);
    let texts = |path: &str, list: Option<&[String]>| {
        let of_each = |(at, t): (usize, &String)| text(path, t).map_err(|e| Box::new(e.at(at)));
        list.into_iter().flatten().enumerate().try_for_each(of_each)
    };
    match message {
        M::Describe(d) => text("game", &d.game).and(document("params", &d.params, most)),
        M::Open(o) => {
            text("game", &o.game)?;
            texts("seats", o.seats.as_deref())?;
            document("params", &o.params, most)
        }
        M::Reset(r) => texts("seats", r.seats.as_deref()),
        M::Step(s) => s.moves.iter().flatten().enumerate().try_for_each(|(at, m)| {
            let fits = match m {
                None | Some(Move::Id(_)) => Ok(()),
                Some(Move::Text(t)) => text("moves", t),
                Some(Move::Document(p)) => document("moves", p, most),
            };
            fits.map_err(|e| Box::new(e.at(at)))
        }),
        M::View(v) => texts("parse", v.parse.as_deref()),
        M::Join(j) => {
            text("game", &j.game)?;
            text("queue", &j.queue)?;
            texts("against", j.against.as_deref())?;
            document("params", &j.params, most)
        }
        M::Act(act) => act_fits(act, limits),
        _ => Ok(()),
    }
}

fn act_fits(act: &Act, limits: &Limits) -> Result<(), Box<Refusal>> {
    let most = limits.text_bytes as usize;
    if let Some(text) = &act.text {
        measure("text", text.len(), most)?;
    }
    if let Some(proposal) = &act.proposal {
        document("proposal", proposal, most)?;
    }
    match &act.notes {
        Some(notes) => noted(notes, limits.notes_bytes as usize),
        None => Ok(()),
    }
}

fn noted(notes: &Notes, most: usize) -> Result<(), Box<Refusal>> {
    measure("notes", serde_json::to_vec(notes).map_or(usize::MAX, |bytes| bytes.len()), most)
}

fn document<T: serde::Serialize>(path: &str, document: &T, most: usize) -> Result<(), Box<Refusal>> {
    measure(path, serde_json::to_vec(document).map_or(usize::MAX, |bytes| bytes.len()), most)
}

fn measure(path: &str, bytes: usize, most: usize) -> Result<(), Box<Refusal>> {
    if bytes <= most {
        return Ok(());
    }
    let message = format!("{path} has {bytes} bytes, {most} are allowed");
    Err(Box::new(Refusal::new(ErrorCode::TooLarge, message).path(path).got(bytes as u64).allowed(most as u64)))
}

/// The allowance of one address, shared by its connections: as many requests at once as it gets in [`BURST_SECONDS`].
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
        let near = ludex_protocol::error::nearest(name, known.iter().map(String::as_str));
        let hint = near.map_or_else(|| ".".to_owned(), |n| format!("; did you mean {n}?"));
        return Err(format!("there is no limit {name:?}{hint} There are: {}", known.join(", ")));
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
