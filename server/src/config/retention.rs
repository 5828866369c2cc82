//! Setting of the ages at which data are removed.

use std::time::Duration;

/// Minimum ages at which data are removed. `None`: the data stay forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Age of unrated matches, counted from their ends.
    pub unrated: Option<Duration>,
    /// Age of the logs of matches, counted from the ends of the matches.
    pub logs: Option<Duration>,
    /// Age of the folders of runs, counted from the ends of the runs or of their seasons.
    pub runs: Option<Duration>,
}

impl Retention {
    /// Sets the age of one kind of data from a text such as `unrated=30d`.
    ///
    /// # Errors
    ///
    /// An unknown kind, or an age that is not a number of days.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let Some((kind, age)) = text.split_once('=') else {
            return Err(format!("expected KIND=AGE such as unrated=30d, got {text:?}"));
        };
        let slot = match kind {
            "unrated" => &mut self.unrated,
            "logs" => &mut self.logs,
            "runs" => &mut self.runs,
            _ => return Err(format!("expected a kind of data, got {kind:?}; allowed: unrated, logs, runs")),
        };
        let days = age.strip_suffix('d').and_then(|days| days.parse::<u16>().ok()).filter(|days| *days > 0);
        let days = days.ok_or_else(|| format!("{kind}: expected a number of days such as 30d, got {age:?}"))?;
        *slot = Some(Duration::from_secs(u64::from(days) * 86_400));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_is_parsed_from_kind_and_days() {
        let mut retention = Retention::default();
        for text in ["unrated=30d", "runs=365d", "unrated=2d"] {
            retention.set(text).unwrap();
        }
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        assert_eq!(retention, Retention { unrated: days(2), logs: None, runs: days(365) });
        for (wrong, why) in [
            ("logs", "expected KIND=AGE"),
            ("rated=1d", "allowed: unrated, logs, runs"),
            ("logs=0d", "logs: expected a number of days"),
            ("logs=12", "logs: expected a number of days"),
        ] {
            let error = retention.set(wrong).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
