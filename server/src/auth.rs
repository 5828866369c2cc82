//! Tokens: who may do what, and under which names.
//!
//! A token is 32 random bytes, shown once and kept as its SHA-256 only. It is looked up by that hash, so the time
//! that a lookup takes tells nothing about any token. On loopback a server that was never given a token lets anybody
//! in; everywhere else a token is required.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ludex_protocol::is_agent_name;

pub use crate::random::random_bytes;
use crate::store::{Store, StoreError, TokenRow, Write};
pub use crate::token::{BadHash, BadScope, Scopes, TokenHash};

/// Every token begins with this, so that people and secret scanners know it for what it is.
const PREFIX: &str = "lx_";

/// Why somebody may not come in, or a token cannot be made.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// No token was shown where one is required.
    #[error("this server requires a token; ask its operator for one (ludex token add)")]
    Required,
    /// This server did not make the token.
    #[error("the token is unknown to this server")]
    Unknown,
    /// The token was revoked.
    #[error("the token was revoked")]
    Revoked,
    /// The token's time is over.
    #[error("the token has expired")]
    Expired,
    /// The token does not cover that agent name.
    #[error("the token does not allow the agent name {name}; allowed: {}", .allowed.join(", "))]
    Name {
        /// The name that was asked for.
        name: String,
        /// The names and prefixes that the token allows.
        allowed: Vec<String>,
    },
    /// A name that no agent can have.
    #[error("{got:?} is not an agent name: 1 to 40 of A-Z a-z 0-9 . _ - (and * at the end for a prefix)")]
    BadName {
        /// What was given.
        got: String,
    },
    /// A word that is not a scope.
    #[error(transparent)]
    BadScope(#[from] BadScope),
    /// A text that is not a hash.
    #[error(transparent)]
    BadHash(#[from] BadHash),
    /// A line of a list of tokens that cannot be used.
    #[error("line {line}: {message}")]
    BadLine {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
    /// Which token is meant is not clear.
    #[error("{count} tokens begin with {prefix}; give more digits (ludex token list)")]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// How many it fits.
        count: usize,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random numbers: {message}")]
    NoRandomness {
        /// What it said.
        message: String,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What somebody who came in may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What is allowed.
    pub scopes: Scopes,
    /// The token's holder; absent for a guest on loopback.
    pub owner: Option<String>,
    /// The token; absent for a guest on loopback.
    pub token: Option<TokenHash>,
    names: Vec<String>,
}

impl Grant {
    /// What a guest on loopback may do: gym, play and spectate, under any name.
    pub fn guest() -> Self {
        Self { scopes: Scopes::OPEN, owner: None, token: None, names: vec!["*".to_owned()] }
    }

    /// Whether all of `scopes` is allowed.
    pub fn may(&self, scopes: Scopes) -> bool {
        self.scopes.contains(scopes)
    }

    /// The agent name to use when none is asked for: the first exact name of the token, if it has one.
    pub fn default_name(&self) -> Option<&str> {
        self.names.iter().map(String::as_str).find(|name| !name.ends_with('*'))
    }

    /// How an agent name may begin: the first pattern of the token. Empty where any name will do.
    pub fn prefix(&self) -> &str {
        self.names.iter().find_map(|name| name.strip_suffix('*')).unwrap_or_default()
    }

    /// Checks an agent name.
    ///
    /// # Errors
    /// [`AuthError::BadName`] when no agent can be called so, [`AuthError::Name`] when the token does not cover it.
    pub fn check_name(&self, name: &str) -> Result<(), AuthError> {
        if !is_agent_name(name) {
            return Err(AuthError::BadName { got: name.to_owned() });
        }
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        };
        if self.names.iter().any(fits) {
            Ok(())
        } else {
            Err(AuthError::Name { name: name.to_owned(), allowed: self.names.clone() })
        }
    }
}

/// Lets somebody in, or not.
///
/// With a token, the token decides. Without one, only a server that listens on loopback (`loopback`) and was never
/// given any token lets guests in: revoking or losing the last one does not open it again.
///
/// # Errors
/// [`AuthError::Required`], [`AuthError::Unknown`], [`AuthError::Revoked`], [`AuthError::Expired`], or the store's.
pub async fn admit(store: &Store, token: Option<&str>, loopback: bool, now_ms: i64) -> Result<Grant, AuthError> {
    let Some(token) = token else {
        return match loopback && !store.has_tokens().await? {
            true => Ok(Grant::guest()),
            false => Err(AuthError::Required),
        };
    };
    let hash = TokenHash::of(token);
    let row = store.token(&hash).await?.ok_or(AuthError::Unknown)?;
    if row.revoked_ms.is_some() {
        return Err(AuthError::Revoked);
    }
    if row.expires_ms.is_some_and(|end| end <= now_ms) {
        return Err(AuthError::Expired);
    }
    Ok(Grant { scopes: row.scopes, owner: Some(row.owner), token: Some(hash), names: row.names })
}

/// What a token is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Whom it is for.
    pub owner: String,
    /// What it allows.
    pub scopes: Scopes,
    /// The agent names that may be used with it: exact, or a prefix and `*`.
    pub names: Vec<String>,
    /// When it ends by itself, in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

/// Makes tokens, all or none, and returns each as its holder must show it, in the order given. They are kept when
/// this returns, and cannot be shown a second time.
///
/// # Errors
/// [`AuthError::BadName`] for a name that no agent can have, [`AuthError::NoRandomness`], or the store's.
pub async fn add(store: &Store, wanted: &[NewToken], now_ms: i64) -> Result<Vec<String>, AuthError> {
    let mut shown = Vec::with_capacity(wanted.len());
    let mut writes = Vec::with_capacity(wanted.len());
    for token in wanted {
        if let Some(bad) = token.names.iter().find(|name| !is_name_pattern(name)) {
            return Err(AuthError::BadName { got: bad.clone() });
        }
        let random = random_bytes::<32>().map_err(|e| AuthError::NoRandomness { message: e.to_string() })?;
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        writes.push(Write::Token(TokenRow {
            hash: TokenHash::of(&text),
            owner: token.owner.clone(),
            scopes: token.scopes,
            names: token.names.clone(),
            created_ms: now_ms,
            expires_ms: token.expires_ms,
            revoked_ms: None,
        }));
        shown.push(text);
    }
    store.write(writes).await?;
    Ok(shown)
}

/// Revokes tokens. `which` is a token itself or the first digits of its hash; otherwise it is an owner, whose tokens are
/// all revoked. Returns those that were revoked by this.
///
/// # Errors
/// [`AuthError::Unknown`] when nothing fits, [`AuthError::Ambiguous`] when several hashes begin so, or the store's.
pub async fn revoke(store: &Store, which: &str, now_ms: i64) -> Result<Vec<TokenRow>, AuthError> {
    let all = store.tokens().await?;
    let hash = TokenHash::of(which);
    let digits = which.len() >= 4 && which.bytes().all(|b| b.is_ascii_hexdigit());
    let by_hash: Vec<_> = all
        .iter()
        .filter(|row| row.hash == hash || (digits && row.hash.to_string().starts_with(&which.to_lowercase())))
        .collect();
    let chosen = match by_hash.len() {
        0 => all.iter().filter(|row| row.owner == which).collect(),
        1 => by_hash,
        count => return Err(AuthError::Ambiguous { prefix: which.to_owned(), count }),
    };
    if chosen.is_empty() {
        return Err(AuthError::Unknown);
    }
    let fresh: Vec<TokenRow> = chosen.into_iter().filter(|row| row.revoked_ms.is_none()).cloned().collect();
    store.write(fresh.iter().map(|row| Write::TokenRevoked { hash: row.hash, revoked_ms: now_ms }).collect()).await?;
    Ok(fresh)
}

/// Reads a list of wanted tokens: CSV with a header line that names the columns `owner`, `scopes`, `names` and
/// `expires`, of which only `owner` is required. Within a field, scopes and names have spaces between. Absent scopes
/// are gym, play and spectate; absent names are the owner's own name and those that begin with it and a dot.
/// `expires` is a time such as `2027-01-31T00:00:00Z`.
///
/// # Errors
/// [`AuthError::BadLine`] with the number of the first line that cannot be used.
pub fn parse_csv(text: &str) -> Result<Vec<NewToken>, AuthError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let bad = |line: u64, message: String| AuthError::BadLine { line, message };
    let header = reader.headers().map_err(|e| bad(1, e.to_string()))?.clone();
    if let Some(unknown) = header.iter().find(|name| !["owner", "scopes", "names", "expires"].contains(name)) {
        return Err(bad(1, format!("unknown column {unknown:?}; columns are owner, scopes, names, expires")));
    }
    let column = |row: &csv::StringRecord, name: &str| {
        let at = header.iter().position(|h| h == name)?;
        row.get(at).filter(|field| !field.is_empty()).map(str::to_owned)
    };
    let mut tokens = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|e| bad(e.position().map_or(0, csv::Position::line), e.to_string()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let owner = column(&row, "owner").ok_or_else(|| bad(line, "the owner is missing".to_owned()))?;
        let scopes = match column(&row, "scopes") {
            Some(text) => text.parse().map_err(|e: BadScope| bad(line, e.to_string()))?,
            None => Scopes::OPEN,
        };
        let names: Vec<String> = match column(&row, "names") {
            Some(text) => text.split_whitespace().map(str::to_owned).collect(),
            None => default_names(&owner),
        };
        if let Some(name) = names.iter().find(|name| !is_name_pattern(name)) {
            return Err(bad(line, AuthError::BadName { got: name.clone() }.to_string()));
        }
        let expires_ms = match column(&row, "expires") {
            Some(text) => {
                let time: jiff::Timestamp =
                    text.parse().map_err(|e| bad(line, format!("{text:?} is not a time: {e}")))?;
                Some(time.as_millisecond())
            }
            None => None,
        };
        tokens.push(NewToken { owner, scopes, names, expires_ms });
    }
    Ok(tokens)
}

/// The names that a token of `owner` allows when nothing else is said: the owner's own, and `owner.*`.
pub fn default_names(owner: &str) -> Vec<String> {
    vec![owner.to_owned(), format!("{owner}.*")]
}

/// Whether `text` is an agent name, or the beginning of one and `*`.
fn is_name_pattern(text: &str) -> bool {
    match text.strip_suffix('*') {
        Some(prefix) => prefix.is_empty() || is_agent_name(prefix),
        None => is_agent_name(text),
    }
}
