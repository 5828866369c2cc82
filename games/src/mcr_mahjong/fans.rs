//! Fans as data: points, names, and exclusions.
//!
//! The table follows the rules of 1998. The exclusions are those of the public English guide and Botzone's Chinese
//! notes. Fan 82 (melded and concealed kong) was added in later practice and does not exist in `edition=strict98`.

/// Number of a fan in the table of all fans, from 1.
pub type Fan = usize;

/// A row of the table of fans.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Points of one occurrence.
    pub points: u32,
    /// English name of the fan.
    pub name: &'static str,
    /// Fans that do not count together with this fan, because it implies or rules them out.
    pub excludes: &'static [Fan],
}

const fn row(points: u32, name: &'static str, excludes: &'static [Fan]) -> Row {
    Row { points, name, excludes }
}

/// Number of rows, including the unused row 0.
pub const ROWS: usize = 83;

/// The fans, indexed by number.
pub static FANS: [Row; ROWS] = [
    row(0, "", &[]),
    row(88, "Big Four Winds", &[BIG_THREE_WINDS, ALL_PUNGS, PREVALENT_WIND, SEAT_WIND, PUNG_OF_TERMINALS_OR_HONORS]),
    row(88, "Big Three Dragons", &[TWO_DRAGON_PUNGS, DRAGON_PUNG]),
    row(88, "All Green", &[HALF_FLUSH, ONE_VOIDED_SUIT]),
    row(88, "Nine Gates", &[FULL_FLUSH, CONCEALED_HAND, ONE_VOIDED_SUIT, NO_HONORS, FULLY_CONCEALED_HAND]),
    row(
        88,
        "Four Kongs",
        &[ALL_PUNGS, THREE_KONGS, TWO_MELDED_KONGS, CONCEALED_KONG, MELDED_KONG, SINGLE_WAIT, TWO_CONCEALED_KONGS],
    ),
    row(
        88,
        "Seven Shifted Pairs",
        &[SEVEN_PAIRS, FULL_FLUSH, CONCEALED_HAND, ONE_VOIDED_SUIT, NO_HONORS, FULLY_CONCEALED_HAND, SINGLE_WAIT],
    ),
    row(
        88,
        "Thirteen Orphans",
        &[ALL_TYPES, CONCEALED_HAND, SINGLE_WAIT, ALL_TERMINALS_AND_HONORS, FULLY_CONCEALED_HAND],
    ),
    row(
        64,
        "All Terminals",
        &[ALL_TERMINALS_AND_HONORS, ALL_PUNGS, OUTSIDE_HAND, PUNG_OF_TERMINALS_OR_HONORS, NO_HONORS, DOUBLE_PUNG],
    ),
    row(64, "Little Four Winds", &[BIG_THREE_WINDS, PUNG_OF_TERMINALS_OR_HONORS]),
    row(64, "Little Three Dragons", &[TWO_DRAGON_PUNGS, DRAGON_PUNG]),
    row(
        64,
        "All Honors",
        &[ALL_TERMINALS_AND_HONORS, ALL_PUNGS, OUTSIDE_HAND, PUNG_OF_TERMINALS_OR_HONORS, ONE_VOIDED_SUIT],
    ),
    row(
        64,
        "Four Concealed Pungs",
        &[ALL_PUNGS, CONCEALED_HAND, THREE_CONCEALED_PUNGS, TWO_CONCEALED_PUNGS, FULLY_CONCEALED_HAND],
    ),
    row(
        64,
        "Pure Terminal Chows",
        &[SEVEN_PAIRS, FULL_FLUSH, ALL_CHOWS, PURE_DOUBLE_CHOW, TWO_TERMINAL_CHOWS, ONE_VOIDED_SUIT, NO_HONORS],
    ),
    row(48, "Quadruple Chow", &[PURE_SHIFTED_PUNGS, TILE_HOG, PURE_DOUBLE_CHOW, PURE_TRIPLE_CHOW]),
    row(48, "Four Pure Shifted Pungs", &[PURE_SHIFTED_PUNGS, PURE_TRIPLE_CHOW, ALL_PUNGS]),
    row(32, "Four Pure Shifted Chows", &[PURE_SHIFTED_CHOWS, SHORT_STRAIGHT, TWO_TERMINAL_CHOWS]),
    row(32, "Three Kongs", &[TWO_CONCEALED_KONGS, TWO_MELDED_KONGS, CONCEALED_KONG, MELDED_KONG]),
    row(32, "All Terminals and Honors", &[ALL_PUNGS, OUTSIDE_HAND, PUNG_OF_TERMINALS_OR_HONORS]),
    row(24, "Seven Pairs", &[CONCEALED_HAND, SINGLE_WAIT, FULLY_CONCEALED_HAND]),
    row(
        24,
        "Greater Honors and Knitted Tiles",
        &[ALL_TYPES, CONCEALED_HAND, LESSER_HONORS_AND_KNITTED_TILES, SINGLE_WAIT, FULLY_CONCEALED_HAND],
    ),
    row(24, "All Even Pungs", &[ALL_PUNGS, ALL_SIMPLES, NO_HONORS]),
    row(24, "Full Flush", &[ONE_VOIDED_SUIT, NO_HONORS, HALF_FLUSH]),
    row(24, "Pure Triple Chow", &[PURE_SHIFTED_PUNGS, PURE_DOUBLE_CHOW]),
    row(24, "Pure Shifted Pungs", &[PURE_TRIPLE_CHOW]),
    row(24, "Upper Tiles", &[UPPER_FOUR, NO_HONORS]),
    row(24, "Middle Tiles", &[ALL_SIMPLES, NO_HONORS]),
    row(24, "Lower Tiles", &[LOWER_FOUR, NO_HONORS]),
    row(16, "Pure Straight", &[SHORT_STRAIGHT, TWO_TERMINAL_CHOWS]),
    row(16, "Three-Suited Terminal Chows", &[ALL_CHOWS, NO_HONORS, MIXED_DOUBLE_CHOW, TWO_TERMINAL_CHOWS]),
    row(16, "Pure Shifted Chows", &[]),
    row(16, "All Fives", &[ALL_SIMPLES, NO_HONORS]),
    row(16, "Triple Pung", &[DOUBLE_PUNG]),
    row(16, "Three Concealed Pungs", &[TWO_CONCEALED_PUNGS]),
    row(12, "Lesser Honors and Knitted Tiles", &[ALL_TYPES, CONCEALED_HAND, SINGLE_WAIT, FULLY_CONCEALED_HAND]),
    row(12, "Knitted Straight", &[]),
    row(12, "Upper Four", &[NO_HONORS]),
    row(12, "Lower Four", &[NO_HONORS]),
    row(12, "Big Three Winds", &[]),
    row(8, "Mixed Straight", &[]),
    row(8, "Reversible Tiles", &[ONE_VOIDED_SUIT]),
    row(8, "Mixed Triple Chow", &[MIXED_DOUBLE_CHOW]),
    row(8, "Mixed Shifted Pungs", &[]),
    row(8, "Chicken Hand", &[]),
    row(8, "Last Tile Draw", &[SELF_DRAWN]),
    row(8, "Last Tile Claim", &[]),
    row(8, "Out with Replacement Tile", &[SELF_DRAWN]),
    row(8, "Robbing the Kong", &[LAST_TILE]),
    row(6, "All Pungs", &[]),
    row(6, "Half Flush", &[ONE_VOIDED_SUIT]),
    row(6, "Mixed Shifted Chows", &[]),
    row(6, "All Types", &[]),
    row(6, "Melded Hand", &[SINGLE_WAIT]),
    row(6, "Two Concealed Kongs", &[CONCEALED_KONG, TWO_CONCEALED_PUNGS]),
    row(6, "Two Dragon Pungs", &[DRAGON_PUNG]),
    row(4, "Outside Hand", &[]),
    row(4, "Fully Concealed Hand", &[SELF_DRAWN, CONCEALED_HAND]),
    row(4, "Two Melded Kongs", &[MELDED_KONG]),
    row(4, "Last Tile", &[]),
    row(2, "Dragon Pung", &[]),
    row(2, "Prevalent Wind", &[]),
    row(2, "Seat Wind", &[]),
    row(2, "Concealed Hand", &[]),
    row(2, "All Chows", &[NO_HONORS]),
    row(2, "Tile Hog", &[]),
    row(2, "Double Pung", &[]),
    row(2, "Two Concealed Pungs", &[]),
    row(2, "Concealed Kong", &[]),
    row(2, "All Simples", &[NO_HONORS]),
    row(1, "Pure Double Chow", &[]),
    row(1, "Mixed Double Chow", &[]),
    row(1, "Short Straight", &[]),
    row(1, "Two Terminal Chows", &[]),
    row(1, "Pung of Terminals or Honors", &[]),
    row(1, "Melded Kong", &[]),
    row(1, "One Voided Suit", &[]),
    row(1, "No Honors", &[]),
    row(1, "Edge Wait", &[]),
    row(1, "Closed Wait", &[]),
    row(1, "Single Wait", &[]),
    row(1, "Self-Drawn", &[]),
    row(1, "Flower Tiles", &[]),
    row(5, "Concealed Kong and Melded Kong", &[]),
];

