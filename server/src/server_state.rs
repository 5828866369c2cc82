//! State that all connections of a server share.

use std::sync::Arc;

use ludex_gym::catalogue::Catalogue;
use ludex_gym::compute::Compute;
use ludex_gym::opponents::Opponents;
use ludex_protocol::Limits;
use ludex_store::Store;

use crate::cells::OwnedCells;
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

/// State of one cell of a server. After a reload of settings, new connections get a state with the new settings, which shares all
/// else with the previous one.
pub(crate) struct ServerState {
    pub config: Config,
    /// Cells of the server, of which this is one.
    pub cells: Arc<OwnedCells<ServerState>>,
    pub catalogue: Arc<Catalogue>,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    /// Budgets of HTTP requests, by address.
    pub page_rates: Arc<Rates>,
    /// Pages and pictures of matches.
    pub pages: Arc<PageCache>,
    pub workers: Arc<WorkerMonitors>,
    pub permits: Arc<ConnectionLimits>,
    pub gym: ludex_gym::Context,
    pub hub: Arc<Hub>,
    pub runs: Arc<Runs>,
    pub store: Store,
    pub metrics: Arc<Metrics>,
    pub ratings: Arc<RatingsCache>,
    /// Registration of owners; `None` if only operators create tokens.
    pub registrar: Option<Arc<Registrar>>,
}

impl ServerState {
    pub async fn new(config: Config, store: Store, metrics: Metrics) -> anyhow::Result<Self> {
        let limits = Arc::new(config.limits.clone());
        let compute = Compute::new(config.workers)?;
        let opponents = Arc::new(config.opponents.clone());
        let catalogue = Arc::new(Catalogue::new(config.games.clone()));
        let registrar = config.registration.map(|mode| Registrar::new(mode, &store, &opponents, &limits));
        let (metrics, cells) = (Arc::new(metrics), Arc::<OwnedCells<ServerState>>::default());
        let hub = hub(&config, &store, &catalogue, &compute, &metrics, &cells).await?;
        Ok(ServerState {
            rates: Arc::new(Rates::new(limits.requests_per_s)),
            page_rates: Arc::new(Rates::new(limits.pages_per_s)),
            pages: Arc::new(PageCache::new()),
            workers: Arc::default(),
            permits: ConnectionLimits::new(&limits),
            gym: ludex_gym::Context { compute, catalogue: catalogue.clone(), opponents, limits: limits.clone() },
            catalogue,
            cells,
            runs: Runs::new(hub.clone()),
            hub,
            metrics,
            ratings: Arc::new(RatingsCache::new(config.games.clone(), config.humans)?),
            registrar: registrar.map(Arc::new),
            limits,
            store,
            config,
        })
    }

    /// Returns the state of another cell of this server, of which `store` is the owner.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn adopt(&self, store: Store) -> anyhow::Result<Self> {
        let (config, compute) = (self.config.clone(), &self.gym.compute);
        let hub = hub(&config, &store, &self.catalogue, compute, &self.metrics, &self.cells).await?;
        let registrar = config.registration.map(|mode| Registrar::new(mode, &store, &self.gym.opponents, &self.limits));
        Ok(ServerState {
            runs: Runs::new(hub.clone()),
            hub,
            store,
            registrar: registrar.map(Arc::new),
            ..self.shared(config)
        })
    }

    /// Returns the state for connections that open after a reload, and applies the limits, agents and seasons to the match
    /// plane. All other settings of `config` are ignored.
    pub fn reloaded(&self, config: &Config) -> Self {
        let limits = Arc::new(config.limits.clone());
        let opponents = Opponents { named: config.opponents.named.clone(), ..self.config.opponents.clone() };
        self.hub.config.limits.set(config.limits.clone());
        self.hub.config.opponents.set(opponents.clone());
        if config.seasons != self.config.seasons {
            self.runs.set_seasons(config.seasons.clone());
        }
        // Budgets with an unchanged rate are not refilled.
        let rates = |rates: &Arc<Rates>, before: u32, now: u32| match before == now {
            true => rates.clone(),
            false => Arc::new(Rates::new(now)),
        };
        let (registrar, shared) = (self.registrar.as_ref(), Arc::new(opponents.clone()));
        let config =
            Config { limits: config.limits.clone(), opponents, seasons: config.seasons.clone(), ..self.config.clone() };
        ServerState {
            rates: rates(&self.rates, self.limits.requests_per_s, limits.requests_per_s),
            page_rates: rates(&self.page_rates, self.limits.pages_per_s, limits.pages_per_s),
            permits: self.permits.resized(&limits),
            registrar: registrar.map(|registrar| Arc::new(registrar.reloaded(&shared, &limits))),
            gym: ludex_gym::Context { opponents: shared, limits: limits.clone(), ..self.gym.clone() },
            limits,
            ..self.shared(config)
        }
    }

    /// Returns a copy with other settings, which shares all else.
    fn shared(&self, config: Config) -> Self {
        ServerState {
            config,
            cells: self.cells.clone(),
            catalogue: self.catalogue.clone(),
            limits: self.limits.clone(),
            rates: self.rates.clone(),
            page_rates: self.page_rates.clone(),
            pages: self.pages.clone(),
            workers: self.workers.clone(),
            permits: self.permits.clone(),
            gym: self.gym.clone(),
            hub: self.hub.clone(),
            runs: self.runs.clone(),
            store: self.store.clone(),
            metrics: self.metrics.clone(),
            ratings: self.ratings.clone(),
            registrar: self.registrar.clone(),
        }
    }

    /// Returns the server's monotonic clock in milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.hub.now()
    }

    /// Returns the milliseconds since the Unix epoch.
    pub fn epoch_ms(&self) -> i64 {
        ludex_play::time::epoch_ms()
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

/// Creates the match plane of a cell.
async fn hub(
    config: &Config,
    store: &Store,
    catalogue: &Arc<Catalogue>,
    compute: &Compute,
    metrics: &Arc<Metrics>,
    cells: &OwnedCells<ServerState>,
) -> anyhow::Result<Arc<Hub>> {
    let hub = HubConfig {
        limits: config.limits.clone().into(),
        catalogue: catalogue.clone(),
        opponents: config.opponents.clone().into(),
        pairs: config.pairs,
        humans: config.humans,
        data: config.data.clone(),
        suites: config.suites.clone(),
        consent: config.consent.clone(),
        run_time: config.run_time,
        seasons: config.seasons.clone().into(),
        ladders: standing_ladders::open(&config.ladders, catalogue, &config.opponents, store).await?,
        urls: cells.urls.clone(),
    };
    Ok(Hub::new(store.clone(), hub, compute.clone(), metrics.clone(), config.workers).await?)
}
