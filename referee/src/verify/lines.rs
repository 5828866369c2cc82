//! Tests that the fast reader for lines gives the same verdicts as the general reader.

use ludex_env::Stream;
use ludex_env::recording::{Keep, ParsedLine, read_line};
use ludex_protocol::record::{EndReason, RecordEvent, RecordParts};
use serde_json::{Value, json};

use super::{FaultKind, RecordFault, VerifiedRecord, Verifier};
use crate::read::Source;
use crate::testing::{break_off, play, seal};

/// Verifies a line with both readers. Returns true if the fast reader accepts the line, the verdict through the fast
/// reader, and the verdict through the general reader.
fn both(
    verifier: &Verifier,
    line: &str,
) -> (bool, Result<VerifiedRecord, RecordFault>, Result<VerifiedRecord, RecordFault>) {
    let parts = RecordParts::parse(line).map_err(|e| RecordFault {
        kind: FaultKind::Damaged,
        event: None,
        message: e.to_string(),
    });
    let by_parts = parts.and_then(|parts| verifier.verify(&parts, Source::default()));
    let (all, bare) = (read_line(line, Keep::All), read_line(line, Keep::WithoutNotes));
    let without_notes = |read: &Option<ParsedLine>| {
        let ParsedLine { mut record, digest } = read.clone()?;
        for event in &mut record.events {
            if let RecordEvent::Move(m) = event {
                m.notes = None;
            }
        }
        Some((record, digest))
    };
    assert_eq!(without_notes(&all), without_notes(&bare), "{line}");
    (all.is_some(), verifier.verify_line(line, Source::default()), by_parts)
}

#[track_caller]
fn same(
    line: &str,
    (_, fast, slow): &(bool, Result<VerifiedRecord, RecordFault>, Result<VerifiedRecord, RecordFault>),
) {
    match (fast, slow) {
        (Ok(fast), Ok(slow)) => {
            assert_eq!(fast.record(), slow.record(), "{line}");
            assert_eq!(fast.record().to_line(), slow.record().to_line(), "{line}");
            assert_eq!((fast.digest(), fast.at_fault()), (slow.digest(), slow.at_fault()), "{line}");
        }
        (Err(fast), Err(slow)) => assert_eq!(fast, slow, "{line}"),
        _ => panic!("{:?} but {:?}: {line}", fast.as_ref().err(), slow.as_ref().err()),
    }
}

