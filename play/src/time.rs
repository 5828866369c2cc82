//! The time of day.

use std::time::Instant;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

/// The time of day as records write it.
pub fn now_text() -> String {
    text_of(&Timestamp::now())
}

/// A moment to the millisecond, UTC in RFC 3339. This printer is faster than one with a pattern.
fn text_of(moment: &Timestamp) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    PRINTER.timestamp_to_string(moment)
}

/// Milliseconds since the Unix epoch.
pub fn epoch_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// One reading of the time of day, and the time since by a steady clock. What is told from both never goes back, whatever
/// happens to the clock on the wall.
pub(crate) struct Since {
    at: Timestamp,
    from: Instant,
}

impl Since {
    /// Since `started`, a time that was read just now.
    pub fn just(started: &str) -> Self {
        Since { at: started.parse().unwrap_or_else(|_| Timestamp::now()), from: Instant::now() }
    }

    /// Since now, of something that another process began at `started`.
    pub fn later_than(started: &str) -> Self {
        let now = Timestamp::now();
        Since { at: started.parse().map_or(now, |started: Timestamp| started.max(now)), from: Instant::now() }
    }

    /// The time of day now, as records write it.
    pub fn now_text(&self) -> String {
        text_of(&self.at.checked_add(self.from.elapsed()).unwrap_or(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_three_digits_and_are_not_rounded_up() {
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
    fn the_end_is_never_before_the_start() {
        // Years ahead of the wall clock, as if that had been set back since.
        let started = "2999-01-01T00:00:00.000Z";
        assert!(Since::just(started).now_text().starts_with("2999-01-01T00:00:0"));
        assert!(Since::later_than(started).now_text().starts_with("2999-01-01T00:00:0"));
        // Years behind: the same process continues from there, another one reads its own clock.
        let started = "1999-01-01T00:00:00.000Z";
        assert!(Since::just(started).now_text().starts_with("1999-01-01T00:00:0"));
        assert!(Since::later_than(started).now_text().as_str() > "2020");
    }
}
