//! Tokens, their scopes and their agent names.
//!
//! A token is 32 random bytes. It is displayed once, and the store holds only its SHA-256. Tokens
//! are looked up by hash, so the timing of a lookup reveals nothing about any token. A server that
//! listens on loopback and never had a token admits every client. Any other server requires a
//! token.

pub mod people;

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ludex_arena::invited_run::InvitedRun;
use ludex_protocol::is_agent_name;
use ludex_protocol::message::Scope;
pub use ludex_store::{BadHash, BadScope, Scopes, TokenHash, random_bytes};
use ludex_store::{Store, StoreError, TokenRow, Write};

/// Prefix of every token, by which people and secret scanners recognize it.
const PREFIX: &str = "lx_";

/// Error of a token check, or of the creation or revocation of tokens.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// A missing token on a server that requires tokens.
    #[error("this server requires a token; ask its operator for one (ludex admin token add)")]
    Required,
    /// A token that this server did not create.
    #[error("the token is unknown to this server")]
    Unknown,
    #[error("the token was revoked")]
    Revoked,
    #[error("the token has expired")]
    Expired,
    /// An invitation in place of a token with permissions.
    #[error("the token is an invitation: it permits one registration on the page /register, and grants no scope")]
    Invitation,
    /// An invitation with further scopes.
    #[error("expected the scope invite alone, got {scopes}; an invitation permits one registration and nothing else")]
    MixedInvitation { scopes: Scopes },
    /// A token for a person, created without the run that it is for.
    #[error("expected another scope than person, whose tokens are for one run; `ludex admin invite` creates them")]
    PersonWithoutRun,
    /// Invalid settings of invitations for people.
    #[error("{message}")]
    BadStudy {
        /// Description of the error.
        message: String,
    },
    /// A token whose owner is suspended.
    #[error("the owner of this token is suspended; ask the operator of the server")]
    Suspended { owner: String },
    /// An agent name that the token does not allow.
    #[error("the token does not allow the agent name {name}; allowed: {}", .allowed.join(", "))]
    Name {
        name: String,
        /// Names and prefixes that the token allows.
        allowed: Vec<String>,
    },
    /// An invalid agent name.
    #[error(
        "expected an agent name, got {got:?}; allowed: 1 to 40 of A-Z a-z 0-9 . _ - (and * at the end for a prefix)"
    )]
    BadName { got: String },
    #[error(transparent)]
    BadScope(#[from] BadScope),
    /// An invalid token hash.
    #[error(transparent)]
    BadHash(#[from] BadHash),
    /// An invalid line in a list of tokens.
    #[error("line {line}: {message}")]
    BadLine {
        /// Line number, from 1.
        line: u64,
        /// Description of the error.
        message: String,
    },
    /// A hash prefix that matches several tokens.
    #[error(
        "expected a hash prefix of one token, got {prefix} ({count} tokens match); add digits (ludex admin token list)"
    )]
    Ambiguous {
        /// Hash prefix as supplied.
        prefix: String,
        /// Number of tokens with this prefix.
        count: usize,
    },
    /// A failure of the system's random source.
    #[error("the system's random source failed: {message}")]
    NoRandomness {
        /// Error text of the system.
        message: String,
    },
    /// A failed read or write of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the permission that a scope of the protocol stands for.
pub(crate) fn scopes_of(scope: Scope) -> Scopes {
    match scope {
        Scope::Gym => Scopes::GYM,
        Scope::Play => Scopes::PLAY,
        Scope::Spectate => Scopes::SPECTATE,
        Scope::Admin => Scopes::ADMIN,
    }
}

/// Permissions of an admitted client.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub scopes: Scopes,
    /// Owner of the token; `None` for a guest on loopback.
    pub owner: Option<String>,
    /// Hash of the token; `None` for a guest on loopback.
    pub token: Option<TokenHash>,
    /// Run that the token is limited to, if it invites a person.
    pub invited: Option<Box<InvitedRun>>,
    names: Vec<String>,
}

impl Grant {
    /// Returns the grant of a guest on loopback: gym, play and spectate, under any name.
    pub fn guest() -> Self {
        Self { scopes: Scopes::OPEN, owner: None, token: None, invited: None, names: vec!["*".to_owned()] }
    }

    /// Returns true if all of `scopes` are allowed. The scope `admin` includes all others.
    pub fn may(&self, scopes: Scopes) -> bool {
        self.scopes.contains(scopes) || self.scopes.contains(Scopes::ADMIN)
    }

    /// Returns the agent name to use when the client requests none: the first exact name of the
    /// token.
    pub fn default_name(&self) -> Option<&str> {
        self.names.iter().map(String::as_str).find(|name| !name.ends_with('*'))
    }

    /// Returns the prefix of the token's first agent name pattern. Empty if the token allows any
    /// name, or has no pattern.
    pub fn prefix(&self) -> &str {
        self.names.iter().find_map(|name| name.strip_suffix('*')).unwrap_or_default()
    }

