//! Layouts of tables.

use std::collections::{BTreeMap, HashMap};

use ludex_env::MarkValue;
use ludex_referee::result::SeatMark;
use ludex_referee::rows::RowValue;

use super::cells::{Cells, MOST, Row};
use super::{Import, ImportError, ImportedMatch};

#[derive(Debug)]
pub struct TableLayout {
    pub name: &'static str,
    pub columns: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Description of a row.
    pub about: &'static str,
    /// Descriptions of columns whose names are not self-explanatory, as (columns, description).
    pub cells: &'static [(&'static str, &'static str)],
    pub(super) read: fn(&mut Import, &Cells, bool) -> Result<(), ImportError>,
}

impl PartialEq for TableLayout {
    fn eq(&self, other: &TableLayout) -> bool {
        self.name == other.name
    }
}

pub static LAYOUTS: [TableLayout; 5] = [
    TableLayout {
        name: "results",
        columns: &["part", "agent", "opponent", "wins", "draws", "losses"],
        optional: &["level", "planned", "bots", "drawn"],
        about: "wins, draws and losses of an agent against one opponent",
        cells: &[
            ("agent", "the evaluated agent; metrics have no row for an agent that appears only in `opponent`"),
            ("wins, draws, losses", "numbers of matches that the agent won, drew and lost"),
            ("level", "level of the opponent on a ladder, an integer from 0 (the lowest)"),
            (
                "planned",
                "number of planned matches, at least the number of played matches; default: the number of played matches",
            ),
            (
                "drawn",
                "yes or no: whether a draw is the best possible result at the top level of the part; equal in all rows of a part",
            ),
            ("bots", "number of bots at the level, at least 1; checked, but not used by any metric"),
        ],
        read: results,
    },
    TableLayout {
        name: "matches",
        columns: &["part", "cycle", "order", "a", "b", "score_a"],
        optional: &["return_a", "return_b", "first"],
        about: "a match; order is its position in the plan",
        cells: &[
            ("cycle, order", "integers; each pair of cycle and order is unique in a part"),
            ("a, b", "the two agents, both evaluated"),
            ("score_a", "score of a: 1, 0.5 or 0"),
            ("return_a, return_b", "returns of a and b in the game's points, numbers"),
            ("first", "`a` or `b`: the agent that moves first; default: a"),
        ],
        read: matches,
    },
    TableLayout {
        name: "scores",
        columns: &["agent", "part", "value"],
        optional: &[],
        about: "a value of an agent in a part",
        cells: &[("value", "a number")],
        read: scores,
    },
    TableLayout {
        name: "decisions",
        columns: &["agent", "part", "cycle", "match", "ply", "result", "name", "value"],
        optional: &[],
        about: "a mark of an agent's move; ply is the number of the agent's own move, from 1; result is win, draw or loss",
        cells: &[
            ("cycle", "an integer"),
            ("match", "name of the match, any text that is unique within part and cycle"),
            ("name", "name of the mark, such as `emotion`"),
            ("value", "a number or a text"),
        ],
        read: decisions,
    },
    TableLayout {
        name: "rounds",
        columns: &[
            "game",
            "agent",
            "opponent",
            "side",
            "first",
            "match",
            "round",
            "won",
            "cost",
            "budget",
            "violations",
            "changed",
            "kept",
            "value",
        ],
        optional: &[],
        about: "a round of a planning game",
        cells: &[
            ("side", "side that the agent plays, any text, such as `human`"),
            ("first, won, changed, kept", "1 or 0, also yes or no, true or false"),
            ("first", "1 if the agent revises before its opponent"),
            ("match", "name of the match, any text"),
            ("round", "number of the round, from 1"),
            ("cost, budget", "numbers"),
            ("violations", "an integer"),
            ("changed, kept", "1 if the agent revised its strategy before the round; 1 if it could but did not"),
            ("value", "a number, or empty"),
        ],
        read: rounds,
    },
];

