//! Pictures of a position: the plans that the viewer knows, and the rounds so far.

use ludex_env::picture::labels::{panel, seat_panel, short};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill, line};
use serde_json::Value;

use super::engine::PlanEngine;
use super::state::Phase;
use super::view::View;
use super::words::{phase_prompt, why};

const WIDE: i32 = 720;
const PIECE: [i32; 2] = [132, 64];
/// Maximum number of pieces drawn for each plan, and of rounds drawn.
const MOST: usize = 18;
const ROUNDS: usize = 10;
/// Rows and columns of the field that is drawn for pieces with a row `y`.
const FIELD: [i32; 2] = [5, 12];
const PAINTS: [Paint; 2] = [Paint::Red, Paint::Blue];

/// A plan that the viewer knows.
struct KnownPlan<'v> {
    document: Option<&'v Value>,
    cost: Option<u32>,
    /// True if the plan is under construction.
    draft: bool,
}

fn known_plan(view: &View, seat: usize) -> KnownPlan<'_> {
    let own = view.seat.map(usize::from) == Some(seat);
    let settled = view.side.as_ref().filter(|_| own).and_then(|side| view.strategy.get(side));
    let last = view.history.last();
    if let Some(draft) = view.draft.as_ref().filter(|_| own) {
        return KnownPlan { document: Some(&draft.strategy), cost: Some(draft.cost), draft: true };
    }
    match (settled, last) {
        (Some(settled), _) => KnownPlan { document: Some(&settled.strategy), cost: Some(settled.cost), draft: false },
        (None, Some(last)) => {
            KnownPlan { document: Some(&last.strategies[seat]), cost: Some(last.costs[seat]), draft: false }
        }
        (None, None) => KnownPlan { document: None, cost: None, draft: false },
    }
}

/// Returns the pieces of a strategy document: its first list of objects.
fn pieces(document: Option<&Value>) -> &[Value] {
    let lists =
        document.and_then(Value::as_object).into_iter().flat_map(|map| map.values()).filter_map(Value::as_array);
    lists.into_iter().find(|list| list.first().is_some_and(Value::is_object)).map_or(&[], Vec::as_slice)
}

/// Returns the name of a piece, and its other properties as texts.
fn name_and_properties(piece: &Value) -> (String, Vec<String>) {
    let mut name = String::new();
    let mut rest = Vec::new();
    for (key, value) in piece.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if name.is_empty() => name = text.clone(),
            Value::String(text) => rest.push(text.clone()),
            Value::Array(list) => {
                rest.extend(list.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)));
            }
            other => rest.push(format!("{} {other}", key.replace('_', " "))),
        }
    }
    (name, rest)
}

fn number(piece: &Value, key: &str) -> Option<i32> {
    piece.get(key).and_then(Value::as_i64).map(|n| n.clamp(-1, 1 << 20) as i32)
}

pub(super) fn picture<C: PlanEngine>(view: &View, budgets: [u32; 2]) -> Picture {
    let plans = [0, 1].map(|seat| known_plan(view, seat));
    let lists = [0, 1].map(|seat| pieces(plans[seat].document));
    let field = lists.iter().any(|list| list.iter().any(|piece| number(piece, "y").is_some()));
    let rows = lists.map(|list| list.len().min(MOST).div_ceil(5).max(1) as i32);
    let tall = rows.map(|rows| 38 + (PIECE[1] + 6) * rows);
    let ground = if field { 34 * FIELD[0] + 40 } else { 0 };
    let rounds = view.history.len().min(ROUNDS) as i32;
    let mut sketch = Sketch::new(WIDE, 10 + tall[0] + tall[1] + 16 + ground + 44 + 24 * rounds + 40);
    let mut y = 10;
    let mut desc = Vec::new();
    for (seat, plan) in plans.iter().enumerate() {
        let side = side_of::<C>(view, seat);
        let own = if view.seat.map(usize::from) == Some(seat) { " (you)" } else { "" };
        let budget = budgets[side];
        let cost = plan.cost.map(|cost| format!(": {cost} of {budget}")).unwrap_or_default();
        let state = match (plan.document.is_none_or(Value::is_null), plan.draft) {
            (true, _) => ", no plan known",
            (_, true) => ", being built",
            _ => "",
        };
        let waiting = view.waiting.iter().any(|&p| usize::from(p) == seat);
        let title = format!("{}{own}{cost}{state}", C::SIDES[side]);
        seat_panel(&mut sketch, [10, y, WIDE - 20, tall[seat]], &title, waiting);
        let mut words = Vec::new();
        for (k, piece) in lists[seat].iter().take(MOST).enumerate() {
            let at = [22 + (PIECE[0] + 4) * (k as i32 % 5), y + 30 + (PIECE[1] + 6) * (k as i32 / 5)];
            words.push(one(&mut sketch, at, piece, PAINTS[side]));
        }
        desc.push(short(&format!("{title}: {}", words.join("; ")), 2_000));
        y += tall[seat] + 8;
    }
    if field {
        lanes(&mut sketch, y, lists);
        y += ground;
    }
    panel(
        &mut sketch,
        [10, y, WIDE - 20, 36 + 24 * rounds],
        &format!("Rounds: {} of {}", view.history.len(), view.rounds),
    );
    for (k, (n, round)) in view.history.iter().enumerate().rev().take(ROUNDS).enumerate() {
        let at = [22, y + 40 + 24 * k as i32];
        let end = match round.winner {
            Some(p) => format!("{} won ({})", round.sides[usize::from(p & 1)], why(&round.reason)),
            None => format!("both lost ({})", why(&round.reason)),
        };
        let ink = round.winner.map_or(Paint::Faint, |p| PAINTS[side_named::<C>(&round.sides[usize::from(p & 1)])]);
        sketch.circle(fill(ink), [at[0] + 6, at[1]], 6);
        let text = short(&format!("{}: {end}; costs {} and {}", n + 1, round.costs[0], round.costs[1]), 90);
        sketch.text(Paint::Ink, TextAnchor::Start, [at[0] + 20, at[1]], 14, &text);
        desc.push(text);
    }
    let status = match view.phase {
        Phase::Over => "over".to_owned(),
        phase => format!("round {} of {}: {}", view.round, view.rounds, phase_prompt(phase)),
    };
    let [_, height] = sketch.size();
    sketch.caption(height - 20, &status);
    sketch.finish(&format!("{}: {status}", C::INFO.title), &desc.join(". "))
}

