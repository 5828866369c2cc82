//! A random game as text: every field of every position, for review by people and comparison in tests.
//!
//! The module writes the files under `tests/data/playthroughs/`. A change of a game's behavior shows as a difference
//! in these files. Equal views of several viewers are written once. If the deal alone exceeds the length limit, the
//! file contains all moves of the game, but only the first position of each phase.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use crate::draw::{Draw, Stream};
use crate::dyn_game::DynGame;
use crate::dyn_state::DynState;
use crate::game::{Action, EventView, Mover, Outcomes, Seat, ToMove, Viewer};

/// Maximum number of moves and chance outcomes written if the deal alone exceeds the length limit.
const WHOLE: usize = 2_000;

/// Plays a random game under `seed` and returns its text, up to `most` moves and chance outcomes. If more than `most`
/// outcomes precede the first move, returns all moves of the game, but only the first position of each phase.
///
/// Chance follows the seed as in episode 0; the moves are random, from a separate stream.
pub fn playthrough(game: &dyn DynGame, seed: u64, most: usize) -> String {
    let mut out = String::new();
    head(&mut out, game, seed);
    let (mut rng, mut draw) = begin(game, seed);
    let mut s = game.start();
    let whole = opening(game, seed, most) > most;
    let most = if whole { WHOLE } else { most };
    let mut phases = BTreeSet::new();
    for k in 0..=most {
        let _ = writeln!(out, "\n# {k}");
        if !whole || phases.insert(s.phase()) {
            position(&mut out, &*s);
        }
        if s.turn() == ToMove::Over || k == most {
            break;
        }
        let before = s.boxed();
        let events = step(&mut *s, &mut draw, &mut rng);
        write_events(&mut out, &*before, &events, &*s);
    }
    out
}

/// Returns a seat to move and its structured view, after `turns` random turns or before the last turn of a shorter
/// game. Plays the same game as [`playthrough`] for the same `seed`.
pub fn example(game: &dyn DynGame, seed: u64, turns: usize) -> (Seat, Value) {
    let (mut rng, mut draw) = begin(game, seed);
    let (mut s, mut shown) = (game.start(), (0, Value::Null));
    let mut left = turns;
    while s.turn() != ToMove::Over {
        if let Some(seat) = s.turn().seats().iter().next() {
            shown = (seat, s.view(Viewer::Seat(seat)).value());
            if left == 0 {
                break;
            }
            left -= 1;
        }
        step(&mut *s, &mut draw, &mut rng);
    }
    shown
}

/// Returns the sources of moves and chance for the game under `seed`.
fn begin(game: &dyn DynGame, seed: u64) -> (Stream, Draw) {
    (Stream::from_text(&format!("ludex.v1:playthrough:{}:{seed}", game.id())), Draw::new(game.id(), seed, 0))
}

/// Returns the number of chance outcomes before the first move, at most `most` + 1.
fn opening(game: &dyn DynGame, seed: u64, most: usize) -> usize {
    let (mut rng, mut draw) = begin(game, seed);
    let (mut s, mut n) = (game.start(), 0);
    while s.turn() == ToMove::Chance && n <= most {
        step(&mut *s, &mut draw, &mut rng);
        n += 1;
    }
    n
}

fn head(out: &mut String, game: &dyn DynGame, seed: u64) {
    let spec = game.spec();
    let _ = writeln!(out, "{} (rules {}), seed {seed}", spec.string, spec.rules);
    let _ = writeln!(out, "seats: {}", spec.seats.join(", "));
    let word = |v: &dyn std::fmt::Debug| format!("{v:?}").to_lowercase();
    let _ = writeln!(
        out,
        "dynamics {}, chance {}, information {}, utility {}, rewards {}",
        word(&spec.dynamics),
        word(&spec.chance),
        word(&spec.information),
        word(&spec.utility),
        word(&spec.rewards)
    );
    let _ = writeln!(
        out,
        "returns {} to {}, at most {} moves, {} actions, {} chance outcomes",
        spec.min_return, spec.max_return, spec.max_length, spec.actions, spec.max_chance
    );
    for (name, t) in [&spec.views.tensor, &spec.views.info].into_iter().flatten().flatten() {
        let parts: Vec<String> = t.parts.iter().map(|p| format!("{} {}", p.name, p.len)).collect();
        let _ = writeln!(out, "{name}: {:?} {:?}, {} to {}: {}", t.d, t.s, t.low, t.high, parts.join(", "));
    }
}

