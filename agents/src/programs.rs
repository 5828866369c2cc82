//! Bot directories: detects bot programs, compiles them and returns their command lines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{ProcessFault, ProcessLimits, ProgramConfig, TimeBudget};
use crate::sandbox::{SandboxRole, find};

/// Time limit for one run of a compiler.
const COMPILING: TimeBudget = TimeBudget { cpu: None, wall: Duration::from_secs(120) };
/// Maximum number of lines of compiler output quoted in an error.
const FIRST_LINES: usize = 5;

/// Language of a bot's source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
    Cpp,
    C,
    JavaSource,
    Jar,
    /// Executable file that needs no interpreter or compiler.
    Executable,
}

/// Bot as its author submitted it: a file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotProgram {
    /// Name of the file or directory.
    pub name: String,
    kind: Language,
    /// File or directory to run or compile.
    path: PathBuf,
    /// Files to compile: a single file, or all sources in a directory.
    sources: Vec<PathBuf>,
}

impl BotProgram {
    /// Detects the bot at `path`: a file in a known language, an executable, or a directory with `__main__.py`,
    /// `index.js`, or C++ or C sources. Returns `None` for other files and directories.
    ///
    /// # Errors
    /// Fails if a file or directory cannot be read.
    pub fn detect(path: &Path) -> io::Result<Option<Self>> {
        let path = std::path::absolute(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() {
            let kind = kind_of_file(&path);
            return Ok(kind.map(|kind| BotProgram { name, kind, sources: vec![path.clone()], path }));
        }
        let files = visible(&path)?;
        let has = |name: &str| files.contains(&path.join(name));
        let of =
            |ending: Language| files.iter().filter(|f| kind_of_file(f) == Some(ending)).cloned().collect::<Vec<_>>();
        let (kind, sources) = if has("__main__.py") {
            (Language::Python, Vec::new())
        } else if has("index.js") {
            (Language::JavaScript, Vec::new())
        } else if let sources = of(Language::Cpp)
            && !sources.is_empty()
        {
            (Language::Cpp, sources)
        } else if let sources = of(Language::C)
            && !sources.is_empty()
        {
            (Language::C, sources)
        } else {
            return Ok(None);
        };
        Ok(Some(BotProgram { name, kind, path, sources }))
    }

    /// Compiles the bot into the directory `into` if necessary, and returns its command line. Compilers run in the
    /// sandbox and can read only this bot's sources.
    ///
    /// # Errors
    /// The first lines of the compiler's output, or the name of a missing compiler.
    pub fn build(&self, into: &Path) -> Result<String, String> {
        let path = self.path.to_string_lossy().into_owned();
        let into = &std::path::absolute(into).map_err(|e| e.to_string())?;
        let compile = |argv| compile(argv, self.path.is_dir().then_some(self.path.as_path()), into);
        let at = |name: &str| into.join(name).to_string_lossy().into_owned();
        let sources = self.sources.iter().map(|s| s.to_string_lossy().into_owned());
        let argv: Vec<String> = match self.kind {
            Language::Python => vec!["python3".into(), path],
            Language::JavaScript => vec!["node".into(), path],
            Language::Executable => vec![path],
            Language::Jar => java(["-jar".into(), path]),
            Language::Cpp | Language::C => {
                let (compiler, standard) =
                    if self.kind == Language::Cpp { ("g++", "-std=c++17") } else { ("cc", "-std=c11") };
                let program = at("bot");
                let flags = [compiler, "-O2", standard, "-w", "-fmax-errors=3", "-pthread", "-o", &program];
                let line = flags.map(str::to_owned).into_iter().chain(sources);
                // The linker needs the math library after the files that use it.
                compile(line.chain(["-lm".to_owned()]).collect())?;
                vec![program]
            }
            Language::JavaSource => {
                let class = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let classes = at("classes");
                let line = ["javac", "-nowarn", "-encoding", "UTF-8", "-d", &classes].map(str::to_owned);
                compile(line.into_iter().chain(sources).collect())?;
                java(["-cp".into(), classes, class])
            }
        };
        find(&argv[0])?;
        shlex::try_join(argv.iter().map(String::as_str))
            .map_err(|e| format!("path {:?} cannot be quoted in a command line: {e}", self.path))
    }
}

/// Files that mark a directory as a single bot. In other directories, each C or C++ source may be a separate bot.
const BEGINNINGS: [&str; 2] = ["__main__.py", "index.js"];

/// Lists the bots at `path`. If `path` is a file or contains `__main__.py` or `index.js`, that path is a single bot.
/// Otherwise lists all bots in the directory by name, without hidden files.
///
/// # Errors
/// Fails if a file or directory cannot be read.
pub fn bots(path: &Path) -> io::Result<Vec<BotProgram>> {
    if path.is_file() || BEGINNINGS.iter().any(|name| path.join(name).exists()) {
        return Ok(BotProgram::detect(path)?.into_iter().collect());
    }
    let found = visible(path)?.into_iter().map(|path| BotProgram::detect(&path));
    found.filter_map(Result::transpose).collect()
}

/// Lists the entries of a directory by name, without hidden files.
fn visible(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| !path.file_name().unwrap_or_default().to_string_lossy().starts_with('.'));
    paths.sort();
    Ok(paths)
}

