//! Comparison of language model calls with match records.
//!
//! Matches with language models are played again: models reply with the stored calls, and the other seats make the
//! recorded moves. Prompts are rendered again, replies are parsed again, and tokens, prices and digests are recomputed.
//! The resulting record must equal the original record.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ludex_agents::{Agent, AgentClass, AgentError, AgentSpec, MoveReply, llm};
use ludex_env::{GameRef, Journal, MoveRequest};
use ludex_protocol::record::{MoveRecord, Record, RecordEvent};
use ludex_referee::read::{RejectedRecord, Source};
use ludex_referee::suite::plan::MatchKey;
use ludex_referee::suite::starts::Excerpt;
use ludex_report::runs::archive::Archive;
use ludex_report::runs::plan_progress::PlanProgress;
use ludex_report::runs::run_files::{CALLS, CallLine};
use parking_lot::Mutex;
use serde_json::Value;

use crate::local::{HostOptions, Journals, Participant, play_match};
use crate::machine::interface::MatchSetup;
use crate::runs::answer_cache;
use crate::runs::rebuilt_plan::RebuiltPlan;

/// Returns the faults that are found in single lines of the calls file.
pub(super) fn lines(run: &Archive, records: &BTreeMap<&str, &Record>) -> Vec<RejectedRecord> {
    let mut wrong = Vec::new();
    for (episode, calls) in &run.calls {
        let mut last: Option<&CallLine> = None;
        for kept in calls {
            // A repeated match may reach a different position, and then a different request has the same key.
            let twice = last.is_some_and(|last| {
                (last.seat, last.key) == (kept.seat, kept.key) && last.call.messages == kept.call.messages
            });
            let message = match records.get(episode.as_str()) {
                _ if twice => Some("expected one line per call, got a duplicate".to_owned()),
                Some(record) => of_record(kept, record, is_resumed(run)),
                // Until a run is done, a match with calls but without a record may still be in progress.
                None if run.is_done() || run.place_of(episode).is_none() => {
                    Some("expected a call of a recorded match, got a call of a match without a record".to_owned())
                }
                None => None,
            };
            last = Some(kept);
            wrong.extend(message.map(|message| of_line(run, kept, message)));
        }
    }
    wrong
}

fn of_line(run: &Archive, kept: &CallLine, message: String) -> RejectedRecord {
    let file = run.place.join(CALLS).display().to_string();
    RejectedRecord { source: Source { file, line: kept.line }, episode: Some(kept.episode.clone()), message }
}

/// Returns the reason why a call cannot belong to the match of `record`, if any.
fn of_record(kept: &CallLine, record: &Record, resumed: bool) -> Option<String> {
    if kept.seat >= record.header.seats.len() {
        return Some(format!("expected a call of a seat of the match, got seat {}", kept.seat));
    }
    let turns = moves(record).filter(|m| m.seat as usize == kept.seat).map(|m| m.turn + 1).max().unwrap_or_default();
    // The match may have ended during the call. In a resumed run, the repeated match may have ended even earlier.
    (kept.key.turn > turns && !resumed)
        .then(|| format!("expected a call of a turn up to {turns}, got turn {} of seat {}", kept.key.turn, kept.seat))
}

/// Returns true if the run was interrupted. In such a run, the calls of a repeated match may differ from the calls of
/// the interrupted match.
fn is_resumed(run: &Archive) -> bool {
    run.log.iter().any(|line| line.what == "resumed")
}

fn moves(record: &Record) -> impl Iterator<Item = &MoveRecord> {
    record.events.iter().filter_map(|event| if let RecordEvent::Move(m) = event { Some(m) } else { None })
}

