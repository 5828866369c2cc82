use serde_json::Value;

use super::*;
use crate::draw::Stream;

fn by_value(text: &str) -> Option<Vec<u8>> {
    crate::recording::canonical(&serde_json::from_str::<Value>(text).ok()?).ok()
}

const TAKEN: [&str; 29] = [
    "0",
    "-17",
    "999999999999999",
    "18446744073709551615",
    "-0",
    "0.5",
    "-0.5",
    "-0.0",
    "0.0027",
    "-0.000001",
    "0.0000001",
    "0.1234567",
    "12345678.9012345",
    "12345678.90123456",
    "0.30000000000000004",
    "10.50",
    "1.0",
    "-1e0",
    "1E+2",
    "0.1e-7",
    "true",
    " [ 1 , [ ] , { } , null , false ] ",
    r#""""#,
    r#""plain é 🂡 / and DEL:""#,
    r#""\" \\ \/ \n \u0041 \u00e9 \ud83c\udca1 \u0001""#,
    r#"{"b":1,"a":2}"#,
    "{\t\"b\" : {\"z\":[{\"y\":1,\"x\":2}],\"aa\":0,\"a\":0} ,\r\n\"B\":\"\" }",
    r#"{"":1,"a":2,"aa":3,"a_":4,"A":5,"~":6}"#,
    "\"\u{7f}\"",
];

#[test]
fn canonical_text_equals_text_of_canonical_value() {
    for text in TAKEN {
        assert_eq!(canonical_text(text), by_value(text), "{text}");
        assert!(canonical_text(text).is_some(), "{text}");
    }
}

#[test]
fn scanner_returns_none_for_invalid_or_unsupported_text() {
    for text in [
        "",
        "+1",
        "01",
        "1.",
        "--1",
        "1e999",
        "nul",
        "truefalse",
        "[1,]",
        "[1 2]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "\"open",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"a\nb\"",
        "[1] 2",
        "\u{a0}1",
        // Valid JSON that the scanner leaves to serde_json.
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"é":1}"#,
    ] {
        assert_eq!(canonical_text(text), None, "{text}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(canonical_text(&deep(100)), by_value(&deep(100)));
    assert_eq!(canonical_text(&deep(101)), None);
    assert_eq!(canonical_text(&deep(100_000)), None);
}

#[test]
fn fractions_get_canonical_spelling() {
    let mut rng = Stream::from_text("fractions");
    for _ in 0..100_000 {
        let mut digits: String = (0..1 + rng.below(18)).map(|_| char::from(b'0' + rng.below(10) as u8)).collect();
        digits.insert(rng.below(digits.len()).min(1 + rng.below(9)), '.');
        let text = format!("{}{}", ["", "-", "0"][rng.below(3)], digits);
        if let Some(form) = canonical_text(&text) {
            assert_eq!(Some(form), by_value(&text), "{text}");
        }
    }
}

#[test]
fn scanner_agrees_with_serde_on_damaged_text() {
    let mut rng = Stream::from_text("canonical");
    let whole: Vec<u8> = format!("[{}]", TAKEN.join(",")).into_bytes();
    let bytes = b"\"\\{}[]:,.-+0e1aun \n\x00\xff";
    for _ in 0..100_000 {
        let mut text = whole.clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(text.len());
            match rng.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, bytes[rng.below(bytes.len())]),
                _ => text[at] = bytes[rng.below(bytes.len())],
            }
        }
        let Ok(text) = String::from_utf8(text) else { continue };
        if let Some(form) = canonical_text(&text) {
            assert_eq!(Some(form), by_value(&text), "{text}");
        }
    }
}
