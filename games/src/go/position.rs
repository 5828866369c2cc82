//! Stones on the board: chains, liberties, captures, and area.
//!
//! All data are sets of points. Chains are not stored but grown from a point on demand; stored is the set of stones in
//! atari
//! (whose chain has one liberty left). It yields captures (enemy stones in atari next to a new stone) and all legal
//! points at
//! once. A move changes the liberties of its own chain, of adjacent enemy chains, and of chains next to captured
//! stones;
//! growing them stops at the second liberty, mostly after a step or two.

use super::bits::Bits;

/// The geometry of a board of `size * size` points; point = row * size + column.
pub(super) struct Grid<const W: usize> {
    pub size: usize,
    /// All points of the board.
    pub points: Bits<W>,
    /// All points except those of the first column, and of the last.
    not_first: Bits<W>,
    not_last: Bits<W>,
    /// The neighbors of every point.
    near: Vec<Bits<W>>,
}

impl<const W: usize> Grid<W> {
    pub fn new(size: usize) -> Self {
        let points = || 0..size * size;
        let mut grid = Grid {
            size,
            points: points().collect(),
            not_first: points().filter(|p| p % size > 0).collect(),
            not_last: points().filter(|p| p % size < size - 1).collect(),
            near: Vec::new(),
        };
        grid.near = points().map(|p| grid.around(Bits::of(p)) & grid.points).collect();
        grid
    }

    /// Returns the neighbors of all points of `set`; may include points of `set` and bits beyond the last row, so the
    /// caller must intersect it.
    #[inline(always)]
    fn around(&self, set: Bits<W>) -> Bits<W> {
        let size = self.size as u32;
        (set & self.not_last).up(1) | (set & self.not_first).down(1) | set.up(size) | set.down(size)
    }

    /// Returns all points of `within` that are connected to points of `from` within `within`.
    #[inline(always)]
    fn grow(&self, from: Bits<W>, within: Bits<W>) -> Bits<W> {
        let mut set = from & within;
        loop {
            let next = (set | self.around(set)) & within;
            if next == set {
                return set;
            }
            set = next;
        }
    }
}

/// Hash keys, one random word per point and color: the key of a position is the xor over its stones. From SplitMix64
/// (Steele, Lea and Flood, 2014) with seed 0.
static KEYS: [[u64; 384]; 2] = {
    let mut keys = [[0; 384]; 2];
    let (mut i, mut state) = (0, 0u64);
    while i < 768 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        keys[i / 384][i % 384] = z ^ z >> 31;
        i += 1;
    }
    keys
};

fn key_of<const W: usize>(color: usize, stones: Bits<W>) -> u64 {
    stones.points().fold(0, |key, point| key ^ KEYS[color][point])
}

/// Stones of both colors (0 = Black), and derived sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position<const W: usize> {
    pub stones: [Bits<W>; 2],
    /// All stones whose chain has exactly one liberty.
    atari: Bits<W>,
    /// Points on which a stone of the color was ever captured: only there can a new stone of that color repeat an
    /// earlier board.
    pub captured: [Bits<W>; 2],
    /// Xor of the keys of all stones.
    pub key: u64,
    /// The point that may not be retaken immediately.
    pub ko: Option<u16>,
}

impl<const W: usize> Position<W> {
    pub const EMPTY: Self =
        Position { stones: [Bits::EMPTY; 2], atari: Bits::EMPTY, captured: [Bits::EMPTY; 2], key: 0, ko: None };

    #[inline]
    fn empty(&self, grid: &Grid<W>) -> Bits<W> {
        grid.points & !(self.stones[0] | self.stones[1])
    }

    /// Returns true if `point` is empty.
    pub fn is_empty_at(&self, point: usize) -> bool {
        !(self.stones[0] | self.stones[1]).has(point)
    }

    /// Returns the legal points of `color`: empty points other than the ko that are next to another empty point, to an
    /// own chain with another liberty, or to an enemy chain without another one.
    #[inline]
    pub fn legal(&self, grid: &Grid<W>, color: usize) -> Bits<W> {
        let empty = self.empty(grid);
        let (own, enemy) = (self.stones[color], self.stones[1 - color]);
        let open = empty & grid.around(empty | (own & !self.atari) | (enemy & self.atari));
        match self.ko {
            Some(point) => open & !Bits::of(point.into()),
            None => open,
        }
    }

    /// Returns the enemy stones that a stone of `color` on `point` would capture.
    #[inline]
    fn doomed(&self, grid: &Grid<W>, color: usize, point: usize) -> Bits<W> {
        let weak = self.stones[1 - color] & self.atari;
        let beside = grid.near[point] & weak;
        if beside.is_empty() { beside } else { grid.grow(beside, weak) }
    }

