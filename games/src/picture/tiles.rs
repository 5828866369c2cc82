//! Drawing of Mahjong tiles.

use ludex_env::picture::{Paint, Sketch, TextAnchor, fill, line};

/// Width and height of a tile.
pub const SIZE: [i32; 2] = [34, 46];

/// Outline of a tile as SVG path data, starting 3 units to the right of the upper left corner.
const GROUND: &str = "h28l3 3v40l-3 3h-28l-3-3v-40z";

/// Face of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// Dots, 1 to 9.
    Dots(u8),
    /// Bamboo, 1 to 9.
    Bamboos(u8),
    /// Characters, 1 to 9.
    Characters(u8),
    /// Winds: east, south, west, north as 0 to 3.
    Wind(u8),
    /// Dragons: red, green, white as 0 to 2.
    Dragon(u8),
    /// Flowers and seasons, 0 to 7.
    Flower(u8),
}

/// Positions of 1 to 9 marks on a tile, in columns and rows of -1..=1.
const SPOTS: [&[[i32; 2]]; 9] = [
    &[[0, 0]],
    &[[0, -1], [0, 1]],
    &[[-1, -1], [0, 0], [1, 1]],
    &[[-1, -1], [1, -1], [-1, 1], [1, 1]],
    &[[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]],
    &[[-1, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
    &[[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [1, 1]],
    &[[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [0, 1], [1, 1]],
    &[[-1, -1], [0, -1], [1, -1], [-1, 0], [0, 0], [1, 0], [-1, 1], [0, 1], [1, 1]],
];

/// SVG path data of the winds, with coordinates in -18..18.
const WINDS: [&str; 4] = [
    "M-15-12H15M-10-6H10V6H-10zM-10 0H10M0-18V18M-2 7L-14 16M2 7L14 16",
    "M-14-13H14M0-18V-7M-13 17V-7H13V14L9 16M-6-3L-3 1M6-3L3 1M-8 3H8M-8 9H8M0 3V16",
    "M-15-14H15M-13-6H13V15H-13zM-5-14V-2C-5 3-8 5-12 6M5-14V4H12",
    "M-6-16V15M-15-5H-6M-16 12L-6 7M5-16V11C5 15 8 15 15 15V8M14-8L5-1",
];
const RED: &str = "M-13-8H13V6H-13zM0-18V18";
const GREEN: &str = "M-9-16L-12-6H15M0-17C-1 0-8 12-16 16M-4 0C2 9 8 14 15 16M-4 0H10C6 9-1 15-8 18M7-15L12-10";
const MYRIAD: &str = "M-15-12H15M-2-12C-2 4-8 12-15 16M-3-2H11C11 9 9 16 3 15";
const PETALS: &str = "M0-3C-6-10-5-16 0-17C5-16 6-10 0-3zM3 0C10-6 16-5 17 0C16 5 10 6 3 0zM0 3C6 10 5 16 0 17C-5 16-6 10 0 3zM-3 0C-10 6-16 5-17 0C-16-5-10-6-3 0z";

/// Draws a row of tiles, `step` units apart. The upper left corner of the first tile is at `[x, y]`.
///
/// The backgrounds form one SVG shape, because a mahjong table has up to 150 tiles.
pub fn row(sketch: &mut Sketch, [x, y]: [i32; 2], step: i32, tiles: &[Tile]) {
    if tiles.is_empty() {
        return;
    }
    let places = || (0..).map(|k: i32| x + step * k);
    let grounds: String = places().take(tiles.len()).map(|x| format!("M{} {y}{GROUND}", x + 3)).collect();
    sketch.path(fill(Paint::Face).edge(Paint::FaceEdge, 1), &grounds);
    for (x, &tile) in places().zip(tiles) {
        face(sketch, [x, y], tile);
    }
}

fn face(sketch: &mut Sketch, at: [i32; 2], tile: Tile) {
    let [x, y] = at;
    let middle = [x + SIZE[0] / 2, y + SIZE[1] / 2];
    match tile {
        Tile::Dots(1) => {
            sketch.circle(line(Paint::FaceGreen, 3), middle, 10);
            sketch.circle(fill(Paint::FaceRed), middle, 5);
        }
        Tile::Dots(n) => {
            for (k, paint) in [Paint::FaceBlue, Paint::FaceRed, Paint::FaceGreen].into_iter().enumerate() {
                let points: Vec<_> = spots(n).iter().skip(k).step_by(3).map(|spot| place(middle, *spot)).collect();
                match points[..] {
                    [] => {}
                    [point] => sketch.circle(fill(paint), point, 4),
                    _ => sketch.spots(paint, 4, &points),
                }
            }
        }
        Tile::Bamboos(n) => {
            let mut d = String::new();
            for [px, py] in spots(n).iter().map(|spot| place(middle, *spot)) {
                d += &format!("M{px} {}v11", py - 5);
            }
            sketch.path(line(Paint::FaceGreen, if n == 1 { 6 } else { 4 }), &d);
            if n % 2 == 1 {
                let [px, py] = place(middle, spots(n)[usize::from(n) / 2]);
                sketch.path(line(Paint::FaceRed, if n == 1 { 6 } else { 4 }), &format!("M{px} {}v11", py - 5));
            }
        }
        Tile::Characters(n) => {
            sketch.bold(Paint::FaceInk, TextAnchor::Middle, [middle[0], y + 13], 19, &n.to_string());
            sketch.moved([middle[0], y + 33], 60, |s| s.path(line(Paint::FaceRed, 4), MYRIAD));
        }
        Tile::Wind(k) => {
            sketch
                .moved([middle[0], middle[1] + 3], 80, |s| s.path(line(Paint::FaceInk, 3), WINDS[usize::from(k) % 4]));
            corner(sketch, at, ["E", "S", "W", "N"][usize::from(k) % 4], Paint::FaceInk);
        }
        Tile::Dragon(0) => sketch.moved(middle, 85, |s| s.path(line(Paint::FaceRed, 4), RED)),
        Tile::Dragon(1) => sketch.moved(middle, 85, |s| s.path(line(Paint::FaceGreen, 4), GREEN)),
        Tile::Dragon(_) => sketch.rect(line(Paint::FaceBlue, 3), [x + 7, y + 8, SIZE[0] - 14, SIZE[1] - 16], 2),
        Tile::Flower(k) => {
            let paint = if k < 4 { Paint::FaceRed } else { Paint::FaceBlue };
            sketch.moved([middle[0], middle[1] + 4], 75, |s| s.path(fill(paint), PETALS));
            corner(sketch, at, &(k % 4 + 1).to_string(), paint);
        }
    }
}

/// Draws a tile face down.
pub fn back(sketch: &mut Sketch, at: [i32; 2]) {
    let [x, y] = at;
    sketch.rect(fill(Paint::FaceGreen).edge(Paint::Face, 1), [x, y, SIZE[0], SIZE[1]], 4);
}

fn corner(sketch: &mut Sketch, [x, y]: [i32; 2], text: &str, paint: Paint) {
    sketch.bold(paint, TextAnchor::Start, [x + 3, y + 7], 10, text);
}

fn spots(n: u8) -> &'static [[i32; 2]] {
    SPOTS[usize::from(n.clamp(1, 9)) - 1]
}

fn place([x, y]: [i32; 2], [column, row]: [i32; 2]) -> [i32; 2] {
    [x + 10 * column, y + 14 * row]
}
