//! WebSockets of doors: the upgrade of an HTTP request, and a socket with bounded messages that closes reliably.

use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

/// Size of the read buffer and of the write buffer in bytes. Each socket has its own buffers.
const BUFFER: usize = 6 << 10;

/// Maximum time for the client of a closing socket to receive the last frames.
const LINGER: Duration = Duration::from_secs(1);

/// Request for a WebSocket, as an extractor of handlers.
pub(crate) struct Upgrade {
    accept: HeaderValue,
    upgraded: OnUpgrade,
}

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Response<Body>;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let refused = |status: StatusCode, why: &str| (status, why.to_owned()).into_response();
        let headers = &parts.headers;
        if !has(headers, header::UPGRADE, "websocket") || !has(headers, header::CONNECTION, "upgrade") {
            let mut answer = refused(StatusCode::UPGRADE_REQUIRED, "expected a request for a WebSocket");
            answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            return Err(answer);
        }
        if !has(headers, header::SEC_WEBSOCKET_VERSION, "13") {
            let mut answer = refused(StatusCode::UPGRADE_REQUIRED, "expected WebSocket version 13");
            answer.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            return Err(answer);
        }
        let accept = headers.get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
        let accept = accept.and_then(|accept| HeaderValue::from_str(&accept).ok());
        match (accept, parts.extensions.remove::<OnUpgrade>()) {
            (Some(accept), Some(upgraded)) => Ok(Upgrade { accept, upgraded }),
            _ => Err(refused(StatusCode::BAD_REQUEST, "expected HTTP/1.1 and the header Sec-WebSocket-Key")),
        }
    }
}

impl Upgrade {
    /// Accepts the WebSocket: returns the response, and starts a task that serves the socket. A message of the client
    /// may have `most` bytes.
    pub(crate) fn accept<F>(self, most: usize, serve: impl FnOnce(DoorSocket) -> F + Send + 'static) -> Response<Body>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Upgrade { accept, upgraded } = self;
        tokio::spawn(async move {
            match upgraded.await {
                Ok(io) => serve(DoorSocket::new(io, most).await).await,
                Err(e) => tracing::debug!(error = %e, "WebSocket upgrade failed"),
            }
        });
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let fields = answer.headers_mut();
        fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        fields.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        answer
    }
}

fn has(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|w| w.trim().eq_ignore_ascii_case(word))
}

/// Frame from a client, or the end of its connection.
pub(crate) enum Frame {
    /// Text message of the client.
    Text(String),
    /// Binary message, which no door expects.
    Binary,
    /// Frame without a message, such as a pong.
    Control,
    /// Message beyond the limit; the socket can only be closed.
    TooLong,
    /// End of the connection, or a violation of the protocol.
    Gone,
}

/// WebSocket after its upgrade.
pub(crate) struct DoorSocket {
    ws: WebSocketStream<TokioIo<Upgraded>>,
}

impl DoorSocket {
    async fn new(io: Upgraded, most: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_frame_size(Some(most))
            .max_message_size(Some(most));
        DoorSocket { ws: WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Server, Some(config)).await }
    }

    /// Waits for the next frame. Dropping the future loses no frame.
    pub(crate) async fn next(&mut self) -> Frame {
        match self.ws.next().await {
            Some(Ok(Message::Text(text))) => Frame::Text(text.as_str().to_owned()),
            Some(Ok(Message::Binary(_))) => Frame::Binary,
            Some(Ok(Message::Close(_)) | Err(Error::Io(_))) | None => Frame::Gone,
            Some(Ok(_)) => Frame::Control,
            Some(Err(Error::Capacity(_))) => Frame::TooLong,
            Some(Err(_)) => Frame::Gone,
        }
    }

    /// Sends a text message and waits until it is written. Returns false if the connection is lost.
    pub(crate) async fn send(&mut self, text: String) -> bool {
        self.ws.send(Message::text(text)).await.is_ok()
    }

    /// Sends a ping. Returns false if the connection is lost.
    pub(crate) async fn ping(&mut self) -> bool {
        self.ws.send(Message::Ping(Bytes::new())).await.is_ok()
    }

    /// Closes the connection with a code, and waits briefly for the client to receive the code. Reads what the client
    /// still sends, since unread data would reset the connection.
    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let gone = async {
            self.ws.close(Some(CloseFrame { code: code.into(), reason: reason.into() })).await.ok()?;
            let io = self.ws.get_mut();
            io.shutdown().await.ok()?;
            let mut rest = vec![0; 16 << 10];
            while io.read(&mut rest).await.ok()? > 0 {}
            Some(())
        };
        let _ = tokio::time::timeout(LINGER, gone).await;
    }
}
