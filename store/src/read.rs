//! Read queries. Each query uses a separate connection and sees the data committed before the query started.

use std::collections::{HashMap, HashSet};

use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Row, params, params_from_iter};

use super::rows::{
    ActRow, EndRow, JoinRow, MatchFilter, MatchLine, MatchRow, MatchState, RecordRow, SeatRow, SessionRow, StoredMatch,
    TokenRow,
};
use super::{Store, StoreError, TokenHash};

/// Query for all columns of a match.
const MATCH: &str = "SELECT m.seq, m.id, m.game, m.string, m.rated, m.run, m.header, m.secret, m.started_ms, \
                     m.restarts, m.released, m.ended_ms, m.reason, r.footer, r.record \
                     FROM matches m LEFT JOIN records r ON r.match = m.seq ";

/// Queries for the seats and the logs of matches.
const SEATS: &str = "SELECT s.match, s.agent, s.session, s.\"join\" FROM matches m JOIN seats s ON s.match = m.seq ";
const ACTS: &str = "SELECT a.match, a.n, a.body FROM matches m JOIN acts a ON a.match = m.seq ";

impl Store {
    /// Returns the running matches with their logs, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`], [`StoreError::Unreadable`], or an SQLite error, as for every read.
    pub async fn running(&self) -> Result<Vec<StoredMatch>, StoreError> {
        self.with_logs("m.ended_ms IS NULL", None).await
    }

