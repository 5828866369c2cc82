//! Log file with the private output of a program, `debug` and standard error, for its owner.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use parking_lot::Mutex;
use serde_json::json;

use ludex_env::Seat;
use ludex_protocol::Refusal;

use super::message::ProgramReply;
use crate::refusal::bad_value;

/// Log file with one JSON line per turn. Records are public, so private output is written only to this file.
pub(super) struct OwnerLog(Mutex<File>);

impl OwnerLog {
    /// Opens or creates the file at `path`.
    pub fn open(path: &str) -> Result<OwnerLog, Refusal> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|e| bad_value("log", path, &format!("a writable file: {e}")))?;
        Ok(OwnerLog(Mutex::new(file)))
    }

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
