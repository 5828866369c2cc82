//! Exports of a run: tables with a data card, games in a notation, or a bundle.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use ludex_play::runs::bundle;
use ludex_play::runs::report_files;
use ludex_play::runs::run_metrics::RunTables;
use ludex_play::runs::tuning::{TuningData, TuningSettings, tune};
use ludex_referee::VerifiedRecord;
use ludex_referee::read::{RecordLines, RejectedRecord, SourcedRecord};
use ludex_report::runs::archive::Archive;
use ludex_report::tables::card::{DescribedFile, DescribedTable, card};
use ludex_report::tables::record::{RecordLine, parts_line};
use ludex_report::tables::{ColumnDoc, TableRow, calls, columns, csv, decisions, episodes, jsonl, parquet};

use super::{Args, ExportFormat, ExportTable, check_terminal, game, join_lines, print, records, write_bytes};
use crate::commands::rate::report;

/// Content of an export file, with the description for the data card.
struct Export {
    bytes: Vec<u8>,
    format: &'static str,
    about: &'static str,
    /// Number of rows in the table.
    rows: usize,
    count: String,
    columns: Vec<ColumnDoc>,
}

pub(super) fn run(run: &Archive, args: &Args) -> anyhow::Result<()> {
    records::warn(&run.refused);
    if let Some(file) = &args.bundle {
        return write_bundle(run, file);
    }
    check_terminal(args.format, args.out.as_deref())?;
    let is_tuning = args.table.tuning().is_some();
    anyhow::ensure!(
        is_tuning || !args.tuning.is_given(),
        "{}: expected --table sft, dpo or grpo",
        args.tuning.words()[0]
    );
    let is_jsonl = args.format == ExportFormat::Jsonl;
    anyhow::ensure!(!is_tuning || is_jsonl, "--format: expected jsonl with --table sft, dpo and grpo");
    let filter = records::RecordFilter::parse(args.game.as_deref())?;
    let chosen: Vec<&SourcedRecord> =
        run.found.iter().filter(|found| filter.as_ref().is_none_or(|game| game.fits_record(&found.parts))).collect();
    let export = export(run, &chosen, args)?;
    bundle::holds_no_secret(&run.about, &[("the export", &export.bytes)])?;
    write_bytes(args.out.as_deref(), &export.bytes)?;
    let Some(path) = &args.out else { return Ok(()) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Export { bytes, format, about, rows, count, columns } = &export;
    let files = vec![DescribedFile::of(name.clone(), bytes, *rows, count.clone())];
    let table = DescribedTable { name: &word(args.table), format, about, columns, files };
    let card_path = path.with_file_name(format!("{name}.card.md"));
    write_bytes(Some(&card_path), card(&name, &[&run.about], &command(args), &[table]).as_bytes())?;
    eprintln!("ludex: {count} in {}, described in {}", path.display(), card_path.display());
    Ok(())
}

fn export(run: &Archive, chosen: &[&SourcedRecord], args: &Args) -> anyhow::Result<Export> {
    if let Some(notation) = args.format.notation() {
        anyhow::ensure!(args.table == ExportTable::Episodes, "--format: expected jsonl, csv or parquet with --table");
        let lines = RecordLines { found: chosen.iter().map(|found| (*found).clone()).collect(), refused: Vec::new() };
        let texts = game::texts(lines, None, notation, &run.about.run)?;
        return Ok(Export {
            bytes: join_lines(&texts).into_bytes(),
            format: notation.name,
            about: "Games that were verified, in the usual notation.",
            rows: texts.len(),
            count: print::count(texts.len(), "game", "games"),
            columns: Vec::new(),
        });
    }
    if args.table == ExportTable::Episodes && args.format == ExportFormat::Jsonl {
        let texts: Vec<String> = chosen.iter().map(|found| parts_line(&found.parts)).collect();
        return Ok(Export {
            bytes: join_lines(&texts).into_bytes(),
            format: "JSON Lines",
            about: "One line is the record of one match, as it was played.",
            rows: texts.len(),
            count: print::count(texts.len(), "episode", "episodes"),
            columns: columns::<RecordLine>(),
        });
    }
    if let Some(export) = tidy(run, args)? {
        return Ok(export);
    }
    // Tables contain verified records only, unlike the records themselves.
    let lines = RecordLines { found: chosen.iter().map(|found| (*found).clone()).collect(), refused: Vec::new() };
    let (good, faulty) = records::verify_records(lines, None);
    if let Some(table) = args.table.tuning() {
        records::warn(&faulty);
        return tuning_data(run, &good, &args.tuning.settings(table)?);
    }
    let good: BTreeSet<usize> = good.iter().map(|verified| verified.source().line).collect();
    let good: Vec<&SourcedRecord> = chosen.iter().copied().filter(|found| good.contains(&found.source.line)).collect();
    let (export, refused) = match args.table {
        ExportTable::Episodes => table(run, args.format, episodes::episodes(run, &good))?,
        ExportTable::Decisions => table(run, args.format, decisions::decisions(run, &good))?,
        _ => table(run, args.format, calls::calls(run, &good))?,
    };
    records::warn(&[faulty, refused].concat());
    Ok(export)
}

/// Returns fine-tuning data of verified records. The numbers of skipped decisions are printed to standard error.
fn tuning_data(run: &Archive, good: &[VerifiedRecord], settings: &TuningSettings) -> anyhow::Result<Export> {
    let TuningData { text, rows, columns, about, skipped } = tune(run, good, settings)?;
    skipped.iter().for_each(|what| eprintln!("ludex: skipped: {what}"));
    let [train, validation] = rows;
    let many = print::count(train + validation, "row", "rows");
    Ok(Export {
        bytes: text.into_bytes(),
        format: "JSON Lines",
        about,
        rows: train + validation,
        count: format!("{many} ({train} for training, {validation} for validation)"),
        columns,
    })
}

/// Returns a table that follows the run's plan; `None` for the other tables.
fn tidy(run: &Archive, args: &Args) -> anyhow::Result<Option<Export>> {
    let planned =
        [ExportTable::Matches, ExportTable::Moves, ExportTable::Marks, ExportTable::Labels, ExportTable::Ratings];
    if !planned.contains(&args.table) {
        return Ok(None);
    }
    anyhow::ensure!(args.game.is_none(), "--game: expected --table episodes, decisions or calls");
    let tables = RunTables::of(run, args.table == ExportTable::Marks)?;
    records::warn(tables.refusals());
    let none = Vec::new;
    let (export, _) = match args.table {
        ExportTable::Moves => table(run, args.format, (tables.moves(), none()))?,
        ExportTable::Marks => table(run, args.format, (tables.marks(), none()))?,
        ExportTable::Labels => table(run, args.format, (tables.labels(), none()))?,
        ExportTable::Ratings => table(run, args.format, (tables.ratings(), none()))?,
        _ => table(run, args.format, (tables.matches(), none()))?,
    };
    Ok(Some(export))
}

/// Returns a table of the run in the given format, and the refused records.
fn table<R: TableRow>(
    run: &Archive,
    format: ExportFormat,
    (rows, refused): (Vec<R>, Vec<RejectedRecord>),
) -> anyhow::Result<(Export, Vec<RejectedRecord>)> {
    let count = format!("{} of {}", print::count(rows.len(), "row", "rows"), R::WHAT);
    let (bytes, format) = match format {
        ExportFormat::Parquet => {
            let mut bytes = Vec::new();
            let notes = [("ludex.run", run.about.run.as_str()), ("ludex.table", R::WHAT)];
            parquet::write(&rows, &notes, &mut bytes).context("cannot write the table as Parquet")?;
            (bytes, "Apache Parquet, compressed with Snappy")
        }
        ExportFormat::Csv => (csv(&rows)?, "CSV"),
        _ => (jsonl(&rows)?.into_bytes(), "JSON Lines"),
    };
    Ok((Export { bytes, format, about: R::ABOUT, rows: rows.len(), count, columns: columns::<R>() }, refused))
}

/// Returns the command line that repeats the export.
fn command(args: &Args) -> String {
    let mut words = vec!["ludex".to_owned(), "export".to_owned()];
    words.extend(args.from.arguments());
    words.extend(["--table".to_owned(), word(args.table), "--format".to_owned(), word(args.format)]);
    words.extend(args.game.iter().flat_map(|game| ["--game".to_owned(), game.clone()]));
    words.extend(args.tuning.words());
    words.extend(args.out.iter().flat_map(|out| ["--out".to_owned(), out.display().to_string()]));
    report::shell_line(&words)
}

/// Returns the command-line word of a value.
pub(super) fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Writes the whole run with its report as one file.
fn write_bundle(run: &Archive, file: &Path) -> anyhow::Result<()> {
    if !run.is_done() {
        eprintln!("ludex: the run {} is unfinished; the bundle has its matches so far", run.about.run);
    }
    let (pages, refused) = report_files::pages(run);
    records::warn(&refused);
    let bytes = bundle::write(&run.about, &run.files, pages)?;
    write_bytes(Some(file), &bytes)?;
    let many = print::count(run.found.len(), "episode", "episodes");
    eprintln!("ludex: {many} in {} (`ludex verify {}` checks it)", file.display(), file.display());
    Ok(())
}
