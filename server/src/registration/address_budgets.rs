//! Budgets of registrations by client address.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Period to which a budget applies.
const PERIOD: Duration = Duration::from_secs(3_600);

/// Maximum number of addresses with registrations in the last period. Further addresses wait.
const ADDRESSES: usize = 10_000;

/// Time to wait while the table is full.
const FULL_WAIT: Duration = Duration::from_secs(60);

/// Registrations of the last hour, by address. The table is bounded, and forgets older registrations.
pub(super) struct AddressBudgets {
    /// Maximum number of registrations per address and period; 0: no limit.
    most: u32,
    /// Times of registrations, oldest first.
    used: HashMap<IpAddr, VecDeque<Instant>>,
}

impl AddressBudgets {
    pub fn new(most: u32) -> Self {
        AddressBudgets { most, used: HashMap::new() }
    }

    /// Changes the maximum number of registrations. Those of the last hour still count.
    pub fn set_most(&mut self, most: u32) {
        self.most = most;
    }

    /// Returns the time until an address may register an owner; `None` if it may at once.
    pub fn wait(&mut self, address: IpAddr, now: Instant) -> Option<Duration> {
        let address = network_of(address);
        if self.most == 0 {
            return None;
        }
        if self.used.len() >= ADDRESSES {
            self.used.retain(|_, times| times.back().is_some_and(|&at| is_recent(at, now)));
        }
        let is_full = self.used.len() >= ADDRESSES;
        let Some(times) = self.used.get_mut(&address) else { return is_full.then_some(FULL_WAIT) };
        times.retain(|&at| is_recent(at, now));
        let oldest = times.front().filter(|_| times.len() >= self.most as usize)?;
        Some(PERIOD.saturating_sub(now.saturating_duration_since(*oldest)))
    }

    /// Charges a registration to an address.
    pub fn take(&mut self, address: IpAddr, now: Instant) {
        if self.most > 0 {
            self.used.entry(network_of(address)).or_default().push_back(now);
        }
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < PERIOD
}

/// Returns the address that has the budget: of an IPv6 address the network of 64 bits, since one client has all its
/// addresses.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_limited_within_any_hour() {
        let (mut budgets, start) = (AddressBudgets::new(2), Instant::now());
        let at = |minutes: u64| start + Duration::from_secs(60 * minutes);
        let [here, there] = [1, 2].map(|n| IpAddr::from([10, 0, 0, n]));
        for minutes in [0, 40] {
            assert_eq!(budgets.wait(here, at(minutes)), None);
            budgets.take(here, at(minutes));
        }
        assert_eq!(budgets.wait(here, at(50)), Some(Duration::from_secs(600)));
        assert_eq!(budgets.wait(there, at(50)), None);
        assert_eq!(budgets.wait(here, at(60)), None, "the first one is an hour old");
        budgets.take(here, at(60));
        assert_eq!(budgets.wait(here, at(61)), Some(Duration::from_secs(39 * 60)));
        assert_eq!(AddressBudgets::new(0).wait(here, start), None);
    }

    #[test]
    fn addresses_of_an_ipv6_network_share_a_budget() {
        let (mut budgets, now) = (AddressBudgets::new(1), Instant::now());
        budgets.take("2001:db8:0:1::7".parse().unwrap(), now);
        assert!(budgets.wait("2001:db8:0:1:ffff::8".parse().unwrap(), now).is_some());
        assert_eq!(budgets.wait("2001:db8:0:2::7".parse().unwrap(), now), None);
    }

    #[test]
    fn table_is_bounded_and_forgets_old_registrations() {
        let (mut budgets, start) = (AddressBudgets::new(1), Instant::now());
        let address = |n: usize| IpAddr::from((n as u32).to_be_bytes());
        for n in 0..2 * ADDRESSES {
            if budgets.wait(address(n), start).is_none() {
                budgets.take(address(n), start);
            }
        }
        assert_eq!(budgets.used.len(), ADDRESSES);
        assert_eq!(budgets.wait(address(ADDRESSES), start), Some(FULL_WAIT));
        assert_eq!(budgets.wait(address(ADDRESSES), start + PERIOD), None);
        assert!(budgets.used.is_empty());
    }
}
