//! `ludex admin invite`.

use std::io::{self, Write as _};

use serde_json::json;

use crate::commands::store_args::StoreArgs;
use crate::commands::{block_on, print};
use ludex_play::time::epoch_ms;
use ludex_server::auth;
use ludex_server::auth::people::{Invitation, Study, invite};
use ludex_store::Store;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of the people, which their agents have in the results; 1 to 40 of A-Z a-z 0-9 _ -
    #[arg(required = true, value_name = "PERSON")]
    people: Vec<String>,
    /// Invite to this suite, which the server offers
    #[arg(long, value_name = "NAME")]
    suite: String,
    /// Name the runs STUDY-PERSON
    #[arg(long, value_name = "STUDY", default_value = "people")]
    study: String,
    /// Play this fraction of the suite, above 0 and at most 1
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Play only this part of the suite; may be repeated [default: all parts]
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Expire at this time, e.g. 2027-01-31T00:00:00Z, or after this many days, e.g. 90d [default: never]
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Address of the server's pages
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7878")]
    url: String,
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let has_scheme = args.url.starts_with("http://") || args.url.starts_with("https://");
    anyhow::ensure!(has_scheme, "--url: expected an address such as https://play.example, got {}", args.url);
    let expiry = args.expires.as_deref().map(|text| auth::parse_expiry(text, epoch_ms())).transpose();
    let study = Study {
        name: args.study.clone(),
        suite: args.suite.clone(),
        only: args.only.clone(),
        scale: args.scale,
        expires_ms: expiry.map_err(|message| anyhow::anyhow!("--expires: {message}"))?,
    };
    let invitations = block_on(async {
        let store = Store::open_or_create(args.store.location()).await?;
        let invitations = invite(&store, &study, &args.people, epoch_ms()).await;
        store.close().await?;
        Ok(invitations?)
    })?;
    if args.json {
        let one = |invitation: &Invitation| json!({ "person": invitation.person, "run": invitation.run, "link": invitation.link(&args.url) });
        return Ok(print::json(&json!({ "invitations": invitations.iter().map(one).collect::<Vec<_>>() }))?);
    }
    let mut out = io::stdout().lock();
    for invitation in &invitations {
        writeln!(out, "{}  {}", invitation.person, invitation.link(&args.url))?;
    }
    let runs: Vec<&str> = invitations.iter().map(|invitation| invitation.run.as_str()).collect();
    eprintln!("ludex: links are printed only once; send each to its person alone: it continues the run on any device");
    eprintln!("ludex: `ludex rate {} --report DIR` reports all people", runs.join(" "));
    Ok(())
}
