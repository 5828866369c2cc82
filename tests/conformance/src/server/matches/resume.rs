//! Laws of resumed sessions: after cuts, with old keys, without a session.

use ludex_protocol::Encoding;
use ludex_protocol::error::close;
use ludex_protocol::message::{ClientMessage, Ping, ResumeSession, SeenFrames, ServerMessage, TurnFrame, Welcome};
use ludex_protocol::record::EndReason;

use super::super::bench::LawContext;
use super::super::link::{Link, LinkEnd};
use super::super::{LawFailure, LawResult, law_holds, same, wrong};
use super::table::CheckedSeat;
use super::terms::join;

/// Sequence number beyond all sent frames.
const NEVER_SENT: u64 = 1_000_000_000;

/// Sends a `hello` that resumes a session.
async fn resume(
    b: &LawContext,
    link: &mut Link,
    welcome: &Welcome,
    seen: Option<(&str, u64)>,
) -> LawResult<Box<Welcome>> {
    let mut hello = b.hello();
    hello.resume = Some(ResumeSession {
        session: welcome.session.clone(),
        key: welcome.key.clone(),
        seen: seen.map(|(id, seq)| (id.to_owned(), SeenFrames::Seat(seq))).into_iter().collect(),
    });
    link.greet(hello).await
}

/// Resumes a session on a new connection.
async fn back(b: &LawContext, welcome: &Welcome) -> LawResult<(Link, Box<Welcome>)> {
    let mut link = b.mute(&[Encoding::Json]).await?;
    let fresh = resume(b, &mut link, welcome, None).await?;
    Ok((link, fresh))
}

/// Cuts the connection of a seat and resumes its session, with `seen` as the last frame received.
async fn cut(b: &LawContext, table: &mut CheckedSeat, seen: Option<u64>) -> LawResult {
    let mut link = b.mute(&[table.link.encoding]).await?;
    link.last = table.link.last;
    std::mem::swap(&mut link, &mut table.link);
    link.cut();
    // Events of the client's moves may arrive before the client requests the lost reply again.
    table.accepted = None;
    let seen = seen.map(|seq| (table.id.as_str(), seq));
    let fresh = resume(b, &mut table.link, &table.welcome, seen).await?;
    law_holds(fresh.resumed, || "did not resume the session".into(), "`resumed`: true")?;
    same(&fresh.session, &table.welcome.session, || "welcome.session of the same session".into())?;
    law_holds(fresh.key != table.welcome.key, || "sent the old session key again".into(), "a new key each time")?;
    let held = fresh.matches.iter().find(|held| held.match_id == table.id);
    let stands = held.is_some_and(|held| held.seat == Some(table.seat()) && held.seq >= table.seq);
    let known = stands || table.end.is_some();
    law_holds(known, || format!("welcome.matches is {:?}", fresh.matches), "the match with its seat and last seq")?;
    table.welcome = fresh;
    Ok(())
}

/// Plays one match over many connections, each of which is cut after one message.
pub(super) async fn cuts(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    let (mut pending, mut played) = (None, Vec::new());
    while table.end.is_none() || pending.is_some() {
        let heard = table.link.hear().await?;
        let before = (table.seq, pending.is_some());
        match &pending {
            Some((id, turn, action, _)) if heard.re == Some(*id) => {
                let accepted = heard.accepted()?;
                table.was_accepted(turn, *action, &accepted)?;
                pending = None;
            }
            _ => table.take(heard)?,
        }
        if let (Some(turn), None) = (table.turn.clone(), &pending)
            && turn.turn as usize == played.len()
        {
            let action = table.choose(&turn)?;
            let act = ClientMessage::Act(Box::new(table.answer(&turn, action)));
            let id = table.link.ask(&act).await?;
            played.push((table.seat(), Some(action)));
            pending = Some((id, turn, action, act));
        }
        // A pending turn is repeated on every connection, so each connection must bring something else.
        if (table.seq, pending.is_some()) == before && table.end.is_none() {
            continue;
        }
        let seen = table.seq;
        cut(b, &mut table, Some(seen)).await?;
        if let Some((id, _, _, act)) = &pending {
            table.link.ask_as(Some(*id), act).await?;
        }
    }
    same(&table.end.as_ref().map(|end| end.reason), &Some(EndReason::Finished), || "match_end.reason".into())?;
    let own: Vec<_> = table.moves.iter().filter(|(seat, _)| *seat == table.seat()).copied().collect();
    same(&own, &played, || "the client's moves, each sent until the server replied".into())
}

/// Checks that the resync of a seat is complete: all moves so far and the pending turn.
fn told_all(table: &CheckedSeat, moves: &[(u32, Option<u32>)], waits: &TurnFrame) -> LawResult {
    let of = |what: &str| format!("{what} of the resync, compared with earlier frames");
    same(&&table.moves[..], &moves, || of("`move` events"))?;
    let turn = table.turn.as_ref();
    same(&turn.map(|t| (t.turn, t.attempt)), &Some((waits.turn, waits.attempt)), || of("`turn`"))?;
    same(&turn.map(|t| (&t.legal, &t.view)), &Some((&waits.legal, &waits.view)), || of("legal and view"))
}

