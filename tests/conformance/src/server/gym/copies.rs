//! Laws of copied environments: clones, snapshots, restores.

use ludex_protocol::message::{Autoreset, ClientMessage, CloneEnvs, Open, Restore, Seed, SnapshotEnvs, Snapshots};
use ludex_protocol::spec::Spec;
use ludex_protocol::{Bytes, Column, ErrorCode};

use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::handle::{CheckedHandle, Row, all_views};
use super::steps::{SEED, plies};

/// Number of steps before the copy is made.
const BEFORE: usize = 5;

fn open(spec: &Spec) -> Open {
    Open { autoreset: Autoreset::SameStep, max_steps: Some(12), ..all_views(spec, 3) }
}

/// Opens environments and plays to the middle of their episodes. Returns the handle and the current states.
async fn middle(link: &mut Link, spec: &Spec) -> LawResult<(CheckedHandle, Vec<Row>)> {
    let h = CheckedHandle::open(link, open(spec)).await?;
    let mut batch = h.reset(link, SEED).await?;
    for _ in 0..BEFORE {
        let Some(actions) = h.choose(&batch, SEED) else { break };
        batch = h.step(link, &actions).await?;
    }
    let rows = states(&h, link).await?;
    Ok((h, rows))
}

async fn states(h: &CheckedHandle, link: &mut Link) -> LawResult<Vec<Row>> {
    let batch = h.look(link).await?;
    Ok(h.rows(&batch).into_iter().map(Row::state).collect())
}

/// Plays the same actions in both handles, beyond the ends of episodes, and checks that their states stay equal.
async fn go_on_alike(link: &mut Link, a: &CheckedHandle, b: &CheckedHandle, what: &str) -> LawResult {
    let mut batch = a.look(link).await?;
    for ply in 0..plies(&a.spec) {
        let Some(actions) = a.choose(&batch, SEED) else { break };
        batch = a.step(link, &actions).await?;
        let other = b.step(link, &actions).await?;
        same(&b.rows(&other), &a.rows(&batch), || format!("{what}, {} steps later", ply + 1))?;
    }
    Ok(())
}

async fn copied(
    link: &mut Link,
    h: &CheckedHandle,
    envs: Option<Column<u32>>,
    seed: Option<u64>,
) -> LawResult<CheckedHandle> {
    let count = envs.as_ref().map_or(h.open.count, |envs| envs.len() as u32);
    let request = CloneEnvs { env: h.env, envs, seed: seed.map(Seed) };
    let opened = link.call(ClientMessage::Clone(request)).await?.opened()?;
    law_holds(opened.env != h.env, || format!("reused the handle {} for a clone", h.env), "a new handle")?;
    same(&opened.count, &count, || "number of environments in the clone".into())?;
    same(&opened.spec, &h.spec, || "spec of the clone".into())?;
    Ok(CheckedHandle { env: opened.env, open: Open { count, ..h.open.clone() }, spec: opened.spec })
}

pub(super) async fn clones(link: &mut Link, spec: &Spec) -> LawResult {
    let (h, rows) = middle(link, spec).await?;
    let twin = copied(link, &h, None, None).await?;
    same(&states(&twin, link).await?, &rows, || "the states of a clone".into())?;
    let some = copied(link, &h, Some(Column::from([2, 0])), None).await?;
    let picked = vec![rows[2].clone(), rows[0].clone()];
    same(&states(&some, link).await?, &picked, || "the states of a clone of two environments".into())?;
    let fresh = copied(link, &h, None, Some(SEED + 1)).await?;
    same(&states(&fresh, link).await?, &rows, || "the states of a clone with a different seed".into())?;
    go_on_alike(link, &h, &twin, "a clone").await?;
    // Steps of the clone must not change the original.
    let before = states(&h, link).await?;
    let batch = fresh.look(link).await?;
    if let Some(actions) = fresh.choose(&batch, 1) {
        fresh.step(link, &actions).await?;
    }
    same(&states(&h, link).await?, &before, || "the states after a step of a clone".into())?;
    for handle in [h, twin, some, fresh] {
        handle.close(link).await?;
    }
    Ok(())
}

async fn snapped(link: &mut Link, h: &CheckedHandle, envs: Option<Column<u32>>) -> LawResult<Snapshots> {
    link.call(ClientMessage::Snapshot(SnapshotEnvs { env: h.env, envs })).await?.snapshots()
}

pub(super) async fn snapshots(link: &mut Link, spec: &Spec) -> LawResult {
    let (h, rows) = middle(link, spec).await?;
    let taken = snapped(link, &h, None).await?;
    same(&taken.hash, &spec.hash, || "hash of the snapshots".into())?;
    same(&taken.items.len(), &3, || "number of snapshots".into())?;
    let last = snapped(link, &h, Some(Column::from([2]))).await?;
    same(&last.items, &taken.items[2..].to_vec(), || "the snapshot of the last environment alone".into())?;
    let other = CheckedHandle::open(link, open(spec)).await?;
    let restore = |env, envs, items| ClientMessage::Restore(Restore { env, envs, items });
    let heard = link.call(restore(other.env, None, taken.items.clone())).await?;
    let batch = other.batch(heard, None)?;
    let restored: Vec<Row> = other.rows(&batch).into_iter().map(Row::state).collect();
    same(&restored, &rows, || "the states restored in another handle".into())?;
    go_on_alike(link, &h, &other, "a restored handle").await?;
    // Restores earlier states in the same handle, in a different order.
    let envs = Some(Column::from([1, 0]));
    let heard = link.call(restore(h.env, envs.clone(), taken.items[..2].to_vec())).await?;
    let batch = h.batch(heard, envs.as_ref())?;
    let restored = [h.row(&batch, 0).state(), h.row(&batch, 1).state()];
    same(&restored, &[rows[0].clone(), rows[1].clone()], || "two states restored in swapped order".into())?;
    h.close(link).await?;
    other.close(link).await
}

pub(super) async fn forged(link: &mut Link, spec: &Spec) -> LawResult {
    let (h, rows) = middle(link, spec).await?;
    let items = snapped(link, &h, None).await?.items;
    let with = |bent: Vec<u8>| vec![items[0].clone(), items[1].clone(), Bytes(bent)];
    let whole = &items[2];
    let bent =
        [vec![], vec![0xc1], b"\x81\xa1v\x01".to_vec(), whole[..whole.len() / 2].to_vec(), b"not a snapshot".to_vec()];
    for bent in bent {
        let restore = Restore { env: h.env, envs: None, items: with(bent) };
        let error = link.call(ClientMessage::Restore(restore)).await?.error(ErrorCode::BadSnapshot)?;
        law_holds(
            matches!(error.index, None | Some(2)),
            || format!("`index` is {:?}", error.index),
            "2 (the forged item)",
        )?;
        same(&states(&h, link).await?, &rows, || "the states after a forged snapshot".into())?;
    }
    // The request has fewer snapshots than environments.
    let few = Restore { env: h.env, envs: None, items: items[..2].to_vec() };
    let codes = [ErrorCode::BadShape, ErrorCode::BadField, ErrorCode::BadSnapshot];
    link.call(ClientMessage::Restore(few)).await?.expect_error(&codes)?;
    h.close(link).await
}
