//! A question as text: the position, the moves so far, the legal moves. All of it is made from the [`Ask`], so it cannot
//! show anything that the seat does not know.

use ludex_env::erased::DynView;
use ludex_env::{Action, Ask, DynState, GameRef, Mover, Past, Turn};
use serde_json::Value;

/// Runs of at least this many numbers are shown by their ends.
const RUN: usize = 8;

/// The position in words, rows and columns of its board exchanged if asked for.
pub(super) fn text(view: &dyn DynView, swap: bool) -> String {
    let text = view.text();
    let mut text = if swap { swapped(&text).unwrap_or(text) } else { text };
    // One line of numbers means little by itself; the fields' names say what they are.
    if text.trim().lines().count() == 1 {
        text = format!("{}\nThe same as data: {}", text.trim_end(), view.value());
    }
    text.trim_end().trim_matches('\n').to_owned()
}

/// The text with the rows and columns of its board exchanged; `None` if it has no plain grid: three or more lines of three
/// or more cells, of one length, of one sign each, without labels.
pub(super) fn swapped(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let width = |l: &str| l.chars().count();
    let cells = |l: &str| width(l) > 2 && l.chars().all(|c| !c.is_whitespace() && !c.is_ascii_digit());
    let start = lines.windows(2).position(|w| cells(w[0]) && cells(w[1]) && width(w[0]) == width(w[1]))?;
    let wide = width(lines[start]);
    let tall = lines[start..].iter().take_while(|l| cells(l) && width(l) == wide).count();
    if tall < 3 {
        return None;
    }
    let grid: Vec<Vec<char>> = lines[start..start + tall].iter().map(|l| l.chars().collect()).collect();
    let turned = (0..wide).map(|column| grid.iter().map(|row| row[column]).collect::<String>());
    let before = lines[..start].iter().map(|l| (*l).to_owned());
    let after = lines[start + tall..].iter().map(|l| (*l).to_owned());
    Some(before.chain(turned).chain(after).collect::<Vec<_>>().join("\n"))
}

/// The legal moves by their texts: on one line where no text has a comma in it, else on a line each. Runs of numbers are
/// shown by their ends.
pub(super) fn legal(ask: &Ask<'_>, view: &dyn DynView) -> String {
    let texts: Vec<String> = ask.legal.iter().map(|&a| view.action_text(ask.seat, a)).collect();
    let separator = if texts.iter().any(|t| t.contains(',')) { "\n" } else { ", " };
    let mut told: Vec<String> = Vec::new();
    let mut rest = &texts[..];
    while let Some(first) = rest.first() {
        let run = run(rest);
        if run >= RUN {
            told.push(format!("{first} to {} (every whole number)", rest[run - 1]));
        } else {
            told.extend_from_slice(&rest[..run]);
        }
        rest = &rest[run..];
    }
    told.join(separator)
}

/// How many texts at the beginning differ only in a number that grows by one. At least 1.
fn run(texts: &[String]) -> usize {
    let mut count = 1;
    while count < texts.len() && follows(&texts[count - 1], &texts[count]) {
        count += 1;
    }
    count
}

fn follows(a: &str, b: &str) -> bool {
    let (Some((before, n, after)), Some((before_b, m, after_b))) = (parted(a), parted(b)) else { return false };
    (before, after) == (before_b, after_b) && n.checked_add(1) == Some(m)
}

/// A text in three parts: before its last number, the number, and after it. Texts with
/// several numbers (places, mostly) and numbers with leading zeros do not count.
fn parted(text: &str) -> Option<(&str, u64, &str)> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = text[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let digits = &text[start..end];
    let alone = !text[..start].contains(|c: char| c.is_ascii_digit());
    (alone && (digits == "0" || !digits.starts_with('0'))).then_some(())?;
    Some((&text[..start], digits.parse().ok()?, &text[end..]))
}

/// The schema that a document of this turn must fit; `None` where no documents are heard.
pub(super) fn schema(ask: &Ask<'_>, view: &dyn DynView) -> Option<Value> {
    let proposals = view.spec().proposals.as_ref()?;
    let world = view.world(&mut ask.stream());
    proposals.get(world.schema(ask.seat)?).cloned()
}

