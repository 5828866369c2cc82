//! Laws of the handshake.

use futures_util::FutureExt as _;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::{AgentId, ClientMessage, Hello, Ping};
use ludex_protocol::{Encoding, ErrorCode, Limits, ServerMessage, VERSION};
use serde_json::{Value, json};

use super::bench::LawContext;
use super::incoming::IncomingMessage;
use super::link::LinkEnd;
use super::{Law, LawFailure, LawResult, law, law_holds, same, wrong};

pub(super) const LAWS: &[Law] = &[
    law(2, "sends welcome in both encodings, and in JSON if the client offers none", None, |b| {
        welcome(b).boxed_local()
    }),
    law(1, "opens its WebSocket at /ws and at /", None, |b| paths(b).boxed_local()),
    law(2, "announces every limit", None, |b| limits(b).boxed_local()),
    law(2, "gives every session a unique name and key", None, |b| own_names(b).boxed_local()),
    law(2, "requires hello as the first message", None, |b| hello_first(b).boxed_local()),
    law(2, "refuses unsupported protocol versions", None, |b| versions(b).boxed_local()),
    law(2, "refuses invalid names", None, |b| names(b).boxed_local()),
    law(2, "refuses a wrong token", None, |b| tokens(b).boxed_local()),
    law(1, "accepts requests that are sent together with hello", None, |b| one_go(b).boxed_local()),
    law(2, "answers ping with a monotonic clock", None, |b| clock(b).boxed_local()),
];

async fn welcome(b: &LawContext) -> LawResult {
    let both = [Encoding::MsgPack, Encoding::Json];
    for offer in [&both[..1], &both[1..], &both[..], &[]] {
        let mut link = b.mute(offer).await?;
        let hello = b.hello();
        let name = hello.agent.as_ref().map(|agent| agent.name.clone());
        let welcome = link.greet(hello).await?;
        same(&welcome.protocol, &VERSION, || "welcome.protocol".into())?;
        same(&welcome.resumed, &false, || "welcome.resumed of a new session".into())?;
        same(&(welcome.envs.len(), welcome.matches.len()), &(0, 0), || "envs and matches of a new session".into())?;
        law_holds(
            !welcome.session.is_empty() && !welcome.key.is_empty(),
            || "sent a `welcome` without `session` or `key`".into(),
            "both",
        )?;
        law_holds(!welcome.scopes.is_empty(), || "welcome.scopes is empty".into(), "at least one scope")?;
        law_holds(!welcome.server.is_empty(), || "welcome.server is empty".into(), "`server`")?;
        if let Some(name) = name {
            same(&welcome.agent, &name, || "welcome.agent".into())?;
        }
    }
    Ok(())
}

async fn paths(b: &LawContext) -> LawResult {
    if !b.has_both_paths() {
        return Err(LawFailure::Skip("the address names a path, so the default paths are not checked".into()));
    }
    for path in ["/", "/ws"] {
        let mut link = b.mute_at(path, &[Encoding::Json]).await?;
        b.greet(&mut link).await?;
    }
    Ok(())
}

async fn limits(b: &LawContext) -> LawResult {
    let mut link = b.mute(&[Encoding::Json]).await?;
    link.ask_as(Some(0), &ClientMessage::Hello(Box::new(b.hello()))).await?;
    let heard = link.reply(0).await?;
    let announced = heard.raw["limits"].clone();
    let limits = heard.welcome()?.limits;
    let all = serde_json::to_value(Limits::default()).unwrap_or_default();
    for (name, _) in all.as_object().into_iter().flatten() {
        let value = announced[name].as_u64();
        let may_be_zero = ["requests_per_s", "pages_per_s", "registrations_per_hour", "registered_owners", "grace_ms"];
        let may_be_zero = may_be_zero.contains(&name.as_str());
        let fits = value.is_some_and(|value| value > 0 || may_be_zero);
        law_holds(fits, || format!("limits.{name} is {}", announced[name]), "a number of at least 1")?;
    }
    let (kept, window) = (limits.replies_kept, limits.window);
    law_holds(kept >= window, || format!("stores {kept} replies for a window of {window}"), "at least `window` replies")
}

