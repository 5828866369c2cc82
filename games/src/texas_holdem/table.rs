//! Parameters, and the poker table that they define.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use ludex_env::params::{self, ParamError};
use ludex_protocol::spec::Params as Raw;

/// Maximum number of seats.
pub(super) const SEATS: usize = 10;
/// Maximum number of betting rounds.
pub(super) const ROUNDS: usize = 4;
/// Maximum number of hole cards of a seat.
pub(super) const HOLE: usize = 3;
/// Maximum number of hole and board cards of one seat.
pub(super) const HAND: usize = 7;
/// Maximum number of chips in a blind, a bet or a stack.
const CHIPS: u32 = 1_000_000;
/// Stack size that means no limit; OpenSpiel's value.
pub(super) const NO_END: u32 = i32::MAX as u32;
/// Maximum number of moves in a betting round, as in the ACPC dealer. A raise is illegal if the replies to it would
/// exceed this number.
pub(super) const ROUND_MOVES: usize = 64;

/// Betting structure of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Betting {
    /// Bets have fixed sizes.
    Limit,
    /// Bets have any size up to the stack.
    Nolimit,
}

/// Bet sizes available in a no-limit game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Abstraction {
    /// No bets: only fold and call.
    Fc,
    /// The pot, and all-in.
    Fcpa,
    /// Half the pot, the pot, and all-in.
    Fchpa,
    /// Every amount, given as the seat's total chips in the hand.
    Fullgame,
    /// Half the pot, the pot, and all-in, computed as in RLCard.
    Rlcard,
    /// Every amount, given as the chips that the move puts in, under Botzone's rules; requires two seats.
    Botzone,
}

/// Unit of a match's returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// Chips won over all hands.
    Chips,
    /// Big blinds won over all hands, truncated to multiples of one half.
    Blinds,
}

/// Parameters of the poker table and its stakes. Lists by position start with position 0. Without `randomSeats`, seat 0
/// has position 0 in the first hand.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Params {
    /// Betting structure: `limit` or `nolimit`.
    pub betting: Betting,
    /// Number of seats, 2 to 10.
    #[schemars(range(min = 2, max = 10))]
    pub num_players: u32,
    /// Number of betting rounds, 1 to 4.
    #[schemars(range(min = 1, max = 4))]
    pub num_rounds: u32,
    /// Blinds in chips, by position. Default: 100 and 50 for two seats, 50 and 100 for more seats.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub blind: Option<Vec<u32>>,
    /// Position that acts first in each round, counted from 1. Default: 2 in the first round (3 for three or more
    /// seats), then 1.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub first_player: Option<Vec<u32>>,
    /// Chips at the start of each hand, by position. Default: 200 big blinds; unlimited with `limit`.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub stack: Option<Vec<u32>>,
    /// Size of a bet in each round with `limit`. Default: the big blind in the first two rounds, then twice the big
    /// blind.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub raise_size: Option<Vec<u32>>,
    /// Maximum number of bets in each round, up to 255. Default: with `limit`, 3 in the first round and then 4;
    /// otherwise 255.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub max_raises: Option<Vec<u32>>,
    /// Number of suits in the deck, 1 to 4.
    #[schemars(range(min = 1, max = 4))]
    pub num_suits: u32,
    /// Number of ranks in the deck, starting with the two, 2 to 13.
    #[schemars(range(min = 2, max = 13))]
    pub num_ranks: u32,
    /// Number of hole cards of each seat, 1 to 3.
    #[schemars(range(min = 1, max = 3))]
    pub num_hole_cards: u32,
    /// Number of board cards dealt before each round. Default: 0, 3, 1, 1.
    #[serde(deserialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub num_board_cards: Option<Vec<u32>>,
    /// Bet sizes available with `nolimit`: `fc`, `fcpa`, `fchpa`, `fullgame`, `rlcard` or `botzone`.
    pub betting_abstraction: Abstraction,
    /// Number of hands in a match, 1 to 1000. Positions move on by one seat after each hand.
    #[schemars(range(min = 1, max = 1000))]
    pub hands: u32,
    /// If true, chance draws the seat that has position 0 in the first hand.
    pub random_seats: bool,
    /// Unit of the returns: `chips`, or `blinds` truncated to multiples of one half.
    pub score: Score,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            betting: Betting::Nolimit,
            num_players: 2,
            num_rounds: 4,
            blind: None,
            first_player: None,
            stack: None,
            raise_size: None,
            max_raises: None,
            num_suits: 4,
            num_ranks: 13,
            num_hole_cards: 2,
            num_board_cards: None,
            betting_abstraction: Abstraction::Fcpa,
            hands: 1,
            random_seats: false,
            score: Score::Chips,
        }
    }
}

