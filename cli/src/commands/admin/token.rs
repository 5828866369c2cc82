//! `ludex admin token`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::commands::store_args::StoreArgs;
use crate::commands::{block_on, print, records};
use ludex_play::time::epoch_ms;
use ludex_server::auth::{self, NewToken, Scopes};
use ludex_store::{Store, TokenRow};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: TokenCommand,
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum TokenCommand {
    /// Create a token, or a token per line of a CSV file; tokens are printed only once
    Add(Add),
    /// List all tokens with owner, scopes and expiry
    List,
    /// Revoke a token, or all tokens of an owner
    Revoke {
        /// Token, first digits of a token's id, or owner
        which: String,
    },
}

#[derive(clap::Args)]
struct Add {
    /// Set the owner of the token
    #[arg(long, required_unless_present = "csv")]
    owner: Option<String>,
    /// Grant these scopes: gym, play, spectate, metrics, admin; or create an invitation: invite; may be repeated
    /// [default: gym,play,spectate]
    #[arg(long = "scope", value_name = "SCOPES")]
    scopes: Vec<String>,
    /// Allow this agent name, or all names with a prefix, e.g. bot.*; may be repeated [default: OWNER and OWNER.*]
    #[arg(long = "name", value_name = "PATTERN")]
    names: Vec<String>,
    /// Expire at this time, e.g. 2027-01-31T00:00:00Z, or after this many days, e.g. 90d [default: never]
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Create a token per line of this CSV file with columns owner, scopes, names, expires (as --expires); - is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["owner", "scopes", "names", "expires"])]
    csv: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    match &args.command {
        TokenCommand::Add(add) => {
            let wanted = match &add.csv {
                Some(file) => read_csv(file)?,
                None => vec![from_args(add)?],
            };
            let tokens = block_on(async {
                let store = Store::open_or_create(args.store.location()).await?;
                let tokens = auth::add(&store, &wanted, epoch_ms()).await;
                store.close().await?;
                Ok(tokens?)
            })?;
            print_tokens(&args, add, &wanted, &tokens)
        }
        TokenCommand::List => {
            let (rows, suspended) = records::with_store(&args.store, async |store| {
                Ok((store.tokens().await?, store.suspended_owners().await?))
            })?;
            list(&args, &rows, &suspended)
        }
        TokenCommand::Revoke { which } => {
            let gone = records::with_store(&args.store, async |store| {
                let gone = auth::revoke(&store, which, epoch_ms()).await;
                gone.context("expected a known token, id or owner; `ludex admin token list` prints all tokens")
            })?;
            if args.json {
                return Ok(print::json(&json!({ "revoked": gone.iter().map(token_json).collect::<Vec<_>>() }))?);
            }
            let mut out = io::stdout().lock();
            if gone.is_empty() {
                writeln!(out, "already revoked")?;
            }
            Ok(gone.iter().try_for_each(|row| writeln!(out, "revoked {} of {}", row.hash.id(), row.owner))?)
        }
    }
}

fn read_csv(file: &Path) -> anyhow::Result<Vec<NewToken>> {
    let (name, text) = match file == Path::new("-") {
        true => ("standard input".to_owned(), io::read_to_string(io::stdin())),
        false => (file.display().to_string(), fs::read_to_string(file)),
    };
    let text = text.with_context(|| format!("{name} cannot be read"))?;
    let wanted = auth::parse_csv(&text, epoch_ms()).with_context(|| name.clone())?;
    anyhow::ensure!(!wanted.is_empty(), "{name}: expected one line per token below the header");
    Ok(wanted)
}

