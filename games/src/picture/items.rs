//! Pictures of negotiations over a pool of items: the pool, the values, and the offers.

use ludex_env::picture::labels::{panel, short};
use ludex_env::picture::{Paint, Picture, Sketch, TextAnchor, fill};

/// Content of the picture of a negotiation.
#[derive(Clone, Debug, Default)]
pub struct Division {
    /// Names of the items.
    pub items: Vec<String>,
    /// Number of each item in the pool.
    pub pool: Vec<u8>,
    /// Known valuations: the display name of a seat, and the value to this seat of one unit of each item.
    pub values: Vec<(String, Vec<u8>)>,
    /// Offers in order: the seat, the number of each item that the seat keeps, and the seat's message.
    pub offers: Vec<(usize, Vec<u8>, String)>,
    /// Status text at the bottom.
    pub status: String,
}

const WIDE: i32 = 520;
/// Maximum number of offers drawn; older offers are omitted.
const MOST: usize = 10;
const PAINTS: [Paint; 4] = [Paint::Blue, Paint::Yellow, Paint::Red, Paint::Green];

/// Draws one item. Books, hats and balls differ in shape and color.
fn thing(sketch: &mut Sketch, [x, y]: [i32; 2], k: usize, size: i32) {
    let look = fill(PAINTS[k % 4]);
    match k % 3 {
        0 => sketch.rect(look, [x - size, y - size, 2 * size, 2 * size], 2),
        1 => sketch.path(look, &format!("M{x} {}l{size} {}h-{}z", y - size, 2 * size, 2 * size)),
        _ => sketch.circle(look, [x, y], size),
    }
}

impl Division {
    /// Draws the negotiation under this title.
    pub fn picture(&self, title: &str) -> Picture {
        let items = self.items.len().clamp(1, 6);
        let shown = &self.offers[self.offers.len().saturating_sub(MOST)..];
        let value_rows = self.values.len().min(2) as i32;
        let top = 44 + 26 * items as i32;
        let mut sketch = Sketch::new(WIDE, top + 20 + value_rows * 30 + 44 * shown.len() as i32 + 60);
        panel(&mut sketch, [10, 10, WIDE - 20, top - 14], "Pool");
        for (k, name) in self.items.iter().take(items).enumerate() {
            let y = 44 + 26 * k as i32;
            let many = self.pool.get(k).copied().unwrap_or(0);
            sketch.text(Paint::Ink, TextAnchor::Start, [24, y], 14, &format!("{many} {}", short(name, 10)));
            (0..i32::from(many.min(16))).for_each(|n| thing(&mut sketch, [134 + 22 * n, y], k, 8));
        }
        let mut y = top + 12;
        for (who, values) in self.values.iter().take(2) {
            let words: Vec<String> = values.iter().zip(&self.items).map(|(v, name)| format!("{name} {v}")).collect();
            sketch.text(
                Paint::Ink,
                TextAnchor::Start,
                [22, y],
                14,
                &short(&format!("{who}: {}", words.join(", ")), 62),
            );
            y += 30;
        }
        for (seat, kept, message) in shown {
            let x = if seat % 2 == 0 { 10 } else { WIDE - 370 };
            sketch.rect(fill(Paint::Panel), [x, y - 8, 360, 38], 10);
            sketch.bold(Paint::Faint, TextAnchor::Start, [x + 12, y + 11], 13, &format!("p{seat} keeps"));
            let mut at = x + 92;
            for (k, &n) in kept.iter().take(items).enumerate() {
                thing(&mut sketch, [at, y + 11], k, 7);
                sketch.bold(Paint::Ink, TextAnchor::Start, [at + 11, y + 11], 14, &n.to_string());
                at += 46;
            }
            sketch.text(
                Paint::Faint,
                TextAnchor::Start,
                [at, y + 11],
                12,
                &short(message, ((x + 352 - at) / 7).max(4) as usize),
            );
            y += 44;
        }
        let [_, height] = sketch.size();
        sketch.caption(height - 22, &self.status);
        let list =
            |n: &[u8]| n.iter().zip(&self.items).map(|(n, name)| format!("{n} {name}")).collect::<Vec<_>>().join(", ");
        let mut desc = format!("Pool: {}. ", list(&self.pool));
        self.values.iter().for_each(|(who, values)| desc += &format!("{who}: {}. ", list(values)));
        shown.iter().for_each(|(seat, kept, _)| desc += &format!("p{seat} keeps {}. ", list(kept)));
        sketch.finish(&format!("{title}: {}", self.status), desc.trim_end())
    }
}
