//! Log of `ludex serve`: one line per event, as text or JSON, with a rate limit.

mod access;

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_server::ACCESS_LOG;
use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata};
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt};

pub(super) use self::access::AccessLogGuard;

/// Maximum number of lines per call site and [`WINDOW`]; further lines are suppressed and counted.
const MAX_LINES: u64 = 20;

/// Period of the rate limit.
const WINDOW: Duration = Duration::from_secs(1);

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// Lines of plain text
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// Targets with the first level at which their lines contain frames, and thus tokens, or report each request.
const FRAMES: [(&str, Level); 2] = [("tungstenite", Level::TRACE), ("rmcp", Level::INFO)];

/// Starts logging to standard error. `LUDEX_LOG` sets the filter (default: `info`), except for the access log. Frames are
/// never logged. The guard writes the last lines of the access log.
pub(super) fn start(format: LogFormat, access: Option<LogFormat>) -> Option<AccessLogGuard> {
    let filter = EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "info".into());
    let frames = filter_fn(|of| {
        let own = |(target, _): &&(&str, Level)| of.target().split("::").next() == Some(*target);
        of.target() != ACCESS_LOG && FRAMES.iter().find(own).is_none_or(|(_, first)| of.level() < first)
    });
    let limiter = LogLimiter::default();
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_ansi(false).boxed(),
    };
    let lines = lines.with_filter(filter.and(frames).and(limiter.clone()));
    let (access, guard) = access.map(access::layer).unzip();
    tracing_subscriber::registry().with(lines).with(access).init();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(WINDOW);
            limiter.log_suppressed();
        }
    });
    guard
}

/// Rate limiter for log lines, per call site, that counts suppressed lines.
#[derive(Clone, Default)]
struct LogLimiter(Arc<Mutex<HashMap<Identifier, SiteCount>>>);

struct SiteCount {
    since: Instant,
    lines: u64,
    suppressed: u64,
    of: &'static Metadata<'static>,
}

impl LogLimiter {
    /// Returns true if a line of this call site may be written at time `now`.
    fn admits(&self, of: &'static Metadata<'static>, now: Instant) -> bool {
        let mut kinds = self.0.lock();
        let kind = kinds.entry(of.callsite()).or_insert(SiteCount { since: now, lines: 0, suppressed: 0, of });
        if now.duration_since(kind.since) >= WINDOW {
            (kind.since, kind.lines) = (now, 0);
        }
        kind.lines += 1;
        let passes = kind.lines <= MAX_LINES;
        kind.suppressed += u64::from(!passes);
        passes
    }

    /// Logs the number of suppressed lines.
    fn log_suppressed(&self) {
        for (of, count) in self.take_suppressed() {
            let place = format!("{}:{}", of.file().unwrap_or(of.target()), of.line().unwrap_or(0));
            tracing::warn!(place, count, "log lines suppressed");
        }
    }

    /// Returns the number of suppressed lines per call site since the last call, and resets the counters.
    fn take_suppressed(&self) -> Vec<(&'static Metadata<'static>, u64)> {
        let mut kinds = self.0.lock();
        let counts = kinds.values_mut().map(|kind| (kind.of, std::mem::take(&mut kind.suppressed)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

impl<S> Filter<S> for LogLimiter {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.admits(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct CallSites(Arc<Mutex<Vec<&'static Metadata<'static>>>>);

    impl<S: tracing::Subscriber> Layer<S> for CallSites {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            self.0.lock().push(event.metadata());
        }
    }

    #[test]
    fn limiter_suppresses_only_lines_above_the_limit() {
        let (limiter, places, now) = (LogLimiter::default(), CallSites::default(), Instant::now());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(places.clone()), || {
            tracing::error!("loud");
            tracing::error!("rare");
        });
        let [loud, rare] = places.0.lock()[..] else { panic!("two lines") };
        let passed = (0..1_000).filter(|_| limiter.admits(loud, now)).count();
        assert_eq!(passed as u64, MAX_LINES);
        assert!(limiter.admits(rare, now));
        let suppressed = limiter.take_suppressed();
        let suppressed: Vec<_> = suppressed.iter().map(|(of, count)| (of.line(), *count)).collect();
        assert_eq!(suppressed, [(loud.line(), 1_000 - MAX_LINES)]);
        assert!(limiter.take_suppressed().is_empty(), "the counters were not reset");
        assert!(limiter.admits(loud, now + WINDOW), "a new period");
    }
}
