//! Parser of the agents file. Error messages include the line number.

use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;
use ludex_agents::AgentSpec;
use ludex_agents::programs::{self, BotProgram};
use ludex_protocol::error::{did_you_mean, nearest};
use toml_edit::{Document, Item, TableLike};

use super::{AgentSource, MeasuredCalls, NamedAgent, fault_of_name, priced};

const FIELDS: [&str; 6] = ["spec", "file", "price_in", "price_out", "note", "measured"];
const MEASURED: [&str; 5] = ["tokens_in", "tokens_out", "seconds", "schema", "at"];
/// List of the file types accepted as bots, for error messages.
pub const BOTS: &str = ".py, .js, .cpp, .c, .java, .jar and executables are bots";

/// Parses the agents in `text`, the content of the file `path`.
pub(super) fn agents(path: &Path, text: &str) -> anyhow::Result<Vec<NamedAgent>> {
    let file = File { path, text };
    let document = Document::parse(text).map_err(|e| {
        let why = e.message().replace('\n', "; ");
        let hint =
            if why.contains("duplicate key") { "; names must be unique: rename or remove one entry" } else { "" };
        file.wrong(e.span(), &format!("{why}{hint}"))
    })?;
    let top = document.as_table();
    file.check_fields(top, "", &["agents", "folder"])?;
    let mut entries = Vec::new();
    if let Some(item) = top.get("agents") {
        let table =
            item.as_table_like().ok_or_else(|| file.wrong(item.span(), "agents: expected tables [agents.NAME]"))?;
        for (name, item) in table.iter() {
            let span = item.span().or_else(|| table.key(name).and_then(|k| k.span()));
            let fields = item.as_table_like().ok_or_else(|| {
                file.wrong(
                    span.clone(),
                    &format!("agents.{name}: expected a table: [agents.{name}] followed by spec = \"...\""),
                )
            })?;
            entries.push(file.entry(name, fields, span)?);
        }
    }
    if let Some(item) = top.get("folder") {
        let folder =
            item.as_str().ok_or_else(|| file.wrong(item.span(), "folder: expected the name of a folder of bots"))?;
        let found = programs(&file.resolve(folder), &entries);
        entries.extend(found.map_err(|e| file.wrong(item.span(), &format!("folder: {e:#}")))?);
    }
    Ok(entries)
}

