//! Limits on the number of connections, per address and in total. Connections of clients that have shown no token have
//! lower limits, so that they cannot keep out clients with a token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use ludex_protocol::Limits;
use parking_lot::Mutex;

/// Connection counters with their limits.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    /// Maximum number of connections.
    open: Most,
    /// Maximum number of new connections: those that serve plain HTTP, or have not received `welcome` yet.
    new: Most,
    /// Maximum number of connections in slots that are reserved for clients with a token.
    reserved: Most,
    /// Maximum total number of connections without a token, not counting those in reserved slots.
    without_token: u32,
    /// Counts, which outlive a change of the limits.
    counts: Arc<Mutex<Counts>>,
}

/// Maximum number of connections, per address and in total.
#[derive(Debug)]
struct Most {
    address: u32,
    all: u32,
}

#[derive(Debug, Default)]
struct Counts {
    all: Count,
    by_address: HashMap<IpAddr, Count>,
}

/// Number of connections of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    reserved: u32,
    new: u32,
    guests: u32,
    with_token: u32,
}

impl Count {
    fn open(self) -> u32 {
        self.reserved + self.new + self.guests + self.with_token
    }

    fn of(&mut self, standing: Standing) -> &mut u32 {
        match standing {
            Standing::Reserved => &mut self.reserved,
            Standing::New => &mut self.new,
            Standing::Guest => &mut self.guests,
            Standing::WithToken => &mut self.with_token,
        }
    }
}

/// Class of a connection, which determines the limits that apply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// New connection in a reserved slot, after all other slots are taken. Its client must show a token.
    Reserved,
    /// Connection that serves plain HTTP, or has not received `welcome` yet.
    New,
    /// Session without a token.
    Guest,
    WithToken,
}

/// Permit for one connection; released on drop.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limits: Arc<ConnectionLimits>,
    address: IpAddr,
    standing: Mutex<Standing>,
}

impl ConnectionLimits {
    pub fn new(limits: &Limits) -> Arc<Self> {
        Self::with_counts(limits, Arc::default())
    }

    /// Returns these counters with other limits. Connections above the new limits stay open.
    pub fn resized(&self, limits: &Limits) -> Arc<Self> {
        Self::with_counts(limits, self.counts.clone())
    }

    fn with_counts(limits: &Limits, counts: Arc<Mutex<Counts>>) -> Arc<Self> {
        let all = limits.connections;
        let reserved = all / 10;
        Arc::new(ConnectionLimits {
            open: Most { address: limits.address_connections, all },
            new: Most { address: limits.address_hellos, all: limits.hellos.min(all.div_ceil(4)) },
            // One address gets at most a quarter of the reserved slots.
            reserved: Most { address: reserved.div_ceil(4), all: reserved },
            without_token: all - reserved,
            counts,
        })
    }

    /// Admits a connection from an address; `None` if a limit is reached.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let mut counts = self.counts.lock();
        let (all, own) = (counts.all, counts.by_address.get(&address).copied().unwrap_or_default());
        let fits = |most: &Most, count: fn(Count) -> u32| count(own) < most.address && count(all) < most.all;
        let standing = if !fits(&self.open, Count::open) {
            return None;
        } else if fits(&self.new, |count| count.new) && all.new + all.guests < self.without_token {
            Standing::New
        } else if fits(&self.reserved, |count| count.reserved) {
            Standing::Reserved
        } else {
            return None;
        };
        *counts.all.of(standing) += 1;
        *counts.by_address.entry(address).or_default().of(standing) += 1;
        Some(ConnectionPermit { limits: self.clone(), address, standing: Mutex::new(standing) })
    }
}

impl ConnectionPermit {
    /// Returns true if the connection is in a reserved slot and its client has shown no token.
    pub fn is_reserved(&self) -> bool {
        *self.standing.lock() == Standing::Reserved
    }

    /// Marks the connection as no longer new. Returns false if it is in a reserved slot and its client has no token.
    pub fn welcome(&self, has_token: bool) -> bool {
        let mut standing = self.standing.lock();
        let next = match *standing {
            _ if has_token => Standing::WithToken,
            Standing::Reserved => return false,
            Standing::New => Standing::Guest,
            known @ (Standing::Guest | Standing::WithToken) => known,
        };
        let before = std::mem::replace(&mut *standing, next);
        let mut counts = self.limits.counts.lock();
        let Counts { all, by_address } = &mut *counts;
        for count in [Some(all), by_address.get_mut(&self.address)].into_iter().flatten() {
            *count.of(before) -= 1;
            *count.of(next) += 1;
        }
        true
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let standing = *self.standing.get_mut();
        let mut counts = self.limits.counts.lock();
        *counts.all.of(standing) -= 1;
        if let Some(own) = counts.by_address.get_mut(&self.address) {
            *own.of(standing) -= 1;
            if own.open() == 0 {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    #[test]
    fn connections_are_limited_by_address_and_in_total() {
        let limits =
            Limits { address_connections: 3, connections: 40, address_hellos: 2, hellos: 9, ..Limits::default() };
        let doors = ConnectionLimits::new(&limits);
        let enter = |n| doors.enter(address(n)).filter(|permit| !permit.is_reserved());
        let first = enter(1).unwrap();
        let second = enter(1).unwrap();
        assert!(enter(1).is_none(), "two connections before the handshake");
        assert!(first.welcome(false));
        let third = enter(1).unwrap();
        drop(second);
        let fourth = enter(1);
        assert!(fourth.is_some() && doors.enter(address(1)).is_none(), "three connections of one address");
        drop((first, third, fourth));
        assert!(doors.counts.lock().by_address.is_empty());
        assert_eq!(doors.counts.lock().all, Count::default());
    }

    #[test]
    fn new_connections_take_at_most_a_quarter_of_all_slots() {
        let doors = ConnectionLimits::new(&Limits { connections: 40, ..Limits::default() });
        let new: Vec<_> = (0..10).map(|n| doors.enter(address(n)).unwrap()).collect();
        assert!(new.iter().all(|permit| !permit.is_reserved()));
        let next = doors.enter(address(10)).unwrap();
        assert!(next.is_reserved());
        assert!(!next.welcome(false), "no slot without a token");
        assert!(next.welcome(true) && !next.is_reserved());
        drop(new);
        assert!(!doors.enter(address(11)).unwrap().is_reserved());
    }

    #[test]
    fn tenth_of_the_slots_is_reserved_for_clients_with_a_token() {
        let doors = ConnectionLimits::new(&Limits { connections: 40, ..Limits::default() });
        let guest = |n| doors.enter(address(n)).filter(|permit| permit.welcome(false));
        let guests: Vec<_> = (0..36).map(|n| guest(n).unwrap()).collect();
        assert!(guest(40).is_none());
        let clients: Vec<_> = (50..54).map(|n| doors.enter(address(n)).unwrap()).collect();
        assert!(clients.iter().all(|client| client.welcome(true)));
        assert!(doors.enter(address(60)).is_none(), "all connections are taken");
        drop(guests);
        assert!(guest(40).is_some());
    }

    #[test]
    fn one_address_takes_at_most_a_quarter_of_the_reserved_slots() {
        let doors = ConnectionLimits::new(&Limits { connections: 80, ..Limits::default() });
        let new: Vec<_> = (0..20).map(|n| doors.enter(address(n)).unwrap()).collect();
        let held = [doors.enter(address(30)).unwrap(), doors.enter(address(30)).unwrap()];
        assert!(held.iter().all(ConnectionPermit::is_reserved));
        assert!(doors.enter(address(30)).is_none());
        assert!(doors.enter(address(31)).is_some());
        drop(new);
    }
}
