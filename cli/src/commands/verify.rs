//! `ludex verify`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_arena::season_bundle;
use ludex_play::runs::audit::{Audit, audit};
use ludex_referee::read::RejectedRecord;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle;
use ludex_report::runs::signature;
use serde_json::json;

use super::{print, records};

#[derive(clap::Args)]
#[command(override_usage = "ludex verify [FILES]... [OPTIONS]\n       ludex verify RUN|BUNDLE [OPTIONS]")]
#[command(mut_arg("files", |arg| arg.help("Verify files of records, one JSON object per line (- is standard input), or one run (a name below \
    DATA/runs, or a folder), or one bundle [default: the store]")))]
pub(super) struct Args {
    #[command(flatten)]
    from: records::RecordSource,
    /// Check the signature in BUNDLE.minisig with this public key, in the format of `minisign`
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Print one JSON document: {verified, refused: [{file, line, episode, message}]}, for a run also {complete, notes,
    /// calls, truncated_lines, unfinished}
    #[arg(long)]
    json: bool,
}

/// Run or bundle that was opened for verification, with the faults of its checksums.
struct OpenRun {
    run: Archive,
    files: bundle::Files,
    sums: Vec<RejectedRecord>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let signed = args.public_key.as_deref().map(|key| check_signature(&args.from, key)).transpose()?;
    if let Some(file) = args.from.only_file().filter(|file| bundle::is_bundle(file)) {
        let files = bundle::read(file)?;
        if files.contains_key(bundle::SEASON) {
            return verify_season(file, &files, signed, args.json);
        }
    }
    let Some(read) = open_run(&args.from)? else {
        return verify_files(&args);
    };
    let bar = print::progress(read.run.found.len() as u64, "verifying");
    let Audit { good, mut refused, mut completeness, notes } = audit(&read.run, &read.files, || bar.inc(1));
    bar.finish_and_clear();
    refused.splice(0..0, read.sums.iter().cloned());
    completeness.complete &= refused.is_empty();
    let run = &read.run;
    let (calls, unfinished) = (run.calls.values().map(Vec::len).sum(), run.unfinished());
    if args.json {
        print::json(&json!({
            "verified": good, "refused": refused, "complete": completeness, "notes": notes, "calls": calls, "signed": signed,
            "truncated_lines": run.truncated_lines.iter().map(ToString::to_string).collect::<Vec<_>>(), "unfinished": unfinished,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        let (records, calls) =
            (print::count(run.found.len(), "record", "records"), print::count(calls, "call", "calls"));
        writeln!(out, "{}: {records}, {calls}", run.about.run)?;
        signed.iter().try_for_each(|who| writeln!(out, "signed: {who}"))?;
        if read.files.contains_key(bundle::SUMS) && read.sums.is_empty() {
            writeln!(out, "all checksums of {} match", bundle::SUMS)?;
        }
        let truncated = run.truncated_lines.iter();
        truncated
            .map(|at| format!("{at}: truncated by a killed process; skipped"))
            .chain(notes)
            .try_for_each(|line| writeln!(out, "{line}"))?;
        if !unfinished.is_empty() {
            let many = print::count(unfinished.len(), "match has", "matches have");
            writeln!(out, "{many} calls but no record yet")?;
        }
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good, "episode", "episodes"))?;
        if completeness.complete {
            writeln!(out, "complete: all {} of the plan", print::count(completeness.planned, "match", "matches"))?;
        } else {
            completeness.why.iter().try_for_each(|why| writeln!(out, "NOT COMPLETE: {why}"))?;
        }
    }
    let faults = print::count(refused.len(), "fault", "faults");
    anyhow::ensure!(refused.is_empty(), "the run has {faults}");
    Ok(())
}

/// Verifies the bundle of a season.
fn verify_season(file: &Path, files: &bundle::Files, signed: Option<String>, json: bool) -> anyhow::Result<()> {
    let audit = season_bundle::verify(file, files)?;
    if json {
        let mut value = json!(audit);
        value["signed"] = json!(signed);
        print::json(&value)?;
    } else {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", audit.title)?;
        signed.iter().try_for_each(|who| writeln!(out, "signed: {who}"))?;
        audit.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
        audit.refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(audit.verified, "episode", "episodes"))?;
    }
    let faults = print::count(audit.refused.len(), "fault", "faults");
    anyhow::ensure!(audit.refused.is_empty(), "the season has {faults}");
    Ok(())
}

/// Verifies records in files that do not belong to a run.
fn verify_files(args: &Args) -> anyhow::Result<()> {
    let mut good = 0;
    let refused = args.from.verify(None, Default::default(), |_| good += 1)?;
    if args.json {
        print::json(&json!({ "verified": good, "refused": refused }))?;
    } else {
        let mut out = io::stdout().lock();
        refused.iter().try_for_each(|r| writeln!(out, "{r}"))?;
        writeln!(out, "{} verified", print::count(good, "episode", "episodes"))?;
    }
    anyhow::ensure!(refused.is_empty(), "{} refused", print::count(refused.len(), "record", "records"));
    Ok(())
}

/// Checks the signature of a bundle and returns a description of the signer.
fn check_signature(from: &records::RecordSource, key: &Path) -> anyhow::Result<String> {
    let file = from.only_file().filter(|file| bundle::is_bundle(file));
    let file = file.context("--public-key: expected one bundle to verify")?;
    signature::check(file, key)
}

/// Opens the run or the bundle that the arguments name; `None` for files of records.
fn open_run(from: &records::RecordSource) -> anyhow::Result<Option<OpenRun>> {
    if let Some(file) = from.only_file().filter(|file| bundle::is_bundle(file)) {
        let files = bundle::read(file)?;
        let (sums, summed) = (bundle::check(file, &files), files.contains_key(bundle::SUMS));
        anyhow::ensure!(summed, "{} is not a complete bundle: {} is missing", file.display(), bundle::SUMS);
        return Ok(Some(OpenRun { run: Archive::of_files(file, files.clone())?, files, sums }));
    }
    let Some(run) = from.run()? else { return Ok(None) };
    // A folder that was unpacked from a bundle has checksums too.
    let files = bundle::unpacked(&run.place)?;
    Ok(Some(OpenRun { sums: bundle::check(&run.place, &files), files, run }))
}