/// Detects the layout from a table's columns.
pub(super) fn told_apart(cells: &Cells) -> Result<&'static TableLayout, ImportError> {
    let has = |column: &&&str| cells.columns.iter().any(|known| known == **column);
    let fitting = LAYOUTS.iter().filter(|layout| layout.columns.iter().all(|column| has(&column)));
    let Some(layout) = fitting.max_by_key(|layout| layout.columns.len()) else {
        let near = LAYOUTS.iter().max_by_key(|layout| layout.columns.iter().filter(has).count());
        let all: Vec<String> = LAYOUTS.iter().map(|l| format!("{} ({})", l.name, l.columns.join(", "))).collect();
        let hint = near.map_or_else(String::new, |near| {
            let missing: Vec<&str> = near.columns.iter().copied().filter(|column| !has(&column)).collect();
            format!("; {} lacks {}", near.name, missing.join(", "))
        });
        let known = all.join("; ");
        return Err(ImportError::whole(format!("expected the columns of a known table{hint}; known tables: {known}")));
    };
    let known = |name: &str| layout.columns.contains(&name) || layout.optional.contains(&name);
    match cells.columns.iter().find(|name| !known(name)) {
        None => Ok(layout),
        Some(unknown) => {
            let all = [layout.columns, layout.optional].concat().join(", ");
            Err(ImportError::at(1, unknown, format!("unknown column in a table of {}; allowed: {all}", layout.name)))
        }
    }
}

/// Records the key of a row, or returns an error if an earlier row has the same key.
fn once(seen: &mut HashMap<String, u64>, key: &[&str], row: &Row, column: &str) -> Result<(), ImportError> {
    match seen.insert(key.join("\u{1f}"), row.number) {
        None => Ok(()),
        Some(first) => Err(ImportError::at(row.number, column, {
            let named: Vec<&str> = key.iter().copied().filter(|name| !name.is_empty()).collect();
            format!("expected a unique key, but row {first} also has the key {}", named.join(", "))
        })),
    }
}

fn results(import: &mut Import, cells: &Cells, directed: bool) -> Result<(), ImportError> {
    let mut seen = HashMap::new();
    // Results of each pair, by part, names and level.
    let mut said: BTreeMap<[String; 4], ([u64; 3], u64)> = BTreeMap::new();
    let mut all = 0;
    for row in &cells.rows {
        let [part, agent, opponent] =
            [cells.text(row, "part")?, cells.text(row, "agent")?, cells.text(row, "opponent")?];
        let level = cells.get(row, "level").map(|_| cells.whole(row, "level")).transpose()?;
        let at = level.map(|level| level.to_string()).unwrap_or_default();
        let counts = [cells.whole(row, "wins")?, cells.whole(row, "draws")?, cells.whole(row, "losses")?];
        once(&mut seen, &[part, agent, opponent, &at], row, "agent")?;
        if cells.get(row, "drawn").is_some() {
            let (drawn, part) = (cells.flag(row, "drawn")?, import.part(part));
            if import.drawn.insert(part, drawn).is_some_and(|before| before != drawn) {
                let message = format!("expected {} as in the part's other rows", if drawn { "no" } else { "yes" });
                return Err(ImportError::at(row.number, "drawn", message));
            }
        }
        let played = counts.iter().sum::<u64>();
        let planned = cells.get(row, "planned").map(|_| cells.whole(row, "planned")).transpose()?.unwrap_or(played);
        if let Some(bots) = cells.get(row, "bots") {
            let n = cells.whole(row, "bots")?;
            if n == 0 {
                return Err(ImportError::at(row.number, "bots", format!("expected at least 1, got {bots:?}")));
            }
        }
        if played > planned {
            let message = format!("expected at least {played} planned matches, got {planned}");
            return Err(ImportError::at(row.number, "planned", message));
        }
        all += planned;
        if all > MOST {
            let message = format!("expected at most {MOST} matches in the table, got more");
            return Err(ImportError::at(row.number, "wins", message));
        }
        let key = |a: &str, b: &str| [part, a, b, &at].map(str::to_owned);
        let other = said.get(&key(opponent, agent)).filter(|_| !directed && agent != opponent);
        if let Some(([wins, draws, losses], first)) = other {
            if [*losses, *draws, *wins] != counts {
                let told = |[w, d, l]: [u64; 3]| format!("{w}-{d}-{l}");
                let message = format!(
                    "expected {} for {agent} against {opponent}, the reverse of row {first}, got {}; use --directed \
                     if the rows are different matches",
                    told([*losses, *draws, *wins]),
                    told(counts)
                );
                return Err(ImportError::at(row.number, "wins", message));
            }
            // An earlier row has the same matches from the opponent's side.
            import.agent(agent, true);
            continue;
        }
        said.insert(key(agent, opponent), (counts, row.number));
        let (part, a, b) = (import.part(part), import.agent(agent, true), import.agent(opponent, false));
        let kinds =
            [(counts[0], 1.0, true), (counts[1], 0.5, true), (counts[2], 0.0, true), (planned - played, 0.5, false)];
        for (n, score, valid) in kinds {
            for _ in 0..n {
                let order = import.matches.len();
                let level = level.and_then(|level| u32::try_from(level).ok());
                let of = ImportedMatch::new(part, vec![a, b], vec![score, 1.0 - score]);
                import.matches.push(ImportedMatch { order, level, valid, ..of });
            }
        }
    }
    Ok(())
}

