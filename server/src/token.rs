//! Tokens as they are kept, and what they allow.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

bitflags::bitflags! {
    /// A set of scopes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Scopes: u8 {
        /// Environments of one's own.
        const GYM = 1;
        /// Seats in matches.
        const PLAY = 2;
        /// Watching matches.
        const SPECTATE = 4;
        /// Seeing what is hidden, and running the server.
        const ADMIN = 8;
        /// What everybody may do on loopback.
        const OPEN = Self::GYM.bits() | Self::PLAY.bits() | Self::SPECTATE.bits();
    }
}

impl Scopes {
    /// Nothing.
    pub const NONE: Self = Self::empty();

    /// The names of the scopes, in the protocol's order.
    pub fn names(self) -> Vec<&'static str> {
        NAMES.iter().filter(|(scope, _)| self.contains(*scope)).map(|(_, name)| *name).collect()
    }
}

const NAMES: [(Scopes, &str); 4] =
    [(Scopes::GYM, "gym"), (Scopes::PLAY, "play"), (Scopes::SPECTATE, "spectate"), (Scopes::ADMIN, "admin")];

impl fmt::Display for Scopes {
    /// The names with commas between: `gym,play`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(","))
    }
}

/// A word that is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got:?} is not a scope; scopes are gym, play, spectate, admin")]
pub struct BadScope {
    /// The word.
    pub got: String,
}

impl FromStr for Scopes {
    type Err = BadScope;

    /// Names with commas or spaces between. An empty list is [`Scopes::NONE`].
    ///
    /// # Errors
    /// A word that is not a scope.
    fn from_str(text: &str) -> Result<Self, BadScope> {
        let scope = |word: &str| NAMES.iter().find(|(_, name)| *name == word).map(|(scope, _)| *scope);
        let words = text.split([',', ' ', ';']).filter(|word| !word.is_empty());
        words.map(|word| scope(word).ok_or_else(|| BadScope { got: word.to_owned() })).collect()
    }
}

/// SHA-256 of a token: all that is kept of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// The hash of a token as its holder shows it.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// A short name for lists and for revoking: the first 12 hex digits.
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

/// A text that is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token hash is 64 hex digits")]
pub struct BadHash;

impl FromStr for TokenHash {
    type Err = BadHash;

    /// 64 hex digits.
    ///
    /// # Errors
    /// Anything else.
    fn from_str(text: &str) -> Result<Self, BadHash> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| BadHash)?;
        Ok(Self(hash))
    }
}
