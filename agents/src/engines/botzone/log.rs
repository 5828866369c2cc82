//! What only the owner of a program may read: its `debug` and standard error, in a file of the owner's choice.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use parking_lot::Mutex;
use serde_json::json;

use ludex_env::Seat;
use ludex_protocol::Refusal;

use super::message::ProgramReply;
use crate::refusal::bad_value;

/// A file to which every turn is added as a line of JSON. Records leave this out, since everybody may read them.
pub(super) struct Log(Mutex<File>);

impl Log {
    /// The file at `path`, made if it is not there.
    pub fn open(path: &str) -> Result<Log, Refusal> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|e| bad_value("log", path, &format!("a file that can be written to: {e}")))?;
        Ok(Log(Mutex::new(file)))
    }

    /// Adds a turn.
    pub fn add(&self, seat: Seat, turn: u32, reply: Result<&ProgramReply, &str>, errors: &str) -> std::io::Result<()> {
        let line = match reply {
            Ok(ProgramReply { response, debug, .. }) => {
                json!({ "seat": seat, "turn": turn, "response": response, "debug": debug, "stderr": errors })
            }
            Err(why) => json!({ "seat": seat, "turn": turn, "failed": why, "stderr": errors }),
        };
        let mut file = self.0.lock();
        file.write_all(format!("{line}\n").as_bytes())
    }
}
