//! Operation of `ludex serve` by its host: configuration, reload, access log, and messages to systemd.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use ludex_tests::server::get;
use ludex_tests::{Client, Process};
use serde_json::{Value, json};

use super::crash::PROGRAM;

/// Time limit for the end of a server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `ludex serve --check` in `folder`.
fn check(folder: &Path, args: &[&str]) -> Output {
    let args = [&["serve", "--check"], args].concat();
    Command::new(PROGRAM).args(args).current_dir(folder).output().expect("the program")
}

#[test]
fn check_reports_errors_of_all_settings_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("consent.md", "I agree.");
    write("season.toml", "suite = \"quick\"\n[[season]]\nname = \"a\"");
    write(
        "ludex.toml",
        "listen = \"192.0.2.1:1\"\npublic = true\nladder = [\"connect_four\"]\nseason = [\"season.toml\"]\n\
         consent = \"consent.md\"\ndrain_timeout = 5\n[limit]\nwindow = 64\n[agent]\nhouse = \"random\"\n\
         [retain]\nunrated = \"30d\"\n",
    );
    let good = check(folder.path(), &["--config", "ludex.toml"]);
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    assert_eq!(String::from_utf8_lossy(&good.stdout), "the configuration is valid\n");
    write("broken.toml", "suite = \"quick\"\n[[season]]\nnames = \"a\"");
    write("typo.toml", "lisen = \"127.0.0.1:1\"");
    let (cert, key) = ("consent.md", "consent.md");
    for (args, says) in [
        (&["--season", "broken.toml"][..], "broken.toml"),
        (&["--suite", "quick", "--suite", "none", "--season", "/nowhere"], "/nowhere"),
        (&["--suite", "none", "--season", "season.toml"], "expected the name of an offered suite, got quick"),
        (&["--ladder", "kuhn_poker(players=3)"], "competitive two-player game"),
        (&["--ladder", "chess", "--ladder", "chess"], "chess"),
        (&["--limit", "window=1000000"], "replies_kept"),
        (&["--limit", "windo=1"], "did you mean window?"),
        (&["--agent", "house=rndom"], "rndom"),
        (&["--tls-cert", cert, "--tls-key", key], "consent.md"),
        (&["--consent", "missing.md"], "missing.md"),
        (&["--config", "missing.toml"], "missing.toml"),
        (
            &["--config", "typo.toml"],
            "typo.toml: expected a key of the configuration, got \"lisen\"; did you mean listen?",
        ),
    ] {
        let ran = check(folder.path(), args);
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && error.contains(says), "{args:?}: {error}");
    }
    assert!(!folder.path().join("ludex-data").exists(), "a check has created a store");
}

#[test]
fn documented_configuration_lacks_only_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/running-a-server.md")).unwrap();
    let example = docs.split("```toml\n").nth(1).and_then(|text| text.split("```").next()).unwrap();
    fs::write(folder.path().join("ludex.toml"), example).unwrap();
    let ran = check(folder.path(), &["--config", "ludex.toml"]);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && error.starts_with("ludex: reading the certificate chain.pem failed"), "{error}");
}

#[tokio::test]
async fn reload_applies_limits_and_names_what_needs_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let config = path("ludex.toml");
    fs::write(&config, "drain_timeout = 1\n[limit]\nwindow = 60").unwrap();
    let file = config.to_str().unwrap();
    let server = Process::start(PROGRAM, &path("data"), &path("log"), None, &["--config", file]);
    let window = async || Client::hello(server.address).await.welcome["limits"]["window"].clone();
    let mut before = Client::hello(server.address).await;
    assert_eq!(before.welcome["limits"]["window"], 60);

    fs::write(&config, "public = true\ndrain_timeout = 1\n[limit]\nwindow = 61").unwrap();
    server.signal("HUP");
    server.logged("settings reloaded", 1);
    assert_eq!(window().await, 61);
    let ignored = server.logged("changed settings are ignored until a restart", 1);
    assert!(ignored[0].contains("public") && !ignored[0].contains("limit"), "{ignored:?}");

    for (count, text) in ["[limit]\nwindow = 62\nwindo = 3", "lisen = 1"].into_iter().enumerate() {
        fs::write(&config, text).unwrap();
        server.signal("HUP");
        let failed = server.logged("reload failed", count + 1);
        assert!(failed[count].contains("did you mean"), "{failed:?}");
    }
    assert_eq!(window().await, 61);
    assert_eq!(before.call("ping", json!({})).await["type"], "pong");
    server.has_not_panicked();
    server.terminate(PATIENCE);
}

