//! Stores in SQLite files.

use std::fs;
use std::path::Path;

use ludex_store::{Store, StoreError, StoreLocation, Write};

use super::behavior;
use super::rows::{act, start};

#[tokio::test]
async fn sqlite_has_the_behavior_of_a_store() {
    for (name, test) in behavior::TESTS {
        eprintln!("{name}");
        let folder = tempfile::tempdir().unwrap();
        test(StoreLocation::in_folder(folder.path())).await;
    }
}

async fn open(folder: &Path) -> Store {
    Store::open(folder).await.unwrap()
}

#[tokio::test]
async fn store_has_one_owner_and_shared_readers() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("a/b");
    assert!(matches!(Store::open_shared(&folder).await, Err(StoreError::Missing { .. })));
    assert!(!folder.exists(), "shared access must not create a store");
    let store = open(&folder).await;
    #[cfg(unix)]
    for path in [&*folder, store.location().path().unwrap()] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "{} contains secrets and is readable by others", path.display());
    }
    let Err(error) = Store::open(&folder).await else { panic!("two owners") };
    assert!(matches!(error, StoreError::Locked { .. }));
    assert!(error.to_string().contains("in use by another ludex server"), "{error}");

    let beside = Store::open_shared(&folder).await.unwrap();
    store.write(vec![start("m_1")]).await.unwrap();
    assert_eq!(beside.running().await.unwrap().len(), 1);
    beside.write(vec![Write::Meta { key: "k".to_owned(), value: "v".to_owned() }]).await.unwrap();
    assert_eq!(store.meta("k").await.unwrap().as_deref(), Some("v"));
    assert!(matches!(beside.next("rated").await, Err(StoreError::NotOwner)));
    beside.close().await.unwrap();
    assert!(matches!(Store::open(&folder).await, Err(StoreError::Locked { .. })), "the owner still has the lock");

    let other = store.clone();
    store.close().await.unwrap();
    assert!(matches!(other.write(vec![start("m_2")]).await, Err(StoreError::Closed)));
    assert!(matches!(other.running().await, Err(StoreError::Closed)));
    open(&folder).await.close().await.unwrap();
}

#[tokio::test]
async fn foreign_files_are_reported_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ludex.db");
    fs::write(&path, "This is a diary, not a database. ".repeat(100)).unwrap();
    let before = fs::read(&path).unwrap();
    let Err(error) = Store::open(folder.path()).await else { panic!("a diary was opened") };
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("ludex.db is not a ludex store"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::remove_file(&path).unwrap();
    database(folder.path(), "CREATE TABLE recipes (name TEXT); PRAGMA user_version = 1");
    let before = fs::read(&path).unwrap();
    for opened in [Store::open(folder.path()).await, Store::open_shared(folder.path()).await] {
        assert!(matches!(opened.err(), Some(StoreError::Foreign { .. })));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn stores_of_unsupported_versions_are_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).await.close().await.unwrap();
    for version in [0, 1, 2, 3, 4, 99] {
        database(folder.path(), &format!("PRAGMA user_version = {version}"));
        let before = fs::read(folder.path().join("ludex.db")).unwrap();
        for opened in [Store::open(folder.path()).await, Store::open_shared(folder.path()).await] {
            let Err(error) = opened else { panic!("a store of version {version} was opened") };
            assert!(matches!(error, StoreError::Version { found, .. } if found == version), "{error}");
            let text = format!("expected store version 5, got {version}; use the ludex version that wrote the store");
            assert!(error.to_string().contains(&text), "{error}");
        }
        assert_eq!(fs::read(folder.path().join("ludex.db")).unwrap(), before);
    }
}

#[tokio::test]
async fn damaged_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ludex.db");
    let store = open(folder.path()).await;
    let mut writes = vec![start("m_1")];
    writes.extend((0..2_000).map(|n| act("m_1", n)));
    store.write(writes).await.unwrap();
    store.close().await.unwrap();
    // First everything after the first page is overwritten, as by a bad disk; then only a few bytes of every page.
    let whole = fs::read(&path).unwrap();
    let mut gone = whole.clone();
    gone[4_096..].fill(0x5a);
    let mut spoilt = whole.clone();
    spoilt[4_096..].chunks_mut(4_096).for_each(|page| page[1_000..1_064].fill(0x5a));
    for bytes in [gone, spoilt] {
        fs::write(&path, bytes).unwrap();
        let error = Store::open(folder.path()).await.err().expect("a damaged store was opened");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("ludex.db is damaged"), "{error}");
    }
    fs::write(&path, whole).unwrap();
    open(folder.path()).await.close().await.unwrap();
}

#[tokio::test]
async fn empty_database_file_is_reported_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ludex.db");
    open(folder.path()).await.close().await.unwrap();
    fs::write(&path, "").unwrap();
    for opened in [Store::open(folder.path()).await, Store::open_shared(folder.path()).await] {
        let error = opened.err().expect("an empty file was opened");
        assert!(matches!(error, StoreError::Empty { .. }), "{error:?}");
        assert!(error.to_string().contains("restore it from a backup, or remove it"), "{error}");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    fs::remove_file(&path).unwrap();
    open(folder.path()).await.close().await.unwrap();
}

/// Creates a database at the store's path with `script`.
fn database(folder: &Path, script: &str) {
    rusqlite::Connection::open(folder.join("ludex.db")).unwrap().execute_batch(script).unwrap();
}