fn matches(import: &mut Import, cells: &Cells, _: bool) -> Result<(), ImportError> {
    let mut seen = HashMap::new();
    for row in &cells.rows {
        let (cycle, order) = (cells.whole(row, "cycle")?, cells.whole(row, "order")?);
        let part = cells.text(row, "part")?;
        once(&mut seen, &[part, &cycle.to_string(), &order.to_string()], row, "order")?;
        let score = cells.number(row, "score_a")?;
        if ![0.0, 0.5, 1.0].contains(&score) {
            return Err(ImportError::at(row.number, "score_a", format!("expected 1, 0.5 or 0, got {score}")));
        }
        let first = match cells.get(row, "first") {
            None | Some("a") => 0,
            Some("b") => 1,
            Some(other) => {
                return Err(ImportError::at(row.number, "first", format!("expected `a` or `b`, got {other:?}")));
            }
        };
        if cells.text(row, "a")? == cells.text(row, "b")? {
            let message = format!("expected an agent that differs from column `a`, got {}", cells.text(row, "b")?);
            return Err(ImportError::at(row.number, "b", message));
        }
        let (a, b) = (import.agent(cells.text(row, "a")?, true), import.agent(cells.text(row, "b")?, true));
        let mut of = ImportedMatch::new(import.part(part), vec![a, b], vec![score, 1.0 - score]);
        for (seat, column) in of.seats.iter_mut().zip(["return_a", "return_b"]) {
            seat.payoff = cells.get(row, column).map(|_| cells.number(row, column)).transpose()?;
        }
        // Sorted by cycle, then by the order of the plan.
        let order = (cycle * (MOST + 1) + order) as usize;
        import.matches.push(ImportedMatch { cycle, order, first, ..of });
    }
    Ok(())
}

fn scores(import: &mut Import, cells: &Cells, _: bool) -> Result<(), ImportError> {
    let mut seen = HashMap::new();
    for row in &cells.rows {
        let (agent, part) = (cells.text(row, "agent")?, cells.text(row, "part")?);
        once(&mut seen, &[agent, part], row, "agent")?;
        let value = cells.number(row, "value")?;
        let (agent, part) = (import.agent(agent, true), import.part(part));
        import.values.push(RowValue { agent, part, value });
    }
    Ok(())
}

