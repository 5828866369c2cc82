//! `ludex prompt`, as people use it: one prompt, whole.

use super::{folder, ludex};

#[test]
fn a_prompt_is_printed_whole() {
    let at = folder();
    let printed = |args: &[&str]| ludex(at.path(), &[&["prompt"][..], args].concat()).well();
    let chess = printed(&["chess", "--after", "e4", "e5", "Nf3"]);
    assert!(chess.starts_with("[system]\n\nYou are a player of Chess."), "{chess}");
    for part in ["[user]\n\nYou are black", "FEN: rnbqkbnr/pppp1ppp/", "\n8 r n b q k b n r\n", "last move g1f3"] {
        assert!(chess.contains(part), "{part} in\n{chess}");
    }
    // Documents, and chance by the seed.
    let offer = r#"{"offer": [1, 0, 0], "say": "Fair?"}"#;
    let talk = printed(&["bargaining(preset=llmarena)", "--seed", "7", "--after", offer]);
    assert!(
        talk.contains("You are p1") && talk.contains("p0 says: \"Fair?\"") && talk.contains("Agree (you get "),
        "{talk}"
    );
    assert_ne!(talk, printed(&["bargaining(preset=llmarena)", "--seed", "8", "--after", offer]));
    // Joint moves: one of each seat.
    let dilemma =
        printed(&["iterated_prisoners_dilemma(num_repetitions=3)", "--after", "Defect", "Cooperate", "--seat", "1"]);
    assert!(dilemma.contains("You are p1") && dilemma.contains("Round 2.\nYou: C"), "{dilemma}");
    assert!(printed(&["texas_holdem", "--seed", "1"]).contains("Legal moves (what stands in brackets"));
    let thinking = printed(&["nim", "--spec", "llm model=m prompting=parts format=text", "--seed", "0"]);
    assert!(thinking.contains("\nSituation: <") && thinking.contains("\nPile 4: 7\n"), "{thinking}");

    for (args, said) in [
        (&["chess", "--after", "e4", "e4"][..], "move 2, \"e4\""),
        (&["chess", "--after", "e4", "--seat", "1"], "seat 1 does not act here"),
        (&["iterated_prisoners_dilemma", "--after", "COOPERATE"], "each needs a move"),
        (&["tic_tac_toe", "--random", "99"], "the game is over"),
    ] {
        let ran = ludex(at.path(), &[&["prompt"][..], args].concat());
        assert!(ran.code == 1 && ran.err.contains(said), "{args:?}: {}", ran.err);
    }
}
