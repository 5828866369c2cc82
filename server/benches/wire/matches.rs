//! Benchmark of acts over many connections, each with several matches of tic_tac_toe against `random`. A bare echo
//! server with the same number of connections and messages is the baseline. The clients run on two threads, so that one
//! thread does not limit the rate; the server's processor time per act does not depend on their speed.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_protocol::message::{Accepted, Act, Join};
use ludex_protocol::{ClientMessage, Encoding, ServerMessage};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::Bytes;

use crate::cpu_time::{CLIENT, CpuTime};
use crate::host::Host;
use crate::link::Link;

const CONNECTIONS: usize = 64;
/// Number of client threads.
const THREADS: usize = 2;
/// Number of concurrent matches per connection.
const SLOTS: u32 = 8;
/// Warm-up time before the measurement, in which all matches start.
const WARM: Duration = Duration::from_millis(500);

pub async fn run(span: Duration) -> anyhow::Result<()> {
    for rated in [false, true] {
        let host = Host::ludex()?;
        let address = host.address;
        let open = move |k| Link::open(address, Some(format!("bot{k}")));
        let (moves, cpu) = measure(span, open, move |link, from, to| play(link, rated, from, to)).await?;
        println!(
            "matches: {CONNECTIONS} connections of {SLOTS} matches, {}: {:.0} acts accepted/s, server CPU {} per act",
            if rated { "rated (durable before they are accepted)" } else { "unrated" },
            f64::from(moves) / span.as_secs_f64(),
            cpu.text(moves)
        );
        host.end()?;
    }
    echo(span).await
}

/// Runs `work` on all connections, on [`THREADS`] client threads, until `span` after the warm-up. Returns the sum of
/// the results, and the processor time that the server's threads used after the warm-up.
async fn measure<O, W>(
    span: Duration,
    open: impl Fn(usize) -> O + Send + Clone + 'static,
    work: impl Fn(Link, Instant, Instant) -> W + Send + Clone + 'static,
) -> anyhow::Result<(u32, CpuTime)>
where
    O: Future<Output = anyhow::Result<Link>>,
    W: Future<Output = anyhow::Result<u32>>,
{
    let ready = Arc::new(Barrier::new(THREADS + 1));
    let start = |thread: usize| {
        let (ready, open, work) = (ready.clone(), open.clone(), work.clone());
        std::thread::Builder::new().name(format!("{CLIENT}{thread}")).spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async move {
                let mut links = Vec::new();
                for k in (thread..CONNECTIONS).step_by(THREADS) {
                    links.push(open(k).await?);
                }
                ready.wait();
                let from = Instant::now() + WARM;
                let works = links.into_iter().map(|link| work(link, from, from + span));
                Ok::<u32, anyhow::Error>(futures_util::future::try_join_all(works).await?.into_iter().sum())
            })
        })
    };
    let threads = (0..THREADS).map(start).collect::<Result<Vec<_>, _>>()?;
    ready.wait();
    tokio::time::sleep(WARM).await;
    let before = CpuTime::of_server();
    tokio::time::sleep(span).await;
    let cpu = CpuTime::of_server() - before;
    let mut sum = 0;
    for thread in threads {
        sum += thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
    }
    Ok((sum, cpu))
}

/// Measures the echo server, with messages as large as an act and the reply to it.
async fn echo(span: Duration) -> anyhow::Result<()> {
    let act = Act { match_id: "m_0123456789ab".into(), turn: 3, action: Some(4u32.into()), ..Act::default() };
    let act = Bytes::from(Encoding::MsgPack.encode_client(Some(1 << 10), &ClientMessage::Act(Box::new(act)))?);
    let text = "x(1,1)".to_owned();
    let accepted = Accepted { match_id: "m_0123456789ab".into(), seat: 0, turn: 3, action: Some(4), text, bank_ms: 0 };
    let accepted = Encoding::MsgPack.encode_server(Some(1 << 10), &ServerMessage::Accepted(accepted))?;
    let host = Host::echo(vec![accepted.into()])?;
    let address = host.address;
    let open = move |_| Link::bare(address, false);
    let (count, cpu) = measure(span, open, move |link, from, to| trips(link, act.clone(), from, to)).await?;
    println!(
        "matches: {CONNECTIONS} connections of a bare echo, {SLOTS} messages in flight on each: {:.0} trips/s, server CPU {} \
         per trip",
        f64::from(count) / span.as_secs_f64(),
        cpu.text(count)
    );
    host.end()
}

