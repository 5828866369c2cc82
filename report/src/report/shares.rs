//! Shares of points of agents, by part and as means over parts.

use ludex_referee::metric::Measurement;

use super::Report;

/// Returns the parts, as (suite, part), in which at least one of the agents has a share of points, in suite order.
pub(super) fn scored<'r>(report: &'r Report, agents: &[&str]) -> Vec<(&'r str, &'r str)> {
    let mut out = Vec::new();
    for run in &report.runs {
        let own = run.agents.iter().filter(|agent| agents.contains(&agent.name.as_str()));
        for result in own.flat_map(|agent| &agent.results).filter(|result| result.score.is_some()) {
            let part = (run.suite.as_str(), result.part.as_str());
            if !out.contains(&part) {
                out.push(part);
            }
        }
    }
    out
}

/// Returns an agent's share of points in a part, from the first run that has a share.
pub(super) fn share(report: &Report, (suite, part): (&str, &str), name: &str) -> Option<Measurement> {
    let runs = report.runs.iter().filter(|run| run.suite == suite);
    let agents = runs.flat_map(|run| &run.agents).filter(|agent| agent.name == name);
    let result =
        agents.flat_map(|agent| &agent.results).find(|result| result.part == part && result.score.is_some())?;
    let score = result.score?;
    Some(Measurement { value: score.value, low: Some(score.low), high: Some(score.high), n: result.tally.games() })
}

/// Returns an agent's mean share of points over the parts in which it has a share.
pub(super) fn mean_share(report: &Report, parts: &[(&str, &str)], name: &str) -> Option<Measurement> {
    let shares: Vec<f64> = parts.iter().filter_map(|&part| Some(share(report, part, name)?.value)).collect();
    let n = shares.len();
    (n > 0).then(|| Measurement::plain(shares.iter().sum::<f64>() / n as f64, n as u64))
}
