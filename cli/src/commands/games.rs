//! `ludex games`.

use std::io::{self, Write};

use ludex_env::GameRef;
use ludex_protocol::spec::{Spec, TensorSpec};
use serde::Serialize;
use serde_json::{Value, json};

use super::print::{self, number, points};
use ludex_server::catalogue::Catalogue;

/// What `ludex games` takes.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A game to explain, e.g. chess or "kuhn_poker(players=3)" [default: list all]
    game: Option<String>,
    /// Print one JSON document: the game's Spec, or the list
    #[arg(long)]
    json: bool,
    /// Print the game's page: rules, actions, observations, presets (with --json, the Spec's `text`)
    #[arg(long, requires = "game")]
    page: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<()> {
    let Some(text) = &args.game else {
        return if args.json {
            Ok(print::json(&json!({ "games": Catalogue::default().entries() }))?)
        } else {
            Ok(list()?)
        };
    };
    let game = ludex_games::load(text)?;
    if args.json {
        let mut spec = game.spec().clone();
        spec.text = args.page.then(|| game.info().page.to_owned());
        return Ok(print::json(&serde_json::to_value(spec)?)?);
    }
    let mut out = io::stdout().lock();
    if args.page {
        return Ok(writeln!(out, "{}", game.info().page.trim_end())?);
    }
    Ok(explain(&mut out, &game)?)
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
    writeln!(out, "\n`ludex games GAME` explains one, `ludex games GAME --page` prints its rules.")
}

/// A word of the protocol.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn explain(out: &mut impl Write, game: &GameRef) -> io::Result<()> {
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
    section(out, "marks (ludex replay RECORD --marks)", &marks.collect::<Vec<_>>())?;
    writeln!(out, "\n`ludex games {} --page` prints the rules.", s.game)
}

fn section(out: &mut impl Write, title: &str, rows: &[Vec<String>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    print::table(out, rows, |_| false)
}

fn actions(s: &Spec) -> String {
    let chance = if s.max_chance > 0 { format!("; {} chance outcomes at most", s.max_chance) } else { String::new() };
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

/// Name, value here, what is allowed and what it means.
fn parameters(s: &Spec) -> Vec<Vec<String>> {
    let Some(properties) = s.params_schema["properties"].as_object() else { return Vec::new() };
    let row = |(name, schema): (&String, &Value)| {
        let value = s.params.get(name).map_or("-".to_owned(), Value::to_string);
        let text = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        vec![format!("  {name}={value}"), allowed(schema), text]
    };
    properties.iter().filter(|(name, _)| *name != "preset").map(row).collect()
}

/// What a schema allows, in short.
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
