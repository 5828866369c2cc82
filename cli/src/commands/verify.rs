//! `ludex verify`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use ludex_play::runs::audit::{Audit, audit};
use ludex_referee::read::RejectedRecord;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle;
use ludex_report::runs::signature;
use serde_json::json;

use super::{print, records};

/// What `ludex verify` takes.
#[derive(clap::Args)]
#[command(override_usage = "ludex verify [FILES]... [OPTIONS]\n       ludex verify RUN|BUNDLE [OPTIONS]")]
#[command(mut_arg("files", |arg| arg.help("Files of records, one JSON object per line (- for standard input), or one run (its name below \
    DATA/runs, or its folder), or one bundle [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    /// The public key of the bundle's maker, as `minisign` writes it: BUNDLE.minisig must be their signature of the bundle
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print one JSON document: {verified, refused: [{file, line, episode, message}]}; for a run also {whole, notes, calls, cut,
    /// unfinished}
    #[arg(long)]
    json: bool,
}

/// A run, and what is wrong with its sums.
struct Read {
    run: Archive,
    files: bundle::Files,
    sums: Vec<RejectedRecord>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let signed = args.key.as_deref().map(|key| signer(&args.from, key)).transpose()?;
    let Some(read) = read(&args.from)? else {
        return of_records(&args);
    };
    let bar = print::progress(read.run.found.len() as u64, "verifying");
    let Audit { good, mut refused, mut whole, notes } = audit(&read.run, &read.files, || bar.inc(1));
    bar.finish_and_clear();
    refused.splice(0..0, read.sums.iter().cloned());
    whole.complete &= refused.is_empty();
    let run = &read.run;
    let (calls, unfinished) = (run.calls.values().map(Vec::len).sum(), run.unfinished());
    if args.json {
        print::json(&json!({
            "verified": good, "refused": refused, "whole": whole, "notes": notes, "calls": calls, "signed": signed,
            "cut": run.cut.iter().map(ToString::to_string).collect::<Vec<_>>(), "unfinished": unfinished,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        let (records, calls) =
            (print::count(run.found.len(), "record", "records"), print::count(calls, "call", "calls"));
        writeln!(out, "{}: {records}, {calls}", run.about.run)?;
        signed.iter().try_for_each(|who| writeln!(out, "signed: {who}"))?;
        if read.files.contains_key(bundle::SUMS) && read.sums.is_empty() {
            writeln!(out, "all sums of {} are right", bundle::SUMS)?;
        }
        let cut = run.cut.iter();
        cut.map(|at| format!("{at}: cut off, as a killed process leaves it: passed over"))
            .chain(notes)
            .try_for_each(|line| writeln!(out, "{line}"))?;
        if !unfinished.is_empty() {
            let many = print::count(unfinished.len(), "match has", "matches have");
            writeln!(out, "{many} calls and not yet a record")?;
        }
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good, "episode", "episodes"))?;
        if whole.complete {
            writeln!(out, "complete: all {} that the plan asks for", print::count(whole.planned, "match", "matches"))?;
        } else {
            whole.why.iter().try_for_each(|why| writeln!(out, "NOT COMPLETE: {why}"))?;
        }
    }
    match refused.len() {
        0 => Ok(()),
        n => anyhow::bail!("{} wrong with the run", print::count(n, "thing is", "things are")),
    }
}

/// Verifies records that belong to no run.
fn of_records(args: &Args) -> anyhow::Result<()> {
    let mut good = 0;
    let refused = args.from.verify(None, Default::default(), |_| good += 1)?;
    if args.json {
        print::json(&json!({ "verified": good, "refused": refused }))?;
    } else {
        let mut out = io::stdout().lock();
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good, "episode", "episodes"))?;
    }
    match refused.len() {
        0 => Ok(()),
        n => anyhow::bail!("{} refused", print::count(n, "record was", "records were")),
    }
}

/// Whose signature a bundle has.
fn signer(from: &records::RecordSource, key: &std::path::Path) -> anyhow::Result<String> {
    let file = from.only_file().filter(|file| bundle::is_bundle(file));
    let file = file.context("--key checks the signature of a bundle: name the file of one bundle")?;
    signature::check(file, key)
}

/// The run or bundle that is named; `None` if neither is.
fn read(from: &records::RecordSource) -> anyhow::Result<Option<Read>> {
    if let Some(file) = from.only_file().filter(|file| bundle::is_bundle(file)) {
        let files = bundle::read(file)?;
        let (sums, summed) = (bundle::check(file, &files), files.contains_key(bundle::SUMS));
        anyhow::ensure!(summed, "{} is not a complete bundle: {} is missing", file.display(), bundle::SUMS);
        return Ok(Some(Read { run: Archive::of_files(file, files.clone())?, files, sums }));
    }
    let Some(run) = from.run()? else { return Ok(None) };
    // A folder that was unpacked from a bundle has its sums too.
    let files = bundle::unpacked(&run.place)?;
    Ok(Some(Read { sums: bundle::check(&run.place, &files), files, run }))
}