fn list<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<u32>>, D::Error> {
    params::list(d).map(Some)
}

/// Converts the parameters of OpenSpiel's `universal_poker`, and adds OpenSpiel's defaults for missing parameters.
pub(super) fn universal(mut raw: Raw) -> Result<Raw, ParamError> {
    for (name, only) in [("boardCards", ""), ("handReaches", ""), ("potSize", "0"), ("calcOddsNumSims", "0")] {
        if let Some(given) = raw.remove(name) {
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            if text != only {
                return Err(ParamError::value(
                    name,
                    given,
                    format!("{only:?}, OpenSpiel's default (subgames are not supported)"),
                ));
            }
        }
    }
    let limit = raw.get("betting").is_some_and(|b| b == "limit");
    if limit {
        // OpenSpiel ignores the parameter `stack` if `betting=limit`.
        raw.remove("stack");
    } else {
        raw.remove("raiseSize");
    }
    let empty = raw.get("maxRaises").is_some_and(|m| m == "");
    if empty {
        raw.remove("maxRaises");
    }
    let rounds = raw.get("numRounds").and_then(Value::as_u64).unwrap_or(2).min(ROUNDS as u64) as usize;
    let defaults: [(&str, Value); 9] = [
        ("numRounds", 2.into()),
        ("blind", "100 100".into()),
        ("firstPlayer", "1 1".into()),
        ("maxRaises", vec![255; rounds].into()),
        ("numRanks", 6.into()),
        ("numHoleCards", 1.into()),
        ("numBoardCards", "0 1".into()),
        if limit { ("raiseSize", "100 100".into()) } else { ("stack", "1200 1200".into()) },
        ("bettingAbstraction", "fcpa".into()),
    ];
    for (name, value) in defaults {
        raw.entry(name).or_insert(value);
    }
    Ok(raw)
}

/// A poker table with checked parameters. Lists are by position or by round.
#[derive(Clone, Debug)]
pub(super) struct PokerTable {
    pub n: usize,
    pub limit: bool,
    pub sizes: Abstraction,
    pub rounds: usize,
    pub blinds: [u32; SEATS],
    pub big_blind: u32,
    pub stacks: [u32; SEATS],
    pub first: [u8; ROUNDS],
    pub raise: [u32; ROUNDS],
    pub raises: [u8; ROUNDS],
    pub suits: u8,
    /// Number of cards in the deck.
    pub deck: u8,
    /// Number of hole cards of one seat.
    pub hole: u8,
    pub holes: u8,
    /// Total number of cards dealt up to each round, including that round.
    pub dealt: [u8; ROUNDS],
    /// True if stacks are limited.
    pub stacked: bool,
    pub hands: usize,
    pub random_seats: bool,
    pub score: Score,
}

