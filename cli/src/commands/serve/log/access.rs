//! Access log: one line per HTTP request, without a rate limit. A thread writes the lines, so that a slow reader of
//! standard error delays no connection.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use ludex_server::ACCESS_LOG;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, fmt};

use super::LogFormat;

/// Maximum number of lines that wait for the thread. Further lines are lost and counted.
const QUEUE: usize = 4_096;

/// Maximum time to write the waiting lines at exit.
const FLUSH: Duration = Duration::from_secs(1);

/// Returns the layer that writes the access log to standard error.
pub(super) fn layer<S>(format: LogFormat) -> (Box<dyn Layer<S> + Send + Sync>, AccessLogGuard)
where
    S: tracing::Subscriber + for<'s> LookupSpan<'s>,
{
    let (lines, queue) = sync_channel(QUEUE);
    let writer = LineWriter { lines: lines.clone(), lost: Arc::default() };
    let lost = writer.lost.clone();
    std::thread::spawn(move || write_lines(&queue, &lost, &mut io::stderr()));
    let filter = filter_fn(|of| of.target() == ACCESS_LOG).with_max_level_hint(LevelFilter::INFO);
    let written = fmt::layer().with_writer(writer).with_ansi(false);
    let layer = match format {
        LogFormat::Text => written.boxed(),
        LogFormat::Json => written.json().flatten_event(true).boxed(),
    };
    (layer.with_filter(filter).boxed(), AccessLogGuard(lines))
}

/// Message to the thread that writes the lines.
enum Message {
    Line(Vec<u8>),
    /// Request to confirm that all lines before are written.
    Flush(SyncSender<()>),
}

/// Guard that writes the waiting lines on drop.
pub(in crate::commands::serve) struct AccessLogGuard(SyncSender<Message>);

impl Drop for AccessLogGuard {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.0.send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(FLUSH);
        }
    }
}

/// Writer that passes each line to the thread.
#[derive(Clone)]
struct LineWriter {
    lines: SyncSender<Message>,
    /// Number of lines that did not fit into the queue.
    lost: Arc<AtomicU64>,
}

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Message::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LineWriter {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

fn write_lines(queue: &Receiver<Message>, lost: &AtomicU64, out: &mut impl Write) {
    for message in queue {
        match message {
            // A closed standard error loses the line, as for all other lines of the log.
            Message::Line(line) => drop(out.write_all(&line)),
            Message::Flush(done) => drop(done.try_send(())),
        }
        let count = lost.swap(0, Ordering::Relaxed);
        if count > 0 {
            tracing::warn!(count, "access log lines lost, since standard error is slow");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_queue_are_counted_and_block_no_caller() {
        let (lines, queue) = sync_channel(2);
        let mut writer = LineWriter { lines, lost: Arc::default() };
        for _ in 0..5 {
            writer.write_all(b"line\n").unwrap();
        }
        assert_eq!(writer.lost.load(Ordering::Relaxed), 3);
        let lost = writer.lost.clone();
        drop(writer);
        let mut out = Vec::new();
        write_lines(&queue, &lost, &mut out);
        assert_eq!(out, b"line\nline\n");
        assert_eq!(lost.load(Ordering::Relaxed), 0, "the loss was not reported");
    }
}
