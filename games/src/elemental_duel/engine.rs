//! Implementation of the engine interface of plan games.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink, GameInfo};
use ludex_env::params::ParamError;
use serde_json::{Value, json};

use super::simulate::simulate;
use super::skills::{ELEMENTS, KINDS, NAMES, SKILLS};
use super::team::{self, Piece, Team};
use super::{ElementalDuelEngine, Params};
use crate::plan_game::{self, BattleEnd, BattleLog, LADDER, ParsedPlan, PartialPiece, PlanEngine, Side};

/// First action id of the elements. Elements come first, then skills; `END` is the number of ids. Ids 0 and 1 have
/// the same meaning in all plan games.
const ELEMENT: Action = 2;
const SKILL: Action = 5;
const END: Action = 11;
/// Maximum number of entries in a list of a plan document.
const ENTRIES: usize = 40;
/// Number of skills per character, and of characters per team.
const PLACES: usize = 3;

fn list(side: Side) -> &'static str {
    ["invaders", "defenders"][side & 1]
}

/// Returns the table index of an element of a side.
fn place(side: Side, element: u8) -> usize {
    (side & 1) * ELEMENTS + usize::from(element)
}

/// Returns the spelling of a skill name in the table. One skill also accepts a second spelling.
fn spelled(name: &str) -> &str {
    if name == "final_announcement" { "final_announcment" } else { name }
}

/// Returns the table index of a skill's element, and the index of the skill within the element.
fn find(name: &str) -> Option<(usize, u8)> {
    let name = spelled(name);
    let skills = SKILLS.iter().enumerate();
    let mut named = skills.flat_map(|(e, all)| all.iter().enumerate().map(move |(n, skill)| (skill.name, e, n as u8)));
    named.find(|skill| skill.0 == name).map(|skill| (skill.1, skill.2))
}