/// Plays the matches of language models again. Returns the differences from the records, and a note about skipped
/// checks.
pub(super) fn replayed(
    run: &Archive,
    ground: &RebuiltPlan,
    walk: &PlanProgress,
    records: &[(Source, Record)],
) -> (Vec<RejectedRecord>, Option<String>) {
    let models = ground.specs.values().any(|spec| spec.class() == AgentClass::Model);
    if !models {
        return (Vec::new(), None);
    }
    if run.about.ludex != crate::PROGRAM {
        let by = &run.about.ludex;
        let note = format!("prompts and replies were not checked: the run was created by a different version, {by}");
        return (Vec::new(), Some(note));
    }
    if !run.about.calls_bound {
        let note = "calls are not bound to the records by digests: the run was created by an older build".to_owned();
        // Records of older builds have no digests. If all records have digests, the settings were changed.
        let digests =
            |m: &MoveRecord| m.notes.as_ref().is_some_and(|notes| notes.more.contains_key(llm::CALLS_DIGEST_NOTE));
        let asked = |m: &&MoveRecord| m.notes.as_ref().is_some_and(|notes| notes.more.contains_key("calls"));
        let mut all = records.iter().flat_map(|(_, record)| moves(record)).filter(asked).peekable();
        let forged = all.peek().is_some() && all.all(digests);
        let source = Source { file: run.place.join(ludex_report::runs::run_files::RUN).display().to_string(), line: 0 };
        let message = "calls_bound: expected true, since the records have digests of the calls, got false".to_owned();
        return (forged.then_some(RejectedRecord { source, episode: None, message }).into_iter().collect(), Some(note));
    }
    let mut readers: HashMap<(String, String), Arc<dyn Agent>> = HashMap::new();
    let mut wrong = Vec::new();
    for (source, record) in records {
        let Some(planned) = walk.of_episode(&run.about.run, &record.header.episode) else { continue };
        let part = &ground.parts[planned.part];
        let game = part.game(planned.turn);
        let specs: Vec<Option<&AgentSpec>> =
            planned.seats.iter().map(|&who| ground.specs.get(&(planned.part, who))).collect();
        let model = |spec: &Option<&AgentSpec>| spec.is_some_and(|spec| spec.class() == AgentClass::Model);
        if !specs.iter().any(model) || specs.len() != record.header.seats.len() {
            continue;
        }
        let mut seated = Vec::new();
        for (seat, spec) in specs.iter().enumerate() {
            let Some(spec) = spec.cloned() else { continue };
            let agent: Arc<dyn Agent> = if model(&Some(&spec)) {
                let key = (game.spec().string.clone(), spec.to_string());
                match readers.get(&key).cloned().map_or_else(|| llm::offline(&spec, game, run.about.wording), Ok) {
                    Ok(agent) => {
                        answer_cache::again(&part.caching, record, seat, readers.entry(key).or_insert(agent).clone())
                    }
                    // An agent that does not fit its part is reported with the settings.
                    Err(_) => continue,
                }
            } else {
                Arc::new(Scripted::of(record, seat))
            };
            seated.push(Participant { name: record.header.seats[seat].name.clone(), spec, agent });
        }
        if seated.len() < specs.len() {
            continue;
        }
        let kept = StoredCalls::new(run.calls.get(&record.header.episode).map_or(&[], Vec::as_slice), specs.len());
        let place = MatchKey::parse(&planned.key);
        let excerpt = place.map(|place| part.excerpts.of(place.index, place.turn)).unwrap_or_default();
        let asking =
            HostOptions { skip_forced: part.policy.skip_forced, journals: Some(&kept), ..HostOptions::default() };
        let again = play_match(setup(game, record, excerpt), &seated.iter().collect::<Vec<_>>(), asking);
        if let Some(message) = difference(record, &again.record, again.failure) {
            let episode = Some(record.header.episode.clone());
            wrong.push(RejectedRecord { source: source.clone(), episode, message });
            continue;
        }
        wrong.extend(kept.unused(run).into_iter().map(|line| {
            of_line(run, line, "expected a call that the replayed match makes, got a different call".to_owned())
        }));
    }
    let older = run.about.wording != llm::PROMPT_VERSION;
    let note = older.then(|| "prompts were not checked: the run uses the prompt wording of an older build".to_owned());
    (wrong, note)
}

/// Returns the setup for playing a recorded match again.
fn setup(game: &GameRef, record: &Record, excerpt: Excerpt) -> MatchSetup {
    let footer = &record.footer;
    let mut salt = [0; 16];
    // An unreadable salt or seed is reported by the verification of the record.
    let _ = hex::decode_to_slice(footer.salt.as_deref().unwrap_or_default(), &mut salt);
    let seed = footer.seed.as_deref().and_then(|seed| seed.parse().ok()).unwrap_or_default();
    MatchSetup { excerpt, ..MatchSetup::new(game.clone(), record.header.clone(), seed, salt) }
}

