//! Exports of a run: tables with their data card, games, and the bundle.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use ludex_play::runs::bundle;
use ludex_play::runs::report_files;
use ludex_referee::read::{RecordLines, RejectedRecord, SourcedRecord};
use ludex_report::runs::archive::Archive;
use ludex_report::tables::card::{Described, card};
use ludex_report::tables::record::{RecordLine, parts_line};
use ludex_report::tables::{ColumnDoc, TableRow, calls, columns, decisions, episodes, jsonl, parquet};

use super::{Args, Format, What, game, joined, not_to_a_terminal, print, put, records};
use crate::commands::report;

/// What is written, and what the data card says about it.
struct Export {
    bytes: Vec<u8>,
    format: &'static str,
    about: &'static str,
    count: String,
    columns: Vec<ColumnDoc>,
}

pub(super) fn run(run: &Archive, args: &Args) -> anyhow::Result<()> {
    records::warn(&run.refused);
    if let Some(file) = &args.bundle {
        return bundled(run, file);
    }
    not_to_a_terminal(args.format, args.out.as_deref())?;
    let which = records::Which::parse(args.game.as_deref())?;
    let chosen: Vec<&SourcedRecord> =
        run.found.iter().filter(|found| which.as_ref().is_none_or(|which| which.is_of(&found.parts))).collect();
    let export = export(run, &chosen, args)?;
    bundle::holds_no_secret(&run.about, &[("the export", &export.bytes)])?;
    put(args.out.as_deref(), &export.bytes)?;
    let Some(path) = &args.out else { return Ok(()) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Export { bytes, format, about, count, columns } = &export;
    let described = Described { file: &name, format, bytes, about, count: count.clone(), columns };
    let beside = path.with_file_name(format!("{name}.card.md"));
    put(Some(&beside), card(run, &command(args), &described).as_bytes())?;
    eprintln!("ludex: {count} in {}, described in {}", path.display(), beside.display());
    Ok(())
}

fn export(run: &Archive, chosen: &[&SourcedRecord], args: &Args) -> anyhow::Result<Export> {
    if let Some(notation) = args.format.notation() {
        anyhow::ensure!(args.what == What::Episodes, "PGN and SGF hold games: leave out --what");
        let lines = RecordLines { found: chosen.iter().map(|found| (*found).clone()).collect(), refused: Vec::new() };
        let texts = game::texts(lines, None, notation, &run.about.run)?;
        return Ok(Export {
            bytes: joined(&texts).into_bytes(),
            format: notation.name,
            about: "Games that were verified, in the usual notation.",
            count: print::count(texts.len(), "game", "games"),
            columns: Vec::new(),
        });
    }
    if args.what == What::Episodes && args.format == Format::Jsonl {
        let texts: Vec<String> = chosen.iter().map(|found| parts_line(&found.parts)).collect();
        return Ok(Export {
            bytes: joined(&texts).into_bytes(),
            format: "JSON Lines",
            about: "One line is the record of one match, as it was played.",
            count: print::count(texts.len(), "episode", "episodes"),
            columns: columns::<RecordLine>(),
        });
    }
    // Tables hold verified records only; the records themselves are written as they are.
    let lines = RecordLines { found: chosen.iter().map(|found| (*found).clone()).collect(), refused: Vec::new() };
    let (good, faulty) = records::verified(lines, None);
    let good: BTreeSet<usize> = good.iter().map(|verified| verified.source().line).collect();
    let good: Vec<&SourcedRecord> = chosen.iter().copied().filter(|found| good.contains(&found.source.line)).collect();
    let (export, refused) = match args.what {
        What::Episodes => table(run, args.format, episodes::episodes(run, &good))?,
        What::Decisions => table(run, args.format, decisions::decisions(run, &good))?,
        What::Calls => table(run, args.format, calls::calls(run, &good))?,
    };
    records::warn(&[faulty, refused].concat());
    Ok(export)
}

/// A table of a run in a format, and the records that were refused.
fn table<R: TableRow>(
    run: &Archive,
    format: Format,
    (rows, refused): (Vec<R>, Vec<RejectedRecord>),
) -> anyhow::Result<(Export, Vec<RejectedRecord>)> {
    let count = print::count(rows.len(), R::WHAT.trim_end_matches('s'), R::WHAT);
    let (bytes, format) = match format {
        Format::Parquet => {
            let mut bytes = Vec::new();
            let notes = [("ludex.run", run.about.run.as_str()), ("ludex.table", R::WHAT)];
            parquet::write(&rows, &notes, &mut bytes).context("the table cannot be written as parquet")?;
            (bytes, "Apache Parquet, compressed with Snappy")
        }
        _ => (jsonl(&rows)?.into_bytes(), "JSON Lines"),
    };
    Ok((Export { bytes, format, about: R::ABOUT, count, columns: columns::<R>() }, refused))
}

/// The command that repeats the export.
fn command(args: &Args) -> String {
    let mut words = vec!["ludex".to_owned(), "export".to_owned()];
    words.extend(args.from.arguments());
    words.extend(["--what".to_owned(), word(args.what), "--format".to_owned(), word(args.format)]);
    words.extend(args.game.iter().flat_map(|game| ["--game".to_owned(), game.clone()]));
    words.extend(args.out.iter().flat_map(|out| ["--out".to_owned(), out.display().to_string()]));
    report::line(&words)
}

/// A value as it is typed on the command line.
fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Writes the whole run with its report as one file.
fn bundled(run: &Archive, file: &Path) -> anyhow::Result<()> {
    if !run.is_done() {
        eprintln!("ludex: the run {} is not done by its log; the bundle has what it has so far", run.about.run);
    }
    let (pages, refused) = report_files::pages(run);
    records::warn(&refused);
    let bytes = bundle::write(&run.about, &run.files, pages)?;
    put(Some(file), &bytes)?;
    let many = print::count(run.found.len(), "episode", "episodes");
    eprintln!("ludex: {many} in {} (`ludex verify {}` checks it)", file.display(), file.display());
    Ok(())
}