/// Returns the side of a seat: the current side if the observer has one, otherwise the side in the last round. Before
/// the first round, the side has the same number as the seat.
fn side_of<C: PlanEngine>(view: &View, seat: usize) -> usize {
    let own = view.side.as_ref().filter(|_| view.seat.is_some()).map(|side| side_named::<C>(side));
    let last = view.history.last().map(|round| side_named::<C>(&round.sides[seat]));
    match (own, view.seat.map(usize::from) == Some(seat)) {
        (Some(side), true) => side,
        (Some(side), false) => 1 - side,
        (None, _) => last.unwrap_or(seat),
    }
}

fn side_named<C: PlanEngine>(name: &str) -> usize {
    usize::from(C::SIDES[1] == name)
}

fn one(sketch: &mut Sketch, [x, y]: [i32; 2], piece: &Value, ink: Paint) -> String {
    let (name, rest) = name_and_properties(piece);
    sketch.rect(fill(Paint::Face).edge(ink, 2), [x, y, PIECE[0] - 2, PIECE[1]], 6);
    sketch.bold(Paint::FaceInk, TextAnchor::Start, [x + 6, y + 12], 11, &short(&name, 18));
    let lines: Vec<String> =
        if rest.len() > 3 { rest.chunks(2).map(|two| two.join(", ")).collect() } else { rest.clone() };
    for (k, text) in lines.iter().take(3).enumerate() {
        sketch.text(Paint::FaceInk, TextAnchor::Start, [x + 6, y + 28 + 14 * k as i32], 11, &short(text, 21));
    }
    if rest.is_empty() { name } else { format!("{name} ({})", rest.join(", ")) }
}

/// Draws the pieces of both sides in the rows of a field, with the first side on the left.
fn lanes(sketch: &mut Sketch, top: i32, lists: [&[Value]; 2]) {
    let [rows, columns] = FIELD;
    let cell = [50, 34];
    let left = (WIDE - cell[0] * (columns + 1)) / 2;
    sketch.rect(fill(Paint::Felt), [left, top, cell[0] * (columns + 1), cell[1] * rows], 6);
    let mut d = String::new();
    (1..rows).for_each(|r| d += &format!("M{left} {}h{}", top + r * cell[1], cell[0] * (columns + 1)));
    (1..=columns).for_each(|c| d += &format!("M{} {top}v{}", left + c * cell[0], cell[1] * rows));
    sketch.path(line(Paint::FeltLine, 1), &d);
    for r in 0..rows {
        sketch.text(Paint::Faint, TextAnchor::End, [left - 8, top + r * cell[1] + cell[1] / 2], 12, &format!("y {r}"));
    }
    let mut queued = [0; FIELD[0] as usize];
    for (side, list) in lists.iter().enumerate() {
        for piece in list.iter().take(MOST) {
            let Some(y) = number(piece, "y").filter(|y| (0..rows).contains(y)) else { continue };
            let queue = &mut queued[y as usize];
            // The pieces of a side without columns enter from the right, one after another.
            let x = match number(piece, "x") {
                Some(x) => left + x.clamp(0, columns) * cell[0] + cell[0] / 2,
                None => {
                    *queue += 1;
                    left + columns * cell[0] + cell[0] / 2 - 14 * (*queue - 1)
                }
            };
            let at = [x, top + y * cell[1] + cell[1] / 2];
            sketch.circle(fill(PAINTS[side]).edge(Paint::Paper, 2), at, 12);
            let name = name_and_properties(piece).0;
            let letters: String = name.chars().filter(|c| c.is_ascii_uppercase()).take(2).collect();
            sketch.bold(Paint::Paper, TextAnchor::Middle, at, 11, &letters);
        }
    }
}
