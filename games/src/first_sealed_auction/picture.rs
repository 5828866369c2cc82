//! Pictures of a position.

use ludex_env::game::Game as _;
use ludex_env::picture::labels::seat_panel;
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill, line};

use super::{FirstSealedAuction, View};

const WIDE: i32 = 440;
const SEAT: i32 = 92;

pub(super) fn picture(game: &FirstSealedAuction, view: &View) -> Picture {
    let money = |coins: u16| game.money(coins.into());
    let mut sketch = Sketch::new(WIDE, 10 + SEAT * game.n as i32 + 44);
    let mut desc = Vec::new();
    for p in 0..game.n {
        let area = [10, 10 + SEAT * p as i32, WIDE - 20, SEAT - 8];
        let me = view.seat.map(usize::from) == Some(p);
        let winner = view.winner.as_ref().filter(|w| usize::from(w.seat) == p);
        let name = if me { format!("p{p} (you)") } else { format!("p{p}") };
        seat_panel(&mut sketch, area, &name, view.to_move.map(usize::from) == Some(p));
        let value = view.value.filter(|_| me).or(winner.map(|w| w.value));
        let worth = match value {
            Some(value) => format!("worth {}", money(value)),
            None if p < usize::from(view.dealt) => "worth a secret".to_owned(),
            None => "no value yet".to_owned(),
        };
        sketch.text(Paint::Ink, TextAnchor::Start, [area[0] + 12, area[1] + 52], 16, &worth);
        let bid = view.bid.filter(|_| me).or(view.bids.get(p).copied());
        let [x, y] = [area[0] + 236, area[1] + 20];
        let won = winner.is_some();
        let bid_text = match bid {
            Some(bid) => {
                sketch.rect(
                    fill(Paint::Face).edge(if won { Paint::Green } else { Paint::FaceEdge }, if won { 4 } else { 1 }),
                    [x, y, 120, 52],
                    4,
                );
                sketch.bold(Paint::FaceInk, TextAnchor::Middle, [x + 60, y + 26], 18, &money(bid));
                format!("bid {}", money(bid))
            }
            None if p < usize::from(view.made) => {
                // A sealed envelope.
                sketch.rect(fill(Paint::Face).edge(Paint::FaceEdge, 1), [x, y, 120, 52], 4);
                sketch.path(line(Paint::FaceEdge, 2), &format!("M{x} {y}l60 30l60-30"));
                sketch.circle(fill(Paint::FaceRed), [x + 60, y + 30], 7);
                "has bid".to_owned()
            }
            None => {
                sketch.rect(line(Paint::Edge, 1), [x, y, 120, 52], 4);
                "has not bid".to_owned()
            }
        };
        if won {
            sketch.bold(Paint::Green, TextAnchor::End, [area[0] + area[2] - 12, area[1] + 46], 15, "wins");
        }
        desc.push(format!("p{p}: {worth}, {bid_text}"));
    }
    let status = match (view.to_move, &view.winner) {
        (Some(p), _) => format!("p{p} to bid"),
        (None, Some(w)) => format!("p{} gets the item", w.seat),
        (None, None) if usize::from(view.dealt) < game.n => "values are drawn".to_owned(),
        (None, None) => "the bids are opened".to_owned(),
    };
    sketch.caption(10 + SEAT * game.n as i32 + 20, &status);
    sketch.finish(&format!("{}: {status}", FirstSealedAuction::INFO.title), &desc.join("; "))
}
