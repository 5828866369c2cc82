//! Server settings.

mod retention;

use std::path::PathBuf;
use std::time::Duration;

pub use ipnet::IpNet;
use ludex_arena::consent::ConsentText;
use ludex_arena::seasons::SuiteSeasons;
use ludex_arena::settings::{Humans, PairMode};
use ludex_arena::standing_ladders::LadderTerms;
use ludex_arena::suites::Suites;
use ludex_env::Games;
use ludex_gym::opponents::Opponents;
use ludex_protocol::Limits;
use ludex_store::StoreLocation;

pub use self::retention::Retention;
use crate::door::Door;

/// Settings of a server.
#[derive(Clone)]
pub struct Config {
    /// Directory of the runs, and of the store unless that is elsewhere.
    pub data: PathBuf,
    pub store: StoreLocation,
    /// True to wait without limit while another server owns the store.
    pub standby: bool,
    /// True to accept a PostgreSQL server that may lose acknowledged moves.
    pub allow_async_replication: bool,
    /// Number of cells of a PostgreSQL store; `None` for those that it has, or one. It can grow only while the store is idle.
    pub cells: Option<u32>,
    /// URL at which clients reach this server, if its store has several cells; `None` for the address of the listener.
    pub advertise: Option<String>,
    /// Number of threads that serve connections, at least 1; the compute pool has the same number.
    pub workers: usize,
    pub limits: Limits,
    /// True if the rate limit also applies to loopback clients.
    pub limit_loopback: bool,
    pub games: Games,
    /// Agents of the server, and the limits for clients that seat them.
    pub opponents: Opponents,
    /// PEM files of the TLS certificate and key.
    pub tls: Option<TlsFiles>,
    /// Additional web origins that may connect, besides those of this machine:
    /// `https://example.org`, or `*` for all.
    pub origins: Vec<String>,
    /// Additional host names for a server that listens on loopback, besides `localhost`,
    /// `127.0.0.1` and `[::1]`: `play.example`, `play.example:7878`, or `*` for all.
    pub hosts: Vec<String>,
    /// Networks of proxies whose `X-Forwarded-For` headers are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// True if visitors without a token may see matches on a server that requires tokens.
    pub public: bool,
    /// Registration of owners by themselves; `None`: only operators create tokens. With a registration, clients without
    /// a token are refused from the start.
    pub registration: Option<RegistrationMode>,
    /// Pairing mode for joins that do not set one.
    pub pairs: PairMode,
    /// Rating mode for matches of people.
    pub humans: Humans,
    /// Suites in which agents may enroll.
    pub suites: Suites,
    /// Text that people accept before their first match of a run; `None`: people need not accept one.
    pub consent: Option<ConsentText>,
    /// Maximum duration of a run, from the enrolment of its first agent.
    pub run_time: Duration,
    pub seasons: Vec<SuiteSeasons>,
    pub ladders: Vec<LadderTerms>,
    /// Routes of other protocols.
    pub doors: Vec<Door>,
    /// Maximum time for running matches to finish during shutdown.
    pub drain: Duration,
    /// Ages at which the server removes old data.
    pub retention: Retention,
    /// True if each HTTP request is logged, as an event with the target [`ACCESS_LOG`](crate::ACCESS_LOG).
    pub access_log: bool,
}

/// Condition under which visitors may register an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationMode {
    /// Every visitor may. The tokens are marked by [`Scopes::REGISTERED`](ludex_store::Scopes::REGISTERED).
    Open,
    /// Visitors with an invitation may, a token with the scope [`Scopes::INVITE`](ludex_store::Scopes::INVITE).
    Invite,
}

/// PEM files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Path of the certificate file, which also contains the certificate's chain.
    pub cert: PathBuf,
    /// Path of the private key file.
    pub key: PathBuf,
}

impl Config {
    /// Returns the default settings, with the store in `data`.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        let data = data.into();
        Config {
            store: StoreLocation::in_folder(&data),
            data,
            standby: false,
            allow_async_replication: false,
            cells: None,
            advertise: None,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            limits: Limits::default(),
            limit_loopback: false,
            games: ludex_games::builtin(),
            opponents: Opponents::default(),
            tls: None,
            origins: Vec::new(),
            hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            public: false,
            registration: None,
            pairs: PairMode::default(),
            humans: Humans::default(),
            suites: Suites::builtin(),
            consent: None,
            run_time: Duration::from_secs(30 * 24 * 3_600),
            seasons: Vec::new(),
            ladders: Vec::new(),
            doors: Vec::new(),
            drain: Duration::from_secs(30),
            retention: Retention::default(),
            access_log: false,
        }
    }
}
