//! Writer of bundles of runs, checked for secrets.

use std::io::Write as _;
use std::path::{Component, Path};

use flate2::Compression;
use flate2::write::GzEncoder;
use ludex_agents::{AgentSpec, llm};
use ludex_report::runs::bundle::{CARD, Files, SUMS, card, sums};
use ludex_report::runs::run_files::{FILES, whole_lines};
use ludex_report::runs::settings::RunSettings;

/// Packs the files of a run and the pages of its report into a bundle. Equal runs give equal bytes.
///
/// # Errors
/// Returns an error if the run contains a secret, or if the run's name is not a valid folder name.
pub fn write(about: &RunSettings, run: &Files, pages: Files) -> anyhow::Result<Vec<u8>> {
    let files = contents(about, run, pages);
    let parts: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    holds_no_secret(about, &parts)?;
    pack(&about.folder(), &files)
}

/// Returns the files of a bundle: the files of the run, the pages of its report, a card and checksums.
fn contents(about: &RunSettings, run: &Files, pages: Files) -> Files {
    let mut files = pages;
    for name in FILES {
        let Some(bytes) = run.get(name) else { continue };
        // An incomplete last line is omitted.
        let end = if name.ends_with(".jsonl") { whole_lines(bytes) } else { bytes.len() };
        files.insert(name.to_owned(), bytes[..end].to_vec());
    }
    files.insert(CARD.to_owned(), card(about, &files).into_bytes());
    files.insert(SUMS.to_owned(), sums(&files).into_bytes());
    files
}

/// Packs files into a bundle that unpacks to `folder`. The same files give the same bytes.
///
/// # Errors
/// Returns an error if `folder` is not the name of a folder.
pub fn pack(folder: &str, files: &Files) -> anyhow::Result<Vec<u8>> {
    let folder = Path::new(folder);
    let plain = folder.components().count() == 1 && folder.components().all(|c| matches!(c, Component::Normal(_)));
    anyhow::ensure!(plain, "expected the name of a folder for a bundle, got {folder:?}");
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    // The checksums come first.
    let (sums, others): (Vec<_>, Vec<_>) = files.iter().partition(|(name, _)| *name == SUMS);
    for (name, bytes) in sums.into_iter().chain(others) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, folder.join(name), bytes.as_slice())?;
    }
    let mut gzip = tar.into_inner()?;
    gzip.flush()?;
    Ok(gzip.finish()?)
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
    use flate2::read::GzDecoder;
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

    #[test]
    fn checksums_are_the_first_file_of_a_bundle() {
        let about = RunSettings { run: "r".to_owned(), ..RunSettings::default() };
        let packed = write(&about, &Files::new(), Files::new()).unwrap();
        let mut tar = tar::Archive::new(GzDecoder::new(packed.as_slice()));
        let first = tar.entries().unwrap().next().unwrap().unwrap().path().unwrap().into_owned();
        assert_eq!(first, Path::new("r").join(SUMS));
    }
}
