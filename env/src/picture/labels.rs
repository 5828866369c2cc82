//! Text in pictures: panels, lines of text, and positions shown as text only.

use super::Picture;
use super::paint::{Paint, fill};
use super::sketch::Sketch;
use crate::svg::TextAnchor;

/// Maximum number of text lines drawn.
const MOST_LINES: usize = 120;
const WIDE: usize = 76;

/// Draws a panel `[x, y, width, height]` with a heading. The content starts 30 units below the top.
pub fn panel(sketch: &mut Sketch, area: [i32; 4], heading: &str) {
    let [x, y, ..] = area;
    sketch.rect(fill(Paint::Panel), area, 8);
    sketch.bold(Paint::Faint, TextAnchor::Start, [x + 12, y + 16], 13, heading);
}

/// Draws the panel of a seat, highlighted if the seat is to act.
pub fn seat_panel(sketch: &mut Sketch, area: [i32; 4], name: &str, acts: bool) {
    let [x, y, width, _] = area;
    let look = fill(Paint::Panel);
    sketch.rect(if acts { look.edge(Paint::Accent, 2) } else { look }, area, 8);
    let paint = if acts { Paint::Accent } else { Paint::Faint };
    sketch.bold(paint, TextAnchor::Start, [x + 12, y + 16], 13, &short(name, (width / 8) as usize));
}

/// Draws a small rounded label with `text`, centered at `[x, y]`.
pub fn tag(sketch: &mut Sketch, [x, y]: [i32; 2], ground: Paint, ink: Paint, text: &str) {
    let width = 14 + 8 * text.chars().count() as i32;
    sketch.rect(fill(ground), [x - width / 2, y - 11, width, 22], 11);
    sketch.bold(ink, TextAnchor::Middle, [x, y], 13, text);
}

/// Draws a button with a text and a clickable cell named `cell`.
pub fn button(sketch: &mut Sketch, area: [i32; 4], cell: &str, text: &str) {
    let [x, y, width, height] = area;
    sketch.rect(fill(Paint::Panel).edge(Paint::Edge, 1), area, 6);
    sketch.text(Paint::Ink, TextAnchor::Middle, [x + width / 2, y + height / 2], 14, text);
    sketch.cell(cell, area);
}

/// Draws lines of text that start at `x`. The first line is vertically centered at `y`, and each line is `step` units
/// below the previous line.
pub fn lines<S: AsRef<str>>(sketch: &mut Sketch, [x, y]: [i32; 2], size: i32, step: i32, lines: &[S]) {
    for (k, text) in lines.iter().enumerate() {
        sketch.text(Paint::Ink, TextAnchor::Start, [x, y + k as i32 * step], size, text.as_ref());
    }
}

/// Returns `text`, truncated to `most` characters. A truncated text ends with `...`, which the limit includes.
pub fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(3)).chain("...".chars()).collect(),
    }
}

/// Splits `text` into lines of at most `most` characters, at spaces if possible.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(8);
    let mut out = Vec::new();
    for paragraph in text.lines() {
        let mut row = String::new();
        let mut long = 0;
        for word in paragraph.split_inclusive(' ') {
            let mut letters: Vec<char> = word.chars().collect();
            if long > 0 && long + word.trim_end().chars().count() > most {
                out.push(std::mem::take(&mut row));
                long = 0;
            }
            while letters.len() > most {
                let rest = letters.split_off(most);
                out.push(letters.into_iter().collect());
                letters = rest;
            }
            long += letters.len();
            row.extend(letters);
        }
        out.push(row);
    }
    out
}

/// Draws a position as text in a box, for games that do not draw a picture. Truncates the text after 120 lines.
pub fn text_box(title: &str, text: &str) -> Picture {
    let mut rows = wrap(if text.trim().is_empty() { "(nothing)" } else { text }, WIDE);
    if rows.len() > MOST_LINES {
        rows.truncate(MOST_LINES);
        rows.push("...".to_owned());
    }
    let widest = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0).clamp(20, WIDE) as i32;
    let mut sketch = Sketch::new(40 + 9 * widest, 60 + 20 * rows.len() as i32);
    let [width, height] = sketch.size();
    panel(&mut sketch, [8, 8, width - 16, height - 16], title);
    for (k, row) in rows.iter().enumerate() {
        sketch.mono(Paint::Ink, [20, 50 + 20 * k as i32], 14, row);
    }
    sketch.finish(title, &rows.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
        assert_eq!(wrap("aaaaaaaaaaaa b", 8), ["aaaaaaaa", "aaaa b"]);
        assert_eq!(wrap("a\n\nb", 8), ["a", "", "b"]);
        assert_eq!(short("abcdef", 5), "ab...");
        assert_eq!(short("abcde", 5), "abcde");
    }

    #[test]
    fn text_box_limits_size_of_long_text() {
        let picture = text_box("t", &"word & <more> ".repeat(20_000));
        assert!(picture.svg.len() < super::super::MOST_BYTES, "{}", picture.svg.len());
    }
}
