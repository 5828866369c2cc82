//! Level of an agent on a ladder.

use std::collections::BTreeMap;

use super::{Args, Measurement, Metric, ParamDef, Takes, Value};
use crate::rating::progress::{corrected, decided, draw_progress, passes};
use crate::rating::table::{Interval, Tally};
use crate::rows::Rows;

/// First level that was not passed, and the progress at this level in percent. An agent that passed the top level gets
/// a level that is one higher than the top, and no progress.
///
/// `paper`: a level is passed with at least half of the decided matches, and progress is `200 wins / (wins + losses)`.
/// A level without decided matches is not passed. With `drawn`, a draw is the best possible result at the top level.
/// The top level is then passed if no match is lost, and its progress is `100 draws / matches`. `corrected`: a draw is
/// half a point at every level. A level is passed with at least half of the points. Progress is `200 s`, at most 100,
/// where `s` is the share of points.
pub const LEVEL: Metric = Metric {
    id: "level",
    title: "Level",
    unit: "level",
    digits: 1,
    formula: "first level not passed; paper: passed if w / (w + l) >= 0.5, progress 200 w / (w + l); paper, a top level with drawn = yes: passed \
              if l = 0, progress 100 d / n; corrected: s = (w + d / 2) / n, passed if s >= 0.5, progress min(200 s, 100); Wilson interval",
    source: "BotzoneBench",
    params: &[
        ParamDef::new("form", "paper", Takes::Words(&["paper", "corrected"]), "rule for passing a level"),
        ParamDef::new(
            "of",
            "both",
            Takes::Words(&["both", "level", "progress", "total"]),
            "level, progress in percent, both, or their total: level + progress / 100",
        ),
        ParamDef::new(
            "drawn",
            "part",
            Takes::Words(&["part", "yes", "no"]),
            "yes: a draw is the best possible result at the top level; part: the setting of the suite's part",
        ),
    ],
    of: level,
    planned: true,
    ..Metric::DEFAULT
};

fn level(rows: &Rows, args: &Args) -> Option<Value> {
    let mut levels: BTreeMap<u32, Tally> = BTreeMap::new();
    let mut best_is_draw = args.is("drawn", "yes");
    for (game, seats) in rows.own_matches() {
        let Some(level) = game.level else { continue };
        levels.entry(level).or_default().add(game.points(&seats));
        best_is_draw |= args.is("drawn", "part") && rows.part_of(game).drawn;
    }
    let game = rows.own_matches().first()?.0;
    let rungs = rows.part_of(game).spec().into_iter().flat_map(|spec| &spec.anchors).map(|rung| rung.level);
    let top = rungs.chain(rows.matches().filter_map(|game| game.level)).max()?;
    let full = best_is_draw.then_some(top);
    let (level, progress) = place(&levels, full, args.is("form", "corrected"))?;
    let n = levels.values().map(Tally::games).sum();
    let at = Measurement::plain(f64::from(level), n);
    let shown = progress.map(|(p, n)| Measurement { value: p.value, low: Some(p.low), high: Some(p.high), n });
    match args.text("of") {
        "level" => Some(Value::Number(at)),
        "progress" => shown.map(Value::Number),
        "total" => {
            let part = |end: f64| at.value + end / 100.0;
            let total =
                shown.map(|p| Measurement { value: part(p.value), low: p.low.map(part), high: p.high.map(part), n });
            Some(Value::Number(total.unwrap_or(at)))
        }
        _ => {
            let both = [Some(("level", at)), shown.map(|p| ("progress", p))];
            Some(Value::Shares(both.into_iter().flatten().map(|(name, m)| (name.to_owned(), m)).collect()))
        }
    }
}

/// Returns the level, the progress at the level, and the number of matches at the level. `full` is the level at which a
/// draw is the best possible result.
fn place(levels: &BTreeMap<u32, Tally>, full: Option<u32>, points: bool) -> Option<(u32, Option<(Interval, u64)>)> {
    for (&level, tally) in levels {
        let at_full = full == Some(level);
        let passed = match points {
            true => tally.score().is_some_and(|s| s.value >= 0.5),
            false if at_full => tally.losses == 0,
            false => passes(tally, full.is_some()),
        };
        if !passed {
            let progress = match points {
                true => corrected(tally),
                false if at_full => draw_progress(tally),
                false => decided(tally),
            };
            return Some((level, progress.map(|progress| (progress, tally.games()))));
        }
    }
    levels.keys().last().map(|last| (last + 1, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(results: &[[u64; 3]]) -> BTreeMap<u32, Tally> {
        let tally = |&[wins, draws, losses]: &[u64; 3]| Tally { wins, draws, losses };
        (0..).zip(results.iter().map(tally)).collect()
    }

    fn level_and_progress(results: &[[u64; 3]], drawn: bool, corrected: bool) -> (u32, Option<f64>) {
        let full = drawn.then_some(1);
        let (level, progress) = place(&ladder(results), full, corrected).unwrap();
        (level, progress.map(|(p, _)| p.value))
    }

    /// Checks cells of table 2 of BotzoneBench, and the project's rules for edge cases.
    #[test]
    fn levels_equal_published_and_hand_computed_values() {
        // Gomoku, level 3: 5 wins, 0 draws and 27 losses are a progress of 31.25 %.
        let fives = [[16, 0, 0], [32, 0, 0], [20, 0, 12], [5, 0, 27]];
        assert_eq!(level_and_progress(&fives, false, false), (3, Some(31.25)));
        // Hold'em, level 0: exactly half of the decided matches (8-0-8) passes the level.
        assert_eq!(level_and_progress(&[[8, 0, 8], [3, 0, 12]], false, false), (1, Some(40.0)));
        // A level without decided matches is not passed, and has no progress.
        assert_eq!(level_and_progress(&[[0, 16, 0]], false, false), (0, None));
        assert_eq!(level_and_progress(&[[0, 16, 0]], false, true), (1, None));
        // Draws count half in the corrected form: (1 + 6) / 15 = 7/15.
        assert!((level_and_progress(&[[1, 12, 2]], false, false).1.unwrap() - 200.0 / 3.0).abs() < 1e-12);
        assert!((level_and_progress(&[[1, 12, 2]], false, true).1.unwrap() - 200.0 * 7.0 / 15.0).abs() < 1e-12);
        // Tic-tac-toe: 19 draws in 32 matches at the top level are 59.4 %; 32 draws pass the level.
        assert_eq!(level_and_progress(&[[16, 0, 0], [0, 19, 13]], true, false), (1, Some(59.375)));
        assert_eq!(level_and_progress(&[[16, 0, 0], [0, 32, 0]], true, false), (2, None));
        // Below the top level, progress counts decided matches: 6 wins of 16 are 75 %.
        assert_eq!(level_and_progress(&[[6, 0, 10]], true, false), (0, Some(75.0)));
    }
}