impl PlanEngine for ElementalDuelEngine {
    type Params = Params;
    type Plan = Team;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("../elemental_duel.j2"),
        presets: &[
            ("advgamebench", r#"{"format":"match","rounds":10,"revise":"alternate"}"#, "ten rounds as in AdvGameBench"),
            (
                "repo",
                r#"{"format":"match","rounds":10,"revise":"alternate","hp_invader":100,"hp_defender":100,"mode":"gauntlet"}"#,
                "ten rounds with the rules of AdvGameBench's code",
            ),
        ],
        ladder: LADDER,
        rules: 2,
        ..GameInfo::new("elemental_duel", "Elemental duel", include_str!("../elemental_duel.md"))
    };
    const SIDES: [&'static str; 2] = ["invader", "defender"];
    const BUDGETS: [u32; 2] = [20, 20];
    const ACTIONS: u32 = END;
    const CELLS: u32 = 9 + 54;
    const VALUE: &'static str = "for each round and seat: share of the seat's HP left minus share of the opponent's HP left; without a battle 1 for the \
        winner, else -1";
    const STRUCTURAL: &'static str = "for each round and seat, if this and the previous strategy for the side are legal: shared \
        pieces (skill and its position within the character) / all pieces, as multisets (Jaccard index)";
    const RULES: &'static str = "Each side has three characters, one of each of its elements, with three skills each of their \
        element, which they use in turn, again and again. In each round the invaders act in their order, then the \
        defenders; the target is the first living enemy. Fire beats Wood, Wood Earth, Earth Water, Water Fire: damage x1.2, \
        and x0.8 the other way. Light and Dark have x1.5 on each other. Shields take damage before HP. Who has no \
        character left loses; after 50 rounds more HP win, the defenders if they are equal.";

    fn new(params: &Params) -> Result<Self, ParamError> {
        Ok(ElementalDuelEngine {
            settings: super::BattleSettings { mode: params.mode, hp: [params.hp_invader, params.hp_defender] },
        })
    }

    fn most_steps(_budget: u32) -> u32 {
        13
    }

    fn fields(side: Side) -> Vec<(&'static str, Value)> {
        let text = json!({ "type": "string" });
        let item = json!({
            "type": "object",
            "required": ["element", "skills"],
            "properties": { "element": text, "skills": { "type": "array", "items": text, "maxItems": ENTRIES } },
            "additionalProperties": false,
        });
        vec![(list(side), json!({ "type": "array", "items": item, "maxItems": ENTRIES }))]
    }

    fn read(&self, side: Side, budget: u32, document: &Value) -> ParsedPlan<Team> {
        let [mut skills, mut unknown, mut wrong] = [false; 3];
        let (mut team, mut cost, mut good) = (Team::new(), 0, true);
        let mut seen = [0; ELEMENTS];
        let mut foreign = false;
        let entries = document[list(side)].as_array().map(Vec::as_slice).unwrap_or_default();
        for entry in entries {
            let name = entry["element"].as_str().unwrap_or_default();
            let element = (0..ELEMENTS as u8).find(|&e| NAMES[place(side, e)] == name);
            match element {
                Some(e) => seen[usize::from(e)] += 1,
                None => foreign = true,
            }
            let chosen = entry["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
            skills |= chosen.len() != PLACES;
            let mut own = [None; PLACES];
            for (n, skill) in chosen.iter().enumerate() {
                let Some((at, number)) = find(skill.as_str().unwrap_or_default()) else {
                    unknown = true;
                    continue;
                };
                if at / ELEMENTS == side & 1 {
                    cost += SKILLS[at][usize::from(number)].cost;
                }
                if NAMES[at] != name {
                    wrong = true;
                } else if let Some(own) = own.get_mut(n) {
                    *own = Some(number);
                }
            }
            good &= match (element, own) {
                (Some(element), [Some(a), Some(b), Some(c)]) => {
                    team.try_push(Piece { element, skills: [a, b, c] }).is_ok()
                }
                _ => false,
            };
        }
        let found = [
            ("characters", entries.len() != ELEMENTS),
            ("elements", foreign || seen != [1; ELEMENTS]),
            ("skills", skills),
            ("unknown_name", unknown),
            ("wrong_element", wrong),
            ("over_budget", cost > budget),
        ];
        let violations: Vec<&str> = found.into_iter().filter(|f| f.1).map(|f| f.0).collect();
        ParsedPlan { plan: (good && !skills).then_some(team), cost, violations }
    }

    fn document(&self, side: Side, team: &Team) -> Value {
        let character = |piece: &Piece| {
            let at = place(side, piece.element);
            json!({ "element": NAMES[at], "skills": piece.skills.map(|n| SKILLS[at][usize::from(n)].name) })
        };
        json!({ list(side): team.iter().map(character).collect::<Vec<_>>() })
    }

    fn cost(&self, side: Side, team: &Team) -> u32 {
        team::cost(side, team)
    }

    fn pieces(&self, side: Side, team: &Team) -> Vec<plan_game::PlanPiece> {
        let of = |piece: &Piece| {
            let at = place(side, piece.element);
            piece.skills.into_iter().zip(0..).map(move |(n, slot)| plan_game::PlanPiece {
                kind: (at * KINDS) as u32 + u32::from(n),
                place: slot,
                cost: SKILLS[at][usize::from(n)].cost,
                roles: SKILLS[at][usize::from(n)].roles,
            })
        };
        team.iter().flat_map(|piece| of(piece).collect::<Vec<_>>()).collect()
    }

    fn choices(&self, side: Side, budget: u32, team: &Team, begun: &[Action], out: &mut impl ActionSink) {
        let Some((&element, skills)) = begun.split_first() else {
            if !team.is_full() {
                let free = |&e: &u8| team.iter().all(|piece| piece.element != e);
                (0..ELEMENTS as u8).filter(free).for_each(|e| out.put(ELEMENT + Action::from(e)));
            }
            return;
        };
        let at = &SKILLS[place(side, (element.saturating_sub(ELEMENT) % 3) as u8)];
        let spent = |a: &Action| at[(a.saturating_sub(SKILL) as usize) % KINDS].cost;
        let further = (PLACES * ELEMENTS - PLACES * team.len() - skills.len() - 1) as u32;
        let left = budget.saturating_sub(self.cost(side, team) + skills.iter().map(spent).sum::<u32>() + further);
        (SKILL..END).filter(|a| spent(a) <= left).for_each(|a| out.put(a));
    }

    fn choose(&self, _side: Side, team: &mut Team, begun: &mut PartialPiece, a: Action) {
        begun.push(a);
        if let [element, skills @ ..] = &begun[..]
            && let [a, b, c] = *skills
        {
            let skill = |a: Action| (a.saturating_sub(SKILL) as usize % KINDS) as u8;
            let piece = Piece { element: (element.saturating_sub(ELEMENT) % 3) as u8, skills: [a, b, c].map(skill) };
            // An unchecked move may add too many characters and must not panic, so excess characters are dropped.
            _ = team.try_push(piece);
            begun.clear();
        }
    }

    fn complete(&self, team: &Team) -> bool {
        team.is_full()
    }

    fn action_text(&self, side: Side, a: Action) -> String {
        match a {
            ELEMENT..SKILL => format!("element {}", NAMES[place(side, (a - ELEMENT) as u8)]),
            _ => format!("skill {}", a.saturating_sub(SKILL)),
        }
    }

    fn gloss(&self, side: Side, begun: &[Action], a: Action) -> String {
        let (Some(&element), SKILL..END) = (begun.first(), a) else { return String::new() };
        let skill = &SKILLS[place(side, (element.saturating_sub(ELEMENT) % 3) as u8)][(a - SKILL) as usize % KINDS];
        format!("{}, cost {}", skill.name, skill.cost)
    }

    fn simulate(&self, teams: [&Team; 2], _budgets: [u32; 2], log: &mut impl BattleLog) -> BattleEnd {
        simulate(teams, self.settings, log)
    }

    fn random(&self, side: Side, budget: u32, rng: &mut Stream) -> Team {
        team::random(side, budget, rng)
    }

    fn vary(&self, side: Side, budget: u32, team: &Team, rng: &mut Stream) -> Team {
        team::vary(side, budget, team, rng)
    }

    fn example(&self, _side: Side) -> Team {
        (0..ELEMENTS as u8).map(|element| Piece { element, skills: [0, 1, 0] }).collect()
    }

    fn catalogue(&self, side: Side) -> Vec<(&'static str, String)> {
        let of = |at: usize| {
            SKILLS[at].iter().map(move |skill| {
                (skill.name, format!("{} {}: cost {}; {}", NAMES[at], skill.name, skill.cost, skill.ability))
            })
        };
        (0..ELEMENTS as u8).flat_map(|e| of(place(side, e))).collect()
    }

    fn encode(&self, _side: Side, team: &Team, out: &mut [u8]) {
        for (n, piece) in team.iter().enumerate() {
            out[3 * n + usize::from(piece.element)] = 1;
            for (k, &skill) in piece.skills.iter().enumerate() {
                out[9 + 18 * n + 6 * k + usize::from(skill)] = 1;
            }
        }
    }
}