impl PokerTable {
    /// Creates the poker table, and writes defaults into `p` for missing parameters.
    pub fn new(p: &mut Params) -> Result<PokerTable, ParamError> {
        params::in_range(p)?;
        let (n, rounds) = (p.num_players as usize, p.num_rounds as usize);
        let limit = p.betting == Betting::Limit;

        let two = n == 2;
        let blinds = p.blind.get_or_insert_with(|| if two { vec![100, 50] } else { padded(&[50, 100], 0, n) });
        exactly("blind", blinds, n, "position")?;
        each("blind", blinds, 0, CHIPS / 10)?;
        let big_blind = blinds.iter().copied().max().unwrap_or(0);
        let blinds = padded(blinds, 0, SEATS);

        let firsts = p.first_player.get_or_insert_with(|| padded(&[if two { 2 } else { 3 }], 1, rounds));
        by_round("firstPlayer", firsts, rounds)?;
        each("firstPlayer", firsts, 1, n as u32)?;
        let first: Vec<u8> = firsts.iter().map(|&f| f as u8 - 1).collect();

        if p.stack.is_none() && !limit {
            p.stack = Some(vec![(200 * big_blind).clamp(1, CHIPS); n]);
        }
        let mut stacks = vec![NO_END; SEATS];
        if let Some(given) = &p.stack {
            exactly("stack", given, n, "position")?;
            each("stack", given, 1, CHIPS)?;
            if let Some(p) = (0..n).find(|&p| given[p] <= blinds[p]) {
                let why = format!("more than the blind of {} chips at position {p}", blinds[p]);
                return Err(ParamError::value("stack", given.clone(), why));
            }
            stacks = padded(given, 0, SEATS);
        }

        let mut raise = vec![0; rounds];
        if limit {
            let default = || (0..rounds).map(|r| big_blind.max(1) << u32::from(r > 1)).collect();
            let given = p.raise_size.get_or_insert_with(default);
            by_round("raiseSize", given, rounds)?;
            each("raiseSize", given, 1, CHIPS)?;
            raise.clone_from(given);
        } else if let Some(given) = &p.raise_size {
            return Err(ParamError::value("raiseSize", given.clone(), "unset, unless betting=limit"));
        }
        let default = || if limit { padded(&[3], 4, rounds) } else { vec![255; rounds] };
        let raises = p.max_raises.get_or_insert_with(default);
        by_round("maxRaises", raises, rounds)?;
        each("maxRaises", raises, 0, 255)?;
        let raises: Vec<u8> = raises.iter().map(|&m| m as u8).collect();

        let boards = p.num_board_cards.get_or_insert_with(|| padded(&[0, 3, 1, 1], 0, rounds));
        by_round("numBoardCards", boards, rounds)?;
        each("numBoardCards", boards, 0, HAND as u32)?;
        let board: u32 = boards.iter().sum();
        if p.num_hole_cards + board > HAND as u32 {
            let (most, hole) = (HAND as u32 - p.num_hole_cards, p.num_hole_cards);
            let why = format!("at most {most} in total with {hole} hole cards");
            return Err(ParamError::value("numBoardCards", boards.clone(), why));
        }
        let (deck, holes) = (p.num_suits * p.num_ranks, p.num_players * p.num_hole_cards);
        if holes + board > deck {
            let why = format!("enough ranks for a deck of {} cards (the deck has {deck})", holes + board);
            return Err(ParamError::value("numRanks", p.num_ranks, why));
        }
        let mut cards = holes;
        let dealt: Vec<u8> = boards
            .iter()
            .map(|b| {
                cards += b;
                cards as u8
            })
            .collect();

        let sizes = p.betting_abstraction;
        if sizes == Abstraction::Botzone && (n != 2 || limit) {
            let allowed = "botzone only with numPlayers=2 and betting=nolimit";
            return Err(ParamError::value("bettingAbstraction", "botzone", allowed));
        }
        if p.score == Score::Blinds && big_blind == 0 {
            return Err(ParamError::value("score", "blinds", "chips; blinds needs a big blind above 0"));
        }
        Ok(PokerTable {
            n,
            limit,
            sizes,
            rounds,
            blinds: fixed(&blinds),
            big_blind,
            stacks: fixed(&stacks),
            first: fixed(&first),
            raise: fixed(&raise),
            raises: fixed(&raises),
            suits: p.num_suits as u8,
            deck: deck as u8,
            hole: p.num_hole_cards as u8,
            holes: holes as u8,
            dealt: fixed(&dealt),
            stacked: p.stack.is_some(),
            hands: p.hands as usize,
            random_seats: p.random_seats,
            score: p.score,
        })
    }

    /// Returns the maximum number of chips that a position can put in during a hand.
    pub fn most(&self, position: usize) -> u32 {
        let bets = |r: usize| self.raise[r].saturating_mul(u32::from(self.raises[r]));
        let all = (0..self.rounds).fold(self.big_blind, |sum, r| sum.saturating_add(bets(r)));
        self.stacks[position].min(if self.limit { all } else { NO_END })
    }

