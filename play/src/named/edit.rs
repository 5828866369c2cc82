//! Changes of the file by commands: what else stands there stays as it is, comments too.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::files::write_whole;

use super::{Entry, Measured, Source, fault_of_name, read};

/// Writes an entry to the agents of `path`; one of the same name is replaced if `replace`, and keeps what was measured if
/// its spec is the same.
///
/// # Errors
/// A bad name or price, an entry that is there already, a file that is wrong or cannot be written.
pub fn add(path: &Path, entry: &Entry, replace: bool) -> anyhow::Result<()> {
    if let Some(why) = fault_of_name(&entry.name) {
        anyhow::bail!(why);
    }
    let Source::Spec(spec) = &entry.source else { anyhow::bail!("{}: programs are entered by hand", entry.name) };
    super::priced(spec, entry.price_in, entry.price_out)?;
    change(path, |entries, document| {
        let before = entries.iter().find(|e| e.name == entry.name);
        anyhow::ensure!(
            before.is_none() || replace,
            "{} is in {} already; --replace takes its place",
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

/// Takes an entry out of the agents of `path`.
///
/// # Errors
/// No such entry; a file that is wrong or cannot be written.
pub fn remove(path: &Path, name: &str) -> anyhow::Result<()> {
    change(path, |entries, document| {
        entered(path, entries, name)?;
        let gone = agents(document)?.remove(name);
        anyhow::ensure!(gone.is_some(), "{name} comes with the folder of {}; take the file away", path.display());
        Ok(())
    })
}

/// Keeps what a check measured of an agent, in its entry.
///
/// # Errors
/// As [`remove`].
pub fn keep_measured(path: &Path, name: &str, measured: &Measured) -> anyhow::Result<()> {
    change(path, |entries, document| {
        entered(path, entries, name)?;
        agents(document)?[name]["measured"] = measured_item(measured);
        Ok(())
    })
}

fn entered(path: &Path, entries: &[Entry], name: &str) -> anyhow::Result<()> {
    let names: Vec<&str> = entries.iter().map(|e| e.name.as_str()).collect();
    let there = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
    anyhow::ensure!(names.contains(&name), "there is no {name} in {}; there are: {there}", path.display());
    Ok(())
}

fn measured_item(measured: &Measured) -> Item {
    let mut table = Table::new();
    table["tokens_in"] = value(measured.tokens_in);
    table["tokens_out"] = value(measured.tokens_out);
    table["seconds"] = value(measured.seconds);
    table["schema"] = value(measured.schema);
    table["at"] = value(&measured.at);
    Item::Table(table)
}

/// The table of the agents, which has no line of its own.
fn agents(document: &mut DocumentMut) -> anyhow::Result<&mut Table> {
    let mut table = Table::new();
    table.set_implicit(true);
    let item = document.entry("agents").or_insert(Item::Table(table));
    item.as_table_mut().context("agents stand in one line in braces; write them as tables [agents.NAME]")
}

/// Reads the file, lets `edit` change it, and puts the new text in its place in one step: whoever reads gets the old one or
/// the new one whole.
fn change(path: &Path, edit: impl FnOnce(&[Entry], &mut DocumentMut) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e).with_context(|| format!("{} cannot be read", path.display())),
    };
    let entries = read::agents(path, &text)?;
    let mut document: DocumentMut = text.parse()?;
    edit(&entries, &mut document)?;
    let text = document.to_string();
    // What is written can be read.
    read::agents(path, &text)?;
    let (folder, name) =
        (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default().to_string_lossy());
    let written = fs::create_dir_all(folder).and_then(|()| write_whole(folder, &name, text.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display()))
}
