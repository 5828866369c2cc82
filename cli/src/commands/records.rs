//! What commands over records share: where records come from (files, or the store), which game is meant, and which
//! records count.

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
use ludex_server::store::{MatchFilter, Store};

use super::print;

/// Records that are read from the store at a time.
const PAGE: u32 = 500;

/// Where records come from.
#[derive(clap::Args)]
pub(super) struct RecordSource {
    /// Files of records, one JSON object per line (- for standard input), or runs where a command says so [default: the store]
    files: Vec<PathBuf>,
    /// Folder of the store
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
}

impl RecordSource {
    /// Every record; lines that are not records are in `refused`.
    pub(super) fn read(&self) -> anyhow::Result<RecordLines> {
        if self.files.is_empty() {
            return in_store(&self.data, async |store| of_store(&store, &MatchFilter::default()).await)
                .with_context(|| format!("no file was named, and {} cannot be read", self.data.display()));
        }
        let mut lines = RecordLines::default();
        for file in &self.files {
            lines.append(read(file)?);
        }
        Ok(lines)
    }

    /// Verifies records while they are read, those of the game `which` if there is one. `each` gets the results.
    /// Returns what was refused, in the order of reading. The results keep `marks`.
    pub(super) fn verify(
        &self,
        which: Option<&Which>,
        marks: BTreeSet<String>,
        mut each: impl FnMut(GameResult),
    ) -> anyhow::Result<Vec<RejectedRecord>> {
        let (verifier, bar) = (Verifier::new(ludex_games::builtin()).with_marks(marks), print::counter("verified"));
        let wanted = |game: &str, params: &Params| which.is_none_or(|which| which.means(game, params));
        let mut refused = Vec::new();
        let judged = |judged: Result<GameResult, RejectedRecord>| {
            bar.inc(1);
            match judged {
                Ok(result) => each(result),
                Err(why) => refused.push(why),
            }
        };
        if self.files.is_empty() {
            verify_store(&self.data, |lines| verifier.verify_stream(lines, wanted, judged))
                .with_context(|| format!("no file was named, and {} cannot be read", self.data.display()))?;
        } else {
            // A wrong file name is an error before anything is read.
            self.files.iter().filter(|file| *file != STANDARD_INPUT).try_for_each(|file| check(file))?;
            verifier.verify_stream(self.files.iter().flat_map(|file| lines_of(file)), wanted, judged);
        }
        bar.finish_and_clear();
        Ok(refused)
    }

    /// The run that is named, if there is exactly one argument and it is not a file of records.
    ///
    /// # Errors
    /// The run cannot be read, or a bare name is neither a run nor a file.
    pub(super) fn run(&self) -> anyhow::Result<Option<Archive>> {
        let [name] = self.files.as_slice() else { return Ok(None) };
        let Some(text) = name.to_str() else { return Ok(None) };
        let bare = name.extension().is_none() && name.components().count() == 1 && text != "-";
        if Archive::is_run(text, &self.data) {
            return Archive::open(text, &self.data).map(Some);
        }
        if bare && !name.exists() {
            let neither = || format!("{text} is neither a file nor a run");
            return Archive::open(text, &self.data).with_context(neither).map(Some);
        }
        Ok(None)
    }

    /// The runs that are named, if there is one or more and nothing else.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub(super) fn runs(&self) -> anyhow::Result<Option<Vec<Archive>>> {
        let names: Option<Vec<&str>> = self.files.iter().map(|name| name.to_str()).collect();
        let names = names.unwrap_or_default();
        if names.is_empty() || !names.iter().all(|name| Archive::is_run(name, &self.data)) {
            return Ok(self.run()?.map(|run| vec![run]));
        }
        names.into_iter().map(|name| Archive::open(name, &self.data)).collect::<anyhow::Result<_>>().map(Some)
    }

    /// The one file that is named.
    pub(super) fn only_file(&self) -> Option<&Path> {
        let [file] = self.files.as_slice() else { return None };
        file.is_file().then_some(file)
    }

    /// The places of episodes in the plans of the runs whose records were named, and whether they were replayed; none for records of no
    /// run.
    fn order(&self) -> HashMap<String, (usize, bool)> {
        let folders = self.files.iter().filter_map(|file| file.parent()).filter(|folder| folder.join(RUN).is_file());
        folders.flat_map(report_files::order).collect()
    }

    /// What records were read from, for messages.
    pub(super) fn name(&self) -> String {
        if self.files.is_empty() {
            return self.data.display().to_string();
        }
        let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        names.join(", ")
    }

    /// The arguments that name the same records again.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut out: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        // A run's name says nothing without the folder that holds it.
        if self.files.iter().all(|f| !f.exists()) {
            out.extend(["--data".to_owned(), self.data.display().to_string()]);
        }
        out
    }
}

