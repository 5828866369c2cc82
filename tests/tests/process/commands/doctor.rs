//! `ludex admin doctor`.

use std::path::Path;
use std::time::Duration;

use ludex_tests::Server;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Ran, folder, ludex};

fn doctor(data: &Path, more: &[&str]) -> Ran {
    let data = data.to_str().unwrap();
    ludex(folder().path(), &[&["admin", "doctor", "--data", data], more].concat())
}

/// Returns the findings of the JSON document, by check.
fn findings(ran: &Ran, check: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err));
    let all = document["checks"].as_array().unwrap().iter();
    all.filter(|finding| finding["check"] == check).cloned().collect()
}

/// Starts a server, plays a tournament as the run `cup`, and stops the server.
async fn prepare(data: &Path) {
    let server = Server::start_in(data, |_| {}).await;
    let entrants = json!([{"name": "one", "agent": "random"}, {"name": "two", "agent": "random"}]);
    let request = json!({"run": "cup", "game": "tic_tac_toe", "format": "round_robin", "entrants": entrants});
    server.runs.organise(&serde_json::from_value(request).unwrap()).await.unwrap();
    while server.runs.run("cup").await.unwrap()["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The folder is examined beside the running server.
    let path = data.to_owned();
    let ran = tokio::task::spawn_blocking(move || doctor(&path, &[])).await.unwrap();
    assert!(ran.code == 0 && ran.out.contains("ok       store: "), "{}{}", ran.out, ran.err);
    server.stop().stopped().await;
}

#[tokio::test]
async fn doctor_finds_damage_and_names_remedies() {
    let folder = folder();
    let data = folder.path().join("data");
    prepare(&data).await;
    let well = doctor(&data, &["--json"]);
    assert_eq!(well.code, 0, "{}{}", well.out, well.err);
    for check in ["store", "runs", "clock", "modes"] {
        let found = findings(&well, check);
        assert!(found.len() == 1 && found[0]["status"] == "ok" && found[0]["remedy"].is_null(), "{check}: {found:?}");
    }

    std::fs::create_dir(data.join("runs/stray")).unwrap();
    let stray = doctor(&data, &["--json"]);
    assert_eq!((stray.code, &findings(&stray, "runs")[0]["status"]), (0, &json!("warning")));
    assert!(findings(&stray, "runs")[0]["text"].as_str().unwrap().contains("stray"));
    std::fs::remove_dir_all(data.join("runs/stray")).unwrap();
    std::fs::remove_file(data.join("runs/cup/episodes.jsonl")).unwrap();
    let lost = doctor(&data, &[]);
    assert_eq!(lost.code, 1, "{}", lost.out);
    assert!(lost.out.contains("problem  runs: finished runs without records: cup; restore"), "{}", lost.out);
    assert!(lost.err.contains("1 problem found"), "{}", lost.err);

    let file = Connection::open(data.join("ludex.db")).unwrap();
    let later = ludex_play::time::epoch_ms() + 3_600_000;
    file.execute("UPDATE matches SET ended_ms = ?1", [later]).unwrap();
    drop(file);
    let late = doctor(&data, &["--json"]);
    assert!(findings(&late, "clock")[0]["text"].as_str().unwrap().contains("before the newest time"), "{}", late.out);

    assert_eq!(doctor(folder.path(), &[]).code, 1, "a folder without a store");
}

#[cfg(unix)]
#[tokio::test]
async fn doctor_reports_modes_that_let_others_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let data = folder.path().join("data");
    Server::start_in(&data, |_| {}).await.stop().stopped().await;
    let open = |name: &str, mode: u32| {
        std::fs::set_permissions(data.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        let found = findings(&doctor(&data, &["--json"]), "modes").remove(0);
        (found["status"].as_str().unwrap().to_owned(), found["text"].as_str().unwrap().to_owned())
    };
    let (status, text) = open("ludex.db", 0o644);
    assert!(
        status == "warning" && text.contains("may access: 1,") && text.contains("ludex.db (644)"),
        "{status} {text}"
    );
    assert_eq!(open(".", 0o755).0, "problem");
    assert_eq!(open("ludex.db", 0o600).0, "problem");
    assert_eq!(open(".", 0o700).0, "ok");
}

#[tokio::test]
async fn damaged_file_is_a_problem() {
    let folder = folder();
    let data = folder.path().join("data");
    Server::start_in(&data, |_| {}).await.stop().stopped().await;
    let path = data.join("ludex.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let page = bytes.len() / 2 / 4096 * 4096;
    bytes[page..page + 64].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let ran = doctor(&data, &["--json"]);
    let store = &findings(&ran, "store")[0];
    assert_eq!((ran.code, &store["status"]), (1, &json!("problem")), "{}", ran.out);
    assert!(store["remedy"].as_str().unwrap().contains("backup"), "{store}");
}
