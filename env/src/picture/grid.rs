//! Boards of named squares or points.

use super::Picture;
use super::paint::{Look, Paint, fill, line};
use super::sketch::Sketch;
use crate::svg::TextAnchor;

/// Side of a square, in picture units.
const CELL: i32 = 40;
const LEFT: i32 = 30;
const TOP: i32 = 14;
const UNDER: i32 = 66;

/// A board of squares in columns and rows. Row 0 is at the top and column 0 on the left. On a rotated board, row 0 is
/// at the bottom and column 0 on the right.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    columns: usize,
    rows: usize,
    turned: bool,
    /// True if row names count from the top.
    down: bool,
}

impl Board {
    /// Creates a board of at most 64 columns and 64 rows, rotated by 180 degrees if `turned`.
    pub fn new(columns: usize, rows: usize, turned: bool) -> Board {
        Board { columns: columns.clamp(1, 64), rows: rows.clamp(1, 64), turned, down: false }
    }

    /// Returns the board with rows numbered from the top.
    pub fn numbered_down(self) -> Board {
        Board { down: true, ..self }
    }

    /// Creates an empty picture with space for the board, its row and column names, and one line of text.
    pub fn sketch(&self) -> Sketch {
        let width = 2 * LEFT + self.columns as i32 * CELL;
        Sketch::new(width.max(260), TOP + self.rows as i32 * CELL + UNDER)
    }

    fn left_edge(&self) -> i32 {
        (260 - self.columns as i32 * CELL).max(2 * LEFT) / 2
    }

    /// Iterates over the squares in reading order.
    pub fn squares(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let (columns, rows) = (self.columns, self.rows);
        (0..rows).flat_map(move |row| (0..columns).map(move |column| [column, row]))
    }

    /// Returns the font size of row and column names.
    fn small(&self) -> i32 {
        if self.columns.max(self.rows) > 12 { 18 } else { 14 }
    }

    /// Returns the upper left corner of a square.
    pub fn corner(&self, [column, row]: [usize; 2]) -> [i32; 2] {
        let turn = |k: usize, n: usize| if self.turned { (n as i32 - 1 - k as i32).max(0) } else { k as i32 };
        [self.left_edge() + turn(column, self.columns) * CELL, TOP + turn(row, self.rows) * CELL]
    }

    /// Returns the center of a square.
    pub fn middle(&self, square: [usize; 2]) -> [i32; 2] {
        self.corner(square).map(|k| k + CELL / 2)
    }

    /// Returns the area of the board: `[x, y, width, height]`.
    pub fn area(&self) -> [i32; 4] {
        [self.left_edge(), TOP, self.columns as i32 * CELL, self.rows as i32 * CELL]
    }

    /// Draws a surface in one color, with lines between the squares.
    pub fn plain(&self, sketch: &mut Sketch, ground: Paint, lines: Paint) {
        sketch.rect(fill(ground).edge(lines, 2), self.area(), 3);
        let [x, y, width, height] = self.area();
        let mut d = String::new();
        (1..self.columns as i32).for_each(|k| d += &format!("M{} {y}v{height}", x + k * CELL));
        (1..self.rows as i32).for_each(|k| d += &format!("M{x} {}h{width}", y + k * CELL));
        sketch.path(line(lines, 1), &d);
    }

    /// Draws light and dark squares. The lower left square is dark.
    pub fn checkered(&self, sketch: &mut Sketch) {
        sketch.rect(fill(Paint::Light).edge(Paint::Dark, 2), self.area(), 0);
        for square in self.squares().filter(|[column, row]| (column + self.rows - 1 - row).is_multiple_of(2)) {
            let [x, y] = self.corner(square);
            sketch.rect(fill(Paint::Dark), [x, y, CELL, CELL], 0);
        }
    }

