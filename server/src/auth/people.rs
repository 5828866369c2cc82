//! Tokens of invited people: each permits one person to play one run of a suite.

use ludex_arena::invited_run::InvitedRun;
use ludex_protocol::is_agent_name;
use ludex_referee::suite::is_word;
use ludex_store::{Scopes, Store, StoreError, TokenHash, Write};

use super::{AuthError, NewToken, create};

/// Maximum number of people in one call.
pub const MAX_PEOPLE: usize = 1_000;
/// Maximum length of a run's name in characters.
const MAX_RUN: usize = 64;

/// Suite that people are invited to play, each in a run of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// First part of the names of the runs; the name of the person follows.
    pub name: String,
    pub suite: String,
    /// Parts of the suite to play; empty: all parts.
    pub only: Vec<String>,
    /// Fraction of the suite to play, above 0 and at most 1.
    pub scale: f64,
    /// Expiry time of the tokens in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

/// Invitation of a person. Its token is displayed once and not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Name of the person's agent, which is also the owner of the token.
    pub person: String,
    pub run: String,
    pub token: String,
}

impl Invitation {
    /// Returns the link of the invitation on a server, such as `https://play.example`. The token is in the fragment, which
    /// browsers do not send, so that no log contains it.
    pub fn link(&self, server: &str) -> String {
        format!("{}/runs/{}/play#{}", server.trim_end_matches('/'), self.run, self.token)
    }
}

/// Invites people to play a suite: creates either all tokens or none.
///
/// # Errors
///
/// [`AuthError::BadStudy`] for invalid settings, [`AuthError::BadName`] for an invalid name of a person,
/// [`AuthError::NoRandomness`] or [`AuthError::Store`].
pub async fn invite(
    store: &Store,
    study: &Study,
    people: &[String],
    now_ms: i64,
) -> Result<Vec<Invitation>, AuthError> {
    let bad = |message: String| Err(AuthError::BadStudy { message });
    if let Some(word) = [&study.name, &study.suite].into_iter().chain(&study.only).find(|word| !is_word(word)) {
        return bad(format!("expected a name of small letters, digits, _ and -, got {word:?}"));
    }
    if !(study.scale > 0.0 && study.scale <= 1.0) {
        return bad(format!("scale: expected a number above 0 and at most 1, got {}", study.scale));
    }
    if people.is_empty() || people.len() > MAX_PEOPLE {
        return bad(format!("expected 1 to {MAX_PEOPLE} people, got {}", people.len()));
    }
    let (mut invitations, mut writes) = (Vec::new(), Vec::new());
    for person in people {
        let run = format!("{}-{}", study.name, person.to_ascii_lowercase());
        if !is_agent_name(person) {
            return Err(AuthError::BadName { got: person.clone() });
        }
        if !is_word(&run) || run.len() > MAX_RUN {
            return bad(format!("{person}: expected a run name of 1 to {MAX_RUN} letters, digits, _ and -, got {run}"));
        }
        if invitations.iter().any(|other: &Invitation| other.run == run) {
            return bad(format!("expected each person once, got {person} twice"));
        }
        let token = NewToken {
            owner: person.clone(),
            scopes: Scopes::PERSON,
            names: vec![person.clone()],
            expires_ms: study.expires_ms,
        };
        let (secret, row) = create(&token, now_ms)?;
        let invited =
            InvitedRun { run: run.clone(), suite: study.suite.clone(), only: study.only.clone(), scale: study.scale };
        let value = serde_json::to_string(&invited).map_err(|e| StoreError::Conflict { message: e.to_string() })?;
        writes.extend([Write::Meta { key: key(&row.hash), value }, Write::Token(row)]);
        invitations.push(Invitation { person: person.clone(), run, token: secret });
    }
    store.write(writes).await?;
    Ok(invitations)
}

/// Returns the run that a person's token is for.
pub(super) async fn run_of(store: &Store, hash: &TokenHash) -> Result<InvitedRun, AuthError> {
    let text = store.meta(&key(hash)).await?;
    let run = text.and_then(|text| serde_json::from_str(&text).ok());
    run.ok_or_else(|| StoreError::Conflict { message: format!("the run of the token {} is missing", hash.id()) }.into())
}

/// Returns the key of the entry with the run of a token.
fn key(hash: &TokenHash) -> String {
    format!("person:{hash}")
}
