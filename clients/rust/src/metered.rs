//! Byte stream with a limit on the bytes of one message.

use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Result};

/// Byte stream that fails once more bytes were read than allowed.
pub(crate) struct MeteredStream<S> {
    pub io: S,
    /// Number of bytes that may still be read before the next message ends.
    pub left: Arc<AtomicUsize>,
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, to))?;
        let read = to.filled().len() - before;
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(read));
        let why = "the server sent a message above the announced size";
        Poll::Ready(left.map(drop).map_err(|_| Error::new(ErrorKind::QuotaExceeded, why)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn bytes_above_allowance_are_refused() {
        let (mut server, io) = duplex(64);
        let mut client = MeteredStream { io, left: Arc::new(AtomicUsize::new(4)) };
        let mut read = [0; 4];
        server.write_all(b"abcdef").await.unwrap();
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(client.read(&mut read).await.unwrap_err().kind(), ErrorKind::QuotaExceeded);
    }
}
