//! Ratings for the read-only pages, computed by the referee.
//!
//! Verified records are cached, so that each record is verified only once. Each game has its own cache, so the table of
//! one game does not wait for the records of another game.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_arena::settings::Humans;
use ludex_env::Games;
use ludex_gym::compute::Compute;
use ludex_protocol::record::AgentKind;
use ludex_referee::Verifier;
use ludex_referee::read::Source;
use ludex_referee::result::GameResult;
use ludex_report::scale::{RatingOptions, Scale, rate};
use ludex_store::{MatchFilter, RecordRow, Store};
use parking_lot::Mutex as Quick;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Number of records that are read from the store at a time.
const PAGE: u32 = 500;

/// Minimum number of records in a table that is cached for [`AWHILE`], even if newer records exist.
const MANY: usize = 1_000;

/// Maximum age of a table with many records.
const AWHILE: Duration = Duration::from_secs(60);

/// Ratings of one server.
pub(crate) struct RatingsCache {
    /// Separate scheduler that runs one rating job at a time, so that matches and searches do not wait for ratings.
    thread: Compute,
    verifier: Arc<Verifier>,
    humans: Humans,
    /// Caches of verified records, by game id.
    shelves: Quick<HashMap<String, Arc<Mutex<Shelf>>>>,
    /// Tables by requested game; the empty key stands for all games. The lock of a table is held while the table is
    /// computed, so that concurrent requests share the work.
    tables: Quick<HashMap<String, Arc<Mutex<Option<Table>>>>>,
    /// Last computed result for each requested game, served while a new result is being computed.
    last: Quick<HashMap<String, Arc<RatingsSnapshot>>>,
}

/// Verified records of one game in order of release.
#[derive(Default)]
struct Shelf {
    games: Vec<Arc<GameResult>>,
    refused: usize,
    /// Sequence number of the last released record that has been processed.
    last: u64,
}

/// Result of a rating computation.
pub(crate) struct RatingsSnapshot {
    /// JSON page `{ratings, records, refused}`.
    pub(crate) page: Value,
    /// Scales in the order of the page.
    pub(crate) scales: Vec<Scale>,
}

struct Table {
    of: Arc<RatingsSnapshot>,
    /// Number of verified and rejected records in the table.
    records: usize,
    made: Instant,
}

impl Table {
    /// Returns true if the table may be served when the store holds `records` records.
    fn serves(&self, records: usize) -> bool {
        self.records == records || self.is_kept()
    }

    /// Returns true if the table may be served regardless of newer records.
    fn is_kept(&self) -> bool {
        self.records >= MANY && self.made.elapsed() < AWHILE
    }
}

impl RatingsCache {
    /// Creates an empty cache. Only records of `games` count.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot create the thread.
    pub(crate) fn new(games: Games, humans: Humans) -> anyhow::Result<Self> {
        Ok(RatingsCache {
            thread: Compute::new(1)?,
            verifier: Arc::new(Verifier::new(games)),
            humans,
            shelves: Quick::default(),
            tables: Quick::default(),
            last: Quick::default(),
        })
    }

    /// Returns the last result of [`of`](Self::of), however old; `None` before the first computation.
    pub(crate) fn last(&self, game: Option<&str>) -> Option<Arc<RatingsSnapshot>> {
        self.last.lock().get(game.unwrap_or_default()).cloned()
    }

