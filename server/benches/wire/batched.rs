//! Benchmark of batched steps over a WebSocket. Random legal actions are drawn from the mask of the previous reply.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_env::Stream;
use ludex_protocol::message::{Autoreset, Batch, Mask, MaskForm, Open, Reset, Seed, StepEnvs};
use ludex_protocol::{ClientMessage, Column, ServerMessage};

use crate::host::Host;
use crate::link::Link;

const GAME: &str = "connect_four";

pub async fn run(span: Duration) -> anyhow::Result<()> {
    let host = Host::ludex()?;
    for count in [256, 4_096] {
        for handles in [1, 2] {
            let rate = measure(&host, count, handles, span).await?;
            println!("batched: {GAME}, {count} per message, {handles} handle(s): {:.2} M steps/s", rate / 1e6);
        }
    }
    host.end()
}

/// Returns the number of steps per second with `handles` environment handles. While the client chooses the actions for
/// one handle, requests to all other handles are in flight.
async fn measure(host: &Host, count: u32, handles: usize, span: Duration) -> anyhow::Result<f64> {
    let (mut link, mut rng) = (Link::open(host.address, None).await?, Stream::from_text("wire"));
    let mut envs = Vec::new();
    for _ in 0..handles {
        let open = Open { count, autoreset: Autoreset::SameStep, mask: Some(MaskForm::U1), ..Open::new(GAME) };
        let ServerMessage::Opened(opened) = link.ask(&ClientMessage::Open(Box::new(open))).await? else {
            anyhow::bail!("expected the reply opened");
        };
        let reset = Reset { env: opened.env, seed: Some(Seed(1)), ..Reset::default() };
        let first = batch(link.ask(&ClientMessage::Reset(reset)).await?)?;
        envs.push((opened.env, draw(&first, &mut rng)?));
    }
    let mut ready = envs.pop().context("expected at least one handle")?;
    for (env, actions) in envs {
        link.request(&step(env, actions)).await?;
    }
    let (start, mut messages) = (Instant::now(), 0u32);
    while start.elapsed() < span {
        link.request(&step(ready.0, ready.1)).await?;
        // Replies may arrive out of order, since large batches run on the compute pool.
        let reply = batch(link.answer().await?)?;
        ready = (reply.env, draw(&reply, &mut rng)?);
        messages += 1;
    }
    Ok(f64::from(messages) * f64::from(count) / start.elapsed().as_secs_f64())
}

fn step(env: u32, actions: Vec<i32>) -> ClientMessage {
    ClientMessage::Step(StepEnvs { env, actions: Some(Column::from_slice(&actions)), ..StepEnvs::default() })
}

fn batch(message: ServerMessage) -> anyhow::Result<Box<Batch>> {
    match message {
        ServerMessage::Batch(batch) => Ok(batch),
        other => anyhow::bail!("expected a batch, got {other:?}"),
    }
}

/// Draws a legal action for each environment of a batch.
fn draw(batch: &Batch, rng: &mut Stream) -> anyhow::Result<Vec<i32>> {
    let Some(Mask::Dense(mask)) = &batch.mask else { anyhow::bail!("expected a dense action mask") };
    let rows = batch.to_move.len();
    let row = |mask: &[u8]| {
        let mut left = rng.below(mask.iter().map(|&b| usize::from(b)).sum());
        let nth = mask.iter().position(|&b| {
            b == 1
                && (left == 0 || {
                    left -= 1;
                    false
                })
        });
        nth.map_or(-1, |a| a as i32)
    };
    Ok(mask.as_bytes().chunks_exact(mask.len() / rows.max(1)).map(row).collect())
}