/// Checks that a client that has seen nothing, or claims a sequence number that was never sent, receives everything in
/// one resync.
pub(super) async fn resyncs(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut resyncs = 0;
    for seen in [Some(NEVER_SENT), None] {
        let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
        let first = table.due().await?;
        table.play_turn(&first).await?;
        let (waits, moves) = (table.due().await?, table.moves.clone());
        cut(b, &mut table, seen).await?;
        let heard = table.link.hear().await?;
        match &heard.message {
            ServerMessage::Resync(_) => table.take(heard)?,
            // Alternatively, the server sends all events after the claimed number.
            ServerMessage::Turn(turn) if seen.is_some() && turn.turn == waits.turn => continue,
            ServerMessage::MatchStart(start) if seen.is_none() && start.seq == 0 => continue,
            _ => return Err(heard.not("`resync`, or the events after the last seen frame")),
        }
        resyncs += table.resyncs;
        told_all(&table, &moves, &waits)?;
        let end = table.play().await?;
        same(&end.reason, &EndReason::Finished, || "match_end.reason".into())?;
    }
    if resyncs > 0 { Ok(()) } else { Err(LawFailure::Skip("the server sent events instead of a resync".into())) }
}

pub(super) async fn keys(b: &LawContext) -> LawResult {
    let (first, welcome) = b.link_in(Encoding::Json).await?;
    first.cut();
    let (mut second, fresh) = back(b, &welcome).await?;
    law_holds(fresh.resumed, || "did not resume a session after a cut".into(), "`resumed`: true")?;
    // This welcome is never read, so its client has only the previous key.
    second.cut();
    (second, _) = {
        let (link, again) = back(b, &welcome).await?;
        law_holds(
            again.resumed,
            || "invalidated the old key when it sent a `welcome` that may be lost".into(),
            "a valid old key until the first message after `welcome`",
        )?;
        (link, again)
    };
    second.call(ClientMessage::Ping(Ping {})).await?.pong()?;
    let (_, dead) = back(b, &welcome).await?;
    law_holds(!dead.resumed, || "resumed a session by the old key after the first message".into(), "`resumed`: false")?;
    law_holds(dead.session != welcome.session, || "reused the name of the old session".into(), "a new session")?;
    // The newer connection owns the session.
    let (mut old, welcome) = b.link_in(Encoding::Json).await?;
    let (mut new, fresh) = back(b, &welcome).await?;
    law_holds(fresh.resumed, || "did not resume a connected session".into(), "`resumed`: true")?;
    superseded(&mut old).await?;
    new.call(ClientMessage::Ping(Ping {})).await?.pong()?;
    let invented = Welcome { session: "s_conformance".into(), key: "k_conformance".into(), ..Welcome::default() };
    let (_, other) = back(b, &invented).await?;
    law_holds(!other.resumed, || "resumed a session that never existed".into(), "`resumed`: false")
}

/// Checks that the older connection ends when a newer connection takes over its session.
async fn superseded(old: &mut Link) -> LawResult {
    let with = close::SUPERSEDED;
    match old.ended().await?.0 {
        LinkEnd::Closed(code, _) if code == with.code => Ok(()),
        ended => Err(wrong(
            format!("ended the older connection with {ended:?}"),
            format!("close {} {}", with.code, with.name),
        )),
    }
}

pub(super) async fn reclaims(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let mut table = CheckedSeat::new(b, spec, join(spec, 0)).await?;
    if table.welcome.agent.is_empty() {
        return Err(LawFailure::Skip("no agent name was given with --agent".into()));
    }
    let first = table.due().await?;
    table.play_turn(&first).await?;
    let (waits, moves) = (table.due().await?, table.moves.clone());
    let mut link = b.mute(&[table.link.encoding]).await?;
    let mut hello = b.hello();
    hello.reclaim = true;
    let fresh = link.greet(hello).await?;
    law_holds(
        !fresh.resumed && fresh.session != table.welcome.session,
        || "resumed the old one".into(),
        "a new session",
    )?;
    let held = fresh.matches.iter().any(|held| held.match_id == table.id && held.seat == Some(table.seat()));
    law_holds(held, || format!("welcome.matches is {:?}", fresh.matches), "the running match of this agent name")?;
    std::mem::swap(&mut table.link, &mut link);
    superseded(&mut link).await?;
    (table.welcome, table.accepted) = (fresh, None);
    while table.resyncs == 0 {
        let heard = table.link.hear().await?;
        let anew = matches!(heard.message, ServerMessage::Resync(_)) || heard.raw["match"] != *table.id;
        law_holds(anew, || format!("sent {}", heard.raw), "`resync`")?;
        table.take(heard)?;
    }
    told_all(&table, &moves, &waits)?;
    let end = table.play().await?;
    same(&end.reason, &EndReason::Finished, || "match_end.reason".into())
}
