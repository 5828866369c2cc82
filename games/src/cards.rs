//! Playing cards for poker: names, hand strength, equity.
//!
//! A card is the number `rank * 4 + suit`. Ranks are 0 (two) to 12 (ace); suits are clubs, diamonds, hearts and spades.

pub mod equity;
pub mod strength;

pub use equity::Equity;
pub use strength::{CATEGORIES, Hand};

/// A card as a number from 0 to 51: the index of its rank in [`RANKS`], times 4, plus the index of its suit in
/// [`SUITS`].
pub type Card = u8;

/// Number of cards in the deck.
pub const DECK: usize = 52;
/// Letters of the ranks, from two to ace.
pub const RANKS: &str = "23456789TJQKA";
/// Letters of the suits: clubs, diamonds, hearts, spades.
pub const SUITS: &str = "cdhs";

/// Returns the name of a card, such as `Th`, or `?` for an invalid number.
pub fn name(card: Card) -> String {
    let letters = (RANKS.chars().nth(usize::from(card / 4)), SUITS.chars().nth(usize::from(card % 4)));
    match letters {
        (Some(rank), Some(suit)) => format!("{rank}{suit}"),
        _ => "?".to_owned(),
    }
}

/// Parses the name of a card: `Th`, `th` or `10h`.
pub fn card(name: &str) -> Option<Card> {
    let mut letters = name.chars();
    let suit = letters.next_back()?.to_ascii_lowercase();
    let rank = match letters.as_str() {
        "10" => 8,
        one => {
            let mut it = one.chars();
            let rank = it.next()?.to_ascii_uppercase();
            if it.next().is_some() {
                return None;
            }
            RANKS.find(rank)? as Card
        }
    };
    Some(rank * 4 + SUITS.find(suit)? as Card)
}

/// Parses a list of cards. Spaces and commas between cards are optional: `Tc9h`, `Tc, 9h`.
///
/// # Errors
/// Returns a message that names the invalid part of the text.
pub fn cards(text: &str) -> Result<Vec<Card>, String> {
    let mut all = Vec::new();
    for part in text.split([' ', ',', '\t']).filter(|p| !p.is_empty()) {
        match card(part) {
            Some(c) => all.push(c),
            None => {
                let letters: Vec<char> = part.chars().collect();
                for pair in letters.chunks(2) {
                    let pair: String = pair.iter().collect();
                    all.push(card(&pair).ok_or_else(|| {
                        format!("expected a card (a rank of {RANKS}, then a suit of {SUITS}), got {pair:?}")
                    })?);
                }
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_names_round_trip() {
        for c in 0..DECK as Card {
            assert_eq!(card(&name(c)), Some(c));
            assert_eq!(card(&name(c).to_lowercase()), Some(c));
        }
        assert_eq!((name(0), name(51), name(52)), ("2c".into(), "As".into(), "?".into()));
        assert_eq!((card("10h"), card("Th")), (Some(34), Some(34)));
        for no in ["", "1h", "T", "h", "Tx", "TTh", "10", "11h", "é"] {
            assert_eq!(card(no), None, "{no}");
        }
    }

    #[test]
    fn card_lists_allow_any_separator() {
        let want = Ok(vec![32, 30, 43]);
        for text in ["Tc 9h Qs", "Tc9hQs", " tc, 9h,qs ", "10c 9h Qs"] {
            assert_eq!(cards(text), want, "{text}");
        }
        assert_eq!(cards(""), Ok(vec![]));
        assert!(cards("Tc 9x").unwrap_err().contains("\"9x\""));
        assert!(cards("Tc9").unwrap_err().contains("\"9\""));
    }
}