    /// Returns the ratings over the rated, released episodes in the store, for all games or for one game (an id or a
    /// canonical string). Only verified records count.
    ///
    /// # Errors
    ///
    /// Fails if records cannot be read or the computation panics.
    pub(crate) async fn of(&self, store: &Store, game: Option<&str>) -> anyhow::Result<Arc<RatingsSnapshot>> {
        // A cached table is served without reading the store.
        let slot = self.tables.lock().get(game.unwrap_or_default()).cloned();
        if let Some(table) = slot.as_ref().and_then(|slot| slot.try_lock().ok())
            && let Some(made) = table.as_ref().filter(|made| made.is_kept())
        {
            return Ok(made.of.clone());
        }
        drop(slot);
        let id = game.map(|game| game.split('(').next().unwrap_or(game));
        let exact = game.filter(|game| id != Some(*game)).map(str::to_owned);
        let last = store.last_release().await?;
        let mut ids = store.games().await?;
        ids.retain(|known| id.is_none_or(|id| id == known));
        let mut shelves = Vec::with_capacity(ids.len());
        let mut records = 0;
        for id in ids {
            let shelf = self.shelves.lock().entry(id.clone()).or_default().clone();
            records += self.fill(store, &id, &mut *shelf.lock().await, last).await?;
            shelves.push(shelf);
        }
        // Unknown names are not cached.
        let slot = match game {
            Some(_) if shelves.is_empty() => Arc::default(),
            _ => self.tables.lock().entry(game.unwrap_or_default().to_owned()).or_default().clone(),
        };
        let mut table = slot.lock().await;
        if let Some(made) = table.as_ref().filter(|made| made.serves(records)) {
            return Ok(made.of.clone());
        }
        let (mut games, mut refused) = (Vec::with_capacity(records), 0);
        for shelf in shelves {
            let shelf = shelf.lock().await;
            let fits = |game: &&Arc<GameResult>| exact.as_ref().is_none_or(|exact| game.spec().string == *exact);
            games.extend(shelf.games.iter().filter(fits).cloned());
            refused += shelf.refused;
        }
        let owner = Arc::from(game.unwrap_or_default());
        let humans = self.humans;
        let work = self.thread.run(&owner, move || snapshot(games, refused, humans));
        let of = Arc::new(work.await.context("computing the ratings failed")?);
        *table = Some(Table { of: of.clone(), records, made: Instant::now() });
        if records > 0 {
            self.last.lock().insert(game.unwrap_or_default().to_owned(), of.clone());
        }
        Ok(of)
    }

    /// Adds the records up to the release number `last` to the cache of a game. Returns the number of processed
    /// records.
    async fn fill(&self, store: &Store, id: &str, shelf: &mut Shelf, last: u64) -> anyhow::Result<usize> {
        let filter = MatchFilter { rated: Some(true), game: Some(id.to_owned()), ..MatchFilter::default() };
        let owner = Arc::from(id);
        while shelf.last < last {
            let page = store.records(&filter, shelf.last, PAGE).await?;
            let (count, end) = (page.len(), page.last().map(|row| row.seq));
            let verifier = self.verifier.clone();
            let work = self.thread.run(&owner, move || verified(&verifier, &page));
            let verified = work.await.context("verifying the records failed")?;
            shelf.refused += count - verified.len();
            shelf.games.extend(verified);
            // An incomplete page is the last one, so no record of this game remains before `last`.
            shelf.last = match end {
                Some(end) if count == PAGE as usize => end,
                end => last.max(end.unwrap_or(last)),
            };
        }
        Ok(shelf.games.len() + shelf.refused)
    }
}

/// Rates games. If people are rated separately, the scales of matches with people are marked `people` and come last.
fn snapshot(games: Vec<Arc<GameResult>>, refused: usize, humans: Humans) -> RatingsSnapshot {
    // Fewer resamples than in a report, since this page is recomputed often.
    let options = RatingOptions { resamples: 1000, ..RatingOptions::default() };
    let records = games.len();
    let of_people = |game: &Arc<GameResult>| game.seats.iter().any(|seat| seat.kind == AgentKind::Human);
    let apart = |game: &Arc<GameResult>| humans == Humans::Apart && of_people(game);
    let (people, others): (Vec<_>, Vec<_>) = games.into_iter().partition(apart);
    let mut scales = rate(&others, &options);
    let mut pages: Vec<Value> = scales.iter().map(|scale| json!(scale)).collect();
    for scale in rate(&people, &options) {
        let mut page = json!(scale);
        page["people"] = true.into();
        pages.push(page);
        scales.push(scale);
    }
    RatingsSnapshot { page: json!({ "ratings": pages, "records": records, "refused": refused }), scales }
}

