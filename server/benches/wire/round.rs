//! Benchmark of one remote step, compared with a bare echo server. Client code, frame sizes,
//! threads and CPUs are the same for both servers.

use std::time::{Duration, Instant};

use ludex_protocol::message::{Autoreset, Open, Reset, Seed, StepEnvs};
use ludex_protocol::{ClientMessage, Column, Encoding, Id, ServerMessage};
use tokio_tungstenite::tungstenite::Bytes;

use crate::host::{Host, place};
use crate::link::{Link, read};

/// Moves of a tic_tac_toe game that x wins. The environment resets in the last step.
const GAME: [i32; 7] = [0, 1, 2, 3, 4, 5, 6];
/// Number of rounds, in each of which both servers are measured. Printed figures are medians over
/// the rounds.
const ROUNDS: usize = 15;
/// First request `id`. From this value on, every `id` takes five bytes in MessagePack.
const FIRST: Id = 1 << 20;

pub async fn run(span: Duration) -> anyhow::Result<()> {
    let host = Host::ludex()?;
    let mut steps = Steps::new(host.address).await?;
    let echo = Host::echo(steps.replies.clone())?;
    let mut bare = Link::bare(echo.address, false).await?;
    let placements: [(&str, Option<(usize, usize)>); 3] = [
        ("placed by the system", None),
        ("server and client on a CPU each", Some((0, 1))),
        ("server and client on one CPU", Some((0, 0))),
    ];
    let bytes = steps.replies.iter().map(Bytes::len).sum::<usize>() / GAME.len();
    println!("round: {} bytes there, {bytes} back", steps.frames[0].bytes.len());
    for (name, cpus) in placements {
        if cpus.is_some_and(|(serving, asking)| !place(serving, asking)) {
            println!("round: {name}: not measured (needs taskset and two CPUs)");
            continue;
        }
        let share = span / ROUNDS as u32;
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let echo_rate = trips(&mut bare, &mut steps.frames, &mut steps.id, share).await?.0;
            let (step_rate, last) = trips(&mut steps.link, &mut steps.frames, &mut steps.id, share).await?;
            anyhow::ensure!(matches!(read(&last)?, ServerMessage::Batch(_)), "expected a batch");
            ours.push(step_rate);
            theirs.push(echo_rate);
            ratios.push(step_rate / echo_rate);
        }
        println!(
            "round: {name}: {:.0} steps/s, bare echo {:.0} trips/s, ratio {:.3}",
            median(ours),
            median(theirs),
            median(ratios)
        );
    }
    drop((steps, bare));
    host.end()?;
    echo.end()
}

/// Encoded request whose `id` can be replaced.
struct Template {
    bytes: Vec<u8>,
    at: usize,
}

impl Template {
    fn new(env: u32, action: i32) -> anyhow::Result<Self> {
        let step = StepEnvs { env, actions: Some(Column::from_slice(&[action])), ..StepEnvs::default() };
        let bytes = Encoding::MsgPack.encode_client(Some(FIRST), &ClientMessage::Step(step))?;
        let id = (FIRST as u32).to_be_bytes();
        let at = bytes.windows(4).position(|four| four == id);
        Ok(Template { at: at.ok_or_else(|| anyhow::anyhow!("expected the id in the encoded request"))?, bytes })
    }

    fn with_id(&mut self, id: Id) -> Bytes {
        self.bytes[self.at..self.at + 4].copy_from_slice(&(id as u32).to_be_bytes());
        Bytes::copy_from_slice(&self.bytes)
    }
}

/// Environment, encoded requests for the moves of [`GAME`], and the replies to them.
struct Steps {
    link: Link,
    frames: Vec<Template>,
    replies: Vec<Bytes>,
    id: Id,
}

impl Steps {
    async fn new(address: std::net::SocketAddr) -> anyhow::Result<Self> {
        let mut link = Link::open(address, None).await?;
        let open = Open { autoreset: Autoreset::SameStep, ..Open::new("tic_tac_toe") };
        let ServerMessage::Opened(opened) = link.ask(&ClientMessage::Open(Box::new(open))).await? else {
            anyhow::bail!("expected the reply opened");
        };
        let env = opened.env;
        link.ask(&ClientMessage::Reset(Reset { env, seed: Some(Seed(1)), ..Reset::default() })).await?;
        let mut frames = GAME.iter().map(|&a| Template::new(env, a)).collect::<anyhow::Result<Vec<_>>>()?;
        let (mut replies, mut id) = (Vec::new(), FIRST);
        for frame in &mut frames {
            link.send(frame.with_id(id)).await?;
            replies.push(link.next().await?);
            read(&replies[replies.len() - 1])?;
            id += 1;
        }
        Ok(Steps { link, frames, replies, id })
    }
}

/// Plays whole games for the duration `span`. Returns the round trips per second and the last
/// reply.
async fn trips(link: &mut Link, frames: &mut [Template], id: &mut Id, span: Duration) -> anyhow::Result<(f64, Bytes)> {
    let (start, mut count, mut last) = (Instant::now(), 0u32, Bytes::new());
    while start.elapsed() < span {
        for frame in &mut *frames {
            link.send(frame.with_id(*id)).await?;
            last = link.next().await?;
            *id += 1;
            count += 1;
        }
    }
    Ok((f64::from(count) / start.elapsed().as_secs_f64(), last))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
