//! `ludex measure-anchors`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ludex_env::GameRef;
use ludex_env::anchor_ladder::AnchorRow;
use ludex_games::{games, load};
use ludex_play::anchor_ladder::{AnchorRunSettings, MeasuredLadder, measure};
use serde_json::{Value, json};

use super::print::{self, number};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Measure the anchors of these games, with or without parameters [default: all games]
    games: Vec<String>,
    /// Play this many units per pairing; by game, a unit is a block, a duplicate match, or a seed against the field
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    units: u64,
    /// Set the seed for all random choices; equal seeds give equal results
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the tables into the games' pages, which are the .md files in this folder
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Store played units in this folder; repeat the command with the same build to continue
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Print one JSON document: [{scale, units, seed, rungs, out_of_range}]
    #[arg(long)]
    json: bool,
    /// Play this many matches in parallel [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let all = || games().iter().map(|entry| entry.info.id.to_owned()).collect();
    let names: Vec<String> = if args.games.is_empty() { all() } else { args.games.clone() };
    let loaded: Vec<GameRef> = names.iter().map(|name| load(name)).collect::<Result<_, _>>()?;
    let mut documents = Vec::new();
    for game in &loaded {
        let measured = measure_game(game, &args).with_context(|| format!("the anchors of {}", game.spec().string))?;
        if let Some(dir) = &args.write {
            write_page(dir, game, &measured, &args)?;
        }
        if args.json {
            documents.push(document(&measured, &args));
        } else {
            show(&mut io::stdout().lock(), &measured, args.units)?;
        }
    }
    if args.json {
        print::json(&Value::Array(documents))?;
    }
    Ok(())
}

/// Plays the units that are not yet stored, with a progress bar, and rates the anchors.
fn measure_game(game: &GameRef, args: &Args) -> anyhow::Result<MeasuredLadder> {
    let jobs = args.jobs.unwrap_or(0).into();
    let settings = AnchorRunSettings { units: args.units, seed: args.seed, jobs, data: args.data.clone() };
    let bar = print::progress(0, &game.spec().game);
    let measured = measure(game, &settings, |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    measured
}

fn write_page(dir: &Path, game: &GameRef, measured: &MeasuredLadder, args: &Args) -> anyhow::Result<()> {
    let spec = game.spec();
    let text = args.games.iter().find(|text| load(text).is_ok_and(|it| it.spec().string == spec.string));
    let text = text.map_or(spec.game.as_str(), String::as_str);
    let text = if text.contains('(') { format!("\"{text}\"") } else { text.to_owned() };
    let Args { units, seed, .. } = args;
    let about = format!(
        "Measured with {} by `ludex measure-anchors {text} --units {units} --seed {seed}`: {}.",
        ludex_play::PROGRAM,
        measured.ladder.in_words(*units),
    );
    let path = dir.join(format!("{}.md", spec.game));
    let page = fs::read_to_string(&path).with_context(|| {
        format!("--write: expected the folder of the games' pages; {} cannot be read", path.display())
    })?;
    let table = measured.ladder.table(measured.rows.clone(), measured.draws, about);
    let page = table.on(&page).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
    fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))
}

fn scale(measured: &MeasuredLadder) -> String {
    measured.ladder.table(measured.rows.clone(), measured.draws, String::new()).scale()
}

fn show(out: &mut impl Write, measured: &MeasuredLadder, units: u64) -> io::Result<()> {
    writeln!(out, "{}", scale(measured))?;
    writeln!(out, "{}", measured.ladder.in_words(units).replace('`', ""))?;
    let measure = measured.ladder.table(Vec::new(), 0.0, String::new()).measure;
    let head = ["level", "bot", "agent", &measure, "95 %", "rating", "95 %", "us a move", "most"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let dash = || "-".to_owned();
    for (AnchorRow { anchor: a, found }, time) in measured.rows.iter().zip(&measured.times) {
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
    let out_of_range = measured.ladder.rungs_out_of_range(&measured.rows);
    out_of_range.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    if out_of_range.is_empty() {
        writeln!(out, "all distances between levels are in range")?;
    }
    writeln!(out)
}

fn document(measured: &MeasuredLadder, args: &Args) -> Value {
    let rung = |(AnchorRow { anchor, found }, time): (&AnchorRow, &Option<[f64; 2]>)| {
        let [value, low, high] = found.map_or([None; 3], |f| f.map(Some));
        json!({
            "level": anchor.level, "bot": anchor.bot, "agent": anchor.agent,
            "found": value, "found_low": low, "found_high": high,
            "rating": anchor.rating, "low": anchor.low, "high": anchor.high,
            "micros": time.map(|t| t[0]), "most_micros": time.map(|t| t[1]),
        })
    };
    let rungs: Vec<Value> = measured.rows.iter().zip(&measured.times).map(rung).collect();
    let out_of_range = measured.ladder.rungs_out_of_range(&measured.rows);
    json!({ "scale": scale(measured), "units": args.units, "seed": args.seed, "rungs": rungs, "out_of_range": out_of_range })
}
