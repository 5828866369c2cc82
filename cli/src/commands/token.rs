//! `ludex token`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{print, records};
use ludex_play::time::epoch_ms;
use ludex_server::auth::{self, NewToken, Scopes};
use ludex_server::store::{Store, StoreError, TokenRow};

/// What `ludex token` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
    /// Folder of the store; a server may be running on it
    #[arg(long, default_value = "./ludex-data", global = true)]
    data: PathBuf,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Make a token, or one for each line of a CSV file; it is shown only once
    Add(Add),
    /// List all tokens with owners, scopes and expiry
    List,
    /// Revoke one token, named by itself or by the first digits of its id, or all tokens of an owner
    Revoke {
        /// Id, token or owner
        which: String,
    },
}

#[derive(clap::Args)]
struct Add {
    /// Who will use it
    #[arg(long, required_unless_present = "csv")]
    owner: Option<String>,
    /// What it allows: gym, play, spectate, admin [default: gym,play,spectate]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// An agent name that it may use; a * at the end allows all names that begin so; may be repeated [default: OWNER and
    /// OWNER.*]
    #[arg(long = "name", value_name = "PATTERN")]
    names: Vec<String>,
    /// When it expires: a time such as 2027-01-31T00:00:00Z, or a number of days from now such as 90d
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Make one for each line of this file: columns owner, scopes, names, expires (- for standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["owner", "scope", "names", "expires"])]
    csv: Option<PathBuf>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    match &args.action {
        Action::Add(add) => {
            let wanted = match &add.csv {
                Some(file) => of_file(file)?,
                None => vec![of_line(add)?],
            };
            make_store(&args.data)?;
            let made = records::in_store(&args.data, async |store| Ok(auth::add(&store, &wanted, epoch_ms()).await?))?;
            shown(&args, add, &wanted, &made)
        }
        Action::List => {
            let rows = records::in_store(&args.data, async |store| Ok(store.tokens().await?))?;
            list(&args, &rows)
        }
        Action::Revoke { which } => {
            let gone = records::in_store(&args.data, async |store| {
                let gone = auth::revoke(&store, which, epoch_ms()).await;
                gone.context("nothing was revoked; `ludex token list` shows all tokens")
            })?;
            if args.json {
                return Ok(print::json(&json!({ "revoked": gone.iter().map(described).collect::<Vec<_>>() }))?);
            }
            let mut out = io::stdout().lock();
            if gone.is_empty() {
                writeln!(out, "already revoked")?;
            }
            Ok(gone.iter().try_for_each(|row| writeln!(out, "revoked {} of {}", row.hash.id(), row.owner))?)
        }
    }
}

fn of_file(file: &Path) -> anyhow::Result<Vec<NewToken>> {
    let (name, text) = match file == Path::new("-") {
        true => ("standard input".to_owned(), io::read_to_string(io::stdin())),
        false => (file.display().to_string(), fs::read_to_string(file)),
    };
    let text = text.with_context(|| format!("{name} cannot be read"))?;
    let wanted = auth::parse_csv(&text).with_context(|| name.clone())?;
    anyhow::ensure!(!wanted.is_empty(), "{name} has no tokens: below the header line, write one line for each token");
    Ok(wanted)
}

fn of_line(add: &Add) -> anyhow::Result<NewToken> {
    let owner = add.owner.clone().unwrap_or_default();
    let scopes = match &add.scope {
        None => Scopes::OPEN,
        Some(text) => text.parse::<Scopes>().context("--scope")?,
    };
    anyhow::ensure!(!owner.is_empty() && scopes != Scopes::NONE, "a token needs an owner and a scope");
    let names = match &add.names[..] {
        [] if !ludex_protocol::is_agent_name(&owner) => {
            anyhow::bail!(
                "{owner:?} is not a valid agent name; give the names that {owner} may use, e.g. --name 'bot.*'"
            )
        }
        [] => auth::default_names(&owner),
        names => names.to_vec(),
    };
    let expires_ms = add.expires.as_deref().map(|text| expiry(text, epoch_ms())).transpose()?;
    Ok(NewToken { owner, scopes, names, expires_ms })
}

/// A time, or a number of days after `now_ms`.
fn expiry(text: &str, now_ms: i64) -> anyhow::Result<i64> {
    const DAY: i64 = 86_400_000;
    let days = text.strip_suffix('d').and_then(|n| n.parse::<u16>().ok());
    let end = match days {
        Some(days) => now_ms + i64::from(days) * DAY,
        None => text
            .parse::<Timestamp>()
            .with_context(|| format!("--expires {text:?} is not a time; write 2027-01-31T00:00:00Z or 90d"))?
            .as_millisecond(),
    };
    anyhow::ensure!(end > now_ms, "--expires {text} is in the past");
    Ok(end)
}

/// Creates the store if it is missing: tokens may be made before the server first starts.
fn make_store(folder: &Path) -> anyhow::Result<()> {
    let made = records::in_store(folder, async |_| Ok(()));
    match made.as_ref().err().and_then(|e| e.downcast_ref::<StoreError>()) {
        Some(StoreError::Missing { .. }) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { Store::open(folder).await?.close().await })?;
            Ok(())
        }
        _ => made,
    }
}

fn shown(args: &Args, add: &Add, wanted: &[NewToken], made: &[String]) -> anyhow::Result<()> {
    let both = || wanted.iter().zip(made);
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
        made.iter().try_for_each(|token| writeln!(out, "{token}"))?;
    }
    for new in wanted {
        let until = new.expires_ms.map(|ms| format!(" until {}", time(ms))).unwrap_or_default();
        eprintln!("ludex: {} may {} as {}{until}", new.owner, new.scopes, new.names.join(", "));
    }
    eprintln!("ludex: tokens are shown only once; clients send them as Authorization: Bearer, or in hello");
    Ok(())
}

fn list(args: &Args, rows: &[TokenRow]) -> anyhow::Result<()> {
    if args.json {
        return Ok(print::json(&json!({ "tokens": rows.iter().map(described).collect::<Vec<_>>() }))?);
    }
    let mut out = io::stdout().lock();
    if rows.is_empty() {
        return Ok(writeln!(out, "no tokens yet; `ludex token add --owner NAME` makes one")?);
    }
    let mut table = vec![["id", "owner", "scopes", "names", "made", "state"].map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        let names = row.names.join(" ");
        vec![row.hash.id(), row.owner.clone(), row.scopes.to_string(), names, time(row.created_ms), state(row)]
    }));
    Ok(print::table(&mut out, &table, |_| false)?)
}

fn described(row: &TokenRow) -> Value {
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

/// UTC, to the second.
fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_at_a_time_or_after_days() {
        assert_eq!(expiry("2d", 1_000).unwrap(), 172_801_000);
        assert_eq!(expiry("1970-01-02T00:00:00Z", 0).unwrap(), 86_400_000);
        for bad in ["0d", "1969-01-01T00:00:00Z", "soon", "-1d", ""] {
            assert!(expiry(bad, 0).is_err(), "{bad:?}");
        }
    }
}
