//! `ludex serve`.

mod log;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use ludex_play::runs::evaluation::suite_text;
use ludex_server::config::{Config, Humans, PairMode, TlsFiles};
use ludex_server::limits;
use ludex_server::opponents::{Opponents, SearchLimits};
use ludex_server::seasons::SuiteSeasons;
use ludex_server::standing_ladders::LadderTerms;
use ludex_server::suites::Suites;

/// What `ludex serve` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Address and port; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:7878")]
    listen: SocketAddr,
    /// Folder of the store
    #[arg(long, default_value = "./ludex-data")]
    data: PathBuf,
    /// Remove the folder of the store at the end; it must be new or empty
    #[arg(long)]
    temporary: bool,
    /// Print one JSON document when ready, for programs
    #[arg(long)]
    json: bool,
    /// Stop when the standard input ends, for programs that start a server and may be killed
    #[arg(long)]
    until_stdin_closes: bool,
    /// How the log on standard error is written
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    log: log::LogFormat,
    /// Threads that serve connections [default: one for each core]
    #[arg(long)]
    workers: Option<usize>,
    /// Certificate with its chain (PEM); with --tls-key the server speaks TLS
    #[arg(long, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// An agent that clients may seat by name, even if it starts a program: house="uci cmd=stockfish"
    #[arg(long = "agent", value_name = "NAME=SPEC")]
    agents: Vec<String>,
    /// Origin of web pages that may connect, e.g. https://example.org, or * for all; pages of this machine may always connect
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Name by which clients reach a server that listens on loopback, e.g. behind a proxy; localhost is always known
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// A limit for clients, e.g. window=64; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// Most simulations per move for an agent that a client seats
    #[arg(long, default_value_t = SearchLimits::default().sims)]
    max_sims: u64,
    /// Greatest search depth for an agent that a client seats
    #[arg(long, default_value_t = SearchLimits::default().depth)]
    max_depth: u64,
    /// Most positions per move for an agent that a client seats
    #[arg(long, default_value_t = SearchLimits::default().nodes)]
    max_nodes: u64,
    /// Most milliseconds per move for an agent that a client seats
    #[arg(long, default_value_t = SearchLimits::default().ms)]
    max_ms: u64,
    /// Which matches come in pairs (one seed, seats swapped) where the client does not say it
    #[arg(long, value_enum, default_value = "rated")]
    pairs: Pairs,
    /// How matches of people (the kind human) are rated: like all others, or on a scale of their own and on no standing ladder
    #[arg(long, value_enum, default_value = "together")]
    humans: RatedHumans,
    /// A suite that agents may enrol for: a built-in one, or a TOML file; may be repeated; none offers none [default: the built-in ones]
    #[arg(long = "suite", value_name = "NAME|FILE")]
    suites: Vec<String>,
    /// Seasons of a suite, as a TOML file says them: all runs have the same deals, and each agent enrols once; may be repeated
    #[arg(long = "season", value_name = "FILE")]
    seasons: Vec<String>,
    /// A standing ladder that agents enter with `queue = "ladder"`: a game, or a TOML file that describes it; may be repeated
    #[arg(long = "ladder", value_name = "GAME|FILE")]
    ladders: Vec<String>,
    /// Days after its first enrolment at which a run ends, done or not
    #[arg(long, value_name = "N", default_value_t = 30.0)]
    run_days: f64,
    /// Seconds that running matches have to finish when the server is told to stop
    #[arg(long, default_value_t = 30)]
    drain: u64,
}

/// Which matches come in pairs.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Pairs {
    Off,
    Rated,
    All,
}

/// How matches of people are rated.
#[derive(Clone, Copy, clap::ValueEnum)]
enum RatedHumans {
    Together,
    Apart,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    log::start(args.log);
    let config = config(&args)?;
    if args.temporary {
        let used = std::fs::read_dir(&args.data).is_ok_and(|mut entries| entries.next().is_some());
        anyhow::ensure!(!used, "--temporary would remove {}, which is not empty", args.data.display());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let bound = TcpListener::bind(args.listen).await;
        let listener = bound.with_context(|| format!("cannot listen on {}; try another --listen", args.listen))?;
        // From here on, signals are not lost.
        let signal = stop_signal()?;
        let stdin = args.until_stdin_closes.then(stdin_closed);
        let stop = async move {
            match stdin {
                Some(closed) => tokio::select! { () = signal => {}, _ = closed => {} },
                None => signal.await,
            }
        };
        let address = listener.local_addr()?;
        let ready = |_: &_| announce(address, &config, args.json);
        ludex_server::run_then(listener, config.clone(), ready, stop).await
    });
    if args.temporary {
        std::fs::remove_dir_all(&args.data).with_context(|| format!("cannot remove {}", args.data.display()))?;
    }
    served
}

