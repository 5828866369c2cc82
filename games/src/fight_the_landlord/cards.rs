//! Cards as bits, hands as counts of ranks, and their text forms.

/// Number of ranks: 3 up to 2, then the small and the big joker.
pub const RANKS: usize = 15;

/// A set of cards: four bits per rank, hearts lowest, then diamonds, spades and clubs. A joker is the lowest bit of its
/// rank.
pub type Cards = u64;

/// Number of cards of each rank, four bits each.
pub type Counts = u64;

/// The set of all 54 cards.
pub const DECK: Cards = 1 << 56 | 1 << 52 | ((1 << 52) - 1);

/// Number of the big joker; its bit index differs.
const BIG: u8 = 53;

/// Bit 3 of every rank, which no count reaches.
const HIGH: u64 = 0x8888_8888_8888_8888;

/// Short names of the ranks, as in Botzone's ladder and most texts.
pub const SHORT: [&str; RANKS] = ["3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A", "2", "B", "R"];

/// OpenSpiel's names of the ranks.
pub const LONG: [&str; RANKS] = ["3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A", "2", "(BWJ)", "(CJ)"];

/// Returns the set of one card by its number, 0 to 53; empty for other numbers.
pub const fn card(number: u8) -> Cards {
    match number {
        BIG => 1 << 56,
        n if n < BIG => 1 << n,
        _ => 0,
    }
}

/// Returns the set of the cards with these numbers; other numbers are ignored.
pub fn set(numbers: &[u8]) -> Cards {
    numbers.iter().fold(0, |all, &n| all | card(n))
}

/// Iterates over the numbers of the cards in a set, ascending.
pub fn numbers(cards: Cards) -> impl Iterator<Item = u8> {
    each(cards).map(|one| if one == card(BIG) { BIG } else { one.trailing_zeros() as u8 })
}

/// Iterates over the cards of a set, the lowest first.
pub fn each(cards: Cards) -> impl Iterator<Item = Cards> {
    let mut left = cards & DECK;
    std::iter::from_fn(move || {
        let one = left & left.wrapping_neg();
        left ^= one;
        (one != 0).then_some(one)
    })
}

/// Returns the number of cards of each rank in a set.
pub const fn counts(cards: Cards) -> Counts {
    let pairs = cards - (cards >> 1 & 0x5555_5555_5555_5555);
    (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333)
}

/// Returns the number of cards of `rank`.
pub const fn count(counts: Counts, rank: usize) -> u8 {
    (counts >> (4 * rank) & 15) as u8
}

/// Returns the counts of `n` cards of `rank`.
pub const fn of_rank(rank: usize, n: u8) -> Counts {
    (n as u64) << (4 * rank)
}

/// Returns the number of cards of `rank` in the deck.
pub const fn most(rank: usize) -> u8 {
    if rank < 13 { 4 } else { 1 }
}

/// Returns true if `hand` has at least the cards of `play`, rank by rank.
#[inline]
pub const fn holds(hand: Counts, play: Counts) -> bool {
    ((hand | HIGH) - play) & HIGH == HIGH
}

/// Returns the cards of lowest number in `hand` that form `play`, or as many of them as exist.
pub fn lowest(hand: Cards, play: Counts) -> Cards {
    let (mut left, mut taken) = (play, 0);
    while left != 0 {
        let rank = left.trailing_zeros() as usize / 4;
        let of = hand & 15 << (4 * rank);
        taken |= each(of).take(usize::from(count(left, rank))).fold(0, |all, one| all | one);
        left &= !(15 << (4 * rank));
    }
    taken
}

/// Returns the ranks of `counts`, low to high, each repeated by its count.
pub fn ranks_text(counts: Counts, names: &[&str; RANKS]) -> String {
    (0..RANKS).map(|r| names[r].repeat(usize::from(count(counts, r)))).collect()
}

/// Returns the name of a card: suit and rank, `S9`; jokers have no suit.
pub fn card_text(number: u8, names: &[&str; RANKS]) -> String {
    match number {
        52 | BIG => names[usize::from(number) - 39].to_owned(),
        n => format!("{}{}", ["H", "D", "S", "C"][usize::from(n % 4)], names.get(usize::from(n / 4)).unwrap_or(&"?")),
    }
}

/// Returns the names of cards, low to high.
pub fn cards_text(cards: Cards, names: &[&str; RANKS]) -> String {
    numbers(cards).map(|n| card_text(n, names)).collect::<Vec<_>>().join(" ")
}

/// Parses ranks in any order and case: `33344`, `3 3 3 + 4 4`, `10` for `T`, jokers `B` and `R` or OpenSpiel's names.
///
/// # Errors
/// A character that is not a rank, or too many cards of a rank.
pub fn read(text: &str) -> Result<Counts, String> {
    let plain = text.to_ascii_uppercase().replace(LONG[13], SHORT[13]).replace(LONG[14], SHORT[14]).replace("10", "T");
    let mut counts = 0;
    for sign in plain.chars().filter(|c| !matches!(c, ' ' | ',' | '+' | '-')) {
        let Some(rank) = SHORT.iter().position(|name| name.starts_with(sign)) else {
            return Err(format!("{sign:?} is not a rank: ranks are 3456789TJQKA2, the jokers B and R"));
        };
        counts += of_rank(rank, 1);
        if count(counts, rank) > most(rank) {
            let n = count(counts, rank);
            return Err(format!("rank {sign}: expected at most {} cards, got {n}", most(rank)));
        }
    }
    Ok(counts)
}
