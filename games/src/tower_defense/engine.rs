//! Implementation of the plan game engine for tower defense.

use ludex_env::draw::Stream;
use ludex_env::game::{Action, ActionSink, GameInfo};
use ludex_env::params::ParamError;
use serde_json::{Value, json};

use super::plan::{self, COLUMNS, ENTRY, LATEST, MOST, Piece, ROWS};
use super::simulate::simulate;
use super::units::{DEMONS, HUMANS, demon_health};
use super::{Params, TICK, TowerDefenseEngine};
use crate::plan_game::{self, BattleEnd, BattleLog, LADDER, ParsedPlan, PartialPiece, PlanEngine, Side};

/// First action id of each kind of choice.
const UNIT: Action = 2;
const CELL: Action = 15;
const SECOND: Action = 70;
const TENTH: Action = 131;
const ROW: Action = 151;
const END: Action = 156;
/// Number of ticks in a second.
const TICKS: u16 = 1000 / TICK as u16;
const LAST: u16 = (LATEST / TICK as u32) as u16;

fn names(side: Side) -> impl Iterator<Item = &'static str> {
    (0..13).map(move |n| if side == 0 { HUMANS[n].name } else { DEMONS[n].name })
}

fn list(side: Side) -> &'static str {
    ["humans", "demons"][side & 1]
}

/// Parses an integer from 0 to `most`.
fn whole(value: &Value, most: u32) -> Option<u32> {
    let n = value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=f64::from(most)).contains(n))?;
    Some(n as u32)
}

impl PlanEngine for TowerDefenseEngine {
    type Params = Params;
    type Plan = Vec<Piece>;

    const INFO: GameInfo = GameInfo {
        manual: include_str!("../tower_defense.j2"),
        presets: &[
            ("advgamebench", r#"{"format":"match","rounds":10,"revise":"alternate"}"#, "ten rounds as in AdvGameBench"),
            (
                "repo",
                r#"{"format":"match","rounds":10,"revise":"alternate","rules":"repo"}"#,
                "ten rounds with the rules of AdvGameBench's code",
            ),
        ],
        ladder: LADDER,
        ..GameInfo::new("tower_defense", "Tower defence", include_str!("../tower_defense.md"))
    };
    const SIDES: [&'static str; 2] = ["human", "demon"];
    const BUDGETS: [u32; 2] = [2000, 1500];
    const ACTIONS: u32 = END;
    const CELLS: u32 = 13 * 60;
    const VALUE: &'static str = "for each round and seat: for the humans 1 + cost of surviving units / budget if they won, else -(cost of demons alive or to come \
        / cost of all demons); for the demons the negative value; summoned demons cost 0; without a battle 1 for the winner, else -1";
    const STRUCTURAL: &'static str = "for each round and seat, if this and the previous strategy for the side are legal: shared \
        pieces (name and cell) / all pieces, as multisets (Jaccard index)";
    const RULES: &'static str = "The field has rows y 0 to 4. Humans stand in columns x 0 to 10; demons enter at column 11 and \
        walk to the left. A demon that reaches the left edge wins for the demons; the humans win when no demon is left. \
        A cell holds one human unit. A demon stops before a unit in its row and attacks it once a second; humans shoot \
        along their row. Times are in milliseconds, at most 60000. Speed 2 crosses the field in 14 s.";

    fn new(params: &Params) -> Result<Self, ParamError> {
        Ok(TowerDefenseEngine { rules: params.rules })
    }

    fn most_steps(budget: u32) -> u32 {
        4 * (budget / 50) + 1
    }

    fn fields(side: Side) -> Vec<(&'static str, Value)> {
        let place = json!({ "type": "number" });
        let properties = match side {
            0 => json!({ "name": { "type": "string" }, "x": place, "y": place, "spawn_time": place }),
            _ => json!({ "name": { "type": "string" }, "y": place, "spawn_time": place }),
        };
        let required: Vec<&String> = properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
        let item =
            json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false });
        vec![(list(side), json!({ "type": "array", "items": item, "maxItems": MOST }))]
    }

