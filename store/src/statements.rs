//! SQL statements for writes, which both engines run. Connections cache prepared statements.

use std::borrow::Cow;

use super::engine::Statement;
use super::retention::REMOVABLE;
use super::rows::{EndRow, MatchRow, Write};
use super::value::{ColumnValue, column_int};

const START: &str = "INSERT INTO matches (id, game, string, rated, run, header, secret, started_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const SEAT: &str = "INSERT INTO seats (match, seat, agent, session, \"join\", game, rated) \
                    VALUES ((SELECT seq FROM matches WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7)";
/// Insertion of a log row. If the row's match is not running, the column `match` becomes null, which the schema
/// rejects.
pub(super) const ACT: &str = "INSERT INTO acts (match, n, body) \
                   VALUES ((SELECT seq FROM matches WHERE id = ?1 AND ended_ms IS NULL), ?2, ?3)";
const END: &str = "UPDATE matches SET ended_ms = ?2, reason = ?3 WHERE id = ?1 AND ended_ms IS NULL";
const PLAYED: &str = "INSERT INTO matches \
                      (id, game, string, rated, run, header, secret, started_ms, ended_ms, reason, released) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, CASE WHEN ?11 <> 0 THEN \
                      (SELECT coalesce(max(released), 0) + 1 FROM matches WHERE released IS NOT NULL) END)";
const RECORD: &str =
    "INSERT INTO records (match, footer, record) VALUES ((SELECT seq FROM matches WHERE id = ?1), ?2, ?3)";
/// Release of a match. The redundant inner condition lets SQLite find the greatest value in the index of released
/// matches, instead of reading the whole table.
const RELEASE: &str = "UPDATE matches SET released = \
                       (SELECT coalesce(max(released), 0) + 1 FROM matches WHERE released IS NOT NULL) \
                       WHERE id = ?1 AND ended_ms IS NOT NULL AND released IS NULL";
const RESTARTED: &str = "UPDATE matches SET restarts = ?2 WHERE id = ?1";
const FORGET: &str = "DELETE FROM acts WHERE match = (SELECT seq FROM matches WHERE id = ?1 AND ended_ms IS NOT NULL) \
                      AND n >= ?2";
/// Tables with rows of a match, and their column for the match, in the order of deletion.
const MATCH_GONE: [(&str, &str); 3] = [("records", "match"), ("seats", "match"), ("matches", "seq")];
const SESSION: &str = "INSERT INTO sessions (id, key_hash, old_key, agent, body, expires_ms) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE SET \
                       key_hash = excluded.key_hash, old_key = excluded.old_key, agent = excluded.agent, \
                       body = excluded.body, expires_ms = excluded.expires_ms";
const SESSION_GONE: [&str; 2] = ["DELETE FROM sessions WHERE id = ?1", "DELETE FROM joins WHERE session = ?1"];
const JOIN: &str = "INSERT INTO joins (id, session, body) VALUES (?1, ?2, ?3) \
                    ON CONFLICT (id) DO UPDATE SET session = excluded.session, body = excluded.body";
const JOIN_GONE: &str = "DELETE FROM joins WHERE id = ?1";
const RECLAIMED_JOINS: &str = "UPDATE joins SET session = ?2 WHERE session = ?1";
const RECLAIMED_SEAT: &str =
    "UPDATE seats SET session = ?2 WHERE match = (SELECT seq FROM matches WHERE id = ?1) AND seat = ?3";
const RUN: &str = "INSERT INTO runs (name, suite, season, hidden, ended_ms, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                   ON CONFLICT (name) DO UPDATE SET suite = excluded.suite, season = excluded.season, \
                   hidden = excluded.hidden, ended_ms = excluded.ended_ms, body = excluded.body";
const RUN_GONE: &str = "UPDATE runs SET body = '' WHERE name = ?1";
const SEASON: &str = "INSERT INTO seasons (contest, name, frozen_ms, body) VALUES (?1, ?2, ?3, ?4) \
                      ON CONFLICT (contest, name) DO UPDATE SET frozen_ms = excluded.frozen_ms, body = excluded.body";
const STANDING: &str = "INSERT INTO standings (contest, season, agent, owner, body) VALUES (?1, ?2, ?3, ?4, ?5) \
                        ON CONFLICT (contest, season, agent) DO UPDATE SET \
                        owner = coalesce(standings.owner, excluded.owner), \
                        body = coalesce(excluded.body, standings.body)";
const STANDINGS_RESET: &str = "UPDATE standings SET body = NULL WHERE contest = ?1 AND season = ?2";
const TOKEN: &str = "INSERT INTO tokens (hash, owner, scopes, names, created_ms, expires_ms, revoked_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (hash) DO UPDATE SET owner = excluded.owner, \
                     scopes = excluded.scopes, names = excluded.names, created_ms = excluded.created_ms, \
                     expires_ms = excluded.expires_ms, revoked_ms = excluded.revoked_ms";
const TOKEN_REVOKED: &str = "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?2) WHERE hash = ?1";
const SUSPENDED: &str = "INSERT INTO suspensions (owner, since_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const RESUMED: &str = "DELETE FROM suspensions WHERE owner = ?1";
const END_REQUESTED: &str = "INSERT INTO end_requests (match) VALUES (?1) ON CONFLICT DO NOTHING";
const END_PROCESSED: &str = "DELETE FROM end_requests WHERE match = ?1";
const META: &str =
    "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const META_ONCE: &str = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
const COUNTER: &str = "INSERT INTO counters (key, value) VALUES (?1, ?2) \
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE excluded.value > counters.value";

/// Appends the statements of one write.
pub(super) fn append<'a>(write: &'a Write, to: &mut Vec<Statement<'a>>) {
    match write {
        Write::MatchStart(row) => {
            to.push(statement(START, start(row)));
            to.extend(seats(row));
        }
        Write::MatchPlayed { row, end, released } => {
            let mut values = start(row);
            values.extend([end.ended_ms.into(), (&end.reason).into(), (*released).into()]);
            to.push(statement(PLAYED, values));
            to.extend(seats(row));
            to.push(record(&row.id, end));
        }
        Write::Act { id, n, body } => to.push(statement(ACT, act(id, *n, body))),
        Write::MatchEnd { id, acts, end } => {
            acts.iter().for_each(|row| to.push(statement(ACT, act(id, row.n, &row.body))));
            let values = vec![id.into(), end.ended_ms.into(), (&end.reason).into()];
            to.push(Statement { running: Some(id), ..statement(END, values) });
            to.push(record(id, end));
        }
        Write::Released { ids } => ids.iter().for_each(|id| to.push(statement(RELEASE, vec![id.into()]))),
        Write::Restarted { id, restarts } => to.push(statement(RESTARTED, vec![id.into(), (*restarts).into()])),
        Write::Forget { id, from } => to.push(statement(FORGET, vec![id.into(), column_int(*from).into()])),
        Write::MatchGone { id } => to.extend(match_removal(id)),
        Write::Session(row) => {
            let mut values = vec![(&row.id).into(), (&row.key_hash).into(), row.old_key.as_ref().into()];
            values.extend([(&row.agent).into(), (&row.body).into(), row.expires_ms.into()]);
            to.push(statement(SESSION, values));
        }
        Write::SessionGone { id } => SESSION_GONE.into_iter().for_each(|sql| to.push(statement(sql, vec![id.into()]))),
        Write::Join(row) => to.push(statement(JOIN, vec![(&row.id).into(), (&row.session).into(), (&row.body).into()])),
        Write::JoinGone { id } => to.push(statement(JOIN_GONE, vec![id.into()])),
        Write::Reclaimed { from, to: session, seats } => {
            to.push(statement(RECLAIMED_JOINS, vec![from.into(), session.into()]));
            to.extend(moved(session, seats));
        }
        Write::SeatsMoved { to: session, seats } => to.extend(moved(session, seats)),
        Write::Run(row) => {
            let mut values = vec![(&row.name).into(), (&row.suite).into(), row.season.as_ref().into()];
            values.extend([row.hidden.into(), row.ended_ms.into(), (&row.body).into()]);
            to.push(statement(RUN, values));
        }
        Write::RunGone { name } => to.push(statement(RUN_GONE, vec![name.into()])),
        Write::Season(row) => {
            to.push(statement(
                SEASON,
                vec![(&row.contest).into(), (&row.name).into(), row.frozen_ms.into(), (&row.body).into()],
            ));
        }
        Write::Standing { contest, season, row } => {
            let mut values = vec![contest.into(), season.into(), (&row.agent).into()];
            values.extend([row.owner.as_ref().into(), row.body.as_ref().into()]);
            to.push(statement(STANDING, values));
        }
        Write::StandingsReset { contest, season } => {
            to.push(statement(STANDINGS_RESET, vec![contest.into(), season.into()]))
        }
        Write::Token(row) => {
            let names = serde_json::Value::from(&row.names[..]).to_string();
            let hash = &row.hash.0[..];
            let mut values = vec![hash.into(), (&row.owner).into(), row.scopes.to_string().into(), names.into()];
            values.extend([row.created_ms.into(), row.expires_ms.into(), row.revoked_ms.into()]);
            to.push(statement(TOKEN, values));
        }
        Write::TokenRevoked { hash, revoked_ms } => {
            to.push(statement(TOKEN_REVOKED, vec![(&hash.0[..]).into(), (*revoked_ms).into()]));
        }
        Write::Suspended { owner, since_ms } => to.push(statement(SUSPENDED, vec![owner.into(), (*since_ms).into()])),
        Write::Resumed { owner } => to.push(statement(RESUMED, vec![owner.into()])),
        Write::EndRequested { id } => to.push(statement(END_REQUESTED, vec![id.into()])),
        Write::EndProcessed { id } => to.push(statement(END_PROCESSED, vec![id.into()])),
        Write::Meta { key, value } => to.push(statement(META, vec![key.into(), value.into()])),
        Write::MetaOnce { key, value } => to.push(statement(META_ONCE, vec![key.into(), value.into()])),
        Write::Counter { key, value } => to.push(statement(COUNTER, vec![key.into(), column_int(*value).into()])),
    }
}

