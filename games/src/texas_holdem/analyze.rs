//! Replies of `ludex games analyze texas_holdem`: winners, hand ranks, and equity if the board is incomplete.

use ludex_env::draw::Stream;
use serde_json::{Map, Value, json};

use crate::cards::{self, Card, Equity, Hand, strength};

/// Maximum number of hands in a query.
const HANDS: usize = 10;
/// Maximum number of samples in a query.
const SAMPLES: u64 = 100_000_000;
const BOARD: usize = cards::equity::BOARD;
const KEYS: [&str; 4] = ["board", "hands", "samples", "seed"];

/// Answers a query such as `{"board": "Tc 9h Qs 5s 8c", "hands": ["2s 3s", "Kh Kc"]}`. For an incomplete board, a query
/// may set `samples` and `seed`.
///
/// # Errors
/// Returns the first problem in the query, with the name of the field.
pub(super) fn answer(question: &Value) -> Result<Value, String> {
    let q = question
        .as_object()
        .ok_or_else(|| format!("expected {{\"board\": \"...\", \"hands\": [\"...\", \"...\"]}}, got {question}"))?;
    if let Some(key) = q.keys().find(|k| !KEYS.contains(&k.as_str())) {
        return Err(format!("unknown field {key:?}; allowed: {}", KEYS.join(", ")));
    }
    let board = match q.get("board") {
        None => Vec::new(),
        Some(v) => read("board", v)?,
    };
    if board.len() > BOARD {
        return Err(format!("board: expected at most {BOARD} cards, got {}", board.len()));
    }
    let list = q.get("hands").ok_or("hands: expected a list of texts such as \"Kh Kc\", got nothing")?;
    let list =
        list.as_array().ok_or_else(|| format!("hands: expected a list of texts such as \"Kh Kc\", got {list}"))?;
    if list.is_empty() || list.len() > HANDS {
        return Err(format!("hands: expected 1 to {HANDS} hands, got {}", list.len()));
    }
    let mut hands = Vec::new();
    for (i, v) in list.iter().enumerate() {
        let hand = read(&format!("hands/{i}"), v)?;
        if hand.len() != 2 {
            return Err(format!("hands/{i}: expected 2 cards, got {}", hand.len()));
        }
        hands.push(hand);
    }
    let mut seen = 0u64;
    for &card in board.iter().chain(hands.iter().flatten()) {
        if seen >> card & 1 == 1 {
            return Err(format!("card {} appears twice in the query", cards::name(card)));
        }
        seen |= 1 << card;
    }
    let (samples, seed) = (number(q, "samples", 1, SAMPLES)?, number(q, "seed", 0, u64::MAX)?);
    let shared: Hand = board.iter().copied().collect();
    let strengths: Vec<u16> = hands.iter().map(|h| (shared + h.iter().copied().collect::<Hand>()).strength()).collect();
    let best = strengths.iter().max();
    let winners: Vec<usize> = (0..hands.len()).filter(|&i| Some(&strengths[i]) == best).collect();
    let categories: Vec<&str> = strengths.iter().map(|&s| strength::category(s)).collect();
    let mut answer = json!({ "winners": winners, "categories": categories });
    if board.len() < BOARD {
        let equity = match samples {
            None => Equity::exact(&hands, &board),
            Some(n) => {
                let mut rng = Stream::from_text(&format!("ludex.v1:equity:{}", seed.unwrap_or(0)));
                Equity::sampled(&hands, &board, n, &mut rng)
            }
        };
        answer["equity"] = json!(equity.shares());
    }
    Ok(answer)
}

/// Parses cards from a text, or from a list of texts.
fn read(at: &str, v: &Value) -> Result<Vec<Card>, String> {
    let wrong = || format!("{at}: expected cards as text such as \"Tc 9h\", got {v}");
    let text = match v {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            list.iter().map(Value::as_str).collect::<Option<Vec<&str>>>().ok_or_else(wrong)?.join(" ")
        }
        _ => return Err(wrong()),
    };
    cards::cards(&text).map_err(|why| format!("{at}: {why}"))
}

fn number(q: &Map<String, Value>, name: &str, low: u64, high: u64) -> Result<Option<u64>, String> {
    let Some(v) = q.get(name) else { return Ok(None) };
    match v.as_u64() {
        Some(n) if (low..=high).contains(&n) => Ok(Some(n)),
        _ => Err(format!("{name}: expected an integer from {low} to {high}, got {v}")),
    }
}
