//! Writes as statements of SQLite. What concerns matches is sorted by kind, so that many rows go into one statement.

use std::collections::{HashMap, HashSet};

use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::StoreError;
use super::rows::{EndRow, MatchRow, SeatRow, Write};

/// The most rows in one statement.
pub(super) const ROWS: usize = 32;

/// The end of a match, with its place in the order of release if it is released at once.
const END: [&str; 2] = [
    "UPDATE matches SET ended_ms = e.column2, reason = e.column3, released = e.column4 FROM (",
    ") AS e WHERE matches.id = e.column1 AND matches.ended_ms IS NULL",
];
const RELEASE: [&str; 2] = [
    "UPDATE matches SET released = e.column2 FROM (",
    ") AS e WHERE matches.id = e.column1 AND matches.ended_ms IS NOT NULL AND matches.released IS NULL",
];
/// The condition says nothing new: it lets SQLite take the greatest from the index of released matches, where it would
/// read the whole table otherwise.
const LAST_RELEASED: &str = "SELECT coalesce(max(released), 0) FROM matches WHERE released IS NOT NULL";

/// Why a batch cannot be kept.
pub(super) enum Failed {
    /// SQLite refused.
    Sql(sqlx::Error),
    /// A write contradicts the store.
    Store(StoreError),
}

impl From<sqlx::Error> for Failed {
    fn from(e: sqlx::Error) -> Self {
        Failed::Sql(e)
    }
}

