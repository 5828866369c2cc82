//! Reading: through connections of their own, each query seeing what was committed before it began.

use std::collections::HashMap;
use std::path::Path;

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqlitePool};

use super::rows::{
    ActRow, EndRow, JoinRow, KeptMatch, MatchFilter, MatchLine, MatchRow, RecordRow, SeatRow, SessionRow, TicketRow,
    TokenRow,
};
use super::{Store, StoreError};
use crate::token::TokenHash;

/// The columns of a whole match.
const MATCH: &str = "SELECT m.seq, m.id, m.game, m.string, m.rated, m.run, m.header, m.secret, m.started_ms, \
                     m.restarts, m.released, m.ended_ms, m.reason, r.footer, r.record \
                     FROM matches m LEFT JOIN records r ON r.match = m.seq ";

/// The seats and the logs of matches, by match.
const SEATS: &str = "SELECT s.match, s.agent, s.session, s.\"join\" FROM matches m JOIN seats s ON s.match = m.seq ";
const ACTS: &str = "SELECT a.match, a.n, a.body FROM matches m JOIN acts a ON a.match = m.seq ";

impl Store {
    /// The matches that have no end, with their logs, oldest first.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Unreadable`], or SQLite's, as for every read.
    pub async fn running(&self) -> Result<Vec<KeptMatch>, StoreError> {
        self.with_logs(|query| query.push("m.ended_ms IS NULL")).await
    }