/// The records of one file.
pub(super) fn read(file: &Path) -> anyhow::Result<RecordLines> {
    if file == STANDARD_INPUT {
        return Ok(read_lines("standard input", io::stdin().lock()));
    }
    check(file)?;
    read_file(file).with_context(|| format!("{} cannot be opened", file.display()))
}

/// The argument that means standard input.
const STANDARD_INPUT: &str = "-";

/// Refuses what cannot be a file of records.
fn check(file: &Path) -> anyhow::Result<()> {
    let about = file.metadata().with_context(|| format!("{} cannot be opened", file.display()))?;
    anyhow::ensure!(!about.is_dir(), "{0} is a folder; a store is named by --data {0}", file.display());
    Ok(())
}

/// The lines of one file, which is opened when the first is asked for.
fn lines_of(file: &Path) -> Box<dyn Iterator<Item = Result<RawLine, RejectedRecord>> + Send> {
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

/// Gives the released records of the store in `folder` to `verify`, page by page.
fn verify_store(
    folder: &Path,
    verify: impl FnOnce(&mut (dyn Iterator<Item = Result<RawLine, RejectedRecord>> + Send)),
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let store = runtime.block_on(Store::open_shared(folder))?;
    let source = Source { file: store.path().display().to_string(), line: 0 };
    let (mut page, mut after, mut failed) = (VecDeque::new(), 0, None);
    let mut lines = std::iter::from_fn(|| {
        if page.is_empty() && failed.is_none() {
            match runtime.block_on(store.records(&MatchFilter::default(), after, PAGE)) {
                Ok(rows) => page.extend(rows),
                Err(e) => failed = Some(e),
            }
        }
        let row = page.pop_front()?;
        after = row.seq;
        Some(Ok(RawLine { source: source.clone(), episode: Some(row.id), text: row.record }))
    });
    verify(&mut lines);
    // A write that did not reach the disk is told by the call that made it.
    let closed = runtime.block_on(store.close());
    failed.map_or(Ok(()), Err)?;
    Ok(closed?)
}

/// Does something with the store in `folder`, even while a server owns it.
pub(super) fn in_store<T>(folder: &Path, work: impl AsyncFnOnce(Store) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open_shared(folder).await?;
        let done = work(store.clone()).await;
        // A write that did not reach the disk is told by the call that made it.
        let closed = store.close().await;
        let done = done?;
        closed?;
        Ok(done)
    })
}

/// The records of a store that `filter` lets through.
pub(super) async fn of_store(store: &Store, filter: &MatchFilter) -> anyhow::Result<RecordLines> {
    let mut lines = RecordLines::default();
    let source = Source { file: store.path().display().to_string(), line: 0 };
    let mut after = 0;
    loop {
        let rows = store.records(filter, after, PAGE).await?;
        let Some(last) = rows.last() else { return Ok(lines) };
        after = last.seq;
        for row in rows {
            match RecordParts::parse(&row.record) {
                Ok(parts) => lines.found.push(SourcedRecord { source: source.clone(), parts }),
                Err(e) => lines.refused.push(RejectedRecord {
                    source: source.clone(),
                    episode: Some(row.id),
                    message: e.to_string(),
                }),
            }
        }
    }
}

/// Which game is meant: a game string with parameters means these parameters, a plain name means any.
pub(super) struct Which {
    id: String,
    /// The game with its parameters, if the text gave some.
    exactly: Option<GameRef>,
}

impl Which {
    pub(super) fn parse(text: Option<&str>) -> anyhow::Result<Option<Which>> {
        let Some(text) = text else { return Ok(None) };
        let game = ludex_games::load(text)?;
        Ok(Some(Which { id: game.spec().game.clone(), exactly: text.contains('(').then_some(game) }))
    }

