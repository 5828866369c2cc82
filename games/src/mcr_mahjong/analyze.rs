//! Replies of `ludex games analyze mcr_mahjong`: fans of a winning hand, shanten and useful tiles of any other hand.

use serde_json::{Map, Value, json};

use ludex_protocol::error::{Issue, nearest, truncate_text};

use super::hand::{Edition, Flags, Hand, MELDS, Meld, MeldKind};
use super::shanten::{FORMS, Shanten, shanten};
use super::tiles::{COPIES, Counts, KINDS, Kinds, Tile, chow_middle, counts, kinds, name, read};

/// The fields of a query.
const FIELDS: [&str; 11] = [
    "pack",
    "hand",
    "win",
    "flowers",
    "self_drawn",
    "fourth_tile",
    "about_kong",
    "wall_last",
    "seat_wind",
    "prevalent_wind",
    "edition",
];
/// Allowed tile names, for error messages.
const TILES: &str = "W1 to W9, B1 to B9, T1 to T9, F1 to F4, J1 to J3";

fn issue(path: impl Into<String>, got: Option<&Value>, allowed: impl Into<Value>, message: impl Into<String>) -> Issue {
    let (path, message) = (path.into(), message.into());
    Issue { path, got: got.cloned(), allowed: Some(allowed.into()), message, ..Issue::default() }
}

/// Formats a query value for an error message, truncated to one line.
fn quote(value: &Value) -> String {
    truncate_text(&value.to_string())
}

struct Question {
    melds: Vec<Meld>,
    standing: Counts,
    win: Option<Tile>,
    flags: Flags,
    edition: Edition,
}

fn tile(path: String, value: &Value) -> Result<Tile, Issue> {
    let found = value.as_str().and_then(read).filter(|&t| usize::from(t) < KINDS);
    found.ok_or_else(|| issue(path, Some(value), TILES, format!("{} is not a tile", quote(value))))
}

fn number(q: &Map<String, Value>, field: &str, most: u8) -> Result<u8, Issue> {
    let Some(value) = q.get(field) else { return Ok(0) };
    let found = value.as_u64().filter(|&n| n <= most.into());
    let wrong = || {
        let why = format!("expected an integer from 0 to {most}, got {}", quote(value));
        issue(format!("/{field}"), Some(value), format!("0 to {most}"), why)
    };
    found.map(|n| n as u8).ok_or_else(wrong)
}

fn flag(q: &Map<String, Value>, field: &str) -> Result<bool, Issue> {
    let Some(value) = q.get(field) else { return Ok(false) };
    let wrong = || {
        let why = format!("expected true or false, got {}", quote(value));
        issue(format!("/{field}"), Some(value), json!([true, false]), why)
    };
    value.as_bool().ok_or_else(wrong)
}

fn array<'a>(q: &'a Map<String, Value>, field: &str) -> Result<&'a [Value], Issue> {
    match q.get(field) {
        None => Ok(&[]),
        Some(Value::Array(all)) => Ok(all),
        Some(other) => {
            let path = format!("/{field}");
            Err(issue(path, Some(other), "a list", format!("{field}: expected a list, got {}", kind(other))))
        }
    }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn meld(at: usize, value: &Value) -> Result<Meld, Issue> {
    const SHAPE: &str = "[\"CHI\", middle tile, 1 to 3], [\"PENG\", tile, 1 to 3] or [\"GANG\", tile, 0 to 3]";
    let path = |k: usize| format!("/pack/{at}/{k}");
    let Some([what, middle, offer]) = value.as_array().map(Vec::as_slice) else {
        let why = format!("expected a meld as a list of three values, got {}", quote(value));
        return Err(issue(format!("/pack/{at}"), Some(value), SHAPE, why));
    };
    let kind = match what.as_str() {
        Some("CHI") => MeldKind::Chi,
        Some("PENG") => MeldKind::Peng,
        Some("GANG") => MeldKind::Gang,
        _ => {
            let words = json!(["CHI", "PENG", "GANG"]);
            return Err(issue(path(0), Some(what), words, format!("expected CHI, PENG or GANG, got {}", quote(what))));
        }
    };
    let tile = tile(path(1), middle)?;
    if kind == MeldKind::Chi && !chow_middle(tile) {
        let why = format!("{} is not the middle tile of a chow", name(tile));
        return Err(issue(path(1), Some(middle), "ranks 2 to 8 of W, B and T", why));
    }
    let least = u64::from(kind != MeldKind::Gang);
    let offer = offer.as_u64().filter(|n| (least..=3).contains(n)).ok_or_else(|| {
        let why = format!("expected {least} to 3 as the third value of the meld, got {}", quote(offer));
        issue(path(2), Some(offer), format!("{least} to 3"), why)
    })?;
    Ok(Meld { kind: if offer == 0 { MeldKind::Angang } else { kind }, tile })
}

