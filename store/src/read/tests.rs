//! Tests of match lists: their content, and the cost of their queries in a large store.

use super::*;
use crate::Write;

const GAMES: [&str; 2] = ["nim", "pig"];
const AGENTS: [&str; 3] = ["ann", "bob", "eve"];

/// Returns the match with the index `n` in the test, from 0.
fn row(n: usize) -> MatchRow {
    MatchRow {
        id: format!("m_{n}"),
        game: GAMES[n % 2].to_owned(),
        string: format!("{}(a={})", GAMES[n % 2], n % 3),
        rated: n % 5 < 3,
        run: (n % 7 < 3).then(|| format!("run{}", n % 2)),
        // Some agents play themselves.
        seats: vec![AGENTS[n % 3].into(), AGENTS[n / 3 % 3].into()],
        header: "{}".to_owned(),
        secret: "{}".to_owned(),
        started_ms: 0,
    }
}

fn runs(n: usize) -> bool {
    n.is_multiple_of(11)
}

async fn store_of(matches: usize, folder: &std::path::Path) -> Store {
    let store = Store::open(folder).await.unwrap();
    for n in 0..matches {
        let id = format!("m_{n}");
        let mut writes = vec![Write::MatchStart(row(n))];
        if !runs(n) {
            let [footer, record] = ["{}", "{}"].map(str::to_owned);
            let end = EndRow { reason: "finished".to_owned(), ended_ms: n as i64, footer, record };
            writes.push(Write::MatchEnd { id: id.clone(), acts: Vec::new(), end });
        }
        if !n.is_multiple_of(4) {
            writes.push(Write::Released { ids: vec![id] });
        }
        store.write_behind(writes).await.unwrap();
    }
    store.flush().await.unwrap();
    store
}

/// Returns all combinations of filter values.
fn filters() -> Vec<MatchFilter> {
    let mut all = vec![MatchFilter::default()];
    let mut with = |changes: &[&dyn Fn(&mut MatchFilter)]| {
        let before = all.clone();
        for change in changes {
            all.extend(before.iter().cloned().map(|mut filter| {
                change(&mut filter);
                filter
            }));
        }
    };
    with(&[&|f: &mut MatchFilter| f.game = Some("nim".to_owned()), &|f: &mut MatchFilter| {
        f.game = Some("pig(a=2)".to_owned())
    }]);
    with(&[&|f: &mut MatchFilter| f.agent = Some("bob".to_owned())]);
    with(&[&|f: &mut MatchFilter| f.run = Some("run1".to_owned())]);
    with(&[&|f: &mut MatchFilter| f.rated = Some(true), &|f: &mut MatchFilter| f.rated = Some(false)]);
    with(&[&|f: &mut MatchFilter| f.released = true]);
    with(&[&|f: &mut MatchFilter| f.live = Some(true), &|f: &mut MatchFilter| f.live = Some(false)]);
    with(&[&|f: &mut MatchFilter| f.before = Some(100)]);
    all
}

#[tokio::test]
async fn lists_contain_matching_rows_newest_first() {
    const MATCHES: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(MATCHES, folder.path()).await;
    for filter in filters() {
        let fits = |n: &usize| {
            let row = row(*n);
            filter.game.as_ref().is_none_or(|game| row.game == *game || row.string == *game)
                && filter.agent.as_ref().is_none_or(|agent| row.seats.iter().any(|seat| seat.agent == *agent))
                && filter.run.as_ref().is_none_or(|run| row.run.as_ref() == Some(run))
                && filter.rated.is_none_or(|rated| row.rated == rated)
                && filter.live.is_none_or(|live| live == runs(*n))
                && (!filter.released || !n.is_multiple_of(4) && !runs(*n))
                && filter.before.is_none_or(|before| (*n as u64 + 1) < before)
        };
        let wanted: Vec<String> = (0..MATCHES).rev().filter(fits).take(50).map(|n| format!("m_{n}")).collect();
        let got: Vec<String> = store.matches(&filter, 50).await.unwrap().into_iter().map(|line| line.id).collect();
        assert_eq!(got, wanted, "{filter:?}");
    }
    assert_eq!(store.games().await.unwrap(), GAMES);
    store.close().await.unwrap();
}

#[tokio::test]
async fn list_queries_neither_sort_nor_scan_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(20, folder.path()).await;
    for filter in filters() {
        let query = list_of(&filter, 50);
        let plan = store.plan(query).await.join("; ");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("LIST SUBQUERY"), "{filter:?}: {plan}");
        // Only a list without these filters may scan: it reads the end of the table.
        let sought = filter.game.is_some() || filter.agent.is_some() || filter.run.is_some() || filter.rated.is_some();
        let scanned = plan.starts_with("SCAN m;") || plan.contains("SCAN s");
        assert!(!scanned || filter.live != Some(true) && !sought, "{filter:?}: {plan}");
        let records = records_of(&filter, 3, 50);
        let plan = store.plan(records).await.join("; ");
        let index =
            if filter.run.is_some() { "matches_run_released (run=? AND released>?)" } else { "matches_released" };
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
    }
    store.close().await.unwrap();
}
