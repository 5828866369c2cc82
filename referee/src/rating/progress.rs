//! Progress on a ladder: the condition to pass a level, and the progress at a level that was not passed.

use super::table::{Interval, Tally, wilson};

/// Returns true if a level is passed: at least half of the decided matches are won. Without decided matches, a level is
/// passed only if `drawn` is true, which means that a draw is the best possible result. Source: BotzoneBench.
pub fn passes(tally: &Tally, drawn: bool) -> bool {
    tally.wins >= tally.losses && (drawn || tally.wins > 0)
}

/// Returns the progress by decided matches: `100 * 2 * wins / (wins + losses)`, where 100 passes, with Wilson's
/// interval of the share; `None` if no match was decided. Source: BotzoneBench.
pub fn decided(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.wins as f64, (tally.wins + tally.losses) as f64), 200.0)
}

/// Returns the progress at a level at which a draw is the best possible result: `100 * draws / matches`, with Wilson's
/// interval. Source: BotzoneBench.
pub fn draw_progress(tally: &Tally) -> Option<Interval> {
    scaled(wilson(tally.draws as f64, tally.games() as f64), 100.0)
}

/// Returns the progress by points: `200 s`, capped at 100, where a draw is half a point and 100 passes, with Wilson's
/// interval.
pub fn corrected(tally: &Tally) -> Option<Interval> {
    let i = scaled(tally.score(), 200.0)?;
    Some(Interval { value: i.value.min(100.0), low: i.low.min(100.0), high: i.high.min(100.0) })
}

fn scaled(share: Option<Interval>, by: f64) -> Option<Interval> {
    share.map(|i| Interval { value: by * i.value, low: by * i.low, high: by * i.high })
}
