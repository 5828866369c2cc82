//! What a connection that does nothing costs the server in memory.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::link::Link;

const CONNECTIONS: usize = 1_000;
/// Connections before, so that what is made once is not counted.
const BEFORE: usize = 100;

pub async fn run() -> anyhow::Result<()> {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut server = Server(
        Command::new(env!("CARGO_BIN_EXE_ludex"))
            .args(["serve", "--listen", "127.0.0.1:0", "--workers", "1", "--data"])
            .arg(data.path())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().context("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit('/').next().unwrap_or_default().parse()?;
    let mut links = Vec::new();
    let mut resident = [0; 2];
    for (count, kilobytes) in [BEFORE, BEFORE + CONNECTIONS].into_iter().zip(&mut resident) {
        while links.len() < count {
            links.push(Link::open(address, None).await?);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        *kilobytes = server.resident()?;
    }
    let [before, after] = resident;
    println!(
        "idle: {CONNECTIONS} connections after {BEFORE}: {before} kB resident, then {after} kB: {:.1} kB each",
        (after as f64 - before as f64) / CONNECTIONS as f64
    );
    Ok(())
}

/// The server's process; it ends with this.
struct Server(Child);

impl Server {
    /// Kilobytes in memory.
    fn resident(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is gone already when this fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