    /// Checks that the token allows an agent name.
    ///
    /// # Errors
    ///
    /// [`AuthError::BadName`] if the name is invalid, [`AuthError::Name`] if the token does not
    /// allow the name.
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

/// Checks a client's token and returns its permissions.
///
/// A client without a token is admitted as a guest if `loopback` is true (the server listens on loopback) and no token
/// was ever created. Revoking the last token does not admit guests again.
///
/// # Errors
///
/// [`AuthError::Required`], [`AuthError::Invitation`], [`AuthError::Unknown`], [`AuthError::Revoked`],
/// [`AuthError::Expired`], [`AuthError::Suspended`] or [`AuthError::Store`].
pub async fn admit(store: &Store, token: Option<&str>, loopback: bool, now_ms: i64) -> Result<Grant, AuthError> {
    let Some(token) = token else {
        return match loopback && !store.has_tokens().await? {
            true => Ok(Grant::guest()),
            false => Err(AuthError::Required),
        };
    };
    let row = valid_token(store, token, now_ms).await?;
    if row.scopes.contains(Scopes::INVITE) {
        return Err(AuthError::Invitation);
    }
    let (mut scopes, mut invited) = (row.scopes, None);
    if scopes.contains(Scopes::PERSON) {
        // The run limits the permission to play.
        (scopes, invited) = (Scopes::PLAY, Some(Box::new(people::run_of(store, &row.hash).await?)));
    }
    Ok(Grant { scopes, owner: Some(row.owner), token: Some(row.hash), invited, names: row.names })
}

/// Returns the row of a token that is neither revoked nor expired, and whose owner is not suspended.
///
/// # Errors
///
/// [`AuthError::Unknown`], [`AuthError::Revoked`], [`AuthError::Expired`], [`AuthError::Suspended`] or
/// [`AuthError::Store`].
pub(crate) async fn valid_token(store: &Store, token: &str, now_ms: i64) -> Result<TokenRow, AuthError> {
    let row = store.token(&TokenHash::of(token)).await?.ok_or(AuthError::Unknown)?;
    if row.revoked_ms.is_some() {
        return Err(AuthError::Revoked);
    }
    if row.expires_ms.is_some_and(|end| end <= now_ms) {
        return Err(AuthError::Expired);
    }
    if store.is_suspended(&row.owner).await? {
        return Err(AuthError::Suspended { owner: row.owner });
    }
    Ok(row)
}

/// Specification of a token to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Owner of the token.
    pub owner: String,
    /// Scopes of the token.
    pub scopes: Scopes,
    /// Agent names that the token allows: exact names, or a prefix and `*`.
    pub names: Vec<String>,
    /// Expiry time in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

/// Creates either all tokens in `wanted` or none. Returns the secrets of the tokens in the order of `wanted`, once the
/// tokens are stored. A secret cannot be retrieved later.
///
/// # Errors
///
/// [`AuthError::BadName`] for an invalid agent name, [`AuthError::MixedInvitation`] for an invitation with further
/// scopes, [`AuthError::PersonWithoutRun`], [`AuthError::NoRandomness`] or [`AuthError::Store`].
pub async fn add(store: &Store, wanted: &[NewToken], now_ms: i64) -> Result<Vec<String>, AuthError> {
    let issued: Vec<_> = wanted.iter().map(|token| issue(token, now_ms)).collect::<Result<_, _>>()?;
    let (shown, rows): (Vec<String>, Vec<TokenRow>) = issued.into_iter().unzip();
    store.write(rows.into_iter().map(Write::Token).collect()).await?;
    Ok(shown)
}

/// Returns the secret of a new token, and the token's row, which the caller stores.
///
/// # Errors
///
/// [`AuthError::BadName`] for an invalid agent name, [`AuthError::MixedInvitation`] for an invitation with further
/// scopes, [`AuthError::PersonWithoutRun`], or [`AuthError::NoRandomness`].
pub(crate) fn issue(token: &NewToken, now_ms: i64) -> Result<(String, TokenRow), AuthError> {
    if let Some(bad) = token.names.iter().find(|name| !is_name_pattern(name)) {
        return Err(AuthError::BadName { got: bad.clone() });
    }
    if token.scopes.contains(Scopes::PERSON) {
        return Err(AuthError::PersonWithoutRun);
    }
    if token.scopes.contains(Scopes::INVITE) && token.scopes != Scopes::INVITE {
        return Err(AuthError::MixedInvitation { scopes: token.scopes });
    }
    create(token, now_ms)
}

/// Returns the secret and the row of a token with any scopes.
fn create(token: &NewToken, now_ms: i64) -> Result<(String, TokenRow), AuthError> {
    let random = random_bytes::<32>().map_err(|e| AuthError::NoRandomness { message: e.to_string() })?;
    let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
    let row = TokenRow {
        hash: TokenHash::of(&text),
        owner: token.owner.clone(),
        scopes: token.scopes,
        names: token.names.clone(),
        created_ms: now_ms,
        expires_ms: token.expires_ms,
        revoked_ms: None,
    };
    Ok((text, row))
}

/// Revokes the tokens that `which` selects: a token, the first digits of a token's hash, or the
/// name of an owner. Returns the tokens that were not revoked before.
///
/// # Errors
///
/// [`AuthError::Unknown`] if no token matches, [`AuthError::Ambiguous`] if several hashes share the
/// prefix, or [`AuthError::Store`].
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

/// Revokes one token and returns its row. A revoked token stays revoked.
///
/// # Errors
///
/// [`AuthError::Unknown`], or [`AuthError::Store`].
pub(crate) async fn revoke_token(store: &Store, token: &str, now_ms: i64) -> Result<TokenRow, AuthError> {
    let row = store.token(&TokenHash::of(token)).await?.ok_or(AuthError::Unknown)?;
    store.write(vec![Write::TokenRevoked { hash: row.hash, revoked_ms: now_ms }]).await?;
    Ok(row)
}

/// Parses a CSV list of tokens to create. The header names the columns `owner`, `scopes`, `names`
/// and `expires`; only `owner` is required. Within a field, spaces separate scopes and names. The
/// default scopes are gym, play and spectate. The default names are those of [`default_names`].
/// `expires` is parsed by [`parse_expiry`].
///
/// # Errors
///
/// [`AuthError::BadLine`] with the number of the first invalid line.
pub fn parse_csv(text: &str, now_ms: i64) -> Result<Vec<NewToken>, AuthError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let bad = |line: u64, message: String| AuthError::BadLine { line, message };
    let header = reader.headers().map_err(|e| bad(1, e.to_string()))?.clone();
    if let Some(unknown) = header.iter().find(|name| !["owner", "scopes", "names", "expires"].contains(name)) {
        return Err(bad(1, format!("unknown column {unknown:?}; allowed: owner, scopes, names, expires")));
    }
    let column = |row: &csv::StringRecord, name: &str| {
        let at = header.iter().position(|h| h == name)?;
        row.get(at).filter(|field| !field.is_empty()).map(str::to_owned)
    };
    let mut tokens = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|e| bad(e.position().map_or(0, csv::Position::line), e.to_string()))?;
        let line = row.position().map_or(0, csv::Position::line);
        let owner = column(&row, "owner").ok_or_else(|| bad(line, "expected an owner, got none".to_owned()))?;
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
        let expiry = column(&row, "expires").map(|text| parse_expiry(&text, now_ms)).transpose();
        let expires_ms = expiry.map_err(|message| bad(line, format!("expires: {message}")))?;
        tokens.push(NewToken { owner, scopes, names, expires_ms });
    }
    Ok(tokens)
}

