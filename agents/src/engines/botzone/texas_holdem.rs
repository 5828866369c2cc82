//! TexasHoldem2p. A response is an integer: -1 folds, 0 calls or checks, -2 goes all-in, a positive number is the chips
//! to add.

use serde_json::{Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::texas_holdem::{HandView, MoveView, View};

use super::codec::{Codec, PastTurn, TurnLog, legal, whole};
use crate::error::AgentError;
use crate::typed_access::view;

const FOLD: Action = 0;
/// Blinds by position. The seat that does not deal posts the small blind.
const BLINDS: [u32; 2] = [50, 100];
const STACK: u32 = 20_000;

pub(super) const CODEC: Codec = Codec {
    game: "texas_holdem(preset=botzone)",
    free: &["hands", "randomSeats", "score"],
    simple: None,
    idle: None,
    fallback: Some(FOLD),
    talk,
    read,
};

fn number(a: Action) -> i64 {
    match a {
        FOLD => -1,
        1 => 0,
        2 => -2,
        more => i64::from(more) - 2,
    }
}

/// Returns the card number `4 * rank + suit`, counted from the two of hearts; suits are hearts, diamonds, spades,
/// clubs.
fn card(name: &str) -> Option<usize> {
    let (rank, suit) = name.split_at_checked(1)?;
    Some(4 * "23456789TJQKA".find(rank)? + "hdsc".find(suit)?)
}

fn cards(names: &[String]) -> Vec<usize> {
    names.iter().filter_map(|name| card(name)).collect()
}

/// Score of a match at the start of a hand.
#[derive(Default)]
struct Score {
    hands: usize,
    chips: [f64; 2],
    won: [u32; 2],
}

impl Score {
    fn add(&mut self, hand: &HandView) {
        self.hands += 1;
        for (seat, &won) in hand.won.iter().enumerate().take(2) {
            self.chips[seat] += won;
            self.won[seat] += u32::from(won > 0.0);
        }
    }
}

/// Converts a number of chips to JSON. Whole numbers become integers because some programs expect integers.
fn sum(chips: f64) -> Value {
    if chips.fract() == 0.0 { (chips as i64).into() } else { chips.into() }
}

/// Returns the request to seat `me` after the first `made` moves of a hand, in betting round `round`.
fn request(view: &View, me: usize, before: &Score, hand: &HandView, made: usize, round: u8) -> Value {
    let mut spent = [0; 2];
    for (&seat, blind) in hand.positions.iter().zip(BLINDS) {
        spent[usize::from(seat) % 2] = blind;
    }
    let entry = |m: &MoveView| {
        let own = &mut spent[usize::from(m.seat) % 2];
        let (put, action) = (m.to.saturating_sub(*own), number(m.action));
        *own = m.to;
        let kind = match (action, put) {
            (-1, _) => "fold",
            (-2, _) => "allin",
            (0, 0) => "check",
            (0, _) => "call",
            _ => "raise",
        };
        json!({ "round": m.round, "player_id": m.seat, "action": action, "action_type": kind })
    };
    let history: Vec<Value> = hand.moves.iter().take(made).map(entry).collect();
    let board = [0, 3, 4, 5].get(usize::from(round)).map_or(0, |&n| hand.board.len().min(n));
    json!({
        "num_players": 2,
        "dealer_id": hand.positions.last(),
        "my_id": me,
        "my_chips": STACK.saturating_sub(spent[me % 2]),
        "my_cards": cards(&hand.hole),
        "public_cards": cards(&hand.board[..board]),
        "history": history,
        "hand": before.hands,
        "max_hand": view.hands,
        "total_win_chips": before.chips.map(sum),
        "total_win_games": before.won,
    })
}

fn talk(ask: &MoveRequest<'_>) -> Result<TurnLog, AgentError> {
    let (view, me) = (view::<View>(ask)?, ask.seat);
    let (mut turns, mut score) = (Vec::new(), Score::default());
    for hand in view.past.iter().chain([&view.now]) {
        for (made, m) in hand.moves.iter().enumerate().filter(|(_, m)| usize::from(m.seat) == me) {
            let request = request(&view, me, &score, hand, made, m.round);
            turns.push(PastTurn { request, action: m.action, response: number(m.action).into() });
        }
        if !hand.won.is_empty() {
            score.add(hand);
        }
    }
    let now = request(&view, me, &score, &view.now, view.now.moves.len(), view.now.round);
    Ok(TurnLog { turns, now, again: None })
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let action = match whole(response)? {
        -1 => FOLD,
        0 => 1,
        -2 => 2,
        chips => Action::try_from(chips).ok()?.checked_add(2)?,
    };
    legal(ask, Some(action))
}
