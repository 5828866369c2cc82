//! Benchmark of the server's memory per idle connection.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
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
    let server = Server::start(data.path())?;
    let mut links = Vec::new();
    let mut resident = [0; 2];
    for (count, kilobytes) in [BEFORE, BEFORE + CONNECTIONS].into_iter().zip(&mut resident) {
        while links.len() < count {
            links.push(Link::open(server.address, None).await?);
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
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts a server on the store in `data`.
    pub fn start(data: &Path) -> anyhow::Result<Self> {
        let mut child =
            Command::new(std::env::current_exe()?).arg("--serve").arg(data).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("expected a piped standard output")?).read_line(&mut line)?;
        Ok(Server { child, address: line.trim().parse()? })
    }

    /// Returns the resident memory of the process in kilobytes.
    pub fn resident(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("expected a VmRSS line")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the process has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a server with one worker on the store in `data`, and prints the server's address.
pub async fn serve(data: &Path) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let config = Config { workers: 1, ..Config::new(data) };
    ludex_server::run(listener, config, std::future::pending()).await
}
