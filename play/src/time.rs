//! Wall-clock time in the format of records.

use std::time::Instant;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

/// Returns the current time in the format of records.
pub fn now_text() -> String {
    text_of(&Timestamp::now())
}

/// Formats a time in UTC as RFC 3339 with milliseconds. Faster than formatting with a pattern.
fn text_of(moment: &Timestamp) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    PRINTER.timestamp_to_string(moment)
}

/// Returns the milliseconds since the Unix epoch.
pub fn epoch_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// Wall-clock time that never goes back: the wall clock is read once, and a monotonic clock measures the time since.
pub(crate) struct Since {
    at: Timestamp,
    from: Instant,
}

impl Since {
    /// Creates a clock that starts at `started`, a time that was just read.
    pub fn just(started: &str) -> Self {
        Since { at: started.parse().unwrap_or_else(|_| Timestamp::now()), from: Instant::now() }
    }

    /// Creates a clock that starts now, for a match that another process started at `started`.
    pub fn later_than(started: &str) -> Self {
        let now = Timestamp::now();
        Since { at: started.parse().map_or(now, |started: Timestamp| started.max(now)), from: Instant::now() }
    }

    /// Returns the current time in the format of records.
    pub fn now_text(&self) -> String {
        text_of(&self.at.checked_add(self.from.elapsed()).unwrap_or(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_down_to_milliseconds() {
        for (ms, more, text) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (1_795_366_129_772, 999_999, "2026-11-22T16:48:49.772Z"),
            (1_795_366_129_050, 0, "2026-11-22T16:48:49.050Z"),
        ] {
            let moment = Timestamp::from_nanosecond(ms * 1_000_000 + more).unwrap();
            assert_eq!(text_of(&moment), text);
            assert_eq!(moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(), text);
        }
    }

    #[test]
    fn current_time_is_never_before_start_of_clock() {
        // `started` is ahead of the wall clock, as if the wall clock had been set back.
        let started = "2999-01-01T00:00:00.000Z";
        assert!(Since::just(started).now_text().starts_with("2999-01-01T00:00:0"));
        assert!(Since::later_than(started).now_text().starts_with("2999-01-01T00:00:0"));
        // `started` is in the past: `just` continues from `started`, `later_than` reads the wall clock.
        let started = "1999-01-01T00:00:00.000Z";
        assert!(Since::just(started).now_text().starts_with("1999-01-01T00:00:0"));
        assert!(Since::later_than(started).now_text().as_str() > "2020");
    }
}
