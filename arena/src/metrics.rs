//! Metrics of one server in the Prometheus text format.

use std::collections::HashMap;
use std::sync::Arc;

use ludex_gym::quotas::{Account, Resource};
use ludex_protocol::record::EndReason;
use ludex_protocol::{ClientMessage, ErrorCode};
use ludex_store::Commits;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder as _, SharedString};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// Histogram bounds of the commit duration, in seconds.
const COMMIT_SECONDS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];
/// Histogram bounds of the number of jobs per commit.
const COMMIT_JOBS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// Histogram bounds of the turn latency, in seconds.
const TURN_SECONDS: &[f64] = &[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0];

/// Names and descriptions of all metrics.
const HELP: &[(&str, &str)] = &[
    ("ludex_build_info", "Version of the server and of its protocol, with the value 1."),
    ("ludex_closed_total", "Connections that the server closed, by the name of the close code."),
    ("ludex_compute_queued", "Pending searches and other long work."),
    ("ludex_connections", "Open WebSockets."),
    ("ludex_environments", "Environments of all sessions."),
    ("ludex_errors_total", "Error replies by code."),
    ("ludex_joins_waiting", "Joins that could start a match."),
    ("ludex_matches_begun_total", "Started matches."),
    ("ludex_matches_ended_total", "Ended matches by reason."),
    ("ludex_matches_live", "Running and starting matches."),
    ("ludex_owner_held", "Resources in use by each owner of a token."),
    ("ludex_pages_computed_total", "Pages and pictures that were computed instead of taken from the cache, by kind."),
    ("ludex_refused_total", "Refusals before a session exists, by subject and reason."),
    ("ludex_requests_total", "Requests by type."),
    ("ludex_sessions_live", "Sessions with a connection."),
    ("ludex_sessions_parked", "Sessions without a connection that can be resumed."),
    ("ludex_store_commit_jobs", "Writes per commit of the store."),
    ("ludex_store_commit_seconds", "Duration of each commit of the store."),
    ("ludex_turn_seconds", "Time from a client's move until the resulting messages are sent."),
    ("process_resident_memory_bytes", "Memory of the server process in use."),
];

/// Metrics of one server. Each server has its own recorder, since several servers may run in one process. Each counter
/// is looked up only once, so that counting costs one atomic addition.
pub struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    requests: HashMap<&'static str, Counter>,
    errors: HashMap<ErrorCode, Counter>,
    pub connections: Gauge,
    /// Sessions with a connection.
    pub live: Gauge,
    /// Sessions without a connection.
    pub parked: Gauge,
    /// Jobs in the queue of the compute pool.
    pub queued: Gauge,
    pub matches: Gauge,
    /// Joins without a match.
    pub waiting: Gauge,
    pub envs: Gauge,
    /// Memory of this process in bytes.
    memory: Gauge,
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
    /// Fails only if a histogram has no bounds.
    pub fn new() -> anyhow::Result<Self> {
        let bounds = |builder: PrometheusBuilder, name: &str, of: &[f64]| {
            builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), of)
        };
        let builder = bounds(PrometheusBuilder::new(), "ludex_store_commit_seconds", COMMIT_SECONDS)?;
        let builder = bounds(builder, "ludex_turn_seconds", TURN_SECONDS)?;
        let recorder = bounds(builder, "ludex_store_commit_jobs", COMMIT_JOBS)?.build_recorder();
        describe(&recorder);
        let handle = recorder.handle();
        let build = vec![
            Label::from_static_parts("version", env!("CARGO_PKG_VERSION")),
            Label::new("protocol", ludex_protocol::VERSION.to_string()),
        ];
        recorder.register_gauge(&Key::from_parts("ludex_build_info", build), &METADATA).set(1.0);
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
            memory: gauge("process_resident_memory_bytes"),
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

    /// Returns all metrics as text, except the metrics of owners.
    pub fn render(&self) -> String {
        if let Some(bytes) = resident_memory() {
            self.memory.set(bytes);
        }
        self.handle.render()
    }
}

fn describe(recorder: &PrometheusRecorder) {
    for (name, help) in HELP {
        recorder.describe_gauge(KeyName::from_const_str(name), None, SharedString::const_str(help));
    }
}

/// Returns the metrics of owners as text: the resources that each owner uses.
pub fn owners(accounts: &[Arc<Account>]) -> String {
    // Uses a new recorder for each page, so that owners who have left are not listed.
    let recorder = PrometheusBuilder::new().build_recorder();
    describe(&recorder);
    for account in accounts {
        for resource in Resource::ALL {
            let labels = vec![Label::new("owner", account.name.to_string()), Label::new("of", resource.name())];
            let gauge = recorder.register_gauge(&Key::from_parts("ludex_owner_held", labels), &METADATA);
            gauge.set(f64::from(account.used(resource)));
        }
    }
    recorder.handle().render()
}

/// Returns the resident memory of this process in bytes, on systems that report it in `/proc`.
fn resident_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

/// Returns the wire name of an end reason.
pub fn word(reason: EndReason) -> String {
    serde_json::to_value(reason).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_description() {
        let metrics = Metrics::new().unwrap();
        metrics.closed("idle");
        metrics.page("page");
        metrics.ended(EndReason::Finished);
        metrics.count_refusal("hello", "token");
        metrics.turns.record(0.1);
        metrics.commits.seconds.record(0.1);
        metrics.commits.jobs.record(1.0);
        let page = metrics.render();
        let kinds: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        for name in &kinds {
            assert!(page.contains(&format!("# HELP {name} ")), "{name}");
        }
        let listed: Vec<&str> = HELP.iter().map(|(name, _)| *name).filter(|name| !kinds.contains(name)).collect();
        assert_eq!(listed, ["ludex_owner_held"], "described but missing metrics");
        assert!(page.contains("ludex_build_info{version="), "{page}");
        #[cfg(target_os = "linux")]
        assert!(resident_memory() > Some(1e6));
    }
}
