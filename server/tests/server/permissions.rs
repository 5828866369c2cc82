//! Permissions of the files that a server creates.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ludex_server::{Config, run};
use tokio::net::TcpListener;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Starts and stops a server, and returns the files in its folder.
async fn files_of_server(folder: &Path) -> Vec<PathBuf> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    run(listener, Config::new(folder), async {}).await.unwrap();
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 2, "{files:?}");
    files
}

#[tokio::test]
async fn server_folder_is_readable_by_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    for file in files_of_server(folder.path()).await {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        // Changes the mode, as copying the folder might. The next start must restore it.
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    }
    assert_eq!(mode(folder.path()), 0o700);
    for file in files_of_server(folder.path()).await {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
