//! English summaries of rule documents.

use super::board::{self, ALL};
use super::document::{
    ActionRule, BySeat, Cells, Cond, Dirs, Document, Effect, End, First, Hidden, Kind, Mode, Near, On, Onto, Reveal,
    Score, Steps, StepsPreset, StuckThen, Then, Tie, When, Who, WinLose, zone,
};

/// Returns the rules in English, one sentence per line.
pub(super) fn of(d: &Document) -> String {
    let mut out = vec![format!(
        "{:?}: a game on a board of 5 columns, a to e, and 5 rows, 1 to 5. Row 1 is the home row of seat a, row 5 of seat b.",
        d.name
    )];
    out.push(order(d));
    out.extend(d.kinds.iter().map(kind));
    out.extend(setup(d));
    out.push("In a turn a seat does one of these:".into());
    out.extend(d.actions.iter().map(|a| format!("- {}", action(d, a))));
    let places = d.actions.iter().filter(|a| matches!(a, ActionRule::Place { .. })).count();
    let own = |near: &Near| matches!(near, Near::Own4 | Near::Own8 | Near::Opp4 | Near::Opp8);
    if places > 0 && d.actions.iter().any(|a| matches!(a, ActionRule::Place { near, .. } if own(near))) {
        out.push("A rule about neighbours does not apply while that side has no piece on the board.".into());
    }
    if !d.effects.is_empty() {
        out.push("After it, in this order, for pieces as they stood before the first of these effects:".into());
        out.extend(d.effects.iter().map(|e| format!("- {}", effect(e))));
    }
    out.extend(hidden(&d.hidden));
    if d.mode == Mode::Simultaneous {
        out.push(
            "Two pieces that go to one cell both stay where they were, and neither is placed. A piece that leaves is not captured; two may swap."
                .into(),
        );
    }
    if !d.end.is_empty() {
        out.push("The game ends, judged after every ply in this order, first for the seat that moved:".into());
        out.extend(d.end.iter().map(|e| format!("- {}", end(d, e))));
    }
    out.push(format!("After {} the board is scored.", count(d.ply_cap.into(), "ply", "plies")));
    out.extend(score(d));
    out.push(tie(d));
    out.join("\n")
}

fn count(n: u32, one: &str, more: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {more}") }
}

fn order(d: &Document) -> String {
    let first = match d.first {
        First::Author => "The seat that wrote these rules counts as the first",
        First::Other => "The seat that accepted these rules counts as the first",
        First::Seat0 => "Seat a counts as the first",
        First::Random => "Chance decides which seat counts as the first",
    };
    match d.mode {
        Mode::Alternate => format!("{first}: it moves first, then the seats move in turn."),
        Mode::Simultaneous => {
            format!("Both seats choose their moves at the same time, without seeing the other's. {first}.")
        }
    }
}

fn kind(k: &Kind) -> String {
    let supply = match k.supply {
        Some(n) => format!("each seat may place {n} of it"),
        None => "each seat may place any number of it".into(),
    };
    let Some(v) = &k.values else { return format!("Piece {}: no number; {supply}.", k.id) };
    let unique = if v.unique { ", and uses each number only once" } else { "" };
    let sum = v.sum_max.map_or(String::new(), |n| format!("; all its numbers together may be at most {n}"));
    format!(
        "Piece {}: the seat that places it gives it a number from {} to {}{unique}{sum}; {supply}.",
        k.id, v.min, v.max
    )
}

fn setup(d: &Document) -> Option<String> {
    let piece = |s: &super::document::Setup| {
        let number = s.value.map_or(String::new(), |v| format!("={v}"));
        format!("{} {}{number} on {}", ["a", "b"][usize::from(s.owner & 1)], s.kind, String::from(s.at))
    };
    let list: Vec<String> = d.setup.iter().map(piece).collect();
    (!list.is_empty()).then(|| format!("At the beginning there are, by owner: {}.", list.join("; ")))
}

fn cells(d: &Document, name: &str) -> String {
    match (name, board::zone(name)) {
        ("all", _) => "any cell".into(),
        ("centre", _) => "c3".into(),
        ("edge", _) => "the edge of the board".into(),
        ("corner", _) => "a corner".into(),
        ("home0", _) => "row 1".into(),
        ("home1", _) => "row 5".into(),
        (_, Some(_)) if name.starts_with("row") => format!("row {}", &name[3..]),
        (_, Some(_)) => format!("column {}", &name[3..]),
        _ => board::names(zone(d, name).unwrap_or(ALL)),
    }
}

