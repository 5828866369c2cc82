//! Agreement of rankings.

use super::{Args, Measurement, Metric, MetricScope, ParamDef, Takes, Value, of_candidates};
use crate::relation::{kendall as tau, ranks};
use crate::rows::Rows;

/// Agreement of the parts on the ranking of the candidates by a metric.
///
/// `tau`: the mean over all pairs of parts of Kendall's tau-b, over the candidates that both parts have. `w`: Kendall's
/// coefficient of concordance over the candidates that all parts have, corrected for ties.
///
/// Unit: -1 to 1; w from 0 to 1. Source: M. Kendall, *Biometrika* 33, 1945; M. Kendall and B. Babington Smith, *The
/// Annals of Mathematical Statistics* 10, 1939.
pub const KENDALL: Metric = Metric {
    id: "kendall",
    title: "Agreement of rankings",
    unit: "-1 to 1",
    digits: 3,
    formula: "tau: mean over pairs of parts of (C - D) / sqrt((C + D + Tx)(C + D + Ty)); w: 12 S / (m^2 (n^3 - n) - m sum (t^3 - t)), S the squared deviations of the sums of ranks over m parts",
    source: "M. Kendall, Biometrika 33 (1945)",
    scope: MetricScope::Suite,
    params: &[
        ParamDef::new("of", "value", Takes::Metric, "the metric that ranks"),
        ParamDef::new("form", "tau", Takes::Words(&["tau", "w"]), "which coefficient"),
    ],
    marks: &[],
    of: kendall,
};

fn kendall(rows: &Rows, args: &Args) -> Option<Value> {
    let of_part = |part: usize| of_candidates(&rows.of_all().of_part(part), args.text("of"));
    let parts: Vec<_> = rows.parts_here().into_iter().map(of_part).filter(|part| !part.is_empty()).collect();
    if args.is("form", "w") {
        let first = parts.first()?;
        let known: Vec<usize> = first.iter().map(|(agent, _)| *agent).collect();
        let value = |part: &[(usize, f64)], agent: usize| Some(part.iter().find(|(other, _)| *other == agent)?.1);
        let everywhere = |agent: &usize| parts.iter().all(|part| value(part, *agent).is_some());
        let known: Vec<usize> = known.into_iter().filter(everywhere).collect();
        let table: Vec<Vec<f64>> =
            parts.iter().map(|part| known.iter().filter_map(|&agent| value(part, agent)).collect()).collect();
        return concordance(&table).map(|w| Value::Number(Measurement::plain(w, known.len() as u64)));
    }
    let mut taus = Vec::new();
    for (k, a) in parts.iter().enumerate() {
        for b in &parts[k + 1..] {
            let both = |&(agent, x): &(usize, f64)| Some((x, b.iter().find(|(other, _)| *other == agent)?.1));
            taus.extend(tau(&a.iter().filter_map(both).collect::<Vec<_>>()));
        }
    }
    let n = taus.len();
    (n > 0).then(|| Value::Number(Measurement::plain(taus.iter().sum::<f64>() / n as f64, n as u64)))
}

/// Returns Kendall's W of the values that each part assigns to the same candidates.
fn concordance(parts: &[Vec<f64>]) -> Option<f64> {
    let (m, n) = (parts.len() as f64, parts.first()?.len());
    let ranked: Vec<Vec<f64>> = parts.iter().map(|part| ranks(part)).collect();
    let sums: Vec<f64> = (0..n).map(|k| ranked.iter().map(|part| part[k]).sum()).collect();
    let mean = sums.iter().sum::<f64>() / n as f64;
    let s: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    // For each value, count its t - 1 equals: the sum of t^2 - 1 over values equals the sum of t^3 - t over ties.
    let level = |part: &Vec<f64>, own: f64| part.iter().filter(|&&other| other == own).count() as f64;
    let ties: f64 = parts.iter().map(|part| part.iter().map(|&own| level(part, own).powi(2) - 1.0).sum::<f64>()).sum();
    let n = n as f64;
    let most = m * m * (n * n * n - n) - m * ties;
    (parts.len() > 1 && most > 0.0).then(|| 12.0 * s / most)
}

#[cfg(test)]
mod tests {
    use super::concordance;

    #[test]
    fn concordance_matches_values_by_hand() {
        let near = |w: Option<f64>, want: f64| assert!((w.unwrap() - want).abs() < 1e-12, "{w:?}");
        near(concordance(&[vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]]), 1.0);
        near(concordance(&[vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0]]), 0.0);
        // Rank sums 4, 3.5, 4.5 around 4: S = 0.5; the maximum is 4 * 24 - 2 * 6 = 84.
        near(concordance(&[vec![1.0, 2.0, 3.0], vec![7.0, 5.0, 5.0]]), 12.0 * 0.5 / 84.0);
        assert_eq!(concordance(&[vec![1.0, 2.0]]), None);
    }
}
