//! SQL statements for writes. Each connection caches its prepared statements.

use rusqlite::{Connection, OptionalExtension as _, Params, params};

use super::StoreError;
use super::retention::REMOVABLE;
use super::rows::{EndRow, MatchRow, Write};

const START: &str = "INSERT INTO matches (id, game, string, rated, run, header, secret, started_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const SEAT: &str =
    "INSERT INTO seats (match, seat, agent, session, \"join\", game, rated) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// Insertion of a log row. If the row's match is not running, the column `match` becomes null, which the schema
/// rejects.
const ACT: &str = "INSERT INTO acts (match, n, body) \
                   VALUES ((SELECT seq FROM matches WHERE id = ?1 AND ended_ms IS NULL), ?2, ?3)";
const END: &str = "UPDATE matches SET ended_ms = ?2, reason = ?3 WHERE id = ?1 AND ended_ms IS NULL";
const PLAYED: &str = "INSERT INTO matches \
                      (id, game, string, rated, run, header, secret, started_ms, ended_ms, reason, released) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, CASE WHEN ?11 THEN \
                      (SELECT coalesce(max(released), 0) + 1 FROM matches WHERE released IS NOT NULL) END)";
const RECORD: &str =
    "INSERT INTO records (match, footer, record) VALUES ((SELECT seq FROM matches WHERE id = ?1), ?2, ?3)";
const PLAYED_RECORD: &str = "INSERT INTO records (match, footer, record) VALUES (?1, ?2, ?3)";
/// Release of a match. The redundant inner condition lets SQLite find the greatest value in the index of released
/// matches, instead of reading the whole table.
const RELEASE: &str = "UPDATE matches SET released = \
                       (SELECT coalesce(max(released), 0) + 1 FROM matches WHERE released IS NOT NULL) \
                       WHERE id = ?1 AND ended_ms IS NOT NULL AND released IS NULL";
const RESTARTED: &str = "UPDATE matches SET restarts = ?2 WHERE id = ?1";
const FORGET: &str = "DELETE FROM acts WHERE match = (SELECT seq FROM matches WHERE id = ?1 AND ended_ms IS NOT NULL) \
                      AND n >= ?2";
const MATCH_GONE: [&str; 3] = [
    "DELETE FROM records WHERE match = ?1",
    "DELETE FROM seats WHERE match = ?1",
    "DELETE FROM matches WHERE seq = ?1",
];
const SESSION: &str = "INSERT OR REPLACE INTO sessions (id, key_hash, old_key, agent, body, expires_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const SESSION_GONE: [&str; 2] = ["DELETE FROM sessions WHERE id = ?1", "DELETE FROM joins WHERE session = ?1"];
const JOIN: &str = "INSERT INTO joins (id, session, body) VALUES (?1, ?2, ?3) \
                    ON CONFLICT (id) DO UPDATE SET session = excluded.session, body = excluded.body";
const JOIN_GONE: &str = "DELETE FROM joins WHERE id = ?1";
const RECLAIMED_JOINS: &str = "UPDATE joins SET session = ?2 WHERE session = ?1";
const RECLAIMED_SEAT: &str =
    "UPDATE seats SET session = ?2 WHERE match = (SELECT seq FROM matches WHERE id = ?1) AND seat = ?3";
const RUN: &str = "INSERT OR REPLACE INTO runs (name, suite, season, hidden, ended_ms, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const RUN_GONE: &str = "UPDATE runs SET body = '' WHERE name = ?1";
const SEASON: &str = "INSERT OR REPLACE INTO seasons (contest, name, frozen_ms, body) VALUES (?1, ?2, ?3, ?4)";
const STANDING: &str = "INSERT INTO standings (contest, season, agent, owner, body) VALUES (?1, ?2, ?3, ?4, ?5) \
                        ON CONFLICT DO UPDATE SET owner = coalesce(owner, excluded.owner), \
                        body = coalesce(excluded.body, body)";
