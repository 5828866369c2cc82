//! `ludex demo`: a server, agents that connect to it as clients, a tournament, and a report from verified records.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use ludex_client::protocol::message::{AgentId, Enrol, Organise, TournamentEntrant};
use ludex_client::{Client, Options, Player};
use ludex_play::remote_agent::RemoteAgent;
use ludex_play::runs::folder::{RunStatus, path_of};
use ludex_server::config::Config;
use ludex_server::matches::Hub;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{print, tournament};

/// What `ludex demo` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of the store and the report
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// The game
    #[arg(long, default_value = "connect_four")]
    game: String,
    /// Seeds for each meeting; on each seed two agents play twice, with the seats swapped
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    blocks: u32,
    /// Keep the server running afterwards
    #[arg(long)]
    serve: bool,
}

/// The agents that connect, as the server's rooms hold them.
const AGENTS: [&str; 4] = ["random", "mcts sims=100", "mcts sims=1000", "alphabeta depth=4"];
/// This one loses its connection again and again.
const DROPS: &str = "drops";
/// What it plays.
const DROPPING: &str = "mcts sims=300";
/// How long its connection lasts.
const CONNECTED: Duration = Duration::from_millis(300);
/// The Python bot, if the package `ludex` is installed.
const PYTHON: &str = "python";
/// What it plays: in the middle if it can, with the client library of Python.
const PYTHON_BOT: &str = "\
import sys, ludex
def play(turn):
    return min(turn.legal, key=lambda action: abs(2 * action - max(turn.legal)))
ludex.evaluate(sys.argv[1], None, play, run=sys.argv[2], name=sys.argv[3], progress=False)
";

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port on the loopback interface")?;
        let url = format!("ws://{}", listener.local_addr()?);
        ludex_server::run_while(listener, Config::new(&args.data), |hub| async {
            let hub = hub;
            show(&args, &url, &hub).await?;
            if args.serve {
                println!("\nThe server keeps running at {url}; stop it with Ctrl-C.");
                tokio::signal::ctrl_c().await?;
            }
            Ok(())
        })
        .await
    })
}

async fn show(args: &Args, url: &str, hub: &Arc<Hub>) -> anyhow::Result<()> {
    let began = Instant::now();
    println!("ludex serves {url}, with its store in {}", args.data.display());
    let run = format!("demo-{}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"));
    let python = args.game == "connect_four" && has_python().await;
    let mut names: Vec<String> = AGENTS.iter().map(|spec| name(spec)).collect();
    names.push(DROPS.to_owned());
    names.extend(python.then(|| PYTHON.to_owned()));
    let entrants = names.iter().map(|name| TournamentEntrant { name: name.clone(), ..TournamentEntrant::default() });
    let cup = Organise {
        run: run.clone(),
        game: args.game.clone(),
        format: "double_round_robin".to_owned(),
        blocks: args.blocks,
        entrants: entrants.collect(),
        ..Organise::default()
    };
    hub.organise(&cup).await?;
    let total = names.len() * (names.len() - 1) * args.blocks as usize;
    println!("{} agents connect over WebSockets and play {total} rated matches of {}.", names.len(), args.game);
    println!("`{DROPS}` loses its connection again and again, and loses nothing else.");
    if python {
        println!("`{PYTHON}` is a bot in Python.");
    }
    let bar = print::progress(total as u64, "playing");
    let clients = connect(url.to_owned(), run.clone(), python);
    let over = loop {
        let page = hub.run(&run).await.context("the run is gone")?;
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
    println!("Played in {:.1} s; `{DROPS}` connected {drops} times.", began.elapsed().as_secs_f64());
    anyhow::ensure!(over["state"] == "done", "the tournament ended as {}", over["state"]);
    let look = RunStatus::at(&path_of(&args.data, &run))?;
    tournament::status(&look, false)?;
    println!(
        "The referee replayed every record. The report: {}",
        path_of(&args.data, &run).join("report.html").display()
    );
    println!("{:.1} s in all.", began.elapsed().as_secs_f64());
    Ok(())
}

/// A spec as an agent name: `mcts sims=100` is `mcts-sims-100`.
fn name(spec: &str) -> String {
    spec.replace([' ', '='], "-")
}

/// Whether Python is there with the client library.
async fn has_python() -> bool {
    let mut command = tokio::process::Command::new("python3");
    command.args(["-c", "import ludex; ludex.evaluate"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}

/// Runs all agents as clients on a thread of their own; only the socket connects them with the server. Returns how often the one that
/// drops has connected.
fn connect(url: String, run: String, python: bool) -> std::thread::JoinHandle<anyhow::Result<usize>> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut players = JoinSet::new();
            for spec in AGENTS {
                let (url, run) = (url.clone(), run.clone());
                players.spawn(async move { play(&url, &run, &name(spec), spec).await.map(|()| 0) });
            }
            let (dropping, its_run) = (url.clone(), run.clone());
            players.spawn(async move {
                for connected in 1.. {
                    let playing = play(&dropping, &its_run, DROPS, DROPPING);
                    if let Ok(ended) = tokio::time::timeout(CONNECTED, playing).await {
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

/// Plays the run to its end.
async fn play(url: &str, run: &str, name: &str, spec: &str) -> anyhow::Result<()> {
    let options = Options {
        agent: Some(AgentId { name: name.to_owned(), version: None, kind: None }),
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
    anyhow::ensure!(ended.success(), "the Python bot failed");
    Ok(())
}
