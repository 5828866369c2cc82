//! Benchmark of the server's memory per ended match that a client has not acknowledged.

use std::time::Duration;

use ludex_env::Stream;

use crate::idle::Server;
use crate::link::Link;
use crate::matches::play_matches;

const CONNECTIONS: usize = 64;
/// Number of ended matches per session before the first measurement, and before the second one. The server keeps 128.
const MATCHES: [u32; 2] = [8, 120];

pub async fn run() -> anyhow::Result<()> {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let server = Server::start(data.path())?;
    let mut links = Vec::new();
    for k in 0..CONNECTIONS {
        links.push(Link::open(server.address, Some(format!("bot{k}"))).await?);
    }
    let (mut rng, mut played, mut resident) = (Stream::from_text("ended"), 0, [0; 2]);
    for (matches, kilobytes) in MATCHES.into_iter().zip(&mut resident) {
        for link in &mut links {
            play_matches(link, matches - played, &mut rng).await?;
        }
        played = matches;
        // Waits until their rows have reached the disk.
        tokio::time::sleep(Duration::from_secs(2)).await;
        *kilobytes = server.resident()?;
    }
    let count = CONNECTIONS as f64 * f64::from(MATCHES[1] - MATCHES[0]);
    let [before, after] = resident;
    println!(
        "ended: {count:.0} matches: {before} kB resident, then {after} kB: {:.2} kB each",
        (after as f64 - before as f64) / count
    );
    Ok(())
}