/// Returns true if a statement may give a match the next number of release.
#[cfg(feature = "postgres")]
pub(super) fn releases(statement: &Statement<'_>) -> bool {
    matches!(&*statement.sql, RELEASE | PLAYED)
}

fn statement<'a>(sql: impl Into<Cow<'static, str>>, values: Vec<ColumnValue<'a>>) -> Statement<'a> {
    Statement { sql: sql.into(), values, running: None }
}

/// Returns the values of [`START`], which are the first values of [`PLAYED`].
fn start(m: &MatchRow) -> Vec<ColumnValue<'_>> {
    vec![
        (&m.id).into(),
        (&m.game).into(),
        (&m.string).into(),
        m.rated.into(),
        m.run.as_ref().into(),
        (&m.header).into(),
        (&m.secret).into(),
        m.started_ms.into(),
    ]
}

/// Returns the statements that insert the seats of a match.
fn seats(m: &MatchRow) -> impl Iterator<Item = Statement<'_>> {
    m.seats.iter().zip(0_u32..).map(|(s, seat)| {
        let mut values = vec![(&m.id).into(), seat.into(), (&s.agent).into()];
        values.extend([s.session.as_ref().into(), s.join.as_ref().into(), (&m.game).into(), m.rated.into()]);
        statement(SEAT, values)
    })
}

