//! Benchmark of the time from a `join` request to `queued`, with and without other pending joins. The store is in
//! memory, so that disk latency is not measured.

use std::time::Instant;

use ludex_protocol::message::{Join, Leave, Ping};
use ludex_protocol::{ClientMessage, ServerMessage};

use crate::host::Host;
use crate::link::{Link, read};

/// Number of pending joins during the second measurement.
const WAITING: usize = 5_000;
/// Number of measured joins. Each one is canceled before the next one is sent.
const MEASURED: usize = 500;
/// Number of joins in flight at the same time while the pending joins are created.
const AT_ONCE: usize = 100;

pub async fn run() -> anyhow::Result<()> {
    for (name, rated) in [("each in a queue of its own", false), ("all of one owner in one rated queue", true)] {
        let host = Host::in_memory(|limits| {
            let most = (WAITING + AT_ONCE) as u32;
            (limits.joins, limits.owner_joins, limits.owner_matches) = (most, most, most);
        })?;
        let mut link = Link::open(host.address, Some("joiner".into())).await?;
        let join = |k: usize| {
            let queue = if rated { "one".to_owned() } else { format!("q{k}") };
            Join { queue, rated, ..Join::new("chess") }
        };
        let alone = measure(&mut link, &join).await?;
        for k in (0..WAITING).step_by(AT_ONCE) {
            for k in k..k + AT_ONCE {
                link.request(&ClientMessage::Join(Box::new(join(k)))).await?;
            }
            for _ in 0..AT_ONCE {
                queued(&mut link).await?;
            }
        }
        let among = measure(&mut link, &join).await?;
        println!("joins: among {WAITING}, {name}: {among}; alone: {alone}");
        host.end()?;
    }
    Ok(())
}

/// Measures [`MEASURED`] joins and the same number of pings, and returns the p50 and p99 of each as text.
async fn measure(link: &mut Link, join: &impl Fn(usize) -> Join) -> anyhow::Result<String> {
    let (mut joins, mut pings) = (Vec::new(), Vec::new());
    for k in 0..MEASURED {
        let from = Instant::now();
        link.ask(&ClientMessage::Ping(Ping {})).await?;
        pings.push(from.elapsed());
        let from = Instant::now();
        link.request(&ClientMessage::Join(Box::new(join(WAITING + k)))).await?;
        let join = queued(link).await?;
        joins.push(from.elapsed());
        link.ask(&ClientMessage::Leave(Leave { join })).await?;
    }
    let [joins, pings] = [joins, pings].map(|mut times| {
        times.sort_unstable();
        [50, 99].map(|share| times[times.len() * share / 100].as_secs_f64() * 1e3)
    });
    Ok(format!("{:.3} ms, p99 {:.3} ms (a ping {:.3} and {:.3} ms)", joins[0], joins[1], pings[0], pings[1]))
}

/// Waits for the next `queued` message and returns the name of its join.
async fn queued(link: &mut Link) -> anyhow::Result<String> {
    loop {
        if let ServerMessage::Queued(queued) = read(&link.next().await?)? {
            return Ok(queued.join);
        }
    }
}
