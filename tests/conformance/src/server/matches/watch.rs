//! Laws of watching.

use ludex_protocol::message::{ClientMessage, EventKind, ListMatches, Ping, ServerMessage, Spectate, Unspectate};
use ludex_protocol::{Encoding, ErrorCode};

use super::super::bench::LawContext;
use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::table::CheckedSeat;
use super::terms::join;

/// Reads a spectator's frames until a move of seat 0 and checks that their numbers continue `seq`.
async fn watch(link: &mut Link, seq: &mut u64) -> LawResult<Option<u32>> {
    loop {
        let heard = link.hear().await?;
        let (number, played) = match &heard.message {
            ServerMessage::MatchStart(start) => {
                same(&start.seat, &None, || "match_start.seat of a spectator".into())?;
                (start.seq, None)
            }
            ServerMessage::Event(event) => match &event.kind {
                EventKind::Move { seat: 0, action, .. } => (event.seq, Some(*action)),
                _ => (event.seq, None),
            },
            _ => return Err(heard.not("`match_start` or `event`")),
        };
        same(&number, seq, || format!("the number of {}", heard.raw["type"]))?;
        *seq += 1;
        if let Some(action) = played {
            return Ok(action);
        }
    }
}

pub(super) async fn spectators(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    let turn = table.due().await?;
    let mut link = b.link_in(Encoding::Json).await?.0;
    let list = ListMatches { game: Some(spec.game.clone()), ..ListMatches::default() };
    let listed = link.call(ClientMessage::ListMatches(list)).await?.matches()?;
    let there = listed.iter().any(|entry| entry.match_id == table.id && entry.seats.len() == 2);
    law_holds(there, || format!("listed {} matches without the check's match", listed.len()), "running matches")?;
    let spectate = Spectate { match_id: table.id.clone(), ..Spectate::default() };
    link.call(ClientMessage::Spectate(spectate)).await?.ok()?;
    let mut seq = 0;
    for turn in [turn] {
        let action = table.choose(&turn)?;
        let accepted = table.act(&table.answer(&turn, action)).await?.accepted()?;
        table.was_accepted(&turn, action, &accepted)?;
        same(&watch(&mut link, &mut seq).await?, &Some(action), || "the move that a spectator sees".into())?;
    }
    let next = table.due().await?;
    link.call(ClientMessage::Unspectate(Unspectate { match_id: table.id.clone() })).await?.ok()?;
    // Messages received before the reply were sent before it.
    while link.has_early() {
        link.hear().await?;
    }
    table.play_turn(&next).await?;
    table.due().await?;
    let id = link.ask(&ClientMessage::Ping(Ping {})).await?;
    let heard = link.hear().await?;
    law_holds(heard.re == Some(id), || format!("sent {} after `unspectate`", heard.raw), "nothing")?;
    let nowhere = Spectate { match_id: "m_conformance".into(), ..Spectate::default() };
    link.call(ClientMessage::Spectate(nowhere)).await?.error(ErrorCode::UnknownMatch).map(drop)
}
