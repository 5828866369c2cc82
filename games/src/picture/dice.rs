//! Drawing of dice.

use ludex_env::picture::{Paint, Sketch, TextAnchor, fill};

/// Side of a die, in picture units.
pub const SIDE: i32 = 44;

/// Draws a die with its upper left corner at `at`. Faces above six and letters are drawn as text.
pub fn die(sketch: &mut Sketch, at: [i32; 2], face: &str, wild: bool) {
    let [x, y] = at;
    let edge = if wild { Paint::FaceRed } else { Paint::FaceEdge };
    sketch.rect(fill(Paint::Face).edge(edge, 2), [x, y, SIDE, SIDE], 9);
    let pip = if wild { Paint::FaceRed } else { Paint::FaceInk };
    let spots: &[[i32; 2]] = match face {
        "1" => &[[0, 0]],
        "2" => &[[-1, -1], [1, 1]],
        "3" => &[[-1, -1], [0, 0], [1, 1]],
        "4" => &[[-1, -1], [1, -1], [-1, 1], [1, 1]],
        "5" => &[[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]],
        "6" => &[[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
        _ => {
            sketch.bold(pip, TextAnchor::Middle, [x + SIDE / 2, y + SIDE / 2], 22, face);
            return;
        }
    };
    for [dx, dy] in spots {
        sketch.circle(fill(pip), [x + SIDE / 2 + 12 * dx, y + SIDE / 2 + 12 * dy], 4);
    }
}

/// Draws a die hidden under a cup.
pub fn hidden(sketch: &mut Sketch, at: [i32; 2]) {
    let [x, y] = at;
    sketch.rect(fill(Paint::Back).edge(Paint::FaceEdge, 2), [x, y, SIDE, SIDE], 9);
    sketch.bold(Paint::BackLine, TextAnchor::Middle, [x + SIDE / 2, y + SIDE / 2], 24, "?");
}
