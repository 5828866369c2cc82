//! Rating scales on a page, with their display names.

use std::sync::Arc;
use std::time::Duration;

use ludex_gym::catalogue::Catalogue;
use ludex_pages::ratings::{RatingRow, RatingTable};
use ludex_play::runs::tournament::schedule::PART;
use ludex_report::scale::{AgentRow, Scale};
use serde_json::Value;

use crate::ratings::RatingsSnapshot;
use crate::server_state::ServerState;
use ludex_arena::suites::Suites;

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
/// with and without a part, the scale without a part is labeled `outside runs`.
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

/// Returns the table of each scale.
pub(super) fn tables(made: &RatingsSnapshot, catalogue: &Catalogue, suites: &Suites) -> Vec<RatingTable> {
    let pages = made.page["ratings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let table = |((scale, page), title): ((&Scale, &Value), String)| RatingTable {
        title,
        games: scale.games,
        people: is_of_people(page),
        agents: scale.agents.iter().map(row).collect(),
    };
    made.scales.iter().zip(pages).zip(names(&made.scales, catalogue, suites)).map(table).collect()
}

/// Returns true if a scale of the JSON API has only matches with people.
pub(super) fn is_of_people(scale: &Value) -> bool {
    scale["people"] == true
}

/// Returns an agent's row. Numbers that JSON cannot represent are omitted.
pub(super) fn row(row: &AgentRow) -> RatingRow {
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    RatingRow {
        name: row.name.clone(),
        kind: row.kind,
        rating: finite(row.rating),
        low: finite(row.low),
        high: finite(row.high),
        fixed: row.fixed,
        games: row.games,
        wins: row.tally.wins,
        draws: row.tally.draws,
        losses: row.tally.losses,
    }
}