const STANDINGS_RESET: &str = "UPDATE standings SET body = NULL WHERE contest = ?1 AND season = ?2";
const TOKEN: &str = "INSERT OR REPLACE INTO tokens (hash, owner, scopes, names, created_ms, expires_ms, revoked_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const TOKEN_REVOKED: &str = "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?2) WHERE hash = ?1";
const SUSPENDED: &str = "INSERT OR IGNORE INTO suspensions (owner, since_ms) VALUES (?1, ?2)";
const RESUMED: &str = "DELETE FROM suspensions WHERE owner = ?1";
const END_REQUESTED: &str = "INSERT OR IGNORE INTO end_requests (match) VALUES (?1)";
const END_PROCESSED: &str = "DELETE FROM end_requests WHERE match = ?1";
const META: &str = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
const META_ONCE: &str = "INSERT OR IGNORE INTO meta (key, value) VALUES (?1, ?2)";
const COUNTER: &str = "INSERT INTO counters (key, value) VALUES (?1, ?2) \
                       ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)";

/// Reason for a failed write.
pub(super) enum Failed {
    Sql(rusqlite::Error),
    /// Write that contradicts stored data.
    Store(StoreError),
}

impl From<rusqlite::Error> for Failed {
    fn from(e: rusqlite::Error) -> Self {
        Failed::Sql(e)
    }
}

/// Executes one write within a transaction.
pub(super) fn apply(to: &Connection, write: &Write) -> Result<(), Failed> {
    match write {
        Write::MatchStart(row) => start(to, row)?,
        Write::MatchPlayed { row, end, released } => played(to, row, end, *released)?,
        Write::Act { id, n, body } => act(to, id, *n, body)?,
        Write::MatchEnd { id, acts, end } => {
            acts.iter().try_for_each(|row| act(to, id, row.n, &row.body))?;
            ended(to, id, end)?;
        }
        Write::Released { ids } => ids.iter().try_for_each(|id| run(to, RELEASE, [id]).map(drop))?,
        Write::Restarted { id, restarts } => drop(run(to, RESTARTED, params![id, restarts])?),
        Write::Forget { id, from } => drop(run(to, FORGET, params![id, int(*from)])?),
        Write::MatchGone { id } => remove_match(to, id)?,
        Write::Session(row) => {
            let values = params![row.id, row.key_hash, row.old_key, row.agent, row.body, row.expires_ms];
            run(to, SESSION, values)?;
        }
        Write::SessionGone { id } => SESSION_GONE.iter().try_for_each(|text| run(to, text, [id]).map(drop))?,
        Write::Join(row) => drop(run(to, JOIN, params![row.id, row.session, row.body])?),
        Write::JoinGone { id } => drop(run(to, JOIN_GONE, [id])?),
        Write::Reclaimed { from, to: session, seats } => {
            run(to, RECLAIMED_JOINS, [from, session])?;
            seats.iter().try_for_each(|(id, seat)| run(to, RECLAIMED_SEAT, params![id, session, seat]).map(drop))?;
        }
        Write::SeatsMoved { to: session, seats } => {
            seats.iter().try_for_each(|(id, seat)| run(to, RECLAIMED_SEAT, params![id, session, seat]).map(drop))?;
        }
        Write::Run(row) => {
            run(to, RUN, params![row.name, row.suite, row.season, row.hidden, row.ended_ms, row.body])?;
        }
        Write::RunGone { name } => drop(run(to, RUN_GONE, [name])?),
        Write::Season(row) => drop(run(to, SEASON, params![row.contest, row.name, row.frozen_ms, row.body])?),
        Write::Standing { contest, season, row } => {
            run(to, STANDING, params![contest, season, row.agent, row.owner, row.body])?;
        }
        Write::StandingsReset { contest, season } => drop(run(to, STANDINGS_RESET, [contest, season])?),
        Write::Token(row) => {
            let (scopes, names) = (row.scopes.to_string(), serde_json::Value::from(&row.names[..]).to_string());
            let (hash, times) = (&row.hash.0[..], (row.created_ms, row.expires_ms, row.revoked_ms));
            run(to, TOKEN, params![hash, row.owner, scopes, names, times.0, times.1, times.2])?;
        }
        Write::TokenRevoked { hash, revoked_ms } => {
            run(to, TOKEN_REVOKED, params![&hash.0[..], revoked_ms])?;
        }
        Write::Suspended { owner, since_ms } => drop(run(to, SUSPENDED, params![owner, since_ms])?),
        Write::Resumed { owner } => drop(run(to, RESUMED, [owner])?),
        Write::EndRequested { id } => drop(run(to, END_REQUESTED, [id])?),
        Write::EndProcessed { id } => drop(run(to, END_PROCESSED, [id])?),
        Write::Meta { key, value } => drop(run(to, META, [key, value])?),
        Write::MetaOnce { key, value } => drop(run(to, META_ONCE, [key, value])?),
        Write::Counter { key, value } => drop(run(to, COUNTER, params![key, int(*value)])?),
    }
    Ok(())
}

