//! Wall-clock time, without its jumps, and in the format of records.

use std::sync::LazyLock;
use std::time::Instant;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

/// Largest step of the wall clock that is followed, in milliseconds.
const MAX_STEP_MS: i64 = 60_000;

/// Wall clock and monotonic clock at the first use in this process.
static FIRST: LazyLock<(i64, Instant)> = LazyLock::new(|| (Timestamp::now().as_millisecond(), Instant::now()));

/// Returns the current time in the format of records.
pub fn now_text() -> String {
    text_of(&now())
}

/// Formats a time in UTC as RFC 3339 with milliseconds. Faster than formatting with a pattern.
fn text_of(moment: &Timestamp) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    PRINTER.timestamp_to_string(moment)
}

/// Returns the milliseconds since the Unix epoch. If the wall clock has jumped by more than a minute since the process
/// started, the jump is ignored until the clock is right again or the process restarts: it would end seasons, remove data
/// and void tokens, and none of these can be undone.
pub fn epoch_ms() -> i64 {
    let wall_ms = wall_ms();
    jump_ms(wall_ms).map_or(wall_ms, |jump_ms| wall_ms.saturating_sub(jump_ms))
}

/// Returns the milliseconds by which the wall clock has jumped since the process started, if these are more than a minute.
/// They are negative if the clock jumped back.
pub fn clock_jump_ms() -> Option<i64> {
    jump_ms(wall_ms())
}

fn jump_ms(wall_ms: i64) -> Option<i64> {
    let (first_ms, from) = *FIRST;
    let elapsed = i64::try_from(from.elapsed().as_millis()).unwrap_or(i64::MAX);
    let steady_ms = first_ms.saturating_add(elapsed);
    #[cfg(any(test, feature = "testing"))]
    let steady_ms = steady_ms.saturating_add(testing::adopted_ms());
    Some(wall_ms.saturating_sub(steady_ms)).filter(|jump_ms| jump_ms.abs() > MAX_STEP_MS)
}

fn wall_ms() -> i64 {
    let wall_ms = Timestamp::now().as_millisecond();
    #[cfg(any(test, feature = "testing"))]
    let wall_ms = wall_ms.saturating_add(testing::shift_ms());
    wall_ms
}

/// Returns the time of [`epoch_ms`].
fn now() -> Timestamp {
    Timestamp::from_millisecond(epoch_ms()).unwrap_or_else(|_| Timestamp::now())
}

/// Jumps of the wall clock, for simulations.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use std::cell::Cell;

    thread_local! {
        static SHIFT: Cell<i64> = const { Cell::new(0) };
        static ADOPTED: Cell<i64> = const { Cell::new(0) };
    }

    /// Moves the wall clock of this thread by `ms` milliseconds.
    pub fn jump_wall_clock(ms: i64) {
        SHIFT.set(SHIFT.get() + ms);
    }

    /// Takes the wall clock of this thread as right, as a process that starts.
    pub fn adopt_wall_clock() {
        ADOPTED.set(SHIFT.get());
    }

    pub(super) fn shift_ms() -> i64 {
        SHIFT.get()
    }

    pub(super) fn adopted_ms() -> i64 {
        ADOPTED.get()
    }
}

/// Wall-clock time that never goes back: the wall clock is read once, and a monotonic clock measures the time since.
pub(crate) struct Since {
    at: Timestamp,
    from: Instant,
}

impl Since {
    /// Creates a clock that starts at `started`, a time that was just read.
    pub fn just(started: &str) -> Self {
        Since { at: started.parse().unwrap_or_else(|_| now()), from: Instant::now() }
    }

    /// Creates a clock that starts now, for a match that another process started at `started`.
    pub fn later_than(started: &str) -> Self {
        let now = now();
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
    fn jumps_of_the_wall_clock_are_left_out_until_the_process_restarts() {
        const DAY_MS: i64 = 86_400_000;
        for jump_ms in [DAY_MS, -DAY_MS] {
            let before_ms = epoch_ms();
            testing::jump_wall_clock(jump_ms);
            assert!((epoch_ms() - before_ms).abs() < MAX_STEP_MS, "{jump_ms}");
            assert!(clock_jump_ms().is_some_and(|found| (found - jump_ms).abs() < MAX_STEP_MS));
            testing::adopt_wall_clock();
            assert!((epoch_ms() - before_ms - jump_ms).abs() < MAX_STEP_MS, "{jump_ms}");
            assert_eq!(clock_jump_ms(), None);
        }
        // A step that NTP makes is followed.
        testing::jump_wall_clock(2_000);
        assert_eq!(clock_jump_ms(), None);
    }

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
