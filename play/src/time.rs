//! The time of day.

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
}
