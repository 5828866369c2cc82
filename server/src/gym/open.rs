//! `open`: from the client's wishes to a batch of environments.

use std::sync::Arc;

use ludex_agents::InProcess;
use ludex_env::GameRef;
use ludex_env::batch::{BatchConfig, Layout, Player};
use ludex_protocol::client::Open;
use ludex_protocol::record::RecordSeat;
use ludex_protocol::{ErrorCode, Limits, Refusal};

use super::handle::{Handle, field};
use super::records::Recorder;
use crate::opponents::Opponents;

/// Who can be seated.
#[derive(Clone)]
pub(super) struct Table(pub Arc<Opponents>);

impl Table {
    /// The players of a list of seats; `"agent"` is the client.
    pub(super) fn players(&self, seats: &[String], game: &GameRef) -> Result<Vec<Player>, Box<Refusal>> {
        let spec = game.spec();
        if seats.len() != spec.players as usize {
            let message = format!("{} seats were given, {} has {}", seats.len(), spec.game, spec.players);
            let error = Refusal::new(ErrorCode::BadShape, message).path("seats");
            return Err(Box::new(error.got(seats.len()).allowed(spec.players)));
        }
        let player = |(at, seat): (usize, &String)| -> Result<Player, Box<Refusal>> {
            if seat == "agent" {
                return Ok(None);
            }
            let opponent = self.0.seat(seat, game, false).map_err(|e| Box::new(e.path("seats").at(at)))?;
            Ok(Some(Arc::new(InProcess(opponent.agent))))
        };
        seats.iter().enumerate().map(player).collect()
    }
}

/// Opens handle `env` for `client`, of the game that `o` names. `seed` is used for episodes that the client does not seed.
pub(super) fn open(
    env: u32,
    game: GameRef,
    o: Open,
    table: &Table,
    limits: &Limits,
    client: &RecordSeat,
    seed: u64,
) -> Result<Handle, Box<Refusal>> {
    if o.count > limits.batch {
        return Err(limit("count", u64::from(o.count), u64::from(limits.batch), "environments in one handle"));
    }
    let (players, seats) = match o.seats {
        Some(seats) => (table.players(&seats, &game)?, seats),
        None => (Vec::new(), Vec::new()),
    };
    let config = BatchConfig {
        count: o.count as usize,
        seats: players,
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
    };
    let batch = game.batch(config).map_err(Box::new)?;
    let recorder = o.record.then(|| Recorder::new(client.clone()));
    let bytes = batch.row_bytes() as u64 * u64::from(o.count);
    if bytes > limits.batch_bytes {
        return Err(limit(
            "count",
            bytes,
            limits.batch_bytes,
            "bytes in one batch (ask for fewer environments or views)",
        ));
    }
    Ok(Handle::new(env, game, batch, seats, table.clone(), recorder))
}

fn limit(path: &str, got: u64, most: u64, what: &str) -> Box<Refusal> {
    let message = format!("{got} {what} are more than this server allows: {most}");
    Box::new(Refusal::new(ErrorCode::Limit, message).path(path).got(got).allowed(most))
}

fn layout(wanted: Option<&str>, game: &GameRef) -> Result<Layout, Box<Refusal>> {
    match wanted {
        None | Some("ludex") => Ok(Layout::Ludex),
        Some("openspiel") => Ok(Layout::OpenSpiel),
        Some(other) => {
            let allowed = game.spec().views.layouts.clone();
            let e = field("layout", format!("there is no layout {:?}", ludex_protocol::error::shortened(other)));
            Err(Box::new(e.allowed(allowed)))
        }
    }
}
