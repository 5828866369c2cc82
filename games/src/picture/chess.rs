//! Chess pieces, drawn in squares of 100 by 100.

use ludex_env::picture::{Paint, Sketch, fill, line};

const BASE: &str = "M24 79H76Q79 79 79 82V89H21V82Q21 79 24 79z";

/// Returns the outline and the inner lines of a piece as SVG path data.
fn paths(piece: char) -> Option<[&'static str; 2]> {
    Some(match piece.to_ascii_lowercase() {
        'p' => [
            "M50 22A13 13 0 0 1 58 45Q64 46 64 51H57Q59 68 68 79H32Q41 68 43 51H36Q36 46 42 45A13 13 0 0 1 50 22z",
            "M43 51H57",
        ],
        'r' => ["M26 18H37V26H45V18H55V26H63V18H74V36L66 43V68L72 79H28L34 68V43L26 36z", "M34 43H66M34 68H66"],
        'n' => [
            "M31 79C30 62 46 57 48 45C42 51 35 51 31 58C28 63 21 63 19 57C18 52 24 44 28 36C31 30 36 28 37 23L36 13L46 20C66 19 77 37 76 58C76 67 74 73 74 79z",
            "M37 33H41M25 54L27 52M55 26C65 32 69 44 68 60",
        ],
        'b' => [
            "M50 10A6 6 0 0 1 54 21C66 31 72 42 67 53C65 58 61 60 59 62Q61 72 68 79H32Q39 72 41 62C39 60 35 58 33 53C28 42 34 31 46 21A6 6 0 0 1 50 10z",
            "M41 62H59M50 33V49M43 41H57",
        ],
        'q' => [
            "M19 25A5 5 0 0 1 23 33L35 49L34 27A5 5 0 1 1 40 25L50 47L60 25A5 5 0 1 1 66 27L65 49L77 33A5 5 0 1 1 83 31L71 66L74 79H26L29 66L17 33A5 5 0 0 1 19 25z",
            "M29 66H71",
        ],
        'k' => [
            "M46 8H54V15H61V22H54V31Q57 34 58 37C66 29 82 34 81 47C80 56 73 62 70 68L73 79H27L30 68C27 62 20 56 19 47C18 34 34 29 42 37Q43 34 46 31V22H39V15H46z",
            "M30 68H70M50 66C50 52 47 44 42 37M50 66C50 52 53 44 58 37",
        ],
        _ => return None,
    })
}

/// Draws the piece of a FEN letter (uppercase for White) in a square of 40 with its upper left corner at `at`. Ignores
/// letters that name no piece.
pub fn piece(sketch: &mut Sketch, at: [i32; 2], letter: char) {
    let Some([outline, inside]) = paths(letter) else { return };
    let (body, detail) = match letter.is_ascii_uppercase() {
        true => (fill(Paint::White).edge(Paint::WhiteEdge, 4), line(Paint::WhiteEdge, 3)),
        false => (fill(Paint::Black).edge(Paint::BlackEdge, 4), line(Paint::White, 2)),
    };
    sketch.moved(at, 40, |s| {
        s.path(body, &[outline, BASE].concat());
        s.path(detail, inside);
    });
}

/// Returns the name of the piece of a FEN letter.
pub fn word(letter: char) -> &'static str {
    match letter.to_ascii_lowercase() {
        'p' => "pawn",
        'r' => "rook",
        'n' => "knight",
        'b' => "bishop",
        'q' => "queen",
        'k' => "king",
        _ => "piece",
    }
}
