//! `ludex games prompt`: printing one complete prompt.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::{feed, folder, ludex};

#[test]
fn prompt_is_printed_completely() {
    let at = folder();
    let printed = |args: &[&str]| ludex(at.path(), &[&["games", "prompt"][..], args].concat()).well();
    let chess = printed(&["chess", "--moves", "e4", "e5", "Nf3"]);
    assert!(chess.starts_with("[system]\n\nYou are a player of Chess."), "{chess}");
    for part in ["[user]\n\nYou are black", "FEN: rnbqkbnr/pppp1ppp/", "\n8 r n b q k b n r\n", "last move g1f3"] {
        assert!(chess.contains(part), "{part} in\n{chess}");
    }
    // The move is a document, and chance follows from the seed.
    let offer = r#"{"offer": [1, 0, 0], "say": "Fair?"}"#;
    let talk = printed(&["bargaining(preset=llmarena)", "--seed", "7", "--moves", offer]);
    assert!(
        talk.contains("You are p1") && talk.contains("p0 says: \"Fair?\"") && talk.contains("Agree (you get "),
        "{talk}"
    );
    assert_ne!(talk, printed(&["bargaining(preset=llmarena)", "--seed", "8", "--moves", offer]));
    // A simultaneous turn has one move per seat.
    let dilemma =
        printed(&["iterated_prisoners_dilemma(num_repetitions=3)", "--moves", "Defect", "Cooperate", "--seat", "1"]);
    assert!(dilemma.contains("You are p1") && dilemma.contains("Round 2.\nYou: C"), "{dilemma}");
    assert!(printed(&["texas_holdem", "--seed", "1"]).contains("Legal moves (what stands in brackets"));
    let thinking = printed(&["nim", "--agent", "llm model=m prompting=parts format=text", "--seed", "0"]);
    assert!(thinking.contains("\nSituation: <") && thinking.contains("\nPile 4: 7\n"), "{thinking}");

    for (args, said) in [
        (&["chess", "--moves", "e4", "e4"][..], "move 2, \"e4\""),
        (&["chess", "--moves", "x5"], "; legal moves: a3, a4, Na3"),
        (&["tic_tac_toe", "--moves", "b2", "b2"], "; legal moves: o(0,0), o(0,1), o(0,2), o(1,0), o(1,2)"),
        (&["chess", "--moves", "e4", "--seat", "1"], "seat 1 is not to move"),
        (&["iterated_prisoners_dilemma", "--moves", "COOPERATE"], "expected one for each of the 2 seats"),
        (&["tic_tac_toe", "--random-moves", "99"], "the game ends before all moves are played"),
    ] {
        let ran = ludex(at.path(), &[&["games", "prompt"][..], args].concat());
        assert!(ran.code == 1 && ran.err.contains(said), "{args:?}: {}", ran.err);
    }
}

#[test]
fn prompt_defaults_to_initial_position() {
    let at = folder();
    let plain = ludex(at.path(), &["games", "prompt", "tic_tac_toe"]).well();
    assert!(plain.starts_with("[system]\n\n"), "{plain}");
    assert_eq!(plain, ludex(at.path(), &["games", "prompt", "tic_tac_toe", "--seed", "0"]).well());
    // Without prompt options, each line on standard input is answered.
    let answer = feed(at.path(), &["games", "prompt", "tic_tac_toe"], "{}\n").json();
    assert_eq!((&answer["seat"], answer["legal"].as_array().unwrap().len()), (&0.into(), 9));
}

#[test]
fn prompt_command_announces_that_it_reads_stdin() {
    let at = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ludex-tests"))
        .args(["games", "prompt", "tic_tac_toe"])
        .current_dir(at.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("reading positions from standard input") && said.contains("--seed 0"), "{said}");
    // The command ends when its input ends.
    drop(child.stdin.take());
    assert!(child.wait_with_output().unwrap().stdout.starts_with(b"[system]"));
}

#[test]
fn agent_name_selects_prompt_wording() {
    let at = folder();
    let spec = "llm model=m base_url=http://127.0.0.1:9/v1 prompting=parts format=text";
    ludex(at.path(), &["agents", "add", "mine", "--spec", spec]).well();
    let printed = |agent: &str| ludex(at.path(), &["games", "prompt", "nim", "--seed", "0", "--agent", agent]).well();
    assert_eq!(printed("mine"), printed(spec));
    assert_ne!(printed("mine"), printed("llm model=m"));
    let wrong = ludex(at.path(), &["games", "prompt", "nim", "--seed", "0", "--agent", "mind"]).fails();
    assert!(wrong.contains("did you mean mine?"), "{wrong}");
}
