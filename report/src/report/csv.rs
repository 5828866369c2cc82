//! CSV (RFC 4180) of the report's numbers, with four decimals and empty fields for missing numbers.

use ludex_referee::metric::USUAL;
use ludex_referee::rating::anchored::Bound;

use super::Report;
use crate::figure::text;

pub(super) fn ratings(report: &Report) -> String {
    let head = [
        "scale",
        "agent",
        "kind",
        "rating",
        "low",
        "high",
        "fixed",
        "anchored",
        "games",
        "wins",
        "draws",
        "losses",
        "elo",
        "trueskill_mu",
        "trueskill_sigma",
    ];
    let of_metrics = USUAL.iter().flat_map(|m| ["", "_low", "_high", "_n"].map(|part| format!("{}{part}", m.id)));
    text(|out| {
        let last = ["blocks", "blocks_for_30", "bound"].map(String::from);
        out.write_record(head.into_iter().map(String::from).chain(of_metrics).chain(last))?;
        for scale in &report.scales {
            for a in &scale.agents {
                let kind =
                    serde_json::to_value(a.kind).ok().and_then(|k| k.as_str().map(str::to_owned)).unwrap_or_default();
                let mut row = vec![scale.name.clone(), a.name.clone(), kind];
                row.extend([a.rating, a.low, a.high].map(number));
                row.extend([a.fixed, a.anchored].map(|b| b.to_string()));
                row.extend([a.games, a.tally.wins, a.tally.draws, a.tally.losses].map(|n| n.to_string()));
                row.extend([a.elo, a.mu, a.sigma].map(number));
                for metric in USUAL {
                    let m = a.metrics.get(metric.id);
                    row.extend([m.map(|m| m.value), m.and_then(|m| m.low), m.and_then(|m| m.high)].map(number));
                    row.push(m.map(|m| m.n.to_string()).unwrap_or_default());
                }
                row.push(a.blocks.to_string());
                row.push(a.blocks_for_30.map(|n| n.to_string()).unwrap_or_default());
                row.push(a.bound.map_or("", Bound::name).to_owned());
                out.write_record(row)?;
            }
        }
        Ok(())
    })
}

pub(super) fn crosstable(report: &Report) -> String {
    text(|out| {
        out.write_record([
            "scale",
            "agent",
            "opponent",
            "wins",
            "draws",
            "losses",
            "score",
            "score_low",
            "score_high",
        ])?;
        for scale in &report.scales {
            for (a, row) in scale.agents.iter().zip(&scale.crosstable) {
                for (b, tally) in scale.agents.iter().zip(row) {
                    let Some(score) = tally.score() else { continue };
                    let mut row = vec![scale.name.clone(), a.name.clone(), b.name.clone()];
                    row.extend([tally.wins, tally.draws, tally.losses].map(|n| n.to_string()));
                    row.extend([score.value, score.low, score.high].map(|n| number(Some(n))));
                    out.write_record(row)?;
                }
            }
        }
        Ok(())
    })
}

fn number(value: Option<f64>) -> String {
    value.map(|v| format!("{v:.4}")).unwrap_or_default()
}
