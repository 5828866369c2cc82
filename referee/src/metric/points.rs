//! Points from two marks of the same move.

use std::collections::HashMap;

use super::selection::value_of;
use super::{Args, Metric, ParamDef, Point, Takes, Value};
use crate::rows::Rows;

/// One point for each move that has both marks, `x` and `y`. With `x = turn`, x is the number of the move among the
/// seat's own moves, from 1.
///
/// Source: GTBench, figure 7 (values of both sides of agreements); Qi Town, figures 17 to 21.
pub const POINTS: Metric = Metric {
    id: "points",
    title: "Points",
    formula: "(x, y) for each move that has both marks; turn: number of the move among the seat's own moves, from 1",
    source: "GTBench; Qi Town",
    params: &[
        ParamDef::new("x", "turn", Takes::Mark, "mark on the horizontal axis, or turn"),
        ParamDef::new("y", "", Takes::Mark, "mark on the vertical axis"),
    ],
    of: points,
    ..Metric::DEFAULT
};

fn points(rows: &Rows, args: &Args) -> Option<Value> {
    let (x, y) = (args.text("x"), args.text("y"));
    let beside: HashMap<(usize, usize, u32), f64> = rows
        .observed(x)
        .into_iter()
        .filter_map(|seen| Some(((seen.game, seen.seat, seen.turn), value_of(x, &seen.value)?)))
        .collect();
    let name = rows.agent().map_or("", |agent| &rows.agents()[agent].name);
    let points: Vec<Point> = rows
        .observed(y)
        .into_iter()
        .filter_map(|seen| {
            let place = (seen.game, seen.seat, seen.turn);
            let x = if x == "turn" { f64::from(seen.turn) + 1.0 } else { *beside.get(&place)? };
            Some(Point { x, y: value_of(y, &seen.value)?, label: name.to_owned() })
        })
        .collect();
    (!points.is_empty()).then_some(Value::Points(points))
}
