//! Metrics of one server in the Prometheus text format.

mod process;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

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

/// Histogram bounds of the duration of HTTP requests, in seconds.
const HTTP_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Type of a metric, as in the text format.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}
use Kind::{Counter as C, Gauge as G, Histogram as H};

/// Names, types and descriptions of all metrics.
const HELP: &[(&str, Kind, &str)] = &[
    ("ludex_build_info", G, "Version of the server and of its protocol, with the value 1."),
    ("ludex_closed_total", C, "Connections that the server closed, by the name of the close code."),
    ("ludex_compute_queued", G, "Pending searches and other long work."),
    ("ludex_connections", G, "Open WebSockets."),
    ("ludex_environments", G, "Environments of all sessions."),
    ("ludex_errors_total", C, "Error replies by code."),
    ("ludex_http_seconds", H, "Time until the response to an HTTP request is known, by route and status."),
    ("ludex_joins_waiting", G, "Joins that could start a match."),
    ("ludex_matches_begun_total", C, "Started matches."),
    ("ludex_matches_ended_total", C, "Ended matches by reason."),
    ("ludex_matches_live", G, "Running and starting matches."),
    ("ludex_owner_held", G, "Resources in use by each owner of a token."),
    (
        "ludex_pages_computed_total",
        C,
        "Pages and pictures that were computed instead of taken from the cache, by kind.",
    ),
    ("ludex_refused_total", C, "Refusals before a session exists, by subject and reason."),
    ("ludex_requests_total", C, "Requests by type."),
    ("ludex_sessions_live", G, "Sessions with a connection."),
    ("ludex_sessions_parked", G, "Sessions without a connection that can be resumed."),
    ("ludex_store_commit_jobs", H, "Writes per commit of the store."),
    ("ludex_store_commit_seconds", H, "Duration of each commit of the store."),
    ("ludex_store_errors_total", C, "Failed commits of the store; their writes are tried one by one."),
    ("ludex_store_queue", G, "Writes that wait for the next commit of the store."),
    ("ludex_turn_seconds", H, "Time from a client's move until the resulting messages are sent."),
    ("ludex_worker_lag_seconds", G, "Longest time without a heartbeat of a worker since the last reading."),
    ("process_cpu_seconds_total", C, "Processor time of the server process in seconds."),
    ("process_max_fds", G, "Maximum number of open file descriptors of the server process."),
    ("process_open_fds", G, "Open file descriptors of the server process."),
    ("process_resident_memory_bytes", G, "Memory of the server process in use."),
    ("process_start_time_seconds", G, "Start of the server process in seconds since the Unix epoch."),
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
    /// Longest time without a heartbeat of a worker in seconds.
    pub lag: Gauge,
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
        let builder = bounds(builder, "ludex_http_seconds", HTTP_SECONDS)?;
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
            lag: gauge("ludex_worker_lag_seconds"),
            begun: recorder.register_counter(&Key::from_name("ludex_matches_begun_total"), &METADATA),
            turns: histogram("ludex_turn_seconds"),
            commits: Commits {
                seconds: histogram("ludex_store_commit_seconds"),
                jobs: histogram("ludex_store_commit_jobs"),
                errors: recorder.register_counter(&Key::from_name("ludex_store_errors_total"), &METADATA),
                queue: gauge("ludex_store_queue"),
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

    /// Records the duration of an HTTP request by the template of its route and the status of the response.
    pub fn count_http(&self, route: &str, status: u16, duration: Duration) {
        let labels = vec![Label::new("route", route.to_owned()), Label::new("code", status.to_string())];
        let key = Key::from_parts("ludex_http_seconds", labels);
        self.recorder.register_histogram(&key, &METADATA).record(duration);
    }

    /// Aggregates histogram samples into buckets. Samples use memory until they are aggregated.
    pub fn tidy(&self) {
        self.handle.run_upkeep();
    }

    /// Returns all metrics as text, except the metrics of owners. A metric without values has its description and type.
    pub fn render(&self) -> String {
        let mut page = self.handle.render();
        let process: HashMap<_, _> = process::values().collect();
        for (name, kind, help) in HELP.iter().filter(|(name, ..)| *name != OWNER_HELD) {
            let line = format!("# TYPE {name} ");
            if !page.contains(&line) {
                page.push_str(&format!("# HELP {name} {help}\n{line}{}\n", kind.word()));
                // The text format writes an infinite number in its own way.
                let value = process.get(name).map(|value| value.to_string().replace("inf", "+Inf"));
                page.extend(value.map(|value| format!("{name} {value}\n")));
                page.push('\n');
            }
        }
        page
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            C => "counter",
            G => "gauge",
            H => "histogram",
        }
    }
}

/// Metric of owners, on a page of its own.
const OWNER_HELD: &str = "ludex_owner_held";

fn describe(recorder: &PrometheusRecorder) {
    for (name, _, help) in HELP {
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
            let gauge = recorder.register_gauge(&Key::from_parts(OWNER_HELD, labels), &METADATA);
            // An owner has an account in each cell.
            gauge.increment(f64::from(account.used(resource)));
        }
    }
    recorder.handle().render()
}

/// Returns the wire name of an end reason.
pub fn word(reason: EndReason) -> String {
    serde_json::to_value(reason).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the types on a page by the names of the metrics.
    fn types(page: &str) -> BTreeMap<&str, &str> {
        let lines: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
        let types: BTreeMap<_, _> = lines.iter().copied().collect();
        assert_eq!(lines.len(), types.len(), "a metric has two types: {page}");
        types
    }

    #[test]
    fn every_metric_is_described_from_the_start() {
        let metrics = Metrics::new().unwrap();
        let page = metrics.render();
        let expected: BTreeMap<_, _> =
            HELP.iter().filter(|(name, ..)| *name != OWNER_HELD).map(|(name, kind, _)| (*name, kind.word())).collect();
        assert_eq!(types(&page), expected);
        for name in expected.keys() {
            assert_eq!(page.matches(&format!("# HELP {name} ")).count(), 1, "{name}");
        }
        assert!(page.contains("ludex_matches_begun_total 0\n"), "{page}");
        assert!(page.contains("ludex_build_info{version="), "{page}");
        metrics.closed("idle");
        metrics.page("page");
        metrics.ended(EndReason::Finished);
        metrics.count_refusal("hello", "token");
        metrics.count_http("/games/{id}", 200, Duration::from_millis(3));
        metrics.turns.record(0.1);
        metrics.commits.seconds.record(0.1);
        metrics.commits.jobs.record(1.0);
        let page = metrics.render();
        assert_eq!(types(&page), expected, "a type changes with the first value");
        assert!(page.contains("ludex_http_seconds_count{route=\"/games/{id}\",code=\"200\"} 1"), "{page}");
    }
}
