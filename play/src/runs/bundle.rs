//! Bundles of runs, checked for secrets.

use ludex_agents::{AgentSpec, llm};
use ludex_report::runs::bundle::{Files, contents, pack};
use ludex_report::runs::settings::RunSettings;

/// Packs the files of a run and the pages of its report into a bundle. Equal runs give equal bytes.
///
/// # Errors
/// Returns an error if the run contains a secret, or if the run's name is not a valid folder name.
pub fn write(about: &RunSettings, run: &Files, pages: Files) -> anyhow::Result<Vec<u8>> {
    let files = contents(about, run, pages);
    let parts: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    holds_no_secret(about, &parts)?;
    pack(about, &files)
}

/// Checks that `files` do not contain the value of an environment variable named in a spec (`key=MY_KEY`).
///
/// # Errors
/// Returns an error if a file contains the value. The message names the variable and the file, but not the value.
pub fn holds_no_secret(about: &RunSettings, files: &[(&str, &[u8])]) -> anyhow::Result<()> {
    let keys = about.agents.iter().filter_map(|a| llm::key_variable(&AgentSpec::parse(&a.spec).ok()?));
    let named = about.agents.iter().flat_map(|agent| names_of_variables(&agent.spec)).map(str::to_owned);
    for name in keys.chain(named) {
        // Short values are not keys, and occur everywhere.
        let Some(value) = std::env::var(&name).ok().filter(|value| value.len() >= 8) else { continue };
        let value = value.as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(value.len()).any(|part| part == value);
        if let Some((file, _)) = files.iter().find(|(_, bytes)| holds(bytes)) {
            anyhow::bail!("found the value of ${name} in {file}; nothing was written; remove the value first");
        }
    }
    Ok(())
}

/// Returns the words of a spec that look like environment variables: `LLM_KEY` in `key=LLM_KEY` and `key="$LLM_KEY"`.
fn names_of_variables(spec: &str) -> impl Iterator<Item = &str> {
    let words = spec.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.len() >= 3 && word.starts_with(|c: char| c.is_ascii_uppercase() || c == '_'))
}

#[cfg(test)]
mod tests {
    use ludex_report::runs::settings::RunAgent;

    use super::*;

    #[test]
    fn bundle_with_key_in_file_is_refused() {
        // A variable that is always set serves as the key.
        let (name, value) = ("PATH", std::env::var("PATH").unwrap());
        let agents =
            vec![RunAgent { name: "m".into(), spec: format!("llm model=m key={name}"), ..RunAgent::default() }];
        let about = RunSettings { agents, ..RunSettings::default() };
        let text = format!("before {value} behind");
        let said = holds_no_secret(&about, &[("calls.jsonl", text.as_bytes())]).unwrap_err().to_string();
        assert!(said.contains("$PATH in calls.jsonl") && !said.contains(&value), "{said}");
        assert!(holds_no_secret(&about, &[("calls.jsonl", b"PATH")]).is_ok());
        let names: Vec<&str> = names_of_variables("llm key=\"$A_KEY\" url=http://x Model=y").collect();
        assert_eq!(names, ["A_KEY", "Model"]);
    }
}
