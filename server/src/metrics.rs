//! Counters of one server, in Prometheus' text form.

use std::collections::HashMap;

use ludex_protocol::{ClientMessage, ErrorCode};
use metrics::{Counter, Gauge, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// The counters. Each is looked up once, so that counting is one atomic addition.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    requests: HashMap<&'static str, Counter>,
    errors: HashMap<ErrorCode, Counter>,
    /// Open WebSocket connections.
    pub connections: Gauge,
    /// Sessions held by a connection.
    pub live: Gauge,
    /// Sessions that wait for their client.
    pub parked: Gauge,
}

impl Metrics {
    pub fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let counter = |name: &'static str, label: &'static str, value: &'static str| {
            recorder.register_counter(&Key::from_parts(name, vec![Label::new(label, value)]), &METADATA)
        };
        let gauge = |name: &'static str| recorder.register_gauge(&Key::from_name(name), &METADATA);
        let requests = ClientMessage::TYPES.map(|kind| (kind, counter("ludex_requests_total", "type", kind)));
        let errors = ErrorCode::ALL.map(|code| (code, counter("ludex_errors_total", "code", code.as_str())));
        Metrics {
            connections: gauge("ludex_connections"),
            live: gauge("ludex_sessions_live"),
            parked: gauge("ludex_sessions_parked"),
            requests: requests.into(),
            errors: errors.into(),
            handle,
            recorder,
        }
    }

    /// Counts a request by its type.
    #[inline]
    pub fn request(&self, kind: &str) {
        if let Some(counter) = self.requests.get(kind) {
            counter.increment(1);
        }
    }

    /// Counts an error by its code.
    pub fn error(&self, code: ErrorCode) {
        if let Some(counter) = self.errors.get(&code) {
            counter.increment(1);
        }
    }

    /// Counts a connection that the server closed, by the close's name.
    pub fn closed(&self, name: &'static str) {
        let key = Key::from_parts("ludex_closed_total", vec![Label::new("with", name)]);
        self.recorder.register_counter(&key, &METADATA).increment(1);
    }

    /// All of it as text.
    pub fn render(&self) -> String {
        self.handle.render()
    }
}
