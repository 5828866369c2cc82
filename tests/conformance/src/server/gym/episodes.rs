//! Laws of whole episodes: end, reset, rewards, and seats of built-in players.

use ludex_protocol::ErrorCode;
use ludex_protocol::message::{Autoreset, Batch, ChanceBy, Observer, OnIllegal, Open, Reset, Rotate, to_move};
use ludex_protocol::spec::{ChanceMode, Dynamics, Spec};
use serde_json::Value;

use super::super::link::Link;
use super::super::{LawFailure, LawResult, law_holds, same};
use super::handle::{CheckedHandle, all_views, plain};
use super::steps::{SEED, plies, speechless};

/// Maximum number of steps in an episode, so that some episodes are truncated.
const MOST: u32 = 12;

/// Result of one action, including the last action of an episode.
#[derive(Debug, PartialEq)]
struct Transition {
    reward: Vec<f32>,
    over: bool,
    returns: Vec<f64>,
    obs: Vec<u8>,
    structure: Vec<Value>,
    text: Vec<String>,
    length: Vec<u32>,
}

fn transition(batch: &Batch) -> Transition {
    let bytes = |tensors: &Option<ludex_protocol::Tensors>| {
        tensors.iter().flat_map(|all| all.values()).flat_map(|tensor| tensor.b.clone()).collect()
    };
    let (reward, over) = (batch.reward.to_vec(), CheckedHandle::ended(batch, 0));
    match &batch.ended {
        None => Transition {
            reward,
            over,
            returns: batch.returns.iter().flat_map(|all| all.to_vec()).collect(),
            obs: bytes(&batch.obs),
            structure: batch.structure.clone().unwrap_or_default(),
            text: batch.text.clone().unwrap_or_default(),
            length: batch.length.to_vec(),
        },
        Some(ended) => Transition {
            reward,
            over,
            returns: ended.returns.to_vec(),
            obs: bytes(&ended.obs),
            structure: ended.structure.clone().unwrap_or_default(),
            text: ended.text.clone().unwrap_or_default(),
            length: ended.length.to_vec(),
        },
    }
}

/// Plays three episodes of one environment and returns all transitions.
async fn transitions(link: &mut Link, spec: &Spec, autoreset: Autoreset) -> LawResult<Vec<Transition>> {
    let h = CheckedHandle::open(link, Open { autoreset, max_steps: Some(MOST), ..all_views(spec, 1) }).await?;
    let mut batch = h.reset(link, SEED).await?;
    let (mut all, mut ended) = (Vec::new(), 0);
    while ended < 3 && all.len() < 6 * MOST as usize {
        let over = h.keeps_ends() && CheckedHandle::ended(&batch, 0);
        if over {
            let before = batch.episode.get(0);
            batch = match autoreset {
                Autoreset::Disabled => h.reset_with(link, Reset::default()).await?,
                _ => h.step(link, &vec![0; h.width()]).await?,
            };
            let begun = batch.reward.iter().all(|r| r == 0.0) && batch.length.get(0) == Some(0);
            law_holds(begun, || format!("started an episode with {:?}", transition(&batch)), "length 0 and reward 0")?;
            let next = before.map(|before| before + 1 + batch.skipped.as_ref().map_or(0, |s| s.at.len() as u32));
            same(&batch.episode.get(0), &next, || "number of the next episode".into())?;
            continue;
        }
        let Some(actions) = h.choose(&batch, SEED) else { break };
        batch = h.step(link, &actions).await?;
        ended += u32::from(CheckedHandle::ended(&batch, 0));
        all.push(transition(&batch));
    }
    h.close(link).await?;
    Ok(all)
}

pub(super) async fn modes(link: &mut Link, spec: &Spec) -> LawResult {
    let wanted = transitions(link, spec, Autoreset::SameStep).await?;
    for mode in [Autoreset::NextStep, Autoreset::Disabled] {
        let got = transitions(link, spec, mode).await?;
        for (at, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            same(got, wanted, || format!("transition {at} with {mode:?}, compared with SameStep"))?;
        }
        same(&got.len(), &wanted.len(), || format!("number of transitions with {mode:?}, compared with SameStep"))?;
    }
    Ok(())
}

pub(super) async fn rewards(link: &mut Link, spec: &Spec) -> LawResult {
    let players = spec.players as usize;
    let all = transitions(link, spec, Autoreset::SameStep).await?;
    let mut sum = vec![0.0; players];
    for t in all {
        sum.iter_mut().zip(&t.reward).for_each(|(sum, reward)| *sum += f64::from(*reward));
        let near = sum.iter().zip(&t.returns).all(|(a, b)| (a - b).abs() < 1e-3 * (1.0 + b.abs()));
        law_holds(near, || format!("rewards sum to {sum:?} when returns are {:?}", t.returns), "the same")?;
        if t.over {
            sum.fill(0.0);
        }
    }
    Ok(())
}

pub(super) async fn truncation(link: &mut Link, spec: &Spec) -> LawResult {
    let h = CheckedHandle::open(link, Open { max_steps: Some(1), ..plain(spec, 1) }).await?;
    let batch = h.reset(link, SEED).await?;
    let actions = h.choose(&batch, SEED).ok_or_else(speechless)?;
    let after = h.step(link, &actions).await?;
    let flags = (after.terminated.get(0), after.truncated.get(0));
    let one = flags == (Some(1), Some(0)) || flags == (Some(0), Some(1));
    law_holds(one, || format!("terminated and truncated are {flags:?} after the only step"), "one of them 1")?;
    same(&after.length.get(0), &Some(1), || "length after the only step".into())?;
    h.close(link).await
}

