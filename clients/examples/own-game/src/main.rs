//! Server for the built-in games and the games of this crate, and verifier of their records.
//!
//! ```text
//! own-game serve --listen 127.0.0.1:7878 --data ./data [--json]
//! own-game verify episodes.jsonl
//! ```

#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_server::Config;
use own_game::registries;
use tokio::net::TcpListener;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve") => {
            let listen = value(&args, "--listen").unwrap_or("127.0.0.1:7878");
            let data = value(&args, "--data").unwrap_or("own-game-data");
            serve(listen, data.into(), args.iter().any(|a| a == "--json"))
        }
        Some("verify") => verify(args.get(1).context("expected a file of records after verify")?.into()),
        _ => bail!("usage: own-game serve [--listen ADDRESS] [--data FOLDER] [--json], or own-game verify FILE"),
    }
}

/// Returns the argument that follows `option`.
fn value<'a>(args: &'a [String], option: &str) -> Option<&'a str> {
    let at = args.iter().position(|a| a == option)?;
    args.get(at + 1).map(String::as_str)
}

fn serve(listen: &str, data: PathBuf, json: bool) -> anyhow::Result<()> {
    let (games, roster) = registries();
    let mut config = Config { games, ..Config::new(data) };
    config.opponents.agents = roster;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
        let url = format!("ws://{}", listener.local_addr()?);
        // `ludex.serve()` of the Python client reads this line.
        let line = if json { format!("{{\"url\":\"{url}\"}}") } else { format!("own-game serves {url}") };
        writeln!(std::io::stdout(), "{line}")?;
        let stop = async { drop(tokio::signal::ctrl_c().await) };
        ludex_server::run(listener, config, stop).await
    })
}

fn verify(file: PathBuf) -> anyhow::Result<()> {
    let (games, _) = registries();
    let verifier = Verifier::new(games);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    for (at, line) in text.lines().enumerate() {
        let verified = verifier.verify_line(line, Source::default());
        let record = verified.with_context(|| format!("record {} failed verification", at + 1))?;
        println!("verified: {} moves of {}, digest {}", record.moves(), record.spec().string, record.digest());
    }
    Ok(())
}
