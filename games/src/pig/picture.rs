//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::button;
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::{Pig, View};
use crate::picture::dice::{SIDE, die};

const TRACK: i32 = 300;

pub(super) fn picture(game: &Pig, view: &View) -> Picture {
    let seats = view.scores.len().clamp(1, 10) as i32;
    let mut sketch = Sketch::new(440, 20 + 40 * seats + 122);
    let long = |points: u32| (TRACK * points.min(u32::from(game.goal)) as i32) / i32::from(game.goal.max(1));
    for (p, &score) in view.scores.iter().take(10).enumerate() {
        let y = 20 + 40 * p as i32;
        let running = view.winner.is_none() && usize::from(view.turn) == p;
        sketch.bold(
            if running { Paint::Accent } else { Paint::Ink },
            TextAnchor::Start,
            [18, y + 12],
            15,
            &format!("p{p}"),
        );
        sketch.rect(fill(Paint::Panel).edge(Paint::Edge, 1), [60, y, TRACK, 24], 6);
        let total = if running { u32::from(view.turn_total) } else { 0 };
        sketch.rect(fill(Paint::Yellow), [60, y, long(u32::from(score) + total), 24], 6);
        sketch.rect(fill(Paint::Green), [60, y, long(score.into()), 24], 6);
        sketch.bold(Paint::Ink, TextAnchor::Start, [70 + TRACK, y + 12], 15, &score.to_string());
    }
    let y = 28 + 40 * seats;
    button(&mut sketch, [60, y, 132, 60], "roll", "");
    die(&mut sketch, [72, y + 8], if view.rolling { "?" } else { "5" }, false);
    sketch.text(Paint::Ink, TextAnchor::Start, [84 + SIDE, y + 30], 15, "roll");
    button(&mut sketch, [208, y, 152, 60], "stop", &format!("stop: bank {}", view.turn_total));
    let status = match view.winner {
        Some(p) => format!("p{p} wins with {}", view.scores.get(usize::from(p)).copied().unwrap_or(0)),
        None if view.moves >= game.params.horizon => "a draw".to_owned(),
        None => format!("p{} to move, {} points in this turn; {} win", view.turn, view.turn_total, game.goal),
    };
    sketch.caption(y + 82, &status);
    let scores: Vec<String> = view.scores.iter().enumerate().map(|(p, s)| format!("p{p} has {s}")).collect();
    sketch.finish(&format!("{}: {status}", Pig::INFO.title), &scores.join(", "))
}
