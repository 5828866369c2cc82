//! Stored form of tokens, and their scopes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

bitflags::bitflags! {
    /// Permissions of a token.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Scopes: u8 {
        /// Permission to use environments of the gym plane.
        const GYM = 1;
        /// Permission to play in matches.
        const PLAY = 2;
        /// Permission to watch matches of other clients.
        const SPECTATE = 4;
        /// Permission to see hidden information and to administer the server.
        const ADMIN = 8;
        /// Permission to read the server's metrics.
        const METRICS = 16;
        /// Permission to register one owner. A token with this scope is an invitation, and has no other scope.
        const INVITE = 32;
        /// Mark of an owner that registered itself without an invitation; not a permission.
        const REGISTERED = 64;
        /// Permission of a person to play one run of a suite. A token with this scope has no other scope.
        const PERSON = 128;
        /// Scopes of a guest on loopback.
        const OPEN = Self::GYM.bits() | Self::PLAY.bits() | Self::SPECTATE.bits();
    }
}

impl Scopes {
    /// Empty set of permissions.
    pub const NONE: Self = Self::empty();

    /// Returns the names of the scopes in the protocol's order.
    pub fn names(self) -> Vec<&'static str> {
        NAMES.iter().filter(|(scope, _)| self.contains(*scope)).map(|(_, name)| *name).collect()
    }
}

const NAMES: [(Scopes, &str); 8] = [
    (Scopes::GYM, "gym"),
    (Scopes::PLAY, "play"),
    (Scopes::SPECTATE, "spectate"),
    (Scopes::METRICS, "metrics"),
    (Scopes::INVITE, "invite"),
    (Scopes::REGISTERED, "registered"),
    (Scopes::PERSON, "person"),
    (Scopes::ADMIN, "admin"),
];

impl fmt::Display for Scopes {
    /// Formats the scope names separated by commas, such as `gym,play`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(","))
    }
}

/// Error for an unknown scope name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a scope, got {got:?}; allowed: {}", Scopes::all().names().join(", "))]
pub struct BadScope {
    /// Unknown name, as supplied.
    pub got: String,
}

impl FromStr for Scopes {
    type Err = BadScope;

    /// Parses scope names separated by commas or spaces. An empty text yields [`Scopes::NONE`].
    ///
    /// # Errors
    ///
    /// An unknown scope.
    fn from_str(text: &str) -> Result<Self, BadScope> {
        let scope = |word: &str| NAMES.iter().find(|(_, name)| *name == word).map(|(scope, _)| *scope);
        let words = text.split([',', ' ', ';']).filter(|word| !word.is_empty());
        words.map(|word| scope(word).ok_or_else(|| BadScope { got: word.to_owned() })).collect()
    }
}

/// SHA-256 of a token. The store holds this hash instead of the token itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// Returns the hash of a token's secret text.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns the first 12 hex digits of the hash, as a short id for lists and revocation.
    pub fn id(&self) -> String {
        hex::encode(&self.0[..6])
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({self})")
    }
}

/// Error for a text that is not a token hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a token hash of 64 hex digits")]
pub struct BadHash;

impl FromStr for TokenHash {
    type Err = BadHash;

    /// Parses 64 hex digits.
    ///
    /// # Errors
    ///
    /// Text that is not 64 hex digits.
    fn from_str(text: &str) -> Result<Self, BadHash> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| BadHash)?;
        Ok(Self(hash))
    }
}
