//! Text of a move request: the position, the moves so far and the legal moves. All of it comes from the
//! [`MoveRequest`], so it reveals nothing that the seat does not know.

use std::collections::{BTreeMap, HashSet};

use ludex_env::dyn_state::DynView;
use ludex_env::{Action, DynState, GameRef, MoveRequest, Mover, ObservedMove, ToMove, Viewer};
use ludex_protocol::spec::Dynamics;
use serde_json::Value;

use super::relabel::Relabel;

/// Minimum number of moves that are summarized by number ranges. Such moves differ only in their numbers.
const MANY: usize = 16;

/// Returns the position as text. If `swap` is true, exchanges the rows and columns of the board.
pub(super) fn text(view: &dyn DynView, swap: bool) -> String {
    let text = view.drawing(Viewer::Public);
    let mut text = if swap { transpose_board(&text).unwrap_or(text) } else { text };
    // One line of numbers is hard to interpret; the field names explain it.
    if text.trim().lines().count() == 1 {
        text = format!("{}\nThe same as data: {}", text.trim_end(), view.value());
    }
    text.trim_end().trim_matches('\n').to_owned()
}

/// Exchanges the rows and columns of the board in a text. Returns `None` unless the text contains a board of at least
/// three rows with column names above it. Row names on the left are optional.
pub(super) fn transpose_board(text: &str) -> Option<String> {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let cells = |line: &[&str]| line.iter().all(|cell| cell.chars().count() == 1);
    let fits = |at: usize, left: usize| {
        let wide = lines[at].len();
        let row = |line: &&Vec<&str>| line.len() == wide + left && cells(&line[left..]);
        let tall = lines[at + 1..].iter().take_while(row).count();
        (wide > 2 && tall > 2).then_some((at, left, tall))
    };
    // Without row names, only numbered columns can be distinguished from a row of the board.
    let numbered = |at: usize| lines[at].iter().enumerate().all(|(k, name)| *name == k.to_string());
    let all = 0..lines.len();
    let (at, left, tall) = all.filter_map(|at| fits(at, 1).or(fits(at, 0).filter(|_| numbered(at)))).next()?;
    let rows = &lines[at + 1..at + 1 + tall];
    let head: Vec<String> = rows.iter().map(|row| if left == 1 { row[0] } else { "" }.to_owned()).collect();
    let across = |column: usize| rows.iter().map(move |row| row[left + column].to_owned()).collect::<Vec<_>>();
    let wide = head.iter().map(String::len).max().unwrap_or(0).max(1);
    let names = lines[at].iter().map(|name| name.len()).max().unwrap_or(0);
    let line = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>wide$}")).collect();
        format!("{name:>names$}{cells}")
    };
    let mut out: Vec<String> = text.lines().take(at).map(str::to_owned).collect();
    out.extend((left == 1).then(|| line("", &head)));
    out.extend(lines[at].iter().enumerate().map(|(column, name)| line(name, &across(column))));
    out.extend(text.lines().skip(at + 1 + tall).map(str::to_owned));
    Some(out.join("\n"))
}

/// Legal moves as a prompt lists them.
#[derive(Default)]
pub(super) struct LegalMoveList {
    pub(super) moves: String,
    /// True if some moves are followed by an explanation in parentheses.
    pub(super) explained: bool,
    /// True if some lines summarize many moves.
    pub(super) patterns: bool,
}

/// Returns true if this seat moves simultaneously with other seats.
pub(super) fn is_simultaneous(ask: &MoveRequest<'_>, view: &dyn DynView) -> bool {
    match view.spec().dynamics {
        Dynamics::Simultaneous => true,
        Dynamics::Sequential => false,
        _ => matches!(view.world(&mut ask.stream()).turn(), ToMove::Simultaneous(seats) if seats.iter().count() > 1),
    }
}

/// Returns the text of an action as prompts list it.
pub(super) fn action_text(ask: &MoveRequest<'_>, view: &dyn DynView, names: Option<&Relabel>, a: Action) -> String {
    let text = view.action_text(ask.seat, a);
    // In OpenSpiel's texts, an utterance that follows a proposal starts with a comma, which is removed here.
    let text = text.trim_start_matches([',', ' ']);
    names.map_or_else(|| text.to_owned(), |names| names.of_move(text))
}