    fn read(&self, side: Side, budget: u32, document: &Value) -> ParsedPlan<Vec<Piece>> {
        let [mut unknown, mut wrong, mut grid, mut time, mut same] = [false; 5];
        let (mut plan, mut cost) = (Vec::<Piece>::new(), 0);
        let entries = document[list(side)].as_array().map(Vec::as_slice).unwrap_or_default();
        for entry in entries {
            let name = entry["name"].as_str().unwrap_or_default();
            let kind = names(side).position(|n| n == name).map(|n| n as u8);
            match kind {
                Some(kind) => cost += plan::cost(side, kind, self.rules),
                None if names(1 - side).any(|n| n == name) => wrong = true,
                None => unknown = true,
            }
            let x = if side == 0 { whole(&entry["x"], u32::from(COLUMNS) - 1) } else { Some(COLUMNS.into()) };
            let y = whole(&entry["y"], u32::from(ROWS) - 1);
            let at = whole(&entry["spawn_time"], LATEST);
            grid |= x.is_none() || y.is_none();
            time |= at.is_none();
            let (Some(kind), Some(x), Some(y), Some(at)) = (kind, x, y, at) else { continue };
            let (cell, tick) = (x as u8 * ROWS + y as u8, (at / TICK as u32) as u16);
            plan.push(Piece { kind, cell, tick });
        }
        if side == 0 {
            // Compares units with unknown names too, because only their cells and times matter.
            let mut places: Vec<[u32; 3]> = entries
                .iter()
                .filter_map(|e| {
                    Some([whole(&e["x"], 10)?, whole(&e["y"], 4)?, whole(&e["spawn_time"], LATEST)? / TICK as u32])
                })
                .collect();
            places.sort_unstable();
            same = places.windows(2).any(|pair| pair[0] == pair[1]);
        }
        let found = [
            ("unknown_name", unknown),
            ("wrong_side", wrong),
            ("out_of_grid", grid),
            ("bad_time", time),
            ("same_cell", same),
            ("empty", entries.is_empty()),
            ("over_budget", cost > budget),
        ];
        let violations: Vec<&str> = found.into_iter().filter(|f| f.1).map(|f| f.0).collect();
        let plan = (plan.len() == entries.len()).then_some(plan);
        ParsedPlan { plan, cost, violations }
    }

    fn document(&self, side: Side, plan: &Vec<Piece>) -> Value {
        let piece = |piece: &Piece| {
            let (name, y) = (names(side).nth(piece.kind.into()), piece.cell % ROWS);
            let time = u32::from(piece.tick) * TICK as u32;
            match side {
                0 => json!({ "name": name, "x": piece.cell / ROWS, "y": y, "spawn_time": time }),
                _ => json!({ "name": name, "y": y, "spawn_time": time }),
            }
        };
        json!({ list(side): plan.iter().map(piece).collect::<Vec<_>>() })
    }

    fn cost(&self, side: Side, plan: &Vec<Piece>) -> u32 {
        plan.iter().map(|piece| plan::cost(side, piece.kind, self.rules)).sum()
    }

    fn pieces(&self, side: Side, plan: &Vec<Piece>) -> Vec<plan_game::PlanPiece> {
        let piece = |piece: &Piece| {
            let kind = usize::from(piece.kind);
            plan_game::PlanPiece {
                kind: piece.kind.into(),
                place: piece.cell.into(),
                cost: plan::cost(side, piece.kind, self.rules),
                roles: if side == 0 { HUMANS[kind].roles } else { DEMONS[kind].roles },
            }
        };
        plan.iter().map(piece).collect()
    }

    fn choices(&self, side: Side, budget: u32, plan: &Vec<Piece>, begun: &[Action], out: &mut impl ActionSink) {
        let taken = |cell: Action, tick: u16| {
            side == 0 && plan.iter().any(|piece| Action::from(piece.cell) == cell - CELL && piece.tick == tick)
        };
        let ticks = |second: Action| if second - SECOND == LATEST / 1000 { 0..1 } else { 0..TICKS };
        let tick = |second: Action, k: u16| (second - SECOND) as u16 * TICKS + k;
        match *begun {
            [] => {
                let left = budget.saturating_sub(self.cost(side, plan));
                let fits = |&kind: &u8| plan.len() < MOST && plan::cost(side, kind, self.rules) <= left;
                (0..13).filter(fits).for_each(|kind| out.put(UNIT + Action::from(kind)));
            }
            [_] if side == 0 => (CELL..SECOND).for_each(|a| out.put(a)),
            [_] => (ROW..END).for_each(|a| out.put(a)),
            [_, cell] => {
                let free = |&s: &Action| ticks(s).any(|k| !taken(cell, tick(s, k)));
                (SECOND..TENTH).filter(free).for_each(|a| out.put(a));
            }
            [_, cell, s, ..] => {
                let free = |&k: &u16| !taken(cell, tick(s, k));
                ticks(s).filter(free).for_each(|k| out.put(TENTH + Action::from(k)));
            }
        }
    }

