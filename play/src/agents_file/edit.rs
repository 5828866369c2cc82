//! Edits to the agents file that preserve its comments and all other entries.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::files::write_whole;

use super::{AgentSource, MeasuredCalls, NamedAgent, fault_of_name, read};

/// Writes `entry` to the agents file `path`. With `replace`, an existing entry of that name is replaced; its
/// measurements are preserved if the spec is unchanged.
///
/// # Errors
/// Returns an error if the name or a price is invalid, if the entry exists and `replace` is false, or if the file is
/// invalid or cannot be written.
pub fn add(path: &Path, entry: &NamedAgent, replace: bool) -> anyhow::Result<()> {
    if let Some(why) = fault_of_name(&entry.name) {
        anyhow::bail!(why);
    }
    let AgentSource::Spec(spec) = &entry.source else {
        anyhow::bail!("{}: expected a spec, got a program; add programs by editing the file", entry.name)
    };
    super::priced(spec, entry.price_in, entry.price_out)?;
    change(path, |entries, document| {
        let before = entries.iter().find(|e| e.name == entry.name);
        anyhow::ensure!(
            before.is_none() || replace,
            "agent {} already exists in {}; use --replace to overwrite it",
            entry.name,
            path.display()
        );
        let mut table = Table::new();
        table["spec"] = value(spec.to_string());
        for (field, price) in [("price_in", entry.price_in), ("price_out", entry.price_out)] {
            if let Some(price) = price {
                table[field] = value(price);
            }
        }
        if let Some(note) = &entry.note {
            table["note"] = value(note);
        }
        let same = before.filter(|before| before.source == entry.source).and_then(|before| before.measured.as_ref());
        if let Some(measured) = entry.measured.as_ref().or(same) {
            table["measured"] = measured_item(measured);
        }
        agents(document)?.insert(&entry.name, Item::Table(table));
        Ok(())
    })
}

/// Removes an entry from the agents file `path`.
///
/// # Errors
/// Returns an error if the entry is missing, or if the file is invalid or cannot be written.
pub fn remove(path: &Path, name: &str) -> anyhow::Result<()> {
    change(path, |entries, document| {
        entered(path, entries, name)?;
        let gone = agents(document)?.remove(name);
        anyhow::ensure!(
            gone.is_some(),
            "cannot remove {name}: it is a program in the bot folder of {}; delete the program's file",
            path.display()
        );
        Ok(())
    })
}

/// Writes the measurements of `ludex agents check` to the entry of the agent `name`.
///
/// # Errors
/// Same as [`remove`].
pub fn keep_measured(path: &Path, name: &str, measured: &MeasuredCalls) -> anyhow::Result<()> {
    change(path, |entries, document| {
        entered(path, entries, name)?;
        agents(document)?[name]["measured"] = measured_item(measured);
        Ok(())
    })
}

fn entered(path: &Path, entries: &[NamedAgent], name: &str) -> anyhow::Result<()> {
    let names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    anyhow::ensure!(names.contains(&name), "expected an agent of {}, got {name}; agents: {there}", path.display());
    Ok(())
}

fn measured_item(measured: &MeasuredCalls) -> Item {
    let mut table = Table::new();
    table["tokens_in"] = value(measured.tokens_in);
    table["tokens_out"] = value(measured.tokens_out);
    table["seconds"] = value(measured.seconds);
    table["schema"] = value(measured.schema);
    table["at"] = value(&measured.at);
    Item::Table(table)
}

/// Returns the table `agents`, which has no header line of its own in the file.
fn agents(document: &mut DocumentMut) -> anyhow::Result<&mut Table> {
    let mut table = Table::new();
    table.set_implicit(true);
    let item = document.entry("agents").or_insert(Item::Table(table));
    item.as_table_mut().context("agents: expected tables [agents.NAME], got an inline table")
}

/// Reads the file at `path`, applies `edit`, and replaces the file atomically.
fn change(path: &Path, edit: impl FnOnce(&[NamedAgent], &mut DocumentMut) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e).with_context(|| format!("{} cannot be read", path.display())),
    };
    let entries = read::agents(path, &text)?;
    let mut document: DocumentMut = text.parse()?;
    edit(&entries, &mut document)?;
    let text = document.to_string();
    // Refuse to write an invalid file.
    read::agents(path, &text)?;
    let (folder, name) =
        (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default().to_string_lossy());
    let written = fs::create_dir_all(folder).and_then(|()| write_whole(folder, &name, text.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display()))
}
