//! Lines typed at the terminal. Ctrl-C interrupts reading.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::serve::stop_signal;

/// Terminal input of a human player.
pub(super) struct Terminal {
    /// Lines of standard input. After Ctrl-C, reading fails, even for a reader that is already blocked.
    pub(super) lines: BufReader<TerminalLines>,
    /// True after the first Ctrl-C. A second Ctrl-C exits the program.
    pub(super) stopped: Arc<AtomicBool>,
}

impl Terminal {
    /// Opens the terminal. From then on, the first Ctrl-C does not exit the program.
    pub(super) fn open() -> anyhow::Result<Terminal> {
        let (sender, lines) = channel();
        let stopped = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signal = runtime.block_on(async { stop_signal() })?;
        let (flag, interrupted) = (stopped.clone(), sender.clone());
        thread::spawn(move || {
            runtime.block_on(async {
                signal.await;
                flag.store(true, Ordering::Relaxed);
                eprintln!("\nstopping; press Ctrl-C again to stop immediately");
                let _ = interrupted.send(Err(io::Error::other("interrupted by Ctrl-C")));
                std::future::pending::<()>().await;
            });
        });
        thread::spawn(move || read(&sender));
        Ok(Terminal { lines: BufReader::new(TerminalLines { lines, line: Vec::new() }), stopped })
    }
}

/// Sends the lines of standard input. An empty buffer marks the end of the input.
fn read(sender: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line.into_bytes());
        let more = read.as_ref().is_ok_and(|line| !line.is_empty());
        if sender.send(read).is_err() || !more {
            return;
        }
    }
}

/// Lines of standard input that another thread reads.
pub(super) struct TerminalLines {
    lines: Receiver<io::Result<Vec<u8>>>,
    /// Part of the last line that has not been read yet.
    line: Vec<u8>,
}

impl Read for TerminalLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.line.is_empty() {
            // Without a sender, the input has ended.
            self.line = self.lines.recv().unwrap_or_else(|_| Ok(Vec::new()))?;
        }
        let size = self.line.len().min(buffer.len());
        buffer[..size].copy_from_slice(&self.line[..size]);
        self.line.drain(..size);
        Ok(size)
    }
}
