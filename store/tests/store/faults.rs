//! Faults of the disk, in a database in memory and in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ludex_store::testing::{CommitFate, DiskFault, MemoryDatabase};
use ludex_store::{Store, StoreError};
use tokio::time::sleep;

use super::rows::{act, start};

/// Opens a store whose commits fail while the switch is on.
async fn open(fault: DiskFault) -> (Store, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    let fails = switch.clone();
    let fate = move |_| match fails.load(Ordering::Relaxed) {
        true => CommitFate::Failed(fault),
        false => CommitFate::Stored(Duration::ZERO),
    };
    (MemoryDatabase::new().open(fate, || unreachable!("no commit crashes")).await.unwrap(), switch)
}

#[tokio::test(start_paused = true)]
async fn asynchronous_writes_are_stored_once_the_disk_works_again() {
    for fault in DiskFault::ALL {
        let (store, fails) = open(fault).await;
        store.write(vec![start("m_1")]).await.unwrap();
        fails.store(true, Ordering::Relaxed);
        for n in 0..3 {
            store.write_behind(vec![act("m_1", n)]).await.unwrap();
            assert!(store.flush().await.is_err_and(|error| error.is_passing()), "{fault:?}");
        }
        sleep(Duration::from_secs(60)).await;
        assert!(store.write_fault().is_some_and(|error| error.is_passing()), "{fault:?}");
        fails.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
        assert!(store.write_fault().is_none(), "{fault:?}");
        let log = store.episode("m_1").await.unwrap().unwrap().acts;
        assert_eq!(log.iter().map(|act| act.n).collect::<Vec<_>>(), [0, 1, 2], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_row_may_be_stored_again_but_no_later_row() {
    let (store, fails) = open(DiskFault::Sync).await;
    store.write(vec![start("m_1")]).await.unwrap();
    fails.store(true, Ordering::Relaxed);
    assert!(matches!(store.write(vec![act("m_1", 0)]).await, Err(StoreError::Disk { .. })));
    fails.store(false, Ordering::Relaxed);
    assert!(matches!(store.write(vec![act("m_1", 1)]).await, Err(StoreError::Broken { .. })));
    store.write(vec![act("m_1", 0), act("m_1", 1)]).await.unwrap();
    store.write(vec![act("m_1", 2)]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fault_without_writes_ends_by_itself() {
    let (store, fails) = open(DiskFault::Full).await;
    fails.store(true, Ordering::Relaxed);
    assert!(store.write(vec![start("m_1")]).await.is_err());
    sleep(Duration::from_secs(10)).await;
    assert!(matches!(store.write_fault(), Some(StoreError::Full { .. })));
    fails.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(2)).await;
    assert!(store.write_fault().is_none());
}

#[tokio::test(start_paused = true)]
async fn hanging_commit_is_a_fault_until_it_ends() {
    let fate = |_| CommitFate::Stored(Duration::from_secs(20));
    let store = MemoryDatabase::new().open(fate, || unreachable!("no commit crashes")).await.unwrap();
    let receipt = store.submit(vec![start("m_1")]).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(store.write_fault().is_none());
    sleep(Duration::from_secs(9)).await;
    assert!(matches!(store.write_fault(), Some(StoreError::Stalled { seconds: 10, .. })), "{:?}", store.write_fault());
    receipt.await.unwrap();
    assert!(store.write_fault().is_none());
}