/// Formats the legal moves for a prompt.
///
/// Many moves that differ only in numbers are summarized on one line. A move with an explanation has its own line. All
/// other moves share one line unless commas would make it ambiguous; then each has its own line.
pub(super) fn legal(ask: &MoveRequest<'_>, view: &dyn DynView, names: Option<&Relabel>) -> LegalMoveList {
    let renamed = |text: &str| names.map_or_else(|| text.to_owned(), |names| names.of_move(text));
    let name = |&a: &Action| action_text(ask, view, names, a);
    let gloss = |&a: &Action| renamed(&view.gloss(ask.seat, a));
    let mut moves: Vec<[String; 2]> = ask.legal.iter().map(|a| [name(a), gloss(a)]).collect();
    if names.is_some() {
        // The usual order would reveal the usual names.
        moves.sort_by_cached_key(|[text, _]| numbers(text));
    }
    let texts: Vec<String> = moves.iter().map(|[text, _]| text.clone()).collect();
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        kinds.entry(shape(text)).or_default().push(at);
    }
    let mut told: Vec<(usize, String)> = Vec::new();
    let mut alone: Vec<usize> = Vec::new();
    for members in kinds.into_values().flat_map(|members| runs(&texts, members)) {
        let names: Vec<&str> = members.iter().map(|&at| texts[at].as_str()).collect();
        match together(&names) {
            Some(line) => told.push((members[0], line)),
            None => alone.extend(members),
        }
    }
    let patterns = !told.is_empty();
    alone.sort_unstable();
    let gloss = |&at: &usize| Some((at, moves[at][1].clone())).filter(|(_, gloss)| !gloss.is_empty());
    let glossed: Vec<(usize, String)> = alone.iter().filter_map(gloss).collect();
    let explained = !glossed.is_empty();
    let plain: Vec<&str> = alone
        .iter()
        .filter(|at| !glossed.iter().any(|(glossed, _)| glossed == *at))
        .map(|&at| texts[at].as_str())
        .collect();
    told.extend(glossed.into_iter().map(|(at, gloss)| (at, format!("{} ({gloss})", texts[at]))));
    let has = |sign: char| plain.iter().any(|text| text.contains(sign));
    let separator = match (has(','), has(';')) {
        (false, _) => ", ",
        (true, false) if plain.len() >= MANY => "; ",
        (true, _) => "\n",
    };
    let first = alone.iter().find(|&&at| plain.first() == Some(&texts[at].as_str())).copied();
    told.extend(first.map(|at| (at, plain.join(separator))));
    told.sort_by_key(|(at, _)| *at);
    let lines: Vec<String> = told.into_iter().map(|(_, line)| line).collect();
    LegalMoveList { moves: lines.join("\n"), explained, patterns }
}

/// Replaces each number in a text by a placeholder.
fn shape(text: &str) -> String {
    pieces(text).map(|piece| if is_number(piece) { "\0" } else { piece }).collect()
}

/// Splits moves that differ only in one number into runs without gaps. For example, there is a gap between a call of 0
/// and the minimum raise.
fn runs(texts: &[String], members: Vec<usize>) -> Vec<Vec<usize>> {
    let only = |at: usize| -> Option<u64> {
        let mut numbers = pieces(&texts[at]).filter(|p| is_number(p));
        numbers.next()?.parse().ok().filter(|_| numbers.next().is_none())
    };
    let mut out: Vec<Vec<usize>> = Vec::new();
    for at in members {
        let follows =
            |last: usize| only(at).is_none_or(|n| only(last).is_some_and(|before| before.checked_add(1) == Some(n)));
        match out.last_mut() {
            Some(run) if run.last().is_some_and(|&last| follows(last)) => run.push(at),
            _ => out.push(vec![at]),
        }
    }
    out
}

/// Returns a sort key by which texts with the same words are in the order of their numbers.
fn numbers(text: &str) -> Vec<(u64, String)> {
    pieces(text).map(|piece| (piece.parse().unwrap_or(0), piece.to_owned())).collect()
}

