//! WebSocket connection: reads and writes frames.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use futures_util::{SinkExt as _, StreamExt as _};
use ludex_protocol::message::{Hello, Welcome};
use ludex_protocol::{ClientMessage, DecodeError, Encoding, ErrorCode, Id, Limits, ServerMessage};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::UrlError;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Uri};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, client_async_tls_with_config};

use crate::error::Error;
use crate::metered::MeteredStream;
use crate::options::Options;
use crate::tls;
use crate::transport::{LocalConnector, Transport};

/// The id of `hello`. Ids of other requests start at 1.
pub(crate) const HELLO_ID: Id = 0;

/// Maximum nesting depth of messages from the server. Many JSON parsers stop at 127. The limit that the server
/// announces applies only to messages from clients.
const DEPTH: u32 = 127;

/// Maximum size of a message from the server in bytes, whatever the server announces. Batches with observations may be
/// large.
const LARGEST: usize = 1 << 30;

/// Maximum number of bytes until the reply to `hello`, which announces the server's limits.
const LARGEST_WELCOME: usize = 4 << 20;

/// Size of the read buffer of a connection within the process, in bytes. A process may have thousands of them, and each
/// clears its buffer before each read.
const LOCAL_READ_BUFFER: usize = 6 << 10;

/// Returns the maximum size of a message from a server with these limits. An array of bytes has up to four characters
/// for each byte in JSON. The rest of the message needs room too.
fn largest(limits: &Limits, encoding: Encoding) -> usize {
    let factor = if encoding == Encoding::Json { 4 } else { 2 };
    let bytes = limits.batch_bytes.saturating_mul(factor).saturating_add(limits.message_bytes);
    usize::try_from(bytes).unwrap_or(usize::MAX).min(LARGEST)
}

/// Match id, seat and number of a frame that could not be decoded.
#[derive(Debug, Deserialize)]
pub(crate) struct FramePosition {
    #[serde(rename = "match")]
    pub match_id: String,
    pub viewer: Option<u32>,
    pub seq: u64,
}

/// Something that arrived from the server.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message, with its `re` if it is a reply.
    Message(Option<Id>, ServerMessage),
    /// A message that cannot be decoded, because the server is newer or faulty. The error has the message's `re`; the
    /// position is present for frames of a match.
    Unread(DecodeError, Option<FramePosition>),
    /// A frame without a message, such as a pong, which shows that the server is alive.
    Alive,
    /// The server closed the connection.
    Closed { code: u16, reason: String },
    /// The connection was lost for this reason.
    Lost(String),
}

/// A connection. While it waits for a frame, queued frames are written, so that neither side can block the other.
pub(crate) struct ClientSocket {
    ws: WebSocketStream<MaybeTlsStream<MeteredStream<Transport>>>,
    /// Number of bytes that may still be read before the next message ends.
    left: Arc<AtomicUsize>,
    /// Maximum size of a message in bytes.
    largest: usize,
    encoding: Encoding,
    out: VecDeque<Message>,
    dirty: bool,
}

/// Reason why a connection attempt failed, and a flag for errors that a retry may resolve.
pub(crate) struct ConnectError {
    pub error: Error,
    pub retry: bool,
    pub after_ms: Option<u32>,
}

impl ConnectError {
    fn fatal(error: Error) -> Self {
        ConnectError { error, retry: false, after_ms: None }
    }

    fn transient(error: Error) -> Self {
        ConnectError { error, retry: true, after_ms: None }
    }
}

impl ClientSocket {
    /// Connects, sends `hello` and waits for the reply.
    pub async fn open(
        url: &str,
        options: &Options,
        hello: Hello,
    ) -> Result<(ClientSocket, Box<Welcome>), ConnectError> {
        let failed = |why: String| Error::Connect { url: url.to_owned(), why };
        let attempt = async {
            let mut wire = match &options.local {
                Some(local) => ClientSocket::connect_local(url, local, options.encoding).await?,
                None => ClientSocket::connect(url, options).await?,
            };
            let message = ClientMessage::Hello(Box::new(hello));
            let frame = options.encoding.encode_client(Some(HELLO_ID), &message);
            wire.send(frame.map_err(|e| ConnectError::fatal(e.into()))?);
            let welcome = wire.welcome(url).await?;
            wire.largest = largest(&welcome.limits, options.encoding);
            wire.left.store(wire.largest, Ordering::Relaxed);
            Ok((wire, welcome))
        };
        let timely = tokio::time::timeout(options.timeout, attempt).await;
        timely.unwrap_or_else(|_| Err(ConnectError::transient(failed("the server did not respond in time".into()))))
    }

