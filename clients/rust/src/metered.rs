//! Byte stream with a limit on the bytes of one message.

use std::io::{Error, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Result};

/// Number of bytes that may still be read before the next message ends. Clones share the number.
#[derive(Clone, Debug)]
pub(crate) struct ReadAllowance(Arc<AtomicUsize>);

impl ReadAllowance {
    pub fn new(bytes: usize) -> Self {
        ReadAllowance(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Allows `bytes` more bytes, instead of the remaining ones.
    pub fn set(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Uses `bytes`. Returns false if fewer were allowed.
    fn take(&self, bytes: usize) -> bool {
        let used = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        used.is_ok()
    }
}

/// Byte stream that fails once more bytes were read than allowed.
pub(crate) struct Metered<S> {
    pub io: S,
    pub allowance: ReadAllowance,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, to))?;
        if !self.allowance.take(to.filled().len() - before) {
            let why = "the server sent a message above the announced size";
            return Poll::Ready(Err(Error::new(ErrorKind::QuotaExceeded, why)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
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
        from: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn bytes_above_allowance_are_refused() {
        let (mut server, io) = duplex(64);
        let allowance = ReadAllowance::new(4);
        let mut client = Metered { io, allowance: allowance.clone() };
        let mut read = [0; 4];
        server.write_all(b"abcdef").await.unwrap();
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(client.read(&mut read).await.unwrap_err().kind(), ErrorKind::QuotaExceeded);
        allowance.set(2);
        server.write_all(b"gh").await.unwrap();
        assert_eq!(client.read(&mut read).await.unwrap(), 2);
    }
}
