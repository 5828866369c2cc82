//! Benchmarks of the wire protocol. They print results and write no files.
//!
//! `cargo bench -p ludex-server --bench wire [-- [round] [batched] [matches] [joins] [idle] [ended] [--seconds S]]`; without a
//! name, all parts run. The server runs on separate threads of this process, with one worker. For the parts `idle` and
//! `ended`, the server runs in a child process, so that the clients' memory is not measured. The clients of `matches` share two threads,
//! those of the other parts one.

mod batched;
mod cpu_time;
mod ended;
mod host;
mod idle;
mod joins;
mod link;
mod matches;
mod round;

use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTS: [&str; 6] = ["round", "batched", "matches", "joins", "idle", "ended"];

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut words = std::env::args().skip(1);
    let (mut parts, mut span) = (Vec::new(), Duration::from_secs(2));
    while let Some(word) = words.next() {
        match word.as_str() {
            // Passed by cargo.
            "--bench" => {}
            "--seconds" => {
                let seconds: f64 = words.next().unwrap_or_default().parse()?;
                span = Duration::try_from_secs_f64(seconds)?;
            }
            "--serve" => return runtime.block_on(idle::serve(words.next().unwrap_or_default().as_ref())),
            part if PARTS.contains(&part) => parts.push(word),
            other => anyhow::bail!("expected --seconds S or one of {PARTS:?}, got {other:?}"),
        }
    }
    let selects = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    runtime.block_on(async {
        if selects("round") {
            round::run(span).await?;
        }
        if selects("batched") {
            batched::run(span).await?;
        }
        if selects("matches") {
            matches::run(span).await?;
        }
        if selects("joins") {
            joins::run().await?;
        }
        if selects("idle") {
            idle::run().await?;
        }
        if selects("ended") {
            ended::run().await?;
        }
        Ok(())
    })
}
