//! Benchmark of the server's memory per idle connection.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use ludex_server::Config;
use tokio::net::TcpListener;

use crate::link::Link;

const CONNECTIONS: usize = 1_000;
/// Number of connections opened before the first measurement, so that one-time allocations are not counted.
const BEFORE: usize = 100;

pub async fn run() -> anyhow::Result<()> {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut server =
        Server(Command::new(std::env::current_exe()?).arg("--serve").arg(data.path()).stdout(Stdio::piped()).spawn()?);
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().context("expected a piped standard output")?).read_line(&mut line)?;
    let address = line.trim().parse()?;
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

/// Server process, killed on drop.
struct Server(Child);

impl Server {
    /// Returns the resident memory of the process in kilobytes.
    fn resident(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("expected a VmRSS line")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a server with one worker on the store in `data`, and prints the server's address.
pub async fn serve(data: &Path) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let config = Config { workers: 1, ..Config::new(data) };
    ludex_server::run(listener, config, std::future::pending()).await
}
