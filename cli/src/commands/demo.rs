//! `ludex demo`: a server, agents that connect to it as clients, matches, and a report from verified records.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use ludex_client::protocol::message::{Join, MatchView};
use ludex_client::{Client, Options, Player};
use ludex_protocol::record::{Clock, Illegal};
use ludex_referee::report::{Report, ReportAbout};
use ludex_referee::{digest, scale};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::{print, rate, records, report};
use ludex_play::remote_agent::RemoteAgent;
use ludex_server::config::Config;
use ludex_server::matches::Hub;
use ludex_server::matches::lobby::{PlannedMatch, PlannedSeat};
use ludex_server::store::MatchFilter;

/// What `ludex demo` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of the store and the report
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// Pairs of matches (same seed, seats swapped) between any two agents; in chess, a quarter of this number
    #[arg(long, default_value_t = 20)]
    pairs: u32,
    /// Keep the server running afterwards
    #[arg(long)]
    serve: bool,
}

/// Matches that one agent plays at a time.
const SLOTS: u32 = 4;

/// What is played: a game, and who meets in it.
struct Event {
    game: &'static str,
    agents: &'static [&'static str],
    /// It has this fraction of the pairs: 4 is a quarter.
    share: u32,
}

const FOUR: &[&str] = &["random", "mcts sims=100", "mcts sims=1000", "alphabeta depth=4"];

const PROGRAMME: [Event; 3] = [
    Event { game: "tic_tac_toe", agents: FOUR, share: 1 },
    Event { game: "connect_four", agents: FOUR, share: 1 },
    // A game of chess at this level can last for hundreds of moves; the cap makes it a draw.
    Event { game: "chess(max_plies=80)", agents: &["random", "alphabeta depth=2", "mcts sims=100"], share: 4 },
];

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port on the loopback interface")?;
        let url = format!("ws://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel::<()>();
        let (up, ready) = oneshot::channel();
        let config = Config::new(&args.data);
        let server = ludex_server::run_then(
            listener,
            config,
            move |hub| {
                let _ = up.send(hub.clone());
                Ok(())
            },
            async {
                let _ = stopped.await;
            },
        );
        let work = async {
            // Without a hub the server has failed, and reports that itself.
            if let Ok(hub) = ready.await {
                show(&args, &url, &hub).await?;
                if args.serve {
                    println!("\nThe server keeps running at {url}; stop it with Ctrl-C.");
                    tokio::signal::ctrl_c().await?;
                }
            }
            drop(stop);
            anyhow::Ok(())
        };
        let (served, worked) = tokio::join!(server, work);
        served.and(worked)
    })
}

async fn show(args: &Args, url: &str, hub: &Arc<Hub>) -> anyhow::Result<()> {
    let began = Instant::now();
    println!("ludex serves {url}, with its store in {}", args.data.display());
    let run = format!("demo-{}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"));
    let secret = hub.store.secret(&run).await?;
    let (tickets, matches) = plan(&run, &secret, args.pairs.max(1));
    let total = matches.len();
    println!(
        "{} agents connect over WebSockets and play {total} rated matches: two per seed, with seats swapped.",
        tickets.len()
    );
    hub.plan(&run, &tickets.iter().map(|t| (t.ticket.clone(), t.name.clone())).collect::<Vec<_>>(), matches).await?;

    let (done, over) = watch::channel(false);
    let clients = connect(url.to_owned(), tickets, over);
    let bar = print::progress(total as u64, "playing");
    let played = || total.saturating_sub(hub.planned() + hub.live_matches());
    while played() < total && !clients.is_finished() {
        bar.set_position(played() as u64);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bar.finish_and_clear();
    let _ = done.send(true);
    let joined = tokio::task::spawn_blocking(move || clients.join()).await?;
    joined.map_err(|_| anyhow::anyhow!("the agents' thread panicked"))??;
    println!("Played in {:.1} s. The referee replays every record.", began.elapsed().as_secs_f64());

    hub.store.flush().await?;
    let owner = "demo".into();
    let filter = MatchFilter { run: Some(run.clone()), ..MatchFilter::default() };
    let lines = records::of_store(&hub.store, &filter).await?;
    let (good, refused) = hub.compute.run(&owner, move || records::verified(lines, None)).await?;
    println!("{} records verified, {} refused.", good.len(), refused.len());
    anyhow::ensure!(refused.is_empty(), "a record did not verify: {}", refused[0]);
    anyhow::ensure!(good.len() == total, "{} of {total} matches have a record", good.len());
    let about = ReportAbout {
        title: "Ludex demo".into(),
        command: format!("ludex demo --pairs {}", args.pairs),
        secret: Some(hex::encode(secret)),
    };
    let report =
        hub.compute.run(&owner, move || Report::build(&good, refused, scale::RatingOptions::default(), about)).await?;
    for scale in &report.scales {
        println!();
        rate::show(&mut std::io::stdout().lock(), scale)?;
    }
    println!("\nWritten:");
    for file in report::write(&report, &args.data.join("reports").join(&run))? {
        println!("  {}", file.display());
    }
    println!("{:.1} s in all.", began.elapsed().as_secs_f64());
    Ok(())
}

