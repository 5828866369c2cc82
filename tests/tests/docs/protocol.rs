//! The page of the protocol: every message has its section, every example is a golden frame, every paragraph is short.

use std::collections::BTreeSet;

use ludex_protocol::{ClientMessage, ServerMessage};
use serde_json::Value;

use crate::{read, root};

/// A paragraph of more characters is hard to read.
const PARAGRAPH: usize = 600;

/// Maps that examples of the page may show in part.
const SHORTENED: [&str; 2] = ["limits", "spec"];

fn page() -> String {
    read(&root().join("docs/protocol.md"))
}

fn object(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn golden() -> Vec<Value> {
    let text = read(&root().join("tests/data/frames/frames.jsonl"));
    text.lines().map(|line| object(line)["json"].take()).collect()
}

/// Whether the example is the frame, or the frame with less in one of its long maps.
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
    for line in page().lines() {
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