async fn own_names(b: &LawContext) -> LawResult {
    let ((_a, one), (_b, two)) = (b.link_in(Encoding::Json).await?, b.link_in(Encoding::Json).await?);
    law_holds(one.session != two.session, || format!("two sessions are named {:?}", one.session), "unique names")?;
    law_holds(one.key != two.key, || "two sessions have the same key".into(), "a unique key for each session")
}

/// Sends a wrong first message and returns the error that precedes the close frame.
async fn turned_away(b: &LawContext, first: &Value, code: ErrorCode, with: Close) -> LawResult<IncomingMessage> {
    let mut link = b.mute(&[Encoding::Json]).await?;
    link.say(first).await;
    let expected = format!("error {code}, then close {} {}", with.code, with.name);
    let told = link.reply(first["id"].as_i64().unwrap_or(0)).await?;
    if !matches!(&told.message, ServerMessage::Error(error) if error.code == code) {
        return Err(told.not(&expected));
    }
    match link.ended().await? {
        (LinkEnd::Closed(code, _), said) if code == with.code && said.is_empty() => Ok(told),
        (ended, _) => Err(wrong(format!("ended with {ended:?} after {first}"), expected)),
    }
}

fn hello(b: &LawContext, change: impl FnOnce(&mut Hello)) -> Value {
    let mut hello = b.hello();
    change(&mut hello);
    let mut message = json!(ClientMessage::Hello(Box::new(hello)));
    message["id"] = 7.into();
    message
}

async fn hello_first(b: &LawContext) -> LawResult {
    for first in [json!({"type": "ping", "id": 7}), json!({"type": "list_games", "id": 7})] {
        turned_away(b, &first, ErrorCode::HelloFirst, close::PROTOCOL).await?;
    }
    Ok(())
}

async fn versions(b: &LawContext) -> LawResult {
    let first = hello(b, |hello| hello.protocol = vec![998, 999]);
    let told = turned_away(b, &first, ErrorCode::ProtocolVersion, close::PROTOCOL).await?;
    law_holds(told.raw["allowed"] == json!([VERSION]), || format!("error is {}", told.raw), "`allowed`: [1]")?;
    let mut link = b.mute(&[Encoding::Json]).await?;
    link.greet(Hello { protocol: vec![999, VERSION], ..b.hello() }).await.map(drop)
}

async fn names(b: &LawContext) -> LawResult {
    for name in ["no spaces", "slash/es", &"x".repeat(41)] {
        let agent = Some(AgentId { name: name.to_owned(), ..AgentId::default() });
        let first = hello(b, |hello| hello.agent = agent);
        turned_away(b, &first, ErrorCode::BadField, close::PROTOCOL)
            .await?
            .error_at(ErrorCode::BadField, "agent.name")?;
    }
    Ok(())
}

async fn tokens(b: &LawContext) -> LawResult {
    let Some(token) = &b.token else { return Err(LawFailure::Skip("no token was given with --token".into())) };
    let first = hello(b, |hello| hello.token = Some(format!("{token}0")));
    turned_away(b, &first, ErrorCode::Unauthorized, close::UNAUTHORIZED).await.map(drop)
}

async fn one_go(b: &LawContext) -> LawResult {
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        let mut link = b.mute(&[encoding]).await?;
        // The first id of a session may be any number; the id of `hello` does not count.
        link.ask_as(Some(1_000), &ClientMessage::Hello(Box::new(b.hello()))).await?;
        for id in [-3, -2, 5] {
            link.ask_as(Some(id), &ClientMessage::Ping(Ping {})).await?;
        }
        link.hear().await?.welcome()?;
        for id in [5, -2, -3] {
            link.reply(id).await?.pong()?;
        }
    }
    Ok(())
}

async fn clock(b: &LawContext) -> LawResult {
    let mut link = b.link().await?;
    let mut before = 0;
    for _ in 0..20 {
        let now = link.call(ClientMessage::Ping(Ping {})).await?.pong()?;
        law_holds(now >= before, || format!("pong.now_ms decreased from {before} to {now}"), "a monotonic clock")?;
        before = now;
    }
    Ok(())
}
