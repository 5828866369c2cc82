//! Measurement of an anchor ladder: the anchors play each other, and finished units of play are stored on disk.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Context as _;
use ludex_agents::{Agent, wrap};
use ludex_env::anchor_ladder::AnchorRow;
use ludex_env::{GameRef, MoveRequest};
use ludex_referee::schedule::{Planned, Seeds};
use ludex_report::anchor_ladder::{AnchorLadder, Returns};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::local::{Participant, Series};

/// Settings of an anchor ladder measurement.
#[derive(Clone, Debug)]
pub struct AnchorRunSettings {
    /// Units of play per pairing.
    pub units: u64,
    /// Seed of the matches; equal seeds give equal ratings.
    pub seed: u64,
    /// Number of parallel matches; 0 means one per core.
    pub jobs: usize,
    /// Data folder. Finished units are stored in its subfolder `ladders`; a call with equal settings and the same build
    /// resumes from there.
    pub data: PathBuf,
}

/// Anchor ladder with its measurements.
pub struct MeasuredLadder {
    pub ladder: AnchorLadder,
    /// Anchors of the ladder with their ratings.
    pub rows: Vec<AnchorRow>,
    /// Share of draws between agents of equal strength.
    pub draws: f64,
    /// Mean and maximum time per move of each anchor, in microseconds, over the matches played by this call.
    pub times: Vec<Option<[f64; 2]>>,
}

