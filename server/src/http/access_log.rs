//! Access log: one event per HTTP request, once its response is sent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Method, Request, Response};
use hyper::body::{Frame, SizeHint};
use ludex_protocol::error::truncate_text;

use super::{Answer, token};
use crate::ACCESS_LOG;
use crate::auth;
use crate::peer::Peer;
use crate::server_state::ServerState;

/// First characters of a token.
const TOKEN: &str = "lx_";

/// Line of a request, which is logged on drop: after the response, or when the client has gone.
pub(super) struct AccessLine {
    started: Instant,
    method: Method,
    path: String,
    ip: std::net::IpAddr,
    token: Option<String>,
    owner: Option<String>,
    /// Status of the response; `None` if the client went before it.
    status: Option<u16>,
    /// Sent bytes of the body.
    bytes: u64,
}

impl AccessLine {
    /// Creates the line of a request; `None` if the server has no access log.
    pub fn of<B>(request: &Request<B>, peer: &Peer, shared: &ServerState) -> Option<Self> {
        shared.config.access_log.then(|| AccessLine {
            started: Instant::now(),
            method: request.method().clone(),
            path: without_tokens(request.uri().path()),
            ip: peer.ip,
            token: token::of(request.headers()),
            owner: None,
            status: None,
            bytes: 0,
        })
    }

    /// Looks up the owner of the request's token, and attaches the line to the body of the response.
    pub async fn attach(mut self, answer: Answer, shared: &ServerState) -> Answer {
        if let Some(token) = self.token.take() {
            let grant = auth::admit(&shared.store, Some(&token), false, shared.epoch_ms()).await;
            self.owner = grant.ok().and_then(|grant| grant.owner.as_deref().map(str::to_owned));
        }
        self.status = Some(answer.status().as_u16());
        let (head, body) = answer.into_parts();
        Response::from_parts(head, Body::new(LoggedBody { body, line: self }))
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        tracing::info!(
            target: ACCESS_LOG,
            method = self.method.as_str(),
            path = self.path,
            status = self.status,
            bytes = self.bytes,
            duration_ms = self.started.elapsed().as_micros() as f64 / 1_000.0,
            ip = %self.ip,
            owner = self.owner.as_deref(),
            "request"
        );
    }
}

/// Returns a path without what looks like a token.
fn without_tokens(path: &str) -> String {
    let mut parts = path.split(TOKEN);
    let first = parts.next().unwrap_or_default().to_owned();
    let hidden = parts.map(|part| format!("{TOKEN}...{}", part.find('/').map_or("", |at| &part[at..])));
    truncate_text(&hidden.fold(first, |path, part| path + &part))
}

/// Body of a response that counts its bytes.
struct LoggedBody {
    body: Body,
    line: AccessLine,
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.line.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_paths_are_hidden() {
        assert_eq!(without_tokens("/games/chess"), "/games/chess");
        assert_eq!(without_tokens("/lx_0a-1_b/x/lx_ffZ"), "/lx_.../x/lx_...");
        assert!(without_tokens(&"/a".repeat(1_000)).len() < 200);
    }
}
