//! Comparison of match records with the settings and the plan of the run.

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

/// Returns the contradictions between a record and the run's settings.
pub(super) fn against_settings(run: &Archive, record: &Record) -> Vec<String> {
    let about = &run.about;
    if run.place_of(&record.header.episode).is_none() {
        return vec![format!("episode: expected the name of a match of {} (RUN.PART.PAIRING.INDEX.TURN)", about.run)];
    }
    let mut wrong = Vec::new();
    if record.footer.run.as_deref() != Some(&about.run) {
        let named = record.footer.run.as_deref().unwrap_or_default();
        wrong.push(format!("run: expected {:?}, got {named:?}", about.run));
    }
    if !about.ludex.is_empty() && record.header.server != about.ludex {
        wrong.push(format!("server: expected {}, got {}", about.ludex, record.header.server));
    }
    if let Ok(game) = ludex_games::load_with(&record.header.game, &record.header.params) {
        match about.games.get(&game.spec().string) {
            Some(hash) if *hash != record.header.hash => {
                wrong.push(format!("hash of the rules: expected {hash}, got {}", record.header.hash));
            }
            None if !about.games.is_empty() => {
                wrong.push(format!("expected a game of the run, got {}", game.spec().string));
            }
            _ => {}
        }
    }
    wrong
}

/// Returns the contradictions between a record and the run's plan.
pub(super) fn against_plan(run: &Archive, ground: &RebuiltPlan, walk: &PlanProgress, record: &Record) -> Vec<String> {
    let header = &record.header;
    let Some((key, _)) = key_of(&run.about.run, &header.episode) else { return Vec::new() };
    let Some(place) = MatchKey::parse(key) else { return Vec::new() };
    let Some(part) = ground.parts.iter().position(|part| part.id == place.part) else {
        return vec![format!("expected a part of the suite, got {:?}", place.part)];
    };
    let GroundPart { id, policy, seeds, excerpts, .. } = &ground.parts[part];
    let game = ground.parts[part].game(place.turn);
    let mut wrong = Vec::new();
    let seed = seeds.of(&place.pairing, place.index, place.turn).to_string();
    match record.footer.seed.as_deref() {
        None => wrong.push("seed: expected one, got none".to_owned()),
        Some(named) if named != seed => wrong.push(format!("seed: expected {seed} from the run's seeds, got {named}")),
        Some(_) => {}
    }
    let pair = || format!("{}.{}", run.about.run, block_key(id, &place.pairing, place.index));
    let pair = seeds.are_paired().then(pair);
    if record.footer.pair != pair {
        let [was, is] = [&record.footer.pair, &pair].map(|pair| pair.as_deref().unwrap_or_default());
        wrong.push(format!("pair: expected {is:?} from the episode name and the run's deals, got {was:?}"));
    }
    if (&header.game, &header.params) != (&game.spec().game, &game.spec().params) {
        wrong.push(format!("game: expected {} in this part, got another game", game.spec().string));
    }
    let illegal = policy.illegal();
    if header.illegal != illegal {
        wrong.push(format!("illegal moves: expected the suite's policy {illegal:?}, got {:?}", header.illegal));
    }
    let rated = !run.about.unrated && !header.flags.iter().any(|flag| flag == "peek");
    // A walkover of a tournament is not rated.
    let is_walkover = !header.rated && record.events.is_empty() && record.footer.reason == Some(EndReason::Resign);
    if header.rated != rated && !is_walkover {
        wrong.push(format!("rated: expected {rated} by the run's settings and the flag peek, got {}", header.rated));
    }
    wrong.extend(excerpt(game, &excerpts.of(place.index, place.turn), record));
    // Matches outside the plan are reported elsewhere.
    if let Some(planned) = walk.place(key).map(|at| &walk.done[at]) {
        wrong.extend(seating(run, ground, &planned.seats, part, record));
    }
    wrong
}

/// Returns the fault in the bounds of the played excerpt, if any.
fn excerpt(game: &GameRef, wanted: &Excerpt, record: &Record) -> Option<String> {
    let start = record.header.start as usize;
    if record.events.get(..start) != Some(&wanted.start) {
        return Some("start: expected the start position that the suite sets for this block".to_owned());
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
        (wanted.moves, wanted.moves.map_or_else(|| "a complete game".to_owned(), |n| format!("{n} decisions")));
    let wrong = most.is_some_and(|most| decisions > most) || (truncated && most != Some(decisions));
    wrong.then(|| format!("end: expected {words} (set by the suite), got {decisions} decisions of the candidate"))
}

/// Describes the first seat whose agent differs from the planned agent.
fn seating(run: &Archive, ground: &RebuiltPlan, seats: &[usize], part: usize, record: &Record) -> Option<String> {
    let agents = &run.about.agents;
    seats.iter().zip(&record.header.seats).enumerate().find_map(|(seat, (&who, sat))| {
        let name = agents.get(who).map(|agent| agent.name.as_str()).unwrap_or_default();
        if name != sat.name {
            return Some(format!("seat {seat}: expected {name} as planned, got {}", sat.name));
        }
        let spec: Option<AgentSpec> = ground.specs.get(&(part, who)).map(llm::without_transport_args);
        // The spec of a remote agent is unknown, and its kind is self-reported.
        let spec = spec.filter(|spec| spec.class() != AgentClass::Remote || sat.spec.is_some());
        let (text, kind) = (spec.as_ref().map(ToString::to_string), spec.as_ref().map(kind_of));
        // For agents of the operator, a server records the name instead of the spec.
        let is_named = sat.spec.as_deref() == Some(name);
        if text.is_some() && (text != sat.spec && !is_named || kind != Some(sat.kind)) {
            let said = sat.spec.as_deref().unwrap_or_default();
            return Some(format!(
                "seat {seat}: expected {name} with spec {:?} from the settings, got {said:?}",
                text.unwrap_or_default()
            ));
        }
        None
    })
}

/// Check for duplicate matches and unneeded rematches.
#[derive(Default)]
pub(super) struct DuplicateCheck {
    /// Episodes so far; the value is true if the match counts.
    counts: HashMap<String, bool>,
}

impl DuplicateCheck {
    pub(super) fn take(&mut self, run: &Archive, schedule: &dyn RunSchedule, record: &Record) -> Option<String> {
        let episode = &record.header.episode;
        let (key, again) = key_of(&run.about.run, episode)?;
        let (part, turn) = schedule.find(key)?;
        let counts = schedule.judge(part, turn, record) != MatchScore::Discarded;
        if self.counts.insert(episode.clone(), counts).is_some() {
            return Some("duplicate match".to_owned());
        }
        let first = episode.strip_suffix(AGAIN).filter(|_| again)?;
        match self.counts.get(first) {
            Some(true) => Some(format!("unneeded rematch: the result of {first} counts")),
            Some(false) => None,
            None => Some(format!("expected {first} before its rematch, got none")),
        }
    }
}
