//! Sets of cards as bits, rank counts of sets, and text forms of both.

/// Number of ranks: 3 to 10, jack, queen, king, ace, 2, small joker, big joker.
pub const RANKS: usize = 15;

/// A set of cards as bits. Each rank has four bits: hearts (lowest), diamonds, spades, clubs. A joker has the lowest
/// bit of its rank.
pub type Cards = u64;

/// Number of cards of each rank, four bits per rank.
pub type Counts = u64;

/// The set of all 54 cards.
pub const DECK: Cards = 1 << 56 | 1 << 52 | ((1 << 52) - 1);

/// Number of the big joker. For all other cards, the number is also the bit index in [`Cards`].
const BIG: u8 = 53;

/// Bit 3 of each rank's four bits. Counts are at most 4 and never set this bit.
const HIGH: u64 = 0x8888_8888_8888_8888;

/// Short names of the ranks, as in Botzone's ladder and most texts.
pub const SHORT: [&str; RANKS] = ["3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A", "2", "B", "R"];

/// OpenSpiel's names of the ranks.
pub const LONG: [&str; RANKS] = ["3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A", "2", "(BWJ)", "(CJ)"];

/// Returns the set that contains the card with this number, 0 to 53. Empty for other numbers.
pub const fn card(number: u8) -> Cards {
    match number {
        BIG => 1 << 56,
        n if n < BIG => 1 << n,
        _ => 0,
    }
}

/// Returns the set of cards with these numbers. Numbers above 53 are ignored.
pub fn set(numbers: &[u8]) -> Cards {
    numbers.iter().fold(0, |all, &n| all | card(n))
}

/// Iterates over the card numbers of a set in ascending order.
pub fn numbers(cards: Cards) -> impl Iterator<Item = u8> {
    each(cards).map(|one| if one == card(BIG) { BIG } else { one.trailing_zeros() as u8 })
}

/// Iterates over the cards of a set as one-card sets, the lowest bit first.
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

/// Returns the count of one rank.
pub const fn count(counts: Counts, rank: usize) -> u8 {
    (counts >> (4 * rank) & 15) as u8
}

/// Returns counts with `n` cards of `rank` and no other cards.
pub const fn of_rank(rank: usize, n: u8) -> Counts {
    (n as u64) << (4 * rank)
}

/// Returns the number of cards of `rank` in the deck.
pub const fn most(rank: usize) -> u8 {
    if rank < 13 { 4 } else { 1 }
}

/// Returns true if `hand` has at least as many cards of each rank as `play`.
#[inline]
pub const fn holds(hand: Counts, play: Counts) -> bool {
    ((hand | HIGH) - play) & HIGH == HIGH
}

/// Returns the lowest-numbered cards of `hand` that make up `play`. If `hand` has too few of a rank, returns those it
/// has.
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

/// Returns the names of the ranks in ascending order, each repeated by its count.
pub fn ranks_text(counts: Counts, names: &[&str; RANKS]) -> String {
    (0..RANKS).map(|r| names[r].repeat(usize::from(count(counts, r)))).collect()
}

/// Returns the name of a card, suit before rank, such as `S9`. Jokers have no suit.
pub fn card_text(number: u8, names: &[&str; RANKS]) -> String {
    match number {
        52 | BIG => names[usize::from(number) - 39].to_owned(),
        n => format!("{}{}", ["H", "D", "S", "C"][usize::from(n % 4)], names.get(usize::from(n / 4)).unwrap_or(&"?")),
    }
}

/// Returns the names of cards in ascending order.
pub fn cards_text(cards: Cards, names: &[&str; RANKS]) -> String {
    numbers(cards).map(|n| card_text(n, names)).collect::<Vec<_>>().join(" ")
}

/// Parses ranks in any order and case, such as `33344`, `3 3 3 + 4 4`, or `10` for `T`. Jokers are `B` and `R` or
/// OpenSpiel's names.
///
/// # Errors
/// Fails on a character that is not a rank, or if the deck has fewer cards of a rank.
pub fn read(text: &str) -> Result<Counts, String> {
    let plain = text.to_ascii_uppercase().replace(LONG[13], SHORT[13]).replace(LONG[14], SHORT[14]).replace("10", "T");
    let mut counts = 0;
    for sign in plain.chars().filter(|c| !matches!(c, ' ' | ',' | '+' | '-')) {
        let Some(rank) = SHORT.iter().position(|name| name.starts_with(sign)) else {
            return Err(format!("expected a rank (3456789TJQKA2, or B and R for the jokers), got {sign:?}"));
        };
        counts += of_rank(rank, 1);
        if count(counts, rank) > most(rank) {
            let n = count(counts, rank);
            return Err(format!("rank {sign}: expected at most {} cards, got {n}", most(rank)));
        }
    }
    Ok(counts)
}
