//! Connections to PostgreSQL: address, TLS, prepared statements, and requests that are sent without waiting for the replies
//! of earlier ones.

use std::collections::HashMap;
use std::error::Error as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::dialect::translated;
use crate::StoreError;

/// Maximum time to connect to one host.
const CONNECT: Duration = Duration::from_secs(5);

/// Time after which the connection to a host that acknowledges nothing is closed.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// Settings of each session. The server ends a transaction whose client does not continue it.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '5s'";

/// Address of a database.
#[derive(Clone)]
pub(super) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
    /// Runtime of the connections.
    runtime: Handle,
    pub(super) place: String,
}

impl Address {
    /// Parses a URL. The connections live in the current runtime.
    pub(super) fn parse(url: &str, place: String) -> Result<Self, StoreError> {
        let sql = |why| StoreError::Sql { place: place.clone(), why: Arc::new(why) };
        let mut config: Config = url.parse().map_err(sql)?;
        config
            .application_name("ludex")
            .connect_timeout(CONNECT)
            .tcp_user_timeout(UNACKNOWLEDGED)
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let tls = tls().map_err(|why| StoreError::Sql { place: place.clone(), why: Arc::new(why) })?;
        Ok(Address { config, tls, runtime: Handle::current(), place })
    }

    /// Opens a connection to the first host that accepts writes.
    pub(super) async fn connect(&self) -> Result<Link, tokio_postgres::Error> {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        // In the runtime that polls the connection, whichever runtime the caller uses.
        let connected = self.runtime.spawn(async move {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::warn!(%error, "database connection failed");
                }
            });
            client.batch_execute(SESSION).await?;
            Ok(client)
        });
        match connected.await {
            Ok(client) => Ok(Link { client: client?, statements: HashMap::new() }),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime has ended, as after `close`.
            Err(_) => std::future::pending().await,
        }
    }

    /// Converts an error of the database.
    pub(super) fn error(&self, error: tokio_postgres::Error) -> StoreError {
        let place = self.place.clone();
        let message = text(&error);
        match error.code() {
            _ if is_transient(&error) => StoreError::Unreachable { place, message },
            Some(code) if code.code().starts_with("23") => StoreError::Conflict { message },
            Some(&SqlState::DISK_FULL) => StoreError::Full { place },
            Some(code) if code.code().starts_with("XX") => StoreError::Corrupt { place, message },
            _ => StoreError::Sql { place, why: failure(message) },
        }
    }
}

/// Converts a message to the cause of an error.
pub(super) fn failure(message: String) -> Arc<dyn std::error::Error + Send + Sync> {
    Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(message))
}

/// Returns settings of TLS that trust the certificates of the system, or those of `SSL_CERT_FILE`.
fn tls() -> Result<MakeRustlsConnect, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(MakeRustlsConnect::new(versions.with_root_certificates(roots).with_no_client_auth()))
}

/// Returns true if the same request may succeed later, on a new connection.
pub(super) fn is_transient(error: &tokio_postgres::Error) -> bool {
    let is_io = || error.source().is_some_and(|why| why.is::<std::io::Error>());
    match error.code() {
        None => error.is_closed() || is_io() || error.to_string().contains("timeout"),
        Some(code) => {
            let codes = [
                &SqlState::TOO_MANY_CONNECTIONS,
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
                &SqlState::READ_ONLY_SQL_TRANSACTION,
                &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            ];
            // 08: lost connections; 57P: a server that stops or starts.
            code.code().starts_with("08") || code.code().starts_with("57P") || codes.contains(&code)
        }
    }
}

/// Returns the text of an error with its cause, which the error itself omits.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(why) => format!("{error}: {why}"),
        None => error.to_string(),
    }
}

/// Connection with its prepared statements.
pub(super) struct Link {
    pub(super) client: Client,
    /// Prepared statements, by their text for SQLite.
    statements: HashMap<String, Statement>,
}

impl Link {
    /// Prepares a statement that is written for SQLite, once per connection.
    pub(super) async fn prepare(&mut self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&translated(sql)).await?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// Request that is sent when its future is first polled.
pub(super) type Request<'a, T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'a>>;

/// Sends all requests in order, and returns their replies.
pub(super) async fn pipelined<T: Send>(requests: Vec<Request<'_, T>>) -> Vec<Result<T, tokio_postgres::Error>> {
    let mut sent = Vec::with_capacity(requests.len());
    for mut request in requests {
        let first = std::future::poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
        sent.push((request, first));
    }
    let mut replies = Vec::with_capacity(sent.len());
    for (request, first) in sent {
        replies.push(match first {
            Poll::Ready(reply) => reply,
            Poll::Pending => request.await,
        });
    }
    replies
}
