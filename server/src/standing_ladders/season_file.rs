//! Files of a season: the table, which every write replaces as a whole, and the records, which are written after the
//! season's end.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_play::files::write_whole;
use ludex_referee::suite::is_word;
use ludex_store::{MatchFilter, Store};
use serde::{Deserialize, Serialize};

use super::config::LadderTerms;
use super::table::StandingTable;
use crate::seasons::Season;

/// Number of records read at a time.
pub(super) const PAGE: u32 = 500;

/// Season with its table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SeasonState {
    pub season: Season,
    /// Game with its parameters, and the hash of its rules.
    pub game: String,
    pub rules: String,
    /// Owners of agents, by agent name; `None` for a guest's agent.
    pub owners: BTreeMap<String, Option<String>>,
    /// Final data, once the season is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Frozen>,
    pub counted: CountedRecords,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CountedRecords {
    /// Number of the last release whose record has been counted.
    pub last: u64,
    /// Number of records that failed the verification.
    pub refused: u64,
    pub table: StandingTable,
}

/// Final data of a season.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Frozen {
    pub at_ms: i64,
    /// Number of records in the records file.
    pub records: u64,
}

impl SeasonState {
    /// Reads a season from its file. Without a file, starts the season with an empty table. If the rating settings have
    /// changed, recomputes the ratings.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that belongs to a different game.
    pub(super) fn open(folder: &Path, season: Season, game: &GameRef, table: StandingTable) -> anyhow::Result<Self> {
        let spec = game.spec();
        let counted = CountedRecords { last: 0, refused: 0, table };
        let Some(mut kept) = Self::read(folder, &season.name)? else {
            let (game, rules) = (spec.string.clone(), spec.hash.clone());
            return Ok(SeasonState { season, game, rules, owners: BTreeMap::new(), frozen: None, counted });
        };
        anyhow::ensure!(
            kept.game == spec.string && kept.rules == spec.hash,
            "season {}: game or rules have changed since it started as {}; use a new season name",
            season.name,
            kept.game
        );
        let (was, is) = (&kept.counted.table, &counted.table);
        if was.rating != is.rating || was.anchors != is.anchors {
            kept.counted = counted;
        }
        Ok(SeasonState { season, ..kept })
    }

    /// Reads a season from its file; `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub(super) fn read(folder: &Path, season: &str) -> anyhow::Result<Option<Self>> {
        let file = folder.join(format!("{season}.json"));
        if !is_word(season) || !file.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&file).with_context(|| format!("reading {} failed", file.display()))?;
        Ok(Some(serde_json::from_str(&text).with_context(|| format!("parsing {} failed", file.display()))?))
    }

    /// Writes the season durably.
    ///
    /// # Errors
    ///
    /// A failed write.
    pub(super) fn keep(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("creating {} failed", folder.display()))?;
        let name = format!("{}.json", self.season.name);
        write_whole(folder, &name, serde_json::to_string(self)?.as_bytes())
            .with_context(|| format!("writing {name} failed"))
    }
}

/// Returns the seasons that are not frozen. A season removed from the settings ends at once.
///
/// # Errors
///
/// A file that cannot be read.
pub(super) fn open_seasons(folder: &Path, terms: &LadderTerms) -> anyhow::Result<Vec<Season>> {
    let named = terms.all_seasons();
    let (mut dropped, mut frozen) = (Vec::new(), Vec::new());
    for name in names(folder) {
        let Some(kept) = SeasonState::read(folder, &name)? else { continue };
        match kept.frozen {
            Some(_) => frozen.push(name),
            None if named.iter().any(|season| season.name == name) => {}
            None => dropped.push(Season { end: Some(kept.season.begin), ..kept.season }),
        }
    }
    dropped.extend(named.into_iter().filter(|season| !frozen.contains(&season.name)));
    Ok(dropped)
}

/// Returns the names of the frozen seasons.
pub(super) fn frozen_seasons(folder: &Path) -> Vec<String> {
    let over = |name: &String| records_file(folder, name).exists();
    names(folder).into_iter().filter(over).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let name = |file: fs::DirEntry| Some(file.file_name().to_str()?.strip_suffix(".json")?.to_owned());
    let mut names: Vec<String> = files.filter_map(|file| name(file.ok()?)).collect();
    names.sort();
    names
}

pub(super) fn records_file(folder: &Path, season: &str) -> PathBuf {
    folder.join(format!("{season}.jsonl"))
}

/// Writes the released records of a season to a file, one per line, and returns their number.
///
/// # Errors
///
/// Those of the store, or a failed write.
pub(super) async fn write_records(
    folder: &Path,
    season: &str,
    store: &Store,
    filter: &MatchFilter,
) -> anyhow::Result<u64> {
    fs::create_dir_all(folder)?;
    let file = records_file(folder, season);
    let draft = file.with_extension("jsonl.draft");
    let mut out = BufWriter::new(File::create(&draft)?);
    let (mut last, mut records) = (0, 0);
    loop {
        let page = store.records(filter, last, PAGE).await?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        records += page.len() as u64;
        page.iter().try_for_each(|row| writeln!(out, "{}", row.record))?;
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(draft, file)?;
    Ok(records)
}
