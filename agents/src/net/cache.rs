//! Evaluations of positions that self-play has met before.

use std::collections::HashMap;

use hashlink::LruCache;
use ndarray::{Array2, ArrayView2, Axis};

use super::network::{Network, NetworkOutput};
use crate::error::AgentError;

/// Approximate size of a cache in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Cache of a network's outputs by observation.
///
/// Searches of successive moves and games meet the same positions again. NetworkOutput takes far longer than a lookup.
pub(super) struct EvaluationCache {
    rows: LruCache<Box<[u8]>, CachedRow>,
}

/// Outputs for one observation.
#[derive(Clone)]
struct CachedRow {
    policy: Box<[f32]>,
    value: Box<[f32]>,
}

/// Place of the outputs of a row.
enum Place {
    Cached(CachedRow),
    /// Row of the evaluation.
    New(usize),
}

impl EvaluationCache {
    /// Creates an empty cache for observations of this many bytes, and this many actions and values.
    pub fn new(bytes: usize, actions: usize, values: usize) -> Self {
        let row = bytes + 4 * (actions + values) + 128;
        EvaluationCache { rows: LruCache::new((CACHE_BYTES / row).max(1_024)) }
    }

    /// Returns the outputs for N observations of `bytes` bytes each, as [`ArrayKind::write`](super::ArrayKind::write)
    /// writes them. Evaluates each different observation once, and none that is cached.
    ///
    /// # Errors
    /// Those of [`Network::evaluate`].
    pub fn evaluate(
        &mut self,
        network: &Network,
        observations: &[u8],
        bytes: usize,
    ) -> Result<NetworkOutput, AgentError> {
        let mut new: HashMap<&[u8], usize> = HashMap::new();
        let mut places = Vec::with_capacity(observations.len() / bytes.max(1));
        for key in observations.chunks_exact(bytes.max(1)) {
            places.push(match self.rows.get(key) {
                Some(row) => Place::Cached(row.clone()),
                None => {
                    let next = new.len();
                    Place::New(*new.entry(key).or_insert(next))
                }
            });
        }
        let mut rows = Array2::zeros((new.len(), network.observation_len()));
        new.iter().for_each(|(key, &row)| network.observe(key, rows.row_mut(row)));
        let found = if new.is_empty() { None } else { Some(network.evaluate(rows.view(), &[])?) };
        if let Some(found) = &found {
            for (key, &row) in &new {
                let policy = found.policy.index_axis(Axis(0), row).to_vec().into();
                let value = found.value.as_ref().map_or_else(Vec::new, |v| v.index_axis(Axis(0), row).to_vec()).into();
                self.rows.insert((*key).into(), CachedRow { policy, value });
            }
        }
        Ok(gather(&places, found.as_ref()))
    }
}

/// Returns the outputs of all rows in order.
fn gather(places: &[Place], found: Option<&NetworkOutput>) -> NetworkOutput {
    let columns = |of: fn(&CachedRow) -> &[f32], new: Option<ArrayView2<'_, f32>>| {
        let rows = places.iter().flat_map(|place| match place {
            Place::Cached(row) => of(row).to_vec(),
            Place::New(row) => new.map_or_else(Vec::new, |new| new.row(*row).to_vec()),
        });
        let flat: Vec<f32> = rows.collect();
        let width = flat.len() / places.len().max(1);
        Array2::from_shape_vec((places.len(), width), flat).expect("rows have one length")
    };
    NetworkOutput {
        policy: columns(|row| &row.policy, found.map(|found| found.policy.view())),
        value: Some(columns(|row| &row.value, found.and_then(|found| found.value.as_ref()).map(|value| value.view()))),
        states: Vec::new(),
    }
}