    /// The matches that ended at or after a time, with their logs as far as they were not forgotten: what clients that
    /// come back after a crash may not have seen the end of.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn ended_since(&self, ended_ms: i64) -> Result<Vec<KeptMatch>, StoreError> {
        self.with_logs(|query| query.push("m.ended_ms >= ").push_bind(ended_ms)).await
    }

    /// The matches that ended and are not released: ids and secrets, oldest first.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn unreleased(&self) -> Result<Vec<(String, String)>, StoreError> {
        let text = "SELECT id, secret FROM matches WHERE ended_ms IS NOT NULL AND released IS NULL ORDER BY seq";
        self.all(QueryBuilder::new(text), |row| Ok((row.try_get(0)?, row.try_get(1)?))).await
    }

    /// One match, running or ended, with its log.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn episode(&self, id: &str) -> Result<Option<KeptMatch>, StoreError> {
        Ok(self.with_logs(|query| query.push("m.id = ").push_bind(id.to_owned())).await?.pop())
    }

    /// Matches with their seats and logs, as of one moment; `which` writes the condition.
    async fn with_logs(
        &self,
        which: impl Fn(&mut QueryBuilder<Sqlite>) -> &mut QueryBuilder<Sqlite>,
    ) -> Result<Vec<KeptMatch>, StoreError> {
        let sql = |e| StoreError::sql(self.path(), e);
        let query = |select: &str, order: &str| {
            let mut query = QueryBuilder::new(select);
            query.push("WHERE ");
            which(&mut query);
            query.push(order);
            query
        };
        let mut matches = query(MATCH, " ORDER BY m.seq");
        let mut seats = query(SEATS, " ORDER BY s.match, s.seat");
        let mut acts = query(ACTS, " ORDER BY a.match, a.n");
        let mut snapshot = self.shared.readers.begin().await.map_err(sql)?;
        let rows = matches.build().fetch_all(&mut *snapshot).await.map_err(sql)?;
        let seats = seats.build().fetch_all(&mut *snapshot).await.map_err(sql)?;
        let acts = acts.build().fetch_all(&mut *snapshot).await.map_err(sql)?;
        snapshot.commit().await.map_err(sql)?;
        let mut seats = grouped(&seats, seat).map_err(sql)?;
        let mut logs =
            grouped(&acts, |row| Ok(ActRow { n: unsigned(row.try_get(1)?), body: row.try_get(2)? })).map_err(sql)?;
        let kept = |row: &SqliteRow| {
            let seq = row.try_get("seq")?;
            // A match without seats or without acts has no entry there.
            let (seats, acts) = (seats.remove(&seq).unwrap_or_default(), logs.remove(&seq).unwrap_or_default());
            kept_match(row, seats, acts)
        };
        rows.iter().map(kept).collect::<Result<_, _>>().map_err(sql)
    }

    /// Matches that fit, newest first, at most `limit`. For the next page, set [`MatchFilter::before`] to the last
    /// line's `seq`.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn matches(&self, filter: &MatchFilter, limit: u32) -> Result<Vec<MatchLine>, StoreError> {
        let mut query = QueryBuilder::new(
            "SELECT m.seq, m.id, m.game, m.string, m.rated, m.run, m.header, m.started_ms, m.ended_ms, m.reason, \
             m.released FROM matches m WHERE TRUE",
        );
        narrow(&mut query, filter);
        if let Some(live) = filter.live {
            query.push(if live { " AND m.ended_ms IS NULL" } else { " AND m.ended_ms IS NOT NULL" });
        }
        if let Some(before) = filter.before {
            query.push(" AND m.seq < ").push_bind(i64::try_from(before).unwrap_or(i64::MAX));
        }
        query.push(" ORDER BY m.seq DESC LIMIT ").push_bind(limit);
        self.all(query, match_line).await
    }

    /// Released records that fit, in the order of release, at most `limit`, from after place `after` (0 for the
    /// beginning). For the next page, `after` is the last row's `seq`; records released later come later, so that a
    /// reader may continue from where it was.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn records(&self, filter: &MatchFilter, after: u64, limit: u32) -> Result<Vec<RecordRow>, StoreError> {
        let mut query = QueryBuilder::new(
            "SELECT m.released, m.id, r.record FROM matches m JOIN records r ON r.match = m.seq WHERE m.released > ",
        );
        query.push_bind(i64::try_from(after).unwrap_or(i64::MAX));
        narrow(&mut query, filter);
        query.push(" ORDER BY m.released LIMIT ").push_bind(limit);
        self.all(query, |row| {
            Ok(RecordRow { seq: unsigned(row.try_get(0)?), id: row.try_get(1)?, record: row.try_get(2)? })
        })
        .await
    }

    /// A session by its id.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        let mut query = QueryBuilder::new(SESSION);
        query.push(" WHERE id = ").push_bind(id.to_owned());
        Ok(self.all(query, session).await?.pop())
    }

    /// All sessions.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.all(QueryBuilder::new(SESSION), session).await
    }

    /// All joins in the order they were made, each with the number of matches that it had so far.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn joins(&self) -> Result<Vec<(JoinRow, u32)>, StoreError> {
        let text = "SELECT j.id, j.session, j.body, (SELECT count(*) FROM seats s WHERE s.\"join\" = j.id) \
                    FROM joins j ORDER BY j.n";
        let row = |row: &SqliteRow| {
            let join = JoinRow { id: row.try_get(0)?, session: row.try_get(1)?, body: row.try_get(2)? };
            Ok((join, row.try_get(3)?))
        };
        self.all(QueryBuilder::new(text), row).await
    }

    /// A ticket as it was handed out.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn ticket(&self, ticket: &str) -> Result<Option<TicketRow>, StoreError> {
        let mut query = QueryBuilder::new("SELECT ticket, agent, run, body, \"join\" FROM tickets WHERE ticket = ");
        query.push_bind(ticket.to_owned());
        let row = |row: &SqliteRow| {
            Ok(TicketRow {
                ticket: row.try_get(0)?,
                agent: row.try_get(1)?,
                run: row.try_get(2)?,
                body: row.try_get(3)?,
                join: row.try_get(4)?,
            })
        };
        Ok(self.all(query, row).await?.pop())
    }

    /// A token by its hash, also one that was revoked or has expired.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<TokenRow>, StoreError> {
        let mut query = QueryBuilder::new(TOKEN);
        query.push(" WHERE hash = ").push_bind(hash.0.to_vec());
        Ok(self.all(query, token).await?.pop())
    }

    /// All tokens, in the order they were made.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let mut query = QueryBuilder::new(TOKEN);
        query.push(" ORDER BY created_ms, owner, hash");
        self.all(query, token).await
    }

    /// Whether there was ever a token, be it revoked by now.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn has_tokens(&self) -> Result<bool, StoreError> {
        let any: i64 = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM tokens)")
            .fetch_one(&self.shared.readers)
            .await
            .map_err(|e| StoreError::sql(self.path(), e))?;
        Ok(any != 0)
    }

    /// A value by name.
    ///
    /// # Errors
    /// As [`running`](Self::running).
    pub async fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
            .bind(key.to_owned())
            .fetch_optional(&self.shared.readers)
            .await
            .map_err(|e| StoreError::sql(self.path(), e))
    }

    /// All rows of a query.
    async fn all<T>(
        &self,
        mut query: QueryBuilder<Sqlite>,
        read: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = |e| StoreError::sql(self.path(), e);
        let rows = query.build().fetch_all(&self.shared.readers).await.map_err(sql)?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(sql)
    }
}

/// What every counter stands at.
pub(super) async fn counters(readers: &SqlitePool, path: &Path) -> Result<HashMap<String, u64>, StoreError> {
    let rows: Vec<(String, i64)> = sqlx::query_as("SELECT key, value FROM counters")
        .fetch_all(readers)
        .await
        .map_err(|e| StoreError::sql(path, e))?;
    Ok(rows.into_iter().map(|(key, value)| (key, unsigned(value))).collect())
}