    /// Returns pairs of match id and session id: one for every seat that a session played in a match that ended at
    /// `ended_ms` or later. The matches are ordered by end time. After a crash, the clients of these sessions may not
    /// know that the matches have ended.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn ended_since(&self, ended_ms: i64) -> Result<Vec<(String, String)>, StoreError> {
        let mut query = Query::new("SELECT m.id, s.session FROM matches m JOIN seats s ON s.match = m.seq");
        query.and(" WHERE m.ended_ms >= ? AND s.session IS NOT NULL ORDER BY m.ended_ms, m.seq", ended_ms);
        self.all(query, |row| Ok((row.get(0)?, row.get(1)?))).await
    }

    /// Returns the ids and secrets of ended matches that are not released, oldest first.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn unreleased(&self) -> Result<Vec<(String, String)>, StoreError> {
        let text = "SELECT id, secret FROM matches WHERE ended_ms IS NOT NULL AND released IS NULL ORDER BY seq";
        self.all(Query::new(text), |row| Ok((row.get(0)?, row.get(1)?))).await
    }

    /// Returns one match, running or ended, with its log.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn episode(&self, id: &str) -> Result<Option<StoredMatch>, StoreError> {
        Ok(self.with_logs("m.id = ?1", Some(id.to_owned().into())).await?.pop())
    }

    /// Returns the state of one match, without its log.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn match_state(&self, id: &str) -> Result<Option<MatchState>, StoreError> {
        let mut query = Query::new(
            "SELECT m.ended_ms IS NOT NULL, m.released IS NOT NULL, \
             (SELECT count(*) FROM acts a WHERE a.match = m.seq) FROM matches m",
        );
        query.and(" WHERE m.id = ?", id.to_owned());
        let row = |row: &Row<'_>| {
            let [ended, released] = [row.get(0)?, row.get(1)?];
            Ok(MatchState { rows: unsigned(row.get(2)?), ended, released })
        };
        Ok(self.all(query, row).await?.pop())
    }

    /// Returns a consistent snapshot of matches with their seats and logs. `which` is an SQL condition on the matches
    /// table `m`, with at most one placeholder, for `value`.
    async fn with_logs(&self, which: &'static str, value: Option<Value>) -> Result<Vec<StoredMatch>, StoreError> {
        self.read(move |from| {
            let query = |select: &str, order: &str| format!("{select}WHERE {which} ORDER BY {order}");
            let mut seats = grouped(from, &query(SEATS, "s.match, s.seat"), &value, seat)?;
            let mut acts = grouped(from, &query(ACTS, "a.match, a.n"), &value, act)?;
            all(from, &query(MATCH, "m.seq"), &value, |row| {
                let seq = row.get("seq")?;
                // A match without seats or log rows has no entry in the respective map.
                let (seats, acts) = (seats.remove(&seq).unwrap_or_default(), acts.remove(&seq).unwrap_or_default());
                kept_match(row, seats, acts)
            })
        })
        .await
    }

    /// Returns at most `limit` matches that fit the filter, newest first. For the next page, set
    /// [`MatchFilter::before`] to the last line's `seq`.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn matches(&self, filter: &MatchFilter, limit: u32) -> Result<Vec<MatchLine>, StoreError> {
        let query = list_of(filter, limit);
        self.all(query, match_line).await
    }

    /// Returns at most `limit` released records that fit the filter, in order of release, starting after number `after`
    /// (0 for the first page). For the next page, set `after` to the last row's `seq`. Records released later have
    /// higher numbers, so a reader can continue at any time.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn records(&self, filter: &MatchFilter, after: u64, limit: u32) -> Result<Vec<RecordRow>, StoreError> {
        let query = records_of(filter, after, limit);
        let row = |row: &Row<'_>| Ok(RecordRow { seq: unsigned(row.get(0)?), id: row.get(1)?, record: row.get(2)? });
        self.all(query, row).await
    }

    /// Returns the release number of the last released record; 0 if no record is released.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn last_release(&self) -> Result<u64, StoreError> {
        let text = "SELECT coalesce(max(released), 0) FROM matches WHERE released IS NOT NULL";
        self.read(move |from| from.query_row(text, [], |row| Ok(unsigned(row.get(0)?)))).await
    }

    /// Returns the ids of all games with matches, in ascending order.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn games(&self) -> Result<Vec<String>, StoreError> {
        // Skips from game to game in the index; DISTINCT would read the row of every match.
        let text = "WITH RECURSIVE known (game) AS (SELECT min(game) FROM matches UNION ALL \
                    SELECT (SELECT min(game) FROM matches WHERE game > known.game) FROM known WHERE known.game IS NOT NULL) \
                    SELECT game FROM known WHERE game IS NOT NULL";
        self.all(Query::new(text), |row| row.get(0)).await
    }

    /// Returns a session by id.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        let mut query = Query::new(SESSION);
        query.and(" WHERE id = ?", id.to_owned());
        Ok(self.all(query, session).await?.pop())
    }

    /// Returns all sessions.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.all(Query::new(SESSION), session).await
    }

    /// Returns all joins in order of creation, each with the number of its matches so far.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn joins(&self) -> Result<Vec<(JoinRow, u32)>, StoreError> {
        let text = "SELECT j.id, j.session, j.body, (SELECT count(*) FROM seats s WHERE s.\"join\" = j.id) \
                    FROM joins j ORDER BY j.n";
        let row = |row: &Row<'_>| {
            let join = JoinRow { id: row.get(0)?, session: row.get(1)?, body: row.get(2)? };
            Ok((join, row.get(3)?))
        };
        self.all(Query::new(text), row).await
    }

    /// Returns a token by hash, including revoked and expired tokens.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<TokenRow>, StoreError> {
        let mut query = Query::new(TOKEN);
        query.and(" WHERE hash = ?", hash.0.to_vec());
        Ok(self.all(query, token).await?.pop())
    }

    /// Returns the tokens among `hashes` that are no longer valid: revoked, expired at `now_ms`, or missing.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn void_tokens(&self, hashes: HashSet<TokenHash>, now_ms: i64) -> Result<HashSet<TokenHash>, StoreError> {
        self.read(move |from| {
            let mut good = from.prepare_cached(GOOD_TOKEN)?;
            let mut void = HashSet::new();
            for hash in hashes {
                if !good.exists(params![&hash.0[..], now_ms])? {
                    void.insert(hash);
                }
            }
            Ok(void)
        })
        .await
    }

    /// Returns all tokens in order of creation.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        let mut query = Query::new(TOKEN);
        query.text.push_str(" ORDER BY created_ms, owner, hash");
        self.all(query, token).await
    }

    /// Calls `fold` with each token, including revoked and expired tokens, on the thread of the read, and returns the
    /// last result.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn fold_tokens<T: Send + 'static>(
        &self,
        start: T,
        mut fold: impl FnMut(T, TokenRow) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read(move |from| {
            let mut tokens = from.prepare_cached(TOKEN)?;
            tokens.query_map([], token)?.try_fold(start, |folded, row| Ok(fold(folded, row?)))
        })
        .await
    }

    /// Returns true if any token was ever created, including revoked tokens.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn has_tokens(&self) -> Result<bool, StoreError> {
        self.read(|from| from.query_row("SELECT EXISTS (SELECT 1 FROM tokens)", [], |row| row.get(0))).await
    }

    /// Returns the suspended owners.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn suspended_owners(&self) -> Result<HashSet<String>, StoreError> {
        let owners = self.all(Query::new("SELECT owner FROM suspensions"), |row| row.get(0)).await?;
        Ok(owners.into_iter().collect())
    }

    /// Returns true if an owner is suspended.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn is_suspended(&self, owner: &str) -> Result<bool, StoreError> {
        let owner = owner.to_owned();
        let text = "SELECT EXISTS (SELECT 1 FROM suspensions WHERE owner = ?)";
        self.read(move |from| from.query_row(text, [owner], |row| row.get(0))).await
    }

    /// Returns the ids of the matches that an operator has requested to end.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn end_requests(&self) -> Result<Vec<String>, StoreError> {
        self.all(Query::new("SELECT match FROM end_requests"), |row| row.get(0)).await
    }

    /// Returns the value stored under `key`.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let mut query = Query::new("SELECT value FROM meta");
        query.and(" WHERE key = ?", key.to_owned());
        Ok(self.all(query, |row| row.get(0)).await?.pop())
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.readers.read(read).await
    }

    /// Returns all rows of a query.
    pub(super) async fn all<T: Send + 'static>(
        &self,
        query: Query,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        self.read(move |from| all(from, &query.text, &query.values, read)).await
    }
}