fn from_args(add: &Add) -> anyhow::Result<NewToken> {
    let owner = add.owner.clone().unwrap_or_default();
    let scopes = match &add.scopes[..] {
        [] => Scopes::OPEN,
        scopes => scopes.join(",").parse::<Scopes>().context("--scope")?,
    };
    anyhow::ensure!(!owner.is_empty() && scopes != Scopes::NONE, "expected an owner and at least one scope");
    let names = match &add.names[..] {
        [] if !ludex_protocol::is_agent_name(&owner) => {
            anyhow::bail!("expected --name, since {owner:?} is not a valid agent name; e.g. --name 'bot.*'")
        }
        [] => auth::default_names(&owner),
        names => names.to_vec(),
    };
    let expiry = add.expires.as_deref().map(|text| auth::parse_expiry(text, epoch_ms())).transpose();
    let expires_ms = expiry.map_err(|message| anyhow::anyhow!("--expires: {message}"))?;
    Ok(NewToken { owner, scopes, names, expires_ms })
}

fn print_tokens(args: &Args, add: &Add, wanted: &[NewToken], tokens: &[String]) -> anyhow::Result<()> {
    let both = || wanted.iter().zip(tokens);
    if args.json {
        let one = |(new, token): (&NewToken, &String)| {
            json!({
                "owner": new.owner, "token": token, "scopes": new.scopes.names(), "names": new.names,
                "expires": new.expires_ms.map(time),
            })
        };
        return Ok(print::json(&json!({ "tokens": both().map(one).collect::<Vec<_>>() }))?);
    }
    if add.csv.is_some() {
        let mut out = csv::Writer::from_writer(io::stdout().lock());
        out.write_record(["owner", "token"])?;
        for (new, token) in both() {
            out.write_record([&new.owner, token])?;
        }
        out.flush()?;
    } else {
        let mut out = io::stdout().lock();
        tokens.iter().try_for_each(|token| writeln!(out, "{token}"))?;
    }
    for new in wanted {
        let until = new.expires_ms.map(|ms| format!(" until {}", time(ms))).unwrap_or_default();
        eprintln!("ludex: token of {}: scopes {}, agent names {}{until}", new.owner, new.scopes, new.names.join(", "));
    }
    if wanted.iter().any(|new| new.scopes == Scopes::INVITE) {
        eprintln!("ludex: an invitation permits one registration on the page /register (serve --register invite)");
    }
    eprintln!("ludex: tokens are printed only once; clients send them as Authorization: Bearer, or in hello");
    Ok(())
}

fn list(args: &Args, rows: &[TokenRow], suspended: &HashSet<String>) -> anyhow::Result<()> {
    if args.json {
        let one = |row: &TokenRow| {
            let mut token = token_json(row);
            token["suspended"] = suspended.contains(&row.owner).into();
            token
        };
        return Ok(print::json(&json!({ "tokens": rows.iter().map(one).collect::<Vec<_>>() }))?);
    }
    let mut out = io::stdout().lock();
    if rows.is_empty() {
        return Ok(writeln!(out, "no tokens yet; `ludex admin token add --owner NAME` creates one")?);
    }
    let mut table = vec![["id", "owner", "scopes", "names", "created", "state"].map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        let names = row.names.join(" ");
        let state = if suspended.contains(&row.owner) { "owner suspended".to_owned() } else { state(row) };
        vec![row.hash.id(), row.owner.clone(), row.scopes.to_string(), names, time(row.created_ms), state]
    }));
    Ok(print::table(&mut out, &table, |_| false)?)
}

fn token_json(row: &TokenRow) -> Value {
    json!({
        "id": row.hash.id(), "owner": row.owner, "scopes": row.scopes.names(), "names": row.names,
        "created": time(row.created_ms), "expires": row.expires_ms.map(time), "revoked": row.revoked_ms.map(time),
    })
}

fn state(row: &TokenRow) -> String {
    match (row.revoked_ms, row.expires_ms) {
        (Some(at), _) => format!("revoked {}", time(at)),
        (None, Some(end)) if end <= epoch_ms() => format!("expired {}", time(end)),
        (None, Some(end)) => format!("until {}", time(end)),
        (None, None) => "good".to_owned(),
    }
}

/// Formats a time in UTC with seconds.
fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
