//! Player manual of a game, with the game's parameters filled in. Games without a manual use their documentation page.

use ludex_env::GameRef;
use ludex_protocol::Refusal;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::Value as Json;

use super::settings::RulesShown;
use super::templates::fill;
use crate::refusal::bad_spec;

/// Rules and notation of a game, as a player needs them.
#[derive(PartialEq, Eq)]
pub(super) struct PlayerManual {
    /// Rules in the selected length; empty if rules are not shown.
    pub(super) rules: String,
    /// Notation of moves; empty if rules are not shown.
    pub(super) actions: String,
    /// Notation of positions; empty if the manual has none.
    pub(super) encoding: String,
    /// Description of replies that are accepted in addition to legal moves, or empty.
    pub(super) otherwise: String,
    /// Parameter names and values, for games without a manual.
    pub(super) parameters: Vec<String>,
}

impl PlayerManual {
    /// Renders the manual for prompts that request a document of the kind `asked`. If `asked` is empty, includes the
    /// parts for all kinds.
    ///
    /// # Errors
    /// A template error, or a parameter that the game does not have.
    pub(super) fn new(game: &GameRef, shown: RulesShown, asked: &str) -> Result<Self, Refusal> {
        let (rules, actions, encoding, otherwise, parameters) = if game.info().manual.is_empty() {
            let page = game.info().page;
            let otherwise = if game.spec().document_schemas.is_some() { "a JSON object" } else { "" };
            let (rules, actions) = (section(page, "# ").to_owned(), section(page, "## Actions").to_owned());
            (rules, actions, String::new(), otherwise.to_owned(), parameters(game))
        } else {
            let manual = manual(game, asked)?;
            let part = |name: &str| section(&manual, name).to_owned();
            let rules = manual.split("\n## ").next().unwrap_or_default().trim().to_owned();
            (rules, part("## Moves"), part("## Position"), part("## Otherwise"), Vec::new())
        };
        let (rules, actions) = match shown {
            RulesShown::Long => (rules, actions),
            RulesShown::Short => (first_paragraph(&rules), actions),
            RulesShown::None => (String::new(), String::new()),
        };
        Ok(PlayerManual { rules, actions, encoding, otherwise, parameters })
    }
}

/// Returns true if the manual's text depends on the kind of the requested document.
pub(super) fn has_phases(game: &GameRef) -> bool {
    game.info().manual.contains("asked")
}

/// Renders the manual template of a game. Its variables are the game's parameters, `seats` (seat names),
/// `section(heading)` (a section of the documentation page) and `asked` (kind of the requested document, or empty).
fn manual(game: &GameRef, asked: &str) -> Result<String, Refusal> {
    let spec = game.spec();
    let given = spec.params.iter().map(|(name, value)| (name.clone(), Value::from(Serde(value))));
    let page = game.info().page;
    let section = Value::from_function(move |heading: String| joined(section(page, &heading)));
    let more = [
        ("seats".to_owned(), Value::from(spec.seats.clone())),
        ("section".to_owned(), section),
        ("asked".to_owned(), Value::from(asked)),
    ];
    fill(game.info().manual, &Value::from_pairs(given.chain(more)))
        .map_err(|e| bad_spec(format!("invalid manual of {}: {e:#}", spec.string)))
}

/// Returns the text below the first heading that starts with `heading`, up to the next section.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let at = if page.starts_with(heading) { Some(0) } else { page.find(&format!("\n{heading}")).map(|at| at + 1) };
    let Some(start) = at else { return "" };
    let body = page[start..].split_once('\n').map_or("", |(_, body)| body);
    body.split("\n## ").next().unwrap_or_default().trim()
}

/// Joins the lines of each paragraph and list item. Tables, headings and code remain unchanged.
fn joined(text: &str) -> String {
    let starts = |line: &str| {
        let numbered =
            line.split_once(". ").is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        line.is_empty() || numbered || ["|", "- ", "#", "```", "**"].iter().any(|sign| line.starts_with(sign))
    };
    let (mut out, mut code): (Vec<String>, bool) = (Vec::new(), false);
    for line in text.lines() {
        let fence = line.starts_with("```");
        match out
            .last_mut()
            .filter(|last| !code && !fence && !starts(line) && !last.is_empty() && !last.starts_with(['|', '#', '`']))
        {
            Some(last) => *last = format!("{last} {}", line.trim_start()),
            None => out.push(line.to_owned()),
        }
        code ^= fence;
    }
    out.join("\n")
}

/// Returns the first paragraph and, if it introduces a list, the list.
fn first_paragraph(text: &str) -> String {
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    match paragraphs.next() {
        Some(list) if first.ends_with(':') => format!("{first}\n\n{list}"),
        _ => first.to_owned(),
    }
}

