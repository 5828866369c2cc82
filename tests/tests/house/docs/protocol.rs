//! Checks of the protocol and record pages: every message has a section, every example is a golden frame, every
//! documented hash and digest is correct, every paragraph is short.

use std::collections::BTreeSet;

use ludex_protocol::{ClientMessage, ServerMessage};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{read, root};

/// Maximum number of characters in a paragraph.
const PARAGRAPH: usize = 600;

/// Maps that examples on the page may abbreviate.
const SHORTENED: [&str; 2] = ["limits", "spec"];

/// Returns the protocol page and the page on messages about runs, joined.
fn page() -> String {
    ["docs/protocol.md", "docs/runs.md"].map(|path| read(&root().join(path))).join("\n")
}

fn records() -> String {
    read(&root().join("docs/records.md"))
}

fn object(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn golden() -> Vec<Value> {
    let text = read(&root().join("tests/data/frames/frames.jsonl"));
    text.lines().map(|line| object(line)["json"].take()).collect()
}

/// Returns true if an example equals a frame, except for entries that the example omits from the maps in [`SHORTENED`].
fn shows(example: &Value, frame: &Value) -> bool {
    let mut frame = frame.clone();
    for name in SHORTENED {
        if let (Some(Value::Object(whole)), Some(Value::Object(part))) = (frame.get_mut(name), example.get(name)) {
            whole.retain(|field, _| part.contains_key(field));
        }
    }
    frame == *example
}

#[test]
fn every_message_has_a_section_with_golden_frames() {
    let page = page();
    let golden = golden();
    let (mut section, mut shown) = ("", BTreeSet::new());
    for line in page.lines() {
        if line.starts_with('#') {
            section = line.trim_start_matches('#').trim();
        }
        if line.starts_with("{\"type\":") {
            let example = object(line);
            assert_eq!(example["type"], section, "an example stands in the section of its message");
            assert!(golden.iter().any(|frame| shows(&example, frame)), "not a golden frame: {line}");
            shown.insert(section.to_owned());
        }
    }
    let types = ClientMessage::TYPES.iter().chain(&ServerMessage::TYPES).map(|&kind| kind.to_owned());
    assert_eq!(shown, types.collect());
}

#[test]
fn every_error_code_is_explained() {
    let page = page();
    for code in ludex_protocol::ErrorCode::ALL {
        assert!(page.contains(&format!("| `{code}` | ")), "{code} is not in the table of codes");
    }
}

#[test]
fn paragraphs_are_short() {
    let (mut fenced, mut paragraph) = (false, String::new());
    for line in format!("{}\n{}", page(), records()).lines() {
        fenced ^= line.starts_with("```");
        let list = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        if line.is_empty() || fenced || ["- ", ". ", "|", "#"].iter().any(|start| list.starts_with(start)) {
            paragraph.clear();
        }
        if !fenced {
            paragraph += line;
        }
        let length = paragraph.chars().count();
        assert!(length <= PARAGRAPH, "{length} characters: {paragraph}");
    }
}

#[test]
fn documented_seed_hashes_are_correct() {
    let page = records();
    let key = hex::encode(Sha256::digest(b"ludex.v1:chance:kuhn_poker:42:0"));
    assert!(page.contains(&format!("| key | `{key}` |")), "the chance key of kuhn_poker is {key}");
    let salt: Vec<u8> = (0..16).collect();
    let commitment = hex::encode(Sha256::digest([&salt[..], b"42"].concat()));
    assert!(page.contains(&format!("seed 42 give `{commitment}`")), "the commitment is {commitment}");
}

#[test]
fn documented_digest_is_correct() {
    let page = records();
    let (_, golden) = page.split_once("Golden: this header").unwrap();
    let mut chain = Vec::new();
    for line in golden.lines().filter(|line| line.starts_with('{')) {
        chain.extend_from_slice(line.as_bytes());
        chain = Sha256::digest(&chain).to_vec();
    }
    assert_eq!(chain.len(), 32, "the page lists no input lines of the digest");
    let digest = hex::encode(chain);
    assert!(golden.contains(&format!("`{digest}`")), "the digest is {digest}");
}

#[test]
fn record_example_fits_schema() {
    let page = records();
    let example = page.split("```").find(|part| part.trim_start().starts_with("{\"ludex\"")).unwrap();
    let schema = object(&read(&root().join("docs/protocol.schema.json")));
    let known = |kind: &str, example: &Value| {
        let fields = schema["$defs"][kind]["properties"].as_object().unwrap();
        for name in example.as_object().unwrap().keys() {
            assert!(fields.contains_key(name), "{name} is not a field of {kind}");
        }
    };
    let record = object(example);
    known("Record", &record);
    record["seats"].as_array().unwrap().iter().for_each(|seat| known("RecordSeat", seat));
}
