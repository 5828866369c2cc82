//! Ratings for the read-only page, by the referee.

use std::collections::HashMap;

use anyhow::Context as _;
use ludex_referee::Verifier;
use ludex_referee::read::read_lines;
use ludex_referee::scale::{RatingOptions, rate};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::compute::Compute;
use crate::store::{MatchFilter, Store};

/// Records read from the store at a time.
const PAGE: u32 = 1_000;

/// The tables that were asked for, each kept until another record of its game is released.
#[derive(Default)]
pub(crate) struct Ratings {
    /// By game filter (empty: all games): the place of the last record, and the table. The lock is held while a table
    /// is made, so that those who ask for the same at once wait for one piece of work.
    tables: Mutex<HashMap<String, (u64, Value)>>,
}

impl Ratings {
    /// `{ratings, records, refused}` over the rated, released episodes of the store; of one game or of all. Only what
    /// verifies counts.
    ///
    /// # Errors
    /// When records cannot be read or the work panicked.
    pub(crate) async fn of(&self, store: &Store, compute: &Compute, game: Option<&str>) -> anyhow::Result<Value> {
        let filter = MatchFilter { rated: Some(true), game: game.map(str::to_owned), ..MatchFilter::default() };
        let mut tables = self.tables.lock().await;
        let key = game.unwrap_or_default();
        if let Some((last, table)) = tables.get(key)
            && store.records(&filter, *last, 1).await?.is_empty()
        {
            return Ok(table.clone());
        }
        let (mut lines, mut after) = (String::new(), 0);
        loop {
            let page = store.records(&filter, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for row in &page {
                lines.push_str(&row.record);
                lines.push('\n');
            }
        }
        let table =
            compute.run(&"ratings".into(), move || table(&lines)).await.context("the ratings could not be made")?;
        // A name without records is anybody's invention, and is not kept.
        if after > 0 {
            tables.insert(key.to_owned(), (after, table.clone()));
        }
        Ok(table)
    }
}

/// The scales over records, one per line.
fn table(lines: &str) -> Value {
    let found = read_lines("store", lines.as_bytes()).found;
    let (games, refused) = Verifier::new().verify_all(&found);
    // A report is made once, this page again and again.
    let options = RatingOptions { resamples: 1000, ..RatingOptions::default() };
    json!({ "ratings": rate(&games, &options), "records": games.len(), "refused": refused.len() })
}
