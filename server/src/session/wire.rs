//! WebSocket that closes reliably: the client receives the close code.

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

use super::metered::Metered;
pub(crate) use super::metered::{Io, TimedIo, timed};

/// Size of the read buffer in bytes. Each connection has its own read buffer, which is cleared before each read.
const READ_BUFFER: usize = 6 << 10;
/// Number of buffered bytes above which the buffer is written without an explicit flush.
const WRITE_BUFFER: usize = 64 << 10;
/// Maximum time for the client of a closing connection to receive the last frames.
const LINGER: Duration = Duration::from_secs(1);
/// Maximum time for the client of a closing connection to receive the last frames during shutdown.
const LINGER_STOPPING: Duration = Duration::from_millis(200);

/// Close code for a violation of the WebSocket protocol.
const WEBSOCKET: Close = Close { code: 1002, name: "websocket", resume: ResumeRule::Yes };

/// Reason why a socket can no longer be used.
pub(crate) enum Broken {
    /// The connection is lost.
    Lost,
    /// The connection must be closed with this code.
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
            // Write limit of [`TimedIo`]. A timeout of the system has an error code and counts as a lost connection.
            tungstenite::Error::Io(e) if e.kind() == std::io::ErrorKind::TimedOut && e.raw_os_error().is_none() => {
                Broken::Close(close::TOO_SLOW)
            }
            tungstenite::Error::Protocol(e) => match e {
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake => Broken::Lost,
                _ => Broken::Close(WEBSOCKET),
            },
            _ => Broken::Lost,
        }
    }
}

/// WebSocket and the encoding of its messages.
pub(crate) struct ServerSocket<S> {
    ws: WebSocketStream<Metered<S>>,
    pub encoding: Encoding,
}

impl<S: Io> ServerSocket<S> {
    /// Takes over a connection after its HTTP upgrade. `read` holds the bytes received after the request head.
    pub async fn new(io: TimedIo<S>, read: Vec<u8>, encoding: Encoding, limits: &Limits) -> Self {
        let (frame, message) = (limits.frame_bytes as usize, limits.message_bytes as usize);
        // In JSON, a column takes at most four times its size, since a byte takes up to four characters.
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

    /// Lifts the limits of the handshake: from now on, the client may send any number of bytes, and writes may wait for
    /// `write_stall` without progress.
    pub fn welcome(&mut self, write_stall: Duration) {
        self.ws.get_mut().open(write_stall);
    }

    /// Returns the next message.
    pub async fn next(&mut self) -> Result<Message, Broken> {
        self.ws.next().await.unwrap_or(Err(tungstenite::Error::ConnectionClosed)).map_err(Broken::from)
    }

    /// Returns the next message if it is already available.
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

    /// Waits until a message can be queued. If much data is queued, writes the data first.
    pub async fn room(&mut self) -> Result<(), Broken> {
        poll_fn(|cx| Pin::new(&mut self.ws).poll_ready(cx)).await.map_err(Broken::from)
    }

    /// Queues a message; call [`room`](Self::room) first.
    pub fn push(&mut self, message: Message) -> Result<(), Broken> {
        Pin::new(&mut self.ws).start_send(message).map_err(Broken::from)
    }

    /// Writes all queued data.
    pub async fn flush(&mut self) -> Result<(), Broken> {
        poll_fn(|cx| Pin::new(&mut self.ws).poll_flush(cx)).await.map_err(Broken::from)
    }

    /// Closes the connection with a code, and waits briefly for the client to receive the code.
    pub async fn close(mut self, with: Close) {
        let frame = CloseFrame { code: with.code.into(), reason: with.name.into() };
        let gone = async {
            self.ws.close(Some(frame)).await.ok()?;
            self.finish().await
        };
        let stopping = with == close::RESTART || with == close::GOING_AWAY;
        let _ = tokio::time::timeout(if stopping { LINGER_STOPPING } else { LINGER }, gone).await;
    }

    /// Replies to the client's close message.
    pub async fn closed(mut self) {
        let gone = async {
            self.flush().await.ok()?;
            self.finish().await
        };
        let _ = tokio::time::timeout(LINGER, gone).await;
    }

    /// Reads the remaining data before the socket is dropped. Unread data would reset the connection, so that the
    /// client would not receive the close code.
    async fn finish(&mut self) -> Option<()> {
        let io = self.ws.get_mut();
        io.shutdown().await.ok()?;
        let mut rest = vec![0; 16 << 10];
        while io.read(&mut rest).await.ok()? > 0 {}
        Some(())
    }
}