    /// Whether a record is of the game.
    pub(super) fn is_of(&self, parts: &RecordParts) -> bool {
        let game = parts.header.get("game").and_then(|g| g.as_str()).unwrap_or_default();
        match parts.header.get("params").and_then(|p| p.as_object()) {
            Some(params) => self.means(game, params),
            None => self.means(game, &Params::new()),
        }
    }

    /// Whether the game with these parameters is meant.
    fn means(&self, game: &str, params: &Params) -> bool {
        let Some(meant) = &self.exactly else { return game == self.id };
        // Most records hold all parameters as they are; others are completed first.
        let same =
            || ludex_games::load_with(&self.id, params).is_ok_and(|game| game.spec().string == meant.spec().string);
        game == self.id && (*params == meant.spec().params || same())
    }
}

/// Verifies what was read and shows progress: the true records that are of the game, and what was refused.
pub(super) fn verified(mut lines: RecordLines, which: Option<&Which>) -> (Vec<VerifiedRecord>, Vec<RejectedRecord>) {
    if let Some(which) = which {
        lines.found.retain(|f| which.is_of(&f.parts));
    }
    let bar = print::progress(lines.found.len() as u64, "verifying");
    let (good, untrue) = Verifier::new(ludex_games::builtin()).verify_each(&lines.found, || bar.inc(1));
    bar.finish_and_clear();
    (good, [lines.refused, untrue].concat())
}

/// Which records count, and which ratings are constants.
#[derive(clap::Args)]
pub(super) struct Rated {
    /// Only this game; if parameters are given, only with these
    #[arg(long)]
    game: Option<String>,
    /// Count unrated records too, such as those of `ludex match`
    #[arg(long)]
    unrated: bool,
    /// An agent whose rating is a constant; may be repeated [default: the anchors of each game's ladder]
    #[arg(long = "anchor", value_name = "NAME=RATING")]
    anchors: Vec<String>,
}

impl Rated {
    pub(super) fn options(&self) -> anyhow::Result<RatingOptions> {
        let anchor = |text: &String| {
            // Names may hold `=`: mcts sims=100.
            let pair =
                text.rsplit_once('=').and_then(|(name, rating)| Some((name.trim(), rating.trim().parse().ok()?)));
            match pair {
                Some((name, rating)) if !name.is_empty() && f64::is_finite(rating) => Ok((name.to_owned(), rating)),
                _ => anyhow::bail!("--anchor {text:?} is not NAME=RATING, such as \"mcts sims=100=450\""),
            }
        };
        let fixed = self.anchors.iter().map(anchor).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        Ok(RatingOptions {
            fixed: (!fixed.is_empty()).then_some(fixed),
            unrated: self.unrated,
            ..RatingOptions::default()
        })
    }

    /// Whether records of all games count.
    pub(super) fn all_games(&self) -> bool {
        self.game.is_none()
    }

    /// The results of the true records, and what was refused; an error if nothing counts.
    pub(super) fn read(
        &self,
        from: &RecordSource,
        options: &RatingOptions,
    ) -> anyhow::Result<(Vec<GameResult>, Vec<RejectedRecord>)> {
        self.read_with(from, options, BTreeSet::new())
    }

    /// As [`read`](Self::read), with the marks of these names.
    pub(super) fn read_with(
        &self,
        from: &RecordSource,
        options: &RatingOptions,
        marks: BTreeSet<String>,
    ) -> anyhow::Result<(Vec<GameResult>, Vec<RejectedRecord>)> {
        let which = Which::parse(self.game.as_deref())?;
        let mut good = Vec::new();
        let refused = from.verify(which.as_ref(), marks, |result| good.push(result))?;
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
                (0, 0) => anyhow::bail!(
                    "there is no record{of} to rate in {}; `ludex match --out FILE` makes some",
                    from.name()
                ),
                (0, n) => anyhow::bail!("nothing to rate: {} refused", print::count(n, "record was", "records were")),
                (n, _) => anyhow::bail!(
                    "nothing to rate: {} unrated; --unrated counts them",
                    print::count(n, "record is", "records are all")
                ),
            }
        }
        Ok((good, refused))
    }

    /// The arguments that mean the same again.
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

/// Lists on standard error what is left out.
pub(super) fn warn(refused: &[RejectedRecord]) {
    refused.iter().for_each(|r| eprintln!("ludex: left out: {r}"));
}
