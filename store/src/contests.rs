//! Reads of runs, of seasons, and of the standings of ladders.

use super::engine::Query;
use super::rows::{RunRow, SeasonRow, StandingRow};
use super::value::Row;
use super::{Store, StoreError};

const RUN: &str = "SELECT name, suite, season, hidden, ended_ms, body FROM runs";

impl Store {
    /// Returns a run, also a removed one.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn run(&self, name: &str) -> Result<Option<RunRow>, StoreError> {
        let mut query = Query::new(RUN);
        query.and(" WHERE name = ?", name.to_owned());
        Ok(self.all(query, run).await?.pop())
    }

    /// Returns the open runs and the hidden ones, in order of name.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn active_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.all(active(), run).await
    }

    /// Returns at most `limit` finished runs in order of name, starting after the name `after`. With `season`, returns
    /// only runs of this suite and season.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn finished_runs(
        &self,
        season: Option<[&str; 2]>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<RunRow>, StoreError> {
        self.all(finished(season, after, limit), run).await
    }

    /// Returns the names of the public runs that ended before `before_ms`, oldest first.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn old_runs(&self, before_ms: i64) -> Result<Vec<String>, StoreError> {
        self.all(old(before_ms), Row::take).await
    }

    /// Returns the seasons of a contest that have begun, in order of name.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn seasons(&self, contest: &str) -> Result<Vec<SeasonRow>, StoreError> {
        let mut query = Query::new("SELECT contest, name, frozen_ms, body FROM seasons");
        query.and(" WHERE contest = ? ORDER BY name", contest.to_owned());
        let row = |row: &mut Row| {
            Ok(SeasonRow { contest: row.take()?, name: row.take()?, frozen_ms: row.take()?, body: row.take()? })
        };
        self.all(query, row).await
    }

    /// Returns the agents in a season of a ladder, in order of name.
    ///
    /// # Errors
    ///
    /// Those of [`running`](Self::running).
    pub async fn standings(&self, contest: &str, season: &str) -> Result<Vec<StandingRow>, StoreError> {
        let mut query = Query::new("SELECT agent, owner, body FROM standings");
        query.and(" WHERE contest = ?", contest.to_owned());
        query.and(" AND season = ? ORDER BY agent", season.to_owned());
        let row = |row: &mut Row| Ok(StandingRow { agent: row.take()?, owner: row.take()?, body: row.take()? });
        self.all(query, row).await
    }
}

fn active() -> Query {
    Query::new(&format!("{RUN} WHERE ended_ms IS NULL OR hidden = 1 ORDER BY name"))
}

fn finished(season: Option<[&str; 2]>, after: &str, limit: usize) -> Query {
    let mut query = Query::new(RUN);
    query.and(" WHERE name > ?", after.to_owned());
    if let Some([suite, season]) = season {
        query.and(" AND suite = ?", suite.to_owned());
        query.and(" AND season = ?", season.to_owned());
    }
    // The sign prevents SQLite from using the index by time, whose rows it would have to sort.
    query.and(
        " AND +ended_ms IS NOT NULL AND body <> '' ORDER BY name LIMIT ?",
        i64::try_from(limit).unwrap_or(i64::MAX),
    );
    query
}

fn old(before_ms: i64) -> Query {
    let mut query = Query::new("SELECT name FROM runs");
    query.and(" WHERE ended_ms < ? AND hidden = 0 AND body <> '' ORDER BY ended_ms", before_ms);
    query
}

