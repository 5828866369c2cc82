//! How a server is run.

use std::path::PathBuf;
use std::time::Duration;

use ludex_env::Games;
use ludex_protocol::Limits;

use crate::opponents::Opponents;
use crate::seasons::SuiteSeasons;
use crate::standing_ladders::LadderTerms;
use crate::suites::Suites;

/// The settings of a server.
#[derive(Clone)]
pub struct Config {
    /// Where the store is.
    pub data: PathBuf,
    /// Threads that serve connections, at least 1; the compute pool has as many.
    pub workers: usize,
    /// What clients are allowed.
    pub limits: Limits,
    /// Whether the rate limit holds for clients on this machine too.
    pub limit_loopback: bool,
    /// The games that it offers.
    pub games: Games,
    /// Whom clients may seat, and which agents there are.
    pub opponents: Opponents,
    /// Certificate and key for TLS, PEM files.
    pub tls: Option<TlsFiles>,
    /// Web pages that may connect, beside those on this machine: `https://example.org`, or `*` for all.
    pub origins: Vec<String>,
    /// Names by which a server that listens on loopback is reached, beside `localhost`, `127.0.0.1` and `[::1]`:
    /// `play.example`, `play.example:7878`, or `*` for all.
    pub hosts: Vec<String>,
    /// Which matches come in pairs, where the client does not say it.
    pub pairs: PairMode,
    /// How the matches of people are rated.
    pub humans: Humans,
    /// The suites that agents may enrol for.
    pub suites: Suites,
    /// How long a run may take, from the enrolment of its first agent.
    pub run_time: Duration,
    /// The seasons of suites.
    pub seasons: Vec<SuiteSeasons>,
    /// Standing ladders.
    pub ladders: Vec<LadderTerms>,
    /// How long matches may continue after the server was told to stop.
    pub drain: Duration,
}

/// Which matches come in pairs (one seed, seats swapped) where the client does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairMode {
    /// None.
    Off,
    /// Those that count.
    #[default]
    Rated,
    /// All.
    All,
}

impl PairMode {
    /// Whether matches come in pairs that count, or do not.
    pub(crate) fn default_of(self, rated: bool) -> bool {
        self == PairMode::All || self == PairMode::Rated && rated
    }
}

/// How the matches of people, who play as the kind `human`, are rated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Humans {
    /// Like all others.
    #[default]
    Together,
    /// On a scale of their own. A standing ladder admits no people then.
    Apart,
}

/// PEM files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, its chain after it.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Config {
    /// Everything by default, with the store in `data`.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Config {
            data: data.into(),
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            limits: Limits::default(),
            limit_loopback: false,
            games: Games::builtin(),
            opponents: Opponents::default(),
            tls: None,
            origins: Vec::new(),
            hosts: Vec::new(),
            pairs: PairMode::default(),
            humans: Humans::default(),
            suites: Suites::builtin(),
            run_time: Duration::from_secs(30 * 24 * 3_600),
            seasons: Vec::new(),
            ladders: Vec::new(),
            drain: Duration::from_secs(30),
        }
    }
}