/// Text of a query, and the values for its `?` placeholders, in order.
pub(super) struct Query {
    pub(super) text: String,
    values: Vec<Value>,
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        Query { text: text.to_owned(), values: Vec::new() }
    }

    /// Appends text with one `?` placeholder, and the placeholder's value.
    pub(super) fn and(&mut self, text: &str, value: impl Into<Value>) {
        self.text.push_str(text);
        self.values.push(value.into());
    }

    /// Returns the query for the steps of this query's plan.
    #[cfg(test)]
    pub(super) fn explained(self) -> Self {
        Query { text: format!("EXPLAIN QUERY PLAN {}", self.text), ..self }
    }

    /// Adds the conditions that list queries and record queries share. Columns that exist in both tables are compared
    /// in the seats table `s` if `by_seat` is true, else in the matches table `m`.
    fn narrow(&mut self, filter: &MatchFilter, by_seat: bool) {
        let of = if by_seat { "s" } else { "m" };
        if let Some(agent) = &filter.agent {
            let sits = if by_seat {
                " AND s.agent = ?"
            } else {
                " AND EXISTS (SELECT 1 FROM seats WHERE agent = ? AND match = m.seq)"
            };
            self.and(sits, agent.clone());
        }
        if let Some(game) = &filter.game {
            let id = game.split('(').next().unwrap_or(game);
            self.and(&format!(" AND {of}.game = ?"), id.to_owned());
            if id.len() < game.len() {
                self.and(" AND m.string = ?", game.clone());
            }
        }
        if let Some(run) = &filter.run {
            self.and(" AND m.run = ?", run.clone());
        }
        if let Some(rated) = filter.rated {
            self.and(&format!(" AND {of}.rated = ?"), rated);
        }
        if filter.released {
            self.text.push_str(" AND m.released IS NOT NULL");
        }
    }
}

/// Returns the query for a list of matches. Even in a large store, the query reads few rows: the running matches, the
/// matches of a run, the matches of an agent (found by its seats), or as many matches of a game as fit on the page.
fn list_of(filter: &MatchFilter, limit: u32) -> Query {
    let live = filter.live == Some(true);
    let by_seat = filter.agent.is_some() && filter.run.is_none() && !live;
    let (from, place) = match (by_seat, live) {
        (true, _) => ("seats s CROSS JOIN matches m ON m.seq = s.match", "s.match"),
        // Without the hint, SQLite would read all matches of a game.
        (false, true) => ("matches m INDEXED BY matches_running", "m.seq"),
        (false, false) => ("matches m", "m.seq"),
    };
    let mut query = Query::new(&format!(
        "SELECT m.seq, m.id, m.game, m.string, m.rated, m.run, m.header, m.started_ms, m.ended_ms, m.reason, \
         m.released, r.footer FROM {from} LEFT JOIN records r ON r.match = m.seq WHERE TRUE"
    ));
    query.narrow(filter, by_seat);
    if filter.live.is_some() {
        // The unary plus prevents SQLite from using the index by end time, which would require a sort.
        query.text.push_str(if live { " AND m.ended_ms IS NULL" } else { " AND +m.ended_ms IS NOT NULL" });
    }
    if let Some(before) = filter.before {
        query.and(&format!(" AND {place} < ?"), signed(before));
    }
    if by_seat {
        // Lists a match once, even if the agent has two seats in it.
        query.text.push_str(" GROUP BY s.match");
    }
    query.and(&format!(" ORDER BY {place} DESC LIMIT ?"), limit);
    query
}

/// Returns the query for a page of records.
fn records_of(filter: &MatchFilter, after: u64, limit: u32) -> Query {
    // With any other index, SQLite would read and sort all records of a game for each page.
    let index = if filter.run.is_some() { "matches_run_released" } else { "matches_released" };
    let mut query = Query::new(&format!(
        "SELECT m.released, m.id, r.record FROM matches m INDEXED BY {index} \
         JOIN records r ON r.match = m.seq WHERE TRUE"
    ));
    query.and(" AND m.released > ?", signed(after));
    query.narrow(filter, false);
    query.and(" ORDER BY m.released LIMIT ?", limit);
    query
}

