//! Generated pages of the book: games and agents.

use std::fmt::Write as _;

use ludex_agents::{AgentClass, ArgDef, ArgKind};
use ludex_env::{MarkDoc, RegisteredGame};
use ludex_protocol::spec::{RewardModel, Spec, TensorSpec};
use ludex_referee::metric::{METRICS, Takes};
use ludex_referee::rows::COLUMNS;
use ludex_report::import::LAYOUTS;
use serde_json::Value;

/// Seed of the random episode that supplies the examples of views.
const SEED: u64 = 7;
const TURNS: usize = 2;

const NOTE: &str = "<!-- Generated: tests/run --bless -->";

/// Returns all generated files except the summary, as paths relative to the root with their texts.
pub fn all() -> Vec<(String, String)> {
    let fixed = [
        ("docs/games/README.md", index()),
        ("docs/agents.md", agents()),
        ("docs/metrics.md", metrics()),
        ("clients/python/src/ludex/catalogue.py", catalogue()),
    ];
    let fixed = fixed.map(|(path, text)| (path.to_owned(), text));
    let games = ludex_games::games().iter().map(|e| (format!("docs/games/{}.md", e.info.id), game(e)));
    fixed.into_iter().chain(games).collect()
}

/// Returns the games that the Python client registers with Gymnasium, with their rules versions.
fn catalogue() -> String {
    let games: String =
        ludex_games::games().iter().map(|e| format!("    \"{}\": {},\n", e.info.id, e.info.rules)).collect();
    format!(
        "\"\"\"The games and the versions of their rules; a test checks that this list is current.\n\n\
         Generated: tests/run --bless\n\"\"\"\n\nGAMES: dict[str, int] = {{\n{games}}}\n"
    )
}

/// Returns the summary with one line per game, below the line for all games.
pub fn with_games(summary: &str) -> String {
    let mut out = String::new();
    for line in summary.lines().filter(|line| !line.contains("](games/") || line.contains("](games/README.md)")) {
        out += &format!("{line}\n");
        if line.contains("](games/README.md)") {
            out.extend(
                ludex_games::games().iter().map(|e| format!("  - [{}](games/{}.md)\n", e.info.title, e.info.id)),
            );
        }
    }
    out
}

fn spec(e: &RegisteredGame) -> Spec {
    ludex_games::load(e.info.id).expect("a game loads with its defaults").spec().clone()
}

/// Returns the wire word of an enum value, with spaces instead of underscores.
fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| Some(v.as_str()?.replace('_', " "))).unwrap_or_default()
}

fn range([least, most]: [u32; 2]) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

fn index() -> String {
    let mut page = format!(
        "{NOTE}\n\n# Games\n\n`ludex games explain <id> --page`, the message `describe` and the library's documentation show \
         the same pages.\n\n| game | players | moves | chance | information | presets |\n|---|---|---|---|---|---|\n"
    );
    for e in ludex_games::games() {
        let s = spec(e);
        let presets: Vec<String> = e.info.presets.iter().map(|p| format!("`{}`", p.0)).collect();
        let (players, moves, chance) = (range(e.info.players), word(s.dynamics), word(s.chance));
        let row = [players, moves, chance, word(s.information), presets.join(", ")].join(" | ");
        let _ = writeln!(page, "| [{}]({id}.md) `{id}` | {row} |", e.info.title, id = e.info.id);
    }
    page
}

/// Returns the table of the game's marks (quantities that the rules count at each step), or an empty text if the game
/// has no marks.
fn marks(e: &RegisteredGame) -> String {
    let docs = ludex_games::load(e.info.id).expect("a game loads with its defaults").marks_docs();
    if docs.is_empty() {
        return String::new();
    }
    let row = |d: &MarkDoc| format!("| `{}` | {} | {} | {} |\n", d.name, d.unit, d.formula, d.source);
    let rows: String = docs.iter().map(row).collect();
    format!(
        "\n## Marks\n\nMarks are quantities that the game computes at each step, for metrics. `ludex show RECORD --marks` prints them.\n\n\
         | mark | unit | meaning | source |\n|---|---|---|---|\n{rows}"
    )
}

