//! The report of a run, as its bundle has it.

use std::collections::HashMap;

use ludex_protocol::record::Record;
use ludex_referee::read::Refused;
use ludex_referee::report::ReportAbout;
use ludex_referee::scale::RatingOptions;
use ludex_referee::{Report, Verifier};

use super::archive::Archive;
use super::bundle::{Files, PAGE, REPORT};
use super::episode::key_of;
use super::ground::Ground;
use super::settings::RunSeeds;

/// The place of each episode of a run in the order of its plan, from 1; empty if the plan cannot be made.
pub fn order(run: &Archive) -> HashMap<String, usize> {
    let Ok(ground) = Ground::of(run) else { return HashMap::new() };
    let records: Vec<Record> = run.found.iter().filter_map(|found| found.parts.clone().record().ok()).collect();
    let walk = ground.walk(run, &records);
    let episode = |record: &Record| record.header.episode.clone();
    let place = |name: &String| walk.place(key_of(&run.about.run, name)?.0);
    records.iter().map(episode).filter_map(|name| place(&name).map(|at| (name, at + 1))).collect()
}

/// The pages of a run's report, by name, and the records that are not true. The same run gives the same pages.
pub fn pages(run: &Archive) -> (Files, Vec<Refused>) {
    let (mut good, refused) = Verifier::new().verify_all(&run.found);
    let mut notes = Vec::new();
    // Without a plan, games are in the order in which they ended.
    if let Ok(ground) = Ground::of(run) {
        let records: Vec<Record> = good.iter().map(|game| game.record().clone()).collect();
        ground.walk(run, &records).put_in_order(&run.about.run, &mut good);
        notes = ground.plan.as_ref().map(super::summary::notes).unwrap_or_default();
    }
    let secret = match &run.about.seeds {
        RunSeeds::Secret(secret) => Some(secret.clone()),
        RunSeeds::Open(_) => None,
    };
    let about = ReportAbout { title: run.about.run.clone(), command: String::new(), secret, notes };
    let report = Report::build(&good, refused.clone(), RatingOptions::default(), about);
    let json = format!("{:#}\n", report.to_json());
    let pages = [(REPORT, json), (PAGE, report.to_html())];
    (pages.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())).collect(), refused)
}
