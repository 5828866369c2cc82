//! Shared arguments of commands that read records: source of the records (files or the store), game, fixed ratings.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_play::runs::report_files;
use ludex_protocol::record::RecordParts;
use ludex_protocol::spec::Params;
use ludex_referee::read::{
    RawLine, RecordLines, RejectedRecord, Source, SourcedRecord, raw_lines, read_file, read_lines,
};
use ludex_referee::{GameResult, VerifiedRecord, Verifier};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::run_files::RUN;
use ludex_report::scale::RatingOptions;
use ludex_store::{MatchFilter, Store};

use super::store_args::StoreArgs;
use super::{block_on, print};

/// Number of records per query of the store.
const PAGE_SIZE: u32 = 500;

#[derive(clap::Args)]
pub(super) struct RecordSource {
    /// Read files of records, one JSON object per line; - is standard input [default: the store]
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

impl RecordSource {
    /// Reads all records. Lines that are not records are listed in `refused`.
    pub(super) fn read(&self) -> anyhow::Result<RecordLines> {
        let mut records = RecordLines::default();
        if self.files.is_empty() {
            let parse = |row: RawLine| match RecordParts::parse(&row.text) {
                Ok(parts) => records.found.push(SourcedRecord { source: row.source, parts }),
                Err(e) => {
                    let message = e.to_string();
                    records.refused.push(RejectedRecord { source: row.source, episode: row.episode, message });
                }
            };
            self.read_store(|lines| lines.flatten().for_each(parse))?;
            return Ok(records);
        }
        for file in &self.files {
            records.append(read(file)?);
        }
        Ok(records)
    }

    /// Verifies the records of `game`, or of all games if `game` is `None`, while reading. Passes the results to
    /// `each`, with the marks that `marks` selects. Returns the refused records in reading order.
    pub(super) fn verify(
        &self,
        game: Option<&RecordFilter>,
        marks: BTreeSet<String>,
        mut each: impl FnMut(GameResult),
    ) -> anyhow::Result<Vec<RejectedRecord>> {
        let (verifier, bar) = (Verifier::new(ludex_games::builtin()).with_marks(marks), print::counter("verified"));
        let fits = |id: &str, params: &Params| game.is_none_or(|game| game.fits(id, params));
        let mut refused = Vec::new();
        let on_verdict = |verdict: Result<GameResult, RejectedRecord>| {
            bar.inc(1);
            match verdict {
                Ok(result) => each(result),
                Err(why) => refused.push(why),
            }
        };
        if self.files.is_empty() {
            self.read_store(|lines| verifier.verify_stream(lines, fits, on_verdict))?;
        } else {
            // A wrong file name fails before the first record is read.
            self.files.iter().filter(|file| *file != STANDARD_INPUT).try_for_each(|file| check(file))?;
            verifier.verify_stream(self.files.iter().flat_map(|file| raw_lines_of(file)), fits, on_verdict);
        }
        bar.finish_and_clear();
        Ok(refused)
    }

    /// Passes the released records of the store to `work`.
    fn read_store(
        &self,
        work: impl FnOnce(&mut (dyn Iterator<Item = Result<RawLine, RejectedRecord>> + Send)),
    ) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let location = self.store.location();
        let store = runtime.block_on(Store::open_shared(&location));
        let store =
            store.with_context(|| format!("expected files of records or a store; {location} cannot be read"))?;
        let source = Source { file: location.to_string(), line: 0 };
        let (mut page, mut after, mut failed) = (VecDeque::new(), 0, None);
        let mut lines = std::iter::from_fn(|| {
            if page.is_empty() && failed.is_none() {
                match runtime.block_on(store.records(&MatchFilter::default(), after, PAGE_SIZE)) {
                    Ok(rows) => page.extend(rows),
                    Err(e) => failed = Some(e),
                }
            }
            let row = page.pop_front()?;
            after = row.seq;
            Some(Ok(RawLine { source: source.clone(), episode: Some(row.id), text: row.record }))
        });
        work(&mut lines);
        let closed = runtime.block_on(store.close());
        failed.map_or(Ok(()), Err)?;
        Ok(closed?)
    }

    /// Opens the run, if the only argument names one; `None` for files of records.
    ///
    /// # Errors
    /// Returns an error if the run cannot be read, or if a name is neither a run nor a file.
    pub(super) fn run(&self) -> anyhow::Result<Option<Archive>> {
        let [name] = self.files.as_slice() else { return Ok(None) };
        let Some(text) = name.to_str() else { return Ok(None) };
        let bare = name.extension().is_none() && name.components().count() == 1 && text != "-";
        if Archive::is_run(text, &self.store.data) {
            return Archive::open(text, &self.store.data).map(Some);
        }
        if bare && !name.exists() {
            let expected = || format!("expected a file or a run, got {text}");
            return Archive::open(text, &self.store.data).with_context(expected).map(Some);
        }
        Ok(None)
    }