#[tokio::test]
async fn access_log_has_one_line_per_request_and_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let data = path("data");
    let token = Command::new(PROGRAM)
        .args(["admin", "token", "add", "--owner", "ann", "--json", "--data"])
        .arg(&data)
        .output()
        .expect("the program");
    let token: Value = serde_json::from_slice(&token.stdout).unwrap();
    let token = token["tokens"][0]["token"].as_str().or(token["token"].as_str()).unwrap_or_else(|| panic!("{token}"));
    let more = ["--access-log", "json", "--trusted-proxy", "127.0.0.0/8"];
    // The filter of the log does not apply to the access log.
    let level = [("LUDEX_LOG", OsStr::new("warn"))];
    let server = Process::start_with(PROGRAM, &data, &path("log"), None, &more, &level);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let (_, games) = get(server.address, "/games?secret=1", "").await;
    get(server.address, "/matches", &format!("{bearer}X-Forwarded-For: 203.0.113.7\r\n")).await;
    get(server.address, &format!("/{token}"), "").await;
    // More lines than the limit of the other log.
    for _ in 0..40 {
        get(server.address, "/health", "").await;
    }
    let mut client =
        Client::open(server.address, None, &[("authorization", &format!("Bearer {token}"))]).await.unwrap();
    client.say(&json!({"type": "hello", "id": 1, "protocol": [1], "client": "raw/0"})).await;
    let lines: Vec<Value> =
        server.logged("ludex::access", 44).iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 44, "{lines:?}");
    let of = |path: &str| -> Vec<&Value> { lines.iter().filter(|line| line["path"] == path).collect() };
    let games_line = of("/games")[0];
    assert_eq!((&games_line["method"], &games_line["status"]), (&json!("GET"), &json!(200)));
    assert_eq!((&games_line["bytes"], &games_line["owner"]), (&json!(games.len()), &Value::Null));
    assert!(games_line["duration_ms"].as_f64() > Some(0.0) && games_line["ip"] == "127.0.0.1", "{games_line}");
    let matches = of("/matches")[0];
    assert_eq!((&matches["owner"], &matches["ip"]), (&json!("ann"), &json!("203.0.113.7")));
    assert_eq!(of("/lx_...")[0]["status"], 404);
    assert_eq!(of("/health").len(), 40);
    let upgrade = of("/ws");
    assert_eq!((upgrade.len(), &upgrade[0]["status"], &upgrade[0]["owner"]), (1, &json!(101), &json!("ann")));
    let log = fs::read_to_string(path("log")).unwrap();
    assert!(!log.contains(token) && !log.contains("secret"), "{log}");
    server.terminate(PATIENCE);
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_is_notified_of_each_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let socket = std::os::unix::net::UnixDatagram::bind(path("notify")).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let variables = [("NOTIFY_SOCKET", path("notify").into_os_string()), ("WATCHDOG_USEC", "100000".into())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_os_str()));
    let server = Process::start_with(PROGRAM, &path("data"), &path("log"), None, &[], &variables);
    // Skips messages of the watchdog, except if one is wanted.
    let next = |is_watchdog: bool| loop {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).expect("a message");
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if text.contains("WATCHDOG=1") == is_watchdog {
            return text;
        }
    };
    assert_eq!(next(false), "READY=1\n");
    assert_eq!(next(true), "WATCHDOG=1\n");
    server.signal("HUP");
    let reloading = next(false);
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(next(false), "READY=1\n");
    server.terminate(PATIENCE);
    assert_eq!(next(false), "STOPPING=1\n");
}
