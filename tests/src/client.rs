//! Raw WebSocket client that writes its JSON by hand and uses no code of this project.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Timeout that no successful operation reaches; a test that waits this long fails.
const PATIENCE: Duration = Duration::from_secs(240);

/// A raw WebSocket connection with JSON frames.
pub struct Client {
    ws: WebSocketStream<TcpStream>,
    binary: bool,
    next: i64,
    /// Messages that arrived while the client waited for a different message.
    early: VecDeque<Value>,
    /// The server's `welcome` frame.
    pub welcome: Value,
}

/// Way in which a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientEnd {
    /// Close frame with this code and reason.
    Closed(u16, String),
    /// Socket closed without a close frame.
    Lost,
}

impl Client {
    /// Opens a JSON connection without sending `hello`.
    ///
    /// # Panics
    /// Panics if the upgrade fails.
    pub async fn mute(address: SocketAddr) -> Self {
        Self::open(address, None, &[]).await.expect("an upgrade")
    }

    /// Opens a connection with a subprotocol and additional header fields, without sending `hello`.
    ///
    /// # Errors
    /// Fails if the upgrade fails.
    pub async fn open(
        address: SocketAddr,
        subprotocol: Option<&'static str>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Box<Error>> {
        Self::open_at(address, "/ws", subprotocol, headers).await
    }