/// Returns the metrics page: all metrics with their formulas, and the importable tables.
fn metrics() -> String {
    let mut page = format!(
        "{NOTE}\n\n# Metrics\n\nA suite asks for metrics by id, `metrics = [\"score_rate\", {{ id = \"nra\", form = \"reward\" }}]`. \
         `ludex rate --from-table FILE --metric ID --metric-arg NAME=VALUE` computes a metric from a [table](#tables), by the same formula.\n\n\
         A metric with arguments is `{{ id = \"mean\", of = \"missed_block\" }}` in `metrics` and in `[[summary]]`. Results \
         contain the short form `\"mean of=missed_block\"`. In figures it is `{{ metric = \"mean\", of = \"missed_block\" }}`.\n\nThe \
         scope is the subject of a metric: an agent, all agents of a part (pool), or all parts (suite). A parameter \
         that takes a mark also takes the columns {}.\n",
        COLUMNS.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    );
    for metric in METRICS {
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" Unit: {}.", metric.unit) };
        let scope = format!("{:?}", metric.scope).to_lowercase();
        let _ =
            write!(page, "\n## {}\n\n`{}`, of {scope}.{unit} Source: {}.\n\n", metric.title, metric.id, metric.source);
        let _ = writeln!(page, "    {}", metric.formula);
        if !metric.params.is_empty() {
            page += "\n| parameter | default | takes | meaning |\n|---|---|---|---|\n";
        }
        for param in metric.params {
            let takes = match param.takes {
                Takes::Number => "a number".to_owned(),
                Takes::Whole => "a whole number".to_owned(),
                Takes::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
                Takes::Mark => "a mark".to_owned(),
                Takes::Metric => "a metric, e.g. `nra form=reward`".to_owned(),
                _ => "text".to_owned(),
            };
            let default = if param.default.is_empty() { "required".into() } else { format!("`{}`", param.default) };
            let _ = writeln!(page, "| `{}` | {default} | {takes} | {} |", param.name, param.doc);
        }
    }
    page += "\n## Tables\n\nA table is CSV with one header row, or a JSON list of objects (`.csv`, `.json`). The columns \
             determine the kind of the table; unknown columns are errors.\n\n| table | columns | optional | content of a row |\n|---|---|---|---|\n";
    let names = |all: &[&str]| all.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for layout in &LAYOUTS {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} |",
            layout.name,
            names(layout.columns),
            names(layout.optional),
            layout.about
        );
    }
    for layout in &LAYOUTS {
        let _ = writeln!(page, "\n### A table of {}\n\n| column | content |\n|---|---|", layout.name);
        for (columns, holds) in layout.cells {
            let _ = writeln!(page, "| {} | {holds} |", names(&columns.split(", ").collect::<Vec<_>>()));
        }
        let _ = writeln!(page, "\nMetrics: {}.", names(layout.metrics()));
    }
    page
}

fn game(e: &RegisteredGame) -> String {
    let s = spec(e);
    let mut page = format!(
        "{NOTE}\n\n{}{}\n## Properties\n\nWith default parameters:\n\n| property | value |\n|---|---|\n",
        e.info.page,
        marks(e)
    );
    let mut row = |what: &str, value: String| {
        let _ = writeln!(page, "| {what} | {value} |");
    };
    let names = |all: Vec<&str>| all.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    row("game string", format!("`{}`", s.string));
    if !e.info.aliases.is_empty() {
        row("also accepted as", names(e.info.aliases.iter().map(|a| a.name).collect()));
    }
    row("rules", format!("version {}, hash `{}`", s.rules, s.hash));
    row("players", range(e.info.players));
    row("seats", names(s.seats.iter().map(String::as_str).collect()));
    row("moves", word(s.dynamics));
    row("chance", word(s.chance));
    row("information", word(s.information));
    row("utility", word(s.utility));
    let paid = if s.rewards == RewardModel::Step { "during the game" } else { "at the end" };
    row("returns", format!("{} to {}, paid {paid}", s.min_return, s.max_return));
    row("longest episode", format!("{} moves", s.max_length));
    row("action ids", format!("{}; legal actions are sent as {}", s.actions, word(s.legal)));
    if s.max_chance > 0 {
        row("chance outcome ids", s.max_chance.to_string());
    }
    for (kind, arrays) in [("`tensor`", &s.views.tensor), ("`info`", &s.views.info)] {
        for (name, t) in arrays.iter().flatten() {
            row(kind, format!("`{name}` {}", array(t)));
        }
    }
    if !s.views.layouts.is_empty() {
        row("layouts", names(s.views.layouts.iter().map(String::as_str).collect()));
    }
    page.push_str("\n| anchor | agent |\n|---|---|\n");
    for a in &s.anchors {
        let _ = writeln!(page, "| level {}, bot {} | `{}` |", a.level, a.bot, a.agent);
    }
    if !e.info.presets.is_empty() {
        page.push_str("\n| preset | parameters | note |\n|---|---|---|\n");
        for (name, params, note) in e.info.presets {
            let params: Value = serde_json::from_str(params).expect("a preset is JSON");
            let _ = writeln!(page, "| `{name}` | `{params}` | {note} |");
        }
    }
    page + &example(e, &s)
}