/// Formats each parameter of a game as one line.
fn parameters(game: &GameRef) -> Vec<String> {
    let plain = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    game.spec().params.iter().map(|(name, value)| format!("{name} = {}", plain(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every game with default parameters and with each preset.
    fn games() -> Vec<GameRef> {
        let presets = |entry: &ludex_env::RegisteredGame| {
            let named = entry.info.presets.iter().map(|(name, ..)| format!("{}(preset={name})", entry.info.id));
            std::iter::once(entry.info.id.to_owned()).chain(named).collect::<Vec<_>>()
        };
        let all = ludex_games::games().iter().flat_map(presets);
        all.map(|text| ludex_games::load(&text).unwrap()).collect()
    }

    #[test]
    fn every_manual_has_rules_and_notation() {
        for game in games() {
            let name = &game.spec().string;
            let long = PlayerManual::new(&game, RulesShown::Long, "").unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(long.rules.len() > 100, "{name}: {}", long.rules);
            assert!(long.actions.len() > 10 && long.encoding.len() > 30 && long.parameters.is_empty(), "{name}");
            let short = PlayerManual::new(&game, RulesShown::Short, "").unwrap();
            assert!(long.rules.starts_with(&short.rules) && !short.rules.is_empty(), "{name}");
            assert_eq!(short.actions, long.actions, "{name}");
            let none = PlayerManual::new(&game, RulesShown::None, "").unwrap();
            assert!(none.rules.is_empty() && none.actions.is_empty());
        }
    }

    /// Checks that manuals contain no facts that only programs need, no rules of other games and no unfilled
    /// placeholders.
    #[test]
    fn manual_contains_no_parameter_names_or_developer_terms() {
        for game in games() {
            let page = PlayerManual::new(&game, RulesShown::Long, "").unwrap();
            let all = [page.rules, page.actions, page.encoding].join("\n");
            let name = &game.spec().string;
            for unwanted in [
                "{{",
                "{%",
                "\n\n\n",
                "u8",
                " ids",
                "bare id",
                "policy `default`",
                "OpenSpiel",
                "Botzone",
                "Level 0",
                "default",
            ] {
                let free = name.starts_with("free_style") && unwanted == "default";
                assert!(free || !all.contains(unwanted), "{name}: {unwanted:?} in\n{all}");
            }
            // Names with an underscore are parameters, except fields of documents that players may send.
            for parameter in game.spec().params.keys().filter(|name| name.contains('_')) {
                let sent = ["spawn_time"].contains(&parameter.as_str());
                assert!(sent || !all.contains(&format!("`{parameter}`")), "{name}: {parameter} in\n{all}");
            }
        }
    }

    #[test]
    fn rules_depend_on_parameters() {
        let rules =
            |text: &str| PlayerManual::new(&ludex_games::load(text).unwrap(), RulesShown::Long, "").unwrap().rules;
        for (game, told, not) in [
            ("nim", "takes the last object of all loses", "of all wins"),
            ("nim(is_misere=false)", "takes the last object of all wins", "of all loses"),
            ("connect_four(rows=5,x_in_row=3)", "5 rows and 7 columns", "6 rows"),
            ("breakthrough(preset=gtbench)", "8 rows and 3 columns", "8 columns"),
            ("gomoku(preset=qitown)", "exactly 5 stones", "5 or more"),
            ("reversi(preset=qitown)", "is passed over", "must pass"),
            ("pig(preset=gtbench)", "reaches 20 points", "100 points"),
            ("chess(preset=botzone)", "after 50 moves in a row", "third time"),
            ("chess", "for the third time", "after 50"),
            ("go(preset=botzone)", "loses at once", "ends the game at once as a draw"),
            (
                "liars_dice(bidding_rule=reset-quantity)",
                "a higher face with any quantity",
                "a greater quantity with any",
            ),
            ("iterated_prisoners_dilemma(num_repetitions=4)", "exactly 4 rounds", "probability"),
            ("texas_holdem", "p0 puts in 100, p1 puts in 50", "place 1"),
            ("texas_holdem(preset=limit)", "with a limit", "without a limit"),
            ("fight_the_landlord", "p0 is the landlord", "auction"),
            ("fight_the_landlord(preset=botzone2)", "auction", "p0 is the landlord."),
            ("bargaining(preset=llmarena)", "hats, balls and apples", "books"),
            ("battle_cards", "it is played once", "The match has"),
            ("battle_cards(preset=advgamebench)", "The match has 10 rounds", "it is played once"),
        ] {
            let rules = rules(game);
            assert!(rules.contains(told) && !rules.contains(not), "{game}: {told:?}, not {not:?}\n{rules}");
        }
    }

    /// Checks that the manual explains the notation while rules are proposed, and omits it once the position contains
    /// the rules.
    #[test]
    fn manual_contains_only_parts_for_the_given_phase() {
        let game = ludex_games::load("free_style").unwrap();
        let [all, negotiate, play] =
            ["", "negotiate", "play"].map(|asked| PlayerManual::new(&game, RulesShown::Long, asked).unwrap());
        assert!(has_phases(&game) && all == negotiate);
        assert!(all.rules.contains("sandwich4") && all.actions.contains("propose F0"));
        for told in [&play.rules, &play.actions, &play.encoding] {
            assert!(!told.contains("sandwich4") && !told.contains("propose") && !told.contains("negotiate"), "{told}");
        }
        assert!(play.actions.contains("b1-b2 moves a piece") && play.rules.len() < 300, "{}", play.rules);
        let named = ["negotiate", "play"].map(|name| game.spec().document_schemas.as_ref().unwrap().contains_key(name));
        assert_eq!(named, [true, true], "the manual names kinds of documents that there are");
    }

    #[test]
    fn paragraph_lines_are_joined() {
        let page = "One two\nthree.\n\n| a |\n|---|\n| b |\n\n1. First\n   more. 2. Second\n3. Third\n- item\n  end\n\n```json\n{\n}\n```";
        let told = "One two three.\n\n| a |\n|---|\n| b |\n\n1. First more. 2. Second\n3. Third\n- item end\n\n```json\n{\n}\n```";
        assert_eq!(joined(page), told);
    }
}
