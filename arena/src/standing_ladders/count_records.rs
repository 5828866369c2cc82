//! Counting of a ladder's records. Each record is verified before it counts, and the matches of a pair count as one
//! result.

use jiff::Timestamp;
use ludex_referee::read::Source;
use ludex_referee::{GameResult, Verifier};
use ludex_store::RecordRow;

use super::season_state::CountedRecords;

/// Number of records read at a time.
pub(super) const PAGE: u32 = 500;

/// Returns the results of a page of records; `None` for a record that fails the verification.
pub(super) fn verified(verifier: &Verifier, page: &[RecordRow]) -> Vec<Option<GameResult>> {
    let result = |row: &RecordRow| {
        let source = Source { file: "store".to_owned(), line: 0 };
        let result = verifier.verify_line(&row.record, source).map(ludex_referee::VerifiedRecord::into_result);
        result
            .map_err(|why| tracing::error!(match_id = row.id, why = why.message, "ladder record verification failed"))
            .ok()
    };
    page.iter().map(result).collect()
}

/// Counts a page of records in order of release. If the page is full, the last pair of the page waits for the next
/// page, which may contain the remaining record of the pair.
pub(super) fn take(counted: &mut CountedRecords, page: &[RecordRow], results: &[Option<GameResult>]) {
    let pair = |k: usize| results[k].as_ref().and_then(|result| result.pair.as_ref());
    let mut from = 0;
    while from < page.len() {
        let same = |k: &usize| pair(from).is_some() && pair(*k) == pair(from);
        let to = from + 1 + (from + 1..page.len()).take_while(same).count();
        let cut = page.len() == PAGE as usize && to == page.len() && from > 0 && pair(from).is_some();
        if cut {
            return;
        }
        let games: Vec<&GameResult> = results[from..to].iter().flatten().collect();
        counted.records += (to - from) as u64;
        counted.refused += (to - from - games.len()) as u64;
        let ended = games.iter().filter_map(|game| game.ended.as_deref()?.parse::<Timestamp>().ok());
        if let Some(at) = ended.max() {
            counted.table.take(&games, at.as_millisecond());
        }
        counted.last = page[to - 1].seq;
        from = to;
    }
}