/// Returns the programs in a folder, except those already listed in `entries`.
pub(super) fn programs(folder: &Path, entries: &[NamedAgent]) -> anyhow::Result<Vec<NamedAgent>> {
    let bots = programs::bots(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut found = Vec::new();
    for bot in bots {
        let source = AgentSource::Program(bot.clone());
        if entries.iter().any(|entry| entry.source == source) {
            continue;
        }
        let twice = entries.iter().any(|entry| entry.name == bot.name).then(|| format!("duplicate name {}", bot.name));
        if let Some(why) = fault_of_name(&bot.name).or(twice) {
            let path = folder.join(&bot.name);
            anyhow::bail!(
                "{}: {why}; rename the file, or list it as [agents.NAME] with file = \"...\"",
                path.display()
            );
        }
        found.push(NamedAgent { name: bot.name, source, price_in: None, price_out: None, note: None, measured: None });
    }
    Ok(found)
}

/// Agents file that is being parsed. Error messages name its path and line, and other paths are relative to its folder.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn wrong(&self, span: Option<Range<usize>>, why: &str) -> anyhow::Error {
        let path = self.path.display();
        let before = span.and_then(|span| self.text.get(..span.start));
        match before.map(|text| text.matches('\n').count() + 1) {
            Some(line) => anyhow::anyhow!("{path}, line {line}: {why}"),
            None => anyhow::anyhow!("{path}: {why}"),
        }
    }

    /// Resolves a path relative to the folder of the agents file.
    fn resolve(&self, name: &str) -> std::path::PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }

    /// Checks that `table` has no fields except `fields`.
    fn check_fields(&self, table: &dyn TableLike, of: &str, fields: &[&str]) -> anyhow::Result<()> {
        let Some((name, item)) = table.iter().find(|(name, _)| !fields.contains(name)) else { return Ok(()) };
        let mut hint = did_you_mean(name, fields);
        if item.is_table_like() && nearest(name, fields.iter().copied()).is_none() {
            hint = match of.strip_prefix("agents.") {
                Some(of) => {
                    format!("; a name with a dot needs quotes: [agents.\"{}.{name}\"]", of.trim_end_matches(": "))
                }
                None => format!("; did you mean [agents.{name}]?"),
            };
        }
        let span = table.key(name).and_then(|key| key.span()).or_else(|| item.span());
        Err(self.wrong(span, &format!("{of}there is no field {name:?}{hint}")))
    }

    fn entry(&self, name: &str, fields: &dyn TableLike, span: Option<Range<usize>>) -> anyhow::Result<NamedAgent> {
        let of = format!("agents.{name}: ");
        let wrong = |at: Option<&Item>, why: &str| {
            self.wrong(at.and_then(Item::span).or_else(|| span.clone()), &format!("{of}{why}"))
        };
        if let Some(why) = fault_of_name(name) {
            return Err(wrong(None, &why));
        }
        self.check_fields(fields, &of, &FIELDS)?;
        let text = |field: &str| self.text_of(fields, &of, field);
        let price = |field: &str| self.number(fields, &of, field);
        let source = match (text("spec")?, text("file")?) {
            (Some(spec), None) => {
                let spec =
                    AgentSpec::parse(spec).map_err(|e| wrong(fields.get("spec"), &format!("spec: {}", e.message)))?;
                AgentSource::Spec(spec)
            }
            (None, Some(name)) => {
                let path = self.resolve(name);
                let found = BotProgram::detect(&path).map_err(|e| {
                    let why = format!("{} cannot be read ({e}); paths are relative to this file", path.display());
                    wrong(fields.get("file"), &why)
                })?;
                let no_bot = || wrong(fields.get("file"), &format!("expected a bot, got {}: {BOTS}", path.display()));
                AgentSource::Program(found.ok_or_else(no_bot)?)
            }
            (Some(_), Some(_)) => {
                return Err(wrong(fields.get("file"), "expected either spec or file, got both; remove one"));
            }
            (None, None) => {
                return Err(wrong(
                    None,
                    "expected spec = \"...\" (an agent of `ludex agents`) or file = \"...\", got neither",
                ));
            }
        };
        let (price_in, price_out) = (price("price_in")?, price("price_out")?);
        let priced = match &source {
            AgentSource::Spec(spec) => priced(spec, price_in, price_out).map(drop).map_err(|e| e.message),
            AgentSource::Program(_) if price_in.or(price_out).is_some() => {
                Err("prices: expected a language model, got a program; remove the prices".to_owned())
            }
            AgentSource::Program(_) => Ok(()),
        };
        priced.map_err(|why| wrong(fields.get("price_in").or(fields.get("price_out")), &why))?;
        let measured = fields.get("measured").map(|item| {
            let again = "invalid measurements; remove the field measured and run `ludex agents check` again";
            let table = item.as_table_like().ok_or_else(|| wrong(Some(item), again))?;
            let of = format!("{of}measured: ");
            self.check_fields(table, &of, &MEASURED)?;
            let missing = || wrong(Some(item), again);
            let number = |field| self.number(table, &of, field)?.ok_or_else(missing);
            anyhow::Ok(MeasuredCalls {
                tokens_in: number("tokens_in")?,
                tokens_out: number("tokens_out")?,
                seconds: number("seconds")?,
                schema: table.get("schema").and_then(Item::as_bool).ok_or_else(missing)?,
                at: self.text_of(table, &of, "at")?.ok_or_else(missing)?.to_owned(),
            })
        });
        let note = text("note")?.map(str::to_owned);
        Ok(NamedAgent { name: name.to_owned(), source, price_in, price_out, note, measured: measured.transpose()? })
    }

    fn text_of<'t>(&self, table: &'t dyn TableLike, of: &str, field: &str) -> anyhow::Result<Option<&'t str>> {
        let Some(item) = table.get(field) else { return Ok(None) };
        let wrong = || self.wrong(item.span(), &format!("{of}{field}: expected text in quotes"));
        item.as_str().map(Some).ok_or_else(wrong)
    }

    /// Returns a field as a finite number of at least 0.
    fn number(&self, table: &dyn TableLike, of: &str, field: &str) -> anyhow::Result<Option<f64>> {
        let Some(item) = table.get(field) else { return Ok(None) };
        let number = item.as_float().or_else(|| item.as_integer().map(|n| n as f64));
        let wrong = || self.wrong(item.span(), &format!("{of}{field}: expected a number of at least 0, such as 2.5"));
        number.filter(|x| x.is_finite() && *x >= 0.0).map(Some).ok_or_else(wrong)
    }
}
