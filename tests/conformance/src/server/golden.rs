//! Laws of the golden frames: the server accepts each recorded client message, in JSON and in MessagePack.

use futures_util::FutureExt as _;
use ludex_protocol::message::{
    ClientMessage, CloseHandle, Enrol, GymView, Leave, Ping, Resign, Scope, ServerMessage, SnapshotEnvs, ViewEnv,
};
use ludex_protocol::spec::Spec;
use ludex_protocol::{Encoding, ErrorCode};
use serde_json::{Value, json};

use super::bench::LawContext;
use super::gym::handle::{CheckedHandle, plain};
use super::incoming::IncomingMessage;
use super::link::Link;
use super::{Law, LawResult, law, law_holds, same, short, wrong};

pub(super) const LAWS: &[Law] = &[
    law(11, "accepts the golden frames in both encodings", None, |b| frames(b).boxed_local()),
    law(1, "gives equal replies in both encodings", Some(Scope::Gym), |b| exchange(b).boxed_local()),
];

/// Every message in JSON and in MessagePack (as hex), written by `tests/data/frames/make.py` without any code of this
/// project.
const FRAMES: &str = include_str!("../../../../tests/data/frames/frames.jsonl");

/// Error codes for a malformed message.
const FORM: [ErrorCode; 6] = [
    ErrorCode::BadFrame,
    ErrorCode::BadMessage,
    ErrorCode::BadField,
    ErrorCode::BadSeed,
    ErrorCode::UnknownType,
    ErrorCode::TooDeep,
];

/// Names of golden frames, each with the fields of the frame that few games support. A server may refuse these frames.
const ASK_A_LOT: [(&str, [&str; 2]); 2] = [("open_all", ["views", "layout"]), ("join_all", ["views", "layout"])];

/// Golden frame that would start a rated run.
const FIRST: &str = "enrol";

/// Golden frame that can succeed only once, so only the first encoding finds the run.
const ONCE: &str = "withdraw";

async fn frames(b: &LawContext) -> LawResult {
    for line in FRAMES.lines() {
        let frame: Value = serde_json::from_str(line).map_err(|e| wrong(format!("golden frames: {e}"), "JSON"))?;
        if frame["from"] != "client" {
            continue;
        }
        let name = frame["name"].as_str().unwrap_or_default();
        let in_frame = |stop: super::LawFailure| stop.of(&format!("golden frame {name}"));
        if name == FIRST {
            begin_unrated(b, &frame["json"]).await.map_err(in_frame)?;
        }
        let json = answer(b, Encoding::Json, &frame).await.map_err(in_frame)?;
        let packed = answer(b, Encoding::MsgPack, &frame).await.map_err(in_frame)?;
        if name == ONCE {
            continue;
        }
        same(&packed, &json, || "reply in MessagePack, compared with JSON".into()).map_err(in_frame)?;
    }
    Ok(())
}

/// Starts the run of a golden frame as an unrated run, so that its match does not count. The server may refuse it.
async fn begin_unrated(b: &LawContext, message: &Value) -> LawResult {
    let [suite, run] = ["suite", "run"].map(|key| message[key].as_str().unwrap_or_default());
    let enrol = Enrol { rated: false, ..Enrol::new(suite, run) };
    b.link_in(Encoding::Json).await?.0.call(ClientMessage::Enrol(Box::new(enrol))).await.map(drop)
}

/// Sends a golden frame on a separate connection. Returns the type of the reply and, if the reply is an error, the
/// error code.
async fn answer(b: &LawContext, encoding: Encoding, frame: &Value) -> LawResult<(String, Option<ErrorCode>)> {
    let message = &frame["json"];
    let bytes = match encoding {
        Encoding::Json => message.to_string().into_bytes(),
        Encoding::MsgPack => hex::decode(frame["msgpack"].as_str().unwrap_or_default()).unwrap_or_default(),
    };
    let mut link = match message["type"] == "hello" {
        true => b.mute(&[encoding]).await?,
        false => b.link_in(encoding).await?.0,
    };
    let Some(id) = message["id"].as_i64() else {
        link.bytes(bytes).await;
        let ping = link.ask(&ClientMessage::Ping(Ping {})).await?;
        let heard = link.hear().await?;
        law_holds(heard.re == Some(ping), || heard.after(message), "no reply")?;
        return Ok(("none".into(), None));
    };
    link.expect(id, &message.to_string());
    link.bytes(bytes).await;
    let heard = link.reply(id).await?;
    let code = match &heard.message {
        ServerMessage::Error(error) => Some(error.code),
        _ => None,
    };
    let a_lot = ASK_A_LOT.iter().find(|(name, _)| frame["name"] == *name);
    let too_much = a_lot.is_some_and(|(_, fields)| fields.iter().any(|field| heard.raw["path"] == *field));
    if code.is_some_and(|code| FORM.contains(&code)) && !too_much {
        return Err(heard.not("a reply other than an error about the message's form"));
    }
    give_up(&mut link, id, &heard, message).await?;
    Ok((heard.raw["type"].as_str().unwrap_or_default().to_owned(), code))
}