/// Writes that wait to go into statements together: matches begin first, then come acts, then ends, then releases. A
/// write that has to come after one of a later kind makes those that wait go first.
pub(super) struct Batch<'a> {
    connection: &'a mut SqliteConnection,
    starts: Vec<&'a MatchRow>,
    acts: Vec<(&'a str, u64, &'a str)>,
    ends: Vec<(&'a str, &'a EndRow)>,
    released: Vec<&'a str>,
    counters: HashMap<&'a str, u64>,
    /// Matches that end or are released in this batch.
    closed: HashSet<&'a str>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(connection: &'a mut SqliteConnection) -> Self {
        Batch {
            connection,
            starts: Vec::new(),
            acts: Vec::new(),
            ends: Vec::new(),
            released: Vec::new(),
            counters: HashMap::new(),
            closed: HashSet::new(),
        }
    }

    /// Takes a write, or makes it at once if it is of a rare kind.
    pub(super) async fn take(&mut self, write: &'a Write) -> Result<(), Failed> {
        match write {
            Write::MatchStart(MatchRow { id, .. }) | Write::Act { id, .. } | Write::MatchEnd { id, .. }
                if self.closed.contains(id.as_str()) =>
            {
                self.flush().await?;
            }
            Write::Restarted { .. } | Write::Forget { .. } | Write::Reclaimed { .. } => self.flush().await?,
            _ => {}
        }
        match write {
            Write::MatchStart(row) => self.starts.push(row),
            Write::Act { id, n, body } => self.acts.push((id, *n, body)),
            Write::MatchEnd { id, acts, end } => {
                self.acts.extend(acts.iter().map(|act| (id.as_str(), act.n, act.body.as_str())));
                self.ends.push((id, end));
                self.closed.insert(id);
            }
            Write::Released { ids } => {
                self.released.extend(ids.iter().map(String::as_str));
                self.closed.extend(ids.iter().map(String::as_str));
            }
            Write::Counter { key, value } => {
                let highest = self.counters.entry(key).or_default();
                *highest = (*highest).max(*value);
            }
            other => self.make(other).await?,
        }
        Ok(())
    }

    /// Makes all that waits.
    pub(super) async fn flush(&mut self) -> Result<(), Failed> {
        self.begin().await?;
        // A match that is not running makes the row's match null, which the schema refuses.
        let of_running = "(SELECT seq FROM matches WHERE ended_ms IS NULL AND id = ";
        let acts = std::mem::take(&mut self.acts);
        self.rows(["INSERT INTO acts (match, n, body) ", ""], &acts, |row, &(id, n, body)| {
            row.push(of_running).push_bind_unseparated(id.to_owned()).push_unseparated(")");
            row.push_bind(int(n)).push_bind(body.to_owned());
        })
        .await?;
        self.close().await?;
        for (key, value) in std::mem::take(&mut self.counters) {
            let counter = "INSERT INTO counters (key, value) VALUES (?, ?) \
                           ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)";
            sqlx::query(counter).bind(key.to_owned()).bind(int(value)).execute(&mut *self.connection).await?;
        }
        Ok(())
    }

    /// Matches begin.
    async fn begin(&mut self) -> Result<(), Failed> {
        let starts = std::mem::take(&mut self.starts);
        let insert = "INSERT INTO matches (id, game, string, rated, run, header, secret, started_ms) ";
        self.rows([insert, ""], &starts, |row, m| {
            row.push_bind(m.id.clone()).push_bind(m.game.clone()).push_bind(m.string.clone()).push_bind(m.rated);
            row.push_bind(m.run.clone()).push_bind(m.header.clone()).push_bind(m.secret.clone());
            row.push_bind(m.started_ms);
        })
        .await?;
        let seats: Vec<(&str, usize, &SeatRow)> =
            starts.iter().flat_map(|m| m.seats.iter().enumerate().map(|(k, s)| (m.id.as_str(), k, s))).collect();
        let insert = "INSERT INTO seats (match, seat, agent, session, \"join\") ";
        self.rows([insert, ""], &seats, |row, &(id, k, seat)| {
            of_match(row, id);
            row.push_bind(k as i64).push_bind(seat.agent.clone());
            row.push_bind(seat.session.clone()).push_bind(seat.join.clone());
        })
        .await?;
        Ok(())
    }

    /// Matches end, and matches are released.
    async fn close(&mut self) -> Result<(), Failed> {
        let (ends, released) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.released));
        self.closed.clear();
        let mut places = HashMap::new();
        if !released.is_empty() {
            let last: i64 = sqlx::query_scalar(LAST_RELEASED).fetch_one(&mut *self.connection).await?;
            for id in released {
                let next = last + 1 + places.len() as i64;
                places.entry(id).or_insert(next);
            }
        }
        let ends: Vec<_> = ends.into_iter().map(|(id, end)| (id, end, places.remove(id))).collect();
        let ended = self
            .rows(END, &ends, |row, &(id, end, place)| {
                row.push_bind(id.to_owned()).push_bind(end.ended_ms).push_bind(end.reason.clone()).push_bind(place);
            })
            .await?;
        if ended < ends.len() as u64 {
            let ids: Vec<&str> = ends.iter().map(|&(id, ..)| id).collect();
            let message = format!("there is no running match {}", ids.join(", "));
            return Err(Failed::Store(StoreError::Conflict { message }));
        }
        self.rows(["INSERT INTO records (match, footer, record) ", ""], &ends, |row, &(id, end, _)| {
            of_match(row, id);
            row.push_bind(end.footer.clone()).push_bind(end.record.clone());
        })
        .await?;
        // What did not end just now: a pair's first match, or one that is not running, which stays as it is.
        let mut late: Vec<(&str, i64)> = places.into_iter().collect();
        late.sort_unstable_by_key(|&(_, place)| place);
        self.rows(RELEASE, &late, |row, &(id, place)| {
            row.push_bind(id.to_owned()).push_bind(place);
        })
        .await?;
        Ok(())
    }

    /// Makes statements of many rows, which stand between the two halves of the text, and returns how many rows they
    /// changed.
    async fn rows<T>(
        &mut self,
        [before, after]: [&str; 2],
        mut rows: &[T],
        bind: impl Fn(&mut Separated<'_, Sqlite, &'static str>, &T),
    ) -> Result<u64, sqlx::Error> {
        let mut changed = 0;
        while !rows.is_empty() {
            let (now, rest) = rows.split_at(rows.len().min(ROWS));
            let mut query = QueryBuilder::<Sqlite>::new(before);
            query.push_values(now, |mut row, item| bind(&mut row, item)).push(after);
            changed += query.build().execute(&mut *self.connection).await?.rows_affected();
            rows = rest;
        }
        Ok(changed)
    }

    /// Makes one write of a rare kind.
    async fn make(&mut self, write: &Write) -> Result<(), sqlx::Error> {
        let query = match write {
            Write::MatchStart(_)
            | Write::Act { .. }
            | Write::MatchEnd { .. }
            | Write::Released { .. }
            | Write::Counter { .. } => return Ok(()),
            Write::Forget { ids } => return self.forget(ids).await,
            Write::SessionGone { id } => return self.session_gone(id).await,
            Write::Reclaimed { from, to, seats } => return self.reclaimed(from, to, seats).await,
            Write::Restarted { id, restarts } => {
                sqlx::query("UPDATE matches SET restarts = ? WHERE id = ?").bind(*restarts).bind(id.clone())
            }
            Write::Session(row) => sqlx::query(
                "INSERT OR REPLACE INTO sessions (id, key_hash, old_key, agent, body, expires_ms) \
                 VALUES (?, ?, ?, ?, ?, ?)",
            )
            .bind(row.id.clone())
            .bind(row.key_hash.clone())
            .bind(row.old_key.clone())
            .bind(row.agent.clone())
            .bind(row.body.clone())
            .bind(row.expires_ms),
            Write::Join(row) => sqlx::query(
                "INSERT INTO joins (id, session, body) VALUES (?, ?, ?) \
                 ON CONFLICT (id) DO UPDATE SET session = excluded.session, body = excluded.body",
            )
            .bind(row.id.clone())
            .bind(row.session.clone())
            .bind(row.body.clone()),
            Write::JoinGone { id } => sqlx::query("DELETE FROM joins WHERE id = ?").bind(id.clone()),
            Write::Ticket(row) => sqlx::query(
                "INSERT OR REPLACE INTO tickets (ticket, agent, run, body, \"join\") VALUES (?, ?, ?, ?, ?)",
            )
            .bind(row.ticket.clone())
            .bind(row.agent.clone())
            .bind(row.run.clone())
            .bind(row.body.clone())
            .bind(row.join.clone()),
            Write::TicketShown { ticket, join } => {
                sqlx::query("UPDATE tickets SET \"join\" = coalesce(\"join\", ?) WHERE ticket = ?")
                    .bind(join.clone())
                    .bind(ticket.clone())
            }
            Write::TicketsGone { run } => sqlx::query("DELETE FROM tickets WHERE run = ?").bind(run.clone()),
            Write::Token(row) => sqlx::query(
                "INSERT OR REPLACE INTO tokens (hash, owner, scopes, names, created_ms, expires_ms, revoked_ms) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(row.hash.0.to_vec())
            .bind(row.owner.clone())
            .bind(row.scopes.to_string())
            .bind(serde_json::Value::from(&row.names[..]).to_string())
            .bind(row.created_ms)
            .bind(row.expires_ms)
            .bind(row.revoked_ms),
            Write::TokenRevoked { hash, revoked_ms } => {
                sqlx::query("UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?) WHERE hash = ?")
                    .bind(*revoked_ms)
                    .bind(hash.0.to_vec())
            }
            Write::Meta { key, value } => sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
                .bind(key.clone())
                .bind(value.clone()),
            Write::MetaOnce { key, value } => sqlx::query("INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)")
                .bind(key.clone())
                .bind(value.clone()),
        };
        query.execute(&mut *self.connection).await.map(drop)
    }

    async fn forget(&mut self, ids: &[String]) -> Result<(), sqlx::Error> {
        let of_ended = "DELETE FROM acts WHERE match = (SELECT seq FROM matches WHERE id = ? AND ended_ms IS NOT NULL)";
        for id in ids {
            sqlx::query(of_ended).bind(id.clone()).execute(&mut *self.connection).await?;
        }
        Ok(())
    }

    async fn session_gone(&mut self, id: &str) -> Result<(), sqlx::Error> {
        for delete in ["DELETE FROM sessions WHERE id = ?", "DELETE FROM joins WHERE session = ?"] {
            sqlx::query(delete).bind(id.to_owned()).execute(&mut *self.connection).await?;
        }
        Ok(())
    }

    async fn reclaimed(&mut self, from: &str, to: &str, seats: &[(String, u32)]) -> Result<(), sqlx::Error> {
        let joins = sqlx::query("UPDATE joins SET session = ? WHERE session = ?").bind(to.to_owned());
        joins.bind(from.to_owned()).execute(&mut *self.connection).await?;
        let seat = "UPDATE seats SET session = ? WHERE match = (SELECT seq FROM matches WHERE id = ?) AND seat = ?";
        for (id, k) in seats {
            let query = sqlx::query(seat).bind(to.to_owned()).bind(id.clone()).bind(*k);
            query.execute(&mut *self.connection).await?;
        }
        Ok(())
    }
}

