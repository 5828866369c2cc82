//! Thousands of generated documents: they cover every clause, and games under them satisfy the invariants.

use std::collections::BTreeMap;

use ludex_env::check::scaled;
use ludex_env::draw::Stream;

use super::super::board::ALL;
use super::super::{sample, score};
use super::*;

/// Counts the enumeration values and flags that a document contains.
fn clauses(value: &Value, path: &str, out: &mut BTreeMap<String, u32>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in
                map.iter().filter(|(key, _)| !matches!(key.as_str(), "name" | "id" | "kind" | "at" | "zones"))
            {
                clauses(inner, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(list) if path.ends_with("/steps") => {
            let _ = list;
            *out.entry(format!("{path}=leaps")).or_default() += 1;
        }
        Value::Array(list) => list.iter().for_each(|inner| clauses(inner, path, out)),
        Value::String(_) | Value::Bool(_) | Value::Null => *out.entry(format!("{path}={value}")).or_default() += 1,
        Value::Number(_) => {}
    }
}

/// Returns all enumeration values of the schema with the paths of their fields.
fn schema_values() -> Vec<&'static str> {
    let text = "/first=author /first=other /first=seat0 /first=random /mode=alternate /mode=simultaneous \
        /actions/near=any /actions/near=own4 /actions/near=own8 /actions/near=opp4 /actions/near=opp8 /actions/near=away4 \
        /actions/steps=orth /actions/steps=diag /actions/steps=king /actions/steps=knight /actions/steps=leaps \
        /actions/onto=empty /actions/onto=opp_any /actions/onto=opp_lower /actions/onto=opp_lower_eq \
        /actions/onto=empty_or_opp_any /actions/onto=empty_or_opp_lower /actions/onto=empty_or_opp_lower_eq \
        /actions/forward_only=true /actions/forward_only=false \
        /actions/do=place /actions/do=move /actions/do=pass /actions/when=never /actions/when=stuck /actions/when=always \
        /effects/on=place /effects/on=move /effects/cells=adj4 /effects/cells=adj8 /effects/cells=sandwich8 \
        /effects/cells=sandwich4 /effects/cells=line_rest /effects/who=opp /effects/who=own /effects/who=both \
        /effects/if=null /effects/if=lower /effects/if=higher /effects/if=equal /effects/if=sum10 \
        /effects/then=flip /effects/then=remove /effects/then=add /effects/then=sub \
        /hidden/values=true /hidden/values=false /hidden/pieces=true /hidden/pieces=false /hidden/reveal=end \
        /hidden/reveal=contact /end/if=line /end/if=reach /end/if=eliminated /end/if=stuck /end/if=pieces_ge /end/if=full \
        /end/if=supply_out /end/then=win /end/then=lose /end/then=score /end/then=draw /end/exact=true /end/exact=false \
        /end/dirs=orth /end/dirs=diag /end/dirs=all /score/per=piece /score/per=value /score/per=territory4 \
        /score/per=largest_group4 /score/per=capture /score/per=line /score/per=row_compare /score/per=col_compare \
        /tie=draw /tie=second /tie=first /tie=fewer_pieces /kinds/values=null /kinds/values/unique=true \
        /kinds/values/unique=false /kinds/values/sum_max=null /kinds/supply=null";
    text.split_whitespace().collect()
}

/// Asserts the invariants of a position: consistent sets of pieces, numbers within range, legal actions that parse.
fn sound(rules: &Rules, s: &BoardState) {
    assert_eq!(s.pieces[0] & s.pieces[1], 0);
    assert_eq!((s.occupied() | s.shown) & !ALL, 0);
    assert!(s.ply <= rules.document.ply_cap && (s.over.is_some() || s.acts != 0));
    for c in board::cells(s.occupied()) {
        let kind = &rules.document.kinds[usize::from(s.kind[c])];
        match &kind.values {
            Some(v) => assert!((v.min..=v.max).contains(&s.value[c]), "{} on {}", s.value[c], board::name(c)),
            None => assert_eq!(s.value[c], NONE),
        }
    }
    for seat in 0..2 {
        let mut found: Vec<Action> = Vec::new();
        legal::actions(rules, s, seat, &mut found);
        assert!(found.windows(2).all(|w| w[0] < w[1]) && found.is_empty() != (s.acts >> seat & 1 == 1));
        assert!(
            found
                .iter()
                .all(|&a| legal::is_legal(rules, s, seat, a) && words::read(rules, &words::name(rules, a)) == Some(a))
        );
    }
}

