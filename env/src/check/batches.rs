//! Laws of batches: every batch must agree with single environments.

use ludex_protocol::message::{Batch, Mask, Ragged};
use ludex_protocol::{ErrorCode, Tensors};
use serde_json::Value;

use super::fingerprint::Print;
use super::{Fault, law, same};
use crate::batch::{
    Actions, Autoreset, BatchConfig, DynBatch, GymView, Layout, MaskForm, Observer, ResetSeeds, Snapshot,
};
use crate::draw::Stream;
use crate::dyn_game::DynGame;
use crate::game::{Action, Seat, ToMove, Viewer};

/// Number of rows of the compared batches.
const ROWS: usize = 3;
/// Number of steps of each comparison.
const STEPS: usize = 24;

pub(super) fn laws(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    rows_agree(game, seed)?;
    columns_tell_the_state(game, seed)?;
    modes_agree(game, seed)?;
    forms_agree(game, seed)?;
    copies_agree(game, seed)?;
    refusals_move_nothing(game, seed)
}

fn config(game: &dyn DynGame, count: usize, autoreset: Autoreset) -> BatchConfig {
    let has = &game.spec().views;
    let mut views = vec![GymView::Struct, GymView::Text, GymView::Returns];
    views.extend(has.tensor.as_ref().map(|_| GymView::Tensor));
    views.extend(has.info.as_ref().map(|_| GymView::Info));
    BatchConfig { count, autoreset, views: Some(views), mask: Some(MaskForm::U1), ..BatchConfig::default() }
}

fn open(game: &dyn DynGame, config: BatchConfig) -> Result<Box<dyn DynBatch>, Fault> {
    game.batch(config).map_err(|e| format!("the game refused to open a batch: {e}"))
}

/// Returns a random row of actions for environment `i`, determined by seed, episode and ply; `None` if a seat can only
/// play documents.
fn choose(batch: &dyn DynBatch, i: usize, seed: u64, episode: u32, ply: u32) -> Option<Vec<i32>> {
    let mut row = vec![-1; batch.width()];
    let s = batch.state(i)?;
    let mut rng = Stream::from_text(&format!("ludex.v1:check:{seed}:{episode}:{ply}"));
    for seat in s.turn().seats().iter() {
        let legal = s.legal_list(seat);
        let column = if row.len() == 1 { 0 } else { seat };
        row[column] = *legal.get(rng.below(legal.len()))? as i32;
    }
    Some(row)
}

/// Returns actions for all rows. Finished rows get zeros; with next-step autoreset, any id starts a new episode.
fn actions(batch: &dyn DynBatch, seed: u64, shown: &Batch) -> Option<Vec<i32>> {
    let mut all = Vec::new();
    for i in 0..batch.count() {
        let over = shown.to_move.get(i)? == ToMove::Over.code();
        let row = choose(batch, i, seed.wrapping_add(i as u64), shown.episode.get(i)?, shown.length.get(i)?);
        all.extend(if over { vec![0; batch.width()] } else { row? });
    }
    Some(all)
}

/// Returns the bytes of the only array of a view.
fn bytes(tensors: &Option<Tensors>) -> &[u8] {
    tensors.iter().flat_map(|t| t.values()).next().map_or(&[], |t| &t.b)
}

/// Returns the bytes of the masks, in dense encodings.
fn dense(c: &Batch) -> &[u8] {
    match &c.mask {
        Some(Mask::Dense(mask)) => mask.as_bytes(),
        _ => &[],
    }
}

/// One row of a reply.
#[derive(Debug, PartialEq)]
struct Row {
    to_move: Option<i8>,
    obs: Vec<u8>,
    info: Vec<u8>,
    structure: Vec<Value>,
    text: Vec<String>,
    mask: Vec<u8>,
    reward: Vec<f32>,
    returns: Vec<f64>,
    over: [Option<u8>; 2],
    length: Option<u32>,
    episode: Option<u32>,
}

