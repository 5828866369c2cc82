//! Inputs of a betting decision: pot, price of a call, and candidate raises.

use ludex_env::{Action, GameRef, MoveRequest};
use ludex_games::cards::{self, Card};
use ludex_games::texas_holdem::{Abstraction, Betting, HandView, Params};
use ludex_protocol::Refusal;

use crate::typed_access::params;

const FOLD: Action = 0;
const CALL: Action = 1;

/// Stack size if stacks are unlimited.
const NO_END: f64 = 1e9;

/// Facts about the poker game that do not change during a match.
pub struct TableFacts {
    params: Params,
    /// Number of cards on the board in each round.
    pub board: Vec<usize>,
}

impl TableFacts {
    pub fn of(game: &GameRef) -> Result<TableFacts, Refusal> {
        let params: Params = params(game)?;
        let mut sum = 0;
        let dealt = params.num_board_cards.iter().flatten().map(|&n| {
            sum += n as usize;
            sum
        });
        let board = dealt.collect();
        Ok(TableFacts { params, board })
    }

    /// Returns the cards of the deck.
    pub fn deck(&self) -> Vec<Card> {
        let suits = self.params.num_suits as Card;
        (0..self.params.num_ranks as Card).flat_map(|rank| (0..suits).map(move |suit| rank * 4 + suit)).collect()
    }

    /// Returns the number of hole cards of a seat.
    pub fn hole(&self) -> usize {
        self.params.num_hole_cards as usize
    }

    /// Returns the blind of a position.
    fn blind(&self, position: usize) -> f64 {
        self.params.blind.as_ref().and_then(|b| b.get(position)).copied().unwrap_or(0).into()
    }
}

/// Candidate raise. `to` is the total number of chips that the seat has put in during the hand once it makes the raise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raise {
    pub action: Action,
    pub to: f64,
}

/// Past action of a seat, with the pot and the price of a call before the action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedBet {
    /// Number of cards on the board.
    pub board: usize,
    /// Chips in the pot; `owed` is the price of a call.
    pub pot: f64,
    pub owed: f64,
    /// Amount of the raise in chips; 0 for a check or call.
    pub raised: f64,
}

/// Opponent that has not folded.
pub struct LiveOpponent {
    pub spent: f64,
    pub left: f64,
    pub deeds: Vec<ObservedBet>,
}

/// Inputs of a betting decision for one seat.
pub struct Spot {
    pub hole: Vec<Card>,
    pub board: Vec<Card>,
    /// True if the board is complete.
    pub river: bool,
    /// Chips that the seat can win if it calls: from each seat, at most as many as the caller itself has put in.
    pub pot: f64,
    /// Price of a call in chips.
    pub owed: f64,
    pub spent: f64,
    pub others: Vec<LiveOpponent>,
    /// True if the seat will act last in the following rounds.
    pub last: bool,
    pub call: Action,
    fold: Option<Action>,
    /// Candidate raises in ascending order.
    pub raises: Vec<Raise>,
}

impl Spot {
    /// Returns the spot of the requested seat; `None` if it has no legal action.
    pub fn of(table: &TableFacts, hand: &HandView, ask: &MoveRequest<'_>) -> Option<Spot> {
        let me = ask.seat;
        let spent: Vec<f64> = hand.spent.iter().map(|&c| f64::from(c)).collect();
        let left = |seat: usize| hand.left.get(seat).map_or(NO_END, |&l| f64::from(l));
        let mine = *spent.get(me)?;
        let most = spent.iter().copied().fold(0.0, f64::max);
        let owed = (most - mine).min(left(me));
        let read = |names: &[String]| names.iter().filter_map(|n| cards::card(n)).collect::<Vec<Card>>();
        let deeds = deeds(table, hand, spent.len());
        let is_in = |seat: &usize| *seat != me && !hand.folded.iter().any(|&f| usize::from(f) == *seat);
        let others = (0..spent.len()).filter(is_in).map(|seat| LiveOpponent {
            spent: spent[seat],
            left: left(seat),
            deeds: deeds[seat].clone(),
        });
        let call = if ask.legal.contains(&CALL) { CALL } else { *ask.legal.last()? };
        let round = usize::from(hand.round);
        Some(Spot {
            hole: read(&hand.hole),
            board: read(&hand.board),
            river: hand.board.len() >= table.board.last().copied().unwrap_or(0),
            pot: spent.iter().map(|s| s.min(mine + owed)).sum(),
            owed,
            spent: mine,
            last: acts_last(table, hand, me, round),
            others: others.collect(),
            call,
            fold: ask.legal.first().copied().filter(|&a| a == FOLD),
            raises: raises(table, ask.legal, call, mine, left(me), most, &spent, round),
        })
    }

