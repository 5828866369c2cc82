//! Analysis of hands: lists of legal plays.

use ludex_env::game::Action;
use serde_json::{Value, json};

use super::cards::{self, Cards, Counts, RANKS, count};
use super::combinations::Plays;
use super::{FightTheLandlord, Params, Rules};

impl FightTheLandlord {
    /// Parses cards given by rank or as Botzone's list of card numbers. Returns no cards for `pass`.
    pub(super) fn cards_of(&self, text: &str) -> Result<Counts, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("pass") {
            return Ok(0);
        }
        if text.is_empty() {
            return Err("expected cards or pass, got an empty text".to_owned());
        }
        if !text.starts_with('[') {
            return cards::read(text);
        }
        let list: Vec<u8> =
            serde_json::from_str(text).map_err(|e| format!("expected a list of card numbers, got {text:?}: {e}"))?;
        let set = cards::set(&list);
        if set.count_ones() as usize != list.len() {
            return Err(format!("expected different card numbers from 0 to 53, got {text:?}"));
        }
        Ok(cards::counts(set))
    }
}

/// Returns a set of cards that has the given rank counts.
fn any(counts: Counts) -> Cards {
    cards::lowest(cards::DECK, counts)
}

fn text<'a>(question: &'a Value, field: &str) -> Result<&'a str, String> {
    match question.get(field) {
        Some(Value::String(text)) => Ok(text),
        None if field == "previous" => Ok(""),
        None => Err(format!("{field:?} is missing; expected cards such as \"33344\"")),
        Some(other) => Err(format!("{field:?}: expected cards such as \"33344\", got {other}")),
    }
}

/// Lists all plays from a hand that beat the previous play. A query is `{"hand": "359K2", "previous": ""}`.
///
/// The optional field `"rules"` names the variant. Default: `dou_dizhu` in OpenSpiel's game, otherwise `botzone2`.
pub fn answer(game: &FightTheLandlord, question: &Value) -> Result<Value, String> {
    let Some(fields) = question.as_object() else {
        return Err(format!("expected an object such as {{\"hand\": \"359K2\", \"previous\": \"\"}}, got {question}"));
    };
    if let Some(odd) = fields.keys().find(|k| !["hand", "previous", "rules"].contains(&k.as_str())) {
        return Err(format!("unknown field {odd:?}; allowed: \"hand\", \"previous\", \"rules\""));
    }
    let rules = match question.get("rules") {
        Some(rules) => serde_json::from_value(rules.clone())
            .map_err(|_| format!("\"rules\": expected \"botzone\", \"botzone2\" or \"dou_dizhu\", got {rules}"))?,
        None if game.rules() == Rules::DouDizhu => Rules::DouDizhu,
        None => Rules::Botzone2,
    };
    let game = FightTheLandlord { params: Params { rules }, plays: Plays::of(rules) };
    let hand = cards::read(text(question, "hand")?).map_err(|why| format!("\"hand\": {why}"))?;
    if hand == 0 {
        return Err("\"hand\": expected at least one card, got none".to_owned());
    }
    let named = text(question, "previous")?.trim();
    let previous = match named {
        "" => 0,
        _ => game.cards_of(named).map_err(|why| format!("\"previous\": {why}"))?,
    };
    for r in 0..RANKS {
        let n = count(hand, r) + count(previous, r);
        if n > cards::most(r) {
            let name = game.names()[r];
            let most = cards::most(r);
            return Err(format!(
                "rank {name}: expected at most {most} cards in hand and previous play together, got {n}"
            ));
        }
    }
    let top = if previous == 0 {
        None
    } else {
        // If the same cards form two plays, the name decides.
        let by_name = game.plays.with_cards(previous).find(|&a| game.name(a).eq_ignore_ascii_case(named));
        let found = by_name.or_else(|| game.plays.with_cards(previous).next()).and_then(|a| game.plays.get(a));
        Some(found.ok_or_else(|| format!("\"previous\": {named} is not a combination"))?)
    };
    let mut found: Vec<Action> = Vec::new();
    game.plays.find(any(hand), top, &mut found);
    let mut plays: Vec<String> = found.into_iter().map(|a| game.name(a)).collect();
    plays.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    Ok(json!({ "plays": plays, "can_pass": top.is_some() }))
}