    /// Draws a wooden board with lines through the centers of the squares, for stones on points.
    pub fn points(&self, sketch: &mut Sketch, stars: &[[usize; 2]]) {
        let [x, y, width, height] = self.area();
        sketch.rect(fill(Paint::Wood), [x - 4, y - 4, width + 8, height + 8], 4);
        let half = CELL / 2;
        let mut d = String::new();
        for k in 0..self.columns as i32 {
            d += &format!("M{} {}v{}", x + half + k * CELL, y + half, height - CELL);
        }
        for k in 0..self.rows as i32 {
            d += &format!("M{} {}h{}", x + half, y + half + k * CELL, width - CELL);
        }
        sketch.path(line(Paint::WoodLine, 1), &d);
        for star in stars {
            sketch.circle(fill(Paint::WoodLine), self.middle(*star), 4);
        }
    }

    /// Draws letters under the columns and numbers next to the rows, counted from the bottom.
    pub fn names(&self, sketch: &mut Sketch, letters: &str) {
        let [x, y, _, height] = self.area();
        let mut one = [0; 4];
        for (column, letter) in letters.chars().take(self.columns).enumerate() {
            let [middle, _] = self.middle([column, 0]);
            sketch.text(
                Paint::Faint,
                TextAnchor::Middle,
                [middle, y + height + 18],
                self.small(),
                letter.encode_utf8(&mut one),
            );
        }
        for row in 0..self.rows {
            let [_, middle] = self.middle([0, row]);
            sketch.text(
                Paint::Faint,
                TextAnchor::End,
                [x - 8, middle],
                self.small(),
                &(if self.down { row + 1 } else { self.rows - row }).to_string(),
            );
        }
    }

    /// Draws round stones of the first (dark) and the second (light) player.
    pub fn stones(&self, sketch: &mut Sketch, stones: &[([usize; 2], usize)]) {
        let looks = [(Paint::Black, Paint::BlackEdge), (Paint::White, Paint::WhiteEdge)];
        for (seat, (inside, rim)) in looks.into_iter().enumerate() {
            let own = stones.iter().filter(|stone| stone.1 & 1 == seat);
            let middles: Vec<[i32; 2]> = own.map(|stone| self.middle(stone.0)).collect();
            if !middles.is_empty() {
                sketch.spots(rim, CELL / 2 - 2, &middles);
                sketch.spots(inside, CELL / 2 - 3, &middles);
            }
        }
    }

    /// Draws a round stone in the style `look`.
    pub fn disc(&self, sketch: &mut Sketch, square: [usize; 2], look: Look) {
        sketch.circle(look, self.middle(square), CELL / 2 - 4);
    }

    /// Adds a clickable cell for every square.
    pub fn cells(&self, sketch: &mut Sketch, name: impl Fn([usize; 2]) -> String) {
        for square in self.squares() {
            let [x, y] = self.corner(square);
            sketch.cell(&name(square), [x, y, CELL, CELL]);
        }
    }

    /// Writes `status` under the board and completes the picture. `desc` describes the position in text.
    pub fn finish(&self, mut sketch: Sketch, title: &str, status: &str, desc: &str) -> Picture {
        let [_, height] = sketch.size();
        sketch.caption(height - 20, status);
        sketch.finish(&format!("{title}: {status}"), desc)
    }
}

/// Returns the name of a square: the letter of its column and the number of its row from the bottom, such as `e2`.
pub fn square_name(letters: &str, rows: usize, [column, row]: [usize; 2]) -> String {
    let letter = letters.as_bytes().get(column).map_or('?', |&b| char::from(b));
    format!("{letter}{}", rows.saturating_sub(row))
}

/// Describes the stones of both sides: "black on a1, b2; white on c3". A side without stones "has nothing on the
/// board".
pub fn sides(names: [&str; 2], squares: [Vec<String>; 2]) -> String {
    let one = |(name, squares): (&str, Vec<String>)| match squares.is_empty() {
        true => format!("{name} has nothing on the board"),
        false => format!("{name} on {}", squares.join(", ")),
    };
    names.into_iter().zip(squares).map(one).collect::<Vec<_>>().join("; ")
}
