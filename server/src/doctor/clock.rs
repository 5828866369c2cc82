//! Check of the system's clock.

use ludex_play::time::epoch_ms;
use ludex_store::{MatchFilter, Store, StoreError};

use super::Finding;
use super::store::failure;

const CHECK: &str = "clock";

/// Difference in milliseconds that the times of concurrent processes may have.
const TOLERANCE_MS: i64 = 1_000;

/// Checks that the system's clock is not before the newest time in the store.
pub(super) async fn check(store: &Store) -> Finding {
    match newest_ms(store).await {
        Ok(newest_ms) => at(epoch_ms(), newest_ms),
        Err(error) => failure(&error),
    }
}

fn at(now_ms: i64, newest_ms: i64) -> Finding {
    let late_ms = newest_ms.saturating_sub(now_ms);
    if late_ms <= TOLERANCE_MS {
        return Finding::ok(CHECK, "the system clock is not before the newest time in the store");
    }
    let text = format!("the system clock is {} s before the newest time in the store", late_ms / 1_000);
    Finding::problem(CHECK, text, "set the clock, and keep it right by NTP")
}

/// Returns the newest start or end of a match, or creation of a token, in the store.
async fn newest_ms(store: &Store) -> Result<i64, StoreError> {
    let lines = store.matches(&MatchFilter::default(), 1).await?;
    let matches = lines.iter().flat_map(|line| [Some(line.started_ms), line.ended.as_ref().map(|(ms, _)| *ms)]);
    let tokens = store.tokens().await?;
    Ok(matches.flatten().chain(tokens.iter().map(|token| token.created_ms)).max().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus::{Ok, Problem};
    use super::*;

    #[test]
    fn clock_before_the_store_is_a_problem() {
        assert_eq!(at(5_000, 5_500).status, Ok);
        let finding = at(5_000, 65_000);
        assert!(finding.status == Problem && finding.text.contains("60 s"), "{finding:?}");
    }
}
