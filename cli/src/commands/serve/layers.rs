//! Options of `ludex serve` from a configuration file and from the environment. Both become options of the command line,
//! so that one parser checks all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use ludex_protocol::error::did_you_mean;
use toml::{Table, Value};

/// Options that are not keys of the file.
const LINE_ONLY: [&str; 2] = ["config", "check"];

/// Keys without an environment variable: programs that Ludex starts get `LUDEX_AGENT` and `LUDEX_SUITE` with another
/// meaning, and `check` is a question, not a setting.
const NO_VARIABLE: [&str; 3] = ["agent", "suite", "check"];

/// Returns the value of an environment variable.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Returns the options of a command with those of the file and the environment in front. An option of the command line
/// replaces the variable of the same option, and the variable replaces the key of the file, also if it may be repeated.
///
/// # Errors
///
/// A file that cannot be read, an unknown key, or an invalid value in the file or the environment.
pub(super) fn expanded(command: &Command, line: &[OsString], environment: Variables) -> anyhow::Result<Vec<OsString>> {
    let command = command.clone().no_binary_name(true);
    // Errors of the command line are reported later, and so is the help.
    let Ok(given) = command.clone().ignore_errors(true).try_get_matches_from(line) else { return Ok(line.to_vec()) };
    let is_given = |key: &str| {
        let option = options(&command).find(|(other, _)| other == key);
        option.is_some_and(|(_, option)| given.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine))
    };
    let mut layers = from_environment(&command, environment)?;
    let config = match given.get_one::<PathBuf>("config") {
        Some(path) => Some(path.clone()),
        None => environment("LUDEX_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from),
    };
    if let Some(path) = config {
        for (key, arguments) in from_file(&command, &path)? {
            layers.entry(key).or_insert(arguments);
        }
    }
    layers.retain(|key, _| !is_given(key));
    Ok(layers.into_values().flatten().chain(line.iter().cloned()).collect())
}

/// Returns the values of all options by key, for comparison.
pub(super) fn values(command: &Command, matches: &ArgMatches) -> BTreeMap<String, Vec<OsString>> {
    let value = |option: &Arg| matches.get_raw(option.get_id().as_str()).into_iter().flatten().map(OsString::from);
    options(command).map(|(key, option)| (key, value(option).collect())).collect()
}

/// Returns the options of a command with their keys.
fn options(command: &Command) -> impl Iterator<Item = (String, &Arg)> {
    let settings = command.get_arguments().filter(|option| !matches!(option.get_action(), ArgAction::Help));
    settings.filter_map(|option| Some((option.get_long()?.replace('-', "_"), option)))
}

/// Arguments of the command line by key.
type Layer = BTreeMap<String, Vec<OsString>>;

fn from_environment(command: &Command, environment: Variables) -> anyhow::Result<Layer> {
    let mut layer = Layer::new();
    for (key, option) in options(command).filter(|(key, _)| !NO_VARIABLE.contains(&key.as_str())) {
        let name = format!("LUDEX_{}", key.to_uppercase());
        let Some(text) = environment(&name).filter(|text| !text.is_empty() && key != "config") else { continue };
        let text = text.into_string().map_err(|text| anyhow::anyhow!("{name}: expected UTF-8, got {text:?}"))?;
        let value = variable(option, text).with_context(|| name.clone())?;
        layer.insert(key, arguments(command, option, &value).with_context(|| name)?);
    }
    Ok(layer)
}

/// Returns the value of an environment variable: the text, true or false for a switch, or a list or table in TOML for an
/// option that may be repeated.
fn variable(option: &Arg, text: String) -> anyhow::Result<Value> {
    let is_list = matches!(option.get_action(), ArgAction::Append) && text.starts_with(['[', '{']);
    Ok(match (option.get_action(), text.as_str()) {
        (ArgAction::SetTrue, "true" | "1") => Value::Boolean(true),
        (ArgAction::SetTrue, "false" | "0") => Value::Boolean(false),
        _ if is_list => {
            let mut table: Table = toml::from_str(&format!("value = {text}"))?;
            table.remove("value").context("expected a list or a table in TOML")?
        }
        _ => Value::String(text),
    })
}

fn from_file(command: &Command, path: &Path) -> anyhow::Result<Layer> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(name)?;
    let table: Table = toml::from_str(&text).with_context(name)?;
    let known: BTreeMap<String, &Arg> =
        options(command).filter(|(key, _)| !LINE_ONLY.contains(&key.as_str())).collect();
    let keys: BTreeSet<&String> = known.keys().collect();
    let mut layer = Layer::new();
    for (key, value) in &table {
        let Some(option) = known.get(key) else {
            let allowed: Vec<&String> = keys.into_iter().collect();
            anyhow::bail!(
                "{}: expected a key of the configuration, got {key:?}{}",
                name(),
                did_you_mean(key, &allowed)
            );
        };
        let arguments = arguments(command, option, value).with_context(|| format!("{}: {key}", name()))?;
        layer.insert(key.clone(), arguments);
    }
    Ok(layer)
}

