//! Read queries. Each query uses a separate connection and sees the data committed before the query started.

use std::collections::{HashMap, HashSet};

use super::engine::Query;
use super::rows::{
    ActRow, EndRow, JoinRow, MatchFilter, MatchLine, MatchRow, MatchState, RecordRow, SeatRow, SessionRow, StoredMatch,
    TokenRow,
};
use super::value::{ColumnValue, FromValue, Row, signed, unreadable};
use super::{BadScope, CellOwner, CellTable, Store, StoreError, TokenHash};

/// Query for all columns of a match.
const MATCH: &str = "SELECT m.seq, m.id, m.game, m.string, m.rated, m.run, m.header, m.secret, m.started_ms, \
                     m.restarts, m.released, m.ended_ms, m.reason, r.footer, r.record \
                     FROM matches m LEFT JOIN records r ON r.match = m.seq ";

/// Queries for the seats and the logs of matches.
const SEATS: &str = "SELECT s.match, s.agent, s.session, s.\"join\" FROM matches m JOIN seats s ON s.match = m.seq ";
const ACTS: &str = "SELECT a.match, a.n, a.body FROM matches m JOIN acts a ON a.match = m.seq ";

/// Number of matches whose logs are read at a time.
const LOGS: usize = 256;

impl Store {
    /// Checks a whole SQLite file, however long it takes, and returns its faults; `None` for a database, which checks its own
    /// files.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn faults(&self) -> Result<Option<Vec<String>>, StoreError> {
        if self.location().path().is_none() {
            return Ok(None);
        }
        let mut faults = self.all(Query::new("PRAGMA quick_check(3)"), Row::take).await?;
        faults.retain(|fault: &String| fault != "ok");
        Ok(Some(faults))
    }

    /// Returns the running matches with their logs, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`], [`StoreError::Unreadable`], or another error of the database, as for every read.
    pub async fn running(&self) -> Result<Vec<StoredMatch>, StoreError> {
        self.with_logs("m.ended_ms IS NULL", Vec::new()).await
    }

    /// Returns the running matches that `is_wanted` selects by id and run, with their logs, oldest first.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn running_of(
        &self,
        is_wanted: impl Fn(&str, Option<&str>) -> bool,
    ) -> Result<Vec<StoredMatch>, StoreError> {
        let query = Query::new("SELECT id, run FROM matches WHERE ended_ms IS NULL ORDER BY seq");
        let mut ids: Vec<(String, Option<String>)> = self.all(query, |row| Ok((row.take()?, row.take()?))).await?;
        ids.retain(|(id, run)| is_wanted(id, run.as_deref()));
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(LOGS) {
            let places: Vec<String> = (1..=ids.len()).map(|k| format!("?{k}")).collect();
            let which = format!("m.ended_ms IS NULL AND m.id IN ({})", places.join(", "));
            found.extend(self.with_logs(&which, ids.iter().map(|(id, _)| id.clone().into()).collect()).await?);
        }
        Ok(found)
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
        query.and(" WHERE m.ended_ms >= ? AND s.session IS NOT NULL ORDER BY m.ended_ms, m.seq, s.seat", ended_ms);
        self.all(query, |row| Ok((row.take()?, row.take()?))).await
    }

    /// Returns the time at which the last match ended, in milliseconds since the Unix epoch; 0 without ended matches.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn last_end_ms(&self) -> Result<i64, StoreError> {
        let text = "SELECT COALESCE(MAX(ended_ms), 0) FROM matches WHERE ended_ms IS NOT NULL";
        Ok(self.all(Query::new(text), Row::take).await?.pop().unwrap_or_default())
    }

    /// Returns the ids and secrets of ended matches that are not released, oldest first.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn unreleased(&self) -> Result<Vec<(String, String)>, StoreError> {
        let text = "SELECT id, secret FROM matches WHERE ended_ms IS NOT NULL AND released IS NULL ORDER BY seq";
        self.all(Query::new(text), |row| Ok((row.take()?, row.take()?))).await
    }

    /// Returns one match, running or ended, with its log.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn episode(&self, id: &str) -> Result<Option<StoredMatch>, StoreError> {
        Ok(self.with_logs("m.id = ?1", vec![id.to_owned().into()]).await?.pop())
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
        let row = |row: &mut Row| {
            let [ended, released] = [row.take()?, row.take()?];
            Ok(MatchState { rows: row.take()?, ended, released })
        };
        Ok(self.all(query, row).await?.pop())
    }

    /// Returns a consistent snapshot of matches with their seats and logs. `which` is an SQL condition on the matches
    /// table `m`, with placeholders for `values`.
    async fn with_logs(&self, which: &str, values: Vec<ColumnValue<'static>>) -> Result<Vec<StoredMatch>, StoreError> {
        let query = |select: &str, order: &str| Query {
            text: format!("{select}WHERE {which} ORDER BY {order}"),
            values: values.clone(),
        };
        let queries = vec![query(SEATS, "s.match, s.seat"), query(ACTS, "a.match, a.n"), query(MATCH, "m.seq")];
        let mut results = self.read(queries).await?.into_iter();
        let mut next = || results.next().unwrap_or_default();
        let mut seats =
            grouped(next(), |row| Ok(SeatRow { agent: row.take()?, session: row.take()?, join: row.take()? }))?;
        let mut acts = grouped(next(), |row| Ok(ActRow { n: row.take()?, body: row.take()? }))?;
        let of_match = |mut row: Row| {
            let seq = row.take()?;
            // A match without seats or log rows has no entry in the respective map.
            let (seats, acts) = (seats.remove(&seq).unwrap_or_default(), acts.remove(&seq).unwrap_or_default());
            stored_match(&mut row, seats, acts)
        };
        next().into_iter().map(of_match).collect()
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
        let row = |row: &mut Row| Ok(RecordRow { seq: row.take()?, id: row.take()?, record: row.take()? });
        self.all(query, row).await
    }

    /// Returns the release number of the last released record; 0 if no record is released.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn last_release(&self) -> Result<u64, StoreError> {
        let text = "SELECT coalesce(max(released), 0) FROM matches WHERE released IS NOT NULL";
        self.one(Query::new(text)).await
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
        self.all(Query::new(text), Row::take).await
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
        let row = |row: &mut Row| {
            let join = JoinRow { id: row.take()?, session: row.take()?, body: row.take()? };
            Ok((join, row.take()?))
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
        let mut void = hashes;
        for hashes in void.iter().copied().collect::<Vec<_>>().chunks(HASHES) {
            for good in self.all(good_tokens(hashes, now_ms), |row| hash(row.take()?)).await? {
                void.remove(&good);
            }
        }
        Ok(void)
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

    /// Calls `fold` with each token, including revoked and expired tokens, and returns the last result.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn fold_tokens<T>(&self, start: T, fold: impl FnMut(T, TokenRow) -> T) -> Result<T, StoreError> {
        Ok(self.all(Query::new(TOKEN), token).await?.into_iter().fold(start, fold))
    }

    /// Returns true if any token was ever created, including revoked tokens.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn has_tokens(&self) -> Result<bool, StoreError> {
        self.one(Query::new("SELECT EXISTS (SELECT 1 FROM tokens)")).await
    }

    /// Returns the suspended owners.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn suspended_owners(&self) -> Result<HashSet<String>, StoreError> {
        let owners = self.all(Query::new("SELECT owner FROM suspensions"), Row::take).await?;
        Ok(owners.into_iter().collect())
    }

    /// Returns true if an owner is suspended.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn is_suspended(&self, owner: &str) -> Result<bool, StoreError> {
        let mut query = Query::new("SELECT EXISTS (SELECT 1 FROM suspensions");
        query.and(" WHERE owner = ?)", owner.to_owned());
        self.one(query).await
    }

    /// Returns the ids of the matches that an operator has requested to end.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn end_requests(&self) -> Result<Vec<String>, StoreError> {
        self.all(Query::new("SELECT match FROM end_requests"), Row::take).await
    }

    /// Returns the owners of all cells of a PostgreSQL store.
    pub(super) async fn cell_table(&self) -> Result<CellTable, StoreError> {
        let owners = "SELECT CASE WHEN until > now() THEN node ELSE '' END, at FROM cells ORDER BY cell";
        let waiting = "SELECT count(*) FROM waiting WHERE seen > now() - make_interval(secs => 10)";
        let owner = |row: &mut Row| {
            let owner = CellOwner { node: row.take()?, at: row.take()? };
            Ok(Some(owner).filter(|owner| !owner.node.is_empty()))
        };
        let owners = self.all(Query::new(owners), owner).await?;
        Ok(CellTable { owners, waiting: self.one(Query::new(waiting)).await? })
    }

    /// Returns the value stored under `key`.
    ///
    /// # Errors
    ///
    /// The errors of [`running`](Self::running).
    pub async fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let mut query = Query::new("SELECT value FROM meta");
        query.and(" WHERE key = ?", key.to_owned());
        Ok(self.all(query, Row::take).await?.pop())
    }

    /// Returns the values of all counters.
    pub(super) async fn counters(&self) -> Result<HashMap<String, u64>, StoreError> {
        let counters = self.all(Query::new("SELECT key, value FROM counters"), |row| Ok((row.take()?, row.take()?)));
        Ok(counters.await?.into_iter().collect())
    }

    async fn read(&self, queries: Vec<Query>) -> Result<Vec<Vec<Row>>, StoreError> {
        self.shared.reads.read(queries).await
    }

    /// Returns all rows of a query.
    pub(super) async fn all<T>(
        &self,
        query: Query,
        mut read: impl FnMut(&mut Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.read(vec![query]).await?.into_iter().flatten();
        rows.map(|mut row| read(&mut row)).collect()
    }

    /// Returns the steps of the plan of a query in SQLite.
    #[cfg(test)]
    pub(super) async fn plan(&self, query: Query) -> Vec<String> {
        let query = Query { text: format!("EXPLAIN QUERY PLAN {}", query.text), ..query };
        let step = |row: &mut Row| {
            let _ids: [i64; 3] = [row.take()?, row.take()?, row.take()?];
            row.take()
        };
        self.all(query, step).await.unwrap()
    }

    /// Returns the only value of a query.
    pub(super) async fn one<T: FromValue>(&self, query: Query) -> Result<T, StoreError> {
        let rows = self.all(query, Row::take).await?;
        rows.into_iter().next().ok_or_else(|| unreadable("a value", "expected one row, got none"))
    }
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        Query { text: text.to_owned(), values: Vec::new() }
    }

    /// Appends text with one `?` placeholder, and the placeholder's value.
    pub(super) fn and(&mut self, text: &str, value: impl Into<ColumnValue<'static>>) {
        self.values.push(value.into());
        self.text.push_str(&text.replace('?', &format!("?{}", self.values.len())));
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
        query.text.push_str(
            " AND NOT EXISTS (SELECT 1 FROM seats t WHERE t.match = s.match AND t.agent = s.agent AND t.seat < s.seat)",
        );
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

/// Groups rows by match, which is in the first column. Keeps the order of the rows.
fn grouped<T>(
    rows: Vec<Row>,
    read: impl Fn(&mut Row) -> Result<T, StoreError>,
) -> Result<HashMap<i64, Vec<T>>, StoreError> {
    let mut groups: HashMap<i64, Vec<T>> = HashMap::new();
    for mut row in rows {
        groups.entry(row.take()?).or_default().push(read(&mut row)?);
    }
    Ok(groups)
}

/// Reads the columns of [`MATCH`] after the first.
fn stored_match(row: &mut Row, seats: Vec<SeatRow>, acts: Vec<ActRow>) -> Result<StoredMatch, StoreError> {
    let start = MatchRow {
        id: row.take()?,
        game: row.take()?,
        string: row.take()?,
        rated: row.take()?,
        run: row.take()?,
        seats,
        header: row.take()?,
        secret: row.take()?,
        started_ms: row.take()?,
    };
    let restarts = row.take()?;
    let released = row.take::<Option<i64>>()?.is_some();
    let end = match row.take()? {
        None => None,
        Some(ended_ms) => Some(EndRow { ended_ms, reason: row.take()?, footer: row.take()?, record: row.take()? }),
    };
    Ok(StoredMatch { row: start, restarts, acts, end, released })
}

fn match_line(row: &mut Row) -> Result<MatchLine, StoreError> {
    Ok(MatchLine {
        seq: row.take()?,
        id: row.take()?,
        game: row.take()?,
        string: row.take()?,
        rated: row.take()?,
        run: row.take()?,
        header: row.take()?,
        started_ms: row.take()?,
        ended: row.take::<Option<i64>>()?.zip(row.take()?),
        released: row.take::<Option<i64>>()?.is_some(),
        footer: row.take()?,
    })
}

const SESSION: &str = "SELECT id, key_hash, old_key, agent, body, expires_ms FROM sessions";

fn session(row: &mut Row) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: row.take()?,
        key_hash: row.take()?,
        old_key: row.take()?,
        agent: row.take()?,
        body: row.take()?,
        expires_ms: row.take()?,
    })
}

