//! Laws of single steps: shapes, masks, refusals, seeds.

use ludex_protocol::Move;
use ludex_protocol::message::{Autoreset, Batch, ClientMessage, MaskForm, Observer, Open, Reset, Seed, StepEnvs};
use ludex_protocol::spec::Spec;
use ludex_protocol::{Column, ErrorCode};

use super::super::link::Link;
use super::super::{LawFailure, LawResult, law_holds, same};
use super::handle::{CheckedHandle, all_views, plain};

/// Seed of most episodes.
pub(super) const SEED: u64 = 20_261_121;

/// Returns the number of steps that a law checks; lower in games with slow steps.
pub(super) fn plies(spec: &Spec) -> usize {
    if spec.actions <= 5_000 { 24 } else { 8 }
}

/// Returns the reason for skipping a law in a game whose legal moves are all documents, which random play cannot
/// choose.
pub(super) fn speechless() -> LawFailure {
    LawFailure::Skip("only documents are legal in this game".into())
}

/// Checks that batches have all requested columns, in their shapes, and no other columns. (Every law also checks this
/// for each batch that it receives.)
pub(super) async fn shapes(link: &mut Link, spec: &Spec) -> LawResult {
    for observer in [Observer::Acting, Observer::All] {
        for autoreset in [Autoreset::NextStep, Autoreset::SameStep] {
            let open = Open { observer, autoreset, max_steps: Some(10), ..all_views(spec, 3) };
            let h = CheckedHandle::open(link, open).await?;
            same(&h.spec, spec, || "opened.spec, compared with `describe`".into())?;
            let mut batch = h.reset(link, SEED).await?;
            let first = (batch.episode.to_vec(), batch.length.to_vec());
            same(&first, &(vec![0; 3], vec![0; 3]), || "episode and length after a reset with a seed".into())?;
            for _ in 0..plies(spec) {
                let Some(actions) = h.choose(&batch, SEED) else { break };
                batch = h.step(link, &actions).await?;
            }
            let some = Some(Column::from([2, 0]));
            let batch = h.reset_with(link, Reset { envs: some, seed: Some(Seed(4)), ..Reset::default() }).await?;
            same(&batch.length.to_vec(), &vec![0, 0], || "length of the two environments that were reset".into())?;
            let defaults = Open { observer, ..Open::new(&spec.string) };
            let by_default = CheckedHandle::open(link, defaults).await?;
            by_default.reset(link, SEED).await?;
            by_default.close(link).await?;
            h.close(link).await?;
        }
    }
    Ok(())
}

pub(super) async fn masks(link: &mut Link, spec: &Spec) -> LawResult {
    let forms = [MaskForm::Ids, MaskForm::Bits, MaskForm::U1];
    let mut handles = Vec::new();
    let mut batches = Vec::new();
    for mask in forms {
        let h = CheckedHandle::open(link, Open { mask: Some(mask), autoreset: Autoreset::SameStep, ..plain(spec, 2) })
            .await?;
        batches.push(h.reset(link, SEED).await?);
        handles.push(h);
    }
    for ply in 0..plies(spec) {
        for (h, batch) in handles.iter().zip(&batches).skip(1) {
            for v in 0..2 * h.view_rows() {
                let (got, ids) = (h.legal_in(batch, v), handles[0].legal_in(&batches[0], v));
                same(&got, &ids, || format!("the mask {:?} of view {v} at step {ply}", h.mask_form()))?;
            }
        }
        let Some(actions) = handles[0].choose(&batches[0], SEED) else { break };
        for (h, batch) in handles.iter().zip(&mut batches) {
            *batch = h.step(link, &actions).await?;
        }
    }
    for h in handles {
        h.close(link).await?;
    }
    Ok(())
}

/// Returns action lists in which the last row's actions are illegal, each with the kind of the fault. Empty if every
/// action is legal in the last row.
fn spoiled(h: &CheckedHandle, batch: &Batch, actions: &[i32]) -> Vec<(Vec<i32>, &'static str)> {
    let (row, width) = (h.count() - 1, h.width());
    let acting = h.acting(batch, row);
    let Some((seat, legal)) = acting.first() else { return Vec::new() };
    let column = row * width + if width == 1 { 0 } else { *seat };
    let with = |action: i32| {
        let mut bad = actions.to_vec();
        bad[column] = action;
        bad
    };
    let mut all = vec![
        (with(i32::try_from(h.spec.actions).unwrap_or(i32::MAX)), "an id beyond the last action"),
        (with(-2), "-2"),
        (with(i32::MAX), "2^31 - 1"),
    ];
    let unlisted = (0..h.spec.actions).find(|id| !legal.contains(id)).and_then(|id| i32::try_from(id).ok());
    all.extend(unlisted.map(|id| (with(id), "an action that the mask does not list")));
    if acting.len() > 1 {
        all.push((with(-1), "-1 for one of several acting seats"));
    }
    all
}

