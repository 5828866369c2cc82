//! Helpers of tests against other programs: their stored data, and counts of move histories.

use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use ludex_env::{DynState, ToMove};
use serde_json::Value;

/// Returns the document in `tests/data/<name>.json.gz`.
///
/// # Panics
/// Panics if the file is missing or damaged.
pub fn document(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/{name}.json.gz"));
    let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_reader(GzDecoder::new(file)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the number of histories of `depth` moves (at least 1) in a sequential game without chance.
pub fn histories(state: &dyn DynState, depth: usize) -> u64 {
    let ToMove::Seat(seat) = state.turn() else { return 0 };
    let legal = state.legal_list(seat);
    if depth == 1 {
        return legal.len() as u64;
    }
    let mut next = state.boxed();
    let count = |action| {
        next.copy_from(state);
        next.play_unchecked(action);
        histories(&*next, depth - 1)
    };
    legal.into_iter().map(count).sum()
}
