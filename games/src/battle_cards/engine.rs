//! Implementation of the engine interface of plan games.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink, GameInfo};
use ludex_env::params::ParamError;
use serde_json::{Map, Value, json};

use super::cards::{Ability, CARDS, KINDS, SKELETON, of_side};
use super::simulate::simulate;
use super::team::{self, MOST, Piece, Team};
use super::{BattleCardsEngine, Params, Rules};
use crate::plan_game::{self, BattleEnd, BattleLog, LADDER, ParsedPlan, PartialPiece, PlanEngine, Side};

/// First action id of the cards. Cards come first, then priorities; `END` is the number of ids. Ids 0 and 1 have
/// the same meaning in all plan games.
const CARD: Action = 2;
const PRIORITY: Action = 24;
const END: Action = 36;
/// Maximum number of entries in a list of a plan document.
const ENTRIES: usize = 40;
const BRONZE: &str = "Bronze";
const GOLD: &str = "Gold";

fn list(side: Side) -> &'static str {
    ["invaders", "defenders"][side & 1]
}

fn wishes(side: Side) -> &'static str {
    ["target_priority_for_invaders", "target_priority_for_defenders"][side & 1]
}

fn name(side: Side, kind: u8) -> &'static str {
    CARDS[usize::from(of_side(side, kind))].name
}

/// Returns the index of the named card among the first `n` cards of a side.
fn find(side: Side, n: usize, text: &str) -> Option<u8> {
    (0..n as u8).find(|&kind| name(side, kind) == text)
}

