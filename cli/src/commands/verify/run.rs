//! Verifying a run or its bundle: each record by itself and against the run's settings, and the calls.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write as _};

use ludex_protocol::record::{Reason, Record, RecordEvent};
use ludex_referee::read::{Found, Lines, Refused, Source};

use super::{print, records};
use ludex_play::runs::archive::Archive;
use ludex_play::runs::bundle;
use ludex_play::runs::episode::{AGAIN, MatchPlace};
use ludex_play::runs::lines::{CALLS, CallLine};

/// A run, and what is wrong with its sums.
pub(super) struct Read {
    pub(super) run: Archive,
    sums: Vec<Refused>,
    /// Whether there were sums to check.
    summed: bool,
}

/// What was found.
pub(super) struct Verdict {
    /// Matches that are true.
    pub(super) good: usize,
    pub(super) refused: Vec<Refused>,
}

/// The run or bundle that is named; `None` if neither is.
pub(super) fn read(from: &records::From) -> anyhow::Result<Option<Read>> {
    if let Some(file) = from.only_file().filter(|file| bundle::is_bundle(file)) {
        let files = bundle::read(file)?;
        let (sums, summed) = (bundle::check(file, &files), files.contains_key(bundle::SUMS));
        anyhow::ensure!(summed, "{} is not a complete bundle: {} is missing", file.display(), bundle::SUMS);
        return Ok(Some(Read { run: Archive::of_files(file, files)?, sums, summed }));
    }
    let Some(run) = from.run()? else { return Ok(None) };
    // A folder that was unpacked from a bundle has its sums too.
    let files = bundle::unpacked(&run.place)?;
    Ok(Some(Read { sums: bundle::check(&run.place, &files), summed: !files.is_empty(), run }))
}

/// Prints what is worth knowing but not a fault.
pub(super) fn notes(found: &Read) -> io::Result<()> {
    let (run, mut out) = (&found.run, io::stdout().lock());
    let calls = run.calls.values().map(Vec::len).sum();
    writeln!(
        out,
        "{}: {}, {}",
        run.about.run,
        print::count(run.found.len(), "record", "records"),
        print::count(calls, "call", "calls")
    )?;
    if found.summed && found.sums.is_empty() {
        writeln!(out, "all sums of {} are right", bundle::SUMS)?;
    }
    run.cut
        .iter()
        .try_for_each(|source| writeln!(out, "{source}: cut off, as a killed process leaves it: passed over"))?;
    if !run.done() {
        let unfinished = print::count(run.unfinished().len(), "match", "matches");
        writeln!(out, "the log does not say that the run is done; {unfinished} with calls and without a record")?;
    }
    Ok(())
}

/// Checks everything. Each fault is named by file, line and episode.
pub(super) fn verify(found: &Read) -> Verdict {
    let run = &found.run;
    let mut refused = [found.sums.clone(), run.refused.clone()].concat();
    let (good, untrue) = records::verified(Lines { found: run.found.clone(), refused: Vec::new() }, None);
    let mut bad: BTreeSet<usize> = untrue.iter().map(|r| r.source.line).collect();
    refused.extend(untrue);
    let mut records: BTreeMap<String, Record> = BTreeMap::new();
    let mut twice = Twice::default();
    for item in &run.found {
        // Lines that are not records were reported before.
        let Ok(record) = item.parts.clone().record() else { continue };
        let mut wrong = of_settings(run, &record);
        wrong.extend(twice.take(run, &record));
        if !wrong.is_empty() {
            bad.insert(item.source.line);
        }
        refused.extend(wrong.into_iter().map(|message| fault(item, &record, message)));
        records.insert(record.header.episode.clone(), record);
    }
    refused.extend(calls(run, &records));
    let good = good.iter().filter(|verified| !bad.contains(&verified.source().line)).count();
    Verdict { good, refused }
}

fn fault(found: &Found, record: &Record, message: String) -> Refused {
    Refused { source: found.source.clone(), episode: Some(record.header.episode.clone()), message }
}

