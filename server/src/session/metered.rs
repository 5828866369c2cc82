//! Byte stream with a limit on the bytes read before the handshake, and on the time of a write without progress.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Result};
use tokio_io_timeout::TimeoutWriter;

/// Byte stream that can carry a WebSocket.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

/// Byte stream whose writes fail after a time without progress, for example because the client does not read.
pub(crate) type TimedIo<S> = Pin<Box<TimeoutWriter<S>>>;

/// Returns a stream whose writes may wait for `stall` without progress.
pub(crate) fn timed<S: Io>(io: S, stall: Duration) -> TimedIo<S> {
    let mut io = TimeoutWriter::new(io);
    io.set_timeout(Some(stall));
    Box::pin(io)
}

/// Byte stream with a limit on the bytes that may still be read.
pub(crate) struct Metered<S> {
    io: TimedIo<S>,
    /// Number of bytes that may still be read; `None`: unlimited.
    left: Option<usize>,
}

impl<S: Io> Metered<S> {
    pub fn new(io: TimedIo<S>, left: usize) -> Self {
        Metered { io, left: Some(left) }
    }

    /// Removes the limit on the bytes read, and lets writes wait for `stall` without progress.
    pub fn open(&mut self, stall: Duration) {
        self.left = None;
        self.io.as_mut().set_timeout_pinned(Some(stall));
    }
}

impl<S: Io> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, to))?;
        let read = to.filled().len() - before;
        if let Some(left) = &mut self.left {
            *left = left
                .checked_sub(read)
                .ok_or_else(|| Error::new(ErrorKind::QuotaExceeded, "too many bytes before hello"))?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Io> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[std::io::IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
