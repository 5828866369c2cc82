//! Quotas on the resources that all sessions of one owner use. Session limits apply in addition.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use ludex_protocol::{ErrorCode, Limits, Refusal};
use parking_lot::Mutex;

/// Number of accounts that triggers the removal of accounts without sessions.
const SWEEP: usize = 1_024;

/// Resource with a quota per owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Environments of all handles.
    Envs,
    /// Concurrent matches that joins have started.
    Matches,
    /// Joins without a match.
    Joins,
    /// Memory for documents in environments, in bytes.
    Documents,
}

impl Resource {
    /// Every resource with a quota.
    pub const ALL: [Resource; 4] = [Resource::Envs, Resource::Matches, Resource::Joins, Resource::Documents];

    /// Returns the resource's name in metrics and errors.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Envs => "environments",
            Resource::Matches => "matches",
            Resource::Joins => "joins",
            Resource::Documents => "bytes of documents",
        }
    }

    fn most(self, limits: &Limits) -> u32 {
        match self {
            Resource::Envs => limits.owner_envs,
            Resource::Matches => limits.owner_matches,
            Resource::Joins => limits.owner_joins,
            Resource::Documents => limits.owner_document_bytes,
        }
    }
}

/// Resource usage of one owner.
#[derive(Debug)]
pub struct Account {
    /// Name of the owner, or the session id of a guest.
    pub name: Arc<str>,
    held: [AtomicU32; Resource::ALL.len()],
    all: Arc<[AtomicU32; Resource::ALL.len()]>,
}

/// Reserved part of an owner's quota; released on drop.
#[derive(Debug)]
pub struct Share {
    account: Arc<Account>,
    goods: Resource,
    count: u32,
}

impl Account {
    fn new(name: &str, all: &Arc<[AtomicU32; Resource::ALL.len()]>) -> Arc<Self> {
        Arc::new(Account { name: name.into(), held: Default::default(), all: all.clone() })
    }

    /// Reserves `count` more units of a resource.
    ///
    /// # Errors
    ///
    /// `limit` if the owner's quota would be exceeded.
    pub fn take(self: &Arc<Self>, goods: Resource, count: u32, limits: &Limits) -> Result<Share, Box<Refusal>> {
        let (held, most) = (&self.held[goods as usize], goods.most(limits));
        let more = |now: u32| now.checked_add(count).filter(|&sum| sum <= most);
        match held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => {
                self.all[goods as usize].fetch_add(count, Ordering::Relaxed);
                Ok(Share { account: self.clone(), goods, count })
            }
            Err(now) => {
                let message =
                    format!("expected at most {most} {} across all sessions of the owner ({now} in use)", goods.name());
                Err(Box::new(Refusal::new(ErrorCode::Limit, message).got(count).allowed(most.saturating_sub(now))))
            }
        }
    }

    /// Returns the amount of a resource in use.
    pub fn used(&self, goods: Resource) -> u32 {
        self.held[goods as usize].load(Ordering::Relaxed)
    }
}

impl Share {
    /// Changes the reserved amount without checking the quota.
    pub fn set(&mut self, count: u32) {
        for held in [&self.account.held, &*self.account.all] {
            let held = &held[self.goods as usize];
            if count > self.count {
                held.fetch_add(count - self.count, Ordering::Relaxed);
            } else {
                held.fetch_sub(self.count - count, Ordering::Relaxed);
            }
        }
        self.count = count;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Accounts of all owners that have sessions.
#[derive(Debug, Default)]
pub struct Owners {
    accounts: Mutex<HashMap<String, Weak<Account>>>,
    /// Total usage of all owners, including guests.
    all: Arc<[AtomicU32; Resource::ALL.len()]>,
}

impl Owners {
    /// Returns the account of an owner. Each session of a guest has its own account.
    pub fn account(&self, owner: Option<&str>, session: &str) -> Arc<Account> {
        let Some(owner) = owner else { return Account::new(session, &self.all) };
        let mut table = self.accounts.lock();
        if let Some(account) = table.get(owner).and_then(Weak::upgrade) {
            return account;
        }
        if table.len() >= SWEEP {
            table.retain(|_, account| account.strong_count() > 0);
        }
        let account = Account::new(owner, &self.all);
        table.insert(owner.to_owned(), Arc::downgrade(&account));
        account
    }

    /// Returns the amount of a resource in use by all owners.
    pub fn used(&self, goods: Resource) -> u32 {
        self.all[goods as usize].load(Ordering::Relaxed)
    }

    /// Returns the accounts of all owners that have sessions.
    pub fn all(&self) -> Vec<Arc<Account>> {
        self.accounts.lock().values().filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_one_owner_share_a_quota() {
        let limits = Limits { owner_envs: 10, ..Limits::default() };
        let owners = Owners::default();
        let (a, b) = (owners.account(Some("ann"), "s_1"), owners.account(Some("ann"), "s_2"));
        let first = a.take(Resource::Envs, 6, &limits).unwrap();
        let refused = b.take(Resource::Envs, 5, &limits).unwrap_err();
        assert_eq!((refused.code, refused.allowed.as_deref()), (ErrorCode::Limit, Some(&serde_json::json!(4))));
        let _second = b.take(Resource::Envs, 4, &limits).unwrap();
        drop(first);
        assert_eq!((a.used(Resource::Envs), owners.used(Resource::Envs)), (4, 4));
        assert!(owners.account(None, "s_3").take(Resource::Envs, 10, &limits).is_ok(), "each guest has its own quota");
        assert_eq!(owners.all().len(), 1);
    }
}
