//! Self-play of a network, written as shards of training samples.
//!
//! A folder of samples has the files `shard-00000.npz`, `shard-00001.npz`, ... and `selfplay.json` with the settings.
//! Every shard has the same number of games, except the last. Shard K is a function of the settings and of K, up to
//! differences of floating-point arithmetic between processors.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, anyhow, ensure};
use ludex_agents::net::self_play::{Samples, SelfPlay, SelfPlaySettings};
use ludex_agents::net::{ArrayKind, Network};
use ludex_env::GameRef;
use ludex_protocol::spec::{Dtype, TensorSpec};
use ndarray::ArrayD;
use ndarray_npy::{NpzWriter, WritableElement};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::files::write_whole;

const MANIFEST: &str = "selfplay.json";

/// Settings of a folder of samples.
pub struct SelfPlayRun {
    pub game: GameRef,
    /// ONNX file of the network.
    pub network: PathBuf,
    pub view: ArrayKind,
    pub settings: SelfPlaySettings,
    /// Number of games of all shards together.
    pub games: u64,
    /// Number of games in a shard, which are played at the same time.
    pub shard_games: u64,
    /// Number of threads; 0 for one per core.
    pub jobs: usize,
    /// Folder of the samples.
    pub folder: PathBuf,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfPlayProgress {
    /// Finished shards, including those of earlier runs.
    pub shards: u64,
    pub all_shards: u64,
    /// Games that this run has played.
    pub games: u64,
    /// Samples that this run has written.
    pub samples: u64,
}

/// The file `selfplay.json`. A run continues only with equal settings.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Manifest {
    game: String,
    /// Rules hash of the game.
    hash: String,
    /// SHA-256 of the network's file.
    network: String,
    view: String,
    sims: u64,
    c: f32,
    noise: f32,
    alpha: Option<f32>,
    explore: u32,
    worlds: u64,
    seed: u64,
    games: u64,
    shard_games: u64,
}

