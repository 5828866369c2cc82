//! Stores in PostgreSQL databases: the behavior of all engines, leases, lost connections, and moves between engines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ludex_store::snapshot::{self, StoreSnapshot};
use ludex_store::testing::{DatabaseProxy, PostgresServer};
use ludex_store::{MatchFilter, Store, StoreError, StoreLocation, StoreOptions, Write};
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

use super::behavior;
use super::durability::{check_kills, scale};
use super::engines::{check_equal, compare_reads};
use super::rows::{act, check_log, end, open, start};

/// Runs the tests of the module on one server, since starting one takes longer than most of them.
#[test]
fn postgres_has_the_behavior_of_a_store() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (k, (name, test)) in behavior::TESTS.into_iter().enumerate() {
        eprintln!("{name}");
        runtime.block_on(test(server.database(&format!("behavior_{k}"))));
    }
    eprintln!("engines give equal answers");
    for seed in 0..(10.0 * scale()).ceil() as u64 {
        let folder = tempfile::tempdir().unwrap();
        let database = server.database(&format!("equal_{seed}"));
        runtime.block_on(async {
            let (sqlite, postgres) = (Store::open(folder.path()).await.unwrap(), open(&database).await);
            check_equal([&sqlite, &postgres], seed, 400).await;
        });
    }
    eprintln!("databases of others are refused");
    let foreign = server.database("foreign_tables");
    server.execute("foreign_tables", "CREATE TABLE recipes (name TEXT)");
    let missing = server.database("missing");
    let version = server.database("version");
    runtime.block_on(async {
        for opened in [Store::open(&foreign).await, Store::open_or_create(&foreign).await] {
            assert!(matches!(opened.err(), Some(StoreError::Foreign { .. })));
        }
        assert!(matches!(Store::open_shared(&missing).await.err(), Some(StoreError::Missing { .. })));
        Store::open_or_create(&missing).await.unwrap().close().await.unwrap();
        Store::open_shared(&missing).await.unwrap().close().await.unwrap();
        open(&version).await.close().await.unwrap();
    });
    server.execute("version", "UPDATE ludex_store SET version = 4");
    let opened = runtime.block_on(Store::open(&version));
    assert!(matches!(opened.err(), Some(StoreError::Version { found: 4, .. })));
}

#[test]
fn postgres_keeps_acknowledged_writes_after_a_kill_of_the_owner() {
    let Some(server) = PostgresServer::start() else { return };
    check_kills(&server.database("kills"));
}

/// The engines take each other's data: a store moves from a file to a database and back, and nothing changes.
#[test]
fn store_moves_between_engines_without_changes() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, last, other] = folders.each_ref().map(|folder| StoreLocation::in_folder(folder.path()));
    let database = server.database("moved");
    let original = runtime.block_on(async {
        let (original, other) = (open(&first).await, open(&other).await);
        check_equal([&original, &other], 7, 400).await;
        original
    });
    for (from, to) in [(&first, &database), (&database, &last)] {
        let copy = folders[1].path().join("copy.db");
        let mut snapshot = StoreSnapshot::take(from).unwrap();
        snapshot.release().unwrap();
        snapshot.copy(&copy).unwrap();
        drop(snapshot);
        snapshot::install(&copy, to).unwrap();
        let _ = std::fs::remove_file(copy);
        runtime.block_on(async {
            let moved = open(to).await;
            compare_reads([&original, &moved], &mut SmallRng::seed_from_u64(1)).await;
            // Numbers of matches continue.
            moved.close().await.unwrap();
        });
    }
    assert!(matches!(snapshot::install(first.path().unwrap(), &database), Err(StoreError::NotEmpty { .. })));
    runtime.block_on(async {
        let moved = open(&database).await;
        moved.write(vec![start("m_new"), act("m_new", 0), end("m_new", 1)]).await.unwrap();
        assert_eq!(moved.matches(&ludex_store::MatchFilter::default(), 1).await.unwrap()[0].id, "m_new");
    });
}

/// While a snapshot has its lock, no commit succeeds, and the snapshot has none of the later ones.
#[test]
fn snapshot_of_a_database_excludes_later_commits() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = server.database("snapshots");
    let store = runtime.block_on(async {
        let store = open(&database).await;
        store.write(vec![start("m_1")]).await.unwrap();
        store
    });
    let mut snapshot = StoreSnapshot::take(&database).unwrap();
    let mut later = runtime.block_on(store.submit(vec![start("m_2")])).unwrap();
    runtime.block_on(async {
        let waited = tokio::time::timeout(Duration::from_millis(300), &mut later).await;
        assert!(waited.is_err(), "a commit during the lock");
    });
    snapshot.release().unwrap();
    runtime.block_on(&mut later).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = StoreLocation::in_folder(folder.path());
    snapshot.copy(copy.path().unwrap()).unwrap();
    drop(snapshot);
    runtime.block_on(async {
        let copied = open(&copy).await.running().await.unwrap();
        assert_eq!(copied.iter().map(|kept| &*kept.row.id).collect::<Vec<_>>(), ["m_1"]);
    });
}