/// Pungs/kongs of all four winds, any pair.
pub const BIG_FOUR_WINDS: Fan = 1;
/// Pungs/kongs of all three dragons.
pub const BIG_THREE_DRAGONS: Fan = 2;
/// Only bamboo 2,3,4,6,8 and green dragon (green dragon not required). May be seven pairs.
pub const ALL_GREEN: Fan = 3;
/// A concealed 1112345678999 of one suit, completed by any tile of that suit (nine-sided wait). No melds, no concealed
/// kongs.
pub const NINE_GATES: Fan = 4;
/// Four kongs of any kind plus a pair.
pub const FOUR_KONGS: Fan = 5;
/// Seven pairs of one suit with seven consecutive ranks.
pub const SEVEN_SHIFTED_PAIRS: Fan = 6;
/// One each of the 13 terminals and honors plus a duplicate of one of them; concealed.
pub const THIRTEEN_ORPHANS: Fan = 7;
/// Pungs or kongs and a pair, all of suit tiles of rank 1 or 9.
pub const ALL_TERMINALS: Fan = 8;
/// Three wind pungs/kongs and a pair of the fourth wind.
pub const LITTLE_FOUR_WINDS: Fan = 9;
/// Two dragon pungs/kongs and a pair of the third dragon.
pub const LITTLE_THREE_DRAGONS: Fan = 10;
/// Only wind and dragon tiles (four pungs + pair, or seven pairs).
pub const ALL_HONORS: Fan = 11;
/// Four pungs/kongs, none claimed; a pung completed by another player's discard is not concealed.
pub const FOUR_CONCEALED_PUNGS: Fan = 12;
/// One suit: 123,123,789,789 and pair 55.
pub const PURE_TERMINAL_CHOWS: Fan = 13;
/// Four identical chows of one suit.
pub const QUADRUPLE_CHOW: Fan = 14;
/// Four pungs of one suit in consecutive ranks.
pub const FOUR_PURE_SHIFTED_PUNGS: Fan = 15;
/// Four chows of one suit, each shifted up by the same step of 1 or of 2.
pub const FOUR_PURE_SHIFTED_CHOWS: Fan = 16;
/// Three kongs of any kind.
pub const THREE_KONGS: Fan = 17;
/// Pungs/kongs + pair (or seven pairs) of terminals and honors, both kinds present.
pub const ALL_TERMINALS_AND_HONORS: Fan = 18;
/// Seven pairs, concealed; four equal tiles may serve as two pairs.
pub const SEVEN_PAIRS: Fan = 19;
/// Each of the seven honors, and seven different suit tiles of a knitted pattern (147, 258 and 369 in three suits).
pub const GREATER_HONORS_AND_KNITTED_TILES: Fan = 20;
/// Pungs or kongs and a pair, all of ranks 2, 4, 6 and 8.
pub const ALL_EVEN_PUNGS: Fan = 21;
/// Only one suit, no honors.
pub const FULL_FLUSH: Fan = 22;
/// Three identical chows of one suit.
pub const PURE_TRIPLE_CHOW: Fan = 23;
/// Three pungs of one suit in consecutive ranks.
pub const PURE_SHIFTED_PUNGS: Fan = 24;
/// Only tiles of ranks 7, 8 and 9.
pub const UPPER_TILES: Fan = 25;
/// Only tiles of ranks 4, 5 and 6.
pub const MIDDLE_TILES: Fan = 26;
/// Only tiles of ranks 1, 2 and 3.
pub const LOWER_TILES: Fan = 27;
/// Chows 123,456,789 of one suit.
pub const PURE_STRAIGHT: Fan = 28;
/// 123 and 789 in each of two suits, pair of 5 in the third.
pub const THREE_SUITED_TERMINAL_CHOWS: Fan = 29;
/// Three chows of one suit, each shifted by the same step 1 or 2.
pub const PURE_SHIFTED_CHOWS: Fan = 30;
/// Every set and the pair contains a 5.
pub const ALL_FIVES: Fan = 31;
/// Pungs of the same rank in all three suits.
pub const TRIPLE_PUNG: Fan = 32;
/// Three concealed pungs or kongs.
pub const THREE_CONCEALED_PUNGS: Fan = 33;
/// Fourteen different tiles: some honors, but not all seven, and suit tiles of a knitted pattern.
pub const LESSER_HONORS_AND_KNITTED_TILES: Fan = 34;
/// The tiles 147, 258 and 369 in three different suits; the other five tiles are a set and a pair (or honors of a
/// Lesser Honors hand).
pub const KNITTED_STRAIGHT: Fan = 35;
/// Only tiles of ranks 6 to 9.
pub const UPPER_FOUR: Fan = 36;
/// Only tiles of ranks 1 to 4.
pub const LOWER_FOUR: Fan = 37;
/// Three pungs or kongs of winds.
pub const BIG_THREE_WINDS: Fan = 38;
/// 123,456,789 chows in three different suits.
pub const MIXED_STRAIGHT: Fan = 39;
/// Only B1,B2,B3,B4,B5,B8,B9 (dots), T2,T4,T5,T6,T8,T9 (bamboo), white dragon.
pub const REVERSIBLE_TILES: Fan = 40;
/// Same-rank chow in all three suits.
pub const MIXED_TRIPLE_CHOW: Fan = 41;
/// Pungs of consecutive ranks, one per suit.
pub const MIXED_SHIFTED_PUNGS: Fan = 42;
/// Winning hand without any other fan except flowers.
pub const CHICKEN_HAND: Fan = 43;
/// Self-drawn win with the last tile of the wall.
pub const LAST_TILE_DRAW: Fan = 44;
/// Win on the last discard of the hand.
pub const LAST_TILE_CLAIM: Fan = 45;
/// Self-drawn win with the replacement tile of a kong (not of a flower).
pub const OUT_WITH_REPLACEMENT_TILE: Fan = 46;
/// Win with the tile that another player adds to a melded pung.
pub const ROBBING_THE_KONG: Fan = 47;
/// Four pungs/kongs + pair.
pub const ALL_PUNGS: Fan = 48;
/// One suit plus honors.
pub const HALF_FLUSH: Fan = 49;
/// Chows in three suits, each starting one rank higher.
pub const MIXED_SHIFTED_CHOWS: Fan = 50;
/// All five kinds present: W, B, T, wind, dragon.
pub const ALL_TYPES: Fan = 51;
/// Four claimed melds, none of them a concealed kong, and a win on a discard that completes the pair.
pub const MELDED_HAND: Fan = 52;
/// Two concealed kongs in one hand.
pub const TWO_CONCEALED_KONGS: Fan = 53;
/// Two pungs or kongs of dragons.
pub const TWO_DRAGON_PUNGS: Fan = 54;
/// Every set and the pair contains a terminal or an honor.
pub const OUTSIDE_HAND: Fan = 55;
/// Self-drawn win without claimed melds; concealed kongs are allowed.
pub const FULLY_CONCEALED_HAND: Fan = 56;
/// Two melded kongs in one hand.
pub const TWO_MELDED_KONGS: Fan = 57;
/// Win with a tile whose other three copies are visible to all players in discards and open melds.
pub const LAST_TILE: Fan = 58;
/// Pung/kong of a dragon; counted per pung.
pub const DRAGON_PUNG: Fan = 59;
/// Pung or kong of the prevalent wind.
pub const PREVALENT_WIND: Fan = 60;
/// Pung or kong of the seat's own wind.
pub const SEAT_WIND: Fan = 61;
/// Win on a discard without claimed melds.
pub const CONCEALED_HAND: Fan = 62;
/// Four chows and a suit-tile pair.
pub const ALL_CHOWS: Fan = 63;
/// All four copies of a tile without a kong; counted for each such tile.
pub const TILE_HOG: Fan = 64;
/// Two pungs of the same rank in two suits; two such pairs score twice.
pub const DOUBLE_PUNG: Fan = 65;
/// Two concealed pungs or kongs.
pub const TWO_CONCEALED_PUNGS: Fan = 66;
/// One concealed kong in the hand.
pub const CONCEALED_KONG: Fan = 67;
/// No terminals or honors.
pub const ALL_SIMPLES: Fan = 68;
/// Two identical chows (same suit and ranks).
pub const PURE_DOUBLE_CHOW: Fan = 69;
/// Two chows of equal ranks in two suits.
pub const MIXED_DOUBLE_CHOW: Fan = 70;
/// Two consecutive chows of one suit (e.g. 234 567).
pub const SHORT_STRAIGHT: Fan = 71;
/// 123 and 789 of one suit.
pub const TWO_TERMINAL_CHOWS: Fan = 72;
/// Pung/kong of 1, 9 or an honor (not dragon, not seat/prevalent wind); per pung.
pub const PUNG_OF_TERMINALS_OR_HONORS: Fan = 73;
/// One claimed or promoted kong.
pub const MELDED_KONG: Fan = 74;
/// Exactly two of the three suits present (one missing); honors allowed.
pub const ONE_VOIDED_SUIT: Fan = 75;
/// No wind or dragon tile.
pub const NO_HONORS: Fan = 76;
/// Wait for one kind only: a 3 to complete 12, or a 7 to complete 89.
pub const EDGE_WAIT: Fan = 77;
/// Wait for one kind only: the middle tile of a chow.
pub const CLOSED_WAIT: Fan = 78;
/// Wait for one kind only: the second tile of the pair.
pub const SINGLE_WAIT: Fan = 79;
/// Win with a tile drawn from the wall.
pub const SELF_DRAWN: Fan = 80;
/// One point per flower or season; does not count toward the minimum of a winning hand.
pub const FLOWER_TILES: Fan = 81;
/// One melded and one concealed kong.
pub const MIXED_KONGS: Fan = 82;

/// Additional exclusions of `edition=strict98`.
pub const STRICT98: &[(Fan, &[Fan])] = &[
    (ALL_TERMINALS, &[TRIPLE_PUNG, DOUBLE_PUNG]),
    (BIG_THREE_DRAGONS, &[ONE_VOIDED_SUIT]),
    (LITTLE_THREE_DRAGONS, &[ONE_VOIDED_SUIT]),
    (QUADRUPLE_CHOW, &[ONE_VOIDED_SUIT]),
    (FOUR_PURE_SHIFTED_PUNGS, &[ONE_VOIDED_SUIT]),
    (FOUR_PURE_SHIFTED_CHOWS, &[ONE_VOIDED_SUIT]),
    (BIG_THREE_WINDS, &[ONE_VOIDED_SUIT]),
];
