//! Shape of a batch: number of entries in each column, and allowed values.

use std::collections::BTreeMap;

use ludex_protocol::column::Element;
use ludex_protocol::message::{
    Autoreset, Batch, ChanceBy, ChanceRows, FinalRows, GymView, Mask, MaskForm, OnIllegal, Ragged, to_move,
};
use ludex_protocol::spec::{Dtype, TensorSpec};
use ludex_protocol::{Column, Tensor, Tensors};

use super::super::super::{LawResult, law_holds, same, wrong};
use super::CheckedHandle;

/// Checks all fields of a batch that answers a request about the environments `envs` of a handle. If `envs` is absent,
/// the request is about all environments.
pub(super) fn check(h: &CheckedHandle, envs: Option<&Column<u32>>, b: &Batch) -> LawResult {
    same(&b.env, &h.env, || "batch.env".into())?;
    // A reply to a request about all environments need not list them.
    let all = Column::from_iter(0..h.open.count);
    same(&b.envs.as_ref().unwrap_or(&all), &envs.unwrap_or(&all), || "batch.envs".into())?;
    let rows = envs.map_or(h.count(), Column::len);
    let (players, views) = (h.players(), rows * h.view_rows());
    length("to_move", &b.to_move, rows)?;
    length("terminated", &b.terminated, rows)?;
    length("truncated", &b.truncated, rows)?;
    length("length", &b.length, rows)?;
    length("episode", &b.episode, rows)?;
    length("reward", &b.reward, rows * players)?;
    requested_field("returns", b.returns.as_ref(), wants(h, GymView::Returns), |returns| {
        length("returns", returns, rows * players)
    })?;
    requested_field("seat", b.seat.as_ref(), h.own_seats() == 1, |seat| {
        length("seat", seat, rows)?;
        let seated = seat.iter().all(|seat| (0..players as i8).contains(&seat));
        law_holds(seated, || format!("batch.seat {seat:?}"), "seats of the game")
    })?;
    arrays("obs", &b.obs, &h.spec.views.tensor, wants(h, GymView::Tensor), views, h.view_rows())?;
    arrays("info", &b.info, &h.spec.views.info, wants(h, GymView::Info), views, h.view_rows())?;
    requested_field("struct", b.structure.as_ref(), wants(h, GymView::Struct), |all| {
        entries("struct", all.len(), views)
    })?;
    requested_field("text", b.text.as_ref(), wants(h, GymView::Text), |all| entries("text", all.len(), views))?;
    requested_field("prompt", b.prompt.as_ref(), wants(h, GymView::Prompt), |all| entries("prompt", all.len(), views))?;
    requested_field("mask", b.mask.as_ref(), h.mask_form() != MaskForm::None, |m| mask(h, m, views))?;
    requested_field("chance", b.chance.as_ref(), h.open.chance == ChanceBy::Client, |c| chance(h, c, b, rows))?;
    law_holds(
        b.illegal.is_none() || h.open.on_illegal == OnIllegal::Lose,
        || "sent `illegal` without `on_illegal`: lose".into(),
        "only with lose",
    )?;
    if let Some(skipped) = &b.skipped {
        length("skipped.returns", &skipped.returns, skipped.at.len() * players)?;
        positions("skipped.at", &skipped.at, rows, false)?;
    }
    if let Some(ended) = &b.ended {
        law_holds(h.open.autoreset == Autoreset::SameStep, || "sent `final`".into(), "`final` with same_step only")?;
        last_views(h, ended, rows)?;
    }
    (0..rows).try_for_each(|row| flags(h, b, row))
}

fn wants(h: &CheckedHandle, view: GymView) -> bool {
    match &h.open.views {
        Some(views) => views.contains(&view),
        None => view == GymView::Tensor && h.spec.views.tensor.is_some(),
    }
}

/// Checks that an optional field is present if and only if the client requested it.
fn requested_field<T>(name: &str, field: Option<&T>, wanted: bool, look: impl FnOnce(&T) -> LawResult) -> LawResult {
    match (field, wanted) {
        (Some(field), true) => look(field),
        (None, false) => Ok(()),
        (None, true) => Err(wrong(format!("a batch lacks `{name}`"), "the field, because it was requested")),
        (Some(_), false) => Err(wrong(format!("a batch has `{name}`"), "only requested fields")),
    }
}

fn entries(name: &str, got: usize, expected: usize) -> LawResult {
    law_holds(got == expected, || format!("batch.{name} has {got} entries"), &format!("{expected}"))
}

fn length<T: Element>(name: &str, column: &Column<T>, expected: usize) -> LawResult {
    entries(name, column.len(), expected)
}

