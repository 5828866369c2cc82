//! Law of chance: outcomes follow from the seed by the documented function (`docs/records.md`).

use ludex_env::draw::{block, episode_key};
use ludex_protocol::message::{Batch, ChanceBy, Open, to_move};
use ludex_protocol::spec::{ChanceMode, Spec};

use super::super::link::Link;
use super::super::{LawFailure, LawResult, same, wrong};
use super::handle::{CheckedHandle, all_views};
use super::steps::{SEED, plies};

/// Returns the outcome of chance draw `k`: the first outcome whose cumulative probability exceeds `u / 2^64`, where `u`
/// is block `k` of the episode's random stream.
fn outcome(outcomes: &[(u32, f64)], game: &str, k: u64) -> Option<u32> {
    let u = block(&episode_key("chance", game, SEED, 0), k) as f64 / 2f64.powi(64);
    let mut running = 0.0;
    let drawn = outcomes.iter().find(|(_, p)| {
        running += p;
        running > u
    });
    drawn.or(outcomes.last()).map(|(id, _)| *id)
}

/// Checks that two environments stay equal if the server draws in one and the client draws in the other by the
/// documented function.
pub(super) async fn draws(link: &mut Link, spec: &Spec) -> LawResult {
    if spec.chance != ChanceMode::Explicit {
        return Err(LawFailure::Skip("no game has explicit chance outcomes".into()));
    }
    let theirs = CheckedHandle::open(link, all_views(spec, 1)).await?;
    let ours = CheckedHandle::open(link, Open { chance: ChanceBy::Client, ..all_views(spec, 1) }).await?;
    let (mut drawn, mut batch) = (0, theirs.reset(link, SEED).await?);
    let mut own = ours.reset(link, SEED).await?;
    for ply in 0..plies(spec) {
        own = draw(link, &ours, own, &mut drawn).await?;
        let rows = [ours.row(&own, 0).state(), theirs.row(&batch, 0).state()];
        same(&rows[1], &rows[0], || format!("the state at step {ply}, after {drawn} draws of seed {SEED}"))?;
        if CheckedHandle::ended(&batch, 0) {
            break;
        }
        let Some(actions) = theirs.choose(&batch, SEED) else { break };
        batch = theirs.step(link, &actions).await?;
        own = ours.step(link, &actions).await?;
    }
    theirs.close(link).await?;
    ours.close(link).await
}

/// Plays chance outcomes until a seat is to move or the episode is over.
async fn draw(link: &mut Link, h: &CheckedHandle, mut batch: Batch, drawn: &mut u64) -> LawResult<Batch> {
    while batch.to_move.get(0) == Some(to_move::CHANCE) {
        let outcomes = h.outcomes(&batch, 0);
        let next = outcome(&outcomes, &h.spec.game, *drawn).and_then(|id| i32::try_from(id).ok());
        let mut actions = vec![-1; h.width()];
        actions[0] = next.ok_or_else(|| wrong("listed no outcome at a chance node", "one"))?;
        *drawn += 1;
        batch = h.step(link, &actions).await?;
    }
    Ok(batch)
}
