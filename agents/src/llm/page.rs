//! A game's page, cut down to what a player needs: no ids of chance, no arrays, no presets, no ladder.

use std::fmt::Write as _;

use ludex_env::GameRef;
use serde_json::Value;

use super::settings::RulesShown;

/// The rules and the moves as a player reads them.
pub(super) struct Page {
    /// The rules, as long as they were asked for; empty for none.
    pub(super) rules: String,
    /// How moves are written; empty unless the rules are long.
    pub(super) actions: String,
    /// How a position is written, where the page says it.
    pub(super) encoding: String,
    /// The parameters: name and value, and what the page says about those that are not at their defaults.
    pub(super) parameters: Vec<String>,
}

impl Page {
    pub(super) fn new(game: &GameRef, rules: RulesShown) -> Self {
        let page = game.page();
        let intro = section(page, "# ");
        let (rules, actions) = match rules {
            RulesShown::Long => (intro.to_owned(), player_actions(section(page, "## Actions"))),
            RulesShown::Short => (first_paragraph(intro), String::new()),
            RulesShown::None => (String::new(), String::new()),
        };
        let encoding = encoding(section(page, "## Observation"), &first_text(game));
        Page { rules, actions, encoding, parameters: parameters(game) }
    }
}

/// The text below the heading that begins so, down to the next heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let at = if page.starts_with(heading) { Some(0) } else { page.find(&format!("\n{heading}")).map(|at| at + 1) };
    let Some(start) = at else { return "" };
    let body = page[start..].split_once('\n').map_or("", |(_, body)| body);
    body.split("\n## ").next().unwrap_or_default().trim()
}

/// The first paragraph, with the list that it announces.
fn first_paragraph(text: &str) -> String {
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    match paragraphs.next() {
        Some(list) if first.ends_with(':') => format!("{first}\n\n{list}"),
        _ => first.to_owned(),
    }
}

/// The section on actions without what only programs need: chance, the move that stands in for errors, and ids, unless moves
/// are explained by their ids alone.
fn player_actions(text: &str) -> String {
    let kept = |ids: bool| -> String {
        let parts = text.split("\n\n").filter_map(|p| if p.starts_with('|') { table(p) } else { prose(p, ids) });
        parts.collect::<Vec<_>>().join("\n\n")
    };
    Some(kept(false)).filter(|text| !text.is_empty()).unwrap_or_else(|| kept(true))
}

/// A table of texts, without its column of ids; `None` for a table about ids alone.
fn table(rows: &str) -> Option<String> {
    let head = rows.lines().next()?;
    if !head.contains("text") {
        return None;
    }
    let ids = head.starts_with("| id");
    let row = |l: &str| match l.strip_prefix('|').and_then(|l| l.split_once('|')) {
        Some((_, rest)) if ids => format!("|{rest}"),
        _ => l.to_owned(),
    };
    Some(rows.lines().map(row).collect::<Vec<_>>().join("\n"))
}

/// A paragraph up to where it speaks of chance, without its sentences on ids unless `ids`; `None` if nothing is left, as with
/// a paragraph about ids alone.
fn prose(paragraph: &str, ids: bool) -> Option<String> {
    let on_ids = |s: &str| !ids && (s.contains(" ids") || s.starts_with("Ids") || s.starts_with("Id `"));
    let all: Vec<&str> =
        sentences(paragraph).take_while(|s| !s.starts_with("Chance") && !s.starts_with("Outcomes of chance")).collect();
    let about_ids = all.first().is_some_and(|s| on_ids(s)) && !paragraph.contains("ext");
    let kept = all.into_iter().filter(|s| !about_ids && !on_ids(s) && !s.contains("policy `default`"));
    let text = kept.collect::<Vec<_>>().join(" ");
    let text = BARE_ID.iter().fold(text, |text, phrase| text.replace(phrase, ""));
    (!text.is_empty()).then_some(text)
}

/// How pages say that an id is read as a move too. It is left out, since players cannot know the ids.
const BARE_ID: [&str; 5] = [
    ", and the bare id",
    "; and the bare id",
    "; the bare id parses too",
    " The bare id parses too.",
    " The\nbare id parses too.",
];

/// The sentences of a paragraph: cut behind a point and a blank.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let ends = paragraph.match_indices(['.']).map(|(at, _)| at + 1);
    let ends = ends.filter(|&end| paragraph[end..].is_empty() || paragraph[end..].starts_with([' ', '\n']));
    let ends: Vec<usize> = ends.chain([paragraph.len()]).collect();
    let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
    starts.into_iter().zip(ends).map(|(a, b)| paragraph[a..b].trim()).filter(|s| !s.is_empty())
}