fn options(lease_ms: u64, patience_s: u64) -> StoreOptions {
    let (lease, patience) = (Duration::from_millis(lease_ms), Duration::from_secs(patience_s));
    StoreOptions { lease, patience, ..StoreOptions::default() }
}

/// A server whose lease was taken stores nothing more, is notified, and the new owner has all that was acknowledged.
#[test]
fn owner_without_its_lease_stores_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = server.database("leases");
    runtime.block_on(async {
        let first = open(&database).await;
        first.write(vec![start("m_1"), act("m_1", 0)]).await.unwrap();
        let Err(error) = Store::open(&database).await else { panic!("two owners") };
        let text = error.to_string();
        assert!(text.contains("in use by another ludex server (process ") && text.contains("--store"), "{text}");
        // A renewed lease does not expire.
        let Err(error) = Store::open_with(&database, options(6_000, 8)).await else { panic!("two owners") };
        assert!(matches!(error, StoreError::Locked { .. }));

        server.execute("leases", "UPDATE cells SET until = '-infinity'");
        let second = Store::open_with(&database, options(6_000, 20)).await.unwrap();
        let refused = first.write(vec![act("m_1", 1)]).await;
        assert!(matches!(refused, Err(StoreError::Lost { .. })), "{refused:?}");
        assert!(matches!(first.wait_until_lost().await, StoreError::Lost { .. }));
        assert!(matches!(first.write(vec![act("m_1", 1)]).await, Err(StoreError::Lost { .. })));
        second.write(vec![act("m_1", 1)]).await.unwrap();
        let kept = second.episode("m_1").await.unwrap().unwrap();
        check_log("m_1", &kept.acts);
        assert_eq!(kept.acts.len(), 2);
        // A closed store can be opened at once.
        second.close().await.unwrap();
        open(&database).await.close().await.unwrap();
    });
}

/// Each owner of a store with several cells has one of them, and their writes have one order of releases.
#[test]
fn owners_share_the_cells_of_a_store() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = server.database("cells");
    let of = |cells, at: &str| StoreOptions { cells: Some(cells), at: at.to_owned(), ..StoreOptions::default() };
    runtime.block_on(async {
        let mut owners = Vec::new();
        for at in ["ws://a", "ws://b", "ws://c"] {
            owners.push(Store::open_with(&database, of(3, at)).await.unwrap());
        }
        let cells: Vec<_> = owners.iter().map(|owner| (owner.cell().number(), owner.cell().count())).collect();
        assert_eq!(cells, [(0, 3), (1, 3), (2, 3)]);
        assert!(matches!(Store::open_with(&database, of(3, "ws://d")).await.err(), Some(StoreError::Locked { .. })));
        let other = Store::open_with(&database, of(4, "ws://d")).await.err().unwrap().to_string();
        assert!(other.contains("expected 4 cells, got a store with 3"), "{other}");
        let table = owners[0].cells().await.unwrap();
        let at: Vec<_> = table.owners.iter().flatten().map(|owner| &*owner.at).collect();
        assert_eq!(at, ["ws://a", "ws://b", "ws://c"]);

        // All cells release matches at once, while a reader follows the numbers.
        let ends = owners.iter().enumerate().map(|(k, owner)| async move {
            for n in 0..40 {
                let id = owner.cell().id('m', &format!("{k}{n}"));
                owner.write(vec![start(&id), end(&id, 5), Write::Released { ids: vec![id.clone()] }]).await.unwrap();
            }
        });
        let reader = Store::open_shared(&database).await.unwrap();
        let reads = async {
            let (mut seen, mut last) = (0, 0);
            while seen < 120 {
                for row in reader.records(&MatchFilter::default(), last, 1_000).await.unwrap() {
                    assert_eq!(row.seq, last + 1, "a release was visible after a later one");
                    (seen, last) = (seen + 1, row.seq);
                }
            }
        };
        tokio::join!(futures_util::future::join_all(ends), reads);

        // A closed cell is free at once.
        owners.remove(1).close().await.unwrap();
        let next = Store::open_with(&database, of(3, "ws://d")).await.unwrap();
        assert_eq!(next.cell().number(), 1);
        owners.push(next);
        let running = owners[1].running_of(|id, _| owners[1].cell().has_id(id)).await.unwrap();
        assert!(running.is_empty());
        for store in owners.into_iter().chain([reader]) {
            store.close().await.unwrap();
        }
        // An idle store gets more cells.
        let more = Store::open_with(&database, of(5, "ws://a")).await.unwrap();
        assert_eq!((more.cell().number(), more.cell().count()), (0, 5));
        more.write(vec![start("m_1")]).await.unwrap();
        more.close().await.unwrap();
        assert!(Store::open_with(&database, of(6, "ws://a")).await.is_err(), "a match runs");
    });
}

