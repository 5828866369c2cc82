//! The time of day.

/// The time of day as records write it.
pub fn now_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Milliseconds since the Unix epoch.
pub fn epoch_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
