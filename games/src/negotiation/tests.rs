use super::*;
use crate::load;

fn game(params: &str) -> Negotiation {
    let params = ludex_env::params::split(&format!("negotiation({params})")).unwrap().1;
    Negotiation::new(serde_json::from_value(Value::Object(params)).unwrap()).unwrap()
}

fn read(g: &Negotiation, s: &State, text: &str) -> Option<Action> {
    let ToMove::Seat(seat) = g.to_move(s) else { return None };
    let mut legal = Vec::new();
    g.legal(s, seat, &mut legal);
    g.parse(&g.view(s, Viewer::Seat(seat)), seat, &legal, text)
}

fn play(g: &Negotiation, s: &mut State, text: &str) {
    let a = read(g, s, text).unwrap_or_else(|| panic!("{text} is not legal"));
    g.play_unchecked(s, a);
}

const GIVEN: &str = "instance=2 3 4;7 1 7;7 6 1;6";

#[test]
fn agreement_shares_pool() {
    let g = game(GIVEN);
    let mut s = g.start();
    for text in ["Proposal: [1, 0, 4]", ", Utterance: [0, 1, 2]", "<Proposal: [2, 3, 0]>", "<Utterance: [4, 4, 4]>"] {
        play(&g, &mut s, text);
    }
    play(&g, &mut s, "<Agree>");
    let mut r = [0.0; 2];
    g.returns(&s, &mut r);
    assert_eq!((g.to_move(&s), r), (ToMove::Over, [28.0, 32.0]));
    assert_eq!(g.view(&s, Viewer::Public).shown, Some([vec![7, 1, 7], vec![7, 6, 1]]));
}

#[test]
fn last_proposal_is_followed_by_utterance() {
    let g = game("instance=1 0 0;1 1 1;1 1 1;1");
    let mut s = g.start();
    play(&g, &mut s, "0 0 0");
    assert_eq!(g.to_move(&s), ToMove::Seat(0));
    play(&g, &mut s, "0 0 0");
    assert_eq!(g.to_move(&s), ToMove::Over);
}

#[test]
fn illegal_moves_are_refused_with_reason() {
    let g = game(GIVEN);
    let mut s = g.start();
    assert!(g.why_not(&s, 0, 216).contains("no proposal to agree to"));
    assert!(g.why_not(&s, 0, 300).contains("not an utterance"));
    let more = Negotiation::number(&[3, 0, 0], BASE, 3).unwrap();
    assert!(!g.is_legal(&s, 0, more));
    assert_eq!(g.why_not(&s, 0, more), "[3, 0, 0] exceeds the pool, which is [2, 3, 4]");
    assert_eq!(read(&g, &s, "Proposal: [3, 0, 0]"), None);
    assert_eq!(read(&g, &s, "Utterance: [0, 0, 0]"), None);
    play(&g, &mut s, "[0, 0, 0]");
    assert!(g.why_not(&s, 0, 0).contains("an utterance is due"));
    assert_eq!(read(&g, &s, "Proposal: [0, 0, 0]"), None);
}

#[test]
fn value_lists_are_uniform_and_nonzero() {
    let g = game("num_items=2");
    let mut s = g.start();
    (0..3).for_each(|_| g.play_unchecked(&mut s, 4));
    let mut out = Outcomes::new();
    g.chance(&s, &mut out);
    assert_eq!((out.items()[0], out.items()[1], out.sum()), ((0, 10), (1, 11), 120));
    g.play_unchecked(&mut s, 0);
    out.clear();
    g.chance(&s, &mut out);
    assert_eq!((out.items()[0], out.sum()), ((1, 1), 10));
}

#[test]
fn proposal_limits_follow_truncated_poisson() {
    let g = game("");
    let mut out = Outcomes::new();
    g.chance(&g.start(), &mut out);
    let p: Vec<(u32, f64)> = out.probabilities().collect();
    assert_eq!(p.iter().map(|o| o.0).collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9, 10]);
    // Poisson weights: p(k) / p(k - 1) = 7 / k.
    assert!((p[2].1 - p[3].1).abs() < 1e-9 && (p[0].1 / p[1].1 - 5.0 / 7.0).abs() < 1e-4, "{p:?}");
}

#[test]
fn invalid_instances_are_refused() {
    for text in [
        "2 3 4;7 1 7;7 6 1",
        "2 3;7 1;7 6;6",
        "6 0 0;1 1 1;1 1 1;5",
        "1 1 1;11 0 0;1 1 1;5",
        "1 1 1;1 1 1;1 1 1;11",
        "x",
    ] {
        let error = load(&format!("negotiation(instance={text})")).err().unwrap();
        assert_eq!(error.name.as_deref(), Some("instance"), "{text}");
    }
    let g = load(&format!("negotiation({GIVEN},rng_seed=5,enable_proposals=True)")).unwrap();
    assert_eq!(load(&g.spec().string).unwrap().spec().hash, g.spec().hash);
    assert_eq!((g.spec().max_chance, g.start().turn()), (0, ToMove::Seat(0)));
    assert!(load("negotiation(enable_proposals=false)").is_err());
    assert!(load("negotiation(num_symbols=22)").is_err());
}

/// p1 keeps 2 of the first item and 3 of the second, worth 14 + 18 = 32. p0 gets 4 of the third, worth 28. The sum of
/// 60 is the maximum: 2 * 7 + 3 * 6 + 4 * 7.
#[test]
fn agreement_marks_are_counted() {
    let g = game(GIVEN);
    let mut s = g.start();
    for text in ["Proposal: [1, 0, 4]", ", Utterance: [0, 1, 2]", "<Proposal: [2, 3, 0]>", "<Utterance: [4, 4, 4]>"] {
        play(&g, &mut s, text);
    }
    let before = s;
    play(&g, &mut s, "<Agree>");
    let mut out = Marks::all();
    g.marks(&before, &[], &s, &mut out);
    let found: Vec<_> = out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect();
    let of = |seat: usize, own: f64, other: f64| {
        [
            ("value_own", own),
            ("value_other", other),
            ("pareto", 1.0),
            ("welfare", 1.0),
            ("envy", 4.0),
            ("compromise", 0.0),
        ]
        .map(|(name, value)| json!([seat, name, value]))
    };
    let agreed = [json!([0, "agreed", 1.0]), json!([1, "agreed", 1.0])];
    assert_eq!(found, [&agreed[..], &of(0, 28.0, 32.0), &of(1, 32.0, 28.0)].concat());
    let mut s = before;
    s.proposed = s.limit;
    s.uttered = s.limit;
    g.marks(&before, &[], &s, &mut out);
    assert_eq!(
        out.take().iter().map(|m| json!([m.seat, m.name, m.value])).collect::<Vec<_>>(),
        [json!([0, "agreed", 0.0]), json!([1, "agreed", 0.0])]
    );
}

#[test]
fn text_states_remaining_proposals() {
    let g = game(GIVEN);
    let mut s = g.start();
    let text = |s: &State| g.text(&g.view(s, Viewer::Seat(0)));
    assert!(
        text(&s)
            .starts_with("At most 6 proposals of both players together; 6 left. The last one cannot be accepted.\n")
    );
    assert!(text(&s).ends_with("p0 is to move: a proposal."), "there is nothing to agree to");
    play(&g, &mut s, "Proposal: [1, 0, 4]");
    assert!(text(&s).contains("; 5 left. "));
    let one = game("instance=1 0 0;1 1 1;1 1 1;1");
    assert!(one.text(&one.view(&one.start(), Viewer::Public)).starts_with("At most 1 proposal of both"));
}
