//! Benchmark of acts over many connections, each with several matches of tic_tac_toe against `random`. A bare echo
//! server with the same number of connections and messages is the baseline.

use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_protocol::message::{Accepted, Act, Join};
use ludex_protocol::{ClientMessage, Encoding, ServerMessage};
use serde::Deserialize;
use tokio_tungstenite::tungstenite::Bytes;

use crate::host::Host;
use crate::link::Link;

const CONNECTIONS: usize = 64;
/// Number of concurrent matches per connection.
const SLOTS: u32 = 8;
/// Warm-up time before the measurement, in which all matches start.
const WARM: Duration = Duration::from_millis(500);

pub async fn run(span: Duration) -> anyhow::Result<()> {
    for rated in [false, true] {
        let host = Host::ludex()?;
        let mut links = Vec::new();
        for k in 0..CONNECTIONS {
            links.push(Link::open(host.address, Some(format!("bot{k}"))).await?);
        }
        let from = Instant::now() + WARM;
        let plays = links.into_iter().map(|link| play(link, rated, from, from + span));
        let moves: u32 = futures_util::future::try_join_all(plays).await?.into_iter().sum();
        println!(
            "matches: {CONNECTIONS} connections of {SLOTS} matches, {}: {:.0} acts accepted/s",
            if rated { "rated (durable before they are accepted)" } else { "unrated" },
            f64::from(moves) / span.as_secs_f64()
        );
        host.end()?;
    }
    let trips = echo(span).await?;
    println!(
        "matches: {CONNECTIONS} connections of a bare echo, {SLOTS} messages in flight on each: {trips:.0} trips/s"
    );
    Ok(())
}

/// Returns the round trips per second to the echo server, for messages of the size of an act and its reply.
async fn echo(span: Duration) -> anyhow::Result<f64> {
    let act = Act { match_id: "m_0123456789ab".into(), turn: 3, action: Some(4u32.into()), ..Act::default() };
    let act = Bytes::from(Encoding::MsgPack.encode_client(Some(1 << 10), &ClientMessage::Act(Box::new(act)))?);
    let text = "x(1,1)".to_owned();
    let accepted = Accepted { match_id: "m_0123456789ab".into(), turn: 3, action: Some(4), text, bank_ms: 0 };
    let accepted = Encoding::MsgPack.encode_server(Some(1 << 10), &ServerMessage::Accepted(accepted))?;
    let host = Host::echo(vec![accepted.into()])?;
    let mut links = Vec::new();
    for _ in 0..CONNECTIONS {
        links.push(Link::bare(host.address, false).await?);
    }
    let from = Instant::now() + WARM;
    let all = links.into_iter().map(|link| trips(link, act.clone(), from, from + span));
    let count: u32 = futures_util::future::try_join_all(all).await?.into_iter().sum();
    host.end()?;
    Ok(f64::from(count) / span.as_secs_f64())
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