/// Describes the zones of both seats: once if they are the same, otherwise one per seat.
fn zones(d: &Document, by: &BySeat) -> String {
    let [a, b] = by.both().map(|name| cells(d, name));
    if a == b { a } else { format!("(seat a) {a}, (seat b) {b}") }
}

fn action(d: &Document, a: &ActionRule) -> String {
    match a {
        ActionRule::Place { kind, by, near } => {
            let near = match near {
                Near::Any => "",
                Near::Own4 => ", next to an own piece along a row or column",
                Near::Own8 => ", next to an own piece, also diagonally",
                Near::Opp4 => ", next to a piece of the opponent along a row or column",
                Near::Opp8 => ", next to a piece of the opponent, also diagonally",
                Near::Away4 => ", but not next to an own piece along a row or column",
            };
            format!("place {kind} on an empty cell: {}{near}.", zones(d, by))
        }
        ActionRule::Move { kind, steps, range, forward_only, onto } => {
            let steps = match steps {
                Steps::Named(StepsPreset::Orth) => "along a row or column".into(),
                Steps::Named(StepsPreset::Diag) => "along a diagonal".into(),
                Steps::Named(StepsPreset::King) => "in any of the eight directions".into(),
                Steps::Named(StepsPreset::Knight) => "as a knight in chess".into(),
                Steps::Leaps(list) => {
                    let leap = |[r, c]: &[super::document::Leap; 2]| format!("({:+}, {:+})", r.0, c.0);
                    let list: Vec<String> = list.iter().map(leap).collect();
                    format!("by a change of row number and column: {}", list.join(", "))
                }
            };
            let range =
                if *range == 1 { String::new() } else { format!(", up to {range} such steps over empty cells") };
            let forward = if *forward_only { ", only away from the own home row" } else { "" };
            let onto = match onto {
                Onto::Empty => "an empty cell",
                Onto::OppAny => "a piece of the opponent, which is captured",
                Onto::OppLower => "a piece of the opponent with a lower number, which is captured",
                Onto::OppLowerEq => "a piece of the opponent with a lower or equal number, which is captured",
                Onto::EmptyOrOppAny => "an empty cell or a piece of the opponent, which is captured",
                Onto::EmptyOrOppLower => {
                    "an empty cell or a piece of the opponent with a lower number, which is captured"
                }
                Onto::EmptyOrOppLowerEq => {
                    "an empty cell or a piece of the opponent with a lower or equal number, which is captured"
                }
            };
            format!("move an own {kind} {steps}{range}{forward}, to {onto}.")
        }
        ActionRule::Pass { when: When::Never } => "passing is not allowed.".into(),
        ActionRule::Pass { when: When::Stuck } => "pass, if there is no other action.".into(),
        ActionRule::Pass { when: When::Always } => "pass.".into(),
    }
}

fn effect(e: &Effect) -> String {
    let on = match e.on {
        On::Place => "placed",
        On::Move => "moved",
    };
    let whose = match e.who {
        Who::Opp => "of the opponent ",
        Who::Own => "of one's own ",
        Who::Both => "of both seats ",
    };
    let cells = match e.cells {
        Cells::Adj4 => "next to it along the row and the column",
        Cells::Adj8 => "on the eight cells around it",
        Cells::Sandwich8 => {
            "in an unbroken row of the opponent's pieces between it and another own piece, in any of the eight directions"
        }
        Cells::Sandwich4 => {
            "in an unbroken row of the opponent's pieces between it and another own piece, along its row or column"
        }
        Cells::LineRest => {
            "in the same unbroken row of three or more own pieces (along rows, columns and diagonals), without itself"
        }
    };
    let cond = match e.cond {
        None => "",
        Some(Cond::Lower) => ", whose number is lower than its own,",
        Some(Cond::Higher) => ", whose number is higher than its own,",
        Some(Cond::Equal) => ", whose number equals its own,",
        Some(Cond::Sum10) => ", whose number makes 10 with its own,",
    };
    let n = e.n.unwrap_or(0);
    let then = match e.then {
        Then::Flip => "change sides".into(),
        Then::Remove => "leave the board".into(),
        Then::Add | Then::Sub => {
            let change = if e.then == Then::Add { "added to" } else { "taken from" };
            format!("have {n} {change} their numbers, as far as their kind allows")
        }
    };
    format!("when a piece is {on}: the pieces {whose}{cells}{cond} {then}.")
}

