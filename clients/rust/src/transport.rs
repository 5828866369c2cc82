//! Byte stream of a connection: TCP, or a pipe within the process.

use std::fmt;
use std::io::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;

/// Opens byte streams to a server in the same process, on which WebSocket frames start at once.
#[derive(Clone)]
pub struct LocalConnector(Arc<dyn Fn() -> Result<DuplexStream> + Send + Sync>);

impl LocalConnector {
    /// Wraps a function that opens a stream.
    pub fn new(open: Arc<dyn Fn() -> Result<DuplexStream> + Send + Sync>) -> Self {
        LocalConnector(open)
    }

    pub(crate) fn open(&self) -> Result<DuplexStream> {
        (self.0)()
    }
}

impl fmt::Debug for LocalConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalConnector")
    }
}

/// Byte stream to a server.
pub(crate) enum Transport {
    Tcp(TcpStream),
    Local(DuplexStream),
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        match self.get_mut() {
            Transport::Tcp(io) => Pin::new(io).poll_read(cx, to),
            Transport::Local(io) => Pin::new(io).poll_read(cx, to),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<Result<usize>> {
        match self.get_mut() {
            Transport::Tcp(io) => Pin::new(io).poll_write(cx, from),
            Transport::Local(io) => Pin::new(io).poll_write(cx, from),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self.get_mut() {
            Transport::Tcp(io) => Pin::new(io).poll_flush(cx),
            Transport::Local(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self.get_mut() {
            Transport::Tcp(io) => Pin::new(io).poll_shutdown(cx),
            Transport::Local(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
