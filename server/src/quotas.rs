//! What the sessions of one owner hold together. The limits of a session hold for each of them; these hold for the sum.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use ludex_protocol::{ErrorCode, Limits, Refusal};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Accounts in the table before those without sessions are swept out.
const SWEEP: usize = 1_024;

/// The most tasks of one owner that search at once.
const SEARCHING: usize = 8;

/// What an owner may hold only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Environments of the gym plane.
    Envs,
    /// Matches that joins may have at once.
    Matches,
    /// Joins.
    Joins,
    /// Bytes of documents that environments keep.
    Said,
}

impl Resource {
    pub const ALL: [Resource; 4] = [Resource::Envs, Resource::Matches, Resource::Joins, Resource::Said];

    /// What they are called in metrics and errors.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Envs => "environments",
            Resource::Matches => "matches",
            Resource::Joins => "joins",
            Resource::Said => "bytes of documents",
        }
    }

    fn most(self, limits: &Limits) -> u32 {
        match self {
            Resource::Envs => limits.owner_envs,
            Resource::Matches => limits.owner_matches,
            Resource::Joins => limits.owner_joins,
            Resource::Said => limits.owner_said_bytes,
        }
    }
}

/// One owner.
#[derive(Debug)]
pub(crate) struct Account {
    /// Its name; for a guest the id of the session.
    pub name: Arc<str>,
    held: [AtomicU32; Resource::ALL.len()],
    all: Arc<[AtomicU32; Resource::ALL.len()]>,
    /// Tasks that search in its environments at once; each has a thread that mostly waits.
    pub searching: Arc<Semaphore>,
}

/// Part of what an owner holds, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Account>,
    goods: Resource,
    count: u32,
}

impl Account {
    fn new(name: &str, all: &Arc<[AtomicU32; Resource::ALL.len()]>) -> Arc<Self> {
        Arc::new(Account {
            name: name.into(),
            held: Default::default(),
            all: all.clone(),
            searching: Arc::new(Semaphore::new(SEARCHING)),
        })
    }

    /// Takes `count` more.
    ///
    /// # Errors
    /// `limit` when the owner would hold too much then.
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
                    format!("the sessions of your owner hold {now} {} and may hold {most} together", goods.name());
                Err(Box::new(Refusal::new(ErrorCode::Limit, message).got(count).allowed(most.saturating_sub(now))))
            }
        }
    }

    /// How many it holds.
    pub fn used(&self, goods: Resource) -> u32 {
        self.held[goods as usize].load(Ordering::Relaxed)
    }
}

impl Share {
    /// Changes how much it is, without a question.
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

/// The owners that have sessions.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    accounts: Mutex<HashMap<String, Weak<Account>>>,
    /// What all of them hold, guests too.
    all: Arc<[AtomicU32; Resource::ALL.len()]>,
}

impl Owners {
    /// The account of an owner. A guest has one of its own for each session.
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

    /// How many all owners hold together.
    pub fn used(&self, goods: Resource) -> u32 {
        self.all[goods as usize].load(Ordering::Relaxed)
    }

    /// The owners that have sessions.
    pub fn all(&self) -> Vec<Arc<Account>> {
        self.accounts.lock().values().filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_one_owner_share_and_give_back() {
        let limits = Limits { owner_envs: 10, ..Limits::default() };
        let owners = Owners::default();
        let (a, b) = (owners.account(Some("ann"), "s_1"), owners.account(Some("ann"), "s_2"));
        let first = a.take(Resource::Envs, 6, &limits).unwrap();
        let refused = b.take(Resource::Envs, 5, &limits).unwrap_err();
        assert_eq!((refused.code, refused.allowed.as_deref()), (ErrorCode::Limit, Some(&serde_json::json!(4))));
        let _second = b.take(Resource::Envs, 4, &limits).unwrap();
        drop(first);
        assert_eq!((a.used(Resource::Envs), owners.used(Resource::Envs)), (4, 4));
        assert!(owners.account(None, "s_3").take(Resource::Envs, 10, &limits).is_ok(), "a guest shares with nobody");
        assert_eq!(owners.all().len(), 1);
    }
}
