//! What the wire costs. Prints figures and writes nothing.
//!
//! `cargo bench -p ludex-cli --bench wire [-- [round] [batched] [matches] [joins] [idle] [--seconds S]]`; all parts
//! without a name. The server runs in this process, on threads of its own (one worker), but for `idle`, where it is a
//! process of its own so that its memory can be told from the clients'. The clients share one thread.

mod batched;
mod host;
mod idle;
mod joins;
mod link;
mod matches;
mod round;

use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTS: [&str; 5] = ["round", "batched", "matches", "joins", "idle"];

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut parts, mut span) = (Vec::new(), Duration::from_secs(2));
    while let Some(word) = words.next() {
        match word.as_str() {
            // Cargo says so.
            "--bench" => {}
            "--seconds" => {
                let seconds: f64 = words.next().unwrap_or_default().parse()?;
                span = Duration::try_from_secs_f64(seconds)?;
            }
            part if PARTS.contains(&part) => parts.push(word),
            other => anyhow::bail!("{other:?} is none of {PARTS:?} and not --seconds S"),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|p| p == part);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if wanted("round") {
            round::run(span).await?;
        }
        if wanted("batched") {
            batched::run(span).await?;
        }
        if wanted("matches") {
            matches::run(span).await?;
        }
        if wanted("joins") {
            joins::run().await?;
        }
        if wanted("idle") {
            idle::run().await?;
        }
        Ok(())
    })
}
