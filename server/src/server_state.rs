//! State that all connections of a server share.

use std::sync::Arc;
use std::time::SystemTime;

use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::Compute;
use ludex_protocol::Limits;
use ludex_store::Store;

use crate::config::Config;
use crate::connection_limits::ConnectionLimits;
use crate::limits::Rates;
use crate::page_cache::PageCache;
use crate::peer::Peer;
use crate::ratings::RatingsCache;
use crate::registration::Registrar;
use ludex_arena::matches::{Hub, HubConfig};
use ludex_arena::metrics::Metrics;
use ludex_arena::runs::Runs;
use ludex_arena::stall_monitor::WorkerMonitors;
use ludex_arena::standing_ladders;

/// State of one server.
pub(crate) struct ServerState {
    pub config: Config,
    pub catalogue: Arc<Catalogue>,
    pub limits: Arc<Limits>,
    pub rates: Rates,
    /// Budgets of HTTP requests, by address.
    pub page_rates: Rates,
    /// Pages and pictures of matches.
    pub pages: PageCache,
    pub workers: WorkerMonitors,
    pub permits: Arc<ConnectionLimits>,
    pub gym: ludex_gym::Context,
    pub hub: Arc<Hub>,
    pub runs: Arc<Runs>,
    pub store: Store,
    pub metrics: Arc<Metrics>,
    pub ratings: RatingsCache,
    /// Registration of owners; `None` if only operators create tokens.
    pub registrar: Option<Arc<Registrar>>,
}

impl ServerState {
    pub async fn new(config: Config, store: Store, metrics: Metrics) -> anyhow::Result<Self> {
        let limits = Arc::new(config.limits.clone());
        let compute = Compute::new(config.workers)?;
        let opponents = Arc::new(config.opponents.clone());
        let catalogue = Arc::new(Catalogue::new(config.games.clone()));
        let hub = HubConfig {
            limits: config.limits.clone(),
            catalogue: catalogue.clone(),
            opponents: config.opponents.clone(),
            pairs: config.pairs,
            humans: config.humans,
            data: config.data.clone(),
            suites: config.suites.clone(),
            consent: config.consent.clone(),
            run_time: config.run_time,
            seasons: config.seasons.clone(),
            ladders: standing_ladders::open(&config.ladders, &catalogue, &config.opponents, &store).await?,
        };
        let registrar = config.registration.map(|mode| Registrar::new(mode, &store, &opponents, &limits));
        let metrics = Arc::new(metrics);
        let hub = Hub::new(store.clone(), hub, compute.clone(), metrics.clone(), config.workers).await?;
        Ok(ServerState {
            rates: Rates::new(limits.requests_per_s),
            page_rates: Rates::new(limits.pages_per_s),
            pages: PageCache::new(),
            workers: WorkerMonitors::default(),
            permits: ConnectionLimits::new(&limits),
            gym: ludex_gym::Context { compute, catalogue: catalogue.clone(), opponents, limits: limits.clone() },
            catalogue,
            runs: Runs::new(hub.clone()),
            hub,
            metrics,
            ratings: RatingsCache::new(config.games.clone(), config.humans)?,
            registrar: registrar.map(Arc::new),
            limits,
            store,
            config,
        })
    }

    /// Returns the server's monotonic clock in milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.hub.now()
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn epoch_ms(&self) -> i64 {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
    }

    /// Returns true if a peer without a token is admitted until the server's first token is created.
    pub fn welcomes_guests(&self, peer: &Peer) -> bool {
        self.registrar.is_none() && peer.local && peer.ip.is_loopback()
    }

    /// Returns true if the rate limit applies to this peer.
    pub fn is_limited(&self, peer: &Peer) -> bool {
        self.limits.requests_per_s > 0 && (!peer.ip.is_loopback() || self.config.limit_loopback)
    }

    /// Returns true if the server accepts no new work.
    pub fn is_draining(&self) -> bool {
        self.hub.draining()
    }

    /// Refuses new work from now on.
    pub fn drain(&self) {
        self.hub.drain();
        self.runs.halt();
    }
}
