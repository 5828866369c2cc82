//! The request `open`, which creates a batch of environments.

use std::sync::Arc;

use ludex_env::GameRef;
use ludex_env::batch::{BatchConfig, Layout};
use ludex_protocol::message::{GymView, Open};
use ludex_protocol::record::RecordSeat;
use ludex_protocol::{ErrorCode, Refusal};

use crate::compute::CurrentJob;

use super::field;
use super::handle::EnvHandle;
use super::prompts::{EnvPrompts, PROMPT_BYTES};
use super::records::Recorder;
use super::seating::{EnvPlayers, GymSeating};

/// Opens the handle `env` for `client`, with the game in the request `o`. Episodes that the client
/// does not seed get their seeds from `seed`.
pub(super) fn open(
    env: u32,
    game: GameRef,
    o: Open,
    table: &GymSeating,
    client: &RecordSeat,
    seed: u64,
) -> Result<EnvHandle, Box<Refusal>> {
    if o.count > table.limits.batch {
        return Err(limit("count", u64::from(o.count), u64::from(table.limits.batch), "environments in one handle"));
    }
    let share = table.share(o.count as usize)?;
    let in_batches = o.views.iter().flatten().any(|view| *view == GymView::Prompt);
    let prompts = (in_batches || !o.prompt.is_empty()).then(|| EnvPrompts::new(&game, &o.prompt, in_batches));
    let prompts = prompts.transpose()?;
    let seated = match o.seats {
        Some(specs) => table.seated(specs, &game, o.count as usize)?,
        None => EnvPlayers::default(),
    };
    let config = BatchConfig {
        count: o.count as usize,
        seats: seated.players.clone(),
        rotate: o.rotate,
        chance: o.chance,
        autoreset: o.autoreset,
        views: o.views,
        layout: layout(o.layout.as_deref(), &game)?,
        mask: o.mask,
        observer: o.observer,
        on_illegal: o.on_illegal,
        max_steps: o.max_steps,
        record: o.record,
        seed,
        scheduler: Some(Arc::new(CurrentJob)),
    };
    let batch = game.batch(config).map_err(Box::new)?;
    let recorder = o.record.then(|| Recorder::new(client.clone()));
    let prompt_bytes = if in_batches { PROMPT_BYTES } else { 0 };
    let bytes = (batch.row_bytes() as u64 + prompt_bytes) * u64::from(o.count);
    if bytes > table.limits.batch_bytes {
        return Err(limit("count", bytes, table.limits.batch_bytes, "bytes of environments and views in one batch"));
    }
    let shares = [share, table.reserve_documents(0)?];
    Ok(EnvHandle::new(env, game, batch, (seated, table.clone()), prompts, recorder, shares))
}

fn limit(path: &str, got: u64, most: u64, what: &str) -> Box<Refusal> {
    let message = format!("expected at most {most} {what}, got {got}");
    Box::new(Refusal::new(ErrorCode::Limit, message).path(path).got(got).allowed(most))
}

fn layout(wanted: Option<&str>, game: &GameRef) -> Result<Layout, Box<Refusal>> {
    match wanted {
        None | Some("ludex") => Ok(Layout::Ludex),
        Some("openspiel") => Ok(Layout::OpenSpiel),
        Some(other) => {
            let allowed = game.spec().views.layouts.clone();
            let e = field(
                "layout",
                format!("expected the name of a layout, got {:?}", ludex_protocol::error::truncate_text(other)),
            );
            Err(Box::new(e.allowed(allowed)))
        }
    }
}