/// Checks that positions in a reply are ascending, and unique if `once` is true.
fn positions(name: &str, at: &Column<u32>, rows: usize, once: bool) -> LawResult {
    let list = at.to_vec();
    let rises = list.windows(2).all(|w| w[0] < w[1] || !once && w[0] == w[1]);
    law_holds(rises && list.iter().all(|&at| (at as usize) < rows), || format!("{name} is {list:?}"), "ascending rows")
}

fn flags(h: &CheckedHandle, b: &Batch, row: usize) -> LawResult {
    let (mover, terminated, truncated) = (b.to_move.get(row), b.terminated.get(row), b.truncated.get(row));
    let known = mover.is_some_and(|m| {
        (0..h.players() as i8).contains(&m) || [to_move::CHANCE, to_move::SIMULTANEOUS, to_move::OVER].contains(&m)
    });
    law_holds(known, || format!("batch.to_move has {mover:?}"), "a seat, -1, -2 or -4")?;
    let apart = matches!((terminated, truncated), (Some(0 | 1), Some(0 | 1)));
    law_holds(apart, || format!("terminated is {terminated:?}, truncated is {truncated:?}"), "0 or 1")?;
    let over = mover == Some(to_move::OVER);
    let same_step = h.open.autoreset == Autoreset::SameStep;
    law_holds(
        same_step || over == CheckedHandle::ended(b, row),
        || format!("to_move is {mover:?}; episode has ended: {}", CheckedHandle::ended(b, row)),
        "-4 after the end of an episode, and only then",
    )?;
    if h.open.chance == ChanceBy::Server {
        law_holds(
            mover != Some(to_move::CHANCE),
            || "left the chance outcomes to the client".into(),
            "outcomes drawn by the server",
        )?;
    }
    if h.mask_form() == MaskForm::None {
        return Ok(());
    }
    let seats: Vec<usize> = h.acting(b, row).into_iter().map(|(seat, _)| seat).collect();
    for k in 0..h.view_rows() {
        let may = h.legal_in(b, row * h.view_rows() + k);
        let acts = if h.view_rows() == 1 { !seats.is_empty() } else { seats.contains(&k) };
        law_holds(acts || may.is_empty(), || format!("the mask of a seat that cannot act is {may:?}"), "an empty row")?;
        law_holds(
            !acts || !may.is_empty() || h.spec.document_schemas.is_some(),
            || "a mask row of an acting seat is empty".into(),
            "at least one legal action",
        )?;
    }
    law_holds(
        mover != Some(to_move::SIMULTANEOUS) || !seats.is_empty(),
        || "no seat acts in a joint turn".into(),
        "at least one acting seat",
    )
}

/// Checks the arrays of a view: `views` rows with the shapes, types and bounds of the spec.
fn arrays(
    name: &str,
    got: &Option<Tensors>,
    spec: &Option<BTreeMap<String, TensorSpec>>,
    wanted: bool,
    views: usize,
    seen: usize,
) -> LawResult {
    requested_field(name, got.as_ref(), wanted, |got| {
        let spec = spec.clone().unwrap_or_default();
        let (names, wanted): (Vec<_>, Vec<_>) = (got.keys().collect(), spec.keys().collect());
        same(&names, &wanted, || format!("arrays of batch.{name}"))?;
        got.iter().zip(spec.values()).try_for_each(|((name, got), spec)| array(name, got, spec, views, seen))
    })
}

fn array(name: &str, got: &Tensor, spec: &TensorSpec, views: usize, seen: usize) -> LawResult {
    same(&got.d, &spec.d, || format!("type of the array {name}"))?;
    // With one row per seat, environments and seats may be one axis or two.
    let flat: Vec<u32> = [&[views as u32], &spec.s[..]].concat();
    let apart: Vec<u32> = [&[(views / seen.max(1)) as u32, seen as u32], &spec.s[..]].concat();
    let fits = got.s == flat || seen > 1 && got.s == apart;
    law_holds(fits, || format!("shape of the array {name}: {:?}", got.s), &format!("{flat:?}"))?;
    law_holds(got.is_whole(), || format!("the array {name} has {} bytes", got.b.len()), "the bytes of its shape")?;
    let inside = |value: f64| (spec.low..=spec.high).contains(&value);
    let all = match got.d {
        Dtype::U1 => all_inside(got.to_vec::<u8>(), inside),
        Dtype::I1 => all_inside(got.to_vec::<i8>(), inside),
        Dtype::I2 => all_inside(got.to_vec::<i16>(), inside),
        Dtype::I4 => all_inside(got.to_vec::<i32>(), inside),
        Dtype::F4 => all_inside(got.to_vec::<f32>(), inside),
    };
    law_holds(all, || format!("the array {name} exceeds its bounds"), &format!("{}..{}", spec.low, spec.high))
}

fn all_inside<T: Element>(values: Option<Vec<T>>, inside: impl Fn(f64) -> bool) -> bool {
    values.into_iter().flatten().all(|value| inside(value.as_f64()))
}