fn decisions(import: &mut Import, cells: &Cells, _: bool) -> Result<(), ImportError> {
    let (mut seen, mut places) = (HashMap::new(), HashMap::new());
    for row in &cells.rows {
        let [agent, part, name] = [cells.text(row, "agent")?, cells.text(row, "part")?, cells.text(row, "name")?];
        let (cycle, ply, game) = (cells.whole(row, "cycle")?, cells.whole(row, "ply")?, cells.text(row, "match")?);
        once(&mut seen, &[agent, part, &cycle.to_string(), game, &ply.to_string(), name], row, "name")?;
        let turn = u32::try_from(ply).ok().and_then(|ply| ply.checked_sub(1));
        let Some(turn) = turn else { return Err(ImportError::at(row.number, "ply", "expected a ply from 1, got 0")) };
        let result = match cells.text(row, "result")? {
            "win" => 1.0,
            "draw" => 0.0,
            "loss" => -1.0,
            other => {
                return Err(ImportError::at(
                    row.number,
                    "result",
                    format!("expected win, draw or loss, got {other:?}"),
                ));
            }
        };
        let value = cells.text(row, "value")?;
        let (who, part) = (import.agent(agent, true), import.part(part));
        let next = import.matches.len();
        let at = *places.entry((part, cycle, game)).or_insert(next);
        if at == next {
            import.matches.push(ImportedMatch {
                cycle,
                order: next,
                ..ImportedMatch::new(part, Vec::new(), Vec::new())
            });
        }
        let known = &mut import.matches[at];
        let seat = known.players.iter().position(|player| *player == who).unwrap_or_else(|| {
            let own = ImportedMatch::new(part, vec![who], vec![result]);
            known.players.push(who);
            known.scores.push(result);
            known.seats.extend(own.seats);
            known.players.len() - 1
        });
        if known.scores[seat] != result {
            let message =
                format!("expected equal results of {agent} in all rows of match {game}, got different results");
            return Err(ImportError::at(row.number, "result", message));
        }
        let value = value.parse().map_or_else(|_| MarkValue::Text(value.to_owned()), MarkValue::Number);
        known.seats[seat].marks.push(SeatMark { name: name.to_owned().into(), value, turn });
    }
    Ok(())
}

fn rounds(import: &mut Import, cells: &Cells, _: bool) -> Result<(), ImportError> {
    let (mut seen, mut places) = (HashMap::new(), HashMap::new());
    // Rounds of each match, by number.
    let mut found: Vec<BTreeMap<u64, Vec<SeatMark>>> = Vec::new();
    for row in &cells.rows {
        let [game, agent, opponent] =
            [cells.text(row, "game")?, cells.text(row, "agent")?, cells.text(row, "opponent")?];
        let (side, name, first) = (cells.text(row, "side")?, cells.text(row, "match")?, cells.flag(row, "first")?);
        let round = cells.whole(row, "round")?;
        if round == 0 {
            return Err(ImportError::at(row.number, "round", "expected a round from 1, got 0"));
        }
        let key = [game, agent, opponent, side, if first { "first" } else { "second" }, name];
        once(&mut seen, &[&key[..], &[&round.to_string()]].concat(), row, "round")?;
        let yes = |yes: bool| f64::from(u8::from(yes));
        let won = cells.flag(row, "won")?;
        let mut values = vec![
            ("round", round as f64),
            ("won", yes(won)),
            ("cost", cells.number(row, "cost")?),
            ("budget", cells.number(row, "budget")?),
            ("violation", cells.whole(row, "violations")? as f64),
            ("revised", yes(cells.flag(row, "changed")?)),
            ("kept", yes(cells.flag(row, "kept")?)),
        ];
        if cells.get(row, "value").is_some() {
            values.push(("value", cells.number(row, "value")?));
        }
        let (part, a, b) = (import.part(game), import.agent(agent, true), import.agent(opponent, false));
        let next = import.matches.len();
        let at = *places.entry(key).or_insert(next);
        if at == next {
            let of = ImportedMatch::new(part, vec![a, b], vec![0.0; 2]);
            import.matches.push(ImportedMatch { order: next, first: usize::from(!first), ..of });
            found.push(BTreeMap::new());
        }
        import.matches[at].scores[usize::from(!won)] += 1.0;
        let turn = (round - 1) as u32;
        let mark =
            |(name, value): (&'static str, f64)| SeatMark { name: name.into(), value: MarkValue::Number(value), turn };
        found[at].insert(round, values.into_iter().map(mark).collect());
    }
    for (game, rounds) in import.matches.iter_mut().zip(found) {
        game.seats[0].marks = rounds.into_values().flatten().collect();
    }
    Ok(())
}
