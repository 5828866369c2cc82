//! Comparison of a record with the settings and the plan of its run.

use std::collections::HashMap;

use ludex_agents::{AgentClass, AgentSpec, llm};
use ludex_env::GameRef;
use ludex_env::recording::steps;
use ludex_protocol::record::{EndReason, MoveRecord, Record};
use ludex_referee::suite::plan::{MatchKey, MatchScore, block_key};
use ludex_referee::suite::starts::Excerpt;
use ludex_report::runs::RunSchedule;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::episode::{AGAIN, key_of};
use ludex_report::runs::plan_progress::PlanProgress;

use crate::local::kind_of;
use crate::runs::rebuilt_plan::{GroundPart, RebuiltPlan};

/// Returns contradictions between a record and the settings.
pub(super) fn against_settings(run: &Archive, record: &Record) -> Vec<String> {
    let about = &run.about;
    if run.place_of(&record.header.episode).is_none() {
        return vec![format!("it is not a match of {}: its name is not RUN.PART.PAIRING.INDEX.TURN", about.run)];
    }
    let mut wrong = Vec::new();
    if record.footer.run.as_deref() != Some(&about.run) {
        wrong.push(format!("it says that it belongs to {:?}", record.footer.run.as_deref().unwrap_or_default()));
    }
    if !about.ludex.is_empty() && record.header.server != about.ludex {
        wrong.push(format!("it was played by {}, the run by {}", record.header.server, about.ludex));
    }
    if let Ok(game) = ludex_games::load_with(&record.header.game, &record.header.params) {
        match about.games.get(&game.spec().string) {
            Some(hash) if *hash != record.header.hash => {
                wrong.push(format!("its rules have hash {}, those of the run {hash}", record.header.hash));
            }
            None if !about.games.is_empty() => wrong.push(format!("{} is not a game of the run", game.spec().string)),
            _ => {}
        }
    }
    wrong
}

/// Returns contradictions between a record and the plan.
pub(super) fn against_plan(run: &Archive, ground: &RebuiltPlan, walk: &PlanProgress, record: &Record) -> Vec<String> {
    let header = &record.header;
    let Some((key, _)) = key_of(&run.about.run, &header.episode) else { return Vec::new() };
    let Some(place) = MatchKey::parse(key) else { return Vec::new() };
    let Some(part) = ground.parts.iter().position(|part| part.id == place.part) else {
        return vec![format!("the suite has no part {:?}", place.part)];
    };
    let GroundPart { id, policy, seeds, excerpts, .. } = &ground.parts[part];
    let game = ground.parts[part].game(place.turn);
    let mut wrong = Vec::new();
    let seed = seeds.of(&place.pairing, place.index, place.turn).to_string();
    match record.footer.seed.as_deref() {
        None => wrong.push("it does not tell its seed".to_owned()),
        Some(named) if named != seed => wrong.push(format!("its seed is {named}, but the run's seeds give {seed}")),
        Some(_) => {}
    }
    let pair = || format!("{}.{}", run.about.run, block_key(id, &place.pairing, place.index));
    let pair = seeds.are_paired().then(pair);
    if record.footer.pair != pair {
        let [was, is] = [&record.footer.pair, &pair].map(|pair| pair.as_deref().unwrap_or_default());
        wrong.push(format!("its pair is {was:?}, by its name and the run's deals it is {is:?}"));
    }
    if (&header.game, &header.params) != (&game.spec().game, &game.spec().params) {
        wrong.push(format!("the part is of {}, and this is another game", game.spec().string));
    }
    let illegal = policy.illegal();
    if header.illegal != illegal {
        wrong.push(format!("illegal moves were treated as {:?}, by the suite as {illegal:?}", header.illegal));
    }
    if header.rated == header.flags.iter().any(|flag| flag == "peek") {
        wrong.push("it is rated exactly if no agent peeks".to_owned());
    }
    wrong.extend(excerpt(game, &excerpts.of(place.index, place.turn), record));
    // Matches outside the plan are reported elsewhere.
    if let Some(planned) = walk.place(key).map(|at| &walk.done[at]) {
        wrong.extend(seating(run, ground, &planned.seats, part, record));
    }
    wrong
}

/// Returns the fault of the played part of the game.
fn excerpt(game: &GameRef, wanted: &Excerpt, record: &Record) -> Option<String> {
    let start = record.header.start as usize;
    if record.events.get(..start) != Some(&wanted.start) {
        return Some("it does not begin at the start that the suite gives for its block".to_owned());
    }
    let (mut decisions, mut steps) = (0, steps(&**game, record));
    while let Some(Ok(step)) = steps.next() {
        let made = |(at, m): &(usize, &MoveRecord)| {
            let seat = m.seat as usize;
            *at >= start && step.played && wanted.counts(seat) && step.before.legal_list(seat).len() != 1
        };
        decisions += step.moves().filter(made).count() as u32;
    }
    let truncated = record.footer.reason == Some(EndReason::Truncated);
    let (most, words) =
        (wanted.moves, wanted.moves.map_or_else(|| "with the game".to_owned(), |n| format!("after {n}")));
    let wrong = most.is_some_and(|most| decisions > most) || (truncated && most != Some(decisions));
    wrong.then(|| format!("it ended after {decisions} decisions of the candidate, by the suite it ends {words}"))
}

/// Returns the first seat with an agent other than the planned one.
fn seating(run: &Archive, ground: &RebuiltPlan, seats: &[usize], part: usize, record: &Record) -> Option<String> {
    let agents = &run.about.agents;
    seats.iter().zip(&record.header.seats).enumerate().find_map(|(seat, (&who, sat))| {
        let name = agents.get(who).map(|agent| agent.name.as_str()).unwrap_or_default();
        if name != sat.name {
            return Some(format!("{} sat on seat {seat}, by the plan it is {name}", sat.name));
        }
        let spec: Option<AgentSpec> = ground.specs.get(&(part, who)).map(llm::without_transport_args);
        // The spec of a remote agent is unknown, and its kind is self-reported.
        let spec = spec.filter(|spec| spec.class() != AgentClass::Remote || sat.spec.is_some());
        let (text, kind) = (spec.as_ref().map(ToString::to_string), spec.as_ref().map(kind_of));
        if text.is_some() && (text != sat.spec || kind != Some(sat.kind)) {
            let said = sat.spec.as_deref().unwrap_or_default();
            return Some(format!(
                "{name} is {said:?} on seat {seat}, by the settings it is {:?}",
                text.unwrap_or_default()
            ));
        }
        None
    })
}

/// Finds duplicate matches and unneeded rematches.
#[derive(Default)]
pub(super) struct DuplicateCheck {
    /// Flags of episodes that count.
    counts: HashMap<String, bool>,
}

impl DuplicateCheck {
    pub(super) fn take(&mut self, run: &Archive, schedule: &dyn RunSchedule, record: &Record) -> Option<String> {
        let episode = &record.header.episode;
        let (key, again) = key_of(&run.about.run, episode)?;
        let (part, turn) = schedule.find(key)?;
        let counts = schedule.judge(part, turn, record) != MatchScore::Discarded;
        if self.counts.insert(episode.clone(), counts).is_some() {
            return Some("the match is there twice".to_owned());
        }
        let first = episode.strip_suffix(AGAIN).filter(|_| again)?;
        match self.counts.get(first) {
            Some(true) => Some(format!("it was played again although {first} counts")),
            Some(false) => None,
            None => Some(format!("it was played again, but {first} is not there before it")),
        }
    }
}
