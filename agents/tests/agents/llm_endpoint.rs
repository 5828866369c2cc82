//! Local test endpoint with scripted replies.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Request that the endpoint received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
}

pub enum Reply {
    /// HTTP response: status, `Retry-After` in seconds, and body.
    Http(u16, Option<u64>, String),
    /// No response while the client stays connected.
    Silence,
}

pub struct Endpoint {
    pub url: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Endpoint {
    /// Starts an endpoint that replies to request k, counted from 0, with `script(k)`.
    pub fn new(script: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (requests.clone(), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, script) = (seen.clone(), script.clone());
                std::thread::spawn(move || answer(stream, &seen, &*script));
            }
        });
        Endpoint { url, requests }
    }

    /// Starts an endpoint that replies to successive requests with these texts, and repeats the last text.
    pub fn saying(texts: &[&str]) -> Self {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        Self::new(move |k, _| text_reply(&texts[k.min(texts.len() - 1)]))
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().clone()
    }

    /// Returns the spec of an `llm` agent that uses this endpoint.
    pub fn spec(&self, args: &str) -> String {
        format!("llm model=m base_url={}/v1 {args}", self.url)
    }
}

fn answer(
    mut stream: TcpStream,
    seen: &Mutex<Vec<ReceivedRequest>>,
    script: &dyn Fn(usize, &ReceivedRequest) -> Reply,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut headers = HashMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let request = ReceivedRequest { path, headers, body: serde_json::from_slice(&body).unwrap() };
    let k = {
        let mut seen = seen.lock();
        seen.push(request.clone());
        seen.len() - 1
    };
    match script(k, &request) {
        Reply::Http(status, wait, body) => {
            let wait = wait.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default();
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{wait}\r\n", body.len());
            // The client may have disconnected.
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
        Reply::Silence => {
            let _ = reader.read(&mut [0]);
        }
    }
}

pub fn completion(message: Value, finish: &str) -> Reply {
    let body = json!({
        "choices": [{ "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 7 },
    });
    Reply::Http(200, None, body.to_string())
}

pub fn text_reply(text: &str) -> Reply {
    completion(json!({ "role": "assistant", "content": text }), "stop")
}

pub fn error(status: u16, message: &str) -> Reply {
    Reply::Http(status, Some(0), json!({ "error": { "message": message } }).to_string())
}
