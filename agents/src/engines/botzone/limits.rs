//! Botzone's time limits per turn.

use std::path::Path;
use std::time::Duration;

/// CPU time limits for turns of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// Limit for a newly started program.
    pub run: Duration,
    /// Limit for a persistent program.
    pub later: Duration,
}

impl Times {
    /// Returns Botzone's limits for a command line. The language is inferred from the interpreter or the file
    /// extension.
    pub fn of(argv: &[String]) -> Self {
        let name = |word: &String| Path::new(word).file_name().map(|n| n.to_string_lossy().to_lowercase());
        let word = argv.first().and_then(name).unwrap_or_default();
        let starts = |all: &[&str]| all.iter().any(|a| word.starts_with(a));
        let ends = |all: &[&str]| all.iter().any(|a| word.ends_with(a));
        let (run, later) = if starts(&["python", "pypy", "mono", "dotnet"]) || ends(&[".py", ".exe"]) {
            (6, 4)
        } else if starts(&["java"]) && !starts(&["javascript"]) {
            (3, 2)
        } else if starts(&["node", "deno", "bun"]) || ends(&[".js", ".mjs"]) {
            (2, 2)
        } else {
            (1, 1)
        };
        Times { run: Duration::from_secs(run), later: Duration::from_secs(later) }
    }

    /// Returns limits that allow the same time in every turn.
    pub fn all(time: Duration) -> Self {
        Times { run: time, later: time }
    }

    /// Returns the limit for one turn. The first turn of a match has twice the time.
    pub fn of_turn(self, first: bool, kept_running: bool) -> Duration {
        let time = if kept_running { self.later } else { self.run };
        if first { 2 * time } else { time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limit_depends_on_language() {
        let seconds = |line: &str| {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let times = Times::of(&argv);
            [times.of_turn(true, false), times.of_turn(false, false), times.of_turn(false, true)].map(|t| t.as_secs())
        };
        assert_eq!(seconds("./bot"), [2, 1, 1]);
        assert_eq!(seconds("/usr/bin/python3.12 -u bot.py"), [12, 6, 4]);
        assert_eq!(seconds("./bot.py"), [12, 6, 4]);
        assert_eq!(seconds("node bot.js"), [4, 2, 2]);
        assert_eq!(seconds("java -jar bot.jar"), [6, 3, 2]);
        assert_eq!(Times::all(Duration::from_secs(9)).of_turn(false, true).as_secs(), 9);
    }
}