/// Verifies records and returns the results of the valid records.
fn verified(verifier: &Verifier, page: &[RecordRow]) -> Vec<Arc<GameResult>> {
    let source = Source { file: "store".to_owned(), line: 0 };
    let one = |row: &RecordRow| verifier.verify_line(&row.record, source.clone()).ok();
    page.iter().filter_map(one).map(|verified| Arc::new(verified.into_result())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_store::{EndRow, MatchRow, Write};

    /// Returns the writes of rated matches with invalid records.
    fn matches(game: &str, numbers: std::ops::Range<usize>) -> Vec<Write> {
        let one = |n: usize| {
            let id = format!("{game}_{n}");
            let row = MatchRow {
                id: id.clone(),
                game: game.to_owned(),
                string: game.to_owned(),
                rated: true,
                run: None,
                seats: Vec::new(),
                header: "{}".to_owned(),
                secret: "{}".to_owned(),
                started_ms: 0,
            };
            let (footer, record) = ("{}".to_owned(), "{}".to_owned());
            let end = EndRow { reason: "finished".to_owned(), ended_ms: 0, footer, record };
            let ids = vec![id.clone()];
            [Write::MatchStart(row), Write::MatchEnd { id, acts: Vec::new(), end }, Write::Released { ids }]
        };
        numbers.flat_map(one).collect()
    }

    #[tokio::test]
    async fn records_are_read_in_pages_without_repeats() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let ratings = RatingsCache::new(ludex_games::builtin(), Humans::Together).unwrap();
        let refused =
            async |game: Option<&str>| ratings.of(&store, game).await.unwrap().page["refused"].as_u64().unwrap();
        let page = PAGE as usize;
        for (from, to) in [(0, page), (page, page + 1), (page + 1, 3 * page + 7)] {
            store.write(matches("nim", from..to)).await.unwrap();
            assert_eq!(refused(Some("nim")).await as usize, to);
        }
        store.write(matches("pig", 0..3)).await.unwrap();
        assert_eq!((refused(Some("pig")).await, refused(Some("chess")).await), (3, 0));
        assert_eq!(refused(None).await as usize, 3 * page + 10);
        assert_eq!(ratings.tables.lock().len(), 3, "a game without records is not cached");
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn game_ratings_do_not_wait_for_other_games() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let ratings = RatingsCache::new(ludex_games::builtin(), Humans::Together).unwrap();
        store.write([matches("nim", 0..2), matches("pig", 0..3)].concat()).await.unwrap();
        let shelf = ratings.shelves.lock().entry("nim".to_owned()).or_default().clone();
        let busy = shelf.lock().await;
        assert_eq!(ratings.of(&store, Some("pig")).await.unwrap().page["refused"], 3);
        let nim = ratings.of(&store, Some("nim"));
        assert!(tokio::time::timeout(Duration::from_millis(20), nim).await.is_err(), "the cache is being filled");
        drop(busy);
        assert_eq!(ratings.of(&store, Some("nim")).await.unwrap().page["refused"], 2);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn previous_ratings_are_available_during_an_update() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let ratings = RatingsCache::new(ludex_games::builtin(), Humans::Together).unwrap();
        store.write(matches("nim", 0..2)).await.unwrap();
        assert!(ratings.last(Some("nim")).is_none());
        let made = ratings.of(&store, Some("nim")).await.unwrap();
        store.write(matches("nim", 2..3)).await.unwrap();
        let shelf = ratings.shelves.lock().entry("nim".to_owned()).or_default().clone();
        let busy = shelf.lock().await;
        let next = ratings.of(&store, Some("nim"));
        assert!(tokio::time::timeout(Duration::from_millis(20), next).await.is_err(), "the cache is being filled");
        assert!(Arc::ptr_eq(&ratings.last(Some("nim")).unwrap(), &made));
        drop(busy);
        let made = ratings.of(&store, Some("nim")).await.unwrap();
        assert!(made.page["refused"] == 3 && Arc::ptr_eq(&ratings.last(Some("nim")).unwrap(), &made));
        assert!(ratings.of(&store, Some("none")).await.is_ok() && ratings.last(Some("none")).is_none());
        store.close().await.unwrap();
    }

    #[test]
    fn large_table_is_cached_for_a_minute() {
        let of = |records: usize, age: Duration| {
            let made = Instant::now().checked_sub(age).unwrap();
            let of = Arc::new(RatingsSnapshot { page: Value::Null, scales: Vec::new() });
            Table { of, records, made }
        };
        let soon = AWHILE / 2;
        assert!(of(MANY, soon).serves(MANY + 1) && of(5, 2 * AWHILE).serves(5));
        assert!(!of(MANY, AWHILE).serves(MANY + 1) && !of(MANY - 1, Duration::ZERO).serves(MANY));
    }
}
