//! Proxy between a client and a server that modifies the server's messages.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use ludex_protocol::Encoding;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;

/// Maximum nesting depth of decoded messages, larger than that of any message in the tests.
const DEPTH: u32 = 127;

/// Function that modifies a message of the server. The list stores the proxy's state for the connection.
pub type Bend = fn(&mut Vec<Value>, Value) -> Vec<Value>;

/// Message-modifying proxy on a separate port. Dropping this value ends the proxy.
pub struct Meddler {
    /// Listening address of the proxy.
    pub address: SocketAddr,
    task: AbortHandle,
}

impl Meddler {
    /// Starts a proxy in front of a server. HTTP pages are passed on unchanged.
    pub async fn before(server: SocketAddr, bend: Bend) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                running.spawn(carry(client, server, bend));
            }
        });
        Meddler { address, task: task.abort_handle() }
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut client: TcpStream, server: SocketAddr, bend: Bend) {
    let mut head = [0; 2_048];
    let Ok(length) = client.peek(&mut head).await else { return };
    if !String::from_utf8_lossy(&head[..length]).to_lowercase().contains("upgrade: websocket") {
        let Ok(mut server) = TcpStream::connect(server).await else { return };
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        return;
    }
    let mut offered = None;
    let upgrade = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        let name = |value: &HeaderValue| value.to_str().ok()?.split(',').next().map(|name| name.trim().to_owned());
        offered = request.headers().get("sec-websocket-protocol").and_then(name);
        if let Some(Ok(name)) = offered.as_deref().map(HeaderValue::from_str) {
            response.headers_mut().insert("sec-websocket-protocol", name);
        }
        Ok(response)
    };
    let Ok(client) = tokio_tungstenite::accept_hdr_async(client, upgrade).await else { return };
    let mut request = format!("ws://{server}/ws").into_client_request().expect("an address");
    let encoding = offered.as_deref().and_then(Encoding::from_subprotocol).unwrap_or(Encoding::Json);
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(encoding.subprotocol()));
    let Ok((server, _)) = tokio_tungstenite::connect_async(request).await else { return };
    let ((mut to_client, mut from_client), (mut to_server, mut from_server)) = (client.split(), server.split());
    let up = async {
        while let Some(Ok(message)) = from_client.next().await {
            if to_server.send(message).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let mut mind = Vec::new();
        while let Some(Ok(message)) = from_server.next().await {
            for message in bent(encoding, message, bend, &mut mind) {
                if to_client.send(message).await.is_err() {
                    return;
                }
            }
        }
    };
    // If one side ends, both are closed.
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

/// Returns the frames that replace a frame of the server.
fn bent(encoding: Encoding, frame: Message, bend: Bend, mind: &mut Vec<Value>) -> Vec<Message> {
    let json = match &frame {
        Message::Text(text) => text.as_bytes().to_vec(),
        Message::Binary(bytes) => {
            let (re, message) = Encoding::MsgPack.decode_server(bytes, DEPTH).expect("a message");
            Encoding::Json.encode_server(re, &message).expect("JSON")
        }
        _ => return vec![frame],
    };
    let before: Value = serde_json::from_slice(&json).expect("JSON");
    let all = bend(mind, before.clone());
    let again = |message: Value| match encoding {
        _ if message == before => frame.clone(),
        Encoding::Json => Message::text(message.to_string()),
        Encoding::MsgPack => {
            let bytes = message.to_string().into_bytes();
            let (re, message) = Encoding::Json.decode_server(&bytes, DEPTH).expect("a message");
            Message::binary(Encoding::MsgPack.encode_server(re, &message).expect("MessagePack"))
        }
    };
    all.into_iter().map(again).collect()
}
