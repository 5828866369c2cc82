//! What a join costs while others wait: from the request to the `queued` that says that the lobby found nobody, and the same
//! with nobody else there. A join is on the disk before it is answered: a join by itself waits for a durable write, and joins that
//! come together share it.

use std::time::Instant;

use ludex_protocol::message::{Join, Leave, Ping};
use ludex_protocol::{ClientMessage, ServerMessage};

use crate::host::Host;
use crate::link::{Link, read};

/// Joins that wait meanwhile.
const WAITING: usize = 5_000;
/// Joins that are measured, one after another; each leaves before the next.
const MEASURED: usize = 500;
/// Joins that are measured together, and how often.
const AT_ONCE: usize = 100;
const ROUNDS: usize = 25;

pub async fn run() -> anyhow::Result<()> {
    for (name, rated) in [("each in a queue of its own", false), ("all of one owner in one rated queue", true)] {
        let host = Host::with(|limits| {
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
            together(&mut link, &join, k).await?;
        }
        let among = measure(&mut link, &join).await?;
        println!("joins: among {WAITING}, {name}: {among}; alone: {alone}");
        host.end()?;
    }
    Ok(())
}

/// The figures of joins one by one, of joins together, and of pings.
async fn measure(link: &mut Link, join: &impl Fn(usize) -> Join) -> anyhow::Result<String> {
    let (mut joins, mut shares, mut pings) = (Vec::new(), Vec::new(), Vec::new());
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
    for _ in 0..ROUNDS {
        let from = Instant::now();
        let names = together(link, join, WAITING).await?;
        shares.push(from.elapsed() / AT_ONCE as u32);
        for join in names {
            link.ask(&ClientMessage::Leave(Leave { join })).await?;
        }
    }
    let [joined, shared, pinged] = [joins, shares, pings].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    });
    Ok(format!("{shared:.3} ms each of {AT_ONCE} together, {joined:.3} ms one by one (a ping {pinged:.3} ms)"))
}

/// Joins that are under way at once; their names.
async fn together(link: &mut Link, join: &impl Fn(usize) -> Join, first: usize) -> anyhow::Result<Vec<String>> {
    for k in first..first + AT_ONCE {
        link.request(&ClientMessage::Join(Box::new(join(k)))).await?;
    }
    let mut names = Vec::new();
    while names.len() < AT_ONCE {
        names.push(queued(link).await?);
    }
    Ok(names)
}

/// The name of the next join that waits.
async fn queued(link: &mut Link) -> anyhow::Result<String> {
    loop {
        if let ServerMessage::Queued(queued) = read(&link.next().await?)? {
            return Ok(queued.join);
        }
    }
}