    /// Opens a connection like [`open`](Self::open), at another path.
    ///
    /// # Errors
    /// Fails if the upgrade fails.
    pub async fn open_at(
        address: SocketAddr,
        path: &str,
        subprotocol: Option<&'static str>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Box<Error>> {
        let stream = TcpStream::connect(address).await.map_err(Error::from)?;
        stream.set_nodelay(true).map_err(Error::from)?;
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        if let Some(name) = subprotocol {
            request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(name));
        }
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).map_err(|e| Error::HttpFormat(e.into()))?);
        }
        let (ws, _) = tokio_tungstenite::client_async(request, stream).await?;
        let binary = subprotocol == Some("ludex.v1.msgpack");
        Ok(Client { ws, binary, next: 0, early: VecDeque::new(), welcome: Value::Null })
    }

    /// Opens a connection and sends `hello`.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn hello(address: SocketAddr) -> Self {
        Self::greet(address, None, json!({})).await
    }

    /// Opens a connection and sends `hello` with additional fields.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn greet(address: SocketAddr, subprotocol: Option<&'static str>, more: Value) -> Self {
        let mut client = Self::open(address, subprotocol, &[]).await.expect("an upgrade");
        let mut hello = json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"});
        if let (Some(hello), Value::Object(more)) = (hello.as_object_mut(), more) {
            hello.extend(more);
        }
        client.say(&hello).await;
        client.welcome = client.hear().await;
        assert_eq!(client.welcome["type"], "welcome", "{}", client.welcome);
        client
    }

    /// Opens a connection and sends `hello` with additional fields. `None` if no server is running, or if the server
    /// refuses the client.
    pub async fn try_greet(address: SocketAddr, subprotocol: Option<&'static str>, more: Value) -> Option<Self> {
        Self::try_greet_at(address, "/ws", subprotocol, more).await.ok()
    }

    /// Opens a connection like [`try_greet`](Self::try_greet), at another path.
    ///
    /// # Errors
    /// The server's reply if it refuses the client, or null if no server is running.
    pub async fn try_greet_at(
        address: SocketAddr,
        path: &str,
        subprotocol: Option<&'static str>,
        more: Value,
    ) -> Result<Self, Value> {
        let mut client = Self::open_at(address, path, subprotocol, &[]).await.map_err(|_| Value::Null)?;
        let mut hello = json!({"type": "hello", "id": 0, "protocol": [1], "client": "raw/0"});
        if let (Some(hello), Value::Object(more)) = (hello.as_object_mut(), more) {
            hello.extend(more);
        }
        client.try_say(&hello).await;
        client.welcome = client.try_hear().await.unwrap_or_default();
        if client.welcome["type"] == "welcome" { Ok(client) } else { Err(client.welcome) }
    }

    /// Resumes the session of an earlier connection, given its `welcome`; request ids continue after `next`.
    ///
    /// # Panics
    /// Panics if the server refuses the client.
    pub async fn resume(address: SocketAddr, welcome: &Value, next: i64) -> Self {
        let resume = json!({"session": welcome["session"], "key": welcome["key"]});
        let mut client = Self::greet(address, None, json!({"resume": resume})).await;
        client.next = next;
        client
    }

    /// Returns the id of the last request.
    pub fn last_id(&self) -> i64 {
        self.next
    }

    /// Makes the next request use the id after `id`.
    pub fn go_on_from(&mut self, id: i64) {
        self.next = id;
    }

    /// Sends a message unchanged.
    ///
    /// # Panics
    /// Panics if the connection is lost.
    pub async fn say(&mut self, message: &Value) {
        assert!(self.try_say(message).await, "the connection is gone");
    }

    /// Sends a message. Returns false if the connection is lost.
    pub async fn try_say(&mut self, message: &Value) -> bool {
        let frame = match self.binary {
            true => Message::binary(rmp_serde::to_vec_named(message).expect("MessagePack")),
            false => Message::text(message.to_string()),
        };
        self.ws.send(frame).await.is_ok()
    }

    /// Returns the next message, or `None` if the connection is lost.
    pub async fn try_hear(&mut self) -> Option<Value> {
        match self.early.pop_front() {
            Some(message) => Some(message),
            None => self.next_frame().await.ok().and_then(|frame| read(&frame)),
        }
    }

    /// Sends a raw frame.
    ///
    /// # Errors
    /// Fails if the connection is lost.
    pub async fn frame(&mut self, frame: Message) -> Result<(), Box<Error>> {
        Ok(self.ws.send(frame).await?)
    }

    /// Sends a request under the next `id` and returns that `id`.
    ///
    /// # Panics
    /// Panics if the connection is lost.
    pub async fn ask(&mut self, kind: &str, fields: Value) -> i64 {
        self.next += 1;
        // `type` and `id` come first: in a long message, a server reads only the start to find them.
        let mut message = json!({"type": kind, "id": self.next});
        if let (Some(message), Value::Object(fields)) = (message.as_object_mut(), fields) {
            message.extend(fields);
        }
        self.say(&message).await;
        self.next
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Panics
    /// Panics if no reply arrives.
    pub async fn call(&mut self, kind: &str, fields: Value) -> Value {
        let id = self.ask(kind, fields).await;
        self.reply(id).await
    }

    /// Waits for the reply to request `id`.
    ///
    /// # Panics
    /// Panics if no reply arrives.
    pub async fn reply(&mut self, id: i64) -> Value {
        if let Some(at) = self.early.iter().position(|m| m["re"] == id) {
            return self.early.remove(at).expect("it is there");
        }
        loop {
            let message = self.read().await;
            if message["re"] == id {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// Returns the next message.
    ///
    /// # Panics
    /// Panics if no message arrives.
    pub async fn hear(&mut self) -> Value {
        match self.early.pop_front() {
            Some(message) => message,
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Value {
        let frame = self.next_frame().await;
        frame.as_ref().ok().and_then(read).unwrap_or_else(|| panic!("no message came but {frame:?}"))
    }

    /// Returns the next frame that is neither a ping nor a pong.
    ///
    /// # Errors
    /// Fails if the connection is lost.
    ///
    /// # Panics
    /// Panics if no frame arrives in time.
    pub async fn next_frame(&mut self) -> Result<Message, Box<Error>> {
        loop {
            let read = tokio::time::timeout(PATIENCE, self.ws.next()).await.expect("something in time");
            match read.unwrap_or(Err(Error::ConnectionClosed))? {
                Message::Ping(_) | Message::Pong(_) => {}
                frame => return Ok(frame),
            }
        }
    }

    /// Reads until the connection ends. Returns the kind of end and all messages received before it.
    pub async fn ended(&mut self) -> (ClientEnd, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            match self.next_frame().await {
                Ok(Message::Close(Some(frame))) => {
                    return (ClientEnd::Closed(frame.code.into(), frame.reason.to_string()), before);
                }
                Ok(Message::Text(text)) => before.push(serde_json::from_str(&text).unwrap_or_default()),
                Ok(_) => {}
                Err(_) => return (ClientEnd::Lost, before),
            }
        }
    }

    /// Sends a close frame with this code, and reads until the server has closed the connection.
    pub async fn close(&mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        let _ = self.ws.close(Some(frame)).await;
        self.ended().await;
    }

    /// Drops the socket without a close frame.
    pub fn cut(self) {
        drop(self.ws);
    }

    /// Returns the socket below the WebSocket layer, for sending invalid frames.
    pub fn socket(&mut self) -> &mut TcpStream {
        self.ws.get_mut()
    }
}

/// Decodes the message in a frame; `None` for a close frame.
///
/// # Panics
/// Panics if the message cannot be decoded.
pub fn read(frame: &Message) -> Option<Value> {
    match frame {
        Message::Text(text) => Some(serde_json::from_str(text).expect("JSON")),
        Message::Binary(bytes) => Some(rmp_serde::from_slice::<Packed>(bytes).expect("MessagePack").0),
        _ => None,
    }
}

/// MessagePack value with bins as lists of numbers, since JSON values cannot hold bins.
struct Packed(Value);

impl<'de> serde::Deserialize<'de> for Packed {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> serde::de::Visitor<'de> for Any {
            type Value = Value;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a value")
            }
            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }
            fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_str<E>(self, v: &str) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_bytes<E>(self, v: &[u8]) -> Result<Value, E> {
                Ok(v.into())
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut out = Vec::new();
                while let Some(Packed(v)) = list.next_element()? {
                    out.push(v);
                }
                Ok(out.into())
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut out = serde_json::Map::new();
                while let Some((k, Packed(v))) = map.next_entry::<String, Packed>()? {
                    out.insert(k, v);
                }
                Ok(out.into())
            }
        }
        d.deserialize_any(Any).map(Packed)
    }
}
