//! CSV (RFC 4180): the numbers of the report, four decimals, an empty field where there is none.

use super::Report;
use crate::metric::METRICS;

pub(super) fn ratings(report: &Report) -> String {
    let mut head: Vec<String> = [
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
    ]
    .map(String::from)
    .to_vec();
    for metric in METRICS {
        head.extend(["", "_low", "_high", "_n"].map(|part| format!("{}{part}", metric.id)));
    }
    let mut out = line(head);
    for scale in &report.scales {
        for a in &scale.agents {
            let kind =
                serde_json::to_value(a.kind).ok().and_then(|k| k.as_str().map(str::to_owned)).unwrap_or_default();
            let mut row = vec![scale.name.clone(), a.name.clone(), kind];
            row.extend([a.rating, a.low, a.high].map(number));
            row.extend([a.fixed, a.anchored].map(|b| b.to_string()));
            row.extend([a.games, a.tally.wins, a.tally.draws, a.tally.losses].map(|n| n.to_string()));
            row.extend([a.elo, a.mu, a.sigma].map(number));
            for metric in METRICS {
                let m = a.metrics.get(metric.id);
                row.extend([m.map(|m| m.value), m.and_then(|m| m.low), m.and_then(|m| m.high)].map(number));
                row.push(m.map(|m| m.n.to_string()).unwrap_or_default());
            }
            out.push_str(&line(row));
        }
    }
    out
}

pub(super) fn crosstable(report: &Report) -> String {
    let head = ["scale", "agent", "opponent", "wins", "draws", "losses", "score", "score_low", "score_high"];
    let mut out = line(head.map(String::from).to_vec());
    for scale in &report.scales {
        for (a, row) in scale.agents.iter().zip(&scale.crosstable) {
            for (b, tally) in scale.agents.iter().zip(row) {
                let Some(score) = tally.score() else { continue };
                let mut row = vec![scale.name.clone(), a.name.clone(), b.name.clone()];
                row.extend([tally.wins, tally.draws, tally.losses].map(|n| n.to_string()));
                row.extend([score.value, score.low, score.high].map(|n| number(Some(n))));
                out.push_str(&line(row));
            }
        }
    }
    out
}

fn number(value: Option<f64>) -> String {
    value.map(|v| format!("{v:.4}")).unwrap_or_default()
}

fn line(fields: Vec<String>) -> String {
    let quoted: Vec<String> = fields
        .into_iter()
        .map(|f| if f.contains([',', '"', '\n', '\r']) { format!("\"{}\"", f.replace('"', "\"\"")) } else { f })
        .collect();
    quoted.join(",") + "\r\n"
}