/// Returns the entries of row `at` in a column of `rows` rows.
fn part<T: Clone>(all: &[T], rows: usize, at: usize) -> Vec<T> {
    let n = all.len() / rows;
    all[at * n..(at + 1) * n].to_vec()
}

fn row(c: &Batch, at: usize) -> Row {
    let r = c.to_move.len();
    Row {
        to_move: c.to_move.get(at),
        obs: part(bytes(&c.obs), r, at),
        info: part(bytes(&c.info), r, at),
        structure: part(c.structure.as_deref().unwrap_or_default(), r, at),
        text: part(c.text.as_deref().unwrap_or_default(), r, at),
        mask: part(dense(c), r, at),
        reward: part(&c.reward.to_vec(), r, at),
        returns: part(&returns(c), r, at),
        over: [c.terminated.get(at), c.truncated.get(at)],
        length: c.length.get(at),
        episode: c.episode.get(at),
    }
}

fn returns(c: &Batch) -> Vec<f64> {
    c.returns.iter().flat_map(|returns| returns.iter()).collect()
}

fn step(batch: &mut dyn DynBatch, actions: &[i32], out: &mut Batch) -> Result<(), Fault> {
    batch.step(None, Actions::Ids(actions), out).map_err(|e| format!("legal actions {actions:?} were refused: {e}"))
}

fn reset(batch: &mut dyn DynBatch, seed: u64, out: &mut Batch) -> Result<(), Fault> {
    batch.reset(None, &ResetSeeds::Base(seed), out).map_err(|e| format!("the batch refused a reset: {e}"))
}

/// Checks that environment i of a batch with seed s equals the single environment with seed s + i.
fn rows_agree(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    for mode in [Autoreset::SameStep, Autoreset::NextStep] {
        let mut batch = open(game, config(game, ROWS, mode))?;
        let mut singles = Vec::new();
        for _ in 0..ROWS {
            singles.push(open(game, config(game, 1, mode))?);
        }
        let (mut many, mut one) = (Batch::default(), Batch::default());
        reset(&mut *batch, seed, &mut many)?;
        for (i, single) in singles.iter_mut().enumerate() {
            reset(&mut **single, seed.wrapping_add(i as u64), &mut one)?;
            same(&row(&one, 0), &row(&many, i), || format!("row {i} and single environment after a reset"))?;
        }
        for t in 0..STEPS {
            let Some(all) = actions(&*batch, seed, &many) else { return Ok(()) };
            step(&mut *batch, &all, &mut many)?;
            for (i, single) in singles.iter_mut().enumerate() {
                let own = all.chunks_exact(batch.width()).nth(i).unwrap_or_default();
                step(&mut **single, own, &mut one)?;
                same(&row(&one, 0), &row(&many, i), || format!("row {i} and single environment at step {t}"))?;
            }
        }
    }
    Ok(())
}

/// Checks that the columns of every row agree with the state of the row's environment.
fn columns_tell_the_state(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    let players = game.spec().players as usize;
    for observer in [Observer::Acting, Observer::All] {
        let mut batch = open(game, BatchConfig { observer, ..config(game, ROWS, Autoreset::SameStep) })?;
        let mut out = Batch::default();
        reset(&mut *batch, seed, &mut out)?;
        for t in 0..STEPS {
            for i in 0..ROWS {
                let Some(s) = batch.state(i) else { return Err(format!("row {i} has no state")) };
                let at = |what: &str| format!("{what} of row {i} at step {t}, {observer:?}");
                same(&out.to_move.get(i), &Some(s.turn().code()), || at("to_move"))?;
                same(&part(&returns(&out), ROWS, i), &s.returns(), || at("returns"))?;
                let seats: Vec<Seat> = match observer {
                    Observer::All => (0..players).collect(),
                    Observer::Acting => vec![s.turn().seats().iter().next().unwrap_or(0)],
                };
                for (k, &seat) in seats.iter().enumerate() {
                    let v = i * seats.len() + k;
                    let view = s.view(Viewer::Seat(seat));
                    let views = ROWS * seats.len();
                    let shown = (out.structure.iter().flatten().nth(v), out.text.iter().flatten().nth(v));
                    same(&shown, &(Some(&view.value()), Some(&view.text())), || at("struct and text"))?;
                    same(&part(dense(&out), views, v), &super::fingerprint::mask(&*s, seat), || at("mask"))?;
                    let tensor = super::fingerprint::tensor(&*s, Viewer::Seat(seat), 0);
                    same(&part(bytes(&out.obs), views, v), &tensor, || at("obs"))?;
                }
            }
            let Some(all) = actions(&*batch, seed, &out) else { return Ok(()) };
            step(&mut *batch, &all, &mut out)?;
        }
    }
    Ok(())
}

