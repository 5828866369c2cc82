//! The log of `ludex serve`: one line for each event, as text or JSON, and never a flood.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::{Event, Metadata};
use tracing_subscriber::layer::{Context, Filter, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// How many lines of one kind there may be in [`WINDOW`]. The rest are counted.
const LINES: u64 = 20;

/// How long lines are counted before the count begins anew.
const WINDOW: Duration = Duration::from_secs(1);

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(super) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object for each line
    Json,
}

/// Sends all lines to standard error; `LUDEX_LOG` says which (default: `info`).
pub(super) fn start(form: LogFormat) {
    let filter = EnvFilter::try_from_env("LUDEX_LOG").unwrap_or_else(|_| "info".into());
    let floods = Floods::default();
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match form {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_ansi(false).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines.with_filter(floods.clone())).init();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(WINDOW);
            floods.sum_up();
        }
    });
}

/// Lets a bounded number of lines of one kind through, and counts the others. Two lines are of one kind if the same place in the
/// program writes them.
#[derive(Clone, Default)]
struct Floods(Arc<Mutex<HashMap<Identifier, Kind>>>);

struct Kind {
    since: Instant,
    /// Lines since then.
    lines: u64,
    left_out: u64,
    of: &'static Metadata<'static>,
}

impl Floods {
    /// Whether a line of this kind may be written at `now`.
    fn passes(&self, of: &'static Metadata<'static>, now: Instant) -> bool {
        let mut kinds = self.0.lock();
        let kind = kinds.entry(of.callsite()).or_insert(Kind { since: now, lines: 0, left_out: 0, of });
        if now.duration_since(kind.since) >= WINDOW {
            (kind.since, kind.lines) = (now, 0);
        }
        kind.lines += 1;
        let passes = kind.lines <= LINES;
        kind.left_out += u64::from(!passes);
        passes
    }

    /// Says how many lines were left out.
    fn sum_up(&self) {
        for (of, count) in self.left_out() {
            // The place of the line stands for its words, which differ from line to line.
            let place = format!("{}:{}", of.file().unwrap_or(of.target()), of.line().unwrap_or(0));
            tracing::warn!(place, count, "lines of one kind were left out of the log");
        }
    }

    /// What was left out since the last call.
    fn left_out(&self) -> Vec<(&'static Metadata<'static>, u64)> {
        let mut kinds = self.0.lock();
        let counts = kinds.values_mut().map(|kind| (kind.of, std::mem::take(&mut kind.left_out)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

impl<S> Filter<S> for Floods {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        self.passes(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Places(Arc<Mutex<Vec<&'static Metadata<'static>>>>);

    impl<S: tracing::Subscriber> Layer<S> for Places {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            self.0.lock().push(event.metadata());
        }
    }

    #[test]
    fn a_flood_of_one_kind_is_counted_and_others_pass() {
        let (floods, places, now) = (Floods::default(), Places::default(), Instant::now());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(places.clone()), || {
            tracing::error!("loud");
            tracing::error!("rare");
        });
        let [loud, rare] = places.0.lock()[..] else { panic!("two lines") };
        let passed = (0..1_000).filter(|_| floods.passes(loud, now)).count();
        assert_eq!(passed as u64, LINES);
        assert!(floods.passes(rare, now));
        let left_out = floods.left_out();
        let left_out: Vec<_> = left_out.iter().map(|(of, count)| (of.line(), *count)).collect();
        assert_eq!(left_out, [(loud.line(), 1_000 - LINES)]);
        assert!(floods.left_out().is_empty(), "each is told once");
        assert!(floods.passes(loud, now + WINDOW), "a new second");
    }
}