#[test]
fn sampled_documents_cover_every_clause() {
    let mut rng = Stream::from_text("ludex.v1:free_style:sampled");
    let (mut counts, mut valid, mut slowest) = (BTreeMap::new(), 0, std::time::Duration::ZERO);
    let mut reasons: BTreeMap<String, u32> = BTreeMap::new();
    let total = scaled(10_000);
    for _ in 0..total {
        let value = sample::document(&mut rng);
        let started = std::time::Instant::now();
        let verdict = validate::verdict(&value);
        slowest = slowest.max(started.elapsed());
        match verdict.into_rules() {
            Ok(rules) => {
                valid += 1;
                let mut here = BTreeMap::new();
                clauses(&rules.canonical, "", &mut here);
                here.into_keys().for_each(|key| *counts.entry(key.replace('"', "")).or_default() += 1);
                // Plays 100 games of each valid document, and 1,000 games of every sixtieth.
                let mut games = Stream::from_text(&rules.hash);
                for k in 0..if valid % 60 == 0 { 1_000 } else { 100 } {
                    let s = validate::random_game(&rules, k % 2, &mut games);
                    assert!(s.over.is_some() && s.ply <= rules.document.ply_cap && s.pieces[0] & s.pieces[1] == 0);
                    if k < 2 {
                        sound(&rules, &s);
                    }
                }
                let (again, text) = (validate::judge(&rules.canonical), rules.summary());
                assert_eq!(
                    again.rules.map(|r| (r.hash, r.canonical)),
                    Some((rules.hash.clone(), rules.canonical.clone()))
                );
                assert!(text.lines().count() > 4, "{text}");
            }
            Err(flaws) => {
                for flaw in &flaws {
                    *reasons.entry(format!("{:?} {}", flaw.code, flaw.path)).or_default() += 1;
                }
                assert!(!flaws.is_empty());
            }
        }
    }
    println!(
        "{valid} of {total} are valid; the slowest verdict took {slowest:?}; refused for {reasons:#?}; {counts:#?}"
    );
    let least = |key: &&&str| counts.get(**key).copied().unwrap_or(0) < 20;
    let rare: Vec<_> = schema_values().iter().filter(least).map(|k| (*k, counts.get(*k).copied())).collect();
    assert!(rare.is_empty() || total < 10_000, "too few of {valid} valid documents contain {rare:?}");
}

/// Checks every position of each random game, not only the last position.
#[test]
fn random_games_satisfy_position_invariants() {
    let mut rng = Stream::from_text("ludex.v1:free_style:positions");
    for _ in 0..scaled(60) {
        let rules = sample::valid(&mut rng);
        let mut s = BoardState::start(&rules, 0);
        while s.over.is_none() {
            sound(&rules, &s);
            let one =
                |seat: usize, rng: &mut Stream| (s.acts >> seat & 1 == 1).then(|| legal::random(&rules, &s, seat, rng));
            if rules.together() {
                let joint = [one(0, &mut rng), one(1, &mut rng)];
                s.step_together(&rules, joint);
            } else {
                let a = legal::random(&rules, &s, s.mover.into(), &mut rng);
                s.step(&rules, a);
            }
        }
        sound(&rules, &s);
    }
}

/// Plays random ids, legal or not, in any position: the game must not panic.
#[test]
fn illegal_ids_never_panic() {
    let mut rng = Stream::from_text("ludex.v1:free_style:any");
    for _ in 0..scaled(60) {
        let rules = sample::valid(&mut rng);
        let mut s = BoardState::start(&rules, 0);
        for _ in 0..120 {
            let [a, b] = [0; 2].map(|_: u8| rng.below(ids::ACTIONS as usize) as Action);
            if rules.together() {
                s.step_together(&rules, [Some(a), Some(b)]);
            } else {
                s.step(&rules, a);
            }
        }
        let _ = score::points(&rules, &s);
    }
}

/// Returns the document with one random fault.
fn broken(value: &Value, rng: &mut Stream) -> Value {
    let mut value = value.clone();
    let Some(map) = value.as_object_mut() else { return Value::Null };
    let keys: Vec<String> = map.keys().cloned().collect();
    let key = &keys[rng.below(keys.len())];
    match rng.below(8) {
        0 => {
            let required = ["fsr", "name", "board", "ply_cap", "kinds", "actions"];
            map.remove(required[rng.below(required.len())]);
        }
        1 => {
            map.insert(format!("{key}s"), 1.into());
        }
        2 => {
            map.insert(key.clone(), json!({ "deep": [[[[1]]]] }));
        }
        3 => {
            map.insert(
                "ply_cap".into(),
                [json!(0), json!(101), json!(-5), json!(1e300), json!("9"), json!(2.5)][rng.below(6)].clone(),
            );
        }
        4 => {
            map.insert("actions".into(), json!([{ "do": "place", "kind": "zz", "by": { "0": "all", "1": "all" } }]));
        }
        5 => {
            map.insert("kinds".into(), json!([{ "id": "s", "supply": 99 }]));
        }
        6 => {
            map.insert("end".into(), json!([{ "if": "line", "len": 9, "then": "win" }]));
        }
        _ => {
            map.insert("first".into(), ["unknown", "", "Author"][rng.below(3)].into());
        }
    }
    value
}

#[test]
fn mutated_documents_are_refused_with_issues() {
    let mut rng = Stream::from_text("ludex.v1:free_style:mutated");
    for _ in 0..scaled(10_000) {
        let value = broken(&sample::document(&mut rng), &mut rng);
        let verdict = validate::verdict(&value);
        assert!(!verdict.issues.is_empty(), "{value} was accepted");
        assert!(verdict.issues.iter().all(|f| !f.message.is_empty()), "{:?}", verdict.issues);
    }
    for value in ludex_env::check::garbage() {
        assert!(!validate::verdict(&value).issues.is_empty());
    }
}
