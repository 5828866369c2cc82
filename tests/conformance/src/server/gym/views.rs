//! Laws of `view`: names of actions, texts, and the information of each seat.

use ludex_protocol::ErrorCode;
use ludex_protocol::Move;
use ludex_protocol::message::{Autoreset, ClientMessage, GymView, Observer, Open, StepEnvs, ViewEnv};
use ludex_protocol::spec::Spec;

use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::handle::{CheckedHandle, all_views, plain};
use super::steps::{SEED, plies};

/// Maximum number of names requested per position.
const NAMES: usize = 40;

pub(super) async fn names(link: &mut Link, spec: &Spec) -> LawResult {
    let h = CheckedHandle::open(link, Open { autoreset: Autoreset::SameStep, ..plain(spec, 1) }).await?;
    let twin = CheckedHandle::open(link, Open { autoreset: Autoreset::SameStep, ..plain(spec, 1) }).await?;
    let mut batch = h.reset(link, SEED).await?;
    twin.reset(link, SEED).await?;
    for ply in 0..plies(spec).min(12) {
        let Some(actions) = h.choose(&batch, SEED) else { break };
        let mut moves = vec![None; actions.len()];
        for (seat, legal) in h.acting(&batch, 0) {
            let column = if moves.len() == 1 { 0 } else { seat };
            let skip = (legal.len() / NAMES).max(1);
            let mut ids: Vec<i64> = legal.iter().step_by(skip).map(|&id| id.into()).collect();
            ids.push(actions[column].into());
            let ask = |names, parse| {
                let view = ViewEnv { env: h.env, seat: Some(seat as u32), names, parse, ..ViewEnv::default() };
                ClientMessage::View(view)
            };
            let names = link.call(ask(Some(ids.clone()), None)).await?.viewed()?.names.unwrap_or_default();
            same(&names.len(), &ids.len(), || "number of names".into())?;
            law_holds(
                names.iter().all(|name| !name.is_empty()),
                || format!("names {ids:?} {names:?}"),
                "names for all ids",
            )?;
            let parsed = link.call(ask(None, Some(names.clone()))).await?.viewed()?.parsed.unwrap_or_default();
            let back: Vec<Option<i64>> = parsed.into_iter().map(|id| id.map(i64::from)).collect();
            let wanted: Vec<Option<i64>> = ids.iter().copied().map(Some).collect();
            same(&back, &wanted, || format!("the ids of the names {names:?} at step {ply}"))?;
            let none = [-1, i64::from(spec.actions), i64::from(u32::MAX)];
            let none = link.call(ask(Some(none.into()), Some(vec!["\u{0} no move".into()]))).await?.viewed()?;
            same(&none.names.map(|names| names.len()), &Some(3), || "number of names of invalid ids".into())?;
            same(&none.parsed, &Some(vec![None]), || "the parsed id of a text that is not a move".into())?;
            moves[column] = Some(Move::Text(names.last().cloned().unwrap_or_default()));
        }
        // A step accepts the names of actions instead of ids.
        batch = h.step(link, &actions).await?;
        let step = StepEnvs { env: twin.env, moves: Some(moves), ..StepEnvs::default() };
        let heard = link.call(ClientMessage::Step(step)).await?;
        let other = twin.batch(heard, None)?;
        same(&twin.rows(&other), &h.rows(&batch), || {
            format!("a step by names, compared with a step by ids, at step {ply}")
        })?;
    }
    h.close(link).await?;
    twin.close(link).await
}

pub(super) async fn views(link: &mut Link, spec: &Spec) -> LawResult {
    let open = Open { observer: Observer::All, autoreset: Autoreset::SameStep, ..all_views(spec, 2) };
    let h = CheckedHandle::open(link, open).await?;
    let mut batch = h.reset(link, SEED).await?;
    let wanted: Vec<GymView> = h.open.views.iter().flatten().copied().filter(|v| *v != GymView::Returns).collect();
    for ply in 0..plies(spec).min(8) {
        for seat in 0..h.players() {
            let view =
                ViewEnv { env: h.env, i: 1, seat: Some(seat as u32), views: wanted.clone(), ..ViewEnv::default() };
            let seen = link.call(ClientMessage::View(view)).await?.viewed()?;
            let (row, at) =
                (h.row(&batch, 1), || format!("view of seat {seat} at step {ply}, compared with the batch"));
            same(&seen.structure.as_ref(), &row.structure.get(seat), at)?;
            same(&seen.text.as_ref(), &row.text.get(seat), at)?;
            for (tensors, of_batch) in [(&seen.tensor, &row.obs), (&seen.info, &row.info)] {
                for (tensor, rows) in tensors.iter().flat_map(|all| all.values()).zip(of_batch) {
                    let each = rows.len() / h.players();
                    same(&&tensor.b[..], &&rows[seat * each..(seat + 1) * each], at)?;
                }
            }
        }
        let Some(actions) = h.choose(&batch, SEED) else { break };
        batch = h.step(link, &actions).await?;
    }
    let beyond = ViewEnv { env: h.env, seat: Some(spec.players), ..ViewEnv::default() };
    link.call(ClientMessage::View(beyond)).await?.error_at(ErrorCode::BadField, "seat")?;
    let nowhere = ViewEnv { env: h.env, i: 2, ..ViewEnv::default() };
    link.call(ClientMessage::View(nowhere)).await?.expect_error(&[ErrorCode::BadField, ErrorCode::UnknownEnv])?;
    h.close(link).await
}
