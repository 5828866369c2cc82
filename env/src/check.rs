//! The conformance suite: laws that every game keeps, for the house's own tests and for anybody who adds a game.
//!
//! [`game`] plays seeded random episodes and checks at their positions that views hide what they must and say what they
//! may, that illegal moves change nothing, that records replay, and that batches agree with single environments. A fault
//! is one sentence that names the game, the seed, the ply and the law.

use std::ops::Range;

use serde_json::Value;

use crate::draw::Stream;
use crate::dyn_game::GameRef;
use crate::dyn_state::DynState;
use crate::game::Seat;
use ludex_protocol::Move;

mod batches;
mod event;
mod fingerprint;
mod laws;
mod secrets;
mod spec;
mod walk;

/// What a law found wrong.
type Fault = String;

/// Makes proposals for games that take them: what `seat`, which is to move, might say. `None`: an action id instead.
pub type Proposer<'a> = &'a dyn Fn(&dyn DynState, Seat, &mut Stream) -> Option<Move>;

/// Checks `game` with one random episode per seed, and its batches with the first seed.
///
/// # Errors
/// At most ten faults, each a sentence that says where it was found.
pub fn game(game: &GameRef, seeds: Range<u64>) -> Result<(), Vec<String>> {
    game_with(game, seeds, &|_, _, _| None)
}

/// As [`game`], for games whose moves may be proposals.
///
/// # Errors
/// As [`game`].
pub fn game_with(game: &GameRef, seeds: Range<u64>, propose: Proposer<'_>) -> Result<(), Vec<String>> {
    let name = &game.spec().string;
    let mut faults = Vec::new();
    let first = seeds.start;
    faults.extend(spec::laws(&**game).err());
    for seed in seeds {
        faults.extend(walk::episode(game, seed, propose).err().map(|f| format!("seed {seed}: {f}")));
        if faults.len() >= 10 {
            break;
        }
    }
    faults.extend(batches::laws(&**game, first).err().map(|f| format!("batches, seed {first}: {f}")));
    if faults.is_empty() { Ok(()) } else { Err(faults.into_iter().map(|f| format!("{name}: {f}")).collect()) }
}

/// `n` times the factor in the environment variable `LUDEX_TEST_SCALE` (1 without it), at least 1: how long tests run.
pub fn scaled(n: u64) -> u64 {
    let factor = std::env::var("LUDEX_TEST_SCALE").ok().and_then(|v| v.parse().ok()).filter(|f: &f64| *f > 0.0);
    ((n as f64 * factor.unwrap_or(1.0)) as u64).max(1)
}

/// `Err` with the sentence of `why` unless `holds`.
fn law(holds: bool, why: impl FnOnce() -> Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(why()) }
}

/// `Err` with both values unless they are equal.
fn same<T: PartialEq + std::fmt::Debug>(a: &T, b: &T, what: impl FnOnce() -> String) -> Result<(), Fault> {
    law(a == b, || format!("{}: {} is not {}", what(), short(a), short(b)))
}

fn short(v: &impl std::fmt::Debug) -> String {
    let mut text = format!("{v:?}");
    if text.len() > 600 {
        let cut = (0..=600).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
        text.push_str(" ...");
    }
    text
}

/// Values that no game expects.
pub(crate) fn garbage() -> [Value; 6] {
    use serde_json::json;
    [Value::Null, json!({}), json!([]), json!(-7), json!("\u{0}\u{1F600}"), json!({ "a": [{ "b": [1e300] }] })]
}
