//! Audit of a run or a bundle, based only on its files. Each record is verified and compared with the plan, which is
//! rebuilt from settings and suite. Language model calls are compared with the records, and the report with both.
//!
//! A forged file contradicts data that can be recomputed, even if all checksums were replaced. Data that cannot be
//! recomputed, such as the duration of a reply or a model's reasoning, is covered by digests in the records. A
//! signature proves who published the whole bundle.

mod calls;
mod completeness;
mod pages;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use ludex_protocol::record::Record;
use ludex_referee::Verifier;
use ludex_referee::read::{RejectedRecord, Source, SourcedRecord};
use ludex_report::runs::results;

use super::answer_cache;
use super::rebuilt_plan::RebuiltPlan;
use super::report_files::Read;
pub use completeness::{Completeness, RunState};
use ludex_report::runs::archive::Archive;
use ludex_report::runs::bundle::Files;
use ludex_report::runs::run_files::{EPISODES, RUN};

/// Result of the audit of a run.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Number of matches without faults.
    pub good: usize,
    /// Faults, each with file, line and episode.
    pub refused: Vec<RejectedRecord>,
    /// Comparison of the matches with the plan.
    pub completeness: Completeness,
    /// Remarks that are not faults, such as skipped checks.
    pub notes: Vec<String>,
}

/// Audits a run. `files` has all files of the run; if the run is a bundle, they include the report. `done` is called
/// after each verified record.
pub fn audit(run: &Archive, files: &Files, done: impl Fn() + Sync) -> Audit {
    let (good, untrue) = Verifier::new(ludex_games::builtin()).verify_each(&run.found, done);
    let mut bad: BTreeSet<usize> = untrue.iter().map(|r| r.source.line).collect();
    let mut out = Audit { refused: [run.refused.clone(), untrue].concat(), ..Audit::default() };
    let of_file = |name: &str| Source { file: run.place.join(name).display().to_string(), line: 0 };
    let told = |name: &str, message: String| RejectedRecord { source: of_file(name), episode: None, message };

    let read = |found: &SourcedRecord| found.parts.clone().record().ok();
    let records: Vec<(Source, Record)> =
        run.found.iter().filter_map(|found| Some((found.source.clone(), read(found)?))).collect();
    let plain: Vec<Record> = records.iter().map(|(_, record)| record.clone()).collect();
    let ground = match RebuiltPlan::of(run) {
        Ok(ground) => Some(ground),
        Err(why) => {
            out.refused.push(told(RUN, format!("the plan cannot be rebuilt: {why:#}")));
            None
        }
    };
    let walk = ground.as_ref().map(|ground| ground.walk(run, &plain)).unwrap_or_default();
    if let Some(ground) = &ground {
        out.refused.extend(ground.contradictions(run).into_iter().map(|why| told(RUN, why)));
        let (done, _) = results(&run.about.run, &*ground.schedule, &plain);
        let (completeness, wrong) = completeness::check_completeness(run, ground, &walk, &done, &plain);
        out.completeness = completeness;
        out.refused.extend(wrong.into_iter().map(|(episode, message)| RejectedRecord {
            source: of_file(EPISODES),
            episode: Some(episode),
            message,
        }));
    }
    let by_name: BTreeMap<&str, &Record> = plain.iter().map(|r| (r.header.episode.as_str(), r)).collect();
    let mut seen = records::DuplicateCheck::default();
    for (source, record) in &records {
        let mut wrong = records::against_settings(run, record);
        wrong.extend(answer_cache::wrong(record, |episode| by_name.get(episode).copied()));
        if let Some(ground) = &ground {
            wrong.extend(records::against_plan(run, ground, &walk, record));
            wrong.extend(seen.take(run, &*ground.schedule, record));
        }
        if !wrong.is_empty() {
            bad.insert(source.line);
        }
        let episode = Some(record.header.episode.clone());
        out.refused.extend(wrong.into_iter().map(|message| RejectedRecord {
            source: source.clone(),
            episode: episode.clone(),
            message,
        }));
    }
    out.refused.extend(calls::lines(run, &by_name));
    if !run.labels.is_empty() {
        out.refused.extend(Read::of(run, BTreeSet::new()).labels.faults);
    }
    if let Some(ground) = &ground {
        let (wrong, note) = calls::replayed(run, ground, &walk, &records);
        bad.extend(wrong.iter().map(|r| r.source.line));
        out.refused.extend(wrong);
        out.notes.extend(note);
    }
    let (wrong, note) = pages::pages(run, files);
    out.refused.extend(wrong.into_iter().map(|(name, why)| told(&name, why)));
    out.notes.extend(note);
    out.good = good.iter().filter(|verified| !bad.contains(&verified.source().line)).count();
    out.completeness.complete &= out.refused.is_empty();
    out
}
