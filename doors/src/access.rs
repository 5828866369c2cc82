//! Connections of a door to its server.

use std::time::Duration;

use axum::http::header::{self, HeaderMap};
use ludex_client::{Client, Error, Events, LocalConnector, Options};

/// Connects to the server with the token of a request.
///
/// # Errors
/// Returns [`Error::Refused`] if the server refuses the client, for example for its token, and [`Error::Connect`] if a
/// limit on connections is reached.
pub(crate) async fn connect(
    connector: &LocalConnector,
    headers: &HeaderMap,
    client: &str,
) -> Result<(Client, Events), Error> {
    let options = Options {
        token: bearer(headers),
        client: client.to_owned(),
        local: Some(connector.clone()),
        // A connection within the process is lost only if the server ends it.
        patience: Some(Duration::ZERO),
        ..Options::default()
    };
    Client::connect("this server", options).await
}

/// Returns the token of the `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}