/// Returns one record of each game, and a record that ended by a timeout.
fn lines() -> Vec<String> {
    let mut out = Vec::new();
    for entry in ludex_games::games() {
        let players = ludex_games::load(entry.info.id).unwrap().spec().players;
        let names: Vec<String> = (0..players).map(|k| format!("p{k}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        out.push(play(entry.info.id, &names, 3).to_line().unwrap());
    }
    let mut lost = play("tic_tac_toe", &["a", "b"], 1);
    break_off(&mut lost, 3, EndReason::Timeout, Some(0));
    lost.footer.at_fault = Some(0);
    out.push(seal(lost).to_line().unwrap());
    out
}

#[test]
fn typical_records_use_the_fast_reader() {
    let verifier = Verifier::new(ludex_games::builtin());
    for line in lines() {
        let verdicts = both(&verifier, &line);
        assert!(verdicts.0 && verdicts.1.is_ok(), "{:?}: {line}", verdicts.1.err());
        same(&line, &verdicts);
    }
}

#[test]
fn readers_agree_on_unusual_json_spellings() {
    let verifier = Verifier::new(ludex_games::builtin());
    let record = play("kuhn_poker", &["a", "b"], 3);
    let line = record.to_line().unwrap();
    let value: Value = serde_json::from_str(&line).unwrap();
    let with = |name: &str, value: &str| line.replacen('{', &format!("{{{name}:{value},"), 1);
    let sealed = |change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        change(&mut value);
        let digest = crate::digest::digest(&RecordParts::from_map(value.as_object().unwrap().clone()).unwrap());
        value["digest"] = json!(digest.unwrap());
        value.to_string()
    };
    // Spelling of a line; true if the fast reader accepts it; true if the record is valid.
    let cases: Vec<(String, bool, bool)> = vec![
        (format!("{value:#}"), true, true),
        (line.replace(',', " ,\t").replace(':', ": "), true, false),
        (line.replace("\"kind\":\"move\",\"seat\":0", "\"seat\":0,\"kind\":\"move\""), true, true),
        (line.replacen("\"number\":0,", "", 1).replacen('{', "{\"number\":0,", 1), true, true),
        (line.replace("kuhn", "\\u006buhn"), true, true),
        (line.replace("\"returns\":[", "\"returns\":[1e0,"), true, false),
        (line.replace("\"returns\":[1,-1]", "\"returns\":[1.0,-10e-1]"), true, true),
        (line.replace("\"ms\":2}", "\"ms\":2.0}"), false, false),
        (line.replace("\"ludex\":2,", "\"ludex\":2.0,"), false, false),
        (line.replace("\"ludex\":2,", "\"ludex\":3,"), false, false),
        (line.replace("\"seats\":", "\"s\\u0065ats\":"), false, true),
        (with("\"later\"", "[{\"b\":null,\"a\":0.50}]"), true, false),
        (with("\"über\"", "1"), false, false),
        // The last of two duplicate fields counts.
        (with("\"game\"", "\"go\""), false, true),
        (with("\"reason\"", "\"aborted\""), false, true),
        (with("\"events\"", "[]"), false, true),
        (line.replacen("{\"kind\":\"chance\"", "{\"action\":0,\"kind\":\"chance\"", 1), false, true),
        (with("\"at_fault\"", "null"), false, false),
        (with("\"at_fault\"", "\"b\""), false, false),
        (with("\"at_fault\"", "4294967296"), false, false),
        (line.replace("\"kind\":\"chance\"", "\"kind\":\"chance\",\"seat\":\"x\""), false, false),
        (line.replacen("{\"kind\":\"chance\",\"action\":1}", "[\"chance\",1]", 1), false, false),
        (
            line.replace("\"kind\":\"move\"", "\"kind\":\"move\",\"document\":null,\"tries\":null,\"more\":null"),
            true,
            false,
        ),
        (line.replace("\"kind\":\"move\"", "\"kind\":{\"move\":null}"), false, false),
        (line.replace("\"kind\":\"move\",\"seat\":0", "\"kind\":\"move\",\"seat\":null"), false, false),
        (format!("{line} {{}}"), false, false),
        (format!("[{line}]"), false, false),
        (line[..line.len() - 1].to_owned(), false, false),
        (line.replace("\"events\"", "\"event\""), false, false),
        (sealed(&|v| v["later"] = json!({"ü": 1.5, "a": ["\u{1}\"", 1e21]})), false, true),
        (sealed(&|v| v["later"] = json!({"z": 1.5, "a": ["\u{1}\"", 1e21]})), true, true),
        (sealed(&|v| v["events"][2]["notes"] = json!({"say": "hé \"du\"", "mood": [0.1, u64::MAX]})), true, true),
        (sealed(&|v| v["events"][2]["notes"] = json!({"depth": 1, "value": 0.0027, "nodes": 7})), true, true),
        (sealed(&|v| v["events"][2]["notes"] = json!({"value": [1e-9, {"b": 0.50, "a": null}]})), true, true),
        (sealed(&|v| v["events"][2]["notes"] = json!({"depth": 1, "say": 5})), false, false),
        (sealed(&|v| v["events"][2]["notes"] = json!({"tokens": {"in": 5}})), false, false),
        (sealed(&|v| v["events"][2]["notes"] = json!(["say"])), false, false),
        (sealed(&|v| v["events"][2]["notes"] = json!(null)), true, true),
        (sealed(&|v| v["events"][2]["later"] = json!(true)), true, true),
        (sealed(&|v| v["returns"] = json!([0.5, -0.5])), true, false),
    ];
    for (text, fast, accepted) in cases {
        assert_ne!(text, line, "the case changes nothing");
        let verdicts = both(&verifier, &text);
        same(&text, &verdicts);
        assert_eq!((verdicts.0, verdicts.1.is_ok()), (fast, accepted), "{:?}: {text}", verdicts.1.err());
    }
}

#[test]
fn readers_agree_on_damaged_lines() {
    let verifier = Verifier::new(ludex_games::builtin());
    let mut rng = Stream::from_text("damaged lines");
    let bytes = b"\"\\{}[]:,.-0e1asn \xc3";
    for line in lines() {
        for _ in 0..400 {
            let mut text = line.clone().into_bytes();
            for _ in 0..1 + rng.below(2) {
                let at = rng.below(text.len());
                match rng.below(4) {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, bytes[rng.below(bytes.len())]),
                    2 => text[at] = bytes[rng.below(bytes.len())],
                    // Duplicate a piece: a member, an element or a digit.
                    _ => {
                        let end = (at + 1 + rng.below(60)).min(text.len());
                        let piece = text[at..end].to_vec();
                        text.splice(at..at, piece);
                    }
                }
            }
            let Ok(text) = String::from_utf8(text) else { continue };
            same(&text, &both(&verifier, &text));
        }
    }
}