/// Sends `act` after each reply until the time `to`. Returns the number of replies received since the time `from`.
async fn trips(mut link: Link, act: Bytes, from: Instant, to: Instant) -> anyhow::Result<u32> {
    for _ in 0..SLOTS {
        link.feed(act.clone()).await?;
    }
    link.flush().await?;
    let mut count = 0;
    while Instant::now() < to {
        let mut frame = Some(link.next().await?);
        while frame.is_some() {
            count += u32::from(Instant::now() >= from);
            link.feed(act.clone()).await?;
            frame = link.ready()?;
        }
        link.flush().await?;
    }
    Ok(count)
}

/// Fields of a server message that the bot reads.
#[derive(Deserialize)]
struct BotMessage {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "match", default)]
    id: String,
    #[serde(default)]
    turn: u32,
    #[serde(default)]
    legal: Vec<u32>,
    #[serde(default)]
    message: String,
}

/// Plays `count` matches, one after the other.
pub async fn play_matches(link: &mut Link, count: u32, rng: &mut Stream) -> anyhow::Result<()> {
    let join = Join { against: Some(vec!["random".into()]), count, ..Join::new("tic_tac_toe") };
    link.request(&ClientMessage::Join(Box::new(join))).await?;
    let mut ended = 0;
    while ended < count {
        let message: BotMessage = rmp_serde::from_slice(&link.next().await?)?;
        match message.kind.as_str() {
            "turn" => {
                let action = message.legal[rng.below(message.legal.len())];
                let act =
                    Act { match_id: message.id, turn: message.turn, action: Some(action.into()), ..Act::default() };
                link.request(&ClientMessage::Act(Box::new(act))).await?;
            }
            "match_end" => ended += 1,
            "error" | "refused" => anyhow::bail!("{}", message.message),
            _ => {}
        }
    }
    Ok(())
}

/// Plays matches until the time `to`. Returns the number of acts accepted since the time `from`.
async fn play(mut link: Link, rated: bool, from: Instant, to: Instant) -> anyhow::Result<u32> {
    let join = Join { against: Some(vec!["random".into()]), slots: SLOTS, count: 0, rated, ..Join::new("tic_tac_toe") };
    link.request(&ClientMessage::Join(Box::new(join))).await?;
    let (mut rng, mut accepted) = (Stream::from_text("wire"), 0);
    while Instant::now() < to
        && let Ok(frame) = tokio::time::timeout_at(to.into(), link.next()).await
    {
        let mut frame = Some(frame?);
        while let Some(bytes) = frame {
            let message: BotMessage = rmp_serde::from_slice(&bytes)?;
            match message.kind.as_str() {
                "turn" => {
                    let action = message.legal[rng.below(message.legal.len())];
                    let act =
                        Act { match_id: message.id, turn: message.turn, action: Some(action.into()), ..Act::default() };
                    let id = link.id();
                    let act = Encoding::MsgPack.encode_client(Some(id), &ClientMessage::Act(Box::new(act)))?;
                    link.feed(act).await?;
                }
                "accepted" => accepted += u32::from(Instant::now() >= from),
                "error" | "refused" => anyhow::bail!("{}", message.message),
                _ => {}
            }
            frame = link.ready()?;
        }
        link.flush().await?;
    }
    Ok(accepted)
}