/// The last `most` moves and outcomes that the seat saw, one line each, oldest first.
///
/// What an action is called can depend on the position, so the episode is played again where the seat knows all of it;
/// where it does not, the moves are named as they would be now, and hidden ones and outcomes are left out.
pub(super) fn history(game: &GameRef, ask: &Ask<'_>, view: &dyn DynView, most: usize) -> Vec<String> {
    let past = ask.past().unwrap_or_default();
    let mut lines = replayed(game, past).unwrap_or_else(|| named(past, view));
    lines.drain(..lines.len().saturating_sub(most));
    lines
}

fn named(past: &[Past], view: &dyn DynView) -> Vec<String> {
    let line = |p: &Past| match (p.by, p.action) {
        (Mover::Seat(seat), Some(a)) => Some(format!("{}: {}", seat_name(view, seat), view.action_text(seat, a))),
        // What was said, in one line.
        (Mover::Seat(seat), None) if !p.text.is_empty() => {
            let words: Vec<&str> = p.text.split_whitespace().collect();
            Some(format!("{}: {}", seat_name(view, seat), words.join(" ")))
        }
        _ => None,
    };
    past.iter().filter_map(line).collect()
}

fn replayed(game: &GameRef, past: &[Past]) -> Option<Vec<String>> {
    let mut state = game.start();
    let mut lines = Vec::new();
    let mut joint: Vec<Option<Action>> = vec![None; game.spec().players as usize];
    for p in past {
        let a = p.action?;
        lines.push(match p.by {
            Mover::Chance => format!("chance: {}", state.outcome_text(a)),
            Mover::Seat(seat) => {
                let view = state.view(ludex_env::Viewer::Seat(seat));
                format!("{}: {}", seat_name(&*view, seat), view.action_text(seat, a))
            }
        });
        step(&mut *state, p.by, a, &mut joint)?;
    }
    Some(lines)
}

/// Plays a move; the moves of seats that act together wait in `joint` until all are there.
fn step(state: &mut dyn DynState, by: Mover, a: Action, joint: &mut [Option<Action>]) -> Option<()> {
    match (state.turn(), by) {
        (Turn::Chance, Mover::Chance) => state.play_chance(a).ok(),
        (Turn::Together(seats), Mover::Seat(seat)) => {
            joint[seat] = Some(a);
            if seats.iter().all(|s| joint[s].is_some()) {
                state.play_together(joint).ok()?;
                joint.fill(None);
            }
            Some(())
        }
        (Turn::Seat(_), Mover::Seat(seat)) => state.play(seat, a).ok(),
        _ => None,
    }
}

/// What a seat is called.
pub(super) fn seat_name(view: &dyn DynView, seat: usize) -> String {
    view.spec().seats.get(seat).cloned().unwrap_or_else(|| seat.to_string())
}

/// A question as JSON text for the stand-in.
pub(super) fn metadata(ask: &Ask<'_>, view: &dyn DynView, purpose: &str) -> String {
    let mut told = serde_json::json!({
        "game": view.spec().string,
        "seat": ask.seat,
        "turn": ask.turn,
        "attempt": ask.attempts().len(),
        "legal": ask.legal,
        "view": view.value(),
        "purpose": purpose,
    });
    if let Some(past) = ask.past() {
        let by = |p: &Past| match p.by {
            Mover::Seat(seat) => Some(seat),
            Mover::Chance => None,
        };
        let all: Vec<_> = past.iter().map(|p| serde_json::json!({ "by": by(p), "action": p.action })).collect();
        told["past"] = all.into();
    }
    told.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_grids_are_turned() {
        assert_eq!(swapped("B\nabc\ndef\nghi\nthe end").as_deref(), Some("B\nadg\nbeh\ncfi\nthe end"));
        assert_eq!(swapped("ab..\ncd..\nef..").as_deref(), Some("ace\nbdf\n...\n..."));
        assert_eq!(swapped("8bbb\n7...\n abc"), None);
        assert_eq!(swapped("You are p0.\nIt is your turn."), None);
    }

    #[test]
    fn runs_of_numbers() {
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(run(&texts(&["Bet2", "Bet3", "Bet4", "Bet6"])), 3);
        assert_eq!(run(&texts(&["7,1", "7,2"])), 1, "a place is not an amount");
        assert_eq!(run(&texts(&["Fold", "Call"])), 1);
    }
}