fn question(value: &Value) -> Result<Question, Issue> {
    let Some(q) = value.as_object() else {
        let shape = r#"{"hand": ["W1", ..], "win": "W5"}"#;
        return Err(issue("", None, shape, format!("expected a query object, got {}", kind(value))));
    };
    if let Some(odd) = q.keys().find(|k| !FIELDS.contains(&k.as_str())) {
        let near = nearest(odd, FIELDS).map(|n| format!("; did you mean {n}?")).unwrap_or_default();
        let shown: String = odd.chars().take(40).collect();
        let path = format!("/{shown}");
        return Err(issue(path, None, json!(FIELDS), format!("unknown field {shown:?}{near}")));
    }
    let pack = array(q, "pack")?;
    if pack.len() > MELDS {
        return Err(issue(
            "/pack",
            None,
            "0 to 4 melds",
            format!("expected at most {MELDS} melds, got {}", pack.len()),
        ));
    }
    let melds = pack.iter().enumerate().map(|(k, v)| meld(k, v)).collect::<Result<Vec<_>, _>>()?;
    if !q.contains_key("hand") {
        return Err(issue("/hand", None, "a list of tiles", "field hand is missing"));
    }
    let mut seen: Counts = [0; KINDS];
    let mut take = |t: Tile, n: u8, path: &dyn Fn() -> String| {
        let all = &mut seen[usize::from(t)];
        *all += n;
        match *all {
            0..=COPIES => Ok(()),
            n => {
                let why = format!("expected at most four {0}, got {1} {0}", name(t), count(n));
                Err(issue(path(), None, "at most four of a kind", why))
            }
        }
    };
    for (k, meld) in melds.iter().enumerate() {
        let tiles = counts(meld.tiles());
        for t in kinds(&tiles).iter() {
            take(t, tiles[usize::from(t)], &|| format!("/pack/{k}"))?;
        }
    }
    let given = array(q, "hand")?;
    let wanted = 13 - 3 * melds.len();
    if given.len() != wanted {
        let why = format!("expected {wanted} tiles in addition to {} melds, got {}", melds.len(), given.len());
        return Err(issue("/hand", None, format!("{wanted} tiles"), why));
    }
    let mut standing: Counts = [0; KINDS];
    for (k, value) in given.iter().enumerate() {
        let t = tile(format!("/hand/{k}"), value)?;
        take(t, 1, &|| format!("/hand/{k}"))?;
        standing[usize::from(t)] += 1;
    }
    let win = q.get("win").filter(|w| !w.is_null()).map(|w| tile("/win".to_owned(), w)).transpose()?;
    if let Some(t) = win {
        take(t, 1, &|| "/win".to_owned())?;
    }
    let flags = Flags {
        self_drawn: flag(q, "self_drawn")?,
        fourth_tile: flag(q, "fourth_tile")?,
        about_kong: flag(q, "about_kong")?,
        wall_last: flag(q, "wall_last")?,
        seat_wind: number(q, "seat_wind", 3)?,
        prevalent_wind: number(q, "prevalent_wind", 3)?,
        flowers: number(q, "flowers", 8)?,
    };
    let edition = match q.get("edition") {
        None => Edition::Oracle,
        Some(v) => serde_json::from_value(v.clone()).map_err(|_| {
            let allowed = json!(["oracle", "strict98"]);
            issue("/edition", Some(v), allowed, format!("expected `oracle` or `strict98`, got {}", quote(v)))
        })?,
    };
    Ok(Question { melds, standing, win, flags, edition })
}

fn count(n: u8) -> String {
    match n {
        5 => "five".to_owned(),
        6 => "six".to_owned(),
        n => n.to_string(),
    }
}

fn names(of: Kinds) -> Vec<String> {
    of.iter().map(name).collect()
}

/// Returns the shanten fields of a reply for a hand without a drawn tile.
fn distance(hand: &Counts, melds: usize) -> Value {
    let pair = |s: Shanten| json!([s.number, names(s.useful)]);
    let forms: Map<String, Value> =
        FORMS.iter().filter_map(|f| Some((f.name().to_owned(), pair(f.of(hand, melds)?)))).collect();
    let all = shanten(hand, melds);
    json!({ "win": false, "shanten": all.number, "useful": names(all.useful), "forms": forms })
}

/// Returns the tiles left after the best discard: the discard with the lowest shanten number and, if several have it,
/// with the most useful tiles.
fn without_worst(tiles: &Counts, melds: usize) -> Counts {
    let key = |left: &Counts| {
        let s = shanten(left, melds);
        (s.number, std::cmp::Reverse(s.useful.0.count_ones()))
    };
    let less = kinds(tiles).iter().map(|t| {
        let mut left = *tiles;
        left[usize::from(t)] -= 1;
        left
    });
    less.min_by_key(key).unwrap_or(*tiles)
}

/// Answers a query about a hand.
///
/// # Errors
/// Returns the first issue with its path.
pub(super) fn answer(value: &Value) -> Result<Value, Issue> {
    let q = question(value)?;
    let Some(win) = q.win else { return Ok(distance(&q.standing, q.melds.len())) };
    let mut hand = Hand::new(&q.melds, q.standing, win, q.flags);
    let corrected = hand.correct();
    let mut answer = match hand.score(q.edition) {
        Some(score) => json!({
            "win": true,
            "fans": score.fans().collect::<Vec<_>>(),
            "total": score.total(),
            "flowerless": score.points,
        }),
        None => distance(&without_worst(&hand.complete(), q.melds.len()), q.melds.len()),
    };
    if !corrected.is_empty() {
        answer["corrected"] = json!(corrected.as_slice());
    }
    Ok(answer)
}