fn hidden(h: &Hidden) -> Vec<String> {
    let mut out = Vec::new();
    if h.values {
        let contact = "When a piece moves onto one of the opponent's, both numbers are shown. If a comparison then fails, the piece stays where it was and the ply is used.";
        out.push("The numbers of the opponent's pieces are hidden until the end.".into());
        out.extend((h.reveal == Reveal::Contact).then(|| contact.into()));
    }
    if h.pieces {
        out.push(
            "The opponent's pieces are hidden until the end. Placing on one of them fails: the cell is then known as taken, the ply counts, and the same seat moves again."
                .into(),
        );
    }
    out
}

fn end(d: &Document, e: &End) -> String {
    match e {
        End::Line { len, exact, dirs, then } => {
            let dirs = match dirs {
                Dirs::Orth => "along a row or column",
                Dirs::Diag => "along a diagonal",
                Dirs::All => "along a row, column or diagonal",
            };
            let least = if *exact { "exactly" } else { "at least" };
            let then = if *then == WinLose::Win { "wins" } else { "loses" };
            format!("the seat that has {least} {len} own pieces in an unbroken line {dirs} {then}.")
        }
        End::Reach { zone, .. } => format!("a seat with a piece on {} wins.", zones(d, zone)),
        End::Eliminated { .. } => {
            "a seat wins when the opponent, after having had a piece, has none on the board and none to place.".into()
        }
        End::Stuck { then } => {
            let then = match then {
                StuckThen::Lose => "that seat loses",
                StuckThen::Score => "the board is scored",
                StuckThen::Draw => "the game is drawn",
            };
            format!("when a seat is to move and has no action but pass, {then}.")
        }
        End::PiecesGe { n, .. } => {
            format!("a seat with {} or more on the board wins.", count((*n).into(), "piece", "pieces"))
        }
        End::Full { .. } => "when no cell is empty, the board is scored.".into(),
        End::SupplyOut { .. } => "when both seats have placed all that they may, the board is scored.".into(),
    }
}

fn score(d: &Document) -> Vec<String> {
    if d.score.is_empty() {
        return vec!["There are no points: a board that is scored counts as equal.".into()];
    }
    let one = |s: &Score| {
        let (pts, what) = match s {
            Score::Piece(p) => (p.pts, "for each own piece on the board".into()),
            Score::Value(p) => (p.pts, "times the sum of the numbers of own pieces on the board".into()),
            Score::Territory4(p) => {
                (p.pts, "for each empty cell of a region that touches own pieces and none of the opponent".into())
            }
            Score::LargestGroup4(p) => {
                (p.pts, "for each piece of the largest group that is connected along rows and columns".into())
            }
            Score::Capture(p) => (p.pts, "for each piece of the opponent captured or taken off in own plies".into()),
            Score::Line(p) => {
                (p.pts, format!("for each stretch of {} own pieces in a straight line", p.len.unwrap_or(0)))
            }
            Score::RowCompare(c) => (c.pts, compare(d, "row", &c.cells)),
            Score::ColCompare(c) => (c.pts, compare(d, "column", &c.cells)),
        };
        format!("- {pts} {} {what}.", if pts == 1 { "point" } else { "points" })
    };
    let mut out = vec!["Scoring, for each seat; the higher sum wins:".into()];
    out.extend(d.score.iter().map(one));
    out
}

fn compare(d: &Document, line: &str, by: &BySeat) -> String {
    let [a, b] = by.both().map(|name| cells(d, name));
    format!(
        "for each {line} in which the numbers of own pieces add to more than the opponent's (seat a counts {a}, seat b counts {b})"
    )
}

fn tie(d: &Document) -> String {
    match d.tie {
        Tie::Draw => "If points are equal, the game is drawn.".into(),
        Tie::Second => "If points are equal, the seat that does not count as the first wins.".into(),
        Tie::First => "If points are equal, the seat that counts as the first wins.".into(),
        Tie::FewerPieces => "If points are equal, the seat with fewer pieces on the board wins; else a draw.".into(),
    }
}
