//! Laws of the envelope: fields, types, ids and replies, in both encodings.

use futures_util::FutureExt as _;
use ludex_protocol::message::{ClientMessage, Ping};
use ludex_protocol::{Encoding, ErrorCode, MAX_INT, ServerMessage};
use serde_json::{Value, json};

use super::bench::LawContext;
use super::incoming::IncomingMessage;
use super::link::Link;
use super::{Law, LawResult, law, law_holds, same};

/// Number of requests in flight at the same time, if the server's window allows.
const MANY: usize = 64;

pub(super) const LAWS: &[Law] = &[
    law(1, "ignores unknown fields", None, |b| both(b, unknown_fields).boxed_local()),
    law(1, "reads null as absent", None, |b| both(b, nulls).boxed_local()),
    law(1, "accepts fields in any order", None, |b| field_order(b).boxed_local()),
    law(1, "refuses unknown message types", None, |b| both(b, unknown_types).boxed_local()),
    law(6, "names the field that is wrong", None, |b| both(b, wrong_fields).boxed_local()),
    law(6, "refuses requests without a valid id", None, |b| both(b, wrong_ids).boxed_local()),
    law(1, "answers each of many requests once", None, |b| both(b, many).boxed_local()),
    law(1, "sends no reply to messages without an id", None, |b| both(b, no_reply).boxed_local()),
];

/// Values for the fields of sample requests.
struct Sample {
    /// Game from the server's list.
    game: String,
    /// Maximum number of unanswered requests.
    window: usize,
}

/// Checks a law in JSON and in MessagePack.
async fn both(b: &LawContext, law: impl AsyncFn(&mut Link, &Sample) -> LawResult) -> LawResult {
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        let (mut link, welcome) = b.link_in(encoding).await?;
        let sample = Sample { game: b.a_game().await?.game.clone(), window: welcome.limits.window as usize };
        law(&mut link, &sample).await?;
        // No unsolicited message has arrived, and the connection still works.
        link.call(ClientMessage::Ping(Ping {})).await?.pong()?;
    }
    Ok(())
}

async fn unknown_fields(link: &mut Link, sample: &Sample) -> LawResult {
    let odd = json!({"is": ["not", {"known": 1.5}, null]});
    link.demand(json!({"type": "ping", "x_later": odd})).await?.pong()?;
    let plain = link.demand(json!({"type": "describe", "game": sample.game})).await?;
    let more = link.demand(json!({"type": "describe", "game": sample.game, "x_later": odd, "rules": 3})).await?;
    same(&more.message, &plain.message, || "reply to `describe` with unknown fields".into())
}

async fn nulls(link: &mut Link, sample: &Sample) -> LawResult {
    let plain = link.demand(json!({"type": "describe", "game": sample.game})).await?;
    let nulls = json!({"type": "describe", "game": sample.game, "params": null, "rules_text": null});
    let nulls = link.demand(nulls).await?;
    same(&nulls.message, &plain.message, || "reply to `describe` with nulls".into())?;
    let plain = link.demand(json!({"type": "list_games"})).await?;
    for filter in [Value::Null, json!({"information": null, "players": null, "text": null})] {
        let nulls = link.demand(json!({"type": "list_games", "filter": filter})).await?;
        same(&nulls.message, &plain.message, || "reply to `list_games` with nulls".into())?;
    }
    link.demand(json!({"type": "list_matches", "game": null, "live": null, "limit": null})).await?.matches().map(drop)
}