/// Leaves the match that a golden `join` may have started.
async fn give_up(link: &mut Link, id: i64, joined: &IncomingMessage, message: &Value) -> LawResult {
    let ServerMessage::Joined(joined) = &joined.message else { return Ok(()) };
    link.last = id;
    while message["against"].is_array() {
        if let ServerMessage::MatchStart(start) = link.hear().await?.message {
            link.call(ClientMessage::Resign(Resign { match_id: start.match_id, seat: None })).await?.ok()?;
            break;
        }
    }
    // The join may have ended with its only match.
    let leave = link.ask(&ClientMessage::Leave(Leave { join: joined.join.clone() })).await?;
    link.reply(leave).await.map(drop)
}

/// Removes the parts of a message that differ between two sessions.
fn bare(heard: IncomingMessage) -> ServerMessage {
    let mut message = heard.message;
    match &mut message {
        ServerMessage::Opened(opened) => opened.env = 0,
        ServerMessage::Batch(batch) => batch.env = 0,
        _ => {}
    }
    message
}

async fn exchange(b: &LawContext) -> LawResult {
    let (mut json, mut packed) = (b.link_in(Encoding::Json).await?.0, b.link_in(Encoding::MsgPack).await?.0);
    for (_, spec) in b.games().await? {
        let done = exchange_of(&mut json, &mut packed, spec).await;
        done.map_err(|stop| stop.of(&spec.string))?;
    }
    Ok(())
}

async fn exchange_of(json: &mut Link, packed: &mut Link, spec: &Spec) -> LawResult {
    let mut open = plain(spec, 2);
    open.views = Some(vec![GymView::Struct, GymView::Text, GymView::Returns]);
    if spec.views.tensor.is_some() {
        open.views.get_or_insert_default().push(GymView::Tensor);
    }
    let handles = [CheckedHandle::open(json, open.clone()).await?, CheckedHandle::open(packed, open).await?];
    let [a, b] = &handles;
    let mut batches = [a.reset(json, 9).await?, b.reset(packed, 9).await?];
    for ply in 0..8 {
        let [x, y] = &batches;
        let (mut x, mut y) = (x.clone(), y.clone());
        (x.env, y.env) = (0, 0);
        law_holds(
            x == y,
            || format!("a batch is {} in MessagePack, {} in JSON", short(&y), short(&x)),
            "equal batches",
        )?;
        let Some(actions) = a.choose(&batches[0], 9) else { break };
        if ply == 3 {
            let bad = vec![i32::MAX; actions.len()];
            let refused = [a.try_step(json, &bad).await?, b.try_step(packed, &bad).await?];
            let [x, y] = refused.map(bare);
            same(&y, &x, || "a refusal in MessagePack, compared with JSON".into())?;
        }
        batches = [a.step(json, &actions).await?, b.step(packed, &actions).await?];
    }
    let view = |env| {
        let views = vec![GymView::Struct, GymView::Text];
        ClientMessage::View(ViewEnv {
            env,
            views,
            names: Some(vec![0, -1]),
            parse: Some(vec!["?".into()]),
            ..ViewEnv::default()
        })
    };
    let snapshot = |env| ClientMessage::Snapshot(SnapshotEnvs { env, envs: None });
    for request in [&view as &dyn Fn(u32) -> ClientMessage, &snapshot] {
        let (x, y) = (json.call(request(a.env)).await?, packed.call(request(b.env)).await?);
        let what = x.raw["type"].clone();
        same(&bare(y), &bare(x), || format!("{what} in MessagePack, compared with JSON"))?;
    }
    json.call(ClientMessage::Close(CloseHandle { env: a.env })).await?.ok()?;
    packed.call(ClientMessage::Close(CloseHandle { env: b.env })).await?.ok()?;
    let wrong_game = json!({"type": "describe", "game": format!("{}?", spec.game)});
    let (x, y) = (json.demand(wrong_game.clone()).await?, packed.demand(wrong_game).await?);
    same(&bare(y), &bare(x), || "an error in MessagePack, compared with JSON".into())
}
