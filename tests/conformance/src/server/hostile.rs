//! Laws of frames that no client should send. The server must answer them with an error code or close the connection
//! with a documented code, and serve all other connections normally.

use futures_util::FutureExt as _;
use ludex_protocol::error::{Close, close};
use ludex_protocol::message::{ClientMessage, Ping};
use ludex_protocol::{Encoding, ErrorCode, ServerMessage};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::bench::LawContext;
use super::link::{Link, LinkEnd};
use super::{Law, LawFailure, LawResult, law, wrong};

pub(super) const LAWS: &[Law] = &[
    law(6, "survives invalid bytes", None, |b| garbage(b).boxed_local()),
    law(1, "refuses only messages that are nested too deeply", None, |b| nesting(b).boxed_local()),
    law(6, "closes with a named code on frames of the wrong kind", None, |b| kinds(b).boxed_local()),
    law(6, "closes with a named code on invalid UTF-8", None, |b| no_text(b).boxed_local()),
    law(6, "closes with a named code on frames that are too large", None, |b| too_large(b).boxed_local()),
];

/// Length of the largest frame sent in these checks, in bytes.
const LARGEST: u64 = 64 << 20;

/// Checks that existing and new connections still work.
async fn still_serves(b: &LawContext, bystander: &mut Link, after: &str) -> LawResult {
    let well = async {
        bystander.call(ClientMessage::Ping(Ping {})).await?.pong()?;
        b.link().await?.call(ClientMessage::Ping(Ping {})).await?.pong()
    };
    well.await.map(drop).map_err(|stop| stop.of(&format!("another connection, after {after}")))
}

async fn garbage(b: &LawContext) -> LawResult {
    let texts: [&[u8]; 9] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"hello\"",
        b"{\"type\":\"ping\",\"id\":1}{}",
        b"{\"type\":\"ping\",\"id\":1,}",
        b"{\"type\":\"ping\" \"id\":1}",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ];
    let bins: [&[u8]; 9] = [
        b"",
        &[0xc1],
        &[0x81],
        &[0x90],
        &[0xc0],
        &[0xdf, 0xff, 0xff, 0xff, 0xff],
        &[0xdd, 0xff, 0xff, 0xff, 0xff, 0x01],
        b"\x82\xa4type\xa4ping\xa2id\x01\xc0",
        &[0x91; 400],
    ];
    let mut bystander = b.link().await?;
    for (encoding, frames) in [(Encoding::Json, texts), (Encoding::MsgPack, bins)] {
        for bytes in frames {
            let mut link = b.link_in(encoding).await?.0;
            let what = match encoding {
                Encoding::Json => format!("the text {:?}", String::from_utf8_lossy(bytes)),
                Encoding::MsgPack => format!("the bytes {}", hex::encode(bytes)),
            };
            // The trailing bytes make the message invalid, but its `id` may have been parsed.
            link.expect(1, &what);
            link.bytes(bytes.to_vec()).await;
            answered_or_closed(&mut link).await.map_err(|stop| stop.of(&what))?;
            still_serves(b, &mut bystander, &what).await?;
        }
    }
    Ok(())
}

/// Expects an error with a code, after which the connection still works, or a close frame with a documented code.
async fn answered_or_closed(link: &mut Link) -> LawResult {
    let expected = "a coded error, or a close that section 6 names";
    match link.hear_or_end().await? {
        Ok(heard) if matches!(heard.message, ServerMessage::Error(_)) => {
            link.ask_as(Some(2), &ClientMessage::Ping(Ping {})).await?;
            link.reply(2).await?.pong().map(drop)
        }
        Ok(heard) => Err(heard.not(expected)),
        Err(LinkEnd::Closed(code, _)) if close::of(code).is_some() => Ok(()),
        Err(ended) => Err(wrong(format!("ended with {ended:?}"), expected)),
    }
}

/// Returns a ping with lists and maps nested to this depth, including the message itself.
fn nested(depth: u32) -> Value {
    let inner = (1..depth).fold(Value::Null, |inner, _| json!([inner]));
    // The `id`, which is filled in later, precedes the part that is nested too deeply.
    json!({ "type": "ping", "id": 0, "x_deep": inner })
}

async fn nesting(b: &LawContext) -> LawResult {
    let mut bystander = b.link().await?;
    for encoding in [Encoding::MsgPack, Encoding::Json] {
        let (mut link, welcome) = b.link_in(encoding).await?;
        let most = welcome.limits.depth;
        link.demand(nested(most)).await?.pong()?;
        for depth in [most + 1, most + 40] {
            link.demand(nested(depth)).await?.error(ErrorCode::TooDeep)?;
        }
        link.demand(nested(3)).await?.pong()?;
    }
    still_serves(b, &mut bystander, "deep nesting").await
}

/// Sends a frame and expects the connection to end with this close code.
async fn ends(b: &LawContext, encoding: Encoding, frame: Message, with: Close) -> LawResult {
    let mut bystander = b.link().await?;
    let (mut link, _) = b.link_in(encoding).await?;
    link.frame(frame).await;
    is_closed(&mut link, with).await?;
    still_serves(b, &mut bystander, with.name).await
}

async fn is_closed(link: &mut Link, with: Close) -> LawResult {
    match link.ended().await?.0 {
        LinkEnd::Closed(code, _) if code == with.code => Ok(()),
        ended => Err(wrong(format!("ended with {ended:?}"), format!("close {} {}", with.code, with.name))),
    }
}

async fn kinds(b: &LawContext) -> LawResult {
    let ping = r#"{"type":"ping","id":1}"#;
    ends(b, Encoding::Json, Message::binary(ping), close::UNSUPPORTED).await?;
    ends(b, Encoding::MsgPack, Message::text(ping), close::UNSUPPORTED).await
}

async fn no_text(b: &LawContext) -> LawResult {
    let mut bystander = b.link().await?;
    let (mut link, _) = b.link_in(Encoding::Json).await?;
    // A complete text frame of two bytes that are not UTF-8, with a zero mask.
    link.beneath(&[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]).await;
    is_closed(&mut link, close::NOT_UTF8).await?;
    still_serves(b, &mut bystander, "invalid UTF-8").await
}

async fn too_large(b: &LawContext) -> LawResult {
    let most = b.link_in(Encoding::Json).await?.1.limits.frame_bytes;
    if most >= LARGEST {
        return Err(LawFailure::Skip(format!("limits.frame_bytes is {most}")));
    }
    let text = " ".repeat(usize::try_from(most).unwrap_or_default() + 1);
    ends(b, Encoding::Json, Message::text(text), close::TOO_LARGE).await
}