/// Returns an example of the structured view, one field per line.
fn example(e: &RegisteredGame, s: &Spec) -> String {
    let game = ludex_games::load(e.info.id).expect("a game loads with its defaults");
    let (seat, view) = ludex_env::playthrough::example(&*game, SEED, TURNS);
    let fields: Vec<String> = view
        .as_object()
        .map(|fields| fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect())
        .unwrap_or_default();
    format!(
        "\nAn example of the structured view (`struct`): the view of `{}` when it is to move, early in a random game.\n\n\
         ```json\n{{\n{}\n}}\n```\n",
        s.seats[seat],
        fields.join(",\n")
    )
}

fn array(t: &TensorSpec) -> String {
    let shape: Vec<String> = t.s.iter().map(u32::to_string).collect();
    format!("{} [{}], {} to {}", word(t.d), shape.join(", "), t.low, t.high)
}

fn agents() -> String {
    let mut page = format!(
        "{NOTE}\n\n# Agents\n\nAn agent is written as one string everywhere, a name and `key=value` arguments: `random`, \
         `mcts sims=500 c=1.4`. Put a value with spaces in double quotes. Every agent also takes `{}`, which {}. \
         [Language models](language-models.md) are described on a separate page.\n\nIn matches, agents also reply with documents if \
         the game accepts them. In environments, the server's agents reply with action ids only.\n",
        ludex_agents::SEED.name,
        ludex_agents::SEED.doc
    );
    for e in ludex_agents::Roster::builtin().iter() {
        let _ = write!(page, "\n## {}\n\n{}.\n", e.name, upper(e.doc));
        match e.class {
            AgentClass::Person => page.push_str("\nPlays at a terminal only; servers cannot seat it.\n"),
            AgentClass::External | AgentClass::Model | AgentClass::Network => {
                page.push_str("\nClients cannot seat it unless the operator names it with `serve --agent`.\n");
            }
            AgentClass::Remote => page.push_str("\nPlays only in runs and tournaments of a server.\n"),
            _ => {}
        }
        if e.args.is_empty() {
            continue;
        }
        page.push_str("\n| argument | value | default | meaning |\n|---|---|---|---|\n");
        for a in e.args {
            let _ = writeln!(page, "| `{}` | {} | {} | {} |", a.name, value(a.kind), default(a), a.doc);
        }
    }
    page
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    // Lines that start with a game id keep their first letter.
    match chars.next() {
        Some(c) if !text.split(' ').next().is_some_and(|w| w.ends_with([':', ','])) => {
            c.to_uppercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn value(kind: ArgKind) -> String {
    match kind {
        ArgKind::Int { min, max } if max >= u64::from(u32::MAX) => format!("whole number from {min}"),
        ArgKind::Int { min, max } => format!("whole number, {min} to {max}"),
        ArgKind::Number { min, max } => format!("number, {min} to {max}"),
        ArgKind::Flag => "`true` or `false`".to_owned(),
        _ => "text".to_owned(),
    }
}

fn default(a: &ArgDef) -> String {
    match (a.default, a.unless) {
        _ if a.required => "required".to_owned(),
        (Some(value), Some(other)) => format!("`{value}`, unless `{other}` is set"),
        (Some(value), None) => format!("`{value}`"),
        (None, _) => String::new(),
    }
}