impl SelfPlayRun {
    /// Plays the missing shards and calls `report` after each. Returns the final progress.
    ///
    /// # Errors
    /// Fails on a network or game that self-play does not support, if the folder has samples of other settings, or if
    /// it cannot be written.
    pub fn run(&self, report: impl Fn(SelfPlayProgress) + Sync) -> anyhow::Result<SelfPlayProgress> {
        let network = Network::load(&self.network, &self.game, self.view)
            .map_err(|why| anyhow!("--net {}: {why}", self.network.display()))?;
        let play = SelfPlay::new(network, self.game.clone(), self.settings).map_err(|why| anyhow!(why))?;
        self.claim_folder(&self.manifest(&play))?;
        let all_shards = self.games.div_ceil(self.shard_games);
        let missing: Vec<u64> = (0..all_shards).filter(|&shard| !self.path(shard).exists()).collect();
        let progress = Mutex::new(SelfPlayProgress {
            shards: all_shards - missing.len() as u64,
            all_shards,
            ..SelfPlayProgress::default()
        });
        report(*progress.lock());
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let work = || -> anyhow::Result<()> {
            while let Some(&shard) = missing.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                let from = shard * self.shard_games;
                let games = from..self.games.min(from + self.shard_games);
                let count = games.end - games.start;
                let samples = play.play(games, &stop)?;
                self.write(shard, &samples, play.array().context("the game has no such array")?)?;
                let mut now = progress.lock();
                now.shards += 1;
                now.games += count;
                now.samples += samples.seat.len() as u64;
                report(*now);
            }
            Ok(())
        };
        let worker = || work().inspect_err(|_| stop.store(true, Ordering::Relaxed));
        let jobs = if self.jobs == 0 { std::thread::available_parallelism()?.get() } else { self.jobs };
        let results: Vec<anyhow::Result<()>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs.min(missing.len())).map(|_| scope.spawn(worker)).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|result| result.unwrap_or_else(|_| Err(anyhow!("a thread of self-play panicked")))).collect()
        });
        // Errors of the other threads say only that they were stopped.
        let mut failed: Vec<anyhow::Error> = results.into_iter().filter_map(Result::err).collect();
        failed.sort_by_key(|e| e.is::<ludex_agents::net::self_play::SelfPlayError>());
        failed.into_iter().next().map_or(Ok(*progress.lock()), Err)
    }

    fn manifest(&self, play: &SelfPlay) -> Manifest {
        let SelfPlaySettings { sims, tree, explore, worlds, seed } = self.settings;
        Manifest {
            game: self.game.spec().string.clone(),
            hash: self.game.spec().hash.clone(),
            network: play.digest().to_owned(),
            view: match self.view {
                ArrayKind::Tensor => "tensor".to_owned(),
                ArrayKind::Info => "info".to_owned(),
            },
            sims,
            c: tree.c,
            noise: tree.noise,
            alpha: tree.alpha,
            explore,
            worlds,
            seed,
            games: self.games,
            shard_games: self.shard_games,
        }
    }

    /// Creates the folder, or checks that its samples have equal settings.
    fn claim_folder(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let path = self.folder.join(MANIFEST);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(&self.folder)
                    .with_context(|| format!("--out: cannot create {}", self.folder.display()))?;
                write_whole(&self.folder, MANIFEST, &serde_json::to_vec_pretty(manifest)?)?;
                return Ok(());
            }
            Err(e) => return Err(e).with_context(|| format!("--out: cannot read {}", path.display())),
        };
        let found: Manifest =
            serde_json::from_slice(&text).with_context(|| format!("--out: cannot read {}", path.display()))?;
        let (found, own) = (serde_json::to_value(found)?, serde_json::to_value(manifest)?);
        let other = own.as_object().into_iter().flatten().find(|(name, value)| found.get(name) != Some(value));
        if let Some((name, value)) = other {
            let folder = self.folder.display();
            anyhow::bail!("--out: expected {name} {} of the samples in {folder}, got {value}", found[name]);
        }
        Ok(())
    }

    fn path(&self, shard: u64) -> PathBuf {
        self.folder.join(shard_name(shard))
    }

    fn write(&self, shard: u64, samples: &Samples, array: &TensorSpec) -> anyhow::Result<()> {
        let mut npz = NpzWriter::new_compressed(Cursor::new(Vec::new()));
        let obs = &samples.observations;
        match array.d {
            Dtype::U1 => npz.add_array("obs", &shaped(array, obs, |[b]: [u8; 1]| b)?)?,
            Dtype::I1 => npz.add_array("obs", &shaped(array, obs, i8::from_le_bytes)?)?,
            Dtype::I2 => npz.add_array("obs", &shaped(array, obs, i16::from_le_bytes)?)?,
            Dtype::I4 => npz.add_array("obs", &shaped(array, obs, i32::from_le_bytes)?)?,
            Dtype::F4 => npz.add_array("obs", &shaped(array, obs, f32::from_le_bytes)?)?,
        }
        npz.add_array("policy", &samples.policy)?;
        npz.add_array("mask", &samples.mask)?;
        npz.add_array("value", &samples.value)?;
        npz.add_array("game", &samples.game)?;
        npz.add_array("seat", &samples.seat)?;
        write_whole(&self.folder, &shard_name(shard), npz.finish()?.get_ref())?;
        Ok(())
    }
}

fn shard_name(shard: u64) -> String {
    format!("shard-{shard:05}.npz")
}

/// Returns observations as an array of shape `[N, *S]`.
fn shaped<T: WritableElement, const W: usize>(
    array: &TensorSpec,
    bytes: &[u8],
    read: fn([u8; W]) -> T,
) -> anyhow::Result<ArrayD<T>> {
    let rows = bytes.len() / array.bytes().max(1);
    let shape: Vec<usize> = std::iter::once(rows).chain(array.s.iter().map(|&n| n as usize)).collect();
    let (elements, rest) = bytes.as_chunks::<W>();
    ensure!(rest.is_empty(), "an observation is incomplete");
    Ok(ArrayD::from_shape_vec(shape, elements.iter().map(|&element| read(element)).collect())?)
}