impl PlanEngine for BattleCardsEngine {
    type Params = Params;
    type Plan = Team;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("../battle_cards.j2"),
        presets: &[
            ("advgamebench", r#"{"format":"match","rounds":10,"revise":"alternate"}"#, "ten rounds as in AdvGameBench"),
            (
                "repo",
                r#"{"format":"match","rounds":10,"revise":"alternate","rules":"repo"}"#,
                "ten rounds with the rules of AdvGameBench's code",
            ),
        ],
        ladder: LADDER,
        ..GameInfo::new("battle_cards", "Battle cards", include_str!("../battle_cards.md"))
    };
    const SIDES: [&'static str; 2] = ["invader", "defender"];
    const BUDGETS: [u32; 2] = [20, 20];
    const ACTIONS: u32 = END;
    const CELLS: u32 = 7 * 24;
    const VALUE: &'static str = "for each round and seat: h minus h of the opponent, where h = min(health left / health after the effects at the start, 1); \
        without a battle 1 for the winner, else -1";
    const STRUCTURAL: &'static str = "for each round and seat, if this and the previous strategy for the side are legal: shared \
        pieces (name and tier) / all pieces, as multisets (Jaccard index)";
    const RULES: &'static str = "Each side has up to 7 cards in a row. A Gold card costs three times as much and has twice the \
        attack, health and numbers. The side with more cards begins, the invader if they are equal; then the sides take \
        turns, and the leftmost card that has not attacked yet attacks. Both cards deal their attack at the same time. \
        Cards with taunt are attacked first, then the names of the priority list in order, then the leftmost card. A \
        divine shield takes one instance of damage. Fire beats Nature, Nature Water, Water Earth, Earth Fire: damage half \
        as much again. Who has no cards left loses.";

    fn new(params: &Params) -> Result<Self, ParamError> {
        Ok(BattleCardsEngine { rules: params.rules })
    }

    fn most_steps(_budget: u32) -> u32 {
        20
    }

    fn fields(side: Side) -> Vec<(&'static str, Value)> {
        let text = json!({ "type": "string" });
        let item = json!({
            "type": "object",
            "required": ["name"],
            "properties": { "name": text, "tier": text },
            "additionalProperties": false,
        });
        vec![
            (list(side), json!({ "type": "array", "items": item, "maxItems": ENTRIES })),
            (wishes(side), json!({ "type": "array", "items": text, "maxItems": ENTRIES })),
        ]
    }

    fn read(&self, side: Side, budget: u32, document: &Value) -> ParsedPlan<Team> {
        let [mut unknown, mut wrong, mut tier, mut priority] = [false; 4];
        let (mut team, mut cost, mut good) = (Team::default(), 0, true);
        let entries = |field: &str| document[field].as_array().map(Vec::as_slice).unwrap_or_default();
        let cards = entries(list(side));
        for entry in cards {
            let text = entry["name"].as_str().unwrap_or_default();
            let gold = match entry.get("tier").map(|tier| tier.as_str().unwrap_or_default()) {
                None | Some(BRONZE) => Some(false),
                Some(GOLD) => Some(true),
                Some(_) => None,
            };
            tier |= gold.is_none();
            let Some(kind) = find(side, KINDS, text) else {
                good = false;
                if find(1 - side, KINDS, text).is_some() {
                    wrong = true
                } else {
                    unknown = true
                }
                continue;
            };
            let piece = Piece { kind, gold: gold.unwrap_or(false) };
            cost += team::cost(side, piece);
            good &= gold.is_some() && team.cards.try_push(piece).is_ok();
        }
        for entry in entries(wishes(side)) {
            match find(1 - side, KINDS + 1, entry.as_str().unwrap_or_default()) {
                Some(kind) if team.priority.contains(&kind) => {}
                Some(kind) => team.priority.push(kind),
                None => priority = true,
            }
        }
        let found = [
            ("unknown_name", unknown),
            ("wrong_side", wrong),
            ("bad_tier", tier),
            ("too_many", cards.len() > MOST),
            ("bad_priority", priority),
            ("empty", cards.is_empty()),
            ("over_budget", cost > budget),
        ];
        let violations: Vec<&str> = found.into_iter().filter(|f| f.1).map(|f| f.0).collect();
        ParsedPlan { plan: (good && !priority).then_some(team), cost, violations }
    }

    fn document(&self, side: Side, team: &Team) -> Value {
        let card =
            |piece: &Piece| json!({ "name": name(side, piece.kind), "tier": if piece.gold { GOLD } else { BRONZE } });
        let mut out = Map::new();
        out.insert(list(side).to_owned(), team.cards.iter().map(card).collect());
        if !team.priority.is_empty() {
            out.insert(wishes(side).to_owned(), team.priority.iter().map(|&kind| name(1 - side, kind)).collect());
        }
        out.into()
    }

    fn cost(&self, side: Side, team: &Team) -> u32 {
        team::total(side, team)
    }

    fn pieces(&self, side: Side, team: &Team) -> Vec<plan_game::PlanPiece> {
        let piece = |&piece: &Piece| plan_game::PlanPiece {
            kind: piece.kind.into(),
            place: piece.gold.into(),
            cost: team::cost(side, piece),
            roles: CARDS[usize::from(of_side(side, piece.kind))].roles,
        };
        team.cards.iter().map(piece).collect()
    }

    fn choices(&self, side: Side, budget: u32, team: &Team, _begun: &[Action], out: &mut impl ActionSink) {
        if team.priority.is_empty() && !team.cards.is_full() {
            let left = budget.saturating_sub(self.cost(side, team));
            let pieces = (0..2 * KINDS as u8).map(|n| Piece { kind: n / 2, gold: n % 2 == 1 });
            for (a, piece) in (CARD..).zip(pieces) {
                if team::cost(side, piece) <= left {
                    out.put(a);
                }
            }
        }
        if !team.cards.is_empty() {
            let free = |&kind: &u8| !team.priority.contains(&kind);
            (0..=KINDS as u8).filter(free).for_each(|kind| out.put(PRIORITY + Action::from(kind)));
        }
    }

    fn choose(&self, _side: Side, team: &mut Team, _begun: &mut PartialPiece, a: Action) {
        match a {
            CARD..PRIORITY => {
                let n = (a - CARD) as u8;
                // An unchecked move may add too many cards and must not panic, so excess cards are dropped.
                _ = team.cards.try_push(Piece { kind: n / 2, gold: n % 2 == 1 });
            }
            PRIORITY..END => {
                let kind = (a - PRIORITY) as u8;
                if !team.priority.contains(&kind) {
                    team.priority.push(kind);
                }
            }
            _ => {}
        }
    }

    fn complete(&self, team: &Team) -> bool {
        !team.cards.is_empty()
    }

    fn action_text(&self, side: Side, a: Action) -> String {
        match a {
            CARD..PRIORITY => {
                let n = (a - CARD) as u8;
                format!("card {} {}", name(side, n / 2), if n % 2 == 1 { GOLD } else { BRONZE })
            }
            _ => format!("priority {}", name(1 - side, (a.saturating_sub(PRIORITY)).min(KINDS as u32) as u8)),
        }
    }

    fn simulate(&self, teams: [&Team; 2], _budgets: [u32; 2], log: &mut impl BattleLog) -> BattleEnd {
        simulate(teams, self.rules, log)
    }

    fn random(&self, side: Side, budget: u32, rng: &mut Stream) -> Team {
        let mut team = team::random(side, budget, rng);
        // On average, five of eight teams get no priorities, and the others get one to three.
        for _ in 0..rng.below(2) * rng.below(4) {
            let kind = rng.below(KINDS + 1) as u8;
            if !team.priority.contains(&kind) {
                team.priority.push(kind);
            }
        }
        team
    }

    fn vary(&self, side: Side, budget: u32, team: &Team, rng: &mut Stream) -> Team {
        team::vary(side, budget, team, rng)
    }

    fn example(&self, side: Side) -> Team {
        let cards = [0, 1].map(|kind| Piece { kind, gold: kind == 1 });
        Team {
            cards: cards.into_iter().collect(),
            priority: if side == 0 { [8].into_iter().collect() } else { Default::default() },
        }
    }

    fn catalogue(&self, side: Side) -> Vec<(&'static str, String)> {
        let line = |kind: u8| {
            let card = &CARDS[usize::from(of_side(side, kind))];
            let figures = format!("{}/{}, {:?}", card.attack, card.health, card.element);
            let figures = match usize::from(kind) {
                KINDS => format!("summoned only, cannot be chosen; {figures}"),
                _ => format!("cost {}, {figures}", card.cost),
            };
            let ability = match (self.rules, card.is) {
                (Rules::Repo, Ability::Leaves(SKELETON)) => "death: Skeletons 3/1 fill its side",
                _ => card.ability,
            };
            (card.name, format!("{}: {figures}; {ability}", card.name))
        };
        (0..=KINDS as u8).map(line).collect()
    }

    fn encode(&self, _side: Side, team: &Team, out: &mut [u8]) {
        for (n, piece) in team.cards.iter().enumerate() {
            out[24 * n + 2 * usize::from(piece.kind) + usize::from(piece.gold)] = 1;
        }
    }
}
