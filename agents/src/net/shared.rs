//! Networks shared by the agents of a process, which evaluate concurrent requests together.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};
use std::time::SystemTime;

use ludex_env::GameRef;
use ludex_protocol::Refusal;
use ndarray::{Array2, ArrayD, Axis};
use parking_lot::{Condvar, Mutex};

use super::network::{ArrayKind, Network, NetworkOutput};
use super::shipped;
use crate::error::AgentError;
use crate::refusal::bad_value;
use crate::spec::AgentSpec;

/// Maximum number of rows in an evaluation of several requests.
const MAX_ROWS: usize = 256;

/// Network that several agents use at the same time.
///
/// The first request runs at once. Requests that arrive meanwhile wait and then run together.
pub(super) struct SharedNetwork {
    pub network: Network,
    queue: Mutex<Queue>,
    finished: Condvar,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BTreeMap<u64, Request>,
    results: HashMap<u64, Result<NetworkOutput, AgentError>>,
    is_running: bool,
}

/// Observations of shape `[N, len]`, and recurrent states of shape `[N, ...]`.
struct Request {
    observations: Array2<f32>,
    states: Vec<ArrayD<f32>>,
}

impl SharedNetwork {
    fn new(network: Network) -> Self {
        SharedNetwork { network, queue: Mutex::default(), finished: Condvar::new() }
    }

    /// Evaluates N observations, given as an array of shape `[N, len]`, from recurrent states of shape `[N, ...]`.
    ///
    /// # Errors
    /// Those of [`Network::evaluate`].
    pub fn evaluate(&self, observations: Array2<f32>, states: Vec<ArrayD<f32>>) -> Result<NetworkOutput, AgentError> {
        let mut queue = self.queue.lock();
        let own = queue.next;
        queue.next += 1;
        queue.waiting.insert(own, Request { observations, states });
        loop {
            if let Some(result) = queue.results.remove(&own) {
                return result;
            }
            if queue.is_running {
                self.finished.wait(&mut queue);
                continue;
            }
            let requests = queue.take();
            queue.is_running = true;
            drop(queue);
            let results = self.run(requests);
            queue = self.queue.lock();
            queue.is_running = false;
            queue.results.extend(results);
            self.finished.notify_all();
        }
    }

    /// Evaluates requests in one batch.
    fn run(&self, requests: Vec<(u64, Request)>) -> Vec<(u64, Result<NetworkOutput, AgentError>)> {
        let rows: Vec<_> = requests.iter().map(|(_, request)| request.observations.view()).collect();
        let rows = ndarray::concatenate(Axis(0), &rows).expect("observations have one length");
        let count = requests.first().map_or(0, |(_, request)| request.states.len());
        let states = (0..count).map(|k| {
            let states: Vec<_> = requests.iter().map(|(_, request)| request.states[k].view()).collect();
            ndarray::concatenate(Axis(0), &states).expect("states of one network have one shape")
        });
        let states: Vec<ArrayD<f32>> = states.collect();
        let found = self.network.evaluate(rows.view(), &states);
        let mut from = 0;
        let own = requests.into_iter().map(|(ticket, request)| {
            let to = from + request.observations.nrows();
            let rows = std::mem::replace(&mut from, to)..to;
            (ticket, found.as_ref().map(|found| found.rows(rows)).map_err(AgentError::clone))
        });
        own.collect()
    }
}

impl Queue {
    /// Removes the oldest requests, at least one and at most [`MAX_ROWS`] rows.
    fn take(&mut self) -> Vec<(u64, Request)> {
        let (mut taken, mut rows) = (Vec::new(), 0);
        while let Some(entry) = self.waiting.first_entry() {
            rows += entry.get().observations.nrows();
            if rows > MAX_ROWS && !taken.is_empty() {
                break;
            }
            taken.push(entry.remove_entry());
        }
        taken
    }
}

/// Identity of a loaded network: an unchanged file, for one game.
#[derive(PartialEq, Eq, Hash)]
struct NetworkKey {
    file: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
    /// Hash of the game's spec.
    game: String,
    kind: ArrayKind,
}

static LOADED: LazyLock<Mutex<HashMap<NetworkKey, Weak<SharedNetwork>>>> = LazyLock::new(Mutex::default);

/// Returns the network in the file that the argument `name` of `spec` gives. Agents that exist at the same time share a
/// network.
///
/// # Errors
/// Those of [`Network::load`].
pub(super) fn open(spec: &AgentSpec, name: &str, game: &GameRef) -> Result<Arc<SharedNetwork>, Refusal> {
    let file = spec.text(name).unwrap_or_default();
    let view = spec.text("view").unwrap_or_default();
    let kind = match view.as_str() {
        "tensor" => ArrayKind::Tensor,
        "info" => ArrayKind::Info,
        _ => return Err(bad_value("view", &view, "tensor or info")),
    };
    load(Path::new(&file), game, kind).map_err(|why| {
        let message = format!("{name}={file}: {why}");
        crate::refusal::bad_spec(message).path(name).got(ludex_protocol::error::truncate_text(&file))
    })
}

fn load(file: &Path, game: &GameRef, kind: ArrayKind) -> Result<Arc<SharedNetwork>, String> {
    let (file_key, modified, bytes) = match shipped::find(file) {
        Some(found) => (file.to_owned(), None, found?.len() as u64),
        None => {
            let found = file.metadata().map_err(|e| e.to_string())?;
            (file.canonicalize().map_err(|e| e.to_string())?, found.modified().ok(), found.len())
        }
    };
    let key = NetworkKey { file: file_key, modified, bytes, game: game.spec().hash.clone(), kind };
    // Loading under the lock: agents of one file wait for a single load.
    let mut loaded = LOADED.lock();
    if let Some(network) = loaded.get(&key).and_then(Weak::upgrade) {
        return Ok(network);
    }
    let network = Arc::new(SharedNetwork::new(Network::load(file, game, kind)?));
    loaded.retain(|_, network| network.strong_count() > 0);
    loaded.insert(key, Arc::downgrade(&network));
    Ok(network)
}
