//! Rating scales on a page, and their display names.

use std::sync::Arc;
use std::time::Duration;

use ludex_gym::catalogue::Catalogue;
use ludex_play::runs::tournament::schedule::PART;
use ludex_report::scale::Scale;

use crate::ratings::RatingsSnapshot;
use crate::server_state::ServerState;
use crate::suites::Suites;

/// Maximum time that a page waits for new ratings.
const PATIENCE: Duration = Duration::from_millis(400);
/// Maximum time that a page waits for new ratings if at least [`MANY`] records are released, since rating many records
/// takes long.
const PATIENCE_OF_MANY: Duration = Duration::from_millis(10);
const MANY: u64 = 1_000;

/// Returns the rating scales of a game, or of all games if `game` is `None`. If the computation takes too long, returns
/// the previous scales; the computation continues for later requests.
pub(super) async fn ratings_soon(shared: &Arc<ServerState>, game: Option<&str>) -> Option<Arc<RatingsSnapshot>> {
    let many = shared.store.last_release().await.is_ok_and(|records| records >= MANY);
    let (maker, of) = (shared.clone(), game.map(str::to_owned));
    let work = tokio::spawn(async move { maker.ratings.of(&maker.store, of.as_deref()).await });
    match tokio::time::timeout(if many { PATIENCE_OF_MANY } else { PATIENCE }, work).await {
        Ok(made) => made.ok()?.inspect_err(|error| tracing::error!("ratings computation failed: {error:#}")).ok(),
        Err(_) => shared.ratings.last(game),
    }
}

/// Returns the display name of each scale: its game and, for matches of runs, the part of a suite. If a game has scales
/// with and without a part, the one without a part is labeled `outside runs`.
pub(super) fn names(scales: &[Scale], catalogue: &Catalogue, suites: &Suites) -> Vec<String> {
    let name = |scale: &Scale| {
        let game = catalogue.called(&scale.string);
        let has_parts = || scales.iter().any(|other| other.string == scale.string && other.part.is_some());
        match &scale.part {
            Some(part) => match suites.with_part(part, &scale.string)[..] {
                [] if part == PART => format!("{game} in tournaments"),
                [] => format!("{game}, part {part} of a run"),
                ref of => format!("{game}, part {part} of {}", of.join(" or ")),
            },
            None if has_parts() => format!("{game}, outside runs"),
            None => game,
        }
    };
    scales.iter().map(name).collect()
}