/// The server acknowledges a commit, but the acknowledgment is lost: the batch is stored once, and the caller succeeds.
#[test]
fn commit_with_a_lost_acknowledgment_is_stored_once() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    server.database("commits");
    let proxy = DatabaseProxy::start(server.port());
    let database = server.location("commits", proxy.port());
    runtime.block_on(async {
        let store = open(&database).await;
        store.write(vec![start("m_1"), Write::Counter { key: "k".to_owned(), value: 1 }]).await.unwrap();
        for n in 0..20 {
            // In turns before and after the commit, and at the beginning of the batch.
            let text = ["COMMIT", "BEGIN", "{\"match\""][n as usize % 3];
            proxy.cut_after(text);
            store.write(vec![act("m_1", n)]).await.unwrap();
            assert!(proxy.has_cut(), "{text}");
        }
        let kept = store.episode("m_1").await.unwrap().unwrap();
        check_log("m_1", &kept.acts);
        assert_eq!(kept.acts.len(), 20);
        store.close().await.unwrap();
    });
}

/// The database crashes again and again under load: no write fails, and each is stored once.
#[test]
fn writes_wait_for_a_database_that_restarts() {
    let Some(mut server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = server.database("restarts");
    let store = runtime.block_on(open(&database));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let crashes = std::thread::spawn(move || {
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(300));
            server.crash();
        }
        stopped.store(true, Ordering::Relaxed);
        server
    });
    runtime.block_on(async {
        let writers = (0..8).map(|k| {
            let (store, stop) = (store.clone(), stop.clone());
            async move {
                let id = format!("m_{k}");
                store.write(vec![start(&id)]).await.unwrap();
                for n in 0.. {
                    store.write(vec![act(&id, n)]).await.unwrap();
                    if stop.load(Ordering::Relaxed) {
                        return (id, n + 1);
                    }
                }
                unreachable!("the loop has no end")
            }
        });
        for (id, acts) in futures_util::future::join_all(writers).await {
            let kept = store.episode(&id).await.unwrap().unwrap();
            check_log(&id, &kept.acts);
            assert_eq!(kept.acts.len() as u64, acts);
        }
        store.close().await.unwrap();
    });
    drop(crashes.join().unwrap());
}

/// A database that acknowledges commits before they are on disk is refused, unless the operator accepts it.
#[test]
fn database_without_durable_commits_is_refused() {
    let Some(server) = PostgresServer::start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = server.database("durable");
    for level in ["off", "local", "remote_write"] {
        server.execute("postgres", &format!("ALTER DATABASE durable SET synchronous_commit = {level}"));
        let error = runtime.block_on(Store::open(&database)).err().expect("a database that loses commits");
        let text = error.to_string();
        assert!(matches!(error, StoreError::NotDurable { .. }), "{text}");
        assert!(text.contains(&format!("expected synchronous_commit = on, got {level}")), "{text}");
        assert!(text.contains("--allow-async-replication"), "{text}");
    }
    runtime.block_on(async {
        let accepted = StoreOptions { allow_async_replication: true, ..StoreOptions::default() };
        Store::open_with(&database, accepted).await.unwrap().close().await.unwrap();
    });
    server.execute("postgres", "ALTER DATABASE durable RESET synchronous_commit");
    runtime.block_on(async { open(&database).await.close().await.unwrap() });
}

#[tokio::test]
async fn database_facts_name_settings_owner_and_tables() {
    let Some(server) = PostgresServer::start() else { return };
    let location = server.database("facts");
    let owner = Store::open(&location).await.unwrap();
    let facts = owner.database_facts().await.unwrap().expect("a database");
    assert_eq!((facts.synchronous_commit.as_str(), facts.fsync.as_str()), ("on", "on"));
    assert!(facts.standby_names.is_empty() && facts.standbys.is_empty(), "{facts:?}");
    assert!(facts.clock_ahead_ms.abs() < 60_000, "the clock of the same machine: {facts:?}");
    let [lease] = facts.leases.as_slice() else { panic!("{facts:?}") };
    assert!(lease.node.contains(&std::process::id().to_string()) && lease.left <= Duration::from_secs(6), "{lease:?}");
    assert!(facts.tables.iter().any(|table| table.name == "matches" && table.bytes > 0), "{facts:?}");
    owner.close().await.unwrap();
    let beside = Store::open_shared(&location).await.unwrap();
    assert!(beside.database_facts().await.unwrap().unwrap().leases.is_empty());
    beside.close().await.unwrap();
}
