use ludex_store::{Store, Write as Row};

use super::*;

fn row(key: &str) -> Vec<Row> {
    vec![Row::Meta { key: key.to_owned(), value: key.to_owned() }]
}

fn put(data: &Path, name: &str, text: &str) {
    let path = data.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the files of a directory with their text, without the store and its lock.
fn texts(data: &Path) -> BTreeMap<String, String> {
    let names = files(data).unwrap();
    names.into_iter().map(|name| (name.clone(), fs::read_to_string(data.join(name)).unwrap())).collect()
}

/// Creates a data directory with a store and a run. Returns the store's secrets for rated matches and for the
/// run.
async fn filled(data: &Path) -> [[u8; 32]; 2] {
    for name in ["run.json", "episodes.jsonl", "calls.jsonl", "log.jsonl", "lock", "run.json.draft"] {
        put(data, &format!("runs/r/{name}"), name);
    }
    let store = Store::open(data).await.unwrap();
    let secrets = [store.secret("rated").await.unwrap(), store.secret("run:r").await.unwrap()];
    store.write(row("known")).await.unwrap();
    store.close().await.unwrap();
    secrets
}

#[tokio::test]
async fn restored_data_equals_original_except_rated_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy, file) = (folder.path().join("data"), folder.path().join("copy"), folder.path().join("b.tar.gz"));
    let [rated, run] = filled(&data).await;
    let store = Store::open(&data).await.unwrap();
    assert_eq!(write(&data, &(&data).into(), &file).unwrap().files, 5);
    assert!(format!("{:#}", write(&data, &(&data).into(), &file).unwrap_err()).contains("b.tar.gz, which exists"));
    store.close().await.unwrap();

    let (manifest, size) = restore(&file, &copy, &(&copy).into()).unwrap();
    assert_eq!((manifest.ludex_backup, size.files), (VERSION, 5));
    let restored = texts(&copy);
    assert_eq!(restored, texts(&data));
    assert!(restored.contains_key("runs/r/run.json") && !restored.contains_key("runs/r/lock"), "{restored:?}");
    let store = Store::open(&copy).await.unwrap();
    assert_eq!(store.meta("known").await.unwrap().as_deref(), Some("known"));
    assert_eq!(store.secret("run:r").await.unwrap(), run, "an open run keeps its plan");
    assert_ne!(store.secret("rated").await.unwrap(), rated);
    store.close().await.unwrap();
    let said = format!("{:#}", restore(&file, &copy, &(&copy).into()).unwrap_err());
    assert!(said.starts_with("expected a folder without a store, got ") && said.ends_with("which exists"), "{said}");
}

#[cfg(unix)]
#[tokio::test]
async fn restored_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let (data, copy, file) = (folder.path().join("data"), folder.path().join("copy"), folder.path().join("b.tar.gz"));
    filled(&data).await;
    write(&data, &(&data).into(), &file).unwrap();
    fs::create_dir(&copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    restore(&file, &copy, &(&copy).into()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    for inner in ["", "runs", "runs/r"] {
        assert_eq!(mode(&copy.join(inner)), 0o700, "{inner}");
    }
    for inner in [STORE_FILE, "runs/r/run.json"] {
        assert_eq!(mode(&copy.join(inner)), 0o600, "{inner}");
    }
}

/// Packs exactly these files as a backup. Adds no checksums.
fn packed(path: &Path, files: &[(&str, &[u8])]) {
    let mut tar = tar::Builder::new(GzEncoder::new(File::create(path).unwrap(), Compression::fast()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

#[tokio::test]
async fn unusable_backup_restores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file, bad) = (folder.path().join("data"), folder.path().join("b.tar.gz"), folder.path().join("bad"));
    filled(&data).await;
    write(&data, &(&data).into(), &file).unwrap();
    let whole = fs::read(&file).unwrap();
    let manifest = br#"{"ludex_backup":2,"program":"p","created":"c"}"#;
    let changed: &[(&str, &[u8])] =
        &[(MANIFEST, manifest), ("runs/r/run.json", b"{}"), (SUMS, b"00  runs/r/run.json\n")];
    let other: &[(&str, &[u8])] = &[(MANIFEST, br#"{"ludex_backup":1,"program":"p","created":"c"}"#)];
    let cases: [(&dyn Fn(), &str); 6] = [
        (&|| fs::write(&bad, &whole[..whole.len() / 2]).unwrap(), "is not a complete backup"),
        (&|| packed(&bad, changed), "runs/r/run.json was changed: its checksum differs from SHA256SUMS"),
        (&|| packed(&bad, &changed[..2]), "SHA256SUMS is missing"),
        (&|| packed(&bad, &changed[1..]), "is not a backup: expected manifest.json first, got runs/r/run.json"),
        (&|| packed(&bad, &[(MANIFEST, manifest), ("other", b"")]), "expected only files of a backup, got other"),
        (&|| packed(&bad, other), "expected backup version 2, got 1"),
    ];
    for (create, expected) in cases {
        create();
        let copy = folder.path().join("copy");
        let said = format!("{:#}", restore(&bad, &copy, &(&copy).into()).unwrap_err());
        assert!(said.contains(expected), "{said}");
        let left: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [LOCK_FILE], "{expected}");
    }
}

#[tokio::test]
async fn snapshot_excludes_later_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    filled(&data).await;
    let store = Store::open(&data).await.unwrap();
    let mut snapshot = StoreSnapshot::take(&(&data).into()).unwrap();
    let later = store.submit(row("later")).await.unwrap();
    snapshot.release().unwrap();
    later.await.unwrap();
    fs::create_dir(&copy).unwrap();
    snapshot.copy(&copy.join(STORE_FILE)).unwrap();
    store.close().await.unwrap();
    let store = Store::open(&copy).await.unwrap();
    let found = [store.meta("known").await.unwrap(), store.meta("later").await.unwrap()];
    assert_eq!(found, [Some("known".to_owned()), None]);
    store.close().await.unwrap();
}