/// How the drawing in `text` is to be read: the sentences on the text, and what the page says of the field `board`, if
/// the drawing is made of the same letters.
fn encoding(observation: &str, text: &str) -> String {
    let mut all = Vec::new();
    if let Some((_, rest)) = observation.split_once("`board` (")
        && let Some((inner, _)) = rest.split_once(')')
        && let Some(symbol) = inner.split('`').nth(1).filter(|s| s.len() == 1)
        && text.contains(symbol)
    {
        all.push(format!("The board: {}.", one_line(inner)));
    }
    let last = observation.rsplit("\n\n").next().unwrap_or_default();
    let of_text = sentences(last).filter(|s| s.starts_with("The text") && s.contains(':'));
    all.extend(of_text.map(one_line));
    all.join(" ")
}

/// What seat 0 reads before anything has happened.
fn first_text(game: &GameRef) -> String {
    game.start().view(ludex_env::Viewer::Seat(0)).text()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line for each parameter.
fn parameters(game: &GameRef) -> Vec<String> {
    let table = section(game.page(), "## Parameters");
    let usual = ludex_env::load(game.id()).map(|game| game.spec().params.clone()).unwrap_or_default();
    let line = |(name, value): (&String, &Value)| {
        let mut line = format!("{name} = {}", plain(value));
        if usual.get(name) != Some(value)
            && let Some(row) =
                table.lines().find(|l| l.starts_with('|') && l.split('|').nth(1).is_some_and(|c| names(c, name)))
        {
            let cells: Vec<&str> = row.trim_matches('|').split('|').skip(1).map(str::trim).collect();
            let _ = write!(line, " (usually {})", cells.join("; ").trim_end_matches([';', ' ']));
        }
        line
    };
    game.spec().params.iter().map(line).collect()
}

/// Whether a table's cell names this parameter.
fn names(cell: &str, name: &str) -> bool {
    cell.split(',').any(|c| c.trim().trim_matches('`') == name)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_what_a_player_needs() {
        for entry in ludex_env::games() {
            let game = ludex_env::load(entry.id).unwrap();
            let long = Page::new(&game, RulesShown::Long);
            assert!(long.rules.len() > 100 && long.actions.len() > 40, "{}", entry.id);
            for unwanted in ["policy `default`", "u8", "## ", "Level 0", "| id |", "Chance deals"] {
                let all = format!("{}\n{}", long.actions, long.encoding);
                assert!(!all.contains(unwanted), "{}: {unwanted}\n{all}", entry.id);
            }
            let short = Page::new(&game, RulesShown::Short);
            assert!(long.rules.starts_with(&short.rules) && !short.rules.is_empty(), "{}", entry.id);
            assert!(short.actions.is_empty());
            let none = Page::new(&game, RulesShown::None);
            assert!(none.rules.is_empty() && none.actions.is_empty());
        }
    }

    /// Facts for programs, which a model cannot use or takes for rules of the game.
    #[test]
    fn nothing_is_told_about_ids() {
        let told = |game: &str| Page::new(&ludex_env::load(game).unwrap(), RulesShown::Long).actions;
        for (game, unwanted) in [
            ("connect_four", "id per"),
            ("nim", "id is never"),
            ("reversi", "is 63"),
            ("gomoku", "size + column"),
            ("first_sealed_auction", "325"),
            ("go", "is 80"),
            ("chess", "4672"),
            ("chess", "plain move"),
            ("ataxx", "6460"),
            ("negotiation", "36 a"),
            ("negotiation", "25 a"),
            ("bargaining", "fastest"),
        ] {
            let text = told(game);
            assert!(!text.contains(unwanted) && text.contains('`'), "{game}: {unwanted}\n{text}");
        }
        assert_eq!(told("liars_dice").matches("| `2-5` |").count(), 1);
    }

    #[test]
    fn parameters_that_are_unusual_are_explained() {
        let game = ludex_env::load("connect_four(rows=5)").unwrap();
        let page = Page::new(&game, RulesShown::Long);
        assert!(page.parameters.iter().any(|p| p.starts_with("rows = 5 (usually 6; 1 to 16")), "{:?}", page.parameters);
        assert!(page.parameters.iter().any(|p| p == "columns = 7"), "{:?}", page.parameters);
    }
}