    /// Returns a fold, or a check if no chips are owed.
    pub fn give_up(&self) -> Action {
        self.fold.filter(|_| self.owed > 0.0).unwrap_or(self.call)
    }
}

/// Returns true if `me` will be the last of the remaining seats to act in the following rounds.
fn acts_last(table: &TableFacts, hand: &HandView, me: usize, round: usize) -> bool {
    let n = hand.positions.len();
    let first =
        table.params.first_player.iter().flatten().nth(round + 1).or(table.params.first_player.iter().flatten().last());
    let first = first.map_or(0, |&f| f as usize - 1);
    let order = (0..n).map(|k| usize::from(hand.positions[(first + k) % n]));
    order.rev().find(|&seat| !hand.folded.iter().any(|&f| usize::from(f) == seat)) == Some(me)
}

/// Returns the candidate raises: all legal raises if there are at most four, otherwise half the pot, the pot, twice the
/// pot and all-in.
#[allow(clippy::too_many_arguments)] // Called once; the arguments describe the spot.
fn raises(
    table: &TableFacts,
    legal: &[Action],
    call: Action,
    mine: f64,
    left: f64,
    most: f64,
    spent: &[f64],
    round: usize,
) -> Vec<Raise> {
    let p = &table.params;
    let pot: f64 = spent.iter().sum();
    let after_call = pot + most - mine;
    let limit = p.betting == Betting::Limit;
    let all_in = mine + left;
    let to = |a: Action| match (a, p.betting_abstraction) {
        _ if limit => most + p.raise_size.as_ref().and_then(|r| r.get(round)).map_or(0.0, |&r| f64::from(r)),
        (a, Abstraction::Fullgame) => f64::from(a),
        (2, Abstraction::Botzone) => all_in,
        (a, Abstraction::Botzone) => mine + f64::from(a) - 2.0,
        (2, Abstraction::Rlcard) => mine + f64::from(pot as u32 / 2),
        (3, Abstraction::Rlcard) => mine + pot,
        (2, _) => most + after_call,
        (4, Abstraction::Fchpa) => most + f64::from((after_call as u32).div_ceil(2)),
        _ => all_in,
    };
    let beyond: Vec<Action> = legal.iter().copied().filter(|&a| a > CALL && a != call).collect();
    let chosen = if beyond.len() <= 4 {
        beyond
    } else {
        // Sizes are ascending, except that Botzone's `2` for all-in comes first.
        let sized =
            if p.betting_abstraction == Abstraction::Botzone && beyond[0] == 2 { &beyond[1..] } else { &beyond[..] };
        let near = |sum: f64| sized[sized.partition_point(|&a| to(a) < sum).min(sized.len() - 1)];
        let mut chosen: Vec<Action> = [0.5, 1.0, 2.0].iter().map(|k| near(most + k * after_call)).collect();
        chosen.push(if sized.len() < beyond.len() { beyond[0] } else { sized[sized.len() - 1] });
        chosen
    };
    let mut raises: Vec<Raise> =
        chosen.into_iter().map(|action| Raise { action, to: to(action).min(all_in) }).collect();
    raises.sort_by(|a, b| a.to.total_cmp(&b.to));
    raises.dedup_by_key(|r| r.action);
    raises
}

/// Returns the past actions of each seat, without folds.
fn deeds(table: &TableFacts, hand: &HandView, n: usize) -> Vec<Vec<ObservedBet>> {
    let mut spent = vec![0.0; n];
    for (position, &seat) in hand.positions.iter().enumerate() {
        if let Some(s) = spent.get_mut(usize::from(seat)) {
            *s = table.blind(position);
        }
    }
    let mut deeds = vec![Vec::new(); n];
    for m in &hand.moves {
        let (seat, to) = (usize::from(m.seat), f64::from(m.to));
        let most = spent.iter().copied().fold(0.0, f64::max);
        let pot: f64 = spent.iter().sum();
        if seat >= n {
            continue;
        }
        if m.action != FOLD {
            let owed = most - spent[seat];
            let board = table.board.get(usize::from(m.round)).copied().unwrap_or(0);
            deeds[seat].push(ObservedBet { board, pot, owed, raised: (to - most).max(0.0) });
        }
        spent[seat] = to;
    }
    deeds
}
