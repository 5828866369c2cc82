//! Context that all laws share: the server's address, the client's name, the server's games.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ludex_protocol::message::{AgentId, ClientMessage, Describe, GameEntry, Hello, ListGames, Scope, Welcome};
use ludex_protocol::spec::{ChanceMode, Dynamics, Information, Spec};
use ludex_protocol::{Encoding, VERSION};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_tungstenite::tungstenite::http::Uri;

use super::link::Link;
use super::{LawFailure, LawResult, ServerCheckOptions, wrong};

/// Agent name of a client without a token.
const NAME: &str = "conformance";

/// Context of the laws: the server's address, games and scopes.
pub(super) struct LawContext {
    /// Address of the server without its path.
    base: Uri,
    /// Path of the WebSocket in the user's URL; `None` for a default path.
    path: Option<String>,
    pub token: Option<String>,
    agent: Option<String>,
    pub patience: Duration,
    tls: Option<Arc<rustls::ClientConfig>>,
    /// Scopes of the first `welcome`; `None` if no `welcome` arrived.
    scopes: Option<Vec<Scope>>,
    games: OnceCell<Vec<(GameEntry, Spec)>>,
}

impl LawContext {
    /// Connects once, to check that a server is running.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, or if no WebSocket can be opened there.
    pub async fn new(plan: &ServerCheckOptions) -> anyhow::Result<Self> {
        let url = if plan.url.contains("://") { plan.url.clone() } else { format!("ws://{}", plan.url) };
        let base: Uri = url.parse().with_context(|| format!("{url:?} is not a valid address; write ws://HOST:PORT"))?;
        let path = Some(base.path().to_owned()).filter(|path| !matches!(path.as_str(), "" | "/" | "/ws"));
        let agent = plan.agent.clone().or_else(|| plan.token.is_none().then(|| NAME.to_owned()));
        let mut bench = LawContext {
            base,
            path,
            token: plan.token.clone(),
            agent,
            patience: plan.patience,
            tls: plan.tls.clone(),
            scopes: None,
            games: OnceCell::new(),
        };
        let mut link = match bench.mute(&[Encoding::MsgPack]).await {
            Ok(link) => link,
            Err(LawFailure::Fault(fault)) => anyhow::bail!("{url}: {}", fault.did),
            Err(LawFailure::Skip(why)) => anyhow::bail!("{url}: {why}"),
        };
        // Handshake faults are reported by the laws of the handshake.
        bench.scopes = bench.greet(&mut link).await.ok().map(|welcome| welcome.scopes);
        Ok(bench)
    }

    /// Returns true if the token grants the scope that a law needs.
    pub fn grants(&self, needs: Option<Scope>) -> bool {
        let (Some(needs), Some(scopes)) = (needs, &self.scopes) else { return true };
        scopes.contains(&needs) || scopes.contains(&Scope::Admin)
    }

    /// Returns true if the user gave no path, so that the server must accept both paths of the protocol.
    pub fn has_both_paths(&self) -> bool {
        self.path.is_none()
    }

    /// Returns the address of the WebSocket, with the path that the user gave or, if the user gave none, with `path`.
    pub fn url(&self, path: &str) -> String {
        let scheme = self.base.scheme_str().unwrap_or("ws");
        let host = self.base.authority().map_or("", |authority| authority.as_str());
        format!("{scheme}://{host}{}", self.path.as_deref().unwrap_or(path))
    }

    /// Opens a connection without sending `hello`.
    pub async fn mute(&self, offer: &[Encoding]) -> LawResult<Link> {
        self.mute_at("/ws", offer).await
    }

    /// Opens a connection at `path` without sending `hello`.
    pub async fn mute_at(&self, path: &str, offer: &[Encoding]) -> LawResult<Link> {
        Link::open(&self.url(path), offer, self.patience, self.tls.clone()).await
    }

    /// Returns the first message that a client sends on each connection.
    pub fn hello(&self) -> Hello {
        Hello {
            protocol: vec![VERSION],
            client: crate::PROGRAM.into(),
            token: self.token.clone(),
            agent: self.agent.clone().map(|name| AgentId { name, ..AgentId::default() }),
            ..Hello::default()
        }
    }

    /// Sends `hello` on a connection and returns the `welcome`.
    pub async fn greet(&self, link: &mut Link) -> LawResult<Box<Welcome>> {
        link.greet(self.hello()).await
    }

