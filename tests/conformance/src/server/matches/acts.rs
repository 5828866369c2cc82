//! Laws of acts: each (match, turn, try) accepts one move, and illegal moves use up tries.

use ludex_protocol::ErrorCode;
use ludex_protocol::message::{Act, ActRefused, ClientMessage, MatchEnd, Resign};
use ludex_protocol::record::{EndReason, IllegalPolicy, Outcome};
use ludex_protocol::spec::Utility;
use serde_json::json;

use super::super::bench::LawContext;
use super::super::{LawResult, law_holds, same, wrong};
use super::table::CheckedSeat;
use super::terms::join;

/// Creates an act that is never legal: its action id exceeds the last action.
fn illegal(table: &CheckedSeat, turn: u32, attempt: u32) -> Act {
    let action = Some(i64::from(table.spec.actions));
    Act { match_id: table.id.clone(), turn, attempt, action, ..Act::default() }
}

/// Sends an illegal act and returns the refusal.
async fn refusal_of(table: &mut CheckedSeat, act: &Act) -> LawResult<Box<ActRefused>> {
    let refused = table.act(act).await?.refusal()?;
    let due = (&act.match_id, table.seat(), act.turn, act.attempt + 1);
    same(&(&refused.match_id, refused.seat, refused.turn, refused.attempt), &due, || {
        "match, seat, turn and try of `refused`".into()
    })?;
    let left = table.start.illegal.tries.saturating_sub(act.attempt + 1);
    same(&refused.tries_left, &left, || "refused.tries_left".into())?;
    law_holds(!refused.message.is_empty(), || "refused without a message".into(), "`message`")?;
    if let (Some(legal), Some(turn)) = (&refused.legal, &table.turn) {
        same(legal, &turn.legal, || "refused.legal, compared with turn.legal".into())?;
    }
    Ok(refused)
}

pub(super) async fn acts(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    let turn = table.due().await?;
    let (legal, names) = (turn.legal.iter().collect::<Vec<_>>(), turn.names.clone().unwrap_or_default());
    let [first, second, ..] = legal[..] else {
        return Err(wrong("the first turn has only one legal action", "at least two legal actions"));
    };
    let match_id = table.id.clone();
    let at = |turn, attempt, action: u32| Act {
        match_id: match_id.clone(),
        turn,
        attempt,
        action: Some(action.into()),
        ..Act::default()
    };
    let (ahead, later) = (at(1, 0, first), at(0, 1, first));
    // A message that is not a valid act uses no try.
    let none = Act { action: None, ..at(0, 0, first) };
    let both = Act { text: Some(names[0].clone()), ..at(0, 0, first) };
    for act in [none, both] {
        table.act(&act).await?.error(ErrorCode::BadField)?;
    }
    for act in [&ahead, &later] {
        table.act(act).await?.error(ErrorCode::NotYourTurn)?;
    }
    let nowhere = Act { match_id: "m_conformance".into(), ..at(0, 0, first) };
    table.act(&nowhere).await?.error(ErrorCode::UnknownMatch)?;
    // The client has no other seat of the match.
    let seatless = Act { seat: Some(1), ..at(0, 0, first) };
    table.act(&seatless).await?.error(ErrorCode::NotYourSeat)?;
    // An illegal act uses exactly one try, even if repeated.
    let bad = illegal(&table, 0, 0);
    let told = refusal_of(&mut table, &bad).await?;
    same(&refusal_of(&mut table, &bad).await?, &told, || "the reply to a repeated illegal act".into())?;
    table.act(&at(0, 0, first)).await?.error(ErrorCode::Conflict)?;
    let words = Act { action: None, text: Some("no move at all".into()), ..at(0, 1, first) };
    refusal_of(&mut table, &words).await?;
    // The act is accepted by the name of its action, then repeated by id.
    let named = Act { action: None, text: Some(names[0].clone()), ..at(0, 2, first) };
    let accepted = table.act(&named).await?.accepted()?;
    table.was_accepted(&turn, first, &accepted)?;
    for again in [&named, &at(0, 2, first)] {
        same(&table.act(again).await?.accepted()?, &accepted, || "the reply to a repeated act".into())?;
    }
    // The opponent may have moved meanwhile.
    let other = at(0, 2, second);
    table.act(&other).await?.expect_error(&[ErrorCode::Conflict, ErrorCode::StaleTurn])?;
    let next = table.due().await?;
    same(&table.act(&named).await?.accepted()?, &accepted, || "the reply to a repeated act of an older turn".into())?;
    same(&*table.act(&bad).await?.refusal()?, &*told, || {
        "the reply to a repeated illegal act of an older turn".into()
    })?;
    for act in [&other, &at(0, 7, first)] {
        table.act(act).await?.error(ErrorCode::StaleTurn)?;
    }
    // None of these acts used a try or made a move.
    table.play_turn(&next).await?;
    let own = table.play().await.map(|_| table.moves.iter().filter(|(seat, _)| *seat == 0).count())?;
    same(&own, &(table.turns as usize), || "number of own `move` events, compared with own turns".into())?;
    let over = [ErrorCode::MatchOver, ErrorCode::NotYourTurn, ErrorCode::UnknownMatch];
    table.act(&at(99, 0, first)).await?.expect_error(&over).map(drop)
}

/// Checks that seat 0 forfeited: it has the minimum return, and, in constant-sum games for two players, the opponent
/// has the maximum return.
fn forfeited(table: &CheckedSeat, end: &MatchEnd, reason: EndReason) -> LawResult {
    let spec = &table.spec;
    same(&(end.reason, end.at_fault), &(reason, Some(0)), || "reason and at_fault of match_end".into())?;
    same(&end.returns.first(), &Some(&spec.min_return), || "return of the client's seat".into())?;
    if matches!(spec.utility, Utility::ZeroSum | Utility::ConstantSum) {
        same(&end.returns.get(1), &Some(&spec.max_return), || "return of the opponent's seat".into())?;
    }
    same(&end.outcome, &vec![Outcome::Loss, Outcome::Win], || "match_end.outcome".into())
}

pub(super) async fn tries(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    table.due().await?;
    let tries = table.start.illegal.tries;
    for attempt in 0..tries {
        let act = illegal(&table, 0, attempt);
        let told = refusal_of(&mut table, &act).await?;
        let then = (attempt + 1 == tries).then_some(IllegalPolicy::Forfeit);
        same(&told.applied_policy, &then, || format!("refused.applied_policy of try {attempt}"))?;
    }
    let end = table.ending().await?;
    forfeited(&table, &end, EndReason::Illegal)
}

pub(super) async fn resigns(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    let turn = table.due().await?;
    table.play_turn(&turn).await?;
    let resign = ClientMessage::Resign(Resign { match_id: table.id.clone(), seat: None });
    let id = table.link.ask(&resign).await?;
    table.reply(id).await?.ok()?;
    let end = table.ending().await?;
    forfeited(&table, &end, EndReason::Resign)?;
    let seatless = json!({"type": "resign", "match": table.id, "seat": 1});
    table.link.demand(seatless).await?.error(ErrorCode::NotYourSeat)?;
    let nowhere = json!({"type": "resign", "match": "m_conformance"});
    table.link.demand(nowhere).await?.error(ErrorCode::UnknownMatch).map(drop)
}