/// Describes the first event that differs between a record and the match played again. Times are ignored.
fn difference(record: &Record, again: &Record, failure: Option<String>) -> Option<String> {
    let [was, is] = [record, again].map(|record| record.events.iter().map(timeless).collect::<Vec<_>>());
    let at = was.iter().zip(&is).position(|(was, is)| was != is);
    if let Some(at) = at {
        return Some(format!("events[{at}] does not follow from the calls{}", differing(&was[at], &is[at])));
    }
    // A seat that timed out, resigned or lost its endpoint has no last move, but may have refused attempts.
    let cut = |event: &RecordEvent| matches!(event, RecordEvent::Move(m) if m.action.is_none() && m.document.is_none());
    let rest = was.get(is.len()..).unwrap_or_default();
    if is.len() > was.len() || !rest.iter().all(cut) {
        let why = failure
            .unwrap_or_else(|| "the record and the match played again have different numbers of moves".to_owned());
        return Some(format!("events[{}] does not follow from the calls: {why}", is.len().min(was.len())));
    }
    None
}

/// Describes the first difference between the notes of two events.
fn differing(was: &RecordEvent, is: &RecordEvent) -> String {
    let (RecordEvent::Move(was), RecordEvent::Move(is)) = (was, is) else { return String::new() };
    let notes = |m: &MoveRecord| serde_json::to_value(&m.notes).unwrap_or_default();
    let (a, b) = (notes(was), notes(is));
    let names = a.as_object().into_iter().chain(b.as_object()).flat_map(|map| map.keys());
    let first = names.filter(|name| a[name.as_str()] != b[name.as_str()]).min();
    first.map_or_else(String::new, |name| format!(": expected {name} {}, got {}", b[name.as_str()], a[name.as_str()]))
}

/// Returns an event without times.
fn timeless(event: &RecordEvent) -> RecordEvent {
    let mut event = event.clone();
    if let RecordEvent::Move(m) = &mut event {
        m.ms = 0;
        m.tries.iter_mut().for_each(|attempt| attempt.ms = 0);
    }
    event
}

/// Agent that repeats the moves of a seat from a record.
struct Scripted {
    answers: HashMap<(u32, usize), MoveReply>,
}

impl Scripted {
    fn of(record: &Record, seat: usize) -> Scripted {
        let answers = answer_cache::answers(record, seat).map(|(turn, attempt, mv, notes)| {
            ((turn, attempt), MoveReply { mv, notes: notes.cloned().unwrap_or_default() })
        });
        Scripted { answers: answers.collect() }
    }
}

impl Agent for Scripted {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let answer = self.answers.get(&(ask.turn, ask.attempts().len())).cloned();
        answer.ok_or_else(|| AgentError::infrastructure("expected another move of this seat in the record, got none"))
    }
}

/// Stored calls of an episode as read-only journals.
struct StoredCalls<'a>(Vec<SeatCalls<'a>>);

struct SeatCalls<'a> {
    /// Last call of each key. Calls of an interrupted match may be followed by the calls of its repetition.
    calls: HashMap<String, &'a CallLine>,
    /// Calls that were replaced by later calls with the same key.
    old: Vec<&'a CallLine>,
    used: Mutex<HashSet<String>>,
}

impl<'a> StoredCalls<'a> {
    fn new(lines: &'a [CallLine], seats: usize) -> Self {
        let seat = |seat: usize| {
            let (mut calls, mut old) = (HashMap::new(), Vec::new());
            // Lines are ordered by key, then by position in the file.
            for line in lines.iter().filter(|line| line.seat == seat) {
                old.extend(calls.insert(line.key.to_string(), line));
            }
            SeatCalls { calls, old, used: Mutex::default() }
        };
        StoredCalls((0..seats).map(seat).collect())
    }

    /// Returns the calls that playing the match again did not use; none for resumed runs.
    fn unused(&self, run: &Archive) -> Vec<&'a CallLine> {
        let mut out = Vec::new();
        if is_resumed(run) {
            return out;
        }
        for seat in &self.0 {
            let used = seat.used.lock();
            out.extend(seat.calls.iter().filter(|(key, _)| !used.contains(*key)).map(|(_, line)| *line));
            out.extend(&seat.old);
        }
        out.sort_unstable_by_key(|line| line.line);
        out
    }
}

impl Journals for StoredCalls<'_> {
    fn of(&self, seat: usize) -> &dyn Journal {
        &self.0[seat]
    }
}

impl Journal for SeatCalls<'_> {
    fn find(&self, key: &str) -> Option<Value> {
        let call = serde_json::to_value(&self.calls.get(key)?.call).ok()?;
        self.used.lock().insert(key.to_owned());
        Some(call)
    }

    fn keep(&self, _: &str, _: &Value) -> Result<(), String> {
        Err("cannot write: the journal is read-only".to_owned())
    }
}