/// An agent that enters one event.
struct Entry {
    ticket: String,
    name: String,
    spec: &'static str,
    game: &'static str,
}

/// Every two agents of an event meet in pairs. The seeds follow from the run's secret, so nobody can choose them.
fn plan(run: &str, secret: &[u8], pairs: u32) -> (Vec<Entry>, Vec<PlannedMatch>) {
    let (mut entries, mut matches) = (Vec::new(), Vec::new());
    let mut index = 0;
    for (e, event) in PROGRAMME.iter().enumerate() {
        let ticket = |k: usize| format!("{run}-{e}-{k}");
        for (k, &spec) in event.agents.iter().enumerate() {
            entries.push(Entry { ticket: ticket(k), name: name(spec), spec, game: event.game });
        }
        for round in 0..pairs.div_ceil(event.share) {
            for a in 0..event.agents.len() {
                for b in a + 1..event.agents.len() {
                    let seed = digest::rated_seed(secret, index);
                    for seats in [[a, b], [b, a]] {
                        matches.push(PlannedMatch {
                            game: event.game.into(),
                            seats: seats.map(|k| PlannedSeat::Ticket(ticket(k))).to_vec(),
                            seed: Some(seed),
                            pair: Some(format!("{e}-{a}-{b}-{round}")),
                            run: Some(run.to_owned()),
                            rated: true,
                            clock: Clock::per_move(30_000),
                            illegal: Illegal::default(),
                            skip_forced: false,
                        });
                    }
                    index += 1;
                }
            }
        }
    }
    (entries, matches)
}

/// A spec as an agent name: `mcts sims=100` is `mcts-sims-100`.
fn name(spec: &str) -> String {
    spec.replace([' ', '='], "-")
}

/// Runs all agents as clients on a thread of their own; only the socket connects them with the server.
fn connect(
    url: String,
    entries: Vec<Entry>,
    over: watch::Receiver<bool>,
) -> std::thread::JoinHandle<anyhow::Result<()>> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut players = tokio::task::JoinSet::new();
            for entry in entries {
                let (url, mut over) = (url.clone(), over.clone());
                players.spawn(async move {
                    let join = Join {
                        ticket: Some(entry.ticket.clone()),
                        slots: SLOTS,
                        count: 0,
                        views: vec![MatchView::Struct],
                        ..Join::new(entry.game)
                    };
                    let (client, events) = Client::connect(&url, Options::default().agent(entry.name)).await?;
                    let agent = RemoteAgent::new(AgentSpec::parse(entry.spec)?, 0, Box::new(|_| ()))?;
                    let stop = async move {
                        let _ = over.wait_for(|over| *over).await;
                    };
                    Player::new(client, events, join, agent).run(stop).await?;
                    anyhow::Ok(())
                });
            }
            while let Some(ended) = players.join_next().await {
                ended??;
            }
            Ok(())
        })
    })
}
