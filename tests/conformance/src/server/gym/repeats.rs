//! Laws of handles across requests and connections: repeated requests and closed handles.

use ludex_protocol::message::{ClientMessage, CloseHandle, Reset, ResumeSession, StepEnvs, ViewEnv, Welcome};
use ludex_protocol::{Column, Encoding, ErrorCode};

use super::super::bench::LawContext;
use super::super::link::Link;
use super::super::{LawResult, law_holds, same};
use super::handle::{CheckedHandle, plain};
use super::steps::{SEED, speechless};

/// Cuts the connection and resumes the session on a new connection.
async fn come_back(b: &LawContext, link: Link, welcome: &Welcome) -> LawResult<(Link, Box<Welcome>)> {
    let last = link.last;
    link.cut();
    let mut link = b.mute(&[Encoding::MsgPack]).await?;
    let mut hello = b.hello();
    let (session, key) = (welcome.session.clone(), welcome.key.clone());
    hello.resume = Some(ResumeSession { session, key, ..ResumeSession::default() });
    let welcome = link.greet(hello).await?;
    law_holds(welcome.resumed, || "did not resume a session with environments".into(), "`resumed`: true")?;
    link.last = last;
    Ok((link, welcome))
}

/// Checks that a step is executed once if its reply is lost and the step is sent again, any number of times.
pub(super) async fn resent(b: &LawContext) -> LawResult {
    let spec = b.game_of_turns().await?;
    let (mut link, mut welcome) = b.link_in(Encoding::MsgPack).await?;
    let h = CheckedHandle::open(&mut link, plain(spec, 2)).await?;
    let mut batch = h.reset(&mut link, SEED).await?;
    for round in 0..4 {
        let actions = h.choose(&batch, SEED).ok_or_else(speechless)?;
        let length = batch.length.to_vec();
        let step = StepEnvs { env: h.env, actions: Some(Column::from(&actions[..])), ..StepEnvs::default() };
        let step = ClientMessage::Step(step);
        let id = link.ask(&step).await?;
        // The client reads the reply in every second round only; the server cannot tell the difference.
        let first = if round % 2 == 1 { Some(h.batch(link.reply(id).await?, None)?) } else { None };
        (link, welcome) = come_back(b, link, &welcome).await?;
        same(&welcome.envs, &vec![h.env], || "welcome.envs after a resume".into())?;
        link.ask_as(Some(id), &step).await?;
        let again = h.batch(link.reply(id).await?, None)?;
        if let Some(first) = first {
            same(&again, &first, || "the reply to a step that was sent again".into())?;
        }
        link.ask_as(Some(id), &step).await?;
        same(&h.batch(link.reply(id).await?, None)?, &again, || {
            "the reply to a step that was sent a third time".into()
        })?;
        let look = h.look(&mut link).await?;
        let moved: Vec<u32> = length.iter().map(|length| length + 1).collect();
        same(&look.length.to_vec(), &moved, || "length after a step that was sent three times".into())?;
        batch = look;
    }
    h.close(&mut link).await
}

pub(super) async fn closed(b: &LawContext) -> LawResult {
    let spec = b.a_game().await?;
    let (mut link, welcome) = b.link_in(Encoding::MsgPack).await?;
    let (one, two) =
        (CheckedHandle::open(&mut link, plain(spec, 1)).await?, CheckedHandle::open(&mut link, plain(spec, 1)).await?);
    law_holds(one.env != two.env, || format!("two handles have the number {}", one.env), "a unique name for each")?;
    let gone = one.env;
    one.close(&mut link).await?;
    for request in [
        ClientMessage::Reset(Reset { env: gone, ..Reset::default() }),
        ClientMessage::Step(StepEnvs { env: gone, actions: Some(Column::from([0])), ..StepEnvs::default() }),
        ClientMessage::View(ViewEnv { env: gone, ..ViewEnv::default() }),
        ClientMessage::Close(CloseHandle { env: gone }),
    ] {
        link.call(request).await?.error(ErrorCode::UnknownEnv)?;
    }
    two.reset(&mut link, SEED).await?;
    let (mut link, welcome) = come_back(b, link, &welcome).await?;
    same(&welcome.envs, &vec![two.env], || "welcome.envs after a resume".into())?;
    // Handles of other sessions cannot be used.
    let mut other = b.link().await?;
    other.call(ClientMessage::Close(CloseHandle { env: two.env })).await?.error(ErrorCode::UnknownEnv)?;
    two.close(&mut link).await
}