fn run(row: &mut Row) -> Result<RunRow, StoreError> {
    Ok(RunRow {
        name: row.take()?,
        suite: row.take()?,
        season: row.take()?,
        hidden: row.take()?,
        ended_ms: row.take()?,
        body: row.take()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Write;
    use super::*;

    fn row(k: usize) -> RunRow {
        RunRow {
            name: format!("r{k}"),
            suite: ["quick", ""][k % 2].to_owned(),
            season: [Some("autumn"), None, Some("winter"), None][k % 4].map(str::to_owned),
            hidden: k % 4 == 2,
            ended_ms: (!k.is_multiple_of(3)).then_some(k as i64),
            body: format!("{{\"k\":{k}}}"),
        }
    }

    fn names(rows: &[RunRow]) -> Vec<&str> {
        rows.iter().map(|row| row.name.as_str()).collect()
    }

    async fn filled(folder: &std::path::Path) -> Store {
        let store = Store::open(folder).await.unwrap();
        store.write((0..9).map(|k| Write::Run(row(k))).collect()).await.unwrap();
        store
    }

    #[tokio::test]
    async fn finished_runs_are_paged_by_name() {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path()).await.close().await.unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        assert_eq!(store.run("r4").await.unwrap(), Some(row(4)));
        assert_eq!(names(&store.active_runs().await.unwrap()), ["r0", "r2", "r3", "r6"]);
        assert_eq!(names(&store.finished_runs(None, "", 4).await.unwrap()), ["r1", "r2", "r4", "r5"]);
        assert_eq!(names(&store.finished_runs(None, "r5", 4).await.unwrap()), ["r7", "r8"]);
        assert_eq!(names(&store.finished_runs(Some(["quick", "autumn"]), "r4", usize::MAX).await.unwrap()), ["r8"]);
        assert_eq!(store.old_runs(8).await.unwrap(), ["r1", "r4", "r5", "r7"]);
        let (ended, removed) =
            (RunRow { hidden: false, ended_ms: Some(3), ..row(6) }, RunRow { body: String::new(), ..row(5) });
        store.write(vec![Write::Run(ended.clone()), Write::RunGone { name: "r5".to_owned() }]).await.unwrap();
        assert_eq!((store.run("r6").await.unwrap(), store.run("r5").await.unwrap()), (Some(ended), Some(removed)));
        assert_eq!(store.old_runs(6).await.unwrap(), ["r1", "r6", "r4"]);
        assert_eq!(names(&store.finished_runs(None, "r2", 3).await.unwrap()), ["r4", "r6", "r7"]);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn run_queries_use_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(folder.path()).await;
        for (query, index) in [
            (active(), "runs_active"),
            (finished(None, "r1", 5), "sqlite_autoindex_runs_1"),
            (finished(Some(["quick", "autumn"]), "r1", 5), "runs_season"),
            (old(5), "runs_ended"),
        ] {
            let plan = store.plan(query).await.join("; ");
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{index}: {plan}");
        }
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn first_owner_of_a_standing_is_final_and_ratings_can_be_reset() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let contest = "ladder:chess";
        let row = |agent: &str, owner: Option<&str>, body: Option<&str>| StandingRow {
            agent: agent.to_owned(),
            owner: owner.map(str::to_owned),
            body: body.map(str::to_owned),
        };
        let standing =
            |row: StandingRow| Write::Standing { contest: contest.to_owned(), season: "one".to_owned(), row };
        let writes = [
            row("ann", Some(""), None),
            row("ann", Some("eve"), Some("1")),
            row("bob", None, Some("2")),
            row("bob", Some("bob"), None),
            row("ann", None, Some("3")),
        ];
        store.write(writes.map(standing).into()).await.unwrap();
        let read = async || store.standings(contest, "one").await.unwrap();
        assert_eq!(read().await, [row("ann", Some(""), Some("3")), row("bob", Some("bob"), Some("2"))]);
        let reset = Write::StandingsReset { contest: contest.to_owned(), season: "one".to_owned() };
        let season = |contest: &str, name: &str, frozen_ms| SeasonRow {
            contest: contest.to_owned(),
            name: name.to_owned(),
            frozen_ms,
            body: "{}".to_owned(),
        };
        let [two, one, other] =
            [season(contest, "two", None), season(contest, "one", None), season("suite:chess", "one", None)];
        store.write(vec![reset, Write::Season(two.clone()), Write::Season(one), Write::Season(other)]).await.unwrap();
        assert_eq!(read().await, [row("ann", Some(""), None), row("bob", Some("bob"), None)]);
        store.write(vec![Write::Season(season(contest, "one", Some(7)))]).await.unwrap();
        assert_eq!(store.seasons(contest).await.unwrap(), [season(contest, "one", Some(7)), two]);
        store.close().await.unwrap();
    }
}
