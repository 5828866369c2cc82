//! Text notation of plies: `c3`, `c3=7`, `n:c3=7`, `b1-b2`, `pass`.

use ludex_env::game::Action;

use super::board;
use super::ids::{self, Ply, ply};
use super::rules::Rules;

/// Returns the prefix that names a kind, or an empty text if only one kind can be placed.
fn prefix(rules: &Rules, kind: usize) -> String {
    match rules.document.kinds.get(kind) {
        Some(k) if rules.placed.count_ones() > 1 => format!("{}:", k.id),
        _ => String::new(),
    }
}

/// Returns the text of a ply.
pub(super) fn name(rules: &Rules, a: Action) -> String {
    match ply(a) {
        Ply::Pass => "pass".into(),
        Ply::Move { from, to } => format!("{}-{}", board::name(from), board::name(to)),
        Ply::Place { kind, cell, value } => {
            let has = rules.document.kinds.get(kind).is_none_or(|k| k.values.is_some());
            let number = if has || value > 0 { format!("={value}") } else { String::new() };
            format!("{}{}{number}", prefix(rules, kind), board::name(cell))
        }
    }
}

/// Returns the text of a placement with a hidden number. The cell is hidden too if `cell` is `None`.
pub(super) fn veiled(rules: &Rules, kind: usize, cell: Option<usize>) -> String {
    match cell {
        Some(cell) => format!("{}{}=?", prefix(rules, kind), board::name(cell)),
        None => format!("{}?", prefix(rules, kind)),
    }
}

/// Parses a ply. The ply may be illegal.
pub(super) fn read(rules: &Rules, text: &str) -> Option<Action> {
    let text = text.trim().to_ascii_lowercase();
    if text == "pass" {
        return Some(ids::PASS);
    }
    if let Some((from, to)) = text.split_once('-') {
        return Some(ids::shift(board::cell(from.trim())?, board::cell(to.trim())?));
    }
    let (kind, rest) = match text.split_once(':') {
        Some((id, rest)) => (super::document::kind(&rules.document, id.trim())?, rest),
        None if rules.placed.count_ones() == 1 => (rules.placed.trailing_zeros() as usize, text.as_str()),
        None => return None,
    };
    let has = rules.document.kinds[kind].values.is_some();
    let (cell, value) = match rest.split_once('=') {
        Some((cell, value)) if has => (cell, value.trim().parse().ok().filter(|&v: &u8| v <= 25)?),
        None if !has => (rest, 0),
        _ => return None,
    };
    Some(ids::place(kind, board::cell(cell.trim())?, value))
}
