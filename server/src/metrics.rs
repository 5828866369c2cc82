//! Metrics of one server in the Prometheus text format.

use std::collections::HashMap;

use ludex_protocol::record::EndReason;
use ludex_protocol::{ClientMessage, ErrorCode};
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// Histogram bounds of the commit duration, in seconds.
const COMMIT_SECONDS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];
/// Histogram bounds of the number of jobs per commit.
const COMMIT_JOBS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// Histogram bounds of the turn latency, in seconds.
const TURN_SECONDS: &[f64] = &[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];

/// Metrics of the store's commits. The default value discards all samples.
#[derive(Clone)]
pub(crate) struct Commits {
    /// Duration of each commit in seconds.
    pub seconds: Histogram,
    /// Number of jobs per commit.
    pub jobs: Histogram,
}

impl Default for Commits {
    fn default() -> Self {
        Commits { seconds: Histogram::noop(), jobs: Histogram::noop() }
    }
}

/// Metrics of one server. The recorder is separate, since several servers may run in one process. Each counter is
/// resolved once, so that counting costs one atomic addition.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    requests: HashMap<&'static str, Counter>,
    errors: HashMap<ErrorCode, Counter>,
    pub connections: Gauge,
    /// Sessions with a connection.
    pub live: Gauge,
    /// Sessions without a connection.
    pub parked: Gauge,
    /// Queued pieces of computation.
    pub queued: Gauge,
    pub matches: Gauge,
    /// Joins without a match.
    pub waiting: Gauge,
    pub envs: Gauge,
    pub begun: Counter,
    /// Time in seconds from a client's move until its results are sent. In a rated match, the time includes the durable
    /// write.
    pub turns: Histogram,
    pub commits: Commits,
}

impl Metrics {
    /// Creates all metrics at zero.
    ///
    /// # Errors
    ///
    /// Fails only if a list of histogram bounds above is empty.
    pub fn new() -> anyhow::Result<Self> {
        let bounds = |builder: PrometheusBuilder, name: &str, of: &[f64]| {
            builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), of)
        };
        let builder = bounds(PrometheusBuilder::new(), "ludex_store_commit_seconds", COMMIT_SECONDS)?;
        let builder = bounds(builder, "ludex_turn_seconds", TURN_SECONDS)?;
        let recorder = bounds(builder, "ludex_store_commit_jobs", COMMIT_JOBS)?.build_recorder();
        let handle = recorder.handle();
        let counter = |name: &'static str, label: &'static str, value: &'static str| {
            recorder.register_counter(&Key::from_parts(name, vec![Label::new(label, value)]), &METADATA)
        };
        let gauge = |name: &'static str| recorder.register_gauge(&Key::from_name(name), &METADATA);
        let histogram = |name: &'static str| recorder.register_histogram(&Key::from_name(name), &METADATA);
        let requests = ClientMessage::TYPES.map(|kind| (kind, counter("ludex_requests_total", "type", kind)));
        let error = |&code: &ErrorCode| (code, counter("ludex_errors_total", "code", code.as_str()));
        Ok(Metrics {
            connections: gauge("ludex_connections"),
            live: gauge("ludex_sessions_live"),
            parked: gauge("ludex_sessions_parked"),
            queued: gauge("ludex_compute_queued"),
            matches: gauge("ludex_matches_live"),
            waiting: gauge("ludex_joins_waiting"),
            envs: gauge("ludex_environments"),
            begun: recorder.register_counter(&Key::from_name("ludex_matches_begun_total"), &METADATA),
            turns: histogram("ludex_turn_seconds"),
            commits: Commits {
                seconds: histogram("ludex_store_commit_seconds"),
                jobs: histogram("ludex_store_commit_jobs"),
            },
            requests: requests.into(),
            errors: ErrorCode::ALL.iter().map(error).collect(),
            handle,
            recorder,
        })
    }

    /// Counts a request by type.
    #[inline]
    pub fn request(&self, kind: &str) {
        if let Some(counter) = self.requests.get(kind) {
            counter.increment(1);
        }
    }

    /// Counts an error by code.
    pub fn error(&self, code: ErrorCode) {
        if let Some(counter) = self.errors.get(&code) {
            counter.increment(1);
        }
    }

    /// Counts a connection that the server closed, by the name of its close code.
    pub fn closed(&self, name: &'static str) {
        let key = Key::from_parts("ludex_closed_total", vec![Label::new("with", name)]);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    /// Sets the amount of the resource `goods` that an owner uses.
    pub fn owner(&self, owner: &str, goods: &'static str, held: u32) {
        let labels = vec![Label::new("owner", owner.to_owned()), Label::new("of", goods)];
        self.recorder.register_gauge(&Key::from_parts("ludex_owner_held", labels), &METADATA).set(f64::from(held));
    }

    /// Counts a finished match by its end reason.
    pub fn ended(&self, reason: EndReason) {
        let key = Key::from_parts("ludex_matches_ended_total", vec![Label::new("reason", word(reason))]);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    /// Counts a computed page or picture of a match, by kind.
    pub fn page(&self, kind: &'static str) {
        let key = Key::from_parts("ludex_pages_computed_total", vec![Label::new("of", kind)]);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    /// Counts a refusal by subject (`what`) and reason (`why`).
    pub fn count_refusal(&self, what: &'static str, why: &'static str) {
        let key = Key::from_parts("ludex_refused_total", vec![Label::new("what", what), Label::new("why", why)]);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    /// Aggregates histogram samples into buckets. Samples use memory until they are aggregated.
    pub fn tidy(&self) {
        self.handle.run_upkeep();
    }

    /// Returns all metrics as text.
    pub fn render(&self) -> String {
        self.handle.render()
    }
}

/// Returns the wire name of an end reason.
pub(crate) fn word(reason: EndReason) -> String {
    serde_json::to_value(reason).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