const TOKEN: &str = "SELECT hash, owner, scopes, names, created_ms, expires_ms, revoked_ms FROM tokens";

/// Maximum number of tokens in one query.
const HASHES: usize = 100;

/// Returns the query for the hashes of valid tokens among `hashes`.
fn good_tokens(hashes: &[TokenHash], now_ms: i64) -> Query {
    let mut query = Query::new("SELECT hash FROM tokens");
    query.and(" WHERE revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > ?)", now_ms);
    for (k, hash) in hashes.iter().enumerate() {
        query.and(if k == 0 { " AND hash IN (?" } else { ", ?" }, hash.0.to_vec());
    }
    query.text.push(')');
    query
}

fn token(row: &mut Row) -> Result<TokenRow, StoreError> {
    Ok(TokenRow {
        hash: hash(row.take()?)?,
        owner: row.take()?,
        scopes: row.take::<String>()?.parse().map_err(|e: BadScope| unreadable("scopes", e))?,
        names: serde_json::from_str(&row.take::<String>()?).map_err(|e| unreadable("names", e))?,
        created_ms: row.take()?,
        expires_ms: row.take()?,
        revoked_ms: row.take()?,
    })
}

fn hash(bytes: Vec<u8>) -> Result<TokenHash, StoreError> {
    let length = bytes.len();
    bytes.try_into().map(TokenHash).map_err(|_| unreadable("hash", format!("expected 32 bytes, got {length}")))
}

#[cfg(test)]
mod tests;
