//! Removal of old rows, in transactions of at most [`ROWS`] rows.

use super::engine::Query;
use super::value::{Row, signed};
use super::{Store, StoreError, Write};

/// Maximum number of rows that one transaction removes.
const ROWS: u64 = 1_000;

/// Number of matches that are read at a time.
const PAGE: u32 = 1_000;

/// Query for the released matches that ended before a given time. The index lists the matches by end time.
const OLD: &str = "FROM matches m INDEXED BY matches_ended WHERE m.ended_ms IS NOT NULL AND m.released IS NOT NULL \
                   AND m.ended_ms < ?";

/// Condition for matches with a log.
const WITH_LOG: &str = " AND EXISTS (SELECT 1 FROM acts a WHERE a.match = m.seq)";

/// Condition for a match `m` that may be removed. Matches of open joins stay, since the joins count them. The newest
/// match and the match released last stay, since their numbers must not be reused.
pub(super) const REMOVABLE: &str = " AND m.rated = 0 AND m.seq < (SELECT max(seq) FROM matches) \
    AND m.released < (SELECT max(released) FROM matches WHERE released IS NOT NULL) \
    AND NOT EXISTS (SELECT 1 FROM seats s JOIN joins j ON j.id = s.\"join\" WHERE s.match = m.seq)";

/// Kind of rows to remove from old matches. Only matches that have ended and are released are affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldRows {
    /// Match logs. The records of the matches stay.
    Logs,
    /// Unrated matches with their logs and records, except the newest match and matches of open joins.
    UnratedMatches,
}

impl OldRows {
    fn condition(self) -> &'static str {
        match self {
            OldRows::Logs => WITH_LOG,
            OldRows::UnratedMatches => REMOVABLE,
        }
    }
}

/// Match whose rows are to be removed.
struct OldMatch {
    id: String,
    /// Number of log rows.
    log: u64,
    /// Number of all other rows.
    others: u64,
    ended_ms: i64,
    seq: u64,
}

impl Store {
    /// Returns the number of matches that ended before `before_ms` and have rows of this kind.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn count_old(&self, kind: OldRows, before_ms: i64) -> Result<u64, StoreError> {
        let mut query = Query::new("SELECT count(*) ");
        query.and(OLD, before_ms);
        query.text.push_str(kind.condition());
        self.one(query).await
    }

    /// Removes the rows of this kind from all matches that ended before `before_ms`, and returns the number of affected
    /// matches. Other writes can proceed between the transactions.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write). After an error, some of the rows may already be removed.
    pub async fn remove_old(&self, kind: OldRows, before_ms: i64) -> Result<u64, StoreError> {
        let (mut removed, mut after) = (0, None);
        loop {
            let page = self.old_matches(kind, before_ms, after).await?;
            let Some(last) = page.last() else { return Ok(removed) };
            after = Some((last.ended_ms, last.seq));
            for batch in batches(kind, &page) {
                self.write(batch).await?;
            }
            removed += page.len() as u64;
        }
    }

    /// Returns the next page of matches with rows of this kind, in order of end time and `seq`. `after` has both values
    /// for the last match of the previous page.
    async fn old_matches(
        &self,
        kind: OldRows,
        before_ms: i64,
        after: Option<(i64, u64)>,
    ) -> Result<Vec<OldMatch>, StoreError> {
        let mut query = Query::new(
            "SELECT m.id, (SELECT count(*) FROM acts a WHERE a.match = m.seq), \
             2 + (SELECT count(*) FROM seats s WHERE s.match = m.seq), m.ended_ms, m.seq ",
        );
        query.and(OLD, before_ms);
        query.text.push_str(kind.condition());
        if let Some((ended_ms, seq)) = after {
            query.and(" AND (m.ended_ms, m.seq) > (?", ended_ms);
            query.and(", ?)", signed(seq));
        }
        query.and(" ORDER BY m.ended_ms, m.seq LIMIT ?", PAGE);
        let row = |row: &mut Row| {
            Ok(OldMatch {
                id: row.take()?,
                log: row.take()?,
                others: row.take()?,
                ended_ms: row.take()?,
                seq: row.take()?,
            })
        };
        self.all(query, row).await
    }
}

/// Returns the writes that remove the rows of matches, in batches of at most [`ROWS`] rows. A longer log is removed in
/// parts, from its end.
fn batches(kind: OldRows, matches: &[OldMatch]) -> Vec<Vec<Write>> {
    let (mut batches, mut room) = (Vec::new(), 0);
    let mut add = |rows: u64, write: Write| {
        if rows > room {
            batches.push(Vec::new());
            room = ROWS;
        }
        room -= rows.min(room);
        if let Some(batch) = batches.last_mut() {
            batch.push(write);
        }
    };
    for old in matches {
        let mut left = old.log;
        while left > 0 {
            let part = left.min(ROWS);
            left -= part;
            add(part, Write::Forget { id: old.id.clone(), from: left });
        }
        if kind == OldRows::UnratedMatches {
            add(old.others, Write::MatchGone { id: old.id.clone() });
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_batches_have_a_maximum_number_of_rows() {
        let old = |k: u64, log| OldMatch { id: format!("m_{k}"), log, others: 4, ended_ms: 0, seq: k };
        let matches: Vec<OldMatch> =
            [0, 999, 1, 1_000, 2_500, 300, 300, 300, 300].into_iter().zip(0..).map(|(log, k)| old(k, log)).collect();
        for kind in [OldRows::Logs, OldRows::UnratedMatches] {
            let mut lengths: Vec<u64> = matches.iter().map(|old| old.log).collect();
            let mut gone = 0;
            for batch in batches(kind, &matches) {
                let mut rows = 0;
                for write in batch {
                    let place = |id: &str| id[2..].parse::<usize>().unwrap();
                    match write {
                        Write::Forget { id, from } => rows += std::mem::replace(&mut lengths[place(&id)], from) - from,
                        Write::MatchGone { id } => {
                            assert_eq!(lengths[place(&id)], 0);
                            (rows, gone) = (rows + 4, gone + 1);
                        }
                        other => panic!("{other:?}"),
                    }
                }
                assert!((1..=ROWS).contains(&rows), "{rows}");
            }
            assert_eq!((lengths.iter().sum::<u64>(), gone == matches.len()), (0, kind == OldRows::UnratedMatches));
        }
    }
}
