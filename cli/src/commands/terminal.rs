//! Lines from the terminal, and Ctrl-C while they are waited for.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::serve::stop_signal;

/// What a person types.
pub(super) struct Terminal {
    /// Standard input. After Ctrl-C it fails at once, also for a reader that already waits.
    pub(super) lines: BufReader<Lines>,
    /// Whether Ctrl-C was pressed. A second one ends the program.
    pub(super) stopped: Arc<AtomicBool>,
}

impl Terminal {
    /// From here on, Ctrl-C no longer ends the program.
    pub(super) fn open() -> anyhow::Result<Terminal> {
        let (heard, lines) = channel();
        let stopped = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signal = runtime.block_on(async { stop_signal() })?;
        let (flag, interrupted) = (stopped.clone(), heard.clone());
        thread::spawn(move || {
            runtime.block_on(async {
                signal.await;
                flag.store(true, Ordering::Relaxed);
                eprintln!("\nstopping; press Ctrl-C again to stop at once");
                let _ = interrupted.send(Err(io::Error::other("Ctrl-C was pressed")));
                std::future::pending::<()>().await;
            });
        });
        thread::spawn(move || read(&heard));
        Ok(Terminal { lines: BufReader::new(Lines { lines, line: Vec::new() }), stopped })
    }
}

/// Hands over the lines of standard input; an empty one means its end.
fn read(heard: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line.into_bytes());
        let more = read.as_ref().is_ok_and(|line| !line.is_empty());
        if heard.send(read).is_err() || !more {
            return;
        }
    }
}

/// Lines that another thread reads.
pub(super) struct Lines {
    lines: Receiver<io::Result<Vec<u8>>>,
    /// What is left of the last one.
    line: Vec<u8>,
}

impl Read for Lines {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.line.is_empty() {
            // Without a sender, nothing more can come.
            self.line = self.lines.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
        }
        let size = self.line.len().min(room.len());
        room[..size].copy_from_slice(&self.line[..size]);
        self.line.drain(..size);
        Ok(size)
    }
}