fn is_number(piece: &str) -> bool {
    piece.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits a text into its numbers and the texts between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let digit = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Summarizes on one line moves that differ only in their numbers. The moves must be all combinations of number ranges,
/// apart from a few exceptions or an upper bound. Otherwise, or if there are too few moves, returns `None`.
fn together(texts: &[&str]) -> Option<String> {
    if texts.len() < MANY {
        return None;
    }
    let rows: Vec<Vec<&str>> = texts.iter().map(|text| pieces(text).filter(|p| is_number(p)).collect()).collect();
    let ranges: Vec<Vec<&str>> = (0..rows[0].len()).map(|k| range(&rows, k)).collect::<Option<_>>()?;
    let count = ranges.iter().map(Vec::len).try_fold(1usize, usize::checked_mul)?;
    let lacking = count.checked_sub(texts.len())?;
    if lacking > 2 * texts.len() {
        return None;
    }
    let there: HashSet<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    let mut missing: Vec<Vec<&str>> = Vec::new();
    let mut after_last = true;
    let last = rows.last()?;
    let digits = |row: &[&str]| -> Vec<u64> { row.iter().filter_map(|n| n.parse().ok()).collect() };
    for n in 0..count {
        let mut rest = n;
        let mut row: Vec<&str> = ranges
            .iter()
            .rev()
            .map(|range| {
                let digit = range[rest % range.len()];
                rest /= range.len();
                digit
            })
            .collect();
        row.reverse();
        if !there.contains(row.as_slice()) {
            after_last &= digits(&row) > digits(last);
            missing.push(row);
        }
    }
    let few = lacking * 4 <= texts.len();
    if !missing.is_empty() && !after_last && !few {
        return None;
    }
    let mut letters = ('A'..='Z').filter(|letter| !texts[0].contains(*letter));
    let mut names: Vec<String> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for range in &ranges {
        if let [only] = range[..] {
            names.push(only.to_owned());
            continue;
        }
        let letter = letters.next()?;
        names.push(letter.to_string());
        told.push(format!("{letter} from {} to {}", range[0], range[range.len() - 1]));
    }
    let filled = |numbers: &[&str]| -> String {
        let mut numbers = numbers.iter();
        pieces(texts[0]).map(|p| if is_number(p) { numbers.next().copied().unwrap_or_default() } else { p }).collect()
    };
    let pattern = filled(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut line = format!("{pattern} with every whole number {}", told.join(" and every "));
    if !missing.is_empty() && after_last {
        line += &format!(", up to {}", texts[texts.len() - 1]);
    } else if !missing.is_empty() {
        let all: Vec<String> = missing.iter().map(|row| filled(row)).collect();
        line += &format!(", but not {}", all.join("; "));
    }
    Some(line)
}

/// Returns the distinct numbers in column `place` of `rows`, ascending; `None` unless they are consecutive and have the
/// same format.
fn range<'t>(rows: &[Vec<&'t str>], place: usize) -> Option<Vec<&'t str>> {
    let mut all: Vec<(u64, &str)> =
        rows.iter().map(|row| Some((row[place].parse().ok()?, row[place]))).collect::<Option<_>>()?;
    all.sort_unstable();
    all.dedup();
    let steps = all.windows(2).all(|two| two[1].0 == two[0].0 + 1);
    let width = all[0].1.len();
    let alike = all.iter().all(|(n, text)| n.to_string() == *text) || all.iter().all(|(_, text)| text.len() == width);
    (steps && alike).then(|| all.into_iter().map(|(_, text)| text).collect())
}

/// Returns the schema of documents that the seat may submit in this turn; `None` if documents are not accepted.
pub(super) fn schema(ask: &MoveRequest<'_>, view: &dyn DynView) -> Option<Value> {
    let schemas = view.spec().document_schemas.as_ref()?;
    let world = view.world(&mut ask.stream());
    schemas.get(world.schema(ask.seat)?).cloned()
}

/// Returns the last `most` moves and outcomes that the seat observed, one per line, oldest first.
///
/// Action texts can depend on the position, so the episode is played again if the seat has observed every move.
/// Otherwise the texts are those of the current position, and hidden moves and outcomes are omitted.
pub(super) fn history(game: &GameRef, ask: &MoveRequest<'_>, view: &dyn DynView, most: usize) -> Vec<String> {
    let past = ask.past().unwrap_or_default();
    let mut lines = replay_lines(game, past).unwrap_or_else(|| action_lines(past, view));
    lines.drain(..lines.len().saturating_sub(most));
    lines
}

fn action_lines(past: &[ObservedMove], view: &dyn DynView) -> Vec<String> {
    let line = |p: &ObservedMove| match (p.by, p.action) {
        (Mover::Seat(seat), Some(a)) => Some(format!("{}: {}", seat_name(view, seat), view.action_text(seat, a))),
        // Free text on one line. Some games start it with the seat's name.
        (Mover::Seat(seat), None) if !p.text.is_empty() => {
            let words = p.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let name = seat_name(view, seat);
            let own = words.strip_prefix(&format!("{name}: ")).map(|own| Value::from(own).to_string());
            Some(format!("{name}: {}", own.unwrap_or(words)))
        }
        _ => None,
    };
    past.iter().filter_map(line).collect()
}

