//! `ludex check llm-stub`.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::Context as _;
use ludex_conformance::llm_stub::{self, StubOptions};

use crate::commands::serve::{bind, stop_signal};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Listen at this address and port; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[command(flatten)]
    options: StubOptions,
    /// Print one JSON document when ready
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    args.options.agent_spec().context("--agent")?;
    crate::commands::block_on(async {
        let listener = bind(args.listen).await?;
        let stop = stop_signal()?;
        announce(listener.local_addr()?, args.json)?;
        llm_stub::serve(listener, args.options, stop).await
    })
}

/// Prints the stub's address as a `base_url`.
fn announce(address: SocketAddr, json: bool) -> anyhow::Result<()> {
    let url = format!("http://{address}/v1");
    let mut out = std::io::stdout().lock();
    if json {
        let pid = std::process::id();
        writeln!(out, "{}", serde_json::json!({ "url": url, "pid": pid, "server": ludex_play::PROGRAM }))?;
    } else {
        writeln!(out, "ludex llm-stub answers at {url}")?;
        writeln!(
            out,
            "--agent chooses the moves for agents whose spec has base_url={url} stub=true; others get random moves"
        )?;
    }
    Ok(out.flush()?)
}
