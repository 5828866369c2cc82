//! `ludex ladder`.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Context as _;
use ludex_agents::{Agent, AgentError, Answer};
use ludex_env::ladder::Row;
use ludex_env::{Ask, GameRef, games, load};
use ludex_referee::ladder::{Ladder, Returns};
use ludex_referee::schedule::{Planned, Seeds};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::print::{self, number};
use ludex_play::local::{Seated, Series};

/// What `ludex ladder` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The games, with parameters or without; all when none is named
    games: Vec<String>,
    /// Units of play for each pairing: pairs of episodes, duplicate matches, or seeds in the field
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    units: u64,
    /// Seed of the whole; the same seed gives the same figures
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the table into the games' pages, the .md files of this folder (in the source: env/src/games)
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Where the data are; units that are played are kept in its folder `ladders`, and the same line again (with the same build)
    /// goes on there
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document: [{scale, units, rungs, strays}]
    #[arg(long)]
    json: bool,
    /// Matches at a time [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let all = || games().iter().map(|entry| entry.id.to_owned()).collect();
    let named: Vec<String> = if args.games.is_empty() { all() } else { args.games.clone() };
    let loaded: Vec<GameRef> = named.iter().map(|name| load(name)).collect::<Result<_, _>>()?;
    let mut documents = Vec::new();
    for game in &loaded {
        let measured = measure(game, &args).with_context(|| format!("the ladder of {}", game.spec().string))?;
        if let Some(dir) = &args.write {
            write_page(dir, game, &measured, &args)?;
        }
        if args.json {
            documents.push(measured.document(&args));
        } else {
            measured.show(&mut io::stdout().lock(), args.units)?;
        }
    }
    if args.json {
        print::json(&Value::Array(documents))?;
    }
    Ok(())
}

/// A ladder with what was found.
struct Measured {
    ladder: Ladder,
    rows: Vec<Row>,
    /// Mean and greatest time of a move by rung, in microseconds, over what was played now.
    times: Vec<Option<[f64; 2]>>,
}

