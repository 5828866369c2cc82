//! `ludex selfplay`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Game, with or without parameters
    game: String,
    /// ONNX file of the network, with policy and value
    #[arg(long, value_name = "FILE")]
    net: PathBuf,
    /// Write the samples to this folder; repeat the command to continue
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Play this many games
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    games: u64,
    /// Search each move with this many simulations
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    sims: u64,
    /// Set the exploration constant
    #[arg(long, value_name = "X", default_value_t = 1.25)]
    c: f32,
    /// Set the share of Dirichlet noise in the priors of the root, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.25)]
    noise: f32,
    /// Set the parameter of the Dirichlet noise [default: 10 / number of legal actions]
    #[arg(long, value_name = "X")]
    alpha: Option<f32>,
    /// Sample this many moves at the start of a game in proportion to the visits; later moves are those with the most
    /// visits
    #[arg(long, value_name = "N", default_value_t = 30)]
    explore: u32,
    /// Search this many sampled states per move, in games with hidden information
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    worlds: u64,
    /// Array that the network reads: tensor, or info (perfect recall)
    #[arg(long, value_enum, default_value_t = View::Tensor)]
    view: View,
    /// Set the seed of the games
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write this many games to a file; a thread plays them at the same time
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    shard_games: u64,
    /// Use this many threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print one JSON document: {shards, games, samples, seconds}
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum View {
    Tensor,
    Info,
}

#[cfg(not(feature = "onnx"))]
pub(super) fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("this program was built without networks; build it with `cargo build --release --features onnx`")
}

#[cfg(feature = "onnx")]
pub(super) fn run(args: Args) -> anyhow::Result<()> {
    use std::time::Instant;

    use ludex_agents::net::ArrayKind;
    use ludex_agents::net::self_play::{PuctSettings, SelfPlaySettings};
    use ludex_play::self_play::SelfPlayRun;

    use super::print;

    anyhow::ensure!((0.0..=1.0).contains(&args.noise), "--noise: expected a share from 0 to 1, got {}", args.noise);
    let positive = |x: &f32| x.is_finite() && *x > 0.0;
    anyhow::ensure!(args.c.is_finite() && args.c >= 0.0, "--c: expected a number from 0, got {}", args.c);
    anyhow::ensure!(args.alpha.as_ref().is_none_or(positive), "--alpha: expected a number above 0");
    let run = SelfPlayRun {
        game: ludex_games::load(&args.game)?,
        network: args.net,
        view: match args.view {
            View::Tensor => ArrayKind::Tensor,
            View::Info => ArrayKind::Info,
        },
        settings: SelfPlaySettings {
            sims: args.sims,
            tree: PuctSettings { c: args.c, noise: args.noise, alpha: args.alpha },
            explore: args.explore,
            worlds: args.worlds,
            seed: args.seed,
        },
        games: args.games,
        shard_games: args.shard_games,
        jobs: args.jobs.unwrap_or(0).into(),
        folder: args.out,
    };
    let (bar, begun) = (print::progress(0, "self-play"), Instant::now());
    let done = run.run(|now| {
        bar.set_length(now.all_shards);
        bar.set_position(now.shards);
    })?;
    bar.finish_and_clear();
    let seconds = begun.elapsed().as_secs_f64();
    if args.json {
        print::json(&serde_json::json!({
            "shards": done.shards, "games": done.games, "samples": done.samples, "seconds": seconds,
        }))?;
        return Ok(());
    }
    println!(
        "{} games, {} samples in {seconds:.1} s; {} shards in {}",
        done.games,
        done.samples,
        done.shards,
        run.folder.display()
    );
    Ok(())
}