fn kind_of_file(path: &Path) -> Option<Language> {
    match path.extension().unwrap_or_default().to_string_lossy().as_ref() {
        "py" => Some(Language::Python),
        "js" | "mjs" | "cjs" => Some(Language::JavaScript),
        "cpp" | "cc" | "cxx" => Some(Language::Cpp),
        "c" => Some(Language::C),
        "java" => Some(Language::JavaSource),
        "jar" => Some(Language::Jar),
        _ => (path.is_file() && find(&path.to_string_lossy()).is_ok()).then_some(Language::Executable),
    }
}

/// Returns a command line for the Java virtual machine, with the memory limit of a player.
fn java<const N: usize>(args: [String; N]) -> Vec<String> {
    let flags = ["java", "-XX:-UsePerfData", "-XX:+UseSerialGC", "-Xmx256m"].map(str::to_owned);
    flags.into_iter().chain(args).collect()
}

fn compile(argv: Vec<String>, source: Option<&Path>, into: &Path) -> Result<(), String> {
    let limits = ProcessLimits { memory: 4 << 30, file: 256 << 20, folder: 1 << 30, ..ProcessLimits::default() };
    let compiler = argv[0].clone();
    let role = SandboxRole::Compiler { source, into };
    let process = ProgramConfig { argv, sandboxed: true, folder: None, limits };
    let mut process = process.start_as(&role).map_err(|fault| match fault {
        ProcessFault::NotStarted { why, .. } => why,
        fault => fault.to_string(),
    })?;
    process.close_input();
    process.read_to_end(&COMPILING).map(drop).map_err(|fault| {
        let said = process.errors();
        let first: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(FIRST_LINES).collect();
        if first.is_empty() { format!("{compiler}: {fault}") } else { first.join("\n") }
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn bots_of_a_directory_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        for file in
            ["a.py", ".hidden.py", "README.md", "d/__main__.py", "e/one.cpp", "e/two.cpp", "f/notes.txt", "b c.js"]
        {
            write(file, "");
        }
        let program = write("run", "#!/bin/sh\n");
        assert_eq!(bots(folder.path()).unwrap().len(), 4, "a file that is not executable is not a program");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let found = bots(folder.path()).unwrap();
        let names: Vec<&str> = found.iter().map(|bot| bot.name.as_str()).collect();
        assert_eq!(names, ["a.py", "b c.js", "d", "e", "run"]);
        let into = tempfile::tempdir().unwrap();
        let line = found[0].build(into.path()).unwrap();
        assert_eq!(
            ProgramConfig::new(&line).unwrap().argv,
            ["python3".to_owned(), folder.path().join("a.py").display().to_string()]
        );
        assert_eq!(found[4].build(into.path()).unwrap(), program.display().to_string());
        assert_eq!(found[3].sources.len(), 2);
    }
}
