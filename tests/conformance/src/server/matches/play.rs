//! Laws of joins and of complete matches, from the first frame to the last.

use ludex_protocol::message::{ClientMessage, Join, Leave, Ping, ServerMessage};
use ludex_protocol::record::EndReason;
use ludex_protocol::spec::Dynamics;
use ludex_protocol::{Encoding, ErrorCode};

use super::super::bench::LawContext;
use super::super::{LawResult, law_holds, same};
use super::table::CheckedSeat;
use super::terms::{games, join};

pub(super) async fn to_the_end(b: &LawContext) -> LawResult {
    for spec in games(b).await? {
        for (encoding, seat) in [(Encoding::MsgPack, 0), (Encoding::Json, spec.players - 1)] {
            let (link, welcome) = b.link_in(encoding).await?;
            let played = async {
                let mut table = CheckedSeat::sit(link, welcome, spec, join(spec, seat)).await?;
                let end = table.play().await?;
                same(&end.reason, &EndReason::Finished, || "match_end.reason".into())?;
                let own = table.moves.iter().filter(|(mover, _)| *mover == seat).count();
                same(&own, &(table.turns as usize), || "number of own `move` events, compared with own turns".into())?;
                if spec.dynamics == Dynamics::Simultaneous && spec.players == 2 {
                    let seats: Vec<u32> = table.moves.iter().map(|(seat, _)| *seat).collect();
                    let pairs = seats.chunks(2).all(|pair| pair == [0, 1]);
                    law_holds(pairs, || format!("seats of the `move` events: {seats:?}"), "joint moves in seat order")?;
                }
                // No frame follows the end of the match.
                let id = table.link.ask(&ClientMessage::Ping(Ping {})).await?;
                table.reply(id).await?.pong().map(drop)
            };
            played.await.map_err(|stop| stop.of(&spec.string))?;
        }
    }
    Ok(())
}

/// Checks a join of two matches: match `j` is played in seat `j mod P`, where `P` is the number of seats, and no third
/// match follows.
pub(super) async fn count(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let (mut link, welcome) = b.link_in(Encoding::MsgPack).await?;
    let two = Join { seat: None, count: 2, ..join(spec, 0) };
    let joined = link.call(ClientMessage::Join(Box::new(two.clone()))).await?.joined()?;
    let mut seats = Vec::new();
    let mut ids = Vec::new();
    let (mut link, mut welcome) = (link, welcome);
    for _ in 0..2 {
        let mut table = CheckedSeat::wait(link, welcome, spec, two.clone(), &joined).await?;
        table.play().await?;
        seats.push(table.seat());
        ids.push(table.id.clone());
        (link, welcome) = (table.link, table.welcome);
    }
    same(&seats, &vec![0, 1], || "seats of the two matches".into())?;
    law_holds(ids[0] != ids[1], || format!("two matches have the id {:?}", ids[0]), "a unique name for each")?;
    let id = link.ask(&ClientMessage::Ping(Ping {})).await?;
    let heard = link.hear().await?;
    law_holds(heard.re == Some(id), || format!("sent {} after the last match", heard.raw), "nothing")?;
    // A join without a count ends when its client leaves the join.
    let endless = Join { count: 0, ..join(spec, 0) };
    let joined = link.call(ClientMessage::Join(Box::new(endless.clone()))).await?.joined()?;
    let mut table = CheckedSeat::wait(link, welcome, spec, endless, &joined).await?;
    let leave = table.link.ask(&ClientMessage::Leave(Leave { join: joined })).await?;
    table.reply(leave).await?.ok()?;
    table.play().await?;
    let id = table.link.ask(&ClientMessage::Ping(Ping {})).await?;
    loop {
        let heard = table.link.hear().await?;
        if heard.re == Some(id) {
            return Ok(());
        }
        law_holds(
            !matches!(heard.message, ServerMessage::MatchStart(_)),
            || "started one after `leave`".into(),
            "none",
        )?;
    }
}

pub(super) async fn wrong_joins(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut link = b.link().await?;
    let plain = || join(spec, 0);
    let no_seat = spec.players;
    for (join, code, path) in [
        (Join { game: format!("{}q", spec.game), ..plain() }, ErrorCode::UnknownGame, "game"),
        (Join { against: Some(vec!["no_such_agent".into()]), ..plain() }, ErrorCode::UnknownAgent, "against"),
        (Join { seat: Some(no_seat), ..plain() }, ErrorCode::BadField, "seat"),
        (Join { layout: Some("no_such_layout".into()), ..plain() }, ErrorCode::BadField, "layout"),
    ] {
        link.call(ClientMessage::Join(Box::new(join))).await?.error_at(code, path)?;
    }
    for agent in ["human", "uci cmd=engine"] {
        let join = Join { against: Some(vec![agent.into()]), ..plain() };
        let codes = [ErrorCode::Forbidden, ErrorCode::UnknownAgent];
        link.call(ClientMessage::Join(Box::new(join))).await?.expect_error(&codes)?;
    }
    let nowhere = Leave { join: "j_conformance".into() };
    link.call(ClientMessage::Leave(nowhere)).await?.error(ErrorCode::UnknownJoin).map(drop)
}
