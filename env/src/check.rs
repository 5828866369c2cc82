//! Conformance suite: the laws that every game must satisfy, for this crate's tests and for authors of new games.
//!
//! [`game`] plays seeded random episodes and checks their positions. Views must hide and reveal the right information,
//! and illegal moves must change nothing. Playing an episode again must give the same positions, and batches must agree
//! with single environments. A fault is one sentence that names the game, the seed, the ply and the law.

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

/// Description of a violated law.
type Fault = String;

/// Generator of moves for games that accept documents. Returns a possible move of the seat to move, or `None` to let
/// the check choose a move.
pub type Proposer<'a> = &'a dyn Fn(&dyn DynState, Seat, &mut Stream) -> Option<Move>;

/// Checks `game` with one random episode per seed, and its batches with the first seed.
///
/// # Errors
/// Returns at most ten faults, each a sentence with its location.
pub fn game(game: &GameRef, seeds: Range<u64>) -> Result<(), Vec<String>> {
    game_with(game, seeds, &|_, _, _| None)
}

/// Performs the checks of [`game`], with documents from `propose` as additional moves.
///
/// # Errors
/// Returns at most ten faults, each a sentence with its location.
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

/// Multiplies the test length `n` by the environment variable `LUDEX_TEST_SCALE` (default 1). Returns at least 1.
pub fn scaled(n: u64) -> u64 {
    let factor = std::env::var("LUDEX_TEST_SCALE").ok().and_then(|v| v.parse().ok()).filter(|f: &f64| *f > 0.0);
    ((n as f64 * factor.unwrap_or(1.0)) as u64).max(1)
}

/// Returns `Ok` if `holds`, else the fault given by `why`.
fn law(holds: bool, why: impl FnOnce() -> Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Returns `Ok` if the values are equal, else a fault that shows both values.
fn same<T: PartialEq + std::fmt::Debug>(a: &T, b: &T, what: impl FnOnce() -> String) -> Result<(), Fault> {
    law(a == b, || format!("{}: expected {}, got {}", what(), short(b), short(a)))
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

/// Returns values that no game accepts as a move.
pub fn garbage() -> [Value; 6] {
    use serde_json::json;
    [Value::Null, json!({}), json!([]), json!(-7), json!("\u{0}\u{1F600}"), json!({ "a": [{ "b": [1e300] }] })]
}
