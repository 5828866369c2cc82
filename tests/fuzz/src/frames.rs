//! Frames of the wire, from clients and from servers, in both encodings.

use std::fmt::Debug;

use ludex_protocol::{DecodeError, Encoding, ErrorCode};

use crate::corpus;

/// Nesting that a server allows.
const DEPTH: u32 = 64;

const ENCODINGS: [Encoding; 2] = [Encoding::Json, Encoding::MsgPack];

fn check(frame: &[u8]) {
    for encoding in ENCODINGS {
        round_trip(encoding.decode_client(frame, DEPTH), |encoding, (id, message)| {
            let again = encoding.encode_client(*id, message).ok()?;
            Some(encoding.decode_client(&again, DEPTH))
        });
        round_trip(encoding.decode_server(frame, DEPTH), |encoding, (re, message)| {
            let again = encoding.encode_server(*re, message).ok()?;
            Some(encoding.decode_server(&again, DEPTH))
        });
    }
}

/// Checks that a decoded message is the same after `again` encoded and decoded it, in both encodings. Encoding may fail only
/// for numbers that are not finite, which MessagePack can represent. Checks the refusal of an invalid frame.
fn round_trip<M: Debug + PartialEq>(
    decoded: Result<M, DecodeError>,
    again: impl Fn(Encoding, &M) -> Option<Result<M, DecodeError>>,
) {
    match decoded {
        Ok(message) => {
            for encoding in ENCODINGS {
                if let Some(same) = again(encoding, &message) {
                    assert_eq!(same.as_ref(), Ok(&message));
                }
            }
        }
        Err(rejected) => check_refusal(&rejected),
    }
}

/// Checks that the refusal of an invalid frame is short and has one of the expected codes.
fn check_refusal(rejected: &DecodeError) {
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

#[test]
fn damaged_frames_never_panic() {
    corpus::replay("frames", 20_000, check);
    bolero::check!().with_iterations(1_000).for_each(|input: &[u8]| check(input));
}
