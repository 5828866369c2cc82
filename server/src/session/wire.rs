//! One WebSocket: frames in and out, and a close that the client gets to see.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::{Sink as _, Stream as _, StreamExt as _};
use ludex_protocol::error::{Close, ResumeRule, close};
use ludex_protocol::{Encoding, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

pub(crate) use super::metered::Io;
use super::metered::Metered;

/// Bytes read from the socket at once. Every connection holds such a buffer, and clears it before each read.
const READ_BUFFER: usize = 6 << 10;
/// Bytes that are collected before they are written without a flush.
const WRITE_BUFFER: usize = 64 << 10;
/// Time that a closing connection is given to take the last frames.
const LINGER: Duration = Duration::from_secs(1);
/// The same when the server stops: nobody waits for clients that do not listen.
const LINGER_STOPPING: Duration = Duration::from_millis(200);

/// The WebSocket itself was misused.
const WEBSOCKET: Close = Close { code: 1002, name: "websocket", resume: ResumeRule::Yes };

/// Why nothing more can be read or written.
pub(crate) enum Broken {
    /// The connection is gone.
    Lost,
    /// It is to be closed with this.
    Close(Close),
}

impl From<tungstenite::Error> for Broken {
    fn from(e: tungstenite::Error) -> Self {
        match e {
            tungstenite::Error::Capacity(_) => Broken::Close(close::TOO_LARGE),
            tungstenite::Error::Utf8(_) => Broken::Close(close::NOT_UTF8),
            tungstenite::Error::WriteBufferFull(_) => Broken::Close(close::TOO_SLOW),
            tungstenite::Error::Io(e) if e.kind() == std::io::ErrorKind::QuotaExceeded => {
                Broken::Close(close::TOO_LARGE)
            }
            tungstenite::Error::Protocol(e) => match e {
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake => Broken::Lost,
                _ => Broken::Close(WEBSOCKET),
            },
            _ => Broken::Lost,
        }
    }
}

/// A WebSocket and the encoding that it speaks.
pub(crate) struct ServerSocket<S> {
    ws: WebSocketStream<Metered<S>>,
    pub encoding: Encoding,
}

impl<S: Io> ServerSocket<S> {
    /// Takes over a connection after its upgrade; `read` came after the request's head.
    pub async fn new(io: S, read: Vec<u8>, encoding: Encoding, limits: &Limits) -> Self {
        let (frame, message) = (limits.frame_bytes as usize, limits.message_bytes as usize);
        // In JSON a byte of a column takes up to four, an f8 up to twenty for its eight.
        let reply = limits.batch_bytes as usize * 4 + (1 << 20);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_write_buffer_size(WRITE_BUFFER + 2 * reply)
            .max_frame_size(Some(frame))
            .max_message_size(Some(frame.max(message)));
        let io = Metered::new(io, (limits.hello_bytes as usize).saturating_sub(read.len()));
        ServerSocket { ws: WebSocketStream::from_partially_read(io, read, Role::Server, Some(config)).await, encoding }
    }

    /// From now on the client may send as much as the limits allow.
    pub fn welcome(&mut self) {
        self.ws.get_mut().open();
    }

    /// The next message.
    pub async fn next(&mut self) -> Result<Message, Broken> {
        self.ws.next().await.unwrap_or(Err(tungstenite::Error::ConnectionClosed)).map_err(Broken::from)
    }

    /// The next message if one is here already.
    pub async fn ready(&mut self) -> Option<Result<Message, Broken>> {
        poll_fn(|cx| {
            Poll::Ready(match Pin::new(&mut self.ws).poll_next(cx) {
                Poll::Ready(Some(read)) => Some(read.map_err(Broken::from)),
                Poll::Ready(None) => Some(Err(Broken::Lost)),
                Poll::Pending => None,
            })
        })
        .await
    }

    /// Waits until a message can be queued, writing what is queued if there is much of it.
    pub async fn room(&mut self) -> Result<(), Broken> {
        poll_fn(|cx| Pin::new(&mut self.ws).poll_ready(cx)).await.map_err(Broken::from)
    }

    /// Queues a message; there must be [`room`](Self::room).
    pub fn push(&mut self, message: Message) -> Result<(), Broken> {
        Pin::new(&mut self.ws).start_send(message).map_err(Broken::from)
    }

    /// Writes everything that is queued.
    pub async fn flush(&mut self) -> Result<(), Broken> {
        poll_fn(|cx| Pin::new(&mut self.ws).poll_flush(cx)).await.map_err(Broken::from)
    }

    /// Closes the connection with a code, and waits a moment for the client to take it.
    pub async fn close(mut self, with: Close) {
        let frame = CloseFrame { code: with.code.into(), reason: with.name.into() };
        let gone = async {
            self.ws.close(Some(frame)).await.ok()?;
            self.finish().await
        };
        let stopping = with == close::RESTART || with == close::GOING_AWAY;
        let _ = tokio::time::timeout(if stopping { LINGER_STOPPING } else { LINGER }, gone).await;
    }

    /// Answers the client's close.
    pub async fn closed(mut self) {
        let gone = async {
            self.flush().await.ok()?;
            self.finish().await
        };
        let _ = tokio::time::timeout(LINGER, gone).await;
    }

    /// Reads what still comes: a socket that is dropped with unread bytes resets, and the client never sees the code.
    async fn finish(&mut self) -> Option<()> {
        let io = self.ws.get_mut();
        io.shutdown().await.ok()?;
        let mut rest = vec![0; 16 << 10];
        while io.read(&mut rest).await.ok()? > 0 {}
        Some(())
    }
}
