//! `equilibrium`: policies of small games that were solved in advance, so that a move requires only a table lookup.
//!
//! A table is the average policy of [CFR+](crate::solve::cfr) for one game with its default parameters, created and
//! evaluated by
//!
//! ```text
//! cargo run --release -p ludex-agents --example tables -- kuhn_poker leduc_poker liars_dice
//! ```
//!
//! The table has one row for every information set with a choice, in ascending key order. A row consists of the key,
//! the number of actions, and one byte of weight per legal action, in order. The key is the low 32 bits of the digest
//! of the seat's view, little-endian. If a game's view changes, the keys change and the tests fail; the command must
//! then be run again.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use ludex_env::{GameRef, MoveRequest};
use ludex_protocol::Refusal;

use crate::agent::{Agent, MoveReply};
use crate::digest::digest;
use crate::error::AgentError;
use crate::refusal::does_not_play;
use crate::solve::tree::GameTree;
use crate::spec::{AgentEntry, AgentSpec};

pub(crate) const ENTRY: AgentEntry = AgentEntry::new(
    "equilibrium",
    "plays a stored equilibrium of Kuhn poker, Leduc poker or liar's dice, solved by CFR+",
    build,
);

/// Stored policy of a game, unpacked on first use.
type Stored = LazyLock<PolicyTable>;

/// Stored policies by game.
static TABLES: [(&str, Stored); 3] = [
    ("kuhn_poker", LazyLock::new(|| PolicyTable::unpack(include_bytes!("../../tables/kuhn_poker.policy")))),
    ("leduc_poker", LazyLock::new(|| PolicyTable::unpack(include_bytes!("../../tables/leduc_poker.policy")))),
    ("liars_dice", LazyLock::new(|| PolicyTable::unpack(include_bytes!("../../tables/liars_dice.policy")))),
];

/// Policy in stored form: action weights by key of the information set.
pub struct PolicyTable(HashMap<u32, Box<[u8]>>);

/// Returns the table key of an information set: the low 32 bits of its digest.
fn key(digest: u128) -> u32 {
    digest as u32
}

/// Returns the byte weights whose proportions best approximate these probabilities.
fn bytes(shares: &[f64]) -> Vec<u8> {
    let rounded = |scale: u32| -> Vec<u32> { shares.iter().map(|p| (p * f64::from(scale)).round() as u32).collect() };
    let error = |weights: &[u32]| -> f64 {
        let sum = f64::from(weights.iter().sum::<u32>());
        weights.iter().zip(shares).map(|(&w, p)| (f64::from(w) / sum - p).abs()).sum()
    };
    // A greater scale is not always more exact, so all scales up to 1,000 are tried.
    let fits =
        (1..=1_000).map(rounded).filter(|weights| weights.iter().sum::<u32>() > 0 && weights.iter().all(|&w| w < 256));
    let best = fits.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or_default();
    best.into_iter().map(|w| w as u8).collect()
}

impl PolicyTable {
    /// Returns the stored policy of a game; `None` unless the game has default parameters and a stored policy.
    pub fn stored(game: &GameRef) -> Option<&'static PolicyTable> {
        let (_, table) = TABLES.iter().find(|(name, _)| *name == game.id())?;
        let default = ludex_games::load(game.id()).ok()?;
        (default.spec().string == game.spec().string).then_some(&**table)
    }

    /// Packs a policy of `tree`, with probabilities rounded to byte weights.
    ///
    /// # Errors
    /// Two information sets with the same key.
    pub fn pack(tree: &GameTree, policy: &[f64]) -> Result<Vec<u8>, String> {
        let mut rows: Vec<(u32, &[f64])> =
            tree.digests().map(|(set, digest)| (key(digest), &policy[tree.sets()[set].places()])).collect();
        rows.retain(|(_, shares)| shares.len() > 1);
        rows.sort_unstable_by_key(|row| row.0);
        if let Some(twins) = rows.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(format!("two information sets have the key {:08x}; use more bits", twins[0].0));
        }
        let mut out = Vec::new();
        for (key, shares) in rows {
            out.extend(key.to_le_bytes());
            out.push(u8::try_from(shares.len()).map_err(|_| "more than 255 actions in one set".to_owned())?);
            out.extend(bytes(shares));
        }
        Ok(out)
    }

    /// Unpacks the output of [`PolicyTable::pack`]. Ignores an incomplete row at the end.
    pub fn unpack(mut bytes: &[u8]) -> PolicyTable {
        let mut rows = HashMap::new();
        while let [a, b, c, d, count, rest @ ..] = bytes {
            let Some((weights, rest)) = rest.split_at_checked(usize::from(*count)) else { break };
            rows.insert(u32::from_le_bytes([*a, *b, *c, *d]), weights.into());
            bytes = rest;
        }
        PolicyTable(rows)
    }

    /// Returns the action weights of the information set with this digest.
    pub fn weights(&self, digest: u128) -> Option<&[u8]> {
        self.0.get(&key(digest)).map(|row| &**row)
    }

    /// Returns the policy in the layout of [`GameTree`]. Information sets that are not in the table have uniform
    /// probabilities.
    pub fn policy(&self, tree: &GameTree) -> Vec<f64> {
        let mut policy = tree.uniform();
        for (set, digest) in tree.digests() {
            let Some(weights) = self.weights(digest) else { continue };
            let sum: u32 = weights.iter().map(|&w| u32::from(w)).sum();
            let places = policy[tree.sets()[set].places()].iter_mut();
            places.zip(weights).for_each(|(p, &w)| *p = f64::from(w) / f64::from(sum));
        }
        policy
    }
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    let Some(table) = PolicyTable::stored(game) else {
        let stored = TABLES.each_ref().map(|(name, _)| *name).join(", ");
        let fits = format!("it plays {stored} with their default parameters; cfr solves other small games");
        return Err(does_not_play(spec.name(), &game.spec().string, "its equilibrium is not stored", &fits));
    };
    Ok(Arc::new(TablePlayer(table)))
}

struct TablePlayer(&'static PolicyTable);

impl Agent for TablePlayer {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        if let [only] = ask.legal {
            return Ok(MoveReply::id(*only));
        }
        let weights = self.0.weights(digest(&*ask.view())).filter(|w| w.len() == ask.legal.len());
        let weights = weights.ok_or_else(|| AgentError::failed("equilibrium: the view is not in the table"))?;
        let sum: usize = weights.iter().map(|&w| usize::from(w)).sum();
        let mut left = ask.stream().below(sum);
        for (&a, &w) in ask.legal.iter().zip(weights) {
            match left.checked_sub(usize::from(w)) {
                Some(less) => left = less,
                None => return Ok(MoveReply::id(a)),
            }
        }
        Err(AgentError::failed("equilibrium: a row of the table has no weights"))
    }
}
