//! `ludex serve`.

mod layers;
mod log;
mod notify;
mod reload;
mod settings;
mod signals;

use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::block_on;
use super::store_args::StoreArgs;
use ludex_arena::settings::{Humans, PairMode};
use ludex_gym::opponents::{Opponents, SearchLimits};
use ludex_server::config::{Config, IpNet, RegistrationMode, TlsFiles};
use ludex_server::{ServerHandle, limits};

use self::reload::Reloader;
use self::settings::{consent, ladder, offered_agents, offered_suites, season};

pub(super) use self::settings::retention;
pub(super) use self::signals::stop_signal;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Read options from this TOML file; each option is a key, e.g. allowed_host. Variables such as LUDEX_ALLOWED_HOST
    /// replace keys, and options of the command line replace both
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check all options and the files that they name, without a port and a store, and exit
    #[arg(long)]
    check: bool,
    /// Listen at this address and port; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    listen: SocketAddr,
    #[command(flatten)]
    store: StoreArgs,
    /// Wait while another server owns the store, and take over when it ends
    #[arg(long)]
    standby: bool,
    /// Accept a PostgreSQL server that may lose acknowledged moves: without synchronous commits or standbys
    #[arg(long)]
    allow_async_replication: bool,
    /// Divide a PostgreSQL store into this many cells, which its servers share; more cells can be added only while no
    /// match, no join and no run uses the store
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CELLS))]
    cells: Option<u32>,
    /// Give clients this URL if they need a cell of this server, e.g. wss://node-1.example [default: the address of
    /// --listen]
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// Remove the store's folder at exit; the folder must be new or empty
    #[arg(long)]
    temporary: bool,
    /// Print one JSON document when ready
    #[arg(long)]
    json: bool,
    /// Exit when standard input ends, so that the server stops together with its parent program
    #[arg(long)]
    until_stdin_closes: bool,
    /// Format the log on standard error
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: log::LogFormat,
    /// Log each HTTP request on standard error, as text or as JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    access_log: Option<log::LogFormat>,
    /// Serve connections with this many threads [default: one per core]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Serve TLS with the certificate and its chain in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Serve TLS with the certificate's private key in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let clients seat this agent by name, even if the agent starts a program, e.g. house="uci cmd=stockfish"; may be
    /// repeated
    #[arg(long = "agent", value_name = "NAME=SPEC")]
    agents: Vec<String>,
    /// Accept connections from web pages of this origin, e.g. https://example.org, or * for all; may be repeated
    /// [default: pages from this machine]
    #[arg(long = "allowed-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Accept requests to this host name if the server listens on loopback, e.g. behind a proxy; may be repeated
    /// [default: localhost]
    #[arg(long = "allowed-host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Trust the header X-Forwarded-For from proxies in this network, e.g. 127.0.0.0/8; may be repeated
    #[arg(long = "trusted-proxy", value_name = "CIDR")]
    trusted_proxies: Vec<IpNet>,
    /// Show matches and records to visitors without a token, except matches of unfinished runs
    #[arg(long)]
    public: bool,
    /// Let visitors of the page /register create an owner and a token: all, or those with an invitation
    #[arg(long, value_enum, value_name = "MODE")]
    register: Option<Register>,
    /// Set a limit on clients, e.g. window=64; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// Limit the simulations per move of agents that clients seat
    #[arg(long, value_name = "N", default_value_t = SearchLimits::default().sims)]
    max_sims: u64,
    /// Limit the search depth, in plies, of agents that clients seat
    #[arg(long, value_name = "N", default_value_t = SearchLimits::default().depth)]
    max_depth: u64,
    /// Limit the positions per move of agents that clients seat
    #[arg(long, value_name = "N", default_value_t = SearchLimits::default().nodes)]
    max_nodes: u64,
    /// Limit the milliseconds per move of agents that clients seat
    #[arg(long, value_name = "MS", default_value_t = SearchLimits::default().ms)]
    max_ms: u64,
    /// Play these matches in pairs (one seed, seats swapped) unless the client requests otherwise
    #[arg(long, value_enum, default_value = "rated")]
    paired: PairedMatches,
    /// Rate matches of humans together with all matches, or on a separate scale without standing ladders
    #[arg(long, value_enum, default_value = "together")]
    rate_humans: RateHumans,
    /// Offer this suite (built-in, TOML file, or none for no suites); may be repeated [default: all built-in suites]
    #[arg(long = "suite", value_name = "NAME|FILE")]
    suites: Vec<String>,
    /// Show this Markdown file to people before their first match of a run, and enroll them only once they accept it
    #[arg(long, value_name = "FILE")]
    consent: Option<PathBuf>,
    /// Offer seasons of a suite (shared seeds, one run per agent) as set in this TOML file; may be repeated
    #[arg(long = "season", value_name = "FILE")]
    seasons: Vec<String>,
    /// Offer a standing ladder for this game or TOML file; agents enter it with `queue = "ladder"`; may be repeated
    #[arg(long = "ladder", value_name = "GAME|FILE")]
    ladders: Vec<String>,
    /// Remove old data of this kind (unrated, logs, runs) after this many days, e.g. unrated=30d; may be repeated
    /// [default: keep all data]
    #[arg(long = "retain", value_name = "KIND=AGE")]
    retention: Vec<String>,
    /// End a run this many days after its first enrolment
    #[arg(long, value_name = "DAYS", default_value_t = 30.0)]
    run_timeout_days: f64,
    /// Wait up to this many seconds at exit for running matches to end
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain_timeout: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum PairedMatches {
    Off,
    Rated,
    All,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum RateHumans {
    Together,
    Apart,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Register {
    Open,
    Invite,
}

/// Maximum number of cells of a store. Each takes connections of the database.
const MAX_CELLS: i64 = 256;

/// Returns the arguments of the program, with those of the configuration file and the environment for `ludex serve`.
///
/// # Errors
///
/// A configuration file that cannot be read, or an invalid value.
pub(super) fn with_layers(arguments: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    match &arguments[..] {
        [program, name, line @ ..] if name == NAME => {
            let expanded = layers::expanded(&command(), line, &|name| std::env::var_os(name))?;
            Ok([program.clone(), name.clone()].into_iter().chain(expanded).collect())
        }
        _ => Ok(arguments),
    }
}

/// Name of the command.
const NAME: &str = "serve";

fn command() -> clap::Command {
    <Args as clap::Args>::augment_args(clap::Command::new(NAME))
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let _access_log = log::start(args.log_format, args.access_log);
    let config = config(&args)?;
    if args.check {
        ludex_server::check(&config)?;
        println!("the configuration is valid");
        return Ok(());
    }
    if args.temporary {
        let used = std::fs::read_dir(&args.store.data).is_ok_and(|mut entries| entries.next().is_some());
        anyhow::ensure!(!used, "--temporary: expected a new or empty folder, got {}", args.store.data.display());
    }
    let served = block_on(async {
        let listener = bind(args.listen).await?;
        // Signals that arrive from here on are handled.
        let signal = stop_signal()?;
        let (reloader, hangup) = Reloader::new()?;
        let stdin = args.until_stdin_closes.then(stdin_closed);
        let stop = async move {
            let stdin = async {
                match stdin {
                    Some(closed) => drop(closed.await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! { () = signal => {}, () = stdin => {}, () = hangup => {} }
            notify::stopping();
        };
        let address = listener.local_addr()?;
        let ready = |server: ServerHandle| {
            announce(address, &config, args.json)?;
            notify::ready();
            tokio::spawn(reloader.run(server.clone()));
            tokio::spawn(notify::watch(server));
            Ok(())
        };
        ludex_server::run_with_handle(listener, config.clone(), ready, stop).await
    });
    // If the server failed, its error is reported, not that of the removal.
    served.and(if args.temporary { remove_folder(&args.store.data) } else { Ok(()) })
}

/// Removes a folder, which is missing if the server did not start.
fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", folder.display())),
    }
}

/// Returns a receiver that resolves at the end of standard input. The reading thread is never joined, since its read
/// cannot be interrupted.
fn stdin_closed() -> oneshot::Receiver<()> {
    let (closed, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    receiver
}

/// Binds the listener for `--listen`.
pub(super) async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.with_context(|| format!("cannot listen on {address}; use another address with --listen"))
}

fn config(args: &Args) -> anyhow::Result<Config> {
    let mut config = Config::new(&args.store.data);
    config.store = args.store.location();
    config.standby = args.standby;
    config.allow_async_replication = args.allow_async_replication;
    config.cells = args.cells;
    config.advertise.clone_from(&args.advertise);
    for limit in &args.limits {
        limits::set(&mut config.limits, limit).map_err(|e| anyhow::anyhow!("--limit: {e}"))?;
    }
    if let Some(workers) = args.workers {
        anyhow::ensure!(workers > 0, "--workers: expected at least 1, got 0");
        config.workers = workers;
    }
    if let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) {
        config.tls = Some(TlsFiles { cert: cert.clone(), key: key.clone() });
    }
    let search = SearchLimits { sims: args.max_sims, depth: args.max_depth, nodes: args.max_nodes, ms: args.max_ms };
    config.opponents = Opponents { named: offered_agents(args)?, search, ..Opponents::default() };
    config.doors = crate::doors();
    config.origins = args.origins.clone();
    config.hosts = args.hosts.clone();
    config.trusted_proxies.clone_from(&args.trusted_proxies);
    config.public = args.public;
    config.access_log = args.access_log.is_some();
    config.registration = args.register.map(|mode| match mode {
        Register::Open => RegistrationMode::Open,
        Register::Invite => RegistrationMode::Invite,
    });
    config.pairs = match args.paired {
        PairedMatches::Off => PairMode::Off,
        PairedMatches::Rated => PairMode::Rated,
        PairedMatches::All => PairMode::All,
    };
    config.humans = match args.rate_humans {
        RateHumans::Together => Humans::Together,
        RateHumans::Apart => Humans::Apart,
    };
    config.retention = retention(&args.retention)?;
    config.drain = Duration::from_secs(args.drain_timeout);
    config.suites = offered_suites(&args.suites)?;
    config.consent = args.consent.as_deref().map(consent).transpose()?;
    config.seasons = args.seasons.iter().map(|file| season(file)).collect::<anyhow::Result<_>>()?;
    config.ladders = args.ladders.iter().map(|text| ladder(text)).collect::<anyhow::Result<_>>()?;
    let days = Duration::try_from_secs_f64(args.run_timeout_days * 86_400.0).ok().filter(|time| !time.is_zero());
    config.run_time = days.with_context(|| {
        format!("--run-timeout-days: expected a number of days above 0, got {}", args.run_timeout_days)
    })?;
    Ok(config)
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