    fn choose(&self, side: Side, plan: &mut Vec<Piece>, begun: &mut PartialPiece, a: Action) {
        begun.push(a);
        if let [unit, place, second, tenth] = begun[..] {
            let within = |a: Action, from: Action, n: Action| a.saturating_sub(from) % n;
            let cell = match side {
                0 => within(place, CELL, ENTRY.into()) as u8,
                _ => ENTRY + within(place, ROW, ROWS.into()) as u8,
            };
            let tick = within(second, SECOND, 61) as u16 * TICKS + within(tenth, TENTH, TICKS.into()) as u16;
            plan.push(Piece { kind: within(unit, UNIT, 13) as u8, cell, tick: tick.min(LAST) });
            plan.truncate(MOST);
            begun.clear();
        }
    }

    fn complete(&self, plan: &Vec<Piece>) -> bool {
        !plan.is_empty()
    }

    fn action_text(&self, side: Side, a: Action) -> String {
        match a {
            UNIT..CELL => format!("unit {}", names(side).nth((a - UNIT) as usize).unwrap_or_default()),
            CELL..SECOND => format!("cell {},{}", (a - CELL) / 5, (a - CELL) % 5),
            SECOND..TENTH => format!("second {}", a - SECOND),
            TENTH..ROW => format!("tick {}", a - TENTH),
            _ => format!("row {}", a.saturating_sub(ROW)),
        }
    }

    fn simulate(&self, plans: [&Vec<Piece>; 2], budgets: [u32; 2], log: &mut impl BattleLog) -> BattleEnd {
        simulate(plans[0], plans[1], self.rules, budgets[0], log)
    }

    fn random(&self, side: Side, budget: u32, rng: &mut Stream) -> Vec<Piece> {
        loop {
            let plan = plan::random(side, budget, self.rules, rng);
            if !plan.is_empty() {
                return plan;
            }
        }
    }

    fn vary(&self, side: Side, budget: u32, plan: &Vec<Piece>, rng: &mut Stream) -> Vec<Piece> {
        plan::vary(side, budget, self.rules, plan, rng)
    }

    fn example(&self, side: Side) -> Vec<Piece> {
        let piece = |kind, cell, tick| Piece { kind, cell, tick };
        match side {
            0 => vec![piece(1, 3 * ROWS + 2, 0), piece(3, 4 * ROWS + 2, 0), piece(0, 2 * ROWS, 20)],
            _ => vec![piece(0, ENTRY + 2, 20), piece(3, ENTRY, 0)],
        }
    }

    fn catalogue(&self, side: Side) -> Vec<(&'static str, String)> {
        let rules = self.rules;
        if side == 0 {
            let line = |(n, unit): (usize, &super::units::Human)| {
                let (cost, hits) = (plan::cost(0, n as u8, rules), unit.damage);
                (
                    unit.name,
                    format!("{}: cost {cost}, health {}, damage {hits}; {}", unit.name, unit.health, unit.ability),
                )
            };
            return HUMANS.iter().enumerate().map(line).collect();
        }
        let line = |(n, demon): (usize, &super::units::Demon)| {
            let (health, name) = (demon_health(n as u8, rules), demon.name);
            let figures =
                format!("cost {}, health {health}, speed {}, damage {}", demon.cost, demon.speed, demon.damage);
            (name, format!("{name}: {figures}; {}", demon.ability))
        };
        DEMONS.iter().enumerate().map(line).collect()
    }

    fn encode(&self, _side: Side, plan: &Vec<Piece>, out: &mut [u8]) {
        for piece in plan {
            if let Some(cell) = out.get_mut(60 * usize::from(piece.kind) + usize::from(piece.cell)) {
                *cell = cell.saturating_add(1);
            }
        }
    }
}
