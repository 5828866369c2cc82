//! Creates a store with rated matches from a file of records, to measure servers with many matches:
//! `cargo run -p ludex-server --example store_of_records -- records.jsonl FOLDER`

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::Context as _;
use ludex_env::recording::digest;
use ludex_protocol::record::RecordParts;
use ludex_store::{EndRow, MatchRow, Store, Write};
use serde_json::Value;

/// Number of records per transaction.
const TOGETHER: usize = 500;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(records), Some(folder)) = (args.next(), args.next()) else {
        anyhow::bail!("expected two arguments: a file of records and a folder")
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let store = Store::open(Path::new(&folder)).await?;
        let (mut writes, mut count) = (Vec::new(), 0);
        for line in BufReader::new(File::open(&records)?).lines() {
            writes.extend(rated(&line?)?);
            count += 1;
            if writes.len() >= 3 * TOGETHER {
                store.write(std::mem::take(&mut writes)).await?;
            }
        }
        store.write(writes).await?;
        store.close().await?;
        println!("{count} records");
        Ok(())
    })
}

/// Converts a record to the writes that store it as a rated, released match.
fn rated(line: &str) -> anyhow::Result<[Write; 3]> {
    let mut parts = RecordParts::parse(line)?;
    parts.header.insert("rated".to_owned(), true.into());
    parts.footer.insert("digest".to_owned(), digest(&parts)?.into());
    let text = |key: &str| parts.header.get(key).and_then(Value::as_str).context(key.to_owned()).map(str::to_owned);
    let (id, game) = (text("episode")?, text("game")?);
    let params = parts.header.get("params").and_then(Value::as_object).context("params")?;
    let string = ludex_games::load_with(&game, params)?.spec().string.clone();
    let started_ms = jiff_ms(&text("started")?)?;
    let row = MatchRow {
        id: id.clone(),
        game,
        string,
        rated: true,
        run: None,
        seats: parts.header["seats"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|s| s["name"].as_str())
            .map(Into::into)
            .collect(),
        header: Value::Object(parts.header.clone()).to_string(),
        secret: "{}".to_owned(),
        started_ms,
    };
    let reason = parts.footer.get("reason").and_then(Value::as_str).unwrap_or("finished").to_owned();
    let footer = Value::Object(parts.footer.clone()).to_string();
    let mut record = parts.header;
    record.insert("events".to_owned(), parts.events.into());
    record.extend(parts.footer);
    let end = EndRow { reason, ended_ms: started_ms + 1, footer, record: Value::Object(record).to_string() };
    Ok([
        Write::MatchStart(row),
        Write::MatchEnd { id: id.clone(), acts: Vec::new(), end },
        Write::Released { ids: vec![id] },
    ])
}

fn jiff_ms(time: &str) -> anyhow::Result<i64> {
    Ok(time.parse::<jiff::Timestamp>()?.as_millisecond())
}
