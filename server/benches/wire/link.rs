//! Raw client, which sends and receives encoded frames over a WebSocket.

use std::net::SocketAddr;

use anyhow::Context as _;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use ludex_protocol::message::{AgentId, Hello};
use ludex_protocol::{ClientMessage, Encoding, Id, SUBPROTOCOL_MSGPACK, ServerMessage, VERSION};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// Maximum nesting depth of a frame.
pub const DEPTH: u32 = 64;

/// Connection to a server.
pub struct Link {
    ws: WebSocketStream<TcpStream>,
    id: Id,
}

impl Link {
    /// Connects without sending `hello`. If `speaking` is true, the client offers the sub-protocol for MessagePack.
    pub async fn bare(address: SocketAddr, speaking: bool) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut request = format!("ws://{address}/ws").into_client_request()?;
        if speaking {
            let name = HeaderValue::from_static(SUBPROTOCOL_MSGPACK);
            request.headers_mut().insert("sec-websocket-protocol", name);
        }
        let (ws, _) = tokio_tungstenite::client_async(request, stream).await?;
        Ok(Link { ws, id: 0 })
    }

    /// Connects and opens a session, under the name `agent` if one is given.
    pub async fn open(address: SocketAddr, agent: Option<String>) -> anyhow::Result<Self> {
        let mut link = Self::bare(address, true).await?;
        let agent = agent.map(|name| AgentId { name, ..AgentId::default() });
        let hello = Hello { protocol: vec![VERSION], client: "bench".into(), agent, ..Hello::default() };
        link.ask(&ClientMessage::Hello(Box::new(hello))).await?;
        Ok(link)
    }

    /// Sends a frame and flushes the socket.
    pub async fn send(&mut self, frame: impl Into<Bytes>) -> anyhow::Result<()> {
        Ok(self.ws.send(Message::Binary(frame.into())).await?)
    }

    /// Queues a frame for [`flush`](Self::flush).
    pub async fn feed(&mut self, frame: impl Into<Bytes>) -> anyhow::Result<()> {
        Ok(self.ws.feed(Message::Binary(frame.into())).await?)
    }

    /// Writes all queued frames.
    pub async fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.ws.flush().await?)
    }

    /// Returns the next frame.
    pub async fn next(&mut self) -> anyhow::Result<Bytes> {
        loop {
            match self.ws.next().await.context("the server closed the connection")?? {
                Message::Binary(frame) => return Ok(frame),
                Message::Close(with) => anyhow::bail!("the server closed the connection: {with:?}"),
                _ => {}
            }
        }
    }

    /// Returns the next frame, or `None` if no frame has been received yet.
    pub fn ready(&mut self) -> anyhow::Result<Option<Bytes>> {
        self.next().now_or_never().transpose()
    }

    /// Returns an unused request `id`.
    pub fn id(&mut self) -> Id {
        self.id += 1;
        self.id
    }

    /// Sends a request without waiting for its reply.
    pub async fn request(&mut self, message: &ClientMessage) -> anyhow::Result<()> {
        let id = self.id();
        self.send(Encoding::MsgPack.encode_client(Some(id), message)?).await
    }

    /// Receives the next message. Fails if the server reports an error.
    pub async fn answer(&mut self) -> anyhow::Result<ServerMessage> {
        read(&self.next().await?)
    }

    /// Sends a request and returns its reply. Fails if the server reports an error.
    pub async fn ask(&mut self, message: &ClientMessage) -> anyhow::Result<ServerMessage> {
        self.request(message).await?;
        self.answer().await
    }
}

/// Decodes a server message. Fails if the server reports an error.
pub fn read(frame: &[u8]) -> anyhow::Result<ServerMessage> {
    match Encoding::MsgPack.decode_server(frame, DEPTH)? {
        (_, ServerMessage::Error(error)) => anyhow::bail!("{}", error.message),
        (_, message) => Ok(message),
    }
}