/// Returns the values of all counters.
pub(super) fn counters(from: &Connection) -> rusqlite::Result<HashMap<String, u64>> {
    let row = |row: &Row<'_>| Ok((row.get(0)?, unsigned(row.get(1)?)));
    Ok(all(from, "SELECT key, value FROM counters", &None, row)?.into_iter().collect())
}

/// Returns all rows of a query.
fn all<'a, T>(
    from: &Connection,
    text: &str,
    values: impl IntoIterator<Item = &'a Value>,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    from.prepare_cached(text)?.query_map(params_from_iter(values), read)?.collect()
}

/// Groups the rows of a query by match, which is in the first column. Keeps the order of the rows.
fn grouped<T>(
    from: &Connection,
    text: &str,
    value: &Option<Value>,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<HashMap<i64, Vec<T>>> {
    let mut groups: HashMap<i64, Vec<T>> = HashMap::new();
    for (of, row) in all(from, text, value, |row| Ok((row.get(0)?, read(row)?)))? {
        groups.entry(of).or_default().push(row);
    }
    Ok(groups)
}

fn act(row: &Row<'_>) -> rusqlite::Result<ActRow> {
    Ok(ActRow { n: unsigned(row.get(1)?), body: row.get(2)? })
}

fn seat(row: &Row<'_>) -> rusqlite::Result<SeatRow> {
    Ok(SeatRow { agent: row.get(1)?, session: row.get(2)?, join: row.get(3)? })
}

fn kept_match(row: &Row<'_>, seats: Vec<SeatRow>, acts: Vec<ActRow>) -> rusqlite::Result<StoredMatch> {
    let ended_ms: Option<i64> = row.get("ended_ms")?;
    let end = match ended_ms {
        None => None,
        Some(ended_ms) => Some(EndRow {
            reason: row.get("reason")?,
            ended_ms,
            footer: row.get("footer")?,
            record: row.get("record")?,
        }),
    };
    Ok(StoredMatch {
        row: MatchRow {
            id: row.get("id")?,
            game: row.get("game")?,
            string: row.get("string")?,
            rated: row.get("rated")?,
            run: row.get("run")?,
            seats,
            header: row.get("header")?,
            secret: row.get("secret")?,
            started_ms: row.get("started_ms")?,
        },
        restarts: row.get("restarts")?,
        acts,
        end,
        released: row.get::<_, Option<i64>>("released")?.is_some(),
    })
}

fn match_line(row: &Row<'_>) -> rusqlite::Result<MatchLine> {
    let ended_ms: Option<i64> = row.get("ended_ms")?;
    Ok(MatchLine {
        seq: unsigned(row.get("seq")?),
        id: row.get("id")?,
        game: row.get("game")?,
        string: row.get("string")?,
        rated: row.get("rated")?,
        run: row.get("run")?,
        header: row.get("header")?,
        started_ms: row.get("started_ms")?,
        ended: ended_ms.map(|at| Ok::<_, rusqlite::Error>((at, row.get("reason")?))).transpose()?,
        footer: row.get("footer")?,
        released: row.get::<_, Option<i64>>("released")?.is_some(),
    })
}

const SESSION: &str = "SELECT id, key_hash, old_key, agent, body, expires_ms FROM sessions";

fn session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get("id")?,
        key_hash: row.get("key_hash")?,
        old_key: row.get("old_key")?,
        agent: row.get("agent")?,
        body: row.get("body")?,
        expires_ms: row.get("expires_ms")?,
    })
}

const TOKEN: &str = "SELECT hash, owner, scopes, names, created_ms, expires_ms, revoked_ms FROM tokens";

const GOOD_TOKEN: &str =
    "SELECT 1 FROM tokens WHERE hash = ?1 AND revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?2)";

fn token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let scopes: String = row.get("scopes")?;
    Ok(TokenRow {
        hash: hash(row.get("hash")?)?,
        owner: row.get("owner")?,
        scopes: scopes.parse().map_err(|e| unreadable("scopes", e))?,
        names: list(row, "names")?,
        created_ms: row.get("created_ms")?,
        expires_ms: row.get("expires_ms")?,
        revoked_ms: row.get("revoked_ms")?,
    })
}

fn hash(bytes: Vec<u8>) -> rusqlite::Result<TokenHash> {
    bytes
        .try_into()
        .map(TokenHash)
        .map_err(|bytes: Vec<u8>| unreadable("hash", format!("expected 32 bytes, got {}", bytes.len())))
}

/// Reads a column that holds a JSON list of names.
fn list(row: &Row<'_>, column: &str) -> rusqlite::Result<Vec<String>> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| unreadable(column, e))
}

fn unreadable(column: &str, why: impl std::fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("{column}: {why}").into())
}

/// Converts to SQLite's signed integers. Overflow yields the maximum.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Converts a stored integer back to `u64`.
pub(super) fn unsigned(n: i64) -> u64 {
    n.max(0).cast_unsigned()
}

#[cfg(test)]
mod tests;
