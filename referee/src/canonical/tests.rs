use ludex_env::Stream;
use serde_json::Value;

use super::*;

/// The canonical form by the scanner, if it takes the whole text.
fn scanned(text: &str) -> Option<Vec<u8>> {
    let mut scanner = Scanner::new(text);
    let mut out = Vec::new();
    scanner.value(&mut out)?;
    scanner.is_at_end().then_some(out)
}

fn by_value(text: &str) -> Option<Vec<u8>> {
    crate::digest::canonical(&serde_json::from_str::<Value>(text).ok()?).ok()
}

const TAKEN: [&str; 19] = [
    "0",
    "-17",
    "999999999999999",
    "18446744073709551615",
    "-0",
    "0.5",
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
fn the_form_is_that_of_the_values() {
    for text in TAKEN {
        assert_eq!(scanned(text), by_value(text), "{text}");
        assert!(scanned(text).is_some(), "{text}");
    }
}

#[test]
fn what_is_not_certain_is_left_to_serde_json() {
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
        // These are good JSON.
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"é":1}"#,
    ] {
        assert_eq!(scanned(text), None, "{text}");
    }
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(scanned(&deep(100)), by_value(&deep(100)));
    assert_eq!(scanned(&deep(101)), None);
    assert_eq!(scanned(&deep(100_000)), None);
}

#[test]
fn damaged_text_is_never_taken_for_something_else() {
    let mut rng = Stream::named("canonical");
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
        if let Some(form) = scanned(&text) {
            assert_eq!(Some(form), by_value(&text), "{text}");
        }
    }
}