    async fn connect(url: &str, options: &Options) -> Result<ClientSocket, ConnectError> {
        let failed = |e: &tungstenite::Error| Error::Connect {
            url: url.to_owned(),
            why: tls::failure_hint(e).unwrap_or_else(|| e.to_string()),
        };
        let mut request = url.into_client_request().map_err(|e| ConnectError::fatal(failed(&e)))?;
        let protocol = HeaderValue::from_static(options.encoding.subprotocol());
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let connector = match (&options.tls, request.uri().scheme_str()) {
            (Some(config), Some("wss")) => Some(Connector::Rustls(config.clone())),
            (None, Some("wss")) => {
                // A provider that the program has already installed is kept.
                let _ = rustls::crypto::ring::default_provider().install_default();
                None
            }
            _ => None,
        };
        let left = Arc::new(AtomicUsize::new(LARGEST_WELCOME));
        let connected = async {
            let io = MeteredStream { io: Transport::Tcp(tcp(request.uri()).await?), left: left.clone() };
            client_async_tls_with_config(request, io, Some(web_socket_config()), connector).await
        };
        let connected = connected.await;
        let (ws, response) = connected.map_err(|e| match &e {
            tungstenite::Error::Url(_) | tungstenite::Error::HttpFormat(_) => ConnectError::fatal(failed(&e)),
            tungstenite::Error::Http(answer) if answer.status().is_client_error() => ConnectError::fatal(failed(&e)),
            _ if tls::failure_hint(&e).is_some() => ConnectError::fatal(failed(&e)),
            _ => ConnectError::transient(failed(&e)),
        })?;
        // A server that chose no subprotocol uses JSON.
        let chosen = response.headers().get("sec-websocket-protocol").and_then(|name| name.to_str().ok());
        let encoding = chosen.and_then(Encoding::from_subprotocol).unwrap_or(Encoding::Json);
        if encoding != options.encoding {
            let why = format!("the server does not support {}", options.encoding.subprotocol());
            return Err(ConnectError::fatal(Error::Connect { url: url.to_owned(), why }));
        }
        Ok(ClientSocket::new(ws, left, encoding))
    }

    /// Connects to a server in the same process.
    async fn connect_local(
        url: &str,
        local: &LocalConnector,
        encoding: Encoding,
    ) -> Result<ClientSocket, ConnectError> {
        let failed = |e: std::io::Error| Error::Connect { url: url.to_owned(), why: e.to_string() };
        let stream = local.open().map_err(|e| ConnectError::transient(failed(e)))?;
        let left = Arc::new(AtomicUsize::new(LARGEST_WELCOME));
        let io = MaybeTlsStream::Plain(MeteredStream { io: Transport::Local(stream), left: left.clone() });
        let config = web_socket_config().read_buffer_size(LOCAL_READ_BUFFER);
        let ws = WebSocketStream::from_raw_socket(io, Role::Client, Some(config)).await;
        Ok(ClientSocket::new(ws, left, encoding))
    }

    fn new(
        ws: WebSocketStream<MaybeTlsStream<MeteredStream<Transport>>>,
        left: Arc<AtomicUsize>,
        encoding: Encoding,
    ) -> Self {
        ClientSocket { ws, left, largest: LARGEST_WELCOME, encoding, out: VecDeque::new(), dirty: false }
    }

    /// Reads frames until the reply to `hello` arrives.
    async fn welcome(&mut self, url: &str) -> Result<Box<Welcome>, ConnectError> {
        loop {
            match self.next().await {
                Incoming::Message(Some(HELLO_ID) | None, ServerMessage::Error(error)) => {
                    let (retry, after_ms) = (error.retry, error.after_ms.map(NonZeroU32::get));
                    return Err(ConnectError { error: Error::Refused(error), retry, after_ms });
                }
                Incoming::Message(Some(HELLO_ID), ServerMessage::Welcome(welcome)) => return Ok(welcome),
                Incoming::Unread(rejected, _) if rejected.id == Some(HELLO_ID) => {
                    return Err(ConnectError::fatal(Error::Decode(Box::new(rejected))));
                }
                Incoming::Closed { code, reason } => {
                    use ludex_protocol::error::{ResumeRule, close};
                    let retry = close::of(code).is_some_and(|close| close.resume != ResumeRule::No);
                    return Err(ConnectError { error: Error::Closed { code, reason }, retry, after_ms: None });
                }
                Incoming::Lost(why) => {
                    return Err(ConnectError::transient(Error::Connect { url: url.to_owned(), why }));
                }
                Incoming::Message(..) | Incoming::Unread(..) | Incoming::Alive => {}
            }
        }
    }