    /// Opens a connection, sends `hello`, and returns the connection with its `welcome`.
    pub async fn link_in(&self, encoding: Encoding) -> LawResult<(Link, Box<Welcome>)> {
        let mut link = self.mute(&[encoding]).await?;
        let welcome = self.greet(&mut link).await?;
        Ok((link, welcome))
    }

    /// Opens a MessagePack connection and sends `hello`.
    pub async fn link(&self) -> LawResult<Link> {
        Ok(self.link_in(Encoding::MsgPack).await?.0)
    }

    /// Returns each game's entry in the list of games, with the spec for default parameters.
    pub async fn games(&self) -> LawResult<&[(GameEntry, Spec)]> {
        let games = self.games.get_or_try_init(|| async {
            let mut link = self.link().await?;
            let mut games = Vec::new();
            for entry in link.call(ClientMessage::ListGames(ListGames::default())).await?.games()? {
                let describe = Describe { game: entry.game.clone(), ..Describe::default() };
                let spec = link.call(ClientMessage::Describe(describe)).await?.spec()?;
                games.push((entry, spec));
            }
            if games.is_empty() { Err(wrong("listed no game", "at least one")) } else { Ok(games) }
        });
        Ok(games.await?)
    }

    /// Returns the first game in the list of the server's games.
    pub async fn a_game(&self) -> LawResult<&Spec> {
        let first = self.games().await?.first();
        first.map(|(_, spec)| spec).ok_or_else(|| wrong("listed no game", "at least one"))
    }

    /// Returns the shortest sequential game for two without chance in which each seat moves several times.
    pub async fn game_of_turns(&self) -> LawResult<&Spec> {
        let games = self.games().await?.iter().map(|(_, spec)| spec);
        let fits = games.filter(|spec| {
            let open = spec.information == Information::Perfect && spec.chance == ChanceMode::Deterministic;
            let plain = spec.dynamics == Dynamics::Sequential && spec.document_schemas.is_none();
            open && plain && spec.players == 2 && spec.max_length >= 8
        });
        fits.min_by_key(|spec| spec.max_length).ok_or_else(|| {
            LawFailure::Skip("the server lists no sequential game of perfect information for two players".into())
        })
    }

    /// Runs a law on every game of the server. Skips the law if every game skips it.
    pub async fn each(&self, law: impl AsyncFn(&mut Link, &Spec) -> LawResult) -> LawResult {
        let (mut link, mut tried, mut skipped) = (self.link().await?, false, Ok(()));
        for (_, spec) in self.games().await? {
            match law(&mut link, spec).await {
                Ok(()) => tried = true,
                Err(skip @ LawFailure::Skip(_)) => {
                    skipped = Err(skip);
                    // The failed law may have left environments open.
                    link = self.link().await?;
                }
                Err(stop) => return Err(stop.of(&spec.string)),
            }
        }
        if tried { Ok(()) } else { skipped }
    }

    /// Fetches a page over plain HTTP and returns its status and body.
    pub async fn page(&self, path: &str) -> LawResult<(u16, String)> {
        if self.base.scheme_str() != Some("ws") {
            return Err(LawFailure::Skip("pages are checked over plain HTTP only".into()));
        }
        let read = async {
            let host = self.base.host().unwrap_or_default();
            let bare = host.trim_matches(['[', ']']);
            let mut stream = TcpStream::connect((bare, self.base.port_u16().unwrap_or(80))).await?;
            let bearer = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
            // With HTTP 1.0, the body is not chunked.
            let head = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n{}\r\n", bearer.unwrap_or_default());
            stream.write_all(head.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer = tokio::time::timeout(self.patience, read).await;
        let answer =
            answer.map_err(|_| "no answer in time".to_owned()).and_then(|read| read.map_err(|e| e.to_string()));
        let answer = answer.map_err(|why| wrong(format!("GET {path}: {why}"), "an HTTP response"))?;
        let parts = answer.split_once("\r\n\r\n").and_then(|(head, body)| {
            let status = head.split(' ').nth(1)?.parse().ok()?;
            Some((status, body.to_owned()))
        });
        parts.ok_or_else(|| wrong(format!("GET {path}: {}", super::short(&answer)), "an HTTP response"))
    }
}