fn start(to: &Connection, m: &MatchRow) -> rusqlite::Result<()> {
    run(to, START, params![m.id, m.game, m.string, m.rated, m.run, m.header, m.secret, m.started_ms])?;
    seats(to, to.last_insert_rowid(), m)
}

/// Inserts the seats of the match with the sequence number `seq`.
fn seats(to: &Connection, seq: i64, m: &MatchRow) -> rusqlite::Result<()> {
    for (seat, s) in m.seats.iter().enumerate() {
        run(to, SEAT, params![seq, seat as i64, s.agent, s.session, s.join, m.game, m.rated])?;
    }
    Ok(())
}

fn played(to: &Connection, m: &MatchRow, end: &EndRow, released: bool) -> rusqlite::Result<()> {
    let values = params![
        m.id,
        m.game,
        m.string,
        m.rated,
        m.run,
        m.header,
        m.secret,
        m.started_ms,
        end.ended_ms,
        end.reason,
        released
    ];
    run(to, PLAYED, values)?;
    let seq = to.last_insert_rowid();
    seats(to, seq, m)?;
    run(to, PLAYED_RECORD, params![seq, end.footer, end.record])?;
    Ok(())
}

fn act(to: &Connection, id: &str, n: u64, body: &str) -> rusqlite::Result<()> {
    run(to, ACT, params![id, int(n), body]).map(drop)
}

fn ended(to: &Connection, id: &str, end: &EndRow) -> Result<(), Failed> {
    if run(to, END, params![id, end.ended_ms, end.reason])? == 0 {
        return Err(Failed::Store(StoreError::Conflict { message: format!("expected a running match, got {id}") }));
    }
    run(to, RECORD, params![id, end.footer, end.record])?;
    Ok(())
}

fn remove_match(to: &Connection, id: &str) -> rusqlite::Result<()> {
    let text = format!(
        "SELECT m.seq FROM matches m WHERE m.id = ?1 AND NOT EXISTS (SELECT 1 FROM acts a WHERE a.match = m.seq){REMOVABLE}"
    );
    let seq: Option<i64> = to.prepare_cached(&text)?.query_row([id], |row| row.get(0)).optional()?;
    seq.map_or(Ok(()), |seq| MATCH_GONE.iter().try_for_each(|text| run(to, text, [seq]).map(drop)))
}

/// Executes a statement and returns the number of changed rows.
fn run(to: &Connection, text: &str, values: impl Params) -> rusqlite::Result<usize> {
    to.prepare_cached(text)?.execute(values)
}

/// Converts to SQLite's signed integers. Overflow yields null, which the schema rejects.
fn int(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    /// Checks SQLite's query plan, in which each step names an index or scans a whole table.
    #[test]
    fn statements_that_end_and_release_matches_use_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let opened = open::open(folder.path(), open::Access::Owner).unwrap();
        for statement in [ACT, END, RECORD, RELEASE, PLAYED] {
            let mut plan = opened.writer.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let values = vec![rusqlite::types::Null; plan.parameter_count()];
            let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).filter(|s| s.contains("matches")).collect();
            assert!(!steps.is_empty(), "{statement}");
            assert!(steps.iter().all(|s| s.starts_with("SEARCH") && s.contains("INDEX")), "{steps:?}");
        }
    }
}