fn replay_lines(game: &GameRef, past: &[ObservedMove]) -> Option<Vec<String>> {
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

/// Plays one recorded move. Actions of a simultaneous move are collected in `joint` until all seats have one.
fn step(state: &mut dyn DynState, by: Mover, a: Action, joint: &mut [Option<Action>]) -> Option<()> {
    match (state.turn(), by) {
        (ToMove::Chance, Mover::Chance) => state.play_chance(a).ok(),
        (ToMove::Simultaneous(seats), Mover::Seat(seat)) => {
            joint[seat] = Some(a);
            if seats.iter().all(|s| joint[s].is_some()) {
                state.play_together(joint).ok()?;
                joint.fill(None);
            }
            Some(())
        }
        (ToMove::Seat(_), Mover::Seat(seat)) => state.play(seat, a).ok(),
        _ => None,
    }
}

/// Returns the name of a seat.
pub(super) fn seat_name(view: &dyn DynView, seat: usize) -> String {
    view.spec().seats.get(seat).cloned().unwrap_or_else(|| seat.to_string())
}

/// Returns the move request as JSON text, for the stub model.
pub(super) fn metadata(ask: &MoveRequest<'_>, view: &dyn DynView, purpose: &str, names: Option<&Relabel>) -> String {
    let mut told = serde_json::json!({
        "game": view.spec().string,
        "seat": ask.seat,
        "turn": ask.turn,
        "attempt": ask.attempts().len(),
        "legal": ask.legal,
        "view": view.value(),
        "purpose": purpose,
    });
    if let Some(names) = names {
        let texts = ask.legal.iter().map(|&a| names.of_move(&view.action_text(ask.seat, a)));
        told["names"] = texts.collect::<Vec<_>>().into();
    }
    if let Some(past) = ask.past() {
        let by = |p: &ObservedMove| match p.by {
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
    fn transposed_board_has_exchanged_rows_and_columns() {
        let named = transpose_board("B\n  0 1 2\n0 a b c\n1 d e f\n2 g h i\nthe end");
        assert_eq!(named.as_deref(), Some("B\n  0 1 2\n0 a d g\n1 b e h\n2 c f i\nthe end"));
        let unnamed = transpose_board(" 0 1 2\n a b c\n d e f\n g h i");
        assert_eq!(unnamed.as_deref(), Some("0 a d g\n1 b e h\n2 c f i"));
        for text in
            ["8 r n b\n7 p p p\n6 . . .\n5 . . .\n  a b c", "You are p0.\nIt is your turn.", "  0 1\n0 a b\n1 c d"]
        {
            assert_eq!(transpose_board(text), None, "{text}");
        }
    }

    #[test]
    fn moves_that_differ_in_numbers_share_one_line() {
        let line = |all: Vec<String>| together(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let bets = (200..=20_000).map(|n| format!("Bet{n}")).collect();
        assert_eq!(line(bets).as_deref(), Some("BetA with every whole number A from 200 to 20000"));
        let words = (0..25).map(|n| format!("Say: [{}, 1, {}]", n / 5, n % 5)).collect();
        let told = "Say: [A, 1, B] with every whole number A from 0 to 4 and every B from 0 to 4";
        assert_eq!(line(words).as_deref(), Some(told));
        let cents = (0..=325).map(|n| format!("bid: {}.{:02}", n / 100, n % 100)).collect();
        let told = "bid: A.B with every whole number A from 0 to 3 and every B from 00 to 99, up to bid: 3.25";
        assert_eq!(line(cents).as_deref(), Some(told));
        let points = (0..25).filter(|n| *n != 12).map(|n| format!("{},{}", n / 5, n % 5)).collect();
        let told = "A,B with every whole number A from 0 to 4 and every B from 0 to 4, but not 2,2";
        assert_eq!(line(points).as_deref(), Some(told));
        let raises: Vec<String> = [0].into_iter().chain(150..200).map(|n: u32| n.to_string()).collect();
        let cut = runs(&raises, (0..raises.len()).collect());
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [1, 50]);
        assert_eq!(line((0..9).map(|n| n.to_string()).collect()), None, "few");
        assert_eq!(line((0..40).map(|n| (n * n).to_string()).collect()), None, "gaps");
        assert_eq!(line((0..20).map(|n| format!("{n},{n}")).collect()), None, "a line, not a field");
    }
}