    /// Opens the runs, if all arguments name runs.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read.
    pub(super) fn runs(&self) -> anyhow::Result<Option<Vec<Archive>>> {
        let names: Option<Vec<&str>> = self.files.iter().map(|name| name.to_str()).collect();
        let names = names.unwrap_or_default();
        if names.is_empty() || !names.iter().all(|name| Archive::is_run(name, &self.store.data)) {
            return Ok(self.run()?.map(|run| vec![run]));
        }
        names.into_iter().map(|name| Archive::open(name, &self.store.data)).collect::<anyhow::Result<_>>().map(Some)
    }

    /// Returns the store and its folder.
    pub(super) fn store(&self) -> &StoreArgs {
        &self.store
    }

    /// Returns the file, if there is exactly one argument and it names a file.
    pub(super) fn only_file(&self) -> Option<&Path> {
        let [file] = self.files.as_slice() else { return None };
        file.is_file().then_some(file)
    }

    /// Returns, for each episode of a run, its position in the run's plan, and true if a rematch replaces the episode.
    /// Without runs, the map is empty.
    fn order(&self) -> HashMap<String, (usize, bool)> {
        let folders = self.files.iter().filter_map(|file| file.parent()).filter(|folder| folder.join(RUN).is_file());
        folders.flat_map(report_files::order).collect()
    }

    /// Returns the names of the sources, for messages.
    pub(super) fn name(&self) -> String {
        if self.files.is_empty() {
            return self.store.location().to_string();
        }
        let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        names.join(", ")
    }

    /// Returns command-line arguments that name the same sources.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut out: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        // The name of a run needs --data.
        if self.files.iter().all(|f| !f.exists()) {
            out.extend(self.store.to_args());
        }
        out
    }
}

/// Reads the records of one file.
pub(super) fn read(file: &Path) -> anyhow::Result<RecordLines> {
    if file == STANDARD_INPUT {
        return Ok(read_lines("standard input", io::stdin().lock()));
    }
    check(file)?;
    read_file(file).with_context(|| format!("{} cannot be opened", file.display()))
}

/// Argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Returns an error for a folder or a missing file.
fn check(file: &Path) -> anyhow::Result<()> {
    let about = file.metadata().with_context(|| format!("{} cannot be opened", file.display()))?;
    anyhow::ensure!(
        !about.is_dir(),
        "expected a file, got the folder {0}; use --data {0} for its store",
        file.display()
    );
    Ok(())
}

/// Returns an iterator over the lines of one file.
fn raw_lines_of(file: &Path) -> Box<dyn Iterator<Item = Result<RawLine, RejectedRecord>> + Send> {
    if file == STANDARD_INPUT {
        return Box::new(raw_lines("standard input", BufReader::new(io::stdin())));
    }
    let name = file.display().to_string();
    match File::open(file) {
        Ok(open) => Box::new(raw_lines(&name, BufReader::with_capacity(1 << 20, open))),
        Err(e) => {
            let message = format!("the file cannot be opened: {e}");
            let source = Source { file: name, line: 0 };
            Box::new(std::iter::once(Err(RejectedRecord { source, episode: None, message })))
        }
    }
}

/// Runs `work` on a store, even while a server uses it.
pub(super) fn with_store<T>(args: &StoreArgs, work: impl AsyncFnOnce(Store) -> anyhow::Result<T>) -> anyhow::Result<T> {
    block_on(async {
        let store = Store::open_shared(args.location()).await?;
        let result = work(store.clone()).await;
        let closed = store.close().await;
        let value = result?;
        closed?;
        Ok(value)
    })
}

/// Filter by game. A game string with parameters matches exactly these parameters; a game name matches all parameters.
pub(super) struct RecordFilter {
    id: String,
    /// Game with the parameters to match, if the filter has parameters.
    exactly: Option<GameRef>,
}

impl RecordFilter {
    pub(super) fn parse(text: Option<&str>) -> anyhow::Result<Option<RecordFilter>> {
        let Some(text) = text else { return Ok(None) };
        let game = ludex_games::load(text)?;
        Ok(Some(RecordFilter { id: game.spec().game.clone(), exactly: text.contains('(').then_some(game) }))
    }

    /// Returns true if a record matches the filter.
    pub(super) fn fits_record(&self, parts: &RecordParts) -> bool {
        let game = parts.header.get("game").and_then(|g| g.as_str()).unwrap_or_default();
        match parts.header.get("params").and_then(|p| p.as_object()) {
            Some(params) => self.fits(game, params),
            None => self.fits(game, &Params::new()),
        }
    }