/// The effect of one action: rewards, flags and the next views, which may be final views.
#[derive(Debug, PartialEq)]
struct Transition {
    reward: Vec<f32>,
    over: [Option<u8>; 2],
    returns: Vec<f64>,
    obs: Vec<u8>,
    structure: Vec<Value>,
    length: Option<u32>,
}

fn transition(c: &Batch) -> Transition {
    let (returns, obs, structure, length) = match &c.ended {
        None => (returns(c), &c.obs, &c.structure, &c.length),
        Some(last) => (last.returns.to_vec(), &last.obs, &last.structure, &last.length),
    };
    Transition {
        reward: c.reward.to_vec(),
        over: [c.terminated.get(0), c.truncated.get(0)],
        returns,
        obs: bytes(obs).to_vec(),
        structure: structure.clone().unwrap_or_default(),
        length: length.get(0),
    }
}

/// Returns true if the episode of a batch's only row has ended.
fn is_over(c: &Batch) -> bool {
    c.terminated.get(0) == Some(1) || c.truncated.get(0) == Some(1)
}

/// Checks that the three autoreset modes give identical transitions, and that rewards sum to returns.
fn modes_agree(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    let run = |mode: Autoreset| -> Result<Vec<Transition>, Fault> {
        let mut batch = open(game, BatchConfig { max_steps: Some(40), ..config(game, 1, mode) })?;
        let mut out = Batch::default();
        reset(&mut *batch, seed, &mut out)?;
        let (mut all, mut ended) = (Vec::new(), 0);
        let mut sum = vec![0.0; game.spec().players as usize];
        while ended < 3 {
            let over = is_over(&out) && mode != Autoreset::SameStep;
            if over && mode == Autoreset::Disabled {
                batch.reset(None, &ResetSeeds::Continue, &mut out).map_err(|e| e.message)?;
                continue;
            }
            let Some(row) = actions(&*batch, seed, &out) else { return Ok(all) };
            step(&mut *batch, &row, &mut out)?;
            if over {
                let still = out.reward.iter().all(|r| r == 0.0) && out.length.get(0) == Some(0);
                law(still, || {
                    format!("next-step reset: expected no rewards and length 0, got {:?}", transition(&out))
                })?;
                continue;
            }
            let t = transition(&out);
            sum.iter_mut().zip(&t.reward).for_each(|(sum, r)| *sum += f64::from(*r));
            if is_over(&out) {
                ended += 1;
                let near = sum.iter().zip(&t.returns).all(|(a, b)| (a - b).abs() < 1e-3 * (1.0 + b.abs()));
                law(near, || format!("expected rewards that sum to {:?}, got {sum:?}", t.returns))?;
                sum.fill(0.0);
            }
            all.push(t);
        }
        Ok(all)
    };
    let wanted = run(Autoreset::SameStep)?;
    same(&run(Autoreset::NextStep)?, &wanted, || "next_step and same_step".into())?;
    same(&run(Autoreset::Disabled)?, &wanted, || "disabled and same_step".into())
}