pub(super) async fn loses(link: &mut Link, spec: &Spec) -> LawResult {
    let open = Open { on_illegal: OnIllegal::Lose, autoreset: Autoreset::Disabled, ..all_views(spec, 2) };
    let h = CheckedHandle::open(link, open).await?;
    let batch = h.reset(link, SEED).await?;
    let mut actions = h.choose(&batch, SEED).ok_or_else(speechless)?;
    let Some((seat, _)) = h.acting(&batch, 1).into_iter().next() else { return h.close(link).await };
    let column = h.width() + if h.width() == 1 { 0 } else { seat };
    actions[column] = i32::MAX;
    let after = h.step(link, &actions).await?;
    let at = after.illegal.as_ref().map(|at| at.to_vec());
    same(&at, &Some(vec![1]), || "batch.illegal".into())?;
    law_holds(CheckedHandle::ended(&after, 1), || "continued after an illegal action".into(), "the episode's end")?;
    let returns = h.row(&after, 1).returns;
    same(&returns.get(seat), &Some(&spec.min_return), || format!("returns of the offender, seat {seat}"))?;
    h.close(link).await
}

pub(super) async fn chance(link: &mut Link, spec: &Spec) -> LawResult {
    let h =
        CheckedHandle::open(link, Open { chance: ChanceBy::Client, max_steps: Some(MOST), ..plain(spec, 2) }).await?;
    let mut batch = h.reset(link, SEED).await?;
    let mut nodes = 0;
    // Chance outcomes are steps of this client but not of the episode.
    for _ in 0..plies(spec) {
        let Some(actions) = h.choose(&batch, SEED) else { break };
        for row in 0..2 {
            let outcomes = h.outcomes(&batch, row);
            if outcomes.is_empty() {
                continue;
            }
            nodes += 1;
            let mut bad = vec![-1; actions.len()];
            bad[row * h.width()] = i32::try_from(spec.max_chance).unwrap_or(i32::MAX);
            h.try_step(link, &bad).await?.error_at(ErrorCode::IllegalAction, "actions")?;
        }
        let before = batch;
        batch = h.step(link, &actions).await?;
        for row in (0..2).filter(|&row| before.to_move.get(row) == Some(to_move::CHANCE)) {
            let ended = CheckedHandle::ended(&batch, row);
            law_holds(
                ended || batch.length.get(row) == before.length.get(row),
                || "counted a chance outcome as a step".into(),
                "an unchanged length after chance outcomes",
            )?;
        }
    }
    let deterministic = spec.chance == ChanceMode::Deterministic;
    law_holds(!deterministic || nodes == 0, || format!("{nodes} chance nodes in a game without chance"), "none")?;
    // Most games with listed chance outcomes draw one early. Without a draw, the law has not been checked.
    if spec.chance == ChanceMode::Explicit && spec.dynamics == Dynamics::Sequential && nodes == 0 {
        h.close(link).await?;
        return Err(LawFailure::Skip("no chance node occurred in the checked episodes".into()));
    }
    h.close(link).await
}

pub(super) async fn opponents(link: &mut Link, spec: &Spec) -> LawResult {
    let players = spec.players as usize;
    if players < 2 {
        return Err(LawFailure::Skip("the game has one player".into()));
    }
    let mut seats = vec!["random".to_owned(); players];
    seats[0] = "agent".into();
    let open = Open {
        seats: Some(seats),
        rotate: Rotate::Cycle,
        autoreset: Autoreset::NextStep,
        max_steps: Some(MOST),
        observer: Observer::Acting,
        ..all_views(spec, 1)
    };
    let h = CheckedHandle::open(link, open).await?;
    let mut batch = h.reset(link, SEED).await?;
    let mut sum = 0.0;
    for _ in 0..3 * plies(spec) {
        let seat = batch.seat.as_ref().and_then(|seats| seats.get(0));
        let episode = batch.episode.get(0).unwrap_or_default() as usize;
        // In episode e, seat k is played by entry (k + e) mod P, so the client has the seat k with k + e = 0 mod P.
        let due = (players - episode % players) % players;
        same(&seat, &Some(due as i8), || format!("batch.seat in episode {episode}"))?;
        let mover = batch.to_move.get(0);
        let ours = [seat, Some(to_move::SIMULTANEOUS), Some(to_move::OVER)].contains(&mover);
        law_holds(
            ours,
            || format!("replied when to_move is {mover:?} and the client's seat is {seat:?}"),
            "the client's turn or the end",
        )?;
        let over = CheckedHandle::ended(&batch, 0);
        if over {
            let returns = h.row(&batch, 0).returns;
            let own = returns.get(due).copied().unwrap_or_default();
            let near = (own - sum).abs() < 1e-3 * (1.0 + own.abs());
            law_holds(near, || format!("the client's rewards sum to {sum}, but its return is {own}"), "the same")?;
            sum = 0.0;
        }
        let Some(actions) = h.choose(&batch, SEED) else { break };
        batch = h.step(link, &actions).await?;
        if !over {
            sum += f64::from(h.row(&batch, 0).reward.get(due).copied().unwrap_or_default());
        }
    }
    h.close(link).await
}