fn mask(h: &CheckedHandle, mask: &Mask, views: usize) -> LawResult {
    let actions = h.spec.actions as usize;
    match (mask, h.mask_form()) {
        (Mask::Dense(bytes), MaskForm::U1) => {
            length("mask", bytes, views * actions)?;
            law_holds(bytes.iter().all(|byte| byte <= 1), || "a mask has a byte above 1".into(), "0 or 1")
        }
        (Mask::Dense(bits), MaskForm::Bits) => {
            let row = actions.div_ceil(8);
            length("mask", bits, views * row)?;
            let rest =
                |row: &[u8]| !actions.is_multiple_of(8) && row.last().is_some_and(|last| last >> (actions % 8) != 0);
            let clean = !bits.as_bytes().chunks_exact(row.max(1)).any(rest);
            law_holds(clean, || "a mask has bits beyond the last action".into(), "zeros beyond the last action")
        }
        (Mask::Ids(rows), MaskForm::Ids) => ragged("mask", rows, views, h.spec.actions),
        (mask, form) => {
            Err(wrong(format!("batch.mask is {}", super::super::super::short(mask)), format!("the form {form:?}")))
        }
    }
}

/// Checks lists of ids below `most` that ascend within each row.
fn ragged(name: &str, lists: &Ragged, rows: usize, most: u32) -> LawResult {
    length(&format!("{name}.o"), &lists.o, rows + 1)?;
    let offsets = lists.o.to_vec();
    let ends = offsets.first() == Some(&0) && offsets.last().map(|&last| last as usize) == Some(lists.a.len());
    let rises = offsets.windows(2).all(|w| w[0] <= w[1]);
    law_holds(ends && rises, || format!("{name}.o is {offsets:?}"), &format!("offsets from 0 to {}", lists.a.len()))?;
    for row in 0..rows {
        let ids = lists.row(row);
        let good = ids.windows(2).all(|w| w[0] < w[1]) && ids.iter().all(|&id| id < most);
        law_holds(good, || format!("row {row} of {name} is {ids:?}"), &format!("ascending ids below {most}"))?;
    }
    Ok(())
}

/// Checks that chance nodes, and no other rows, have outcomes, with probabilities that sum to 1.
fn chance(h: &CheckedHandle, chance: &ChanceRows, b: &Batch, rows: usize) -> LawResult {
    length("chance.o", &chance.o, rows + 1)?;
    length("chance.p", &chance.p, chance.a.len())?;
    for row in 0..rows {
        let outcomes = h.outcomes(b, row);
        let moves = b.to_move.get(row) == Some(to_move::CHANCE);
        law_holds(
            outcomes.is_empty() != moves,
            || format!("{} outcomes where to_move is {:?}", outcomes.len(), b.to_move.get(row)),
            "outcomes exactly where to_move is chance",
        )?;
        let ids: std::collections::BTreeSet<u32> = outcomes.iter().map(|outcome| outcome.0).collect();
        let known = ids.len() == outcomes.len() && ids.iter().all(|&id| id < h.spec.max_chance);
        law_holds(known, || format!("outcomes {outcomes:?}"), "unique outcomes below spec.max_chance")?;
        let sum: f64 = outcomes.iter().map(|outcome| outcome.1).sum();
        law_holds(!moves || (sum - 1.0).abs() < 1e-9, || format!("probabilities sum to {sum:.6}"), "1")?;
        law_holds(outcomes.iter().all(|o| o.1 >= 0.0), || format!("outcomes {outcomes:?}"), "no negative probability")?;
    }
    Ok(())
}

/// Checks the final views of the rows whose episode ended in this batch and was replaced by a new episode.
fn last_views(h: &CheckedHandle, ended: &FinalRows, rows: usize) -> LawResult {
    let (n, seen) = (ended.at.len(), h.view_rows());
    positions("final.at", &ended.at, rows, true)?;
    length("final.returns", &ended.returns, n * h.players())?;
    length("final.length", &ended.length, n)?;
    requested_field("final.seat", ended.seat.as_ref(), h.own_seats() == 1, |seat| length("final.seat", seat, n))?;
    arrays("final.obs", &ended.obs, &h.spec.views.tensor, wants(h, GymView::Tensor), n * seen, seen)?;
    arrays("final.info", &ended.info, &h.spec.views.info, wants(h, GymView::Info), n * seen, seen)?;
    requested_field("final.struct", ended.structure.as_ref(), wants(h, GymView::Struct), |all| {
        entries("final.struct", all.len(), n * seen)
    })?;
    requested_field("final.text", ended.text.as_ref(), wants(h, GymView::Text), |all| {
        entries("final.text", all.len(), n * seen)
    })
}