    /// Queues a frame, to be sent while [`next`](Self::next) runs.
    pub fn send(&mut self, frame: Vec<u8>) {
        let message = match self.encoding {
            Encoding::MsgPack => Message::binary(frame),
            // The encoder writes UTF-8. If it did not, the server would report an error.
            Encoding::Json => Message::text(String::from_utf8_lossy(&frame).into_owned()),
        };
        self.out.push_back(message);
    }

    /// Queues a ping, which the server must reply to.
    pub fn ping(&mut self) {
        self.out.push_back(Message::Ping(Default::default()));
    }

    /// Waits for the next frame. If the future is dropped, no frame is lost.
    pub async fn next(&mut self) -> Incoming {
        poll_fn(|cx| {
            if let Poll::Ready(Err(e)) = self.poll_out(cx) {
                // Frames from the server, such as a close with its reason, may still be unread.
                if !matches!(e, tungstenite::Error::AlreadyClosed | tungstenite::Error::ConnectionClosed) {
                    return Poll::Ready(Incoming::Lost(e.to_string()));
                }
            }
            self.ws.poll_next_unpin(cx).map(|read| self.take(read))
        })
        .await
    }

    /// Closes the connection and, if possible, waits for the server's close frame.
    pub async fn close(&mut self) {
        while poll_fn(|cx| self.poll_out(cx)).await.is_ok() && !self.out.is_empty() {}
        let _ = self.ws.close(None).await;
        while let Some(Ok(_)) = self.ws.next().await {}
    }

    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), tungstenite::Error>> {
        while !self.out.is_empty() {
            ready!(self.ws.poll_ready_unpin(cx))?;
            if let Some(message) = self.out.pop_front() {
                self.ws.start_send_unpin(message)?;
                self.dirty = true;
            }
        }
        if self.dirty {
            ready!(self.ws.poll_flush_unpin(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }

    fn take(&self, read: Option<Result<Message, tungstenite::Error>>) -> Incoming {
        if let Some(Ok(Message::Text(_) | Message::Binary(_))) = &read {
            self.left.store(self.largest, Ordering::Relaxed);
        }
        match read {
            Some(Ok(Message::Text(text))) => self.decode(Encoding::Json, text.as_bytes()),
            Some(Ok(Message::Binary(bytes))) => self.decode(Encoding::MsgPack, &bytes),
            Some(Ok(Message::Close(Some(frame)))) => {
                Incoming::Closed { code: frame.code.into(), reason: frame.reason.to_string() }
            }
            Some(Ok(Message::Close(None))) | None => Incoming::Lost("the server closed the connection".into()),
            Some(Ok(_)) => Incoming::Alive,
            Some(Err(e)) => Incoming::Lost(e.to_string()),
        }
    }

    fn decode(&self, encoding: Encoding, frame: &[u8]) -> Incoming {
        if encoding != self.encoding {
            return Incoming::Lost("the server sent a frame whose encoding was not negotiated".into());
        }
        match encoding.decode_server(frame, DEPTH) {
            Ok((re, message)) => Incoming::Message(re, message),
            Err(rejected) if rejected.error.code == ErrorCode::BadFrame => Incoming::Lost(rejected.to_string()),
            Err(rejected) => {
                let position = match encoding {
                    Encoding::MsgPack => rmp_serde::from_slice(frame).ok(),
                    Encoding::Json => serde_json::from_slice(frame).ok(),
                };
                Incoming::Unread(rejected, position)
            }
        }
    }
}

fn web_socket_config() -> WebSocketConfig {
    WebSocketConfig::default().max_frame_size(Some(LARGEST)).max_message_size(Some(LARGEST))
}

/// Opens the TCP connection for a WebSocket address.
async fn tcp(uri: &Uri) -> Result<TcpStream, tungstenite::Error> {
    let host = uri.host().ok_or(tungstenite::Error::Url(UrlError::NoHostName))?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("wss") { 443 } else { 80 });
    let stream = TcpStream::connect(format!("{host}:{port}")).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
