//! `ludex games`.

mod analyze;
mod prompt;

use std::io::{self, Write};

use ludex_env::GameRef;
use ludex_gym::catalogue::Catalogue;
use ludex_protocol::spec::{Spec, TensorSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::print::{self, number, points};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<GamesCommand>,
    /// Print one JSON document: the list of games, or with `explain` the game's Spec
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum GamesCommand {
    /// List the games (the default)
    List,
    /// Explain a game: seats, actions, views, parameters, presets, anchors
    Explain {
        /// Game string, e.g. chess or "kuhn_poker(players=3)"
        game: String,
        /// Print the game's rules page instead; with --json, add the page to the Spec as `text`
        #[arg(long)]
        page: bool,
    },
    /// Analyze positions of a game: read JSON queries from standard input and print JSON replies, one per line
    Analyze(analyze::Args),
    /// Print the prompt that a language model receives in a position
    Prompt(prompt::Args),
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        None | Some(GamesCommand::List) if args.json => {
            Ok(print::json(&json!({ "games": Catalogue::default().entries() }))?)
        }
        None | Some(GamesCommand::List) => Ok(list()?),
        Some(GamesCommand::Explain { game, page }) => explain(&ludex_games::load(&game)?, page, args.json),
        Some(GamesCommand::Analyze(args)) => analyze::run(args),
        Some(GamesCommand::Prompt(args)) => prompt::run(args),
    }
}

fn explain(game: &GameRef, page: bool, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let mut spec = game.spec().clone();
        spec.text = page.then(|| game.info().page.to_owned());
        return Ok(print::json(&serde_json::to_value(spec)?)?);
    }
    let mut out = io::stdout().lock();
    if page {
        return Ok(writeln!(out, "{}", game.info().page.trim_end())?);
    }
    Ok(show(&mut out, game)?)
}

fn list() -> io::Result<()> {
    let mut rows = vec![["game", "seats", "dynamics", "chance", "information", "presets"].map(str::to_owned).to_vec()];
    rows.extend(Catalogue::default().entries().iter().map(|e| {
        let [least, most] = e.players;
        vec![
            e.game.clone(),
            if least == most { least.to_string() } else { format!("{least} to {most}") },
            word(e.dynamics),
            word(e.chance),
            word(e.information),
            e.presets.join(", "),
        ]
    }));
    let mut out = io::stdout().lock();
    print::table(&mut out, &rows, |_| false)?;
    writeln!(out, "\n`ludex games explain GAME` explains a game, `ludex games explain GAME --page` prints the rules.")
}

/// Returns the protocol word of a value.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn show(out: &mut impl Write, game: &GameRef) -> io::Result<()> {
    let s = game.spec();
    writeln!(out, "{}: {}\n", s.game, s.title)?;
    let kinds =
        [word(s.dynamics), format!("chance {}", word(s.chance)), format!("{} information", word(s.information))];
    let [least, most] = s.player_range;
    let range = if least == most { String::new() } else { format!("; {least} to {most} with other parameters") };
    let facts = [
        ("string", s.string.clone()),
        ("rules", format!("version {}, hash {}", s.rules, s.hash)),
        ("seats", format!("{} ({}){range}", s.players, s.seats.join(", "))),
        ("kind", format!("{}, {}", kinds.join(", "), word(s.utility))),
        ("returns", format!("{} to {}, rewards {}", points(s.min_return), points(s.max_return), word(s.rewards))),
        ("length", format!("{} moves at most", s.max_length)),
        ("actions", actions(s)),
        ("views", views(s)),
    ];
    print::table(out, &facts.map(|(name, fact)| vec![name.to_owned(), fact]), |_| false)?;
    section(out, "parameters", &parameters(s))?;
    let presets = s.presets.iter().map(|(name, p)| vec![format!("  {name}"), p.note.clone()]);
    section(out, "presets (preset=NAME)", &presets.collect::<Vec<_>>())?;
    let anchors = s.anchors.iter().map(|a| {
        let bot = if a.bot > 1 { format!(" bot={}", a.bot) } else { String::new() };
        vec![
            format!("  anchor level={}{bot}", a.level),
            a.agent.clone(),
            a.rating.map_or(String::new(), |r| number(r, 0)),
        ]
    });
    section(out, "anchors", &anchors.collect::<Vec<_>>())?;
    let marks = game.marks_docs().into_iter().map(|d| vec![format!("  {}", d.name), d.formula.to_owned()]);
    section(out, "marks (ludex show RECORD --marks)", &marks.collect::<Vec<_>>())?;
    writeln!(out, "\n`ludex games explain {} --page` prints the rules.", s.game)
}

fn section(out: &mut impl Write, title: &str, rows: &[Vec<String>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    print::table(out, rows, |_| false)
}

fn actions(s: &Spec) -> String {
    let chance = if s.max_chance > 0 { format!("; at most {} chance outcomes", s.max_chance) } else { String::new() };
    format!("{} ids{chance}", s.actions)
}

fn views(s: &Spec) -> String {
    let array = |of: &Option<std::collections::BTreeMap<String, TensorSpec>>, what: &str| {
        let named = of.iter().flatten().map(|(name, t)| {
            let shape: Vec<String> = t.s.iter().map(u32::to_string).collect();
            format!("{what} {name} {}[{}]", word(t.d), shape.join(","))
        });
        named.collect::<Vec<_>>()
    };
    let mut all = vec!["struct".to_owned(), "text".to_owned()];
    all.extend(array(&s.views.tensor, "tensor"));
    all.extend(array(&s.views.info, "info"));
    let layouts =
        if s.views.layouts.is_empty() { String::new() } else { format!("; layouts {}", s.views.layouts.join(", ")) };
    format!("{}{layouts}", all.join(", "))
}

/// Returns a row for each parameter: name with default value, allowed values, description.
fn parameters(s: &Spec) -> Vec<Vec<String>> {
    let Some(properties) = s.params_schema["properties"].as_object() else { return Vec::new() };
    let row = |(name, schema): (&String, &Value)| {
        let value = s.params.get(name).map_or("-".to_owned(), Value::to_string);
        let text = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        vec![format!("  {name}={value}"), allowed(schema), text]
    };
    properties.iter().filter(|(name, _)| *name != "preset").map(row).collect()
}

/// Returns the allowed values of a schema as a short text.
fn allowed(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words
            .iter()
            .map(|w| w.as_str().map_or_else(|| w.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("|");
    }
    let of = match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect::<Vec<_>>().join("|")
        }
        _ => "any".to_owned(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!("{of} {least}..{most}"),
        (Some(least), None) => format!("{of} >= {least}"),
        (None, Some(most)) => format!("{of} <= {most}"),
        (None, None) => of,
    }
}
