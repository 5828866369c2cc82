//! Verification of records while they are read.
//!
//! Lines are read in chunks. While one chunk is verified on all cores, the next one is read, so that at most two chunks
//! of text are in memory. Only the [`GameResult`] of each record is stored.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ludex_env::recording::{Keep, ParsedLine, read_line};
use ludex_protocol::record::RecordParts;
use ludex_protocol::spec::Params;
use rayon::prelude::*;

use super::{FaultKind, RecordFault, Verifier};
use crate::read::{RawLine, RejectedRecord, Source};
use crate::result::GameResult;

/// Maximum number of lines in a chunk.
const LINES: usize = 1024;
/// Maximum number of bytes in a chunk.
const BYTES: usize = 4 << 20;

/// Verdict on a line: a record's result, or the reason for its rejection; `None` for a skipped record.
type Judged = Option<Result<GameResult, RejectedRecord>>;

impl Verifier {
    /// Verifies records on all cores while they are read. `each` receives the verdict on each line, in the order of the
    /// lines. A duplicate record is rejected.
    ///
    /// `wanted` receives a record's game and parameters before any check, and returns false to skip the record. At any
    /// time, memory holds at most two chunks of lines, and the digest and the location of each accepted record.
    pub fn verify_stream(
        &self,
        lines: impl IntoIterator<Item = Result<RawLine, RejectedRecord>, IntoIter: Send>,
        wanted: impl Fn(&str, &Params) -> bool + Sync,
        mut each: impl FnMut(Result<GameResult, RejectedRecord>),
    ) {
        let mut lines = lines.into_iter();
        let mut seen = SeenDigests::default();
        let mut chunk = next(&mut lines);
        while !chunk.is_empty() {
            let judge = |line: Result<RawLine, RejectedRecord>| match line {
                Ok(line) => (line.source.clone(), self.judge(line, &wanted)),
                Err(refused) => (refused.source.clone(), Some(Err(refused))),
            };
            let (following, judged) = rayon::join(
                || next(&mut lines),
                || chunk.into_par_iter().map(judge).collect::<Vec<(Source, Judged)>>(),
            );
            for (source, judged) in judged {
                let Some(judged) = judged else { continue };
                each(judged.and_then(|result| match seen.take(&result.digest, &source) {
                    Ok(()) => Ok(result),
                    Err(message) => Err(RejectedRecord { source, episode: Some(result.episode), message }),
                }));
            }
            chunk = following;
        }
    }

    fn judge(&self, line: RawLine, wanted: &impl Fn(&str, &Params) -> bool) -> Judged {
        let RawLine { source, episode, text } = line;
        let keep = if self.wanted.is_empty() { Keep::WithoutNotes } else { Keep::All };
        let fast = read_line(&text, keep);
        if let Some(ParsedLine { record, .. }) = &fast
            && !wanted(&record.header.game, &record.header.params)
        {
            return None;
        }
        let checked = match fast {
            Some(line) => self.verify_read(line, source.clone()),
            None => match RecordParts::parse(&text) {
                Ok(parts) if !is_wanted(&parts, wanted) => return None,
                Ok(parts) => self.verify(&parts, source.clone()),
                Err(e) => Err(RecordFault::new(FaultKind::Damaged, e.to_string())),
            },
        };
        Some(checked.map(|verified| verified.into_result()).map_err(|fault| {
            // Rejected records are rare, so parsing them again for the episode name is cheap.
            let episode = RecordParts::parse(&text).ok().and_then(|parts| episode_of(&parts)).or(episode);
            RejectedRecord { source, episode, message: fault.to_string() }
        }))
    }
}

fn next(lines: &mut impl Iterator<Item = Result<RawLine, RejectedRecord>>) -> Vec<Result<RawLine, RejectedRecord>> {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while chunk.len() < LINES && bytes < BYTES {
        let Some(line) = lines.next() else { break };
        bytes += line.as_ref().map_or(0, |line| line.text.len());
        chunk.push(line);
    }
    chunk
}

/// Returns true if a record must be verified: `wanted` selects the record, or the header is damaged.
fn is_wanted(parts: &RecordParts, wanted: &impl Fn(&str, &Params) -> bool) -> bool {
    let game = parts.header.get("game").and_then(|game| game.as_str()).unwrap_or_default();
    match parts.header.get("params").and_then(|params| params.as_object()) {
        Some(params) => wanted(game, params),
        None => wanted(game, &Params::new()),
    }
}

/// Returns the episode name in a record.
pub(super) fn episode_of(parts: &RecordParts) -> Option<String> {
    parts.header.get("episode").and_then(|e| e.as_str()).map(str::to_owned)
}

/// First location of each accepted record, by digest. There may be many records, so digests are stored as bytes and
/// each file name only once.
#[derive(Default)]
pub(super) struct SeenDigests {
    files: Vec<String>,
    /// File index and line number of each accepted record, by digest.
    found: HashMap<[u8; 32], (u32, usize)>,
}

impl SeenDigests {
    /// Adds the digest of an accepted record, or returns an error for a duplicate record. `digest` must be computed
    /// from the record, not copied from it.
    pub fn take(&mut self, digest: &str, source: &Source) -> Result<(), String> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(digest, &mut bytes).map_err(|e| format!("digest {digest:?}: {e}"))?;
        if self.files.last() != Some(&source.file) {
            self.files.push(source.file.clone());
        }
        match self.found.entry(bytes) {
            Entry::Occupied(first) => {
                let (file, line) = *first.get();
                let first = Source { file: self.files[file as usize].clone(), line };
                Err(format!("duplicate of the record at {first}"))
            }
            Entry::Vacant(free) => {
                free.insert((self.files.len() as u32 - 1, source.line));
                Ok(())
            }
        }
    }
}
