//! Processor time of the server's threads in this process (Linux).

use std::ops::Sub;
use std::time::Duration;

/// Prefix of the names of client threads.
pub const CLIENT: &str = "client-";

/// Processor time by kind of thread.
#[derive(Clone, Copy, Default)]
pub struct CpuTime {
    /// Threads that serve connections.
    workers: Duration,
    /// All other threads of the server, such as the store's.
    others: Duration,
}

impl CpuTime {
    /// Returns the time used so far by all threads but the clients' and the main thread.
    pub fn of_server() -> Self {
        let mut sum = CpuTime::default();
        let main = std::process::id().to_string();
        for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let read = |file: &str| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
            let name = read("comm");
            if task.file_name() == *main || name.starts_with(CLIENT) {
                continue;
            }
            let ns = read("schedstat").split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
            let kind =
                if name.starts_with("worker-") || name.trim() == "host" { &mut sum.workers } else { &mut sum.others };
            *kind += Duration::from_nanos(ns);
        }
        sum
    }

    /// Formats the mean processor time of each of `count` operations.
    pub fn text(self, count: u32) -> String {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(count.max(1));
        format!("{:.1} us (workers {:.1})", each(self.workers + self.others), each(self.workers))
    }
}

impl Sub for CpuTime {
    type Output = CpuTime;

    fn sub(self, before: CpuTime) -> CpuTime {
        let since = |now: Duration, then| now.saturating_sub(then);
        CpuTime { workers: since(self.workers, before.workers), others: since(self.others, before.others) }
    }
}
