//! Client of OpenEnv that writes its JSON by hand.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use ludex_tests::Server;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

/// Timeout that no successful operation reaches.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Client of OpenEnv that writes its JSON by hand.
pub struct OpenEnv(pub WebSocketStream<TcpStream>);

impl OpenEnv {
    pub async fn open(server: &Server, game: &str) -> Self {
        Self::open_with(server, game, None).await
    }

    pub async fn open_with(server: &Server, game: &str, token: Option<&str>) -> Self {
        let mut request = format!("ws://{}/openenv/{game}/ws", server.address).into_client_request().unwrap();
        if let Some(token) = token {
            let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        let stream = TcpStream::connect(server.address).await.unwrap();
        OpenEnv(tokio_tungstenite::client_async(request, stream).await.expect("an upgrade").0)
    }

    pub async fn send(&mut self, text: impl Into<String>) {
        self.0.send(Message::text(text.into())).await.expect("a connection");
    }

    /// Returns the next message, or the close code.
    pub async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("a frame in time");
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    pub async fn call(&mut self, message: Value) -> Value {
        self.send(message.to_string()).await;
        self.next().await.expect("a reply")
    }

    pub async fn reset(&mut self, arguments: Value) -> Value {
        let reply = self.call(json!({ "type": "reset", "data": arguments })).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    pub async fn step(&mut self, answer: impl Into<Value>) -> Value {
        let reply = self.call(json!({ "type": "step", "data": { "answer": answer.into() } })).await;
        assert_eq!(reply["type"], "observation", "{reply}");
        reply["data"].clone()
    }

    /// Plays the first legal move until the end, and returns all results.
    pub async fn play(&mut self, arguments: Value) -> Vec<Value> {
        let mut results = vec![self.reset(arguments).await];
        while results[results.len() - 1]["done"] == false {
            let answer = first_move(&results[results.len() - 1]);
            results.push(self.step(answer).await);
        }
        results
    }

    /// Sends a message and returns the code and the text of the error.
    pub async fn fail(&mut self, text: &str) -> (String, String) {
        self.send(text).await;
        let reply = self.next().await.expect("a reply");
        assert_eq!(reply["type"], "error", "{reply}");
        let text = |name: &str| reply["data"][name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }
}

/// Returns an answer with the first legal move.
pub fn first_move(result: &Value) -> String {
    format!("Answer: {}", result["observation"]["legal"][0].as_str().expect("a legal move"))
}

/// Starts a server with doors.
pub async fn server() -> Server {
    Server::start(|config| config.doors = ludex_cli::doors()).await
}

/// Sends a body and returns the status and the JSON of the response.
pub async fn post(server: &Server, path: &str, body: &str) -> (u16, Value) {
    let answer = ludex_tests::server::post(server.address, path, "", body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}