/// Plays the missing units and rates the anchors of a game. `progress` receives the number of units played and the
/// total number of units.
///
/// # Errors
/// Returns an error if the game has no level above `random`, if an agent fails, or if the folder cannot be written.
pub fn measure(
    game: &GameRef,
    settings: &AnchorRunSettings,
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<MeasuredLadder> {
    let spec = game.spec();
    anyhow::ensure!(spec.anchors.len() > 1, "expected a game with an anchor level above random, got {}", spec.game);
    let ladder = AnchorLadder::new(spec, game.info().unit);
    let watches: Vec<Arc<Stopwatch>> = ladder.agents().iter().map(|_| Arc::default()).collect();
    let players: Vec<Participant> = ladder
        .agents()
        .iter()
        .zip(&watches)
        .map(|(text, watch)| Ok(watch.time(Participant::new(text, game).with_context(|| text.clone())?)))
        .collect::<anyhow::Result<_>>()?;
    let mut file = UnitFile::open(game, &ladder, settings)?;
    // Play unit k of all pairings before unit k + 1, so that an interrupted measurement is balanced.
    let due: Vec<(u64, usize)> = (0..settings.units)
        .flat_map(|u| (0..ladder.pairings()).map(move |k| (u, k)))
        .filter(|at| !file.units.contains_key(at))
        .collect();
    let plan: Vec<Planned> = due.iter().flat_map(|&(u, k)| ladder.plan(k, u)).collect();
    let series = Series { game: game.clone(), players, plan, seeds: Seeds::Open(settings.seed) };
    let all = due.len() as u64;
    progress(0, all);
    let mut unit = Returns::new();
    series.run(settings.jobs, |k, played| {
        if let Some(why) = played.failure {
            let seats: Vec<&str> = series.plan[k].seats.iter().map(|&p| ladder.agents()[p].as_str()).collect();
            anyhow::bail!("{} ({}): {why}", played.record.header.episode, seats.join(" - "));
        }
        unit.push(played.record.footer.returns);
        if unit.len() == ladder.episodes() {
            let done = k / ladder.episodes();
            file.add(&ladder, due[done], std::mem::take(&mut unit))?;
            progress(done as u64 + 1, all);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let (rows, draws) = ladder.measure(&file.by_pairing(&ladder, settings.units));
    let times = watches.iter().take(rows.len()).map(|w| w.micros()).collect();
    Ok(MeasuredLadder { ladder, rows, draws, times })
}

/// Timer for the moves of one agent.
#[derive(Default)]
struct Stopwatch {
    moves: AtomicU64,
    nanos: AtomicU64,
    most: AtomicU64,
}

impl Stopwatch {
    /// Wraps a player to measure its moves.
    fn time(self: &Arc<Self>, player: Participant) -> Participant {
        let watch = self.clone();
        let timed = wrap(player.agent, move |agent: &dyn Agent, ask: &MoveRequest<'_>| {
            let begun = Instant::now();
            let answer = agent.act(ask);
            let nanos = begun.elapsed().as_nanos() as u64;
            watch.moves.fetch_add(1, Relaxed);
            watch.nanos.fetch_add(nanos, Relaxed);
            watch.most.fetch_max(nanos, Relaxed);
            answer
        });
        Participant { agent: Arc::new(timed), ..player }
    }

    fn micros(&self) -> Option<[f64; 2]> {
        let moves = self.moves.load(Relaxed);
        let [all, most] = [&self.nanos, &self.most].map(|n| n.load(Relaxed) as f64 / 1e3);
        (moves > 0).then(|| [all / moves as f64, most])
    }
}

/// Returns eight hex digits that identify the build of this program: a hash of its file's size and modification time.
fn build() -> anyhow::Result<String> {
    let about = std::env::current_exe().and_then(fs::metadata).context("cannot find the executable of this program")?;
    let time = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Ok(stamp(about.len(), time))
}

fn stamp(bytes: u64, time: Duration) -> String {
    hex::encode(&Sha256::digest(format!("{bytes} {}", time.as_nanos()))[..4])
}

/// Line of a [`UnitFile`]: one unit of play.
#[derive(Serialize, Deserialize)]
struct Line {
    agents: [String; 2],
    unit: u64,
    returns: Returns,
}

/// File of finished units, as JSON Lines. There is one file per game, rules hash, unit of play, seed and build. The
/// build matters because an agent may play differently in another build.
struct UnitFile {
    file: File,
    path: PathBuf,
    /// Return of each seat in each episode, by unit and pairing.
    units: HashMap<(u64, usize), Returns>,
}

impl UnitFile {
    fn open(game: &GameRef, ladder: &AnchorLadder, settings: &AnchorRunSettings) -> anyhow::Result<UnitFile> {
        let spec = game.spec();
        let dir = settings.data.join("ladders");
        let name = format!("{}-{}-{}-{}-{}.jsonl", spec.game, spec.hash, ladder.episodes(), settings.seed, build()?);
        let path = dir.join(name);
        let failed = || format!("{} cannot be used; choose another data folder with --data", path.display());
        fs::create_dir_all(&dir).with_context(failed)?;
        let mut units = HashMap::new();
        let mut whole = 0;
        if let Ok(file) = File::open(&path) {
            let places: HashMap<[&str; 2], usize> = (0..ladder.pairings()).map(|k| (ladder.agents_of(k), k)).collect();
            let mut lines = BufReader::new(file);
            let mut text = String::new();
            // Only the last line can be incomplete; its unit is played again.
            while lines.read_line(&mut text).with_context(failed)? > 0 && text.ends_with('\n') {
                let Ok(line) = serde_json::from_str::<Line>(&text) else { break };
                whole += text.len() as u64;
                let place = places.get(&line.agents.each_ref().map(String::as_str));
                // Lines with unknown agents were written before a change of the ladder.
                if let Some(&k) = place.filter(|_| line.returns.len() == ladder.episodes()) {
                    units.insert((line.unit, k), line.returns);
                }
                text.clear();
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).with_context(failed)?;
        file.set_len(whole).with_context(failed)?;
        Ok(UnitFile { file, path, units })
    }

    fn add(&mut self, ladder: &AnchorLadder, (unit, k): (u64, usize), returns: Returns) -> anyhow::Result<()> {
        let agents = ladder.agents_of(k).map(str::to_owned);
        let line = Line { agents, unit, returns };
        let text = format!("{}\n", serde_json::to_string(&line)?);
        self.file.write_all(text.as_bytes()).with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.units.insert((unit, k), line.returns);
        Ok(())
    }

    fn by_pairing(&self, ladder: &AnchorLadder, units: u64) -> Vec<Vec<Returns>> {
        let of = |k| (0..units).filter_map(|u| self.units.get(&(u, k)).cloned()).collect();
        (0..ladder.pairings()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_id_depends_on_file_size_and_time() {
        let [one, other] = [1, 2].map(Duration::from_nanos);
        assert_eq!(stamp(7, one), stamp(7, one));
        assert!(stamp(7, one) != stamp(7, other) && stamp(7, one) != stamp(8, one));
        assert_eq!(build().unwrap(), build().unwrap());
    }
}
