//! Transcripts of a run as a folder of pages, which open from files too.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_protocol::record::{Outcome, Record};
use ludex_report::runs::archive::Archive;
use ludex_report::transcript::{Decision, Transcript, page_name};
use serde::Serialize;

use super::html;
use crate::commands::print;

/// Approximate maximum size of a file in bytes, so that no file exceeds 2 MB. A single turn that is larger has a page of
/// its own.
const LARGEST: usize = 1_500_000;

/// Row of the index.
#[derive(Serialize)]
struct IndexRow {
    file: String,
    episode: String,
    part: String,
    agents: Vec<String>,
    /// Agents whose seat has the outcome `loss`.
    lost: Vec<String>,
    result: String,
    counts: bool,
    /// Number of replies that were illegal moves.
    illegal: usize,
    /// Number of replies without a move.
    unparsed: usize,
    /// Longest turn in milliseconds.
    longest: u64,
    /// Cost in US dollars, if known.
    usd: Option<f64>,
}

/// Folder of transcripts under construction.
pub(super) struct Pages<'r> {
    run: &'r Archive,
    folder: PathBuf,
    rows: Vec<String>,
    files: Vec<PathBuf>,
}

impl<'r> Pages<'r> {
    /// Creates the folder, if it is missing.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub(super) fn new(run: &'r Archive, folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be created", folder.display()))?;
        Ok(Pages { run, folder: folder.to_owned(), rows: Vec::new(), files: Vec::new() })
    }

    /// Writes the page of a match, in several pieces if it is long.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(super) fn add(&mut self, mut transcript: Transcript, record: &Record) -> anyhow::Result<()> {
        self.rows.push(serde_json::to_string(&self.row(&transcript, record))?);
        let episode = transcript.episode.clone();
        let mut turns = std::mem::take(&mut transcript.decisions).into_iter().peekable();
        let mut piece = 0;
        loop {
            let (mut own, mut size): (Vec<Decision>, usize) = (Vec::new(), 0);
            while let Some(turn) = turns.peek() {
                let length = html::size(turn);
                if !own.is_empty() && size + length > LARGEST {
                    break;
                }
                size += length;
                own.extend(turns.next());
            }
            let next = turns.peek().map(|_| page_name(&episode, piece + 1));
            let own = Transcript { decisions: own, ..transcript.clone() };
            let page = html::page_in_folder(&self.run.about, own, next.as_deref());
            self.write(&page_name(&episode, piece), &print::plain(&page))?;
            if next.is_none() {
                return Ok(());
            }
            piece += 1;
        }
    }

    /// Writes the index with a link to `home`, if given, and returns the paths of all files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(super) fn finish(mut self, home: Option<&str>) -> anyhow::Result<Vec<PathBuf>> {
        let mut pieces: Vec<String> = vec![String::new()];
        for row in std::mem::take(&mut self.rows) {
            // A script must not contain the end of its element.
            let row = row.replace('<', "\\u003c");
            if pieces.last().is_some_and(|piece| piece.len() + row.len() > LARGEST) {
                pieces.push(String::new());
            }
            if let Some(piece) = pieces.last_mut() {
                *piece += &format!("rows.push({row});\n");
            }
        }
        let names: Vec<String> = (1..=pieces.len()).map(|k| format!("index-{k}.js")).collect();
        for (name, piece) in names.iter().zip(&pieces) {
            self.write(name, piece)?;
        }
        self.write("style.css", html::STYLE)?;
        self.write("index.html", &html::index(&self.run.about, &names, home))?;
        Ok(self.files)
    }

    fn row(&self, transcript: &Transcript, record: &Record) -> IndexRow {
        let seats = &record.header.seats;
        let lost = seats.iter().zip(&record.footer.outcome).filter(|(_, outcome)| **outcome == Outcome::Loss);
        let calls = || {
            let attempts = transcript.decisions.iter().flat_map(|decision| &decision.attempts);
            attempts.flat_map(|attempt| &attempt.calls)
        };
        let verdicts = |words: &[&str]| calls().filter(|call| words.contains(&call.verdict.as_str())).count();
        IndexRow {
            file: page_name(&transcript.episode, 0),
            episode: transcript.episode.clone(),
            part: self.run.place_of(&transcript.episode).map(|found| found.place.part).unwrap_or_default(),
            agents: seats.iter().map(|seat| seat.name.clone()).collect(),
            lost: lost.map(|(seat, _)| seat.name.clone()).collect(),
            result: transcript.result.clone(),
            counts: transcript.counts,
            illegal: verdicts(&["illegal"]),
            unparsed: verdicts(&["unparsed", "empty"]),
            longest: transcript.decisions.iter().map(|decision| decision.ms).max().unwrap_or_default(),
            usd: transcript.sums.usd,
        }
    }

    fn write(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        self.files.push(path);
        Ok(())
    }
}