async fn field_order(b: &LawContext) -> LawResult {
    let mut link = b.link_in(Encoding::Json).await?.0;
    let game = &b.a_game().await?.game;
    let orders = [
        format!(r#"{{"type":"describe","id":1,"game":"{game}"}}"#),
        format!(r#"{{"game":"{game}","id":2,"type":"describe"}}"#),
        format!("{{ \"id\" : 3,\n \"game\":\"{game}\" , \"type\":\"\\u0064escribe\"}}"),
    ];
    for (at, text) in orders.into_iter().enumerate() {
        let id = at as i64 + 1;
        link.expect(id, &text);
        link.bytes(text.into_bytes()).await;
        link.reply(id).await?.spec()?;
    }
    Ok(())
}

async fn unknown_types(link: &mut Link, _: &Sample) -> LawResult {
    for kind in ["describ", "x_new", ""] {
        link.demand(json!({"type": kind, "x": 1})).await?.error_at(ErrorCode::UnknownType, "type")?;
    }
    Ok(())
}

async fn wrong_fields(link: &mut Link, sample: &Sample) -> LawResult {
    let game = &sample.game;
    for (message, path) in [
        (json!({"type": "describe"}), "game"),
        (json!({"type": "describe", "game": 7}), "game"),
        (json!({"type": "describe", "game": game, "params": []}), "params"),
        (json!({"type": "describe", "game": game, "rules_text": "yes"}), "rules_text"),
        (json!({"type": "list_games", "filter": {"information": "some"}}), "filter.information"),
        (json!({"type": "list_games", "filter": {"players": "two"}}), "filter.players"),
        (json!({"type": "list_matches", "limit": 1.5}), "limit"),
        (json!({"type": "list_matches", "game": {}}), "game"),
    ] {
        let error = link.demand(message.clone()).await?.error_at(ErrorCode::BadField, path)?;
        law_holds(!error.message.is_empty(), || format!("answered {message} by an error without it"), "`message`")?;
    }
    Ok(())
}

async fn wrong_ids(link: &mut Link, _: &Sample) -> LawResult {
    for message in [
        json!({"type": "ping"}),
        json!({"type": "ping", "id": null}),
        json!({"type": "ping", "id": "1"}),
        json!({"type": "ping", "id": 1.5}),
        json!({"type": "ping", "id": MAX_INT + 1}),
        json!({"type": "ping", "id": -MAX_INT - 1}),
    ] {
        link.say_only(&message).await;
        let heard = link.hear().await?;
        let codes = [ErrorCode::BadMessage, ErrorCode::BadField];
        let coded = matches!(&heard.message, ServerMessage::Error(e) if codes.contains(&e.code));
        law_holds(coded && heard.re.is_none(), || heard.after(&message), "error bad_message without `re`")?;
    }
    Ok(())
}

async fn many(link: &mut Link, sample: &Sample) -> LawResult {
    let describe = json!({"type": "describe", "game": sample.game});
    let kinds = [
        json!({"type": "ping"}),
        describe,
        json!({"type": "list_games"}),
        json!({"type": "describe", "game": 1}),
        json!({"type": "list_matches", "limit": 1}),
        json!({"type": "x_new"}),
        json!({"type": "leave", "join": "j_conformance"}),
        json!({"type": "unspectate", "match": "m_conformance"}),
    ];
    let mut asked = Vec::new();
    // Ids must increase, but gaps are allowed.
    for (at, mut message) in kinds.iter().cycle().take(MANY.min(sample.window)).cloned().enumerate() {
        let id = link.last + 1 + at as i64 % 3;
        message["id"] = id.into();
        link.last = id;
        link.say(&message).await;
        asked.push((id, at % kinds.len()));
    }
    for &(id, kind) in asked.iter().rev() {
        let heard = link.reply(id).await?;
        let fits = match &heard.message {
            ServerMessage::Pong(_) => kind == 0,
            ServerMessage::Spec(_) => kind == 1,
            ServerMessage::Games(_) => kind == 2,
            ServerMessage::Matches(_) => kind == 4,
            ServerMessage::Ok(_) => kind >= 6,
            ServerMessage::Error(_) => kind == 3 || kind >= 5,
            _ => false,
        };
        law_holds(fits, || heard.after(&kinds[kind]), "the reply of this request")?;
    }
    Ok(())
}

async fn no_reply(link: &mut Link, _: &Sample) -> LawResult {
    link.say_only(&json!({"type": "pong"})).await;
    link.say_only(&json!({"type": "pong", "nonce": 5})).await;
    link.say_only(&json!({"type": "ack", "match": "m_conformance", "seq": 3})).await;
    let id = link.ask(&ClientMessage::Ping(Ping {})).await?;
    match link.hear().await? {
        IncomingMessage { re: Some(re), .. } if re == id => Ok(()),
        heard => Err(heard.not("nothing: `pong` and `ack` get no reply")),
    }
}
