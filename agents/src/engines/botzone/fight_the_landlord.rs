//! FightTheLandlord, and FightTheLandlord2, which adds bidding. A play is a list of card numbers; a pass is the empty
//! list.
//!
//! Ludex always plays the lowest cards of the chosen ranks, and messages contain those cards. Programs that track cards
//! by messages therefore know the exact hand. Programs that track their own responses still know the right ranks.

use serde_json::{Map, Value, json};

use ludex_env::{Action, MoveRequest};
use ludex_games::fight_the_landlord::{Phase, View};

use super::codec::{Codec, PastTurn, TurnLog, legal, whole};
use crate::error::AgentError;
use crate::typed_access::view;

pub(super) const PLAIN: Codec = Codec {
    game: "fight_the_landlord(preset=botzone)",
    free: &[],
    simple: None,
    idle: None,
    fallback: None,
    talk: |ask| talk(ask, false),
    read,
};

pub(super) const BIDDING: Codec =
    Codec { game: "fight_the_landlord(preset=botzone2)", talk: |ask| talk(ask, true), ..PLAIN };

/// Returns the cards dealt to `me`. Without bidding, the landlord's cards include the three extra cards.
fn dealt(view: &View, me: u8, bidding: bool) -> Vec<u8> {
    let played = view.plays.iter().filter(|p| p.seat == me).flat_map(|p| &p.cards);
    let taken = |c: &u8| bidding && view.landlord == Some(me) && view.bottom.contains(c);
    let mut cards: Vec<u8> = view.hand.iter().chain(played).copied().filter(|c| !taken(c)).collect();
    cards.sort_unstable();
    cards
}

fn talk(ask: &MoveRequest<'_>, bidding: bool) -> Result<TurnLog, AgentError> {
    let (view, me) = (view::<View>(ask)?, ask.seat as u8);
    let own = dealt(&view, me, bidding);
    let mut turns = Vec::new();
    let bid = |made: &[u8]| json!({ "own": own, "bid": made });
    if view.phase == Phase::Bid {
        return Ok(TurnLog { turns, now: bid(&view.bids), again: None });
    }
    // Each seat bids once, in order.
    if let Some(&own) = view.bids.get(ask.seat) {
        turns.push(PastTurn { request: bid(&view.bids[..ask.seat]), action: own.into(), response: own.into() });
    }
    let cards = |play: Option<usize>| play.and_then(|k| view.plays.get(k)).map_or(&[][..], |p| &p.cards);
    let play = |k: usize| {
        let last = [2, 1].map(|back| cards(k.checked_sub(back)));
        let mut request = Map::from_iter([("history".to_owned(), json!(last))]);
        if k < 3 {
            request.insert("own".into(), json!(own));
            request.insert("publiccard".into(), json!(view.bottom));
        }
        if k < 3 && bidding {
            let bid = view.bids.iter().copied().max().unwrap_or(0).max(1);
            request.extend(
                [("landlord", json!(view.landlord)), ("pos", json!(me)), ("finalbid", json!(bid))]
                    .map(|(name, value)| (name.to_owned(), value)),
            );
        }
        Value::Object(request)
    };
    for (k, put) in view.plays.iter().enumerate().filter(|(_, p)| p.seat == me) {
        turns.push(PastTurn { request: play(k), action: put.action, response: json!(put.cards) });
    }
    Ok(TurnLog { now: play(view.plays.len()), turns, again: None })
}

fn read(ask: &MoveRequest<'_>, response: &Value) -> Option<Action> {
    let seen = view::<View>(ask).ok()?;
    if seen.phase == Phase::Bid {
        return legal(ask, whole(response).and_then(|bid| Action::try_from(bid).ok()));
    }
    let cards = response.as_array()?;
    ask.view().parse(ask.seat, ask.legal, &json!(cards).to_string())
}
