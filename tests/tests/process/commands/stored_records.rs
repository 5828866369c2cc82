//! Records written by an earlier version of the program. They must verify as long as the rules versions of their games
//! do not change.

use std::io::Read as _;
use std::path::Path;

use super::{folder, ludex};

/// Returns stored records of 2026-11-22: every game, played in process and over the wire, with refused attempts,
/// forfeits and a model's notes. Records of later games were appended.
fn stored_records() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/records");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut text = String::new();
    for file in files {
        flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    }
    text
}

#[test]
fn records_of_an_earlier_program_verify() {
    let here = folder();
    let text = stored_records();
    // The rules of this game have changed since.
    let changed = |line: &&str| line.contains("\"game\":\"elemental_duel\"");
    let (old, kept): (Vec<&str>, Vec<&str>) = text.lines().partition(changed);
    std::fs::write(here.path().join("kept.jsonl"), kept.join("\n")).unwrap();
    let said = ludex(here.path(), &["verify", "kept.jsonl"]).well();
    assert!(said.contains(&format!("{} episodes verified", kept.len())), "{said}");
    std::fs::write(here.path().join("old.jsonl"), old.join("\n")).unwrap();
    let ran = ludex(here.path(), &["verify", "old.jsonl"]);
    let refused = ran.out.matches("expected rules 2 of elemental_duel").count();
    assert_eq!((ran.code, refused), (1, old.len()), "{}{}", ran.out, ran.err);
    for game in ludex_games::games() {
        assert!(text.contains(&format!("\"game\":\"{}\"", game.info.id)), "no record of {}", game.info.id);
    }
}

#[test]
fn edited_record_does_not_verify() {
    let here = folder();
    let text = stored_records();
    let first = text.lines().next().unwrap();
    let changed = first.replacen("\"ms\":0", "\"ms\":1", 1);
    assert_ne!(first, changed);
    std::fs::write(here.path().join("changed.jsonl"), changed).unwrap();
    let ran = ludex(here.path(), &["verify", "changed.jsonl"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
}