/// The conditions that lists and records share.
fn narrow(query: &mut QueryBuilder<Sqlite>, filter: &MatchFilter) {
    if let Some(game) = &filter.game {
        let id = game.split('(').next().unwrap_or_default();
        query.push(" AND m.game = ").push_bind(id.to_owned());
        if id.len() < game.len() {
            query.push(" AND m.string = ").push_bind(game.clone());
        }
    }
    if let Some(agent) = &filter.agent {
        query.push(" AND m.seq IN (SELECT match FROM seats WHERE agent = ").push_bind(agent.clone()).push(")");
    }
    if let Some(run) = &filter.run {
        query.push(" AND m.run = ").push_bind(run.clone());
    }
    if let Some(rated) = filter.rated {
        query.push(" AND m.rated = ").push_bind(rated);
    }
}

/// Rows by the match in their first column, in their order.
fn grouped<T>(
    rows: &[SqliteRow],
    read: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
) -> Result<HashMap<i64, Vec<T>>, sqlx::Error> {
    let mut groups: HashMap<i64, Vec<T>> = HashMap::new();
    for row in rows {
        groups.entry(row.try_get(0)?).or_default().push(read(row)?);
    }
    Ok(groups)
}

fn seat(row: &SqliteRow) -> Result<SeatRow, sqlx::Error> {
    Ok(SeatRow { agent: row.try_get(1)?, session: row.try_get(2)?, join: row.try_get(3)? })
}

fn kept_match(row: &SqliteRow, seats: Vec<SeatRow>, acts: Vec<ActRow>) -> Result<KeptMatch, sqlx::Error> {
    let ended_ms: Option<i64> = row.try_get("ended_ms")?;
    let end = match ended_ms {
        None => None,
        Some(ended_ms) => Some(EndRow {
            reason: row.try_get("reason")?,
            ended_ms,
            footer: row.try_get("footer")?,
            record: row.try_get("record")?,
        }),
    };
    Ok(KeptMatch {
        row: MatchRow {
            id: row.try_get("id")?,
            game: row.try_get("game")?,
            string: row.try_get("string")?,
            rated: row.try_get("rated")?,
            run: row.try_get("run")?,
            seats,
            header: row.try_get("header")?,
            secret: row.try_get("secret")?,
            started_ms: row.try_get("started_ms")?,
        },
        restarts: row.try_get("restarts")?,
        acts,
        end,
        released: row.try_get::<Option<i64>, _>("released")?.is_some(),
    })
}

fn match_line(row: &SqliteRow) -> Result<MatchLine, sqlx::Error> {
    let ended_ms: Option<i64> = row.try_get("ended_ms")?;
    Ok(MatchLine {
        seq: unsigned(row.try_get("seq")?),
        id: row.try_get("id")?,
        game: row.try_get("game")?,
        string: row.try_get("string")?,
        rated: row.try_get("rated")?,
        run: row.try_get("run")?,
        header: row.try_get("header")?,
        started_ms: row.try_get("started_ms")?,
        ended: ended_ms.map(|at| Ok::<_, sqlx::Error>((at, row.try_get("reason")?))).transpose()?,
        released: row.try_get::<Option<i64>, _>("released")?.is_some(),
    })
}

const SESSION: &str = "SELECT id, key_hash, old_key, agent, body, expires_ms FROM sessions";

fn session(row: &SqliteRow) -> Result<SessionRow, sqlx::Error> {
    Ok(SessionRow {
        id: row.try_get("id")?,
        key_hash: row.try_get("key_hash")?,
        old_key: row.try_get("old_key")?,
        agent: row.try_get("agent")?,
        body: row.try_get("body")?,
        expires_ms: row.try_get("expires_ms")?,
    })
}

const TOKEN: &str = "SELECT hash, owner, scopes, names, created_ms, expires_ms, revoked_ms FROM tokens";

fn token(row: &SqliteRow) -> Result<TokenRow, sqlx::Error> {
    let scopes: String = row.try_get("scopes")?;
    Ok(TokenRow {
        hash: hash(row.try_get("hash")?)?,
        owner: row.try_get("owner")?,
        scopes: scopes.parse().map_err(|e| unreadable("scopes", e))?,
        names: list(row, "names")?,
        created_ms: row.try_get("created_ms")?,
        expires_ms: row.try_get("expires_ms")?,
        revoked_ms: row.try_get("revoked_ms")?,
    })
}

fn hash(bytes: Vec<u8>) -> Result<TokenHash, sqlx::Error> {
    bytes.try_into().map(TokenHash).map_err(|bytes: Vec<u8>| {
        unreadable("hash", std::io::Error::other(format!("{} bytes instead of 32", bytes.len())))
    })
}

/// A column that holds a JSON list of names.
fn list(row: &SqliteRow, column: &str) -> Result<Vec<String>, sqlx::Error> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|e| unreadable(column, e))
}

fn unreadable(column: &str, source: impl std::error::Error + Send + Sync + 'static) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: Box::new(source) }
}

/// What was stored from a `u64` that fitted.
fn unsigned(n: i64) -> u64 {
    n.max(0).cast_unsigned()
}
