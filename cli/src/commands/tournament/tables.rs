//! Output of `ludex tournament`: the table, disqualified entrants with reasons, and the number of discarded matches.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use ludex_play::runs::tournament::schedule::failed;
use ludex_referee::suite::plan::MatchScore;
use ludex_referee::tournament::Standing;
use ludex_report::runs::RunSchedule as _;
use serde_json::{Value, json};

use super::print::{self, points};
use super::{RunStatus, TournamentSchedule, TournamentTerms, results};

/// Current standings of a tournament, for output.
pub(super) struct TournamentTable<'a> {
    status: &'a RunStatus,
    terms: &'a TournamentTerms,
    standings: Vec<Standing>,
    discarded: usize,
    over: bool,
}

/// Number in an optional column of the table. The column is printed if the number is above 0 for at least one entrant.
type Count = fn(&Standing) -> u64;

impl<'a> TournamentTable<'a> {
    pub fn of(status: &'a RunStatus, schedule: &TournamentSchedule, terms: &'a TournamentTerms) -> Self {
        let records = &status.past.records;
        let (done, _) = results(&status.settings.run, schedule, records);
        let mut standings = schedule.tournament.standings(&schedule.results(&done, records));
        let failures = last_failures(status);
        for line in &mut standings {
            let last = failures.get(status.settings.agents[line.entrant].name.as_str());
            if let (Some(why), Some(last), true) = (&mut line.out, last, line.failures > 0) {
                *why = format!("{why}; the last: {last}");
            }
        }
        let discarded = done.values().filter(|&&d| d == MatchScore::Discarded).count();
        TournamentTable { status, terms, standings, discarded, over: schedule.next(&done, records).is_empty() }
    }

    pub fn document(&self, files: &[PathBuf], played: usize) -> Value {
        let entrant = |line: &Standing| {
            let agent = &self.status.settings.agents[line.entrant];
            let mut out = json!(line);
            out["name"] = agent.name.clone().into();
            out["spec"] = agent.spec.clone().into();
            out
        };
        json!({
            "run": self.status.settings.run, "game": self.terms.game, "format": self.terms.format,
            "tie_break": self.terms.format.tie_break(), "over": self.over, "playing": self.status.playing,
            "matches": self.status.past.records.len(), "played": played, "discarded": self.discarded,
            "entrants": self.standings.iter().map(entrant).collect::<Vec<_>>(), "files": files,
        })
    }

    pub fn show(&self, out: &mut impl Write) -> io::Result<()> {
        let any = |of: Count| self.standings.iter().any(|line| of(line) > 0);
        let more: Vec<(&str, Count)> =
            [("byes", (|l| l.byes) as Count), ("failures", |l| l.failures), ("walkovers", |l| l.walkovers)]
                .into_iter()
                .filter(|(_, of)| any(*of))
                .collect();
        let tie_break = self.terms.format.tie_break();
        let mut head: Vec<String> = ["", "agent", "points"].map(str::to_owned).to_vec();
        head.extend(tie_break.map(str::to_owned));
        head.extend(["wins", "draws", "losses"].map(str::to_owned));
        head.extend(more.iter().map(|(name, _)| (*name).to_owned()));
        let row = |line: &Standing| {
            let mut row = vec![
                line.rank.map_or_else(|| "out".to_owned(), |rank| rank.to_string()),
                self.name(line).to_owned(),
                points(line.points),
            ];
            row.extend(tie_break.map(|_| line.tie_break.map_or_else(|| "-".into(), points)));
            row.extend([line.tally.wins, line.tally.draws, line.tally.losses].map(|n| n.to_string()));
            row.extend(more.iter().map(|(_, of)| of(line).to_string()));
            row
        };
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(self.standings.iter().map(row)).collect();
        print::table(out, &rows, |k| k != 1)?;
        for line in &self.standings {
            let Some(why) = &line.out else { continue };
            writeln!(out, "{} is out: {}", self.name(line), why.replace('\n', "\n    "))?;
        }
        if any(|l| l.walkovers) {
            writeln!(out, "walkovers: matches with a disqualified entrant; they do not count, even if played")?;
        }
        if self.discarded > 0 {
            let many = print::count(self.discarded, "match was", "matches were");
            writeln!(out, "{many} discarded without points, because an endpoint failed twice")?;
        }
        let all = print::count(self.status.past.records.len(), "match", "matches");
        let state = if self.over { "over" } else { "not over; repeat the `ludex tournament` command to continue" };
        writeln!(out, "{all}; {state}")
    }

    fn name(&self, line: &Standing) -> &str {
        &self.status.settings.agents[line.entrant].name
    }
}

/// Returns the last failure in the log, by entrant.
fn last_failures(status: &RunStatus) -> BTreeMap<&str, &str> {
    let at_fault = |episode: &str| {
        let record = status.past.records.iter().rfind(|record| record.header.episode == episode)?;
        Some(record.header.seats.get(failed(record)?)?.name.as_str())
    };
    let forfeits = status.past.log.iter().filter(|line| line.what == "forfeit");
    let words = forfeits.filter_map(|line| Some((at_fault(line.episode.as_deref()?)?, line.why.as_deref()?)));
    words.collect()
}