/// The number of a match in the store, as the next column of a row.
fn of_match(row: &mut Separated<'_, Sqlite, &'static str>, id: &str) {
    row.push("(SELECT seq FROM matches WHERE id = ").push_bind_unseparated(id.to_owned()).push_unseparated(")");
}

/// SQLite's integers are signed; what does not fit becomes null, which the schema refuses.
fn int(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    /// What SQLite means to do: each step names the index that it uses, or reads a whole table.
    #[tokio::test]
    async fn ends_and_releases_read_no_table_through() {
        let folder = tempfile::tempdir().unwrap();
        let mut opened = open::open(folder.path(), open::Access::Owner).await.unwrap();
        let values = |columns: &str| format!("VALUES ({columns}), ({columns})");
        let statements = [
            format!("{}{}{}", END[0], values("'m_1', 1, 'x', 2"), END[1]),
            format!("{}{}{}", RELEASE[0], values("'m_1', 1"), RELEASE[1]),
            LAST_RELEASED.to_owned(),
        ];
        for statement in statements {
            let text = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let steps: Vec<(i64, i64, i64, String)> = sqlx::query_as(text).fetch_all(&mut opened.writer).await.unwrap();
            let of_matches: Vec<&String> =
                steps.iter().map(|(.., step)| step).filter(|s| s.contains("matches")).collect();
            assert!(!of_matches.is_empty(), "{steps:?}");
            assert!(of_matches.iter().all(|s| s.starts_with("SEARCH") && s.contains("INDEX")), "{steps:?}");
        }
    }
}
