//! `ludex verify`.

use std::io::{self, Write as _};

use serde_json::json;

use super::{print, records};

/// What `ludex verify` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    from: records::From,
    /// Print one JSON document: {verified, refused: [{file, line, episode, message}]}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let (good, refused) = records::verified(args.from.read()?, None);
    if args.json {
        print::json(&json!({ "verified": good.len(), "refused": refused }))?;
    } else {
        let mut out = io::stdout().lock();
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good.len(), "episode", "episodes"))?;
    }
    if refused.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{} refused", print::count(refused.len(), "record was", "records were"))
}
