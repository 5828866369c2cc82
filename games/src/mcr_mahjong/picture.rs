//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::seat_panel;
use ludex_env::picture::{Paint, Picture, Sketch, fill, line};

use super::McrMahjong;
use super::hand::MeldKind;
use super::tiles::{family, name, names, rank};
use super::view::{Kind, MeldView, View};
use crate::picture::tiles::{SIZE, Tile, back, row};

const WIDE: i32 = 760;
const SEAT: i32 = 150;
/// Scale of visible hands, in percent; large enough to tap tiles on a phone.
const SEEN: i32 = 135;
const WINDS: [&str; 4] = ["east", "south", "west", "north"];

fn face(kind: Kind) -> Tile {
    let k = rank(kind.0) as u8;
    match family(kind.0) {
        0 => Tile::Characters(k + 1),
        1 => Tile::Dots(k + 1),
        2 => Tile::Bamboos(k + 1),
        3 => Tile::Wind(k),
        4 => Tile::Dragon(k),
        _ => Tile::Flower(k),
    }
}

fn faces(kinds: &[Kind]) -> Vec<Tile> {
    kinds.iter().copied().map(face).collect()
}

fn words(kinds: &[Kind]) -> String {
    names(kinds.iter().map(|kind| kind.0))
}

fn meld_word(meld: &MeldView) -> String {
    if meld.tiles.is_empty() { "a concealed kong".to_owned() } else { words(&meld.tiles) }
}

pub(super) fn picture(view: &View) -> Picture {
    let mut sketch = Sketch::new(WIDE, 10 + 4 * SEAT + 46);
    let over = view.to_move.is_empty() && view.dealt.is_none();
    let last = view.results.last().filter(|_| over);
    let mut desc = String::new();
    for p in 0..4 {
        let area = [10, 10 + SEAT * p as i32, WIDE - 20, SEAT - 8];
        let me = view.seat.map(usize::from) == Some(p);
        let you = if me { " (you)" } else { "" };
        let title = format!("p{p}{you}, score {}", view.scores[p]);
        seat_panel(&mut sketch, area, &title, view.to_move.iter().any(|&m| usize::from(m) == p));
        let winner = last.filter(|r| r.winner.map(usize::from) == Some(p));
        let hand = winner.map_or(&view.hand, |r| &r.hand);
        let melds = winner.map_or(&view.melds[p], |r| &r.melds);
        let known = me || winner.is_some();
        let at = [area[0] + 12, area[1] + 30];
        if known {
            let hand = &hand[..hand.len().min(14)];
            sketch.moved(at, SEEN, |s| {
                row(s, [0, 0], SIZE[0], &faces(hand));
                s.moved([SIZE[0] * hand.len() as i32 + 8, 0], 70, |s| laid(s, melds));
            });
            if me && winner.is_none() {
                own(&mut sketch, view, at);
            }
        } else {
            let held = i32::from(view.held[p].min(14));
            (0..held).for_each(|k| back(&mut sketch, [at[0] + 18 * k, at[1]]));
            sketch.moved([at[0] + 18 * held + 26, at[1]], 90, |s| laid(s, melds));
        }
        rest(&mut sketch, view, p, area);
        if desc.len() < 4_000 {
            let held = if known { words(hand) } else { format!("{} hidden tiles", view.held[p]) };
            let melds: Vec<String> = melds.iter().take(4).map(meld_word).collect();
            desc += &format!("p{p} holds {held}; melds: {}; flowers: {}. ", melds.join(", "), words(&view.flowers[p]));
        }
    }
    let hand = format!("hand {} of {}", u32::from(view.hand_number) + 1, view.hands);
    let wind = view.prevalent.map(|w| format!(", {} round", WINDS[usize::from(w) % 4])).unwrap_or_default();
    let left: u32 = view.wall.iter().map(|&n| u32::from(n)).sum();
    let status = match (&view.offer, view.to_move.first(), last.and_then(|r| r.winner)) {
        (Some(offer), ..) => format!("p{} offers {}", offer.seat, name(offer.tile.0)),
        (None, Some(p), _) => format!("p{p} to move"),
        (None, None, Some(p)) => format!("p{p} wins the last hand"),
        (None, None, None) if over => "over".to_owned(),
        (None, None, None) => "tiles are dealt".to_owned(),
    };
    let status = format!("{status}; {hand}{wind}; {left} tiles in the wall");
    sketch.caption(10 + 4 * SEAT + 18, &status);
    let discards: Vec<String> =
        view.discards.iter().rev().take(8).rev().map(|d| format!("p{} {}", d.seat, name(d.tile.0))).collect();
    desc += &format!("Last discards: {}.", discards.join(", "));
    sketch.finish(&format!("{}: {status}", McrMahjong::INFO.title), &desc)
}

/// Draws the observer's tiles as click targets; the drawn tile is underlined.
fn own(sketch: &mut Sketch, view: &View, [x, y]: [i32; 2]) {
    let scaled = |length: i32| length * SEEN / 100;
    let left = |k: usize| x + scaled(SIZE[0] * k as i32);
    for (k, kind) in view.hand.iter().take(14).enumerate() {
        sketch.cell(&name(kind.0), [left(k), y, scaled(SIZE[0]), scaled(SIZE[1])]);
    }
    if let Some(k) = view.drawn.and_then(|drawn| view.hand.iter().rposition(|&kind| kind == drawn)) {
        sketch.rect(fill(Paint::Accent), [left(k.min(13)) + 5, y + scaled(SIZE[1]), scaled(SIZE[0]) - 10, 4], 2);
    }
}

fn laid(sketch: &mut Sketch, melds: &[MeldView]) {
    let mut x = 0;
    for meld in melds.iter().take(4) {
        if meld.kind == MeldKind::Angang {
            (0..4).for_each(|k| back(sketch, [x + SIZE[0] * k, 0]));
            if let Some(&kind) = meld.tiles.first() {
                row(sketch, [x + SIZE[0], 0], SIZE[0], &[face(kind); 2]);
            }
            x += 4 * SIZE[0] + 10;
        } else {
            let tiles = &meld.tiles[..meld.tiles.len().min(4)];
            row(sketch, [x, 0], SIZE[0], &faces(tiles));
            x += tiles.len() as i32 * SIZE[0] + 10;
        }
    }
}

/// Draws the discards and flowers of a seat.
fn rest(sketch: &mut Sketch, view: &View, p: usize, [x, y, width, _]: [i32; 4]) {
    let newest = view.discards.last().map(|d| d.number);
    let own = view.discards.iter().filter(|d| usize::from(d.seat) == p);
    let own: Vec<_> = own.collect();
    // Draws only the newest discards if not all fit.
    let own = &own[own.len().saturating_sub(22)..];
    sketch.moved([x + 12, y + 96], 75, |s| {
        row(s, [0, 0], 36, &own.iter().map(|discard| face(discard.tile)).collect::<Vec<_>>());
        for (k, discard) in own.iter().enumerate() {
            let x = 36 * k as i32;
            if discard.claimed_by.is_some() {
                s.path(line(Paint::Faint, 3), &format!("M{} 42l26-38", x + 4));
            }
            if Some(discard.number) == newest {
                s.rect(line(Paint::Accent, 4), [x, 0, SIZE[0], SIZE[1]], 4);
            }
        }
    });
    let flowers = &view.flowers[p][..view.flowers[p].len().min(8)];
    let left = x + width - 12 - 21 * flowers.len() as i32;
    sketch.moved([left, y + 2], 60, |s| row(s, [0, 0], 35, &faces(flowers)));
}
