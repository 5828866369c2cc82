//! Metrics of the server process, with the names of Prometheus' own client libraries.

use std::fs;

/// Returns the metrics of this process by name. Those that cannot be read are missing; all can be read on Linux.
pub(super) fn values() -> impl Iterator<Item = (&'static str, f64)> {
    let times = times();
    let values = [
        ("process_cpu_seconds_total", times.map(|(cpu, _)| cpu)),
        ("process_max_fds", limit_of(&read("/proc/self/limits").unwrap_or_default())),
        ("process_open_fds", open_fds()),
        ("process_resident_memory_bytes", resident_memory()),
        ("process_start_time_seconds", times.map(|(_, start)| start)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the processor time of this process in seconds, and its start in seconds since the Unix epoch.
#[cfg(target_os = "linux")]
fn times() -> Option<(f64, f64)> {
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let [user, system, start] = stat_of(&read("/proc/self/stat")?)?;
    let boot = read("/proc/stat")?.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok())?;
    Some(((user + system) / ticks, boot + start / ticks))
}

#[cfg(not(target_os = "linux"))]
fn times() -> Option<(f64, f64)> {
    None
}

/// Returns the user time, system time and start of a process in clock ticks, from the text of `/proc/PID/stat`. The name
/// of the program comes before them, in parentheses, and may contain any character.
#[cfg(target_os = "linux")]
fn stat_of(text: &str) -> Option<[f64; 3]> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    // The first field after the name is the third one of the file.
    let field = |number: usize| fields.get(number - 3)?.parse().ok();
    Some([field(14)?, field(15)?, field(22)?])
}

/// Returns the number of open file descriptors, without the one that reads the folder.
fn open_fds() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64)
}

/// Returns the soft limit of open files, from the text of `/proc/PID/limits`.
fn limit_of(text: &str) -> Option<f64> {
    let limit = text.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next())?;
    if limit == "unlimited" { Some(f64::INFINITY) } else { limit.parse().ok() }
}

/// Returns the resident memory of this process in bytes.
fn resident_memory() -> Option<f64> {
    let status = read("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn name_of_the_program_does_not_shift_the_fields() {
        let text = "7 (a) b 1 2 (c)) S 1 2 3 4 5 6 7 8 9 10 140 150 16 17 18 19 20 21 220 23";
        assert_eq!(stat_of(text), Some([140.0, 150.0, 220.0]));
    }

    #[test]
    fn values_describe_this_process() {
        let (cpu, start) = times().unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        assert!(cpu >= 0.0 && start > 1e9 && start <= now + 60.0, "{cpu} {start} {now}");
        let file = fs::File::open("/proc/self/status").unwrap();
        assert!(open_fds() >= Some(1.0), "{file:?} is open");
        assert!(limit_of(&read("/proc/self/limits").unwrap()) > Some(3.0));
        assert_eq!(limit_of("Max open files  unlimited  unlimited  files"), Some(f64::INFINITY));
        assert!(resident_memory() > Some(1e6));
        assert_eq!(values().count(), 5);
    }
}
