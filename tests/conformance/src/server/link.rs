//! Connection with strict checks: every frame is decoded strictly, and every request must have exactly one reply.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use ludex_protocol::error::truncate_text;
use ludex_protocol::message::{Hello, Welcome};
use ludex_protocol::{ClientMessage, Encoding, Id};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use super::incoming::IncomingMessage;
use super::{LawFailure, LawResult, strict, wrong};

/// Maximum size of a received message in bytes. Batches may be large, and the server chooses their size.
const LARGEST: usize = 1 << 30;

/// Way in which a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkEnd {
    /// The server sent a close frame with this code and reason.
    Closed(u16, String),
    /// The socket closed without a close frame.
    Lost,
}

/// Connection to the server that checks every frame.
pub(super) struct Link {
    ws: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub encoding: Encoding,
    patience: Duration,
    /// Id of the last request.
    pub last: Id,
    /// Requests without a reply, each with a short description.
    waiting: BTreeMap<Id, String>,
    /// Replies and events that arrived while the client waited for another message.
    early: VecDeque<IncomingMessage>,
}

impl Link {
    /// Opens a WebSocket and offers these encodings.
    pub async fn open(
        url: &str,
        offer: &[Encoding],
        patience: Duration,
        tls: Option<Arc<rustls::ClientConfig>>,
    ) -> LawResult<Link> {
        let offered: Vec<&str> = offer.iter().map(|encoding| encoding.subprotocol()).collect();
        let offered = offered.join(", ");
        let expected = || format!("a WebSocket at {url} for the sub-protocols [{offered}]");
        let failed = |why: String| wrong(format!("refused the WebSocket upgrade: {why}"), expected());
        let mut request = url.into_client_request().map_err(|e| failed(e.to_string()))?;
        if let (false, Ok(offered)) = (offer.is_empty(), HeaderValue::from_str(&offered)) {
            request.headers_mut().insert("sec-websocket-protocol", offered);
        }
        // If another provider is already installed, it is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = WebSocketConfig::default().max_frame_size(Some(LARGEST)).max_message_size(Some(LARGEST));
        let connector = tls.filter(|_| url.starts_with("wss:")).map(Connector::Rustls);
        let connecting = connect_async_tls_with_config(request, Some(config), true, connector);
        let connected = tokio::time::timeout(patience, connecting).await;
        let connected = connected.map_err(|_| failed("no answer in time".into()))?;
        let (ws, response) = connected.map_err(|e| failed(e.to_string()))?;
        let chosen = response.headers().get("sec-websocket-protocol").and_then(|name| name.to_str().ok());
        let encoding = chosen.map_or(Some(Encoding::Json), Encoding::from_subprotocol);
        let encoding = encoding.filter(|encoding| offer.is_empty() || offer.contains(encoding));
        let Some(encoding) = encoding else {
            return Err(wrong(format!("chose the sub-protocol {chosen:?}"), expected()));
        };
        let (waiting, early) = (BTreeMap::new(), VecDeque::new());
        Ok(Link { ws, encoding, patience, last: 0, waiting, early })
    }

    // ---- out --------------------------------------------------------------------------------------------------------

    /// Sends a raw frame. A lost connection is detected at the next read.
    pub async fn frame(&mut self, frame: Message) {
        let _ = self.ws.send(frame).await;
    }

    /// Sends bytes as a frame of the connection's type: text for JSON, binary for MessagePack.
    pub async fn bytes(&mut self, bytes: Vec<u8>) {
        let frame = match self.encoding {
            Encoding::MsgPack => Message::binary(bytes),
            Encoding::Json => Message::Text(Utf8Bytes::try_from(bytes).unwrap_or_default()),
        };
        self.frame(frame).await;
    }

    /// Writes bytes to the socket below the WebSocket layer, to send invalid frames.
    pub async fn beneath(&mut self, bytes: &[u8]) {
        let _ = self.ws.get_mut().write_all(bytes).await;
    }

    /// Registers a request that was sent by other means, so that its reply is expected.
    pub fn expect(&mut self, id: Id, words: &str) {
        self.waiting.insert(id, truncate_text(words));
    }

    /// Sends a map unchanged and expects a reply to its `id`.
    pub async fn say(&mut self, message: &Value) {
        if let Some(id) = message["id"].as_i64() {
            self.expect(id, &message.to_string());
        }
        self.say_only(message).await;
    }

    /// Sends a map unchanged and expects no reply.
    pub async fn say_only(&mut self, message: &Value) {
        let bytes = match self.encoding {
            Encoding::Json => message.to_string().into_bytes(),
            Encoding::MsgPack => rmp_serde::to_vec_named(message).unwrap_or_default(),
        };
        self.bytes(bytes).await;
    }

    /// Sends a request under the next `id` and returns that `id`.
    pub async fn ask(&mut self, message: &ClientMessage) -> LawResult<Id> {
        self.last += 1;
        self.ask_as(Some(self.last), message).await?;
        Ok(self.last)
    }

