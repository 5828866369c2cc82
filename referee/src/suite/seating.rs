//! Seatings of the matches of a block, and the order of blocks.

use std::collections::BTreeSet;

use ludex_env::Stream;
use serde::{Deserialize, Serialize};

use super::{PartSpec, Schedule};

/// Maximum number of entrants in a block, which is the number of letters allowed in tables.
const MOST_SIDES: usize = 8;

/// Seatings of the matches of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Seats {
    /// Seatings listed in the tables.
    #[default]
    Tables,
    /// All permutations of one entrant per seat: 24 matches on one seed for four seats.
    Permutations,
    /// One match per block, with a random seating drawn from the suite's seed. In n consecutive blocks of an n-seat
    /// game, the first side has each seat once.
    Drawn,
}

impl Seats {
    pub(super) fn is_default(&self) -> bool {
        *self == Seats::default()
    }
}

/// Order of the matches of a pairing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// All seatings on one seed, then the next seed.
    #[default]
    Blocks,
    /// Separate seeds for each seating: no seed is played more than once.
    Halves,
    /// Random order of the blocks of all pairings, drawn from the suite's seed, cycle by cycle.
    Shuffled,
}

impl PartSpec {
    /// Checks that tables, seats, order and schedule fit together and fit the game's number of seats. `opponents` is
    /// the number of opponents in the part.
    pub(super) fn check_seating(&self, seats: usize, opponents: usize) -> Result<(), String> {
        for table in &self.tables {
            if table.len() != seats || !table.chars().all(|c| matches!(c, 'a'..='h')) || !table.contains('a') {
                return Err(format!(
                    "table {table:?}: expected {seats} letters from a to h, one per seat, including an a"
                ));
            }
        }
        let ladder = matches!(self.schedule, Schedule::Climb | Schedule::Bisect);
        match (self.seats, self.order) {
            (Seats::Permutations, _) if !self.tables.is_empty() => {
                return Err("seats = \"permutations\" and tables exclude each other".into());
            }
            (Seats::Permutations, _) if !(2..=MOST_SIDES).contains(&seats) => {
                return Err(format!("seats = \"permutations\" is for 2 to {MOST_SIDES} seats, not {seats}"));
            }
            (Seats::Drawn, _) if !self.tables.is_empty() => {
                return Err("seats = \"drawn\" and tables exclude each other".into());
            }
            (Seats::Drawn, _) if self.schedule == Schedule::SelfPlay => {
                return Err("seats = \"drawn\" is not for schedule = \"self_play\": one agent has all seats".into());
            }
            (Seats::Drawn, _) if self.schedule == Schedule::Converge => {
                return Err("seats = \"drawn\" is not for schedule = \"converge\", which always draws seats".into());
            }
            (Seats::Drawn, Order::Halves) => {
                return Err("order = \"halves\" is not for seats = \"drawn\", which plays one match per block".into());
            }
            (_, Order::Shuffled) if ladder => {
                return Err("order = \"shuffled\" is not for a ladder, whose levels are played in order".into());
            }
            _ => {}
        }
        let sides = self.sides(&self.seatings(seats));
        let letters = self.tables.iter().flat_map(|table| table.bytes()).collect::<BTreeSet<u8>>().len();
        if sides > 2 && !self.tables.is_empty() && letters < sides {
            return Err(format!(
                "tables skip a letter: expected the first {sides} letters of the alphabet, got only {letters} letters"
            ));
        }
        if self.itself && (self.schedule != Schedule::Against || sides > 2) {
            return Err("self = true is for schedule = \"against\" with two sides only".into());
        }
        match self.schedule {
            _ if sides == 2 => Ok(()),
            Schedule::RoundRobin => Ok(()),
            Schedule::Against if opponents.is_multiple_of(sides - 1) => Ok(()),
            Schedule::Against => Err(format!("opponents: expected a multiple of {}, got {opponents}", sides - 1)),
            _ => Err(format!("{sides} sides need schedule = \"round_robin\" or \"against\"")),
        }
    }

    /// Returns the number of entrants that meet: at least two, and more if `seatings` contain more sides.
    pub(crate) fn sides(&self, seatings: &[Vec<usize>]) -> usize {
        seatings.iter().flatten().max().map_or(2, |last| last + 1).max(2)
    }

    /// Returns the possible seatings of a match; side 0 is the candidate, or the first entrant. A block has one match
    /// for each seating; with [`Seats::Drawn`], it has a single match.
    pub fn seatings(&self, seats: usize) -> Vec<Vec<usize>> {
        if self.schedule == Schedule::SelfPlay {
            return vec![vec![0; seats]];
        }
        if self.seats == Seats::Permutations {
            return orders(&(0..seats).collect::<Vec<_>>());
        }
        if self.tables.is_empty() {
            return (0..seats).map(|at| (0..seats).map(|seat| usize::from(seat != at)).collect()).collect();
        }
        self.tables.iter().map(|table| table.bytes().map(|c| usize::from(c.saturating_sub(b'a'))).collect()).collect()
    }
}

/// Draws the seating for block `index` of a meeting. Returns a number below `seatings`. `draw` names the suite, its
/// seed and the part.
pub(super) fn random_seating(draw: &str, meeting: u64, index: u64, seatings: usize) -> usize {
    let of = seatings.max(1) as u64;
    let mut rng = Stream::from_text(&format!("ludex.v1:seats:{draw}:{meeting}:{}", index / of));
    let mut order: Vec<usize> = (0..seatings.max(1)).collect();
    rng.shuffle(&mut order);
    order[(index % of) as usize]
}

/// Returns all permutations of a list, starting with the list in its original order.
fn orders(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let first = |k: usize| {
        let rest = [&of[..k], &of[k + 1..]].concat();
        orders(&rest).into_iter().map(move |rest| [vec![of[k]], rest].concat())
    };
    (0..of.len()).flat_map(first).collect()
}