/// Checks that all mask encodings agree, and that all array layouts agree.
fn forms_agree(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    let of = |mask| BatchConfig { mask: Some(mask), ..config(game, ROWS, Autoreset::SameStep) };
    let mut batches = Vec::new();
    for form in [MaskForm::U1, MaskForm::Bits, MaskForm::Ids] {
        batches.push((open(game, of(form))?, Batch::default()));
    }
    for (batch, out) in &mut batches {
        reset(&mut **batch, seed, out)?;
    }
    for t in 0..STEPS {
        for i in 0..ROWS {
            let bytes = part(dense(&batches[0].1), ROWS, i);
            let wanted: Vec<Action> = (0..).zip(&bytes).filter(|(_, b)| **b == 1).map(|(a, _)| a).collect();
            let bits = part(dense(&batches[1].1), ROWS, i);
            let set = |a: Action| bits[a as usize / 8] >> (a % 8) & 1 == 1;
            let got: Vec<Action> = (0..bytes.len() as u32).filter(|&a| set(a)).collect();
            same(&got, &wanted, || format!("bits of row {i} at step {t}"))?;
            let ids = batches[2].1.mask.as_ref().map(|mask| match mask {
                Mask::Ids(ids) => Ragged::row(ids, i),
                Mask::Dense(_) => Vec::new(),
            });
            same(&ids, &Some(wanted), || format!("ids of row {i} at step {t}"))?;
        }
        let Some(all) = actions(&*batches[0].0, seed, &batches[0].1) else { return Ok(()) };
        for (batch, out) in &mut batches {
            step(&mut **batch, &all, out)?;
        }
    }
    if game.spec().views.layouts.iter().any(|l| l == "openspiel") {
        let mut batch = open(game, BatchConfig { layout: Layout::OpenSpiel, ..of(MaskForm::None) })?;
        let mut out = Batch::default();
        reset(&mut *batch, seed, &mut out)?;
        let Some(s) = batch.state(0) else { return Err("row 0 has no state".into()) };
        let seat = s.turn().seats().iter().next().unwrap_or(0);
        let wanted: Vec<u8> = super::fingerprint::openspiel(&*s, seat).iter().flat_map(|v| v.to_le_bytes()).collect();
        same(&part(bytes(&out.obs), ROWS, 0), &wanted, || "layout openspiel in a batch".into())?;
    }
    Ok(())
}

/// Checks that a restored snapshot, a fork and the original continue identically, and that a snapshot survives
/// serialization.
fn copies_agree(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    let of = || config(game, ROWS, Autoreset::SameStep);
    let mut batch = open(game, of())?;
    let mut out = Batch::default();
    reset(&mut *batch, seed, &mut out)?;
    for _ in 0..STEPS / 2 {
        let Some(all) = actions(&*batch, seed, &out) else { return Ok(()) };
        step(&mut *batch, &all, &mut out)?;
    }
    let items = batch.snapshot(None, &[]).map_err(|e| e.message)?;
    let text = serde_json::to_string(&items).map_err(|e| e.to_string())?;
    let items: Vec<Snapshot> = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let mut restored = open(game, of())?;
    let mut other = Batch::default();
    restored
        .restore(None, &mut items.iter().cloned().map(Ok), &mut other)
        .map_err(|e| format!("the batch refused its own snapshot: {e}"))?;
    same(&restored.snapshot(None, &[]).map_err(|e| e.message)?, &items, || "snapshot of the restored batch".into())?;
    let mut fork = batch.fork(None, None).map_err(|e| e.message)?;
    let fresh = batch.fork(None, Some(seed ^ 1)).map_err(|e| e.message)?;
    for i in 0..ROWS {
        let (Some(a), Some(b)) = (batch.state(i), fresh.state(i)) else { return Err(format!("row {i} has no state")) };
        Print::of(&*b).same(&Print::of(&*a), "a fork under another seed")?;
    }
    for t in 0..STEPS / 2 {
        let Some(all) = actions(&*batch, seed, &out) else { return Ok(()) };
        step(&mut *batch, &all, &mut out)?;
        for (what, copy) in [("a restored batch", &mut restored), ("a fork", &mut fork)] {
            step(&mut **copy, &all, &mut other)?;
            for i in 0..ROWS {
                same(&row(&other, i), &row(&out, i), || format!("{what}, row {i} at step {t}"))?;
            }
        }
    }
    forged(&mut *restored, items)
}

