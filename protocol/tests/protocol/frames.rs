//! Golden frames (`tests/data/frames/frames.jsonl`) and the examples of the protocol page, in both encodings.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;

use ludex_protocol::{ClientMessage, Encoding, Id, ServerMessage};
use serde_json::{Map, Value};

const DEPTH: u32 = 64;

fn data(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/frames").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn unhex(hex: &str) -> Vec<u8> {
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

/// Checks that both encodings of a golden frame decode to the same message, and that the message encodes to both.
fn check<M: PartialEq + Debug>(
    frame: &Value,
    decode: impl Fn(Encoding, &[u8]) -> (Option<Id>, M),
    encode: impl Fn(Encoding, Option<Id>, &M) -> Vec<u8>,
) {
    let name = &frame["name"];
    let packed = frame["msgpack"].as_str().unwrap();
    let (id, message) = decode(Encoding::Json, frame["json"].to_string().as_bytes());
    assert_eq!(decode(Encoding::MsgPack, &unhex(packed)), (id, message), "{name}");
    let (id, message) = decode(Encoding::MsgPack, &unhex(packed));
    assert_eq!(value(&encode(Encoding::Json, id, &message)), frame["json"], "{name}");
    assert_eq!(hex(&encode(Encoding::MsgPack, id, &message)), packed, "{name}");
}

fn client(encoding: Encoding, frame: &[u8]) -> (Option<Id>, ClientMessage) {
    encoding.decode_client(frame, DEPTH).unwrap()
}

fn server(encoding: Encoding, frame: &[u8]) -> (Option<Id>, ServerMessage) {
    encoding.decode_server(frame, DEPTH).unwrap()
}

#[test]
fn golden_frames_round_trip_in_both_encodings() {
    let (mut from_clients, mut from_servers) = (BTreeSet::new(), BTreeSet::new());
    for line in data("frames.jsonl").lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let kind = frame["json"]["type"].as_str().unwrap().to_owned();
        match frame["from"].as_str().unwrap() {
            "client" => {
                check(&frame, client, |encoding, id, message| encoding.encode_client(id, message).unwrap());
                from_clients.insert(kind);
            }
            "server" => {
                check(&frame, server, |encoding, id, message| encoding.encode_server(id, message).unwrap());
                from_servers.insert(kind);
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(from_clients, ClientMessage::TYPES.map(str::to_owned).into(), "every type has a golden frame");
    assert_eq!(from_servers, ServerMessage::TYPES.map(str::to_owned).into(), "every type has a golden frame");
}

/// Maps that the page abbreviates. Their encoded forms also contain the defaults.
const SHORTENED: [&str; 2] = ["limits", "spec"];

/// Removes from an encoded map all fields that the page's abbreviated map omits.
fn shorten(written: &mut Value, shown: &Value) {
    for name in SHORTENED {
        if let (Some(Value::Object(written)), Some(Value::Object(shown))) = (written.get_mut(name), shown.get(name)) {
            let all: Map<String, Value> = std::mem::take(written);
            written.extend(all.into_iter().filter(|(field, _)| shown.contains_key(field)));
        }
    }
}

#[test]
fn protocol_page_examples_decode() {
    let (mut sent, mut received) = (0, 0);
    for line in data("examples.txt").lines() {
        let (direction, text) = line.split_once(' ').unwrap();
        let shown = value(text.as_bytes());
        let mut written = match direction {
            ">" => {
                sent += 1;
                let (id, message) = client(Encoding::Json, text.as_bytes());
                let packed = Encoding::MsgPack.encode_client(id, &message).unwrap();
                assert_eq!(client(Encoding::MsgPack, &packed), (id, message.clone()), "{text}");
                value(&Encoding::Json.encode_client(id, &message).unwrap())
            }
            "<" => {
                received += 1;
                let (re, message) = server(Encoding::Json, text.as_bytes());
                let packed = Encoding::MsgPack.encode_server(re, &message).unwrap();
                assert_eq!(server(Encoding::MsgPack, &packed), (re, message.clone()), "{text}");
                value(&Encoding::Json.encode_server(re, &message).unwrap())
            }
            other => panic!("{other}"),
        };
        shorten(&mut written, &shown);
        assert_eq!(written, shown);
    }
    assert_eq!((sent, received), (9, 19));
}

#[test]
fn stored_examples_agree_with_protocol_page() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol.md");
    let page = std::fs::read_to_string(path).unwrap();
    let on_page: Vec<&str> = page.lines().filter(|line| line.starts_with("> {") || line.starts_with("< {")).collect();
    assert_eq!(on_page, data("examples.txt").lines().collect::<Vec<_>>());
}
