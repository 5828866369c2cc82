//! Golden file of prompts: every game, with defaults and each preset, at the start and later. `LUDEX_REGENERATE=1`
//! rewrites `tests/data/prompts.txt.gz`; `zless` shows the full texts.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ludex_agents::AgentSpec;
use ludex_agents::llm::{PositionQuery, Way, prompt, resolve_path};
use ludex_env::GameRef;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/prompts.txt.gz");

/// Returns every game with its defaults and presets, once per distinct set of parameters.
fn games() -> Vec<GameRef> {
    let mut all: Vec<GameRef> = Vec::new();
    for entry in ludex_games::games() {
        let presets = entry.info.presets.iter().map(|(name, ..)| format!("{}(preset={name})", entry.info.id));
        for text in std::iter::once(entry.info.id.to_owned()).chain(presets) {
            let game = ludex_games::load(&text).unwrap();
            if all.iter().all(|known| known.spec().string != game.spec().string) {
                all.push(game);
            }
        }
    }
    all
}

/// Renders a prompt after `random` random moves, or after fewer moves if the game would end earlier.
fn render_prompt(game: &GameRef, random: u32) -> String {
    let spec = AgentSpec::parse("llm model=none").unwrap();
    let way = |random| Way { random, seed: 3, ..Way::default() };
    let h = (0..=random).rev().find_map(|random| resolve_path(game, &way(random)).ok()).unwrap();
    let prompt = prompt(&spec, game, &PositionQuery { h, seat: None }).unwrap();
    prompt.messages.iter().map(|m| format!("[{}]\n\n{}\n\n", m.role, m.content)).collect()
}

#[test]
fn prompts_equal_the_golden_file() {
    let mut all = String::new();
    for game in games() {
        let (first, later) = (render_prompt(&game, 0), render_prompt(&game, 9));
        let name = &game.spec().string;
        for text in [&first, &later] {
            assert!(text.len() < 14_000, "{name}: {} characters", text.len());
            for unwanted in ["{{", "{%", "\0", "none)", "undefined", " ids", "action id", "OpenSpiel", "\n\n\n"] {
                assert!(!text.contains(unwanted), "{name}: {unwanted:?} in\n{text}");
            }
        }
        // The later prompt has the same rules.
        let question = later.split("[user]").nth(1).unwrap();
        write!(all, "=== {name}\n\n{first}[user, later]{question}").unwrap();
    }
    if std::env::var_os("LUDEX_REGENERATE").is_some() {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        out.write_all(all.as_bytes()).unwrap();
        std::fs::write(FILE, out.finish().unwrap()).unwrap();
    }
    let mut kept = String::new();
    GzDecoder::new(std::fs::File::open(FILE).unwrap()).read_to_string(&mut kept).unwrap();
    let differs = kept.lines().zip(all.lines()).find(|(was, is)| was != is);
    assert_eq!(differs, None, "LUDEX_REGENERATE=1 writes {FILE} again");
    assert_eq!(kept.len(), all.len());
}
