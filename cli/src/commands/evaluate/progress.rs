//! Progress of an evaluation on the terminal: the current part, the cost so far, and the remaining time.

use std::collections::BTreeMap;

use indicatif::ProgressBar;
use ludex_play::runs::driver::RunNews;
use ludex_referee::suite::plan::Plan;
use ludex_report::runs::usage::Usage;

use crate::commands::print;

/// Progress of the matches of a run, by part.
pub(super) struct RunProgress<'a> {
    plan: &'a Plan,
    bar: &'a ProgressBar,
    /// Numbers of played and of due matches, by part.
    parts: BTreeMap<usize, [usize; 2]>,
}

impl<'a> RunProgress<'a> {
    pub(super) fn new(plan: &'a Plan, bar: &'a ProgressBar) -> RunProgress<'a> {
        RunProgress { plan, bar, parts: BTreeMap::new() }
    }

    /// Updates the bar after an event of the driver.
    pub(super) fn show(&mut self, news: &RunNews) {
        match news {
            RunNews::Due(due) => {
                for (&part, &n) in *due {
                    let counts = self.parts.entry(part).or_default();
                    counts[1] = counts[0] + n;
                }
                self.bar.set_length(self.bar.position() + due.values().sum::<usize>() as u64);
            }
            RunNews::Match { part, spent, .. } => {
                let counts = self.parts.entry(*part).or_default();
                counts[0] += 1;
                self.bar.set_prefix(self.text(*part));
                self.bar.set_message(cost(spent));
                self.bar.inc(1);
            }
        }
    }

    /// Returns the id and the numbers of matches of a part, and the number of its place among the parts.
    fn text(&self, part: usize) -> String {
        let [played, due] = self.parts.get(&part).copied().unwrap_or_default();
        let (id, parts) = (&self.plan.parts[part].part.id, self.plan.parts.len());
        format!("part {} of {parts}: {id} {played}/{due}", part + 1)
    }
}

/// Formats the cost of a run: dollars if a price is known, else tokens; empty without calls.
fn cost(spent: &Usage) -> String {
    if spent.calls == 0 {
        String::new()
    } else if spent.unpriced < spent.calls {
        format!(", {} dollars", print::number(spent.usd, 2))
    } else {
        format!(", {} tokens", print::number(spent.tokens() as f64, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_in_dollars_if_a_price_is_known() {
        let calls =
            |calls, unpriced, usd| Usage { calls, unpriced, usd, tokens_in: 900, tokens_out: 34, ..Usage::default() };
        assert_eq!(cost(&calls(0, 0, 0.0)), "");
        assert_eq!(cost(&calls(3, 1, 0.256)), ", 0.26 dollars");
        assert_eq!(cost(&calls(3, 3, 0.0)), ", 934 tokens");
    }
}
