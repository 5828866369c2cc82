//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::button;
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

use super::{IteratedPrisonersDilemma, Phase, View};

const WIDE: i32 = 560;
/// Maximum number of rounds drawn; older rounds are omitted.
const MOST: usize = 20;

pub(super) fn picture(view: &View) -> Picture {
    let mut sketch = Sketch::new(WIDE, 220);
    let rounds = view.moves[0].chars().count();
    let first = rounds.saturating_sub(MOST);
    for (p, moves) in view.moves.iter().enumerate() {
        let y = 46 + 40 * p as i32;
        let me = if view.seat.map(usize::from) == Some(p) { " (you)" } else { "" };
        sketch.bold(Paint::Ink, TextAnchor::Start, [16, y], 14, &format!("p{p}{me}"));
        for (k, c) in moves.chars().skip(first).take(MOST).enumerate() {
            let at = [112 + 20 * k as i32, y];
            sketch.circle(fill(if c == 'C' { Paint::Green } else { Paint::Red }), at, 9);
            let letter = if c == 'C' { "C" } else { "D" };
            sketch.bold(Paint::Paper, TextAnchor::Middle, at, 11, letter);
        }
        sketch.bold(Paint::Ink, TextAnchor::End, [WIDE - 14, y], 15, &view.score[p].to_string());
    }
    for (k, _) in (first..rounds.min(first + MOST)).enumerate().filter(|(k, _)| (first + k) % 5 == 4) {
        let at = [112 + 20 * k as i32, 18];
        sketch.text(Paint::Faint, TextAnchor::Middle, at, 11, &(first + k + 1).to_string());
    }
    button(&mut sketch, [96, 120, 150, 44], "cooperate", "cooperate (C)");
    button(&mut sketch, [262, 120, 150, 44], "defect", "defect (D)");
    let status = match view.phase {
        Phase::Move => format!("round {}", rounds + 1),
        Phase::Chance => format!("round {rounds} is played; chance decides whether it was the last"),
        Phase::Over => format!("over after round {rounds}"),
    };
    sketch.caption(192, &status);
    let lane = |p: usize| format!("p{p}: {} ({} in all)", tail(&view.moves[p]), view.score[p]);
    sketch.finish(&format!("{}: {status}", IteratedPrisonersDilemma::INFO.title), &format!("{}. {}.", lane(0), lane(1)))
}

/// Returns the most recent [`MOST`] moves.
fn tail(moves: &str) -> String {
    let n = moves.chars().count();
    moves.chars().skip(n.saturating_sub(200)).collect()
}