pub(super) async fn illegal(link: &mut Link, spec: &Spec) -> LawResult {
    let h = CheckedHandle::open(link, all_views(spec, 2)).await?;
    let mut batch = h.reset(link, SEED).await?;
    for ply in 0..plies(spec) {
        let Some(actions) = h.choose(&batch, SEED) else { break };
        let before: Vec<_> = h.rows(&batch).into_iter().map(|row| row.state()).collect();
        for (bad, what) in spoiled(&h, &batch, &actions) {
            let error = h.try_step(link, &bad).await?.error_at(ErrorCode::IllegalAction, "actions")?;
            let row = error.index.map(|at| at as usize / h.width().max(1));
            let of_row = row == Some(1) || error.index == Some(1);
            law_holds(of_row, || format!("`index` of {what} is {:?}", error.index), "the index of the invalid entry")?;
        }
        let after = h.look(link).await?;
        law_holds(after.reward.iter().all(|r| r == 0.0), || "sent a nonzero reward for no move".into(), "0")?;
        let after: Vec<_> = h.rows(&after).into_iter().map(|row| row.state()).collect();
        same(&after, &before, || format!("the state after refused actions at step {ply}"))?;
        batch = h.step(link, &actions).await?;
    }
    h.close(link).await
}

pub(super) async fn wrong_calls(link: &mut Link, spec: &Spec) -> LawResult {
    let h = CheckedHandle::open(link, Open { autoreset: Autoreset::Disabled, max_steps: Some(1), ..plain(spec, 3) })
        .await?;
    let step = |envs: Option<Vec<u32>>, actions: Option<Vec<i32>>, moves: Option<Vec<Option<Move>>>| {
        let (envs, actions) = (envs.map(Column::from_iter), actions.map(Column::from_iter));
        ClientMessage::Step(StepEnvs { env: h.env, envs, actions, moves, answers: None })
    };
    let zeros = vec![0; 3 * h.width()];
    let never = [ErrorCode::EnvOver, ErrorCode::BadField, ErrorCode::UnknownEnv];
    link.call(step(None, Some(zeros.clone()), None)).await?.expect_error(&never)?;
    let batch = h.reset(link, SEED).await?;
    let actions = h.choose(&batch, SEED).ok_or_else(speechless)?;
    let mut long = actions.clone();
    long.push(-1);
    let two = || actions[..2 * h.width()].to_vec();
    // The protocol page does not specify the error code.
    let unknown = [ErrorCode::BadField, ErrorCode::BadShape, ErrorCode::UnknownEnv];
    for (request, codes) in [
        (step(None, Some(actions[1..].to_vec()), None), &unknown[1..2]),
        (step(None, Some(long), None), &unknown[1..2]),
        (step(Some(vec![0, 3]), Some(two()), None), &unknown[..]),
        (step(Some(vec![1, 1]), Some(two()), None), &unknown[..]),
        (step(None, None, None), &unknown[..1]),
        (step(None, Some(actions.clone()), Some(vec![None; zeros.len()])), &unknown[..1]),
        (
            ClientMessage::Reset(Reset { env: h.env, seeds: Some(vec![Seed(1)]), ..Reset::default() }),
            &[ErrorCode::BadShape, ErrorCode::BadField, ErrorCode::BadSeed][..],
        ),
    ] {
        link.call(request).await?.expect_error(codes)?;
    }
    let looked = h.look(link).await?;
    let still: Vec<_> = h.rows(&looked).into_iter().map(|row| row.state()).collect();
    let first: Vec<_> = h.rows(&batch).into_iter().map(|row| row.state()).collect();
    same(&still, &first, || "the state after refused calls".into())?;
    // One more step ends every episode; after that, only a reset starts an episode.
    let over = h.step(link, &actions).await?;
    if (0..3).all(|row| CheckedHandle::ended(&over, row)) {
        h.try_step(link, &zeros).await?.error(ErrorCode::EnvOver)?;
    }
    h.close(link).await
}

pub(super) async fn seeds(link: &mut Link, spec: &Spec) -> LawResult {
    // The seeds of the batch would exceed the maximum seed.
    let seed = u64::MAX - 1;
    let of = |count| Open { autoreset: Autoreset::SameStep, max_steps: Some(8), ..all_views(spec, count) };
    let many = CheckedHandle::open(link, of(3)).await?;
    let mut batch = many.reset(link, seed).await?;
    let mut singles = Vec::new();
    for row in 0..3 {
        let single = CheckedHandle::open(link, of(1)).await?;
        let first = single.reset(link, seed.wrapping_add(row)).await?;
        let wanted = many.row(&batch, row as usize);
        same(&single.row(&first, 0), &wanted, || {
            format!("a single environment, compared with row {row} after the reset")
        })?;
        singles.push(single);
    }
    for ply in 0..plies(spec) {
        let Some(actions) = many.choose(&batch, seed) else { break };
        batch = many.step(link, &actions).await?;
        for (row, single) in singles.iter().enumerate() {
            let own = single.step(link, &actions[row * many.width()..(row + 1) * many.width()]).await?;
            let what = || format!("a single environment, compared with row {row} at step {ply}");
            same(&single.row(&own, 0), &many.row(&batch, row), what)?;
        }
    }
    // Each environment has its own seed, and the environments are listed in a different order.
    let envs = Some(Column::from([2, 0]));
    let list = Some(vec![Seed(5), Seed(9)]);
    let by_list = many.reset_with(link, Reset { envs, seeds: list, ..Reset::default() }).await?;
    for (at, seed) in [5, 9].into_iter().enumerate() {
        let first = singles[0].reset(link, seed).await?;
        same(&singles[0].row(&first, 0), &many.row(&by_list, at), || format!("an environment reset with seed {seed}"))?;
    }
    // A reset without a seed continues the series of episodes.
    let next = singles[0].reset_with(link, Reset::default()).await?;
    same(&next.episode.to_vec(), &vec![1], || "episode after a reset without a seed".into())?;
    many.close(link).await?;
    for single in singles {
        single.close(link).await?;
    }
    Ok(())
}