/// Parses a time such as `2027-01-31T00:00:00Z`, or a number of days after `now_ms` such as `90d`, and returns
/// milliseconds since the Unix epoch.
///
/// # Errors
///
/// A message if `text` has neither form, or if the time is not in the future.
pub fn parse_expiry(text: &str, now_ms: i64) -> Result<i64, String> {
    const DAY_MS: i64 = 86_400_000;
    let days = text.strip_suffix('d').and_then(|n| n.parse::<u16>().ok());
    let end = match days {
        Some(days) => now_ms + i64::from(days) * DAY_MS,
        None => text.parse::<jiff::Timestamp>().map(|time| time.as_millisecond()).map_err(|e| {
            format!("expected a time such as 2027-01-31T00:00:00Z or a number of days such as 90d, got {text:?}: {e}")
        })?,
    };
    if end <= now_ms { Err(format!("expected a time in the future, got {text}")) } else { Ok(end) }
}

/// Returns the default agent names for tokens of `owner`: the owner's own name, and `owner.*` if names with this prefix
/// are short enough.
pub fn default_names(owner: &str) -> Vec<String> {
    let mut names = vec![owner.to_owned()];
    names.extend(is_agent_name(&format!("{owner}.")).then(|| format!("{owner}.*")));
    names
}

/// Returns true if two agent name patterns allow a common name, ignoring case.
pub(crate) fn patterns_overlap(one: &str, other: &str) -> bool {
    let parts = |pattern: &str| pattern.strip_suffix('*').map_or((pattern.len(), false), |name| (name.len(), true));
    let ((one_len, one_open), (other_len, other_open)) = (parts(one), parts(other));
    let may_extend = match one_len.cmp(&other_len) {
        Ordering::Less => one_open,
        Ordering::Equal => true,
        Ordering::Greater => other_open,
    };
    let common = one_len.min(other_len);
    may_extend && one.as_bytes()[..common].eq_ignore_ascii_case(&other.as_bytes()[..common])
}

/// Returns true if `text` is an agent name, or a prefix of agent names followed by `*`.
fn is_name_pattern(text: &str) -> bool {
    match text.strip_suffix('*') {
        Some(prefix) => prefix.is_empty() || is_agent_name(prefix),
        None => is_agent_name(text),
    }
}
