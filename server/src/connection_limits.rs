//! Limits on the number of connections, per address and in total. Connections that have not
//! completed the handshake have separate limits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ludex_protocol::Limits;
use parking_lot::Mutex;

/// Connection counters with their limits.
#[derive(Debug)]
pub(crate) struct ConnectionLimits {
    most: [Most; 2],
    inside: Mutex<Inside>,
}

/// Maximum number of connections, per address and in total.
#[derive(Debug)]
struct Most {
    address: u32,
    all: u32,
}

#[derive(Debug, Default)]
struct Inside {
    all: [u32; 2],
    by_address: HashMap<IpAddr, [u32; 2]>,
}

/// Counter of connections: all open ones, or those before the handshake.
#[derive(Clone, Copy, Debug)]
enum Count {
    Open = 0,
    New = 1,
}

/// Permit for one connection; released on drop.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    doors: Arc<ConnectionLimits>,
    address: IpAddr,
    new: AtomicBool,
}

impl ConnectionLimits {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let most = [
            Most { address: limits.address_connections, all: limits.connections },
            Most { address: limits.address_hellos, all: limits.hellos },
        ];
        Arc::new(ConnectionLimits { most, inside: Mutex::default() })
    }

    /// Admits a connection from an address; `None` if a limit is reached.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let mut inside = self.inside.lock();
        let of = inside.by_address.get(&address).copied().unwrap_or_default();
        let full = |k: usize| of[k] >= self.most[k].address || inside.all[k] >= self.most[k].all;
        if full(Count::Open as usize) || full(Count::New as usize) {
            return None;
        }
        inside.by_address.insert(address, of.map(|count| count + 1));
        inside.all = inside.all.map(|count| count + 1);
        Some(ConnectionPermit { doors: self.clone(), address, new: AtomicBool::new(true) })
    }

    fn leave(&self, address: IpAddr, which: Count) {
        let mut inside = self.inside.lock();
        inside.all[which as usize] -= 1;
        if let Some(of) = inside.by_address.get_mut(&address) {
            of[which as usize] -= 1;
            if of[Count::Open as usize] == 0 {
                inside.by_address.remove(&address);
            }
        }
    }
}

impl ConnectionPermit {
    /// Marks the handshake as complete.
    pub fn welcome(&self) {
        if self.new.swap(false, Ordering::Relaxed) {
            self.doors.leave(self.address, Count::New);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.welcome();
        self.doors.leave(self.address, Count::Open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_by_address_and_in_total() {
        let limits =
            Limits { address_connections: 3, connections: 4, address_hellos: 2, hellos: 9, ..Limits::default() };
        let doors = ConnectionLimits::new(&limits);
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let first = doors.enter(a).unwrap();
        let second = doors.enter(a).unwrap();
        assert!(doors.enter(a).is_none(), "two connections before the handshake");
        first.welcome();
        let third = doors.enter(a).unwrap();
        drop(second);
        let fourth = doors.enter(a).unwrap();
        assert!(doors.enter(a).is_none(), "three connections of one address");
        let fifth = doors.enter(b).unwrap();
        assert!(doors.enter(b).is_none(), "four connections in total");
        drop((first, third, fourth, fifth));
        assert!(doors.inside.lock().by_address.is_empty());
        assert_eq!(doors.inside.lock().all, [0, 0]);
    }
}
