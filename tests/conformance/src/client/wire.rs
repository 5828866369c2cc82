//! Server side of a WebSocket connection, including the faults that a script injects.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use ludex_protocol::error::Close;
use ludex_protocol::{ClientMessage, Encoding, Id, ServerMessage};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::trace::{self, Trace};
use crate::CheckFault;

/// Time limit for a client to notice that its connection was cut.
const LETS_GO: Duration = Duration::from_secs(1);

/// Message of the client, with its `id`.
pub(super) type ReceivedMessage = (Option<Id>, ClientMessage);

/// WebSocket connection to the client.
pub(super) struct ScriptSocket {
    ws: WebSocketStream<TcpStream>,
    encoding: Encoding,
    /// Token from the `Authorization` header.
    pub bearer: Option<String>,
    /// Requested path, including the query.
    pub uri: String,
    trace: Trace,
}

impl ScriptSocket {
    /// Accepts the WebSocket upgrade of a client.
    pub async fn accept(stream: TcpStream, mut trace: Trace) -> Result<ScriptSocket, CheckFault> {
        let (mut uri, mut bearer, mut encoding) = (String::new(), None, Encoding::Json);
        let upgrade = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
            uri = request.uri().to_string();
            let header = |name| request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
            bearer = header("authorization").find_map(|value| value.strip_prefix("Bearer ").map(str::to_owned));
            let offered = header("sec-websocket-protocol").flat_map(|list| list.split(',')).map(str::trim);
            if let Some(chosen) = offered.into_iter().find_map(Encoding::from_subprotocol) {
                encoding = chosen;
                let name = HeaderValue::from_static(chosen.subprotocol());
                response.headers_mut().insert("sec-websocket-protocol", name);
            }
            Ok(response)
        };
        let accepted = tokio_tungstenite::accept_hdr_async(stream, upgrade).await;
        let ws =
            accepted.map_err(|e| CheckFault::new(1, format!("sent no valid WebSocket upgrade ({e})"), "an upgrade"))?;
        trace.note(&format!("connected to {uri}, {}", encoding.subprotocol()));
        Ok(ScriptSocket { ws, encoding, bearer, uri, trace })
    }

    /// Returns true for JSON. Unknown fields can be added to views with tensors in JSON only, since MessagePack sends
    /// tensors as bins.
    fn is_text(&self) -> bool {
        self.encoding == Encoding::Json
    }

    /// Sends a message; with `extras`, unknown fields are added to all maps. A disconnected client is detected at the
    /// next read.
    pub async fn send(&mut self, re: Option<Id>, message: &ServerMessage, extras: bool) -> Result<(), CheckFault> {
        let internal = |e: &dyn std::fmt::Display| {
            CheckFault::new(0, format!("internal error of the check: {e}"), "no internal error")
        };
        if !extras {
            let frame = self.encoding.encode_server(re, message).map_err(|e| internal(&e))?;
            return self.frame(frame).await;
        }
        let json = Encoding::Json.encode_server(re, message).map_err(|e| internal(&e))?;
        let mut message: Value = serde_json::from_slice(&json).map_err(|e| internal(&e))?;
        decorate(&mut message, self.is_text());
        self.value(&message).await
    }

    /// Sends a message that is not in this version of the protocol.
    pub async fn value(&mut self, message: &Value) -> Result<(), CheckFault> {
        let frame = match self.encoding {
            Encoding::Json => serde_json::to_vec(message).map_err(|e| e.to_string()),
            Encoding::MsgPack => rmp_serde::to_vec_named(message).map_err(|e| e.to_string()),
        };
        let frame =
            frame.map_err(|e| CheckFault::new(0, format!("internal error of the check: {e}"), "no internal error"))?;
        self.frame(frame).await
    }

    async fn frame(&mut self, frame: Vec<u8>) -> Result<(), CheckFault> {
        self.trace.frame("kit", self.encoding, &frame);
        let message = match self.encoding {
            Encoding::MsgPack => Message::binary(frame),
            Encoding::Json => Message::text(String::from_utf8_lossy(&frame).into_owned()),
        };
        let _ = self.ws.send(message).await;
        Ok(())
    }

    /// Returns the next message, or `None` if the client disconnected. Cancel safe.
    pub async fn read(&mut self) -> Result<Option<ReceivedMessage>, CheckFault> {
        loop {
            let frame = match self.ws.next().await {
                None | Some(Ok(Message::Close(_))) => {
                    self.trace.note("the client closed the connection");
                    return Ok(None);
                }
                Some(Err(error)) => {
                    self.trace.note(&format!("the connection ended: {error}"));
                    return self.broken(&error).map_or(Ok(None), Err);
                }
                Some(Ok(frame)) => frame,
            };
            let (kind, wrong) = match (&frame, self.encoding) {
                (Message::Text(_), Encoding::MsgPack) => ("a text frame", true),
                (Message::Binary(_), Encoding::Json) => ("a binary frame", true),
                (Message::Text(_) | Message::Binary(_), _) => ("", false),
                _ => continue,
            };
            let name = self.encoding.subprotocol();
            if wrong {
                return Err(CheckFault::new(1, format!("sent {kind} under {name}"), "one encoding per connection"));
            }
            let bytes = frame.into_data();
            self.trace.frame("client", self.encoding, &bytes);
            let depth = ludex_protocol::Limits::default().depth;
            return match self.encoding.decode_client(&bytes, depth) {
                Ok(said) => Ok(Some(said)),
                Err(rejected) => {
                    let shown = ludex_protocol::error::truncate_text(&trace::frame_text(self.encoding, &bytes));
                    let did = format!("sent {shown}, which is answered with `{}`", rejected.error);
                    Err(CheckFault::new(1, did, "a message of the protocol"))
                }
            };
        }
    }

    /// Returns a fault if the client caused the connection to end. A cut connection is not the client's fault.
    fn broken(&self, error: &Error) -> Option<CheckFault> {
        let name = self.encoding.subprotocol();
        Some(match error {
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => return None,
            Error::Protocol(ProtocolError::UnmaskedFrameFromClient) => CheckFault::new(
                1,
                "sent a frame without a mask",
                "every frame of a client masked (RFC 6455, section 5.3)",
            ),
            Error::Utf8(_) => CheckFault::new(
                1,
                format!("sent a text frame that is not UTF-8 under {name}"),
                "UTF-8 in text frames, MessagePack in binary ones",
            ),
            Error::Protocol(error) => CheckFault::new(1, format!("broke the WebSocket protocol: {error}"), "RFC 6455"),
            Error::Capacity(error) => {
                CheckFault::new(1, format!("sent an oversized message: {error}"), "shorter messages")
            }
            _ => return None,
        })
    }

    /// Cuts the connection and returns the messages that were in flight.
    pub async fn cut(&mut self) -> Result<Vec<ReceivedMessage>, CheckFault> {
        self.trace.note("the check cuts the connection");
        let _ = self.ws.get_mut().shutdown().await;
        self.rest().await
    }

    /// Sends a close frame and returns the messages that were in flight.
    pub async fn close(&mut self, close: Close) -> Result<Vec<ReceivedMessage>, CheckFault> {
        self.trace.note(&format!("the check closes the connection with {} {}", close.code, close.name));
        let frame = CloseFrame { code: close.code.into(), reason: close.name.into() };
        let _ = self.ws.send(Message::Close(Some(frame))).await;
        self.rest().await
    }

    async fn rest(&mut self) -> Result<Vec<ReceivedMessage>, CheckFault> {
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(LETS_GO, async {
            while let Ok(Some(said)) = self.read().await {
                rest.push(said);
            }
        })
        .await;
        Ok(rest)
    }
}

/// Adds unknown fields to every map of a message, except to parameters, which belong to the game.
fn decorate(value: &mut Value, tensors: bool) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                let kept = name == "params" || (!tensors && matches!(name.as_str(), "tensor" | "info"));
                if !kept {
                    decorate(inner, tensors);
                }
            }
            map.insert("x_later".into(), json!({ "is": ["not", { "known": 1.5 }, null] }));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| decorate(inner, tensors)),
        _ => {}
    }
}
