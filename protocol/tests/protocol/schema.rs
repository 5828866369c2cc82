//! The schema in the docs matches the types.
#![cfg(feature = "schema")]

use std::path::PathBuf;

use ludex_protocol::{ClientMessage, ServerMessage, schema};
use serde_json::Value;

#[test]
fn schema_in_docs_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.schema.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(
        written == schema::document(),
        "out of date: cargo run -p ludex-protocol --features schema --example schema > docs/protocol.schema.json"
    );
}

#[test]
fn schema_contains_every_message() {
    let document = schema::document();
    let types = |name: &str| -> Vec<String> {
        let variants = document["$defs"][name]["oneOf"].as_array().unwrap();
        variants.iter().map(|variant| variant["properties"]["type"]["const"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(types("ClientMessage"), ClientMessage::TYPES);
    assert_eq!(types("ServerMessage"), ServerMessage::TYPES);
    assert_eq!(document["$defs"]["ServerMessage"]["oneOf"][0]["properties"]["re"]["type"], "integer");
}
