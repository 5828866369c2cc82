//! Bundles of runs without secrets.

use ludex_agents::{AgentSpec, llm};
use ludex_report::runs::bundle::{Files, contents, pack};
use ludex_report::runs::settings::RunSettings;

/// Packs the files of a run with the pages of its report. The same run gives the same bytes.
///
/// # Errors
/// Returns an error if the run contains a secret, or its name cannot be the name of a folder.
pub fn write(about: &RunSettings, run: &Files, pages: Files) -> anyhow::Result<Vec<u8>> {
    let files = contents(about, run, pages);
    let parts: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    holds_no_secret(about, &parts)?;
    pack(about, &files)
}

/// Checks that files do not contain the value of an environment variable named in a spec (`key=MY_KEY`).
///
/// # Errors
/// Returns an error that names the variable and the file, never the value.
pub fn holds_no_secret(about: &RunSettings, files: &[(&str, &[u8])]) -> anyhow::Result<()> {
    let keys = about.agents.iter().filter_map(|a| llm::key_variable(&AgentSpec::parse(&a.spec).ok()?));
    let named = about.agents.iter().flat_map(|agent| names_of_variables(&agent.spec)).map(str::to_owned);
    for name in keys.chain(named) {
        // Short values are not keys, and occur everywhere.
        let Some(value) = std::env::var(&name).ok().filter(|value| value.len() >= 8) else { continue };
        let value = value.as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(value.len()).any(|part| part == value);
        if let Some((file, _)) = files.iter().find(|(_, bytes)| holds(bytes)) {
            anyhow::bail!("the value of ${name} stands in {file}: nothing was written; take it out of the run first");
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
    fn files_with_keys_are_refused() {
        // A variable that is always set serves as the key.
        let (name, value) = ("PATH", std::env::var("PATH").unwrap());
        let agents =
            vec![RunAgent { name: "m".into(), spec: format!("llm model=m key={name}"), ..RunAgent::default() }];
        let about = RunSettings { agents, ..RunSettings::default() };
        let text = format!("before {value} behind");
        let said = holds_no_secret(&about, &[("calls.jsonl", text.as_bytes())]).unwrap_err().to_string();
        assert!(said.contains("$PATH stands in calls.jsonl") && !said.contains(&value), "{said}");
        assert!(holds_no_secret(&about, &[("calls.jsonl", b"PATH")]).is_ok());
        let names: Vec<&str> = names_of_variables("llm key=\"$A_KEY\" url=http://x Model=y").collect();
        assert_eq!(names, ["A_KEY", "Model"]);
    }
}
