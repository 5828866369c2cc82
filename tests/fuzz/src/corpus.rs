//! Stored inputs of the targets, and mutations of them.

use std::io::Read as _;
use std::path::Path;

use ludex_env::{Stream, check};

/// Bytes that are likely to confuse a parser: markers of MessagePack and characters of JSON.
const NASTY: &[u8] =
    b"\x00\x7f\x80\x8f\x90\x9f\xa0\xc0\xc1\xc4\xc6\xc7\xc9\xca\xcb\xcf\xd3\xd4\xd8\xdb\xdd\xdf\xe0\xff{}[]\",:\\-.eE9n";

/// Checks every stored input of a target and `mutations` mutations of them, which are the same in each run.
/// `LUDEX_TEST_SCALE` multiplies their number.
pub fn replay(target: &str, mutations: usize, check: impl Fn(&[u8])) {
    let stored = read(target);
    assert!(!stored.is_empty(), "the corpus of {target} is empty");
    for input in &stored {
        check(input);
    }
    let mut random = Stream::from_text(target);
    for _ in 0..check::scaled(mutations as u64) {
        let mut input = stored[random.below(stored.len())].clone();
        let other = &stored[random.below(stored.len())];
        mutate(&mut random, &mut input, other);
        check(&input);
    }
}

/// Reads the corpus of a target.
fn read(target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.tar.gz"));
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()));
    let mut inputs = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).unwrap();
            inputs.push(input);
        }
    }
    inputs
}

fn mutate(random: &mut Stream, input: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(input.len() + 1);
        let nasty = NASTY[random.below(NASTY.len())];
        match random.below(8) {
            0 => input.truncate(at),
            1 => input.insert(at, nasty),
            2 if at < input.len() => input[at] = nasty,
            3 if at < input.len() => input[at] ^= 1 << random.below(8),
            4 if at < input.len() => drop(input.remove(at)),
            5 => {
                let piece = input[at..input.len().min(at + random.below(24))].to_vec();
                let to = random.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            6 if !other.is_empty() => {
                let from = random.below(other.len());
                let piece = &other[from..other.len().min(from + random.below(64))];
                input.splice(at..at, piece.iter().copied());
            }
            _ => input.splice(at..at, [nasty].repeat(random.below(80))).for_each(drop),
        }
    }
}