/// Returns a value as arguments of the command line.
///
/// # Errors
///
/// A value of another kind than the option's, or one that the option refuses.
fn arguments(command: &Command, option: &Arg, value: &Value) -> anyhow::Result<Vec<OsString>> {
    let long = option.get_long().unwrap_or_default();
    let texts = match (option.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(is_set)) => {
            return Ok(is_set.then(|| format!("--{long}").into()).into_iter().collect());
        }
        (ArgAction::SetTrue, _) => anyhow::bail!("expected true or false, got {value}"),
        (ArgAction::Append, Value::Array(list)) => list.iter().map(text).collect::<anyhow::Result<_>>()?,
        (ArgAction::Append, Value::Table(table)) if takes_pairs(option) => {
            let pair = |(name, value)| Ok(format!("{name}={}", text(value)?));
            table.iter().map(pair).collect::<anyhow::Result<_>>()?
        }
        _ => vec![text(value)?],
    };
    let arguments: Vec<OsString> = texts.into_iter().map(|text| format!("--{long}={text}").into()).collect();
    for argument in &arguments {
        check(command, argument)?;
    }
    Ok(arguments)
}

/// Returns true if each value of the option is a name and a value.
fn takes_pairs(option: &Arg) -> bool {
    option.get_value_names().into_iter().flatten().any(|name| name.contains('='))
}

fn text(value: &Value) -> anyhow::Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => anyhow::bail!("expected a text or a number, got {value}"),
    })
}

/// Checks the value of one option. Whether the option needs others is checked once all layers are known.
fn check(command: &Command, argument: &OsString) -> anyhow::Result<()> {
    use clap::error::ErrorKind::{InvalidValue, ValueValidation};
    match command.clone().try_get_matches_from([argument]) {
        Err(error) if matches!(error.kind(), InvalidValue | ValueValidation) => {
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.is_empty()).map(|line| line.trim_start_matches("error: "));
            anyhow::bail!(lines.map(str::trim).collect::<Vec<_>>().join(" "))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::commands::serve::Args;

    fn command() -> Command {
        Args::augment_args(Command::new("serve"))
    }

    /// Returns the arguments for a file with `text`, these variables and this command line.
    fn with(text: &str, variables: &[(&str, &str)], line: &[&str]) -> anyhow::Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("ludex.toml");
        std::fs::write(&file, text)?;
        let environment = |name: &str| match name {
            "LUDEX_CONFIG" => Some(file.clone().into_os_string()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()),
        };
        let line: Vec<OsString> = line.iter().map(OsString::from).collect();
        let all = expanded(&command(), &line, &environment)?;
        Ok(all.into_iter().map(|argument| argument.into_string().unwrap()).collect())
    }

    fn failure(text: &str, variables: &[(&str, &str)]) -> String {
        format!("{:#}", with(text, variables, &[]).unwrap_err())
    }

    #[test]
    fn file_yields_to_environment_and_environment_to_command_line() {
        let file = "listen = \"127.0.0.1:1\"\nworkers = 3\ndata = \"file\"\npublic = true";
        let variables = [("LUDEX_WORKERS", "4"), ("LUDEX_DATA", "variable"), ("LUDEX_PUBLIC", "false")];
        let all = with(file, &variables, &["--data", "line"]).unwrap();
        assert_eq!(all, ["--listen=127.0.0.1:1", "--workers=4", "--data", "line"]);
    }

    #[test]
    fn repeatable_option_of_a_higher_layer_replaces_the_lower_ones() {
        let file = "ladder = [\"chess\", \"othello\"]\nallowed_host = \"a\"\n[limit]\nwindow = 8\njoins = 2";
        let all = with(file, &[("LUDEX_ALLOWED_HOST", "[\"b\", \"c\"]")], &["--limit=window=9"]).unwrap();
        assert_eq!(
            all,
            ["--allowed-host=b", "--allowed-host=c", "--ladder=chess", "--ladder=othello", "--limit=window=9"]
        );
        let all = with("[retain]\nunrated = \"30d\"\n[agent]\nhouse = \"uci cmd=x\"", &[], &[]).unwrap();
        assert_eq!(all, ["--agent=house=uci cmd=x", "--retain=unrated=30d"]);
    }

    #[test]
    fn variables_of_started_programs_are_no_settings() {
        assert!(with("", &[("LUDEX_AGENT", "mybot"), ("LUDEX_SUITE", "quick")], &[]).unwrap().is_empty());
    }

    #[test]
    fn unknown_key_gets_the_nearest_key_and_the_list() {
        let error = failure("lisen = 1", &[]);
        assert!(error.contains("expected a key of the configuration, got \"lisen\"; did you mean listen?"), "{error}");
        assert!(error.contains("tls_cert") && !error.contains("config,") && !error.contains("check,"), "{error}");
    }

    #[test]
    fn invalid_values_name_their_source() {
        for (file, says) in [
            ("workers = \"many\"", "ludex.toml: workers: invalid value 'many' for '--workers <N>'"),
            ("public = 1", "public: expected true or false, got 1"),
            ("data = [\"a\"]", "data: expected a text or a number"),
            ("[listen]\na = 1", "listen: expected a text or a number"),
            ("[ladder]\nchess = 1", "ladder: expected a text or a number"),
            ("listen =", "ludex.toml: "),
        ] {
            let error = failure(file, &[]);
            assert!(error.contains(says), "{file}: {error}");
        }
        assert!(failure("", &[("LUDEX_LISTEN", "here")]).starts_with("LUDEX_LISTEN: invalid value 'here'"));
    }

    #[test]
    fn every_option_is_a_key() {
        let keys: Vec<String> = options(&command()).map(|(key, _)| key).collect();
        assert!(keys.len() > 30 && keys.iter().all(|key| key.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
    }

    #[test]
    fn missing_file_is_named() {
        let line = ["--config".into(), "/no/such/ludex.toml".into()];
        let error = expanded(&command(), &line, &|_| None).unwrap_err();
        assert!(format!("{error:#}").starts_with("/no/such/ludex.toml: "));
    }
}