fn measure(game: &GameRef, args: &Args) -> anyhow::Result<Measured> {
    let spec = game.spec();
    anyhow::ensure!(spec.anchors.len() > 1, "{} has no level above random", spec.game);
    let ladder = Ladder::new(spec, game.unit());
    let watches: Vec<Arc<Stopwatch>> = ladder
        .agents()
        .iter()
        .map(|text| {
            let player = Seated::new(text, game).with_context(|| text.clone())?;
            Ok(Arc::new(Stopwatch { player, moves: 0.into(), nanos: 0.into(), most: 0.into() }))
        })
        .collect::<anyhow::Result<_>>()?;
    let mut kept = Kept::open(game, &ladder, args)?;
    // Unit by unit through all pairings, so that whatever stands when it is broken off is balanced.
    let due: Vec<(u64, usize)> = (0..args.units)
        .flat_map(|u| (0..ladder.pairings()).map(move |k| (u, k)))
        .filter(|at| !kept.units.contains_key(at))
        .collect();
    let plan: Vec<Planned> = due.iter().flat_map(|&(u, k)| ladder.plan(k, u)).collect();
    let players = watches.iter().map(|w| Seated { agent: w.clone(), ..w.player.clone() }).collect();
    let series = Series { game: game.clone(), players, plan, seeds: Seeds::Open(args.seed) };
    let bar = print::progress(due.len() as u64, &spec.game);
    let mut unit = Returns::new();
    series.run(args.jobs.unwrap_or(0).into(), |k, played| {
        if let Some(why) = played.failure {
            let seats: Vec<&str> = series.plan[k].seats.iter().map(|&p| ladder.agents()[p].as_str()).collect();
            anyhow::bail!("{} ({}): {why}", played.record.header.episode, seats.join(" - "));
        }
        unit.push(played.record.footer.returns);
        if unit.len() == ladder.episodes() {
            kept.add(&ladder, due[k / ladder.episodes()], std::mem::take(&mut unit))?;
            bar.inc(1);
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    let rows = ladder.measure(&kept.by_pairing(&ladder, args.units));
    let times = watches.iter().take(rows.len()).map(|w| w.micros()).collect();
    Ok(Measured { ladder, rows, times })
}

/// An agent whose moves are timed.
struct Stopwatch {
    player: Seated,
    moves: AtomicU64,
    nanos: AtomicU64,
    most: AtomicU64,
}

impl Stopwatch {
    fn micros(&self) -> Option<[f64; 2]> {
        let moves = self.moves.load(Relaxed);
        let [all, most] = [&self.nanos, &self.most].map(|n| n.load(Relaxed) as f64 / 1e3);
        (moves > 0).then(|| [all / moves as f64, most])
    }
}

impl Agent for Stopwatch {
    fn act(&self, ask: &Ask<'_>, deadline: Option<Instant>) -> Result<Answer, AgentError> {
        let begun = Instant::now();
        let answer = self.player.agent.act(ask, deadline);
        let nanos = begun.elapsed().as_nanos() as u64;
        self.moves.fetch_add(1, Relaxed);
        self.nanos.fetch_add(nanos, Relaxed);
        self.most.fetch_max(nanos, Relaxed);
        answer
    }

    fn peeks(&self) -> bool {
        self.player.agent.peeks()
    }

    fn reproducible(&self) -> bool {
        self.player.agent.reproducible()
    }
}

/// Eight hex digits that tell builds of this program apart, by the length and the time of its file.
fn build() -> anyhow::Result<String> {
    let about = std::env::current_exe().and_then(fs::metadata).context("this program's own file cannot be found")?;
    let time = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Ok(stamp(about.len(), time))
}

fn stamp(bytes: u64, time: Duration) -> String {
    hex::encode(&Sha256::digest(format!("{bytes} {}", time.as_nanos()))[..4])
}

/// A unit as a line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    agents: [String; 2],
    unit: u64,
    returns: Returns,
}

/// The units that are played, on disk as JSON Lines: one file for each game, rules, unit of play, seed, and build of this
/// program, as another build may play otherwise under the same name.
struct Kept {
    file: File,
    path: PathBuf,
    /// By unit and pairing.
    units: HashMap<(u64, usize), Returns>,
}

impl Kept {
    fn open(game: &GameRef, ladder: &Ladder, args: &Args) -> anyhow::Result<Kept> {
        let spec = game.spec();
        let dir = args.data.join("ladders");
        let name = format!("{}-{}-{}-{}-{}.jsonl", spec.game, spec.hash, ladder.episodes(), args.seed, build()?);
        let path = dir.join(name);
        let failed = || format!("{} cannot be used; --data names another folder", path.display());
        fs::create_dir_all(&dir).with_context(failed)?;
        let mut units = HashMap::new();
        let mut whole = 0;
        if let Ok(file) = File::open(&path) {
            let places: HashMap<[&str; 2], usize> = (0..ladder.pairings()).map(|k| (ladder.named(k), k)).collect();
            let mut lines = BufReader::new(file);
            let mut text = String::new();
            // A line that was cut off in the middle is the last one, and is written again.
            while lines.read_line(&mut text).with_context(failed)? > 0 && text.ends_with('\n') {
                let Ok(line) = serde_json::from_str::<Line>(&text) else { break };
                whole += text.len() as u64;
                let place = places.get(&line.agents.each_ref().map(String::as_str));
                // Of other agents: from before the ladder was changed.
                if let Some(&k) = place.filter(|_| line.returns.len() == ladder.episodes()) {
                    units.insert((line.unit, k), line.returns);
                }
                text.clear();
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).with_context(failed)?;
        file.set_len(whole).with_context(failed)?;
        Ok(Kept { file, path, units })
    }

    fn add(&mut self, ladder: &Ladder, (unit, k): (u64, usize), returns: Returns) -> anyhow::Result<()> {
        let agents = ladder.named(k).map(str::to_owned);
        let line = Line { agents, unit, returns };
        let text = format!("{}\n", serde_json::to_string(&line)?);
        self.file.write_all(text.as_bytes()).with_context(|| format!("{} cannot be written", self.path.display()))?;
        self.units.insert((unit, k), line.returns);
        Ok(())
    }

    fn by_pairing(&self, ladder: &Ladder, units: u64) -> Vec<Vec<Returns>> {
        let of = |k| (0..units).filter_map(|u| self.units.get(&(u, k)).cloned()).collect();
        (0..ladder.pairings()).map(of).collect()
    }
}

fn write_page(dir: &Path, game: &GameRef, measured: &Measured, args: &Args) -> anyhow::Result<()> {
    let spec = game.spec();
    let asked = args.games.iter().find(|g| load(g).is_ok_and(|it| it.spec().string == spec.string));
    let asked = asked.map_or(spec.game.as_str(), String::as_str);
    let asked = if asked.contains('(') { format!("\"{asked}\"") } else { asked.to_owned() };
    let Args { units, seed, .. } = args;
    let about = format!(
        "Measured with {} by `ludex ladder {asked} --units {units} --seed {seed}`: {}.",
        ludex_play::PROGRAM,
        measured.ladder.in_words(*units),
    );
    let path = dir.join(format!("{}.md", spec.game));
    let page = fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read; --write takes the folder of the games' pages", path.display()))?;
    let table = measured.ladder.table(measured.rows.clone(), about);
    let page = table.on(&page).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
    fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))
}

impl Measured {
    fn scale(&self) -> String {
        self.ladder.table(self.rows.clone(), String::new()).scale()
    }

    fn show(&self, out: &mut impl Write, units: u64) -> io::Result<()> {
        writeln!(out, "{}", self.scale())?;
        writeln!(out, "{}", self.ladder.in_words(units).replace('`', ""))?;
        let measure = self.ladder.table(Vec::new(), String::new()).measure;
        let head = ["level", "bot", "agent", &measure, "95 %", "rating", "95 %", "us a move", "most"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let dash = || "-".to_owned();
        for (Row { anchor: a, found }, time) in self.rows.iter().zip(&self.times) {
            rows.push(vec![
                a.level.to_string(),
                a.bot.to_string(),
                a.agent.clone(),
                found.map_or_else(dash, |f| number(f[0], 3)),
                found.map_or_else(dash, |f| format!("{} to {}", number(f[1], 3), number(f[2], 3))),
                a.rating.map_or_else(dash, |r| number(r, 0)),
                a.low.zip(a.high).map_or_else(dash, |(l, h)| format!("{} to {}", number(l, 0), number(h, 0))),
                time.map_or_else(dash, |t| number(t[0], 1)),
                time.map_or_else(dash, |t| number(t[1], 0)),
            ]);
        }
        print::table(out, &rows, |k| k > 2)?;
        let strays = self.ladder.strays(&self.rows);
        strays.iter().try_for_each(|stray| writeln!(out, "{stray}"))?;
        if strays.is_empty() {
            writeln!(out, "every level is as far from the one below as is wanted")?;
        }
        writeln!(out)
    }

    fn document(&self, args: &Args) -> Value {
        let rung = |(Row { anchor, found }, time): (&Row, &Option<[f64; 2]>)| {
            let [value, low, high] = found.map_or([None; 3], |f| f.map(Some));
            json!({
                "level": anchor.level, "bot": anchor.bot, "agent": anchor.agent,
                "found": value, "found_low": low, "found_high": high,
                "rating": anchor.rating, "low": anchor.low, "high": anchor.high,
                "micros": time.map(|t| t[0]), "most_micros": time.map(|t| t[1]),
            })
        };
        let rungs: Vec<Value> = self.rows.iter().zip(&self.times).map(rung).collect();
        let strays = self.ladder.strays(&self.rows);
        json!({ "scale": self.scale(), "units": args.units, "seed": args.seed, "rungs": rungs, "strays": strays })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_has_another_stamp() {
        let [one, other] = [1, 2].map(Duration::from_nanos);
        assert_eq!(stamp(7, one), stamp(7, one));
        assert!(stamp(7, one) != stamp(7, other) && stamp(7, one) != stamp(8, one));
        assert_eq!(build().unwrap(), build().unwrap());
    }
}