    /// Sends a message under this `id`.
    pub async fn ask_as(&mut self, id: Option<Id>, message: &ClientMessage) -> LawResult {
        let unwritten =
            |e: &dyn std::fmt::Display| LawFailure::Skip(format!("a message of the check cannot be encoded: {e}"));
        let bytes = self.encoding.encode_client(id, message).map_err(|e| unwritten(&e))?;
        if let Some(id) = id {
            let words = Encoding::Json.encode_client(None, message).map_err(|e| unwritten(&e))?;
            self.expect(id, &String::from_utf8_lossy(&words));
        }
        self.bytes(bytes).await;
        Ok(())
    }

    /// Sends a request and waits for its reply.
    pub async fn call(&mut self, message: ClientMessage) -> LawResult<IncomingMessage> {
        let id = self.ask(&message).await?;
        self.reply(id).await
    }

    /// Sends a map as a request under the next `id` and waits for the reply.
    pub async fn demand(&mut self, mut message: Value) -> LawResult<IncomingMessage> {
        self.last += 1;
        message["id"] = self.last.into();
        self.say(&message).await;
        self.reply(self.last).await
    }

    /// Sends `hello`, whose `id` is not part of the session's ids, and returns the `welcome`.
    pub async fn greet(&mut self, hello: Hello) -> LawResult<Box<Welcome>> {
        self.ask_as(Some(0), &ClientMessage::Hello(Box::new(hello))).await?;
        self.reply(0).await?.welcome()
    }

    // ---- in ---------------------------------------------------------------------------------------------------------

    /// Waits for the reply to a request.
    pub async fn reply(&mut self, id: Id) -> LawResult<IncomingMessage> {
        if let Some(at) = self.early.iter().position(|heard| heard.re == Some(id)) {
            return self
                .early
                .remove(at)
                .ok_or_else(|| wrong("sent no reply to a request", "a reply to every request"));
        }
        loop {
            let heard = self.read().await?;
            if heard.re == Some(id) {
                return Ok(heard);
            }
            self.early.push_back(heard);
        }
    }

    /// Returns the next message, buffered or read.
    pub async fn hear(&mut self) -> LawResult<IncomingMessage> {
        match self.early.pop_front() {
            Some(heard) => Ok(heard),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> LawResult<IncomingMessage> {
        match self.read_or_end().await? {
            Ok(heard) => Ok(heard),
            Err(LinkEnd::Lost) => Err(wrong("broke the connection", self.waited_for())),
            Err(LinkEnd::Closed(code, name)) => {
                Err(wrong(format!("closed the connection with {code} {name}"), self.waited_for()))
            }
        }
    }

    /// Returns true if messages are buffered.
    pub fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Returns the next message, or the end of the connection.
    pub async fn hear_or_end(&mut self) -> LawResult<Result<IncomingMessage, LinkEnd>> {
        match self.early.pop_front() {
            Some(heard) => Ok(Ok(heard)),
            None => self.read_or_end().await,
        }
    }

    async fn read_or_end(&mut self) -> LawResult<Result<IncomingMessage, LinkEnd>> {
        loop {
            let frame = tokio::time::timeout(self.patience, self.ws.next()).await;
            let frame = frame.map_err(|_| {
                let did = format!("sent nothing for {} s", self.patience.as_secs());
                wrong(did, self.waited_for())
            })?;
            return match frame {
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Text(text))) => self.take(Encoding::Json, text.as_bytes()).map(Ok),
                Some(Ok(Message::Binary(bytes))) => self.take(Encoding::MsgPack, &bytes).map(Ok),
                Some(Ok(Message::Close(Some(f)))) => Ok(Err(LinkEnd::Closed(f.code.into(), f.reason.to_string()))),
                None | Some(Err(_) | Ok(Message::Close(None))) => Ok(Err(LinkEnd::Lost)),
            };
        }
    }

    fn take(&mut self, encoding: Encoding, frame: &[u8]) -> LawResult<IncomingMessage> {
        if encoding != self.encoding {
            let name = self.encoding.subprotocol();
            return Err(wrong(format!("sent a frame of {encoding:?} under {name}"), "one encoding per connection"));
        }
        let (re, message, raw) = strict::read(encoding, frame).map_err(|(why, came)| {
            let did = format!("sent {}: {why}", truncate_text(&came.to_string()));
            wrong(did, "a valid message of the protocol")
        })?;
        let asked = match re {
            None => String::new(),
            Some(re) => self.waiting.remove(&re).ok_or_else(|| {
                let did = format!("answered request {re}, which expects no reply: {}", truncate_text(&raw.to_string()));
                wrong(did, "exactly one reply for each request")
            })?,
        };
        Ok(IncomingMessage { raw, re, message, asked })
    }

    fn waited_for(&self) -> String {
        match self.waiting.iter().next() {
            Some((id, asked)) => format!("a reply to request {id}, {asked}"),
            None => "the next message".into(),
        }
    }

    /// Drops the connection without a close frame.
    pub fn cut(self) {
        drop(self);
    }

    /// Reads until the connection ends. Returns the kind of end and the messages received before it.
    pub async fn ended(&mut self) -> LawResult<(LinkEnd, Vec<IncomingMessage>)> {
        let mut said = Vec::new();
        loop {
            match self.hear_or_end().await? {
                Ok(heard) => said.push(heard),
                Err(ended) => return Ok((ended, said)),
            }
        }
    }
}