    /// Returns the maximum number of chips that a position can lose in a hand, and the maximum that it can win.
    pub fn swing(&self) -> (u32, u32) {
        let all: Vec<u32> = (0..self.n).map(|p| self.most(p)).collect();
        let but = |p: usize| all.iter().enumerate().filter(move |(q, _)| *q != p).map(|(_, &m)| m);
        let lost = |p: usize| but(p).max().unwrap_or(0).min(all[p]);
        let won = |p: usize| but(p).fold(0, |sum: u32, m| sum.saturating_add(m.min(all[p])));
        let greatest = |f: &dyn Fn(usize) -> u32| (0..self.n).map(f).max().unwrap_or(0);
        (greatest(&lost), greatest(&won))
    }

    /// Returns the maximum number of chips that any position can put in, the unit of the observation array.
    pub fn unit(&self) -> u32 {
        (0..self.n).map(|p| self.most(p)).max().unwrap_or(1).max(1)
    }

    /// Returns an upper bound on the moves and deals of a hand. For OpenSpiel's games, this is OpenSpiel's own bound,
    /// on which the lengths of its arrays depend. The bound is the sum of all cards, one check per seat and round, all
    /// bets that the stacks allow, and one for the end.
    pub fn length(&self) -> u32 {
        let most_moves = (ROUND_MOVES * self.rounds) as u32;
        let most = if self.limit { NO_END } else { (0..self.n).map(|p| self.stacks[p]).max().unwrap_or(0) };
        let bets = match self.sizes {
            Abstraction::Rlcard | Abstraction::Botzone => return most_moves,
            _ if self.big_blind == 0 => return most_moves,
            Abstraction::Fc => 0,
            Abstraction::Fullgame if !self.limit => most.div_ceil(self.big_blind),
            // Number of times that the highest bet can grow by the pot (`fchpa`: by half the pot) with all seats in.
            sizes => {
                let half = sizes == Abstraction::Fchpa && !self.limit;
                let twofold = if half { self.n as u64 + 2 } else { 2 * self.n as u64 + 2 };
                let (mut bet, mut times) = (2 * u128::from(self.big_blind), 0);
                let mut unit = 2u128;
                while bet < u128::from(most) * unit {
                    bet *= u128::from(twofold);
                    unit *= 2;
                    times += 1;
                }
                times
            }
        };
        let cards = u32::from(self.dealt[self.rounds - 1]);
        let seats = self.n as u32;
        (1 + cards + seats * self.rounds as u32).saturating_add((seats - 1).saturating_mul(bets))
    }

    /// Returns the number of action ids.
    pub fn actions(&self) -> u32 {
        let most = (0..self.n).map(|p| self.stacks[p]).max().unwrap_or(0);
        match self.sizes {
            _ if self.limit => 3,
            Abstraction::Fc | Abstraction::Fcpa => 4,
            Abstraction::Fchpa | Abstraction::Rlcard => 5,
            Abstraction::Fullgame => (most + 1).max(3),
            Abstraction::Botzone => most + 2,
        }
    }
}

fn padded(list: &[u32], with: u32, n: usize) -> Vec<u32> {
    list.iter().copied().chain(std::iter::repeat(with)).take(n).collect()
}

fn fixed<T: Copy + Default, const N: usize>(list: &[T]) -> [T; N] {
    std::array::from_fn(|i| list.get(i).copied().unwrap_or_default())
}

fn exactly(name: &str, list: &[u32], n: usize, what: &str) -> Result<(), ParamError> {
    if list.len() == n {
        return Ok(());
    }
    Err(ParamError::value(name, list.to_vec(), format!("{n} numbers, one for each {what}")))
}

/// Checks that a list has a number for each round, and drops excess numbers as OpenSpiel does.
fn by_round(name: &str, list: &mut Vec<u32>, rounds: usize) -> Result<(), ParamError> {
    if list.len() < rounds {
        return Err(ParamError::value(name, list.clone(), format!("{rounds} numbers, one for each round")));
    }
    list.truncate(rounds);
    Ok(())
}

fn each(name: &str, list: &[u32], low: u32, high: u32) -> Result<(), ParamError> {
    if list.iter().all(|v| (low..=high).contains(v)) {
        return Ok(());
    }
    Err(ParamError::value(name, list.to_vec(), format!("numbers from {low} to {high}")))
}
