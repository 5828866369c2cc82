//! Operation of `ludex serve` by its host: configuration.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::crash::PROGRAM;

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
