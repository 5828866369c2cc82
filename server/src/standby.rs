//! Answers of a server that waits for its store: while the database cannot be reached, or while another server owns it.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Maximum number of connections; others wait.
const CONNECTIONS: usize = 256;

/// Maximum duration of a connection.
const CONNECTION: Duration = Duration::from_secs(5);

/// Maximum size of a request head in bytes.
const HEAD: usize = 16 << 10;

/// Answers each request with 503 and each probe of the process with 200, until the future is dropped. Clients and load
/// balancers thus try another server, or this one later.
pub(crate) async fn answer(listener: &TcpListener, tls: Option<&TlsAcceptor>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(tokio::time::timeout(CONNECTION, connection(stream, tls.cloned())));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>) {
    match tls {
        None => serve(stream).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                serve(stream).await;
            }
        }
    }
}

/// Answers the first request of a connection, and closes it.
async fn serve(io: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(async |request: Request<Incoming>| Ok::<_, Infallible>(reply(&request)));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION)
        .max_buf_size(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(io), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "HTTP connection failed");
    }
}

fn reply(request: &Request<Incoming>) -> Response<String> {
    let lives = request.uri().path() == "/healthz" && request.method() == Method::GET;
    let (status, body) = match lives {
        true => (StatusCode::OK, r#"{"status":"ok"}"#),
        false => {
            let body = r#"{"status":"unavailable","reason":"the server waits for its store; see the server log"}"#;
            (StatusCode::SERVICE_UNAVAILABLE, body)
        }
    };
    let mut response = Response::new(body.to_owned());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}