/// Checks that forged snapshots are refused and that no environment changes.
fn forged(batch: &mut dyn DynBatch, items: Vec<Snapshot>) -> Result<(), Fault> {
    let before: Vec<Print> = (0..ROWS).filter_map(|i| batch.state(i)).map(|s| Print::of(&*s)).collect();
    let mut out = Batch::default();
    for k in 0..5 {
        let mut bent = items.clone();
        let last = &mut bent[ROWS - 1];
        match k {
            0 => last.hash = "00".into(),
            1 => last.v = 2,
            2 => last.h.push((7, Value::from(0))),
            3 => last.h.insert(0, (-1, Value::from(1u64 << 40))),
            _ => last.shift = Some(16),
        }
        let refused = batch.restore(None, &mut bent.iter().cloned().map(Ok), &mut out).err().map(|e| e.code);
        same(&refused, &Some(ErrorCode::BadSnapshot), || format!("forged snapshot {k}"))?;
    }
    let after: Vec<Print> = (0..ROWS).filter_map(|i| batch.state(i)).map(|s| Print::of(&*s)).collect();
    before.iter().zip(&after).try_for_each(|(a, b)| b.same(a, "after forged snapshots"))
}

/// Checks that one invalid entry makes the whole call fail with the entry's index, and that no environment changes.
fn refusals_move_nothing(game: &dyn DynGame, seed: u64) -> Result<(), Fault> {
    let mut batch = open(game, config(game, ROWS, Autoreset::SameStep))?;
    let mut out = Batch::default();
    let unready = batch.step(None, Actions::Ids(&vec![0; ROWS * batch.width()]), &mut out).err().map(|e| e.code);
    same(&unready, &Some(ErrorCode::EnvOver), || "a step before the first reset".into())?;
    reset(&mut *batch, seed, &mut out)?;
    let mut control = batch.fork(None, None).map_err(|e| e.message)?;
    let mut other = out.clone();
    for t in 0..STEPS / 2 {
        let Some(all) = actions(&*batch, seed, &out) else { return Ok(()) };
        let width = batch.width();
        for bad in [-2, game.spec().actions as i32, i32::MAX, i32::MIN] {
            let mut wrong = all.clone();
            for a in wrong[(ROWS - 1) * width..].iter_mut().filter(|a| **a != -1) {
                *a = bad;
            }
            let e = batch.step(None, Actions::Ids(&wrong), &mut other).err();
            let got = e.map(|e| (e.code, e.index));
            same(&got, &Some((ErrorCode::IllegalAction, Some(ROWS as u32 - 1))), || {
                format!("action {bad} at step {t}")
            })?;
        }
        let short = batch.step(None, Actions::Ids(&all[1..]), &mut other).err().map(|e| e.code);
        same(&short, &Some(ErrorCode::BadShape), || "too few actions".into())?;
        let twice = batch.step(Some(&[0, 0]), Actions::Ids(&all[..2 * width]), &mut other).err().map(|e| e.code);
        same(&twice, &Some(ErrorCode::BadField), || "duplicate environment index".into())?;
        step(&mut *batch, &all, &mut out)?;
        step(&mut *control, &all, &mut other)?;
        for i in 0..ROWS {
            same(&row(&out, i), &row(&other, i), || format!("row {i} after refused calls at step {t}"))?;
        }
    }
    Ok(())
}
