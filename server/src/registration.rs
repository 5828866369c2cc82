//! Registration of owners by themselves: each registration creates one owner with one token.

mod address_budgets;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ludex_gym::opponents::Opponents;
use ludex_protocol::error::truncate_text;
use ludex_protocol::{Limits, is_agent_name};
use ludex_store::{Store, StoreError, Write};
use tokio::sync::Mutex;

use self::address_budgets::AddressBudgets;
use crate::auth::{self, AuthError, NewToken, Scopes, TokenHash};
use crate::config::RegistrationMode;

/// Reason for a refused registration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistrationError {
    #[error("expected an owner name, got {got:?}; allowed: 1 to 40 of A-Z a-z 0-9 . _ -")]
    BadName { got: String },
    /// Name of an owner or an agent of the server, or a name that such a name's token allows.
    #[error(
        "expected a free name, got {name}, which belongs to an owner or an agent of this server; choose another name"
    )]
    Taken { name: String },
    /// Missing, unknown or used invitation.
    #[error("expected a valid invitation: {why}; ask the operator of this server for one")]
    NotInvited { why: String },
    /// Address with too many registrations.
    #[error("expected at most {most} registrations per hour from an address; try again in {} minutes", .wait.as_secs().div_ceil(60))]
    TooMany { most: u32, wait: Duration },
    /// Server with too many owners that registered themselves.
    #[error("expected at most {most} owners that registered themselves; ask the operator of this server for a token")]
    Full { most: u32 },
    /// Failure of the store or of the system's random source.
    #[error(transparent)]
    Failed(#[from] AuthError),
}

impl From<StoreError> for RegistrationError {
    fn from(error: StoreError) -> Self {
        RegistrationError::Failed(error.into())
    }
}

/// Token of a new owner. Its secret is displayed once and not stored.
pub(crate) struct RegisteredOwner {
    pub secret: String,
    /// Agent names that the token allows.
    pub names: Vec<String>,
}

/// Registration of owners, with its limits.
pub(crate) struct Registrar {
    pub mode: RegistrationMode,
    /// Maximum number of registrations per hour from one address; 0: no limit.
    pub per_hour: u32,
    /// Maximum number of owners that registered themselves without an invitation.
    most_owners: u32,
    store: Store,
    opponents: Arc<Opponents>,
    /// Budgets of the addresses. Locked during a registration, so that no name and no invitation is used twice.
    budgets: Arc<Mutex<AddressBudgets>>,
}

impl Registrar {
    pub fn new(mode: RegistrationMode, store: &Store, opponents: &Arc<Opponents>, limits: &Limits) -> Self {
        Registrar {
            mode,
            per_hour: limits.registrations_per_hour,
            most_owners: limits.registered_owners,
            store: store.clone(),
            opponents: opponents.clone(),
            budgets: Arc::new(Mutex::new(AddressBudgets::new(limits.registrations_per_hour))),
        }
    }

    /// Returns this registration with other agents and limits.
    pub fn reloaded(&self, opponents: &Arc<Opponents>, limits: &Limits) -> Self {
        Registrar { budgets: self.budgets.clone(), ..Registrar::new(self.mode, &self.store, opponents, limits) }
    }

    /// Creates the owner `name` and its token for the client at `address`, and uses up the invitation if one is required.
    ///
    /// # Errors
    ///
    /// The reason for a refusal. Nothing has changed then.
    pub async fn register(
        self: &Arc<Self>,
        name: String,
        invitation: String,
        address: IpAddr,
        now_ms: i64,
    ) -> Result<RegisteredOwner, RegistrationError> {
        if !is_agent_name(&name) {
            return Err(RegistrationError::BadName { got: truncate_text(&name) });
        }
        // The registration is completed even if the client disconnects: its writes precede the next registration's reads.
        let registrar = self.clone();
        let registered = tokio::spawn(async move { registrar.create(name, &invitation, address, now_ms).await });
        registered.await.unwrap_or(Err(RegistrationError::Failed(StoreError::Closed.into())))
    }

    async fn create(
        &self,
        name: String,
        invitation: &str,
        address: IpAddr,
        now_ms: i64,
    ) -> Result<RegisteredOwner, RegistrationError> {
        let mut budgets = self.budgets.lock().await;
        budgets.set_most(self.per_hour);
        if let Some(wait) = budgets.wait(address, Instant::now()) {
            return Err(RegistrationError::TooMany { most: self.per_hour, wait });
        }
        let (used, scopes) = match self.mode {
            RegistrationMode::Open => (None, Scopes::OPEN | Scopes::REGISTERED),
            RegistrationMode::Invite => (Some(self.invitation(invitation, now_ms).await?), Scopes::OPEN),
        };
        let names = auth::default_names(&name);
        let claims = self.claims(&name, &names).await?;
        if self.mode == RegistrationMode::Open && claims.registered >= self.most_owners {
            return Err(RegistrationError::Full { most: self.most_owners });
        }
        if claims.is_taken || self.is_agent_of_server(&name) {
            return Err(RegistrationError::Taken { name });
        }
        let token = NewToken { owner: name, scopes, names, expires_ms: None };
        let (secret, row) = auth::issue(&token, now_ms)?;
        let mut writes = vec![Write::Token(row)];
        writes.extend(used.map(|hash| Write::TokenRevoked { hash, revoked_ms: now_ms }));
        self.store.write(writes).await?;
        budgets.take(address, Instant::now());
        tracing::info!(owner = token.owner, ip = %address, "owner registered");
        Ok(RegisteredOwner { secret, names: token.names })
    }

    /// Returns the hash of a valid invitation.
    async fn invitation(&self, text: &str, now_ms: i64) -> Result<TokenHash, RegistrationError> {
        let why = match auth::valid_token(&self.store, text, now_ms).await {
            Ok(row) if row.scopes == Scopes::INVITE => return Ok(row.hash),
            Ok(_) => "the token has other scopes".to_owned(),
            Err(AuthError::Store(error)) => return Err(error.into()),
            Err(_) if text.is_empty() => "none was entered".to_owned(),
            Err(AuthError::Revoked) => "it was used or revoked".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(RegistrationError::NotInvited { why })
    }

    /// Returns the claims of all tokens on a new owner's name and agent names.
    async fn claims(&self, owner: &str, names: &[String]) -> Result<Claims, StoreError> {
        let (owner, names) = (owner.to_owned(), names.to_owned());
        let overlaps = move |other: &String| {
            // A token for all names, such as an operator's, reserves none.
            other != "*" && names.iter().any(|name| auth::patterns_overlap(name, other))
        };
        let fold = move |claims: Claims, row: ludex_store::TokenRow| Claims {
            registered: claims.registered + u32::from(row.scopes.contains(Scopes::REGISTERED)),
            is_taken: claims.is_taken || row.owner.eq_ignore_ascii_case(&owner) || row.names.iter().any(&overlaps),
        };
        self.store.fold_tokens(Claims::default(), fold).await
    }

    /// Returns true if an agent of the server has this name, ignoring case.
    fn is_agent_of_server(&self, name: &str) -> bool {
        let Opponents { agents, named, .. } = &*self.opponents;
        agents.get(&name.to_ascii_lowercase()).is_some() || named.keys().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Claims of the stored tokens, including revoked ones.
#[derive(Default)]
struct Claims {
    /// Number of owners that registered themselves without an invitation.
    registered: u32,
    /// True if a token has the name, or allows one of the agent names.
    is_taken: bool,
}
