//! Fuzz tests: the codec never panics, and accepted frames round-trip.
//!
//! The generator is seeded, so every run uses the same frames. `LUDEX_TEST_SCALE` multiplies the number of frames.

use std::path::PathBuf;

use ludex_protocol::{DecodeError, Encoding, ErrorCode};
use serde_json::Value;

const DEPTH: u32 = 64;
const FRAMES: f64 = 20_000.0;

/// A seeded xorshift64* generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn frames() -> usize {
    let scale = std::env::var("LUDEX_TEST_SCALE").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    (FRAMES * scale.max(1.0)) as usize
}

/// Returns the golden frames as bytes, in both encodings.
fn golden() -> Vec<(Encoding, Vec<u8>)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/frames/frames.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut frames = Vec::new();
    for line in text.lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let hex = frame["msgpack"].as_str().unwrap();
        let packed = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        frames.push((Encoding::MsgPack, packed));
        frames.push((Encoding::Json, frame["json"].to_string().into_bytes()));
    }
    frames
}

/// MessagePack markers and JSON characters that are likely to confuse a parser.
const NASTY: &[u8] =
    b"\x00\x7f\x80\x8f\x90\x9f\xa0\xc0\xc1\xc4\xc6\xc7\xc9\xca\xcb\xcf\xd3\xd4\xd8\xdb\xdd\xdf\xe0\xff{}[]\",:\\-.eE9n";

fn mutate(random: &mut Random, frame: &mut Vec<u8>) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(frame.len() + 1);
        let nasty = NASTY[random.below(NASTY.len())];
        match random.below(7) {
            0 => frame.truncate(at),
            1 => frame.insert(at, nasty),
            2 if at < frame.len() => frame[at] = nasty,
            3 if at < frame.len() => frame[at] ^= 1 << random.below(8),
            4 if at < frame.len() => {
                frame.remove(at);
            }
            5 => {
                let piece = frame[at..frame.len().min(at + random.below(24))].to_vec();
                let to = random.below(frame.len() + 1);
                frame.splice(to..to, piece);
            }
            _ => frame.splice(at..at, [nasty].repeat(random.below(80))).for_each(drop),
        }
    }
}

/// Checks that the refusal of an invalid frame is short and has one of the expected codes.
fn check_answer(rejected: &DecodeError) {
    let error = &rejected.error;
    let expected = [
        ErrorCode::BadFrame,
        ErrorCode::BadMessage,
        ErrorCode::BadField,
        ErrorCode::BadSeed,
        ErrorCode::TooDeep,
        ErrorCode::UnknownType,
    ];
    assert!(expected.contains(&error.code), "{error}");
    assert!(!error.message.is_empty());
    assert!(serde_json::to_string(error).unwrap().len() < 2_000, "{error}");
}

/// Decodes a frame as client and server. An accepted frame must round-trip in both encodings. Only a frame with
/// non-finite numbers may fail: MessagePack can represent such numbers, but the encoder refuses them.
fn check(encoding: Encoding, frame: &[u8]) {
    match encoding.decode_client(frame, DEPTH) {
        Ok((id, message)) => {
            for encoding in [Encoding::Json, Encoding::MsgPack] {
                if let Ok(again) = encoding.encode_client(id, &message) {
                    assert_eq!(encoding.decode_client(&again, DEPTH), Ok((id, message.clone())));
                }
            }
        }
        Err(rejected) => check_answer(&rejected),
    }
    match encoding.decode_server(frame, DEPTH) {
        Ok((re, message)) => {
            for encoding in [Encoding::Json, Encoding::MsgPack] {
                if let Ok(again) = encoding.encode_server(re, &message) {
                    assert_eq!(encoding.decode_server(&again, DEPTH), Ok((re, message.clone())));
                }
            }
        }
        Err(rejected) => check_answer(&rejected),
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(0x1d0c_41aa);
    for _ in 0..frames() {
        let mut frame: Vec<u8> = (0..random.below(64)).map(|_| random.next() as u8).collect();
        for byte in &mut frame {
            if random.below(2) == 0 {
                *byte = NASTY[random.below(NASTY.len())];
            }
        }
        check(Encoding::MsgPack, &frame);
        check(Encoding::Json, &frame);
    }
}

#[test]
fn damaged_messages_never_panic() {
    let mut random = Random(0x5f2a_91c0);
    let golden = golden();
    for _ in 0..frames() {
        let (encoding, mut frame) = golden[random.below(golden.len())].clone();
        mutate(&mut random, &mut frame);
        check(encoding, &frame);
    }
}
