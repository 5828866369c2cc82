//! Durability under `kill -9`, on both engines.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use ludex_store::{ActRow, Store, StoreLocation, StoreOptions, Write};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use super::rows::{act, body, check_log, result, start};

/// Returns the fraction of the long tests to run, 0.2 by default.
pub fn scale() -> f64 {
    std::env::var("LUDEX_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(0.2)
}

const CHILD: &str = "LUDEX_STORE_CHILD";

/// Writes to a store and prints each acknowledged write. The next test runs this function in a
/// child process and kills it.
#[test]
#[ignore = "run as a child process by acknowledged_writes_survive_a_kill"]
fn child_process_writes_until_killed() {
    let location = std::env::var(CHILD).expect("started by the test below");
    let (location, round) = location.split_once('#').unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(location.parse().unwrap()).await;
        let say = |line: String| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "#{line}").and_then(|()| out.flush()).unwrap();
        };
        let tasks = (0..12).map(|k| {
            let store = store.clone();
            async move {
                for game in 0.. {
                    let index = store.next("rated").await.unwrap();
                    say(format!("index {index}"));
                    let id = format!("m_{round}_{k}_{game}");
                    store.write(vec![start(&id)]).await.unwrap();
                    say(format!("start {id} 0"));
                    for n in 0..20 + k {
                        if k == 0 {
                            store.write_behind(vec![act(&id, n)]).await.unwrap();
                        } else {
                            store.write(vec![act(&id, n)]).await.unwrap();
                            say(format!("act {id} {n}"));
                        }
                    }
                    let last = vec![ActRow { n: 20 + k, body: body(&id, 20 + k) }];
                    let end = Write::MatchEnd { id: id.clone(), acts: last, end: result(1) };
                    store.write(vec![end, Write::Released { ids: vec![id.clone()] }]).await.unwrap();
                    say(format!("end {id} {}", 20 + k));
                }
            }
        });
        futures_util::future::join_all(tasks).await;
    });
}

/// Opens a store whose last owner was killed.
async fn open(location: StoreLocation) -> Store {
    let (lease, patience) = (Duration::from_secs(1), Duration::from_secs(30));
    Store::open_with(location, StoreOptions { lease, patience, ..StoreOptions::default() }).await.unwrap()
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    check_kills(&StoreLocation::in_folder(folder.path()));
}

/// Kills owners of the store at random moments, and checks that everything they acknowledged is stored.
pub fn check_kills(location: &StoreLocation) {
    let url = match location {
        StoreLocation::Sqlite(path) => format!("sqlite:{}", path.display()),
        StoreLocation::Postgres(url) => url.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut rng = SmallRng::seed_from_u64(1);
    let rounds = (20.0 * scale()).ceil() as u32;
    // Highest acknowledged act of each match, and whether its end was acknowledged.
    let mut promised: HashMap<String, (Option<u64>, bool)> = HashMap::new();
    let mut indices = HashSet::new();
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "durability::child_process_writes_until_killed"])
            .env(CHILD, format!("{url}#{round}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut moment = rng.random_range(1..2_000);
        // A line that the child printed before it was killed also counts if it is read later.
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            // The test harness may print text before the first `#`. The child prints each line in a single call, so
            // lines are never interleaved.
            let Some(line) = line.split('#').nth(1) else { continue };
            moment -= 1;
            if moment == 0 {
                child.kill().unwrap();
            }
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next().and_then(|n| n.parse::<u64>().ok())) {
                (Some("index"), Some(index), None) => {
                    assert!(indices.insert(index.to_owned()), "index {index} was returned twice");
                }
                (Some("start"), Some(id), Some(_)) => drop(promised.insert(id.to_owned(), (None, false))),
                (Some("act"), Some(id), Some(n)) => promised.get_mut(id).unwrap().0 = Some(n),
                (Some("end"), Some(id), Some(n)) => drop(promised.insert(id.to_owned(), (Some(n), true))),
                other => panic!("the child said {other:?}"),
            }
        }
        child.wait().unwrap();
        assert!(moment <= 0, "the child ended by itself");

        runtime.block_on(async {
            let store = open(location.clone()).await;
            for (id, (acts, ended)) in &promised {
                let kept = store.episode(id).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
                check_log(id, &kept.acts);
                assert!(kept.acts.len() as u64 >= acts.map_or(0, |n| n + 1), "acts of {id} are lost");
                // The end may be stored without an acknowledgment, but never without the record and the release.
                assert!(!ended || kept.end.is_some(), "the end of {id} is lost");
                assert_eq!(kept.end.is_some(), kept.released);
            }
            store.close().await.unwrap();
        });
    }
    assert!(promised.values().any(|(_, ended)| *ended), "expected at least one finished match");
}