fn record<'a>(id: &'a str, end: &'a EndRow) -> Statement<'a> {
    statement(RECORD, vec![id.into(), (&end.footer).into(), (&end.record).into()])
}

fn act<'a>(id: &'a str, n: u64, body: &'a str) -> Vec<ColumnValue<'a>> {
    vec![id.into(), column_int(n).into(), body.into()]
}

/// Returns the statements that move seats to the session `to`.
fn moved<'a>(to: &'a str, seats: &'a [(String, u32)]) -> impl Iterator<Item = Statement<'a>> {
    seats.iter().map(move |(id, seat)| statement(RECLAIMED_SEAT, vec![id.into(), to.into(), (*seat).into()]))
}

/// Returns the statements that remove a match. Each checks whether the match may be removed, which the earlier ones do not
/// change.
fn match_removal(id: &str) -> impl Iterator<Item = Statement<'_>> {
    MATCH_GONE.iter().map(move |(table, column)| {
        let sql = format!(
            "DELETE FROM {table} WHERE {column} = (SELECT m.seq FROM matches m WHERE m.id = ?1 \
             AND NOT EXISTS (SELECT 1 FROM acts a WHERE a.match = m.seq){REMOVABLE})"
        );
        statement(sql, vec![id.into()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite;

    /// Checks SQLite's query plan, in which each step names an index or scans a whole table.
    #[test]
    fn statements_that_end_and_release_matches_use_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let connection = sqlite::new_database(&folder.path().join("ludex.db")).unwrap();
        for statement in [ACT, END, RECORD, RELEASE, PLAYED, SEAT] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let values = vec![rusqlite::types::Null; plan.parameter_count()];
            let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).filter(|s| s.contains("matches")).collect();
            assert!(!steps.is_empty(), "{statement}");
            assert!(steps.iter().all(|s| s.starts_with("SEARCH") && s.contains("INDEX")), "{steps:?}");
        }
    }
}
