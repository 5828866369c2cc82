//! Acts over many connections at once, each with several matches of tic_tac_toe against `random`.

use std::time::{Duration, Instant};

use ludex_env::Stream;
use ludex_protocol::client::{Act, Join};
use ludex_protocol::{ClientMessage, Encoding};
use serde::Deserialize;

use crate::host::Host;
use crate::link::Link;

const CONNECTIONS: usize = 64;
/// Matches at a time on each connection, so that many acts may be under way.
const SLOTS: u32 = 8;
/// Time before the measure begins, in which all matches have started.
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
    Ok(())
}

/// What a bot reads of a message.
#[derive(Deserialize)]
struct Said {
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

/// Plays matches until `to`; returns the acts accepted after `from`.
async fn play(mut link: Link, rated: bool, from: Instant, to: Instant) -> anyhow::Result<u32> {
    let join = Join { against: Some(vec!["random".into()]), slots: SLOTS, count: 0, rated, ..Join::new("tic_tac_toe") };
    link.request(&ClientMessage::Join(Box::new(join))).await?;
    let (mut rng, mut accepted) = (Stream::named("wire"), 0);
    while Instant::now() < to
        && let Ok(frame) = tokio::time::timeout_at(to.into(), link.next()).await
    {
        let mut frame = Some(frame?);
        while let Some(bytes) = frame {
            let said: Said = rmp_serde::from_slice(&bytes)?;
            match said.kind.as_str() {
                "turn" => {
                    let action = said.legal[rng.below(said.legal.len())];
                    let act = Act { match_id: said.id, turn: said.turn, action: Some(action.into()), ..Act::default() };
                    let id = link.id();
                    let act = Encoding::MsgPack.encode_client(Some(id), &ClientMessage::Act(Box::new(act)))?;
                    link.feed(act).await?;
                }
                "accepted" => accepted += u32::from(Instant::now() >= from),
                "error" | "refused" => anyhow::bail!("{}", said.message),
                _ => {}
            }
            frame = link.ready()?;
        }
        link.flush().await?;
    }
    Ok(accepted)
}
