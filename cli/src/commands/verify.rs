//! `ludex verify`.

mod run;

use std::io::{self, Write as _};

use serde_json::json;

use super::{print, records};

/// What `ludex verify` takes.
#[derive(clap::Args)]
#[command(override_usage = "ludex verify [FILES]... [OPTIONS]\n       ludex verify RUN|BUNDLE [OPTIONS]")]
#[command(mut_arg("files", |arg| arg.help("Files of records, one JSON object per line (- for standard input), or one run (its name below \
    DATA/runs, or its folder), or one bundle [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::From,
    /// Print one JSON document: {verified, refused: [{file, line, episode, message}]}; for a run also {calls, cut, unfinished}
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let (document, good, refused) = match run::read(&args.from)? {
        Some(found) => {
            let verdict = run::verify(&found);
            let calls: usize = found.run.calls.values().map(Vec::len).sum();
            let unfinished = found.run.unfinished();
            let document = json!({
                "verified": verdict.good, "refused": verdict.refused, "calls": calls,
                "cut": found.run.cut.iter().map(ToString::to_string).collect::<Vec<_>>(), "unfinished": unfinished,
            });
            if !args.json {
                run::notes(&found)?;
            }
            (document, verdict.good, verdict.refused)
        }
        None => {
            let mut good = 0;
            let refused = args.from.verify(None, |_| good += 1)?;
            (json!({ "verified": good, "refused": refused }), good, refused)
        }
    };
    if args.json {
        print::json(&document)?;
    } else {
        let mut out = io::stdout().lock();
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good, "episode", "episodes"))?;
    }
    if refused.is_empty() {
        return Ok(());
    }
    let of_run = document.get("calls").is_some();
    match refused.len() {
        n if of_run => anyhow::bail!("{} wrong with the run", print::count(n, "thing is", "things are")),
        n => anyhow::bail!("{} refused", print::count(n, "record was", "records were")),
    }
}
