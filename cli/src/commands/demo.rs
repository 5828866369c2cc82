//! `ludex demo`: starts a server, connects agents as clients, plays a tournament, and writes a report from verified
//! records.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use ludex_arena::runs::{Runs, TournamentEntrant, TournamentRequest};
use ludex_client::protocol::message::{AgentId, Enrol};
use ludex_client::{Client, Options, Player};
use ludex_play::remote_agent::RemoteAgent;
use ludex_play::runs::folder::{RunStatus, path_of};
use ludex_referee::tournament::TournamentFormat;
use ludex_server::config::Config;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{block_on, log_warnings, print, tournament};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Write the store and the report to this folder
    #[arg(long, value_name = "DIR", default_value = "./ludex-data")]
    data: PathBuf,
    /// Play this game, e.g. connect_four
    #[arg(long, default_value = "connect_four")]
    game: String,
    /// Play this many blocks per pairing, each with seats swapped
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    blocks: u32,
    /// Keep the server running after the tournament
    #[arg(long)]
    keep_running: bool,
}

/// Specs of the agents that connect.
const AGENTS: [&str; 4] = ["random", "mcts sims=100", "mcts sims=1000", "alphabeta depth=4"];
/// Name of an agent that repeatedly loses its connection.
const DROPS: &str = "drops";
/// Spec of the agent `DROPS`.
const DROPS_SPEC: &str = "mcts sims=300";
/// Duration of each connection of the agent `DROPS`.
const CONNECTION_TIME: Duration = Duration::from_millis(300);
/// Name of the Python bot, which participates if the Python package `ludex` is installed.
const PYTHON: &str = "python";
/// Source code of the Python bot, which plays the legal column closest to the center.
const PYTHON_BOT: &str = "\
import sys, ludex
def play(turn):
    return min(turn.legal, key=lambda action: abs(2 * action - max(turn.legal)))
ludex.evaluate(sys.argv[1], None, play, run=sys.argv[2], name=sys.argv[3], progress=False)
";

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    log_warnings();
    block_on(async {
        let listener =
            TcpListener::bind("127.0.0.1:0").await.context("cannot bind a port on the loopback interface")?;
        let url = format!("ws://{}", listener.local_addr()?);
        ludex_server::run_while(listener, Config::new(&args.data), |runs| async {
            let runs = runs;
            play_tournament(&args, &url, &runs).await?;
            if args.keep_running {
                println!("\nThe server keeps running at {url}; stop it with Ctrl-C.");
                tokio::signal::ctrl_c().await?;
            }
            Ok(())
        })
        .await
    })
}

async fn play_tournament(args: &Args, url: &str, runs: &Arc<Runs>) -> anyhow::Result<()> {
    let start = Instant::now();
    println!("ludex serves {url}, with its store in {}", args.data.display());
    let run = format!("demo-{}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"));
    let python = args.game == "connect_four" && has_python().await;
    let mut names: Vec<String> = AGENTS.iter().map(|spec| name(spec)).collect();
    names.push(DROPS.to_owned());
    names.extend(python.then(|| PYTHON.to_owned()));
    let entrants = names.iter().map(|name| TournamentEntrant { name: name.clone(), agent: None, owner: None });
    let request = TournamentRequest {
        run: run.clone(),
        game: args.game.clone(),
        format: TournamentFormat::DoubleRoundRobin,
        blocks: args.blocks,
        strikes: 0,
        move_ms: None,
        grace_ms: None,
        entrants: entrants.collect(),
    };
    runs.organise(&request).await?;
    let total = names.len() * (names.len() - 1) * args.blocks as usize;
    println!(
        "{} agents connect over WebSockets and play {} of {}.",
        names.len(),
        print::count(total, "rated match", "rated matches"),
        args.game
    );
    println!("`{DROPS}` repeatedly loses its connection, but none of its matches.");
    if python {
        println!("`{PYTHON}` is a bot in Python.");
    }
    let bar = print::progress(total as u64, "playing");
    let clients = connect(url.to_owned(), run.clone(), python);
    let over = loop {
        let page = runs.run(&run).await.context("the run was removed from the server")?;
        if page["state"] != "open" {
            break page;
        }
        bar.set_position(page["done"].as_u64().unwrap_or(0));
        anyhow::ensure!(!clients.is_finished(), "the agents ended before the tournament");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    bar.finish_and_clear();
    let joined = tokio::task::spawn_blocking(move || clients.join()).await?;
    let drops = joined.map_err(|_| anyhow::anyhow!("the agents' thread panicked"))??;
    println!("Played in {:.1} s; `{DROPS}` connected {drops} times.", start.elapsed().as_secs_f64());
    anyhow::ensure!(over["state"] == "done", "tournament: expected state done, got {}", over["state"]);
    let status = RunStatus::at(&path_of(&args.data, &run))?;
    tournament::print_status(&status, false)?;
    println!(
        "The referee verified every record. The report: {}",
        path_of(&args.data, &run).join("report.html").display()
    );
    println!("{:.1} s in all.", start.elapsed().as_secs_f64());
    Ok(())
}

/// Converts a spec to an agent name: `mcts sims=100` becomes `mcts-sims-100`.
fn name(spec: &str) -> String {
    spec.replace([' ', '='], "-")
}

/// Returns true if the Python client library is installed.
async fn has_python() -> bool {
    let mut command = tokio::process::Command::new("python3");
    command.args(["-c", "import ludex; ludex.evaluate"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}

/// Runs all agents as clients on a separate thread. The agents communicate with the server only over sockets. The
/// thread returns the number of connections of `DROPS`.
fn connect(url: String, run: String, python: bool) -> std::thread::JoinHandle<anyhow::Result<usize>> {
    std::thread::spawn(move || {
        block_on(async {
            let mut players = JoinSet::new();
            for spec in AGENTS {
                let (url, run) = (url.clone(), run.clone());
                players.spawn(async move { play(&url, &run, &name(spec), spec).await.map(|()| 0) });
            }
            let (drops_url, drops_run) = (url.clone(), run.clone());
            players.spawn(async move {
                for connected in 1.. {
                    let playing = play(&drops_url, &drops_run, DROPS, DROPS_SPEC);
                    if let Ok(ended) = tokio::time::timeout(CONNECTION_TIME, playing).await {
                        return ended.map(|()| connected);
                    }
                }
                Ok(0)
            });
            if python {
                players.spawn(async move { python_bot(&url, &run).await.map(|()| 0) });
            }
            let mut drops = 0;
            while let Some(ended) = players.join_next().await {
                drops += ended??;
            }
            Ok(drops)
        })
    })
}

/// Plays the run `run` to its end with one agent.
async fn play(url: &str, run: &str, name: &str, spec: &str) -> anyhow::Result<()> {
    let options = Options {
        agent: Some(AgentId { name: name.to_owned(), ..AgentId::default() }),
        reclaim: true,
        ..Options::default()
    };
    let (client, events) = Client::connect(url, options).await?;
    let agent = RemoteAgent::new(AgentSpec::parse(spec)?, 0, Box::new(|_| ()))?;
    let enrol = Enrol { slots: 2, ..Enrol::new("", run) };
    Player::for_run(client.clone(), events, enrol, agent).run_to_end(std::future::pending()).await?;
    client.close().await;
    Ok(())
}

async fn python_bot(url: &str, run: &str) -> anyhow::Result<()> {
    let mut command = tokio::process::Command::new("python3");
    let ended = command.args(["-c", PYTHON_BOT, url, run, PYTHON]).kill_on_drop(true).status().await?;
    anyhow::ensure!(ended.success(), "the Python bot failed: {ended}");
    Ok(())
}