/// Ends when the standard input does. The thread is not joined, because nothing can wake it from reading.
fn stdin_closed() -> oneshot::Receiver<()> {
    let (closed, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    receiver
}

fn config(args: &Args) -> anyhow::Result<Config> {
    let mut config = Config::new(&args.data);
    for limit in &args.limits {
        limits::set(&mut config.limits, limit).map_err(|e| anyhow::anyhow!("--limit: {e}"))?;
    }
    if let Some(workers) = args.workers {
        anyhow::ensure!(workers > 0, "--workers must be at least 1");
        config.workers = workers;
    }
    if let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) {
        config.tls = Some(TlsFiles { cert: cert.clone(), key: key.clone() });
    }
    let search = SearchLimits { sims: args.max_sims, depth: args.max_depth, nodes: args.max_nodes, ms: args.max_ms };
    config.opponents = Opponents { named: named(&args.agents)?, search, ..Opponents::default() };
    config.origins = args.origins.clone();
    config.hosts = args.hosts.clone();
    config.pairs = match args.pairs {
        Pairs::Off => PairMode::Off,
        Pairs::Rated => PairMode::Rated,
        Pairs::All => PairMode::All,
    };
    config.humans = match args.humans {
        RatedHumans::Together => Humans::Together,
        RatedHumans::Apart => Humans::Apart,
    };
    config.drain = Duration::from_secs(args.drain);
    config.suites = suites(&args.suites)?;
    config.seasons = args.seasons.iter().map(|file| season(file)).collect::<anyhow::Result<_>>()?;
    config.ladders = args.ladders.iter().map(|text| ladder(text)).collect::<anyhow::Result<_>>()?;
    let days = Duration::try_from_secs_f64(args.run_days * 86_400.0).ok().filter(|time| !time.is_zero());
    config.run_time = days.with_context(|| format!("--run-days {} is not a number of days", args.run_days))?;
    Ok(config)
}

/// A ladder by its game, or from a file.
fn ladder(text: &str) -> anyhow::Result<LadderTerms> {
    if !text.ends_with(".toml") {
        return Ok(LadderTerms::of(text));
    }
    let read = std::fs::read_to_string(text).map_err(anyhow::Error::from);
    read.and_then(|text| LadderTerms::parse(&text)).with_context(|| format!("--ladder {text}"))
}

fn season(file: &str) -> anyhow::Result<SuiteSeasons> {
    let read = std::fs::read_to_string(file).map_err(anyhow::Error::from);
    read.and_then(|text| SuiteSeasons::parse(&text)).with_context(|| format!("--season {file}"))
}

/// The suites that are offered.
fn suites(given: &[String]) -> anyhow::Result<Suites> {
    if given.is_empty() {
        return Ok(Suites::builtin());
    }
    let named = given.iter().filter(|name| *name != "none");
    named.into_iter().try_fold(Suites::default(), |all, name| {
        all.with(&suite_text(name)?).with_context(|| format!("--suite {name}"))
    })
}

fn named(agents: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let one = |text: &String| {
        let (name, spec) = text.split_once('=').with_context(|| format!("--agent {text:?} is not NAME=SPEC"))?;
        anyhow::ensure!(
            ludex_protocol::is_agent_name(name),
            "--agent {name:?} is not a valid agent name: use 1 to 40 characters of A-Za-z0-9._-"
        );
        ludex_agents::AgentSpec::parse(spec).with_context(|| format!("--agent {name}"))?;
        Ok((name.to_owned(), spec.to_owned()))
    };
    agents.iter().map(one).collect()
}

/// Prints the server's address.
fn announce(address: SocketAddr, config: &Config, json: bool) -> anyhow::Result<()> {
    let scheme = if config.tls.is_some() { "wss" } else { "ws" };
    let url = format!("{scheme}://{address}");
    let mut out = std::io::stdout().lock();
    if json {
        let data = config.data.display().to_string();
        let line =
            serde_json::json!({ "url": url, "data": data, "pid": std::process::id(), "server": ludex_play::PROGRAM });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "ludex serves {url}")?;
    }
    Ok(out.flush()?)
}

/// Resolves on SIGTERM or Ctrl-C. A second signal ends the program at once.
pub(super) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = Signals::new()?;
    Ok(async move {
        signals.next().await;
        tracing::info!("stopping; repeat the signal to stop at once");
        tokio::spawn(async move {
            signals.next().await;
            std::process::exit(1);
        });
    })
}

/// The signals that stop a program.
struct Signals {
    #[cfg(unix)]
    term: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Signals {
            #[cfg(unix)]
            term: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.term.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
