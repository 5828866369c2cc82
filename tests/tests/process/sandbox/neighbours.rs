//! Bots of several authors on one machine: no bot can read the files of another bot.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ludex_agents::process::{ProcessLimits, ProgramConfig};
use ludex_agents::programs;

use super::{AMPLE, printed_text, start, use_helper};

fn write(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_owned()
}

/// Returns a script that tries to read the first line of each file.
fn reader(files: &[&Path]) -> String {
    let lines =
        files.iter().map(|file| format!("read -r line < '{}' && echo \"read $line\" || echo denied\n", file.display()));
    format!("#!/bin/sh\nexec 2>/dev/null\n{}", lines.collect::<String>())
}

#[test]
fn native_bots_in_one_folder_cannot_read_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let notes = write(&at("bob.notes"), "openings\n", 0o644);
    let bob = write(&at("bob"), &reader(&[&notes]), 0o755);
    let deep = write(&at("carol/deep/carol"), &reader(&[]), 0o755);
    let alice = write(&at("alice"), &reader(&[&bob, &notes, &deep]), 0o755);
    let mut program = start(&[alice.to_str().unwrap()], ProcessLimits::default());
    assert_eq!(printed_text(&mut program), "denied\n".repeat(3));
}

#[test]
fn program_reads_folder_only_if_spec_names_folder() {
    use_helper();
    let folder = tempfile::tempdir().unwrap();
    let notes = write(&folder.path().join("notes"), "openings\n", 0o644);
    let bot = write(&folder.path().join("bot"), &reader(&[&notes]), 0o755);
    let alone = ProgramConfig::new(bot.to_str().unwrap()).unwrap();
    assert_eq!(printed_text(&mut alone.start().unwrap()), "denied\n");
    let opened = ProgramConfig { folder: Some(folder.path().to_owned()), ..alone };
    assert_eq!(printed_text(&mut opened.start().unwrap()), "read openings\n");
}

#[test]
fn compilation_cannot_include_other_bots() {
    if std::process::Command::new("g++").arg("--version").output().is_err() {
        eprintln!("g++ is missing: skipped");
        return;
    }
    use_helper();
    let folder = tempfile::tempdir().unwrap();
    let into = tempfile::tempdir().unwrap();
    let bot = |name: &str, text: &str| write(&folder.path().join(name), text, 0o644);
    let hello = "#include <cstdio>\nint main() { std::puts(\"hello\"); }\n";
    let bob = bot("bob.cpp", hello);
    bot("alice.cpp", "#include \"bob.cpp\"\n");
    bot("asm.cpp", &format!("asm(\".incbin \\\"{}\\\"\");\n{hello}", bob.display()));
    bot("passwd.cpp", "#include \"/etc/passwd\"\n");
    bot("eve/main.cpp", "#include \"own.h\"\n#include \"../bob.cpp\"\n");
    bot("carol/main.cpp", "#include \"own.h\"\nint main() { std::puts(WORD); }\n");
    bot("carol/own.h", "#include <cstdio>\n#define WORD \"from the folder\"\n");
    bot("eve/own.h", "");
    let found = programs::bots(folder.path()).unwrap();
    let made: Vec<(String, Result<String, String>)> = found
        .iter()
        .map(|bot| {
            let into = into.path().join(&bot.name);
            fs::create_dir_all(&into).unwrap();
            (bot.name.clone(), bot.build(&into))
        })
        .collect();
    let line = |name: &str| made.iter().find(|(bot, _)| bot == name).unwrap().1.clone();
    for thief in ["alice.cpp", "asm.cpp", "passwd.cpp", "eve"] {
        let why = line(thief).unwrap_err();
        assert!(why.contains("ermission denied") || why.contains("not found"), "{thief}: {why}");
    }
    for (name, word) in [("bob.cpp", "hello"), ("carol", "from the folder")] {
        let program = ProgramConfig::new(&line(name).unwrap()).unwrap();
        assert_eq!(program.start().unwrap().read_to_end(&AMPLE).unwrap(), word);
    }
    // Compiled programs are in separate folders.
    let [bob, carol] = ["bob.cpp", "carol"].map(|name| into.path().join(name).join("bot"));
    let thief = write(&into.path().join("thief/bot"), &reader(&[&bob, &carol]), 0o755);
    assert_eq!(printed_text(&mut start(&[thief.to_str().unwrap()], ProcessLimits::default())), "denied\ndenied\n");
}

#[test]
fn failed_compilation_has_reason() {
    if std::process::Command::new("cc").arg("--version").output().is_err() {
        eprintln!("cc is missing: skipped");
        return;
    }
    use_helper();
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("bad.c"), "int main() { return nothing_of_this_name; }", 0o644);
    let made = || programs::BotProgram::detect(&path).unwrap().unwrap().build(folder.path());
    let why = made().unwrap_err();
    assert!(why.contains("nothing_of_this_name") && why.lines().count() <= 5, "{why}");
    fs::write(&path, "#include <stdio.h>\nint main() { puts(\"ready\"); return 0; }").unwrap();
    let program = ProgramConfig::new(&made().unwrap()).unwrap();
    assert_eq!(program.start().unwrap().read_to_end(&AMPLE).unwrap(), "ready");
}

#[test]
fn java_bot_compiles_and_plays() {
    if std::process::Command::new("javac").arg("-version").output().is_err() {
        eprintln!("javac is missing: skipped");
        return;
    }
    use_helper();
    let folder = tempfile::tempdir().unwrap();
    let text = "public class Main { public static void main(String[] a) { System.out.println(\"ready\"); } }";
    let path = write(&folder.path().join("Main.java"), text, 0o644);
    let line = programs::BotProgram::detect(&path).unwrap().unwrap().build(folder.path()).unwrap();
    assert_eq!(ProgramConfig::new(&line).unwrap().start().unwrap().read_to_end(&AMPLE).unwrap(), "ready");
}
