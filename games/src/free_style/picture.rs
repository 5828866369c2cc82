//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::{panel, short, text_box, wrap};
use ludex_env::picture::{Board, Paint, Picture, Sketch, TextAnchor, fill, line};

use super::FreeStyle;
use super::board::{CELLS, SIDE, cell, name};
use super::ids::{Ply, ply};
use super::speech::MessageAct;
use super::view::{Phase, View};

pub(super) fn picture(view: &View, turned: bool) -> Picture {
    if matches!(view.phase, Phase::Negotiate | Phase::Draw) {
        return messages(view);
    }
    let grid = Board::new(SIDE, SIDE, turned);
    let mut sketch = grid.sketch();
    grid.plain(&mut sketch, Paint::Light, Paint::Dark);
    grid.names(&mut sketch, "abcde");
    let several = view.board.iter().flatten().any(|p| view.board.iter().flatten().any(|o| o.kind != p.kind));
    let mut held = [Vec::new(), Vec::new()];
    for (k, piece) in view.board.iter().take(CELLS).enumerate() {
        let Some(piece) = piece else { continue };
        let square = [k % SIDE, SIDE - 1 - k / SIDE];
        let seat = usize::from(piece.owner & 1);
        grid.disc(&mut sketch, square, fill([Paint::Blue, Paint::Red][seat]).edge(Paint::Ink, 1));
        let number = match (piece.value, piece.unknown) {
            (Some(v), _) => v.to_string(),
            (None, true) => "?".to_owned(),
            (None, false) => String::new(),
        };
        let label = if several { format!("{}{number}", short(&piece.kind, 4)) } else { number };
        let [x, y] = grid.middle(square);
        sketch.bold(Paint::Paper, TextAnchor::Middle, [x, y], if label.chars().count() > 2 { 12 } else { 16 }, &label);
        held[seat].push(format!("{} {label}", name(k)).trim_end().to_owned());
    }
    for k in view.bumped.iter().filter_map(|name| cell(name)) {
        let [x, y] = grid.middle([k % SIDE, SIDE - 1 - k / SIDE]);
        sketch.path(line(Paint::Red, 3), &format!("M{} {}l16 16m0-16l-16 16", x - 8, y - 8));
    }
    grid.cells(&mut sketch, |[column, row]| name((SIDE - 1 - row) * SIDE + column));
    match view.plies.last().and_then(|last| last.action).map(ply) {
        Some(Ply::Place { cell, .. }) => sketch.last(name(cell)),
        Some(Ply::Move { from, to }) => [from, to].map(name).into_iter().for_each(|cell| sketch.last(cell)),
        _ => {}
    }
    let seat = |p: u8| if p == 0 { "A (blue)" } else { "B (red)" };
    let status = match &view.result {
        Some(result) => result.winner.map_or("a draw".to_owned(), |p| format!("{} wins", seat(p))),
        None => {
            let seats: Vec<&str> = view.to_move.iter().map(|&p| seat(p)).collect();
            format!("{} to move, ply {}", seats.join(" and "), view.ply)
        }
    };
    let last =
        view.plies.last().map(|last| format!("; last: {} {}", if last.seat == 0 { "A" } else { "B" }, last.text));
    let status = short(&format!("{status}{}", last.unwrap_or_default()), 40);
    let words: String = view.summary.as_deref().map(|s| short(s, 3_000)).unwrap_or_default();
    let desc = format!("{}. Rules: {words}", ludex_env::picture::sides(["A", "B"], held));
    grid.finish(sketch, FreeStyle::INFO.title, &status, &desc)
}

const fn act(act: MessageAct) -> &'static str {
    match act {
        MessageAct::Propose => "propose",
        MessageAct::Counter => "counter",
        MessageAct::Accept => "accept",
        MessageAct::Reject => "reject",
    }
}

/// Draws the negotiation messages as text.
fn messages(view: &View) -> Picture {
    if view.messages.is_empty() {
        return text_box(
            FreeStyle::INFO.title,
            "No message yet: the seats agree on the rules of a game on five by five cells.",
        );
    }
    let shown = &view.messages[view.messages.len().saturating_sub(8)..];
    let mut sketch = Sketch::new(520, 30 + 84 * shown.len() as i32);
    let mut desc = Vec::new();
    for (k, message) in shown.iter().enumerate() {
        let x = if message.seat == 0 { 10 } else { 110 };
        let area = [x, 12 + 84 * k as i32, 400, 76];
        let title = format!("{}: {}", if message.seat == 0 { "A" } else { "B" }, act(message.act));
        panel(&mut sketch, area, &title);
        let text = match (&message.say, &message.hash) {
            (Some(say), _) => say.clone(),
            (None, Some(hash)) => format!("rules {hash}"),
            (None, None) => String::new(),
        };
        for (row, part) in wrap(&short(&text, 104), 52).iter().take(2).enumerate() {
            sketch.text(Paint::Ink, TextAnchor::Start, [x + 12, area[1] + 38 + 18 * row as i32], 13, part);
        }
        desc.push(short(&format!("{title} {text}"), 500));
    }
    let status = if view.phase == Phase::Draw { "chance decides" } else { "the seats agree on rules" };
    sketch.finish(&format!("{}: {status}", FreeStyle::INFO.title), &desc.join(". "))
}