/// What in a record differs from the settings.
fn of_settings(run: &Archive, record: &Record) -> Vec<String> {
    let about = &run.about;
    let Some(found) = run.place_of(&record.header.episode) else {
        return vec![format!("it is not a match of {}: its name is not RUN.PART.PAIRING.INDEX.TURN", about.run)];
    };
    let mut wrong = Vec::new();
    if record.footer.run.as_deref() != Some(&about.run) {
        wrong.push(format!("it says that it belongs to {:?}", record.footer.run.as_deref().unwrap_or_default()));
    }
    let named = record.footer.seed.as_deref();
    let seed = about.seeds_of(&found.place.part).of(found.place.index).to_string();
    match named {
        None => wrong.push("it does not tell its seed".to_owned()),
        Some(named) if named != seed => wrong.push(format!("its seed is {named}, but the run's seeds give {seed}")),
        Some(_) => {}
    }
    if let Ok(game) = ludex_env::load_with(&record.header.game, &record.header.params) {
        match about.games.get(&game.spec().string) {
            Some(hash) if *hash != record.header.hash => {
                wrong.push(format!("its rules have hash {}, those of the run {hash}", record.header.hash));
            }
            None if !about.games.is_empty() => wrong.push(format!("{} is not a game of the run", game.spec().string)),
            _ => {}
        }
    }
    wrong.extend(seating(run, &found, record));
    wrong
}

/// Checks who sat there: the agents of the pairing, each on at least one seat. The suite decides on which.
fn seating(run: &Archive, found: &MatchPlace, record: &Record) -> Option<String> {
    let agents = &run.about.agents;
    let who: Option<Vec<&str>> = found.place.pairing.iter().map(|&k| agents.get(k).map(|a| a.name.as_str())).collect();
    let Some(mut who) = who else {
        return Some(format!("pairing {} names agents that are not in the run", found.pairing()));
    };
    let mut sat: Vec<&str> = record.header.seats.iter().map(|s| s.name.as_str()).collect();
    who.sort_unstable();
    // A pairing names each entrant once, and an entrant may have several seats.
    who.dedup();
    sat.sort_unstable();
    sat.dedup();
    (who != sat).then(|| format!("{} sat there, but the pairing is of {}", sat.join(", "), who.join(", ")))
}

/// Matches that are there twice.
#[derive(Default)]
struct Twice {
    /// By episode: whether it counts.
    counts: HashMap<String, bool>,
}

impl Twice {
    fn take(&mut self, run: &Archive, record: &Record) -> Option<String> {
        let episode = &record.header.episode;
        let counts = record.footer.reason.is_some_and(Reason::counts);
        if self.counts.insert(episode.clone(), counts).is_some() {
            return Some("the match is there twice".to_owned());
        }
        let first = episode.strip_suffix(AGAIN).filter(|_| run.place_of(episode).is_some())?;
        (self.counts.get(first) == Some(&true)).then(|| format!("it was played again although {first} counts"))
    }
}

/// What is wrong with the calls.
fn calls(run: &Archive, records: &BTreeMap<String, Record>) -> Vec<Refused> {
    let file = run.place.join(CALLS).display().to_string();
    let mut wrong = Vec::new();
    for (episode, calls) in &run.calls {
        let mut last: Option<&CallLine> = None;
        for kept in calls {
            // A match that was interrupted may have reached another position when it was played again. Then the model
            // was asked another question at the same place.
            let twice = last.is_some_and(|last| {
                (last.seat, last.key) == (kept.seat, kept.key) && last.call.messages == kept.call.messages
            });
            let message = match records.get(episode) {
                _ if twice => Some("the call is in the file twice".to_owned()),
                Some(record) => of_record(kept, record),
                // Until a run is done, matches that have calls may still be played.
                None if run.done() || run.place_of(episode).is_none() => {
                    Some("a call of a match without a record".to_owned())
                }
                None => None,
            };
            last = Some(kept);
            wrong.extend(message.map(|message| Refused {
                source: Source { file: file.clone(), line: kept.line },
                episode: Some(episode.clone()),
                message,
            }));
        }
    }
    wrong
}

/// Why a call cannot belong to a match.
fn of_record(kept: &CallLine, record: &Record) -> Option<String> {
    if kept.seat >= record.header.seats.len() {
        return Some(format!("a call of seat {}, which the match does not have", kept.seat));
    }
    let own = record.events.iter().filter_map(|e| if let RecordEvent::Move(m) = e { Some(m) } else { None });
    let turns = own.filter(|m| m.seat as usize == kept.seat).map(|m| m.turn + 1).max().unwrap_or_default();
    // The match may have ended while the seat was asked.
    (kept.key.turn > turns).then(|| format!("a call of turn {}, but seat {} had {turns}", kept.key.turn, kept.seat))
}
