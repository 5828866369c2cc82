//! Tiles: 34 kinds by number, eight flowers, and Botzone's names.

/// A kind of tile: 0 to 8 characters, 9 to 17 dots, 18 to 26 bamboo, 27 to 30 winds, 31 to 33 dragons, 34 to 41
/// flowers.
pub type Tile = u8;

/// Number of tiles of each kind, without flowers.
pub type Counts = [u8; KINDS];

/// Number of kinds without flowers.
pub const KINDS: usize = 34;
/// Number of kinds with flowers; each flower is a single tile.
pub const ALL_KINDS: usize = 42;
/// Number of suits of tiles.
pub const SUITS: usize = 3;
/// Number of ranks of a suit.
pub const RANKS: usize = 9;
/// Kind of the first wind.
pub const WINDS: usize = 27;
/// Kind of the first dragon.
pub const DRAGONS: usize = 31;
/// Number of tiles of a kind.
pub const COPIES: u8 = 4;

/// Letters of tile names, by [`family`].
const LETTERS: [char; 5] = ['W', 'B', 'T', 'F', 'J'];
/// English names of the honors.
const WORDS: [&str; 7] = ["east", "south", "west", "north", "red", "green", "white"];

/// A set of kinds, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(pub u64);

impl Kinds {
    /// Creates the set of the kinds of a list.
    pub const fn of(list: &[Tile]) -> Kinds {
        let (mut bits, mut k) = (0, 0);
        while k < list.len() {
            bits |= 1 << list[k];
            k += 1;
        }
        Kinds(bits)
    }

    /// Returns true if `tile` is in the set.
    pub const fn has(self, tile: Tile) -> bool {
        self.0 >> tile & 1 == 1
    }

    /// Iterates over the kinds in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Tile> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| left.trailing_zeros() as Tile);
            left &= left.wrapping_sub(1);
            next
        })
    }

    /// Returns true if every kind of this set is in `other`.
    pub const fn is_subset_of(self, other: Kinds) -> bool {
        self.0 & !other.0 == 0
    }
}

/// Returns the suit, 0 to 2; 3 for winds, 4 for dragons, 5 for flowers.
pub const fn family(tile: Tile) -> usize {
    match tile as usize {
        t if t < WINDS => t / RANKS,
        t if t < DRAGONS => 3,
        t if t < KINDS => 4,
        _ => 5,
    }
}

/// Returns the rank within the suit, from 0; for honors the index among winds or dragons.
pub const fn rank(tile: Tile) -> usize {
    match tile as usize {
        t if t < WINDS => t % RANKS,
        t if t < DRAGONS => t - WINDS,
        t if t < KINDS => t - DRAGONS,
        t => t - KINDS,
    }
}

/// Returns true if the tile belongs to a suit.
pub const fn suited(tile: Tile) -> bool {
    (tile as usize) < WINDS
}

/// Returns true if `middle` can be the middle tile of a chow.
pub const fn chow_middle(middle: Tile) -> bool {
    suited(middle) && rank(middle) > 0 && rank(middle) < RANKS - 1
}

/// Returns the name of a kind, such as `W5`, or `H1` for the first flower; `?` for an invalid kind.
pub fn name(tile: Tile) -> String {
    let letter = match family(tile) {
        5 if (tile as usize) < ALL_KINDS => 'H',
        5 => return "?".to_owned(),
        f => LETTERS[f],
    };
    format!("{letter}{}", rank(tile) + 1)
}

/// Returns the names of tiles, separated by spaces.
pub fn names(tiles: impl IntoIterator<Item = Tile>) -> String {
    tiles.into_iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Parses the name of a kind, such as `W5`, `5W`, `east` or `red`, ignoring case.
pub fn read(text: &str) -> Option<Tile> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(k) = WORDS.iter().position(|w| *w == text) {
        return Some((WINDS + k) as Tile);
    }
    let [a, b] = text.as_bytes() else { return None };
    let (letter, digit) = if a.is_ascii_digit() { (b, a) } else { (a, b) };
    let number = usize::from(digit.checked_sub(b'1')?);
    let (first, most) = match letter {
        b'w' => (0, RANKS),
        b'b' => (9, RANKS),
        b't' => (18, RANKS),
        b'f' => (WINDS, 4),
        b'j' => (DRAGONS, 3),
        b'h' => (KINDS, 8),
        _ => return None,
    };
    (number < most).then_some((first + number) as Tile)
}

/// Iterates over all counted tiles one by one, in ascending order of kinds.
pub fn list(counts: &Counts) -> impl Iterator<Item = Tile> + '_ {
    (0..).zip(counts).flat_map(|(tile, &n)| std::iter::repeat_n(tile, n.into()))
}

/// Counts tiles; flowers are ignored.
pub fn counts(tiles: impl IntoIterator<Item = Tile>) -> Counts {
    let mut all = [0; KINDS];
    for tile in tiles {
        if let Some(n) = all.get_mut(usize::from(tile)) {
            *n += 1;
        }
    }
    all
}

/// Returns the kinds with a nonzero count.
pub fn kinds(counts: &Counts) -> Kinds {
    Kinds((0..).zip(counts).fold(0, |bits, (tile, &n): (u32, _)| bits | u64::from(n > 0) << tile))
}

/// Knitted patterns. For each suit, 0 stands for the ranks 1 4 7, 1 for 2 5 8, and 2 for 3 6 9.
pub const KNITTED: [[usize; SUITS]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Returns the nine tiles of a knitted pattern.
pub const fn knitted(pattern: usize) -> Kinds {
    let (mut bits, mut suit) = (0, 0);
    while suit < SUITS {
        bits |= 0b1001001 << (RANKS * suit + KNITTED[pattern][suit]);
        suit += 1;
    }
    Kinds(bits)
}

/// All winds and dragons.
pub const HONORS: Kinds = Kinds(0x7f << WINDS);
/// Ranks 1 and 9 of the suits.
pub const TERMINALS: Kinds = Kinds(0b1_0000_0001 | 0b1_0000_0001 << 9 | 0b1_0000_0001 << 18);