    /// Returns the key of the position after a stone of `color` on `point`.
    pub fn key_after(&self, grid: &Grid<W>, color: usize, point: usize) -> u64 {
        self.key ^ KEYS[color][point] ^ key_of(1 - color, self.doomed(grid, color, point))
    }

    /// Returns the key of the stones from the side of `color`: equal for the same board with colors and mover
    /// exchanged.
    pub fn key_for(&self, color: usize) -> u64 {
        key_of(0, self.stones[color]) ^ key_of(1, self.stones[1 - color])
    }

    /// Places a stone of `color` on `point` and removes captured stones.
    #[inline]
    pub fn place(&mut self, grid: &Grid<W>, color: usize, point: usize) {
        let (stone, near) = (Bits::of(point), grid.near[point]);
        let taken = self.doomed(grid, color, point);
        let own = self.stones[color] | stone;
        let enemy = self.stones[1 - color] & !taken;
        self.ko = None;
        self.key ^= KEYS[color][point];
        if !taken.is_empty() {
            let surrounded = (near & !self.stones[1 - color]).is_empty();
            self.ko = taken.first().filter(|_| surrounded && !taken.are_several()).map(|p| p as u16);
            self.key ^= key_of(1 - color, taken);
            self.captured[1 - color] |= taken;
            // Own chains next to the captured stones regain liberties.
            self.relieve(grid, taken, own);
            self.atari = self.atari & !taken;
        }
        // Own chains in atari next to the stone are now part of its chain.
        self.relieve(grid, stone, own);
        self.stones[color] = own;
        self.stones[1 - color] = enemy;
        let empty = self.empty(grid);
        if let (chain, true) = one_liberty(grid, stone, own, empty) {
            self.atari |= chain;
        }
        // Enemy chains next to the stone have lost a liberty; those that had only one are captured.
        let mut left = near & enemy;
        while let Some(seed) = left.first() {
            let (chain, atari) = one_liberty(grid, Bits::of(seed), enemy, empty);
            if atari {
                self.atari |= chain;
            }
            left = left & !chain;
        }
    }

    /// Takes the chains of `own` next to `points` out of atari.
    #[inline]
    fn relieve(&mut self, grid: &Grid<W>, points: Bits<W>, own: Bits<W>) {
        let weak = own & self.atari;
        let beside = grid.around(points) & weak;
        if !beside.is_empty() {
            self.atari = self.atari & !grid.grow(beside, weak);
        }
    }

    /// Returns Black's area minus White's: stones, and empty regions that border on one color only (Tromp and Taylor).
    pub fn area(&self, grid: &Grid<W>) -> i32 {
        let empty = self.empty(grid);
        let [black, white] = self.stones.map(|stones| grid.grow(grid.around(stones), empty));
        let count =
            |stones: Bits<W>, mine: Bits<W>, theirs: Bits<W>| (stones.count() + (mine & !theirs).count()) as i32;
        count(self.stones[0], black, white) - count(self.stones[1], white, black)
    }

    /// Estimates the final area, Black's minus White's: every empty point belongs to the nearest stones, to no side if
    /// equally near. Stones in atari of the side not to move count as captured.
    pub fn influence(&self, grid: &Grid<W>, mover: usize) -> i32 {
        let mut reach = self.stones;
        reach[1 - mover] = reach[1 - mover] & !self.atari;
        let mut open = grid.points & !(reach[0] | reach[1]);
        loop {
            let next = reach.map(|stones| grid.around(stones) & open);
            if (next[0] | next[1]).is_empty() {
                return reach[0].count() as i32 - reach[1].count() as i32;
            }
            reach = [reach[0] | (next[0] & !next[1]), reach[1] | (next[1] & !next[0])];
            open = open & !(next[0] | next[1]);
        }
    }
}

/// Returns the chain of `seed` among `stones`, and true if it has exactly one liberty. With more liberties the chain
/// may be incomplete.
#[inline(always)]
fn one_liberty<const W: usize>(grid: &Grid<W>, seed: Bits<W>, stones: Bits<W>, empty: Bits<W>) -> (Bits<W>, bool) {
    let mut chain = seed;
    loop {
        let edge = grid.around(chain);
        let liberties = edge & empty;
        if liberties.are_several() {
            return (chain, false);
        }
        let next = chain | (edge & stones);
        if next == chain {
            // Without a liberty: only after an illegal move.
            return (chain, !liberties.is_empty());
        }
        chain = next;
    }
}
