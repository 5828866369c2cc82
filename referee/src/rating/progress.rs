//! Progress on a ladder: the condition to pass a level, and the progress at a level that was not passed.

use super::table::{Interval, Tally, wilson};

/// Returns true if a level is passed: at least half of the decided matches are won. Without decided matches, a level is
/// passed only if `drawn` is true, which means that a draw is the best possible result. Source: BotzoneBench.
pub fn passes(tally: &Tally, drawn: bool) -> bool {
    tally.wins >= tally.losses && (drawn || tally.wins > 0)
}

/// Returns the progress by decided matches: `100 * 2 * wins / (wins + losses)`, at most 100, with Wilson's interval. A
/// level is passed with a progress of 100. `None` if no match was decided. Source: BotzoneBench.
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
    scaled(tally.score(), 200.0)
}

/// Multiplies a share and its interval by `by`. The results are at most 100.
fn scaled(share: Option<Interval>, by: f64) -> Option<Interval> {
    let scale = |x: f64| (by * x).min(100.0);
    share.map(|i| Interval { value: scale(i.value), low: scale(i.low), high: scale(i.high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_and_its_interval_are_at_most_100() {
        let tally = |wins, draws, losses| Tally { wins, draws, losses };
        for (of, expected) in [(decided(&tally(1, 0, 3)), 50.0), (corrected(&tally(1, 0, 3)), 50.0)] {
            let progress = of.unwrap();
            assert_eq!((progress.value, progress.high), (expected, 100.0), "{progress:?}");
            assert!(progress.low > 0.0, "{progress:?}");
        }
        assert_eq!(decided(&tally(0, 4, 0)), None);
        assert!(draw_progress(&tally(0, 4, 0)).unwrap().high <= 100.0);
    }
}