fn names(who: &[Viewer]) -> String {
    let name = |v: &Viewer| match v {
        Viewer::Seat(seat) => seat.to_string(),
        Viewer::Public => "public".to_owned(),
    };
    who.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Writes the text from `show` for every viewer. Viewers with equal texts share one entry.
fn each(out: &mut String, players: Seat, what: &str, show: impl Fn(Viewer) -> String) {
    let mut groups: Vec<(String, Vec<Viewer>)> = Vec::new();
    for who in (0..players).map(Viewer::Seat).chain([Viewer::Public]) {
        let text = show(who);
        match groups.iter_mut().find(|g| g.0 == text) {
            Some(group) => group.1.push(who),
            None => groups.push((text, vec![who])),
        }
    }
    for (text, who) in groups {
        let to = if who.len() == players + 1 { "all".to_owned() } else { names(&who) };
        if text.contains('\n') {
            let _ = writeln!(out, "{what} for {to}:\n    {}", text.trim_end().replace('\n', "\n    "));
        } else if !text.is_empty() {
            let _ = writeln!(out, "{what} for {to}: {text}");
        }
    }
}

fn position(out: &mut String, s: &dyn DynState) {
    let spec = s.spec();
    let players = spec.players as Seat;
    let _ =
        writeln!(out, "turn: {}{}", turn_text(s.turn()), s.phase().map(|p| format!(", phase {p}")).unwrap_or_default());
    let _ = writeln!(out, "returns: {:?}", s.returns());
    for seat in s.turn().seats().iter() {
        let view = s.view(Viewer::Seat(seat));
        let legal: Vec<String> =
            s.legal_list(seat).iter().map(|&a| format!("{a} {}", view.action_text(seat, a))).collect();
        let _ = writeln!(out, "legal for {seat}: {}", legal.join(", "));
    }
    let mut outcomes = Outcomes::new();
    s.chance(&mut outcomes);
    if s.turn() == ToMove::Chance {
        let list: Vec<String> =
            outcomes.probabilities().map(|(a, p)| format!("{a} {} ({p:.6})", s.outcome_text(a))).collect();
        let _ = writeln!(out, "outcomes: {}", list.join(", "));
    }
    each(out, players, "view", |who| s.view(who).value().to_string());
    each(out, players, "text", |who| s.view(who).text());
    if let Some((name, t)) = spec.views.tensor.as_ref().and_then(|t| t.iter().next()) {
        each(out, players, name, |who| {
            let mut bytes = vec![0; t.bytes()];
            s.tensor(who, &mut bytes);
            cells(&bytes)
        });
    }
    if let Some((name, t)) = spec.views.info.as_ref().and_then(|t| t.iter().next()) {
        each(out, players, name, |who| {
            let mut bytes = vec![0; t.bytes()];
            s.info(who, &mut bytes);
            cells(&bytes)
        });
    }
}

/// Formats an array. Small arrays of small numbers are written completely, all other arrays as runs of equal nonzero
/// cells.
fn cells(bytes: &[u8]) -> String {
    if bytes.len() <= 128 && bytes.iter().all(|&b| b < 10) {
        return bytes.iter().map(|b| char::from(b'0' + b)).collect();
    }
    let mut at = 0;
    let mut set = Vec::new();
    for run in bytes.chunk_by(|a, b| a == b) {
        match (run[0], run.len()) {
            (0, _) => {}
            (v, 1) => set.push(format!("{at}={v}")),
            (v, n) => set.push(format!("{at}-{}={v}", at + n - 1)),
        }
        at += run.len();
    }
    format!("[{}]", set.join(" "))
}

/// Formats `turn` for a playthrough file, in which a simultaneous turn is `Together`.
fn turn_text(turn: ToMove) -> String {
    match turn {
        ToMove::Simultaneous(seats) => format!("Together({seats:?})"),
        turn => format!("{turn:?}"),
    }
}

/// Plays the next event and returns its movers and actions.
fn step(s: &mut dyn DynState, draw: &mut Draw, rng: &mut Stream) -> Vec<(Mover, Action)> {
    match s.turn() {
        ToMove::Over => Vec::new(),
        ToMove::Chance => {
            let mut outcomes = Outcomes::new();
            s.chance(&mut outcomes);
            let a = draw.pick(&outcomes).unwrap_or(0);
            s.play_unchecked(a);
            vec![(Mover::Chance, a)]
        }
        ToMove::Seat(seat) => {
            let a = s.random_action(seat, rng);
            s.play_unchecked(a);
            vec![(Mover::Seat(seat), a)]
        }
        ToMove::Simultaneous(set) => {
            let mut joint = vec![0; s.spec().players as usize];
            set.iter().for_each(|seat| joint[seat] = s.random_action(seat, rng));
            s.play_together_unchecked(&joint);
            set.iter().map(|seat| (Mover::Seat(seat), joint[seat])).collect()
        }
    }
}

fn write_events(out: &mut String, before: &dyn DynState, events: &[(Mover, Action)], after: &dyn DynState) {
    let players = before.spec().players as Seat;
    for &(by, a) in events {
        let by_name = match by {
            Mover::Chance => "chance".to_owned(),
            Mover::Seat(seat) => seat.to_string(),
        };
        let _ = writeln!(out, "> {by_name} plays {a}");
        each(out, players, "  seen", |who| {
            let EventView { action, text } = before.seen(who, by, a);
            let id = action.map(|a| format!("{a} ")).unwrap_or_default();
            format!("{id}{}", text.unwrap_or_else(|| "nothing".into()))
        });
    }
    each(out, players, "  reveals", |who| {
        after.reveals(who).into_iter().map(|(text, data)| format!("{text} {data}")).collect::<Vec<_>>().join("; ")
    });
}
