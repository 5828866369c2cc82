//! Progress on a ladder: the condition to pass a level, and the progress at a level that was not passed.

use super::table::{Interval, Tally, wilson};

/// Returns true if a level is passed: at least half of the decided matches are won. Without decided matches, a level is
/// passed only if `drawn` is true, which means that a draw is the best possible result. Source: BotzoneBench.
pub fn passes(tally: &Tally, drawn: bool) -> bool {
    tally.wins >= tally.losses && (drawn || tally.wins > 0)
}

/// Returns the progress by decided matches: `100 * 2 * wins / (wins + losses)`, with Wilson's interval. A level is
/// passed with a progress of at least 100. `None` if no match was decided. Source: BotzoneBench.
pub fn decided(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.wins as f64, (tally.wins + tally.losses) as f64), 200.0)
}

/// Returns the progress at a level at which a draw is the best possible result: `100 * draws / matches`, with Wilson's
/// interval. Source: BotzoneBench.
pub fn draw_progress(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.draws as f64, tally.games() as f64), 100.0)
}

/// Returns the progress by points: `200 s`, at most 100, with Wilson's interval. The share `s` of points counts a draw
/// as half a point. A level is passed with a progress of 100.
pub fn corrected(tally: &Tally) -> Option<Interval> {
    let i = scaled(tally.score(), 200.0)?;
    Some(Interval { value: i.value.min(100.0), low: i.low.min(100.0), high: i.high.min(100.0) })
}

fn scaled(share: Option<Interval>, by: f64) -> Option<Interval> {
    share.map(|i| Interval { value: by * i.value, low: by * i.low, high: by * i.high })
}