    /// Returns true if a game with these parameters matches the filter.
    fn fits(&self, game: &str, params: &Params) -> bool {
        let Some(exact) = &self.exactly else { return game == self.id };
        // Most records have all parameters. For other records, defaults are added first.
        let same =
            || ludex_games::load_with(&self.id, params).is_ok_and(|game| game.spec().string == exact.spec().string);
        game == self.id && (*params == exact.spec().params || same())
    }
}

/// Verifies records with a progress bar. Returns the verified records that match the filter, and all refused records.
pub(super) fn verify_records(
    mut lines: RecordLines,
    game: Option<&RecordFilter>,
) -> (Vec<VerifiedRecord>, Vec<RejectedRecord>) {
    if let Some(game) = game {
        lines.found.retain(|f| game.fits_record(&f.parts));
    }
    let bar = print::progress(lines.found.len() as u64, "verifying");
    let (good, faulty) = Verifier::new(ludex_games::builtin()).verify_each(&lines.found, || bar.inc(1));
    bar.finish_and_clear();
    (good, [lines.refused, faulty].concat())
}

/// Arguments that select records and fix ratings.
#[derive(clap::Args)]
pub(super) struct RatingArgs {
    /// Rate only this game; parameters, if given, must match exactly [default: all games]
    #[arg(long)]
    game: Option<String>,
    /// Include unrated records, such as those of `ludex match`
    #[arg(long)]
    unrated: bool,
    /// Fix the rating of an agent; may be repeated [default: the anchors of each game]
    #[arg(long = "anchor", value_name = "NAME=RATING")]
    anchors: Vec<String>,
}

impl RatingArgs {
    pub(super) fn options(&self) -> anyhow::Result<RatingOptions> {
        let anchor = |text: &String| {
            // Names may contain `=`: mcts sims=100.
            let pair =
                text.rsplit_once('=').and_then(|(name, rating)| Some((name.trim(), rating.trim().parse().ok()?)));
            match pair {
                Some((name, rating)) if !name.is_empty() && f64::is_finite(rating) => Ok((name.to_owned(), rating)),
                _ => anyhow::bail!("--anchor: expected NAME=RATING such as \"mcts sims=100=450\", got {text:?}"),
            }
        };
        let fixed = self.anchors.iter().map(anchor).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        Ok(RatingOptions {
            fixed: (!fixed.is_empty()).then_some(fixed),
            unrated: self.unrated,
            ..RatingOptions::default()
        })
    }

    /// Returns true if no argument is given.
    pub(super) fn is_default(&self) -> bool {
        self.game.is_none() && !self.unrated && self.anchors.is_empty()
    }

    /// Returns true if there is no filter by game.
    pub(super) fn includes_all_games(&self) -> bool {
        self.game.is_none()
    }

    /// Returns the results of the verified records, with the marks selected by `marks`, and the refused records.
    ///
    /// # Errors
    /// Returns an error if no record counts.
    pub(super) fn read(
        &self,
        from: &RecordSource,
        options: &RatingOptions,
        marks: BTreeSet<String>,
    ) -> anyhow::Result<(Vec<GameResult>, Vec<RejectedRecord>)> {
        let filter = RecordFilter::parse(self.game.as_deref())?;
        let mut good = Vec::new();
        let refused = from.verify(filter.as_ref(), marks, |result| good.push(result))?;
        warn(&refused);
        let order = from.order();
        for game in &mut good {
            (game.order, game.replayed) = order.get(&game.episode).copied().unwrap_or_default();
        }
        let counting = good.iter().filter(|g| options.discards(*g).is_none()).count();
        if counting == 0 {
            let of = self.game.as_ref().map(|g| format!(" of {g}")).unwrap_or_default();
            let all = RatingOptions { unrated: true, ..options.clone() };
            let unrated = good.iter().filter(|g| all.discards(*g).is_none()).count();
            match (unrated, refused.len()) {
                (0, 0) => {
                    anyhow::bail!("no records{of} to rate in {}; `ludex match --out FILE` writes records", from.name())
                }
                (0, n) => anyhow::bail!("no valid records: {} refused", print::count(n, "record was", "records were")),
                (n, _) => anyhow::bail!(
                    "no rated records: {} unrated; use --unrated to include unrated records",
                    print::count(n, "record is", "records are all")
                ),
            }
        }
        Ok((good, refused))
    }

    /// Returns command-line arguments that select the same records and ratings.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(game) = &self.game {
            out.extend(["--game".to_owned(), game.clone()]);
        }
        out.extend(self.unrated.then(|| "--unrated".to_owned()));
        out.extend(self.anchors.iter().flat_map(|a| ["--anchor".to_owned(), a.clone()]));
        out
    }
}

/// Prints refused records to standard error.
pub(super) fn warn(refused: &[RejectedRecord]) {
    refused.iter().for_each(|r| eprintln!("ludex: refused: {r}"));
}
