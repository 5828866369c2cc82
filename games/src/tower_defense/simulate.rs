//! The battle: ticks of 50 ms on a field of five rows.
//!
//! A cell is 1120 field units wide. The position of a demon is the position of its front edge. Health and damage are in
//! tenths of a point.

use arrayvec::ArrayVec;
use serde_json::{Value, json};
use smallvec::SmallVec;

use super::units::{Blast, DEMONS, Demon, Duty, HUMANS, Human, SUMMONED, Shot, Trait, demon_health, human_cost};
use super::{MOST, Piece, Rules, TICK};
use crate::plan_game::{BattleEnd, BattleLog, EventField, event};

/// Number of rows of the field.
const ROWS: usize = 5;
/// Number of columns in which human units can be placed.
const COLUMNS: usize = 11;
/// Width of a cell, in field units.
const CELL: i32 = 1120;
/// Position at which demons appear, in field units.
const ENTRY: i32 = 11 * CELL;
/// Field units per tick of a slowed demon of speed 1; other demons of speed 1 move twice as far.
const STRIDE: i32 = 11;
/// Tick at which a battle without a winner ends: 600 s.
const CAP: i32 = 12_000;
/// Number of ticks in a second, the interval between a demon's attacks and between the two points of fire damage.
const SECOND: i32 = 1000 / TICK;
/// Number of ticks for which ice slows a demon.
const SLOW: i32 = 2000 / TICK;
/// Number of ticks between two summons.
const SUMMON: i32 = 5000 / TICK;
/// Number of columns that a magnetic pulse reaches.
const PULSE: i32 = 10;
/// Damage of a shield breaker to a shield, in points.
const BREAKS: i32 = 5;
const NEVER: i32 = -1;
const NOBODY: u16 = u16::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Damage {
    Normal,
    Fire,
    Ice,
    Air,
    Blast,
    Light,
}

/// A human unit on the field; its number is its index in the list of units.
struct Soldier {
    kind: u8,
    x: u8,
    y: u8,
    health: i32,
    /// Tick of the unit's next shot, pulse or explosion.
    ready: i32,
}

/// A demon on the field.
struct Marcher {
    kind: u8,
    row: u8,
    number: u16,
    /// Position of the front edge, in field units.
    p: i32,
    health: i32,
    /// First tick in which the demon may attack.
    ready: i32,
    /// Tick in which the demon summons next.
    summons: i32,
    /// Tick in which fire deals its second point of damage; `NEVER` for none.
    burns: i32,
    /// Tick in which slowing of the demon ends.
    slow: i32,
    /// Number of the human unit that blocks the demon.
    before: u16,
    /// True while the demon still has the effect of its trait: the shield, the machine body, or the jump.
    armed: bool,
    /// True if the demon has been damaged.
    awake: bool,
    /// True if the demon was bought by the plan; false if it was summoned.
    paid: bool,
}

impl Marcher {
    fn table(&self) -> &'static Demon {
        &DEMONS[usize::from(self.kind)]
    }

    fn is(&self, what: Trait) -> bool {
        self.table().is == what
    }

    fn cell(&self) -> i32 {
        (self.p / CELL).clamp(0, COLUMNS as i32)
    }
}

impl Soldier {
    fn table(&self) -> &'static Human {
        &HUMANS[usize::from(self.kind)]
    }
}

fn h(n: usize) -> EventField {
    EventField::Unit('h', n as u16)
}

fn d(n: u16) -> EventField {
    EventField::Unit('d', n)
}

struct Field<'a, L> {
    rules: Rules,
    log: &'a mut L,
    tick: i32,
    humans: ArrayVec<Soldier, MOST>,
    /// Living demons and demons killed in this tick, in the order of appearance.
    demons: SmallVec<[Marcher; 64]>,
    /// Number of demons that have appeared so far.
    seen: u16,
    /// Index of the human unit in each cell.
    grid: [[Option<u8>; COLUMNS]; ROWS],
    /// Number of living demons that shelter each row.
    shadows: [u8; ROWS],
    /// Number of living mages in each row.
    lights: [u8; ROWS],
    /// True if a demon was killed in this tick.
    fell: bool,
}

/// Limits the memory of a battle to 16 KiB.
const _: () = assert!(size_of::<Field<'static, ()>>() <= 16 * 1024);

/// Plays the battle between two plans.
pub fn simulate<L: BattleLog>(humans: &[Piece], demons: &[Piece], rules: Rules, budget: u32, log: &mut L) -> BattleEnd {
    let mut field = Field {
        rules,
        log,
        tick: 0,
        humans: ArrayVec::new(),
        demons: SmallVec::new(),
        seen: 0,
        grid: [[None; COLUMNS]; ROWS],
        shadows: [0; ROWS],
        lights: [0; ROWS],
        fell: false,
    };
    let human_order = by_time(humans);
    let demon_order = by_time(demons);
    let (mut to_place, mut to_spawn) = (&human_order[..], &demon_order[..]);
    let (winner, reason, lost) = loop {
        if field.tick >= CAP {
            break (0, "cap", None);
        }
        while let [first, rest @ ..] = to_place
            && i32::from(humans[usize::from(*first)].tick) <= field.tick
        {
            field.place(&humans[usize::from(*first)]);
            to_place = rest;
        }
        while let [first, rest @ ..] = to_spawn
            && i32::from(demons[usize::from(*first)].tick) <= field.tick
        {
            field.spawn(&demons[usize::from(*first)]);
            to_spawn = rest;
        }
        field.burn();
        field.act();
        field.summon();
        field.march();
        if std::mem::take(&mut field.fell) {
            field.demons.retain(|demon| demon.health > 0);
        }
        if let Some(demon) = field.demons.iter().find(|demon| demon.p <= 0) {
            let (number, row) = (demon.number, demon.row);
            event!(field.log, field.tick, "breach", d(number), i32::from(row));
            break (1, "breach", Some(row));
        }
        if field.demons.is_empty() && to_spawn.is_empty() {
            break (0, "cleared", None);
        }
        field.tick += 1;
    };
    let side = ["human", "demon"][winner];
    event!(field.log, field.tick, "end", side, reason);
    let cost = |n: &u8| DEMONS[usize::from(demons[usize::from(*n)].kind)].cost;
    let left = field.demon_cost() + to_spawn.iter().map(cost).sum::<u32>();
    let all: u32 = demon_order.iter().map(cost).sum();
    let value = match winner {
        0 => 1.0 + f64::from(field.human_cost()) / f64::from(budget.max(1)),
        _ => -f64::from(left) / f64::from(all.max(1)),
    };
    let survivors_cost = if winner == 0 { field.human_cost() } else { field.demon_cost() };
    field.log.summary(|| {
        let survivors = survivors(winner, &field.humans, &field.demons);
        json!({ "ticks": field.tick, "lost_row": lost, "survivors": survivors, "survivors_cost": survivors_cost })
    });
    BattleEnd { winner, reason, length: field.tick as u32, value: [value, -value] }
}

/// Returns the name and the health in tenths of each living unit of the winner.
fn survivors(winner: usize, humans: &[Soldier], demons: &[Marcher]) -> Vec<Value> {
    let humans = humans.iter().filter(|s| s.health > 0).map(|s| json!([s.table().name, s.health]));
    let demons = demons.iter().map(|demon| json!([demon.table().name, demon.health]));
    if winner == 0 { humans.collect() } else { demons.collect() }
}

/// Returns the indexes of the pieces, ordered by tick and then by index.
fn by_time(pieces: &[Piece]) -> ArrayVec<u8, MOST> {
    let mut order: ArrayVec<u8, MOST> = (0..pieces.len().min(MOST) as u8).collect();
    order.sort_unstable_by_key(|&n| (pieces[usize::from(n)].tick, n));
    order
}

impl<L: BattleLog> Field<'_, L> {
    fn place(&mut self, piece: &Piece) {
        let (x, y) = (piece.cell / 5, piece.cell % 5);
        let kind = &HUMANS[usize::from(piece.kind)];
        let at = &mut self.grid[usize::from(y)][usize::from(x)];
        let [wide, high] = [i32::from(x), i32::from(y)];
        if at.is_some() {
            event!(self.log, self.tick, "lost", kind.name, wide, high);
            return;
        }
        let number = self.humans.len();
        *at = Some(number as u8);
        self.lights[usize::from(y)] += u8::from(kind.duty == Duty::Lights);
        let ready = self.tick + i32::from(kind.interval) / TICK;
        self.humans.push(Soldier { kind: piece.kind, x, y, health: kind.health * 10, ready });
        event!(self.log, self.tick, "place", h(number), kind.name, wide, high);
    }

    fn spawn(&mut self, piece: &Piece) {
        let row = piece.cell % 5;
        let number = self.appear(piece.kind, row, ENTRY, true);
        let name = DEMONS[usize::from(piece.kind)].name;
        event!(self.log, self.tick, "spawn", d(number), name, i32::from(row), ENTRY);
    }

    fn appear(&mut self, kind: u8, row: u8, p: i32, paid: bool) -> u16 {
        let number = self.seen;
        self.seen += 1;
        let demon = Marcher {
            kind,
            row,
            number,
            p,
            health: demon_health(kind, self.rules) * 10,
            ready: self.tick + SECOND,
            summons: self.tick + SUMMON,
            burns: NEVER,
            slow: 0,
            before: NOBODY,
            armed: true,
            awake: false,
            paid,
        };
        self.shadows[usize::from(row)] += u8::from(demon.is(Trait::Shadow));
        self.demons.push(demon);
        number
    }

    /// Returns true if a shadow demon other than `demon` shelters it.
    fn sheltered(&self, demon: &Marcher) -> bool {
        self.shadows[usize::from(demon.row)] > u8::from(demon.is(Trait::Shadow))
    }

    /// Returns the damage that reaches a demon after its defenses, in tenths. `n` is the demon's index.
    fn felt(&self, n: usize, points: i32, damage: Damage) -> i32 {
        let demon = &self.demons[n];
        let tenths = 10 * points;
        if damage != Damage::Light && self.sheltered(demon) {
            return 0;
        }
        let repo = self.rules == Rules::Repo;
        match (demon.table().is, damage) {
            (Trait::Fire, Damage::Fire) | (Trait::Frost, Damage::Ice) => 0,
            (Trait::Fire, Damage::Ice) if repo => 30,
            (Trait::Frost, Damage::Fire) if repo => 50,
            (Trait::Shield, Damage::Normal) if demon.armed => tenths * 3 / 10,
            (Trait::Machine, Damage::Normal) if demon.armed => tenths / 2,
            _ => tenths,
        }
    }

    /// Reduces the health of demon `n` by `tenths` and logs the damage; `by` is the attacking unit, if any.
    fn hurt(&mut self, n: usize, tenths: i32, kind: &'static str, by: Option<usize>) {
        let demon = &mut self.demons[n];
        demon.health -= tenths;
        demon.awake |= tenths > 0;
        let (number, left) = (demon.number, demon.health);
        match by {
            Some(by) => event!(self.log, self.tick, kind, h(by), d(number), tenths, left),
            None => event!(self.log, self.tick, kind, d(number), tenths, left),
        }
        if left <= 0 {
            self.shadows[usize::from(demon.row)] -= u8::from(demon.is(Trait::Shadow));
            self.fell = true;
            event!(self.log, self.tick, "dead", d(number));
        }
    }

    /// Applies the second point of fire damage to each demon for which it is due.
    fn burn(&mut self) {
        for n in 0..self.demons.len() {
            if self.demons[n].burns == self.tick {
                self.demons[n].burns = NEVER;
                let tenths = self.felt(n, 1, Damage::Fire);
                self.hurt(n, tenths, "burn", None);
            }
        }
    }

    /// Executes the actions of the human units, in the order of their placement.
    fn act(&mut self) {
        for n in 0..self.humans.len() {
            let soldier = &self.humans[n];
            if soldier.health <= 0 || soldier.ready > self.tick {
                continue;
            }
            match soldier.table().duty {
                Duty::Shoots(shot) => self.shoot(n, shot),
                Duty::Explodes(blast) => self.explode(n, blast),
                Duty::Pulses => self.pulse(n),
                Duty::Blocks { .. } | Duty::Lights => {}
            }
        }
    }

    /// Returns the index of a unit's target: the demon nearest to the left edge in the unit's row, but not behind the
    /// unit.
    fn target(&self, soldier: &Soldier, shot: Shot) -> Option<usize> {
        let from = i32::from(soldier.x) * CELL;
        let mut best: Option<(i32, usize)> = None;
        for (n, demon) in self.demons.iter().enumerate() {
            let seen = demon.row == soldier.y && demon.health > 0 && demon.p >= from;
            if seen && best.is_none_or(|(p, _)| demon.p < p) && (shot == Shot::Air || !demon.is(Trait::Flying)) {
                best = Some((demon.p, n));
            }
        }
        best.map(|(_, n)| n)
    }

    fn shoot(&mut self, by: usize, shot: Shot) {
        let soldier = &self.humans[by];
        let Some(n) = self.target(soldier, shot) else { return };
        let (points, row) = (soldier.table().damage, soldier.y);
        let interval = i32::from(soldier.table().interval) / TICK;
        let damage = match shot {
            _ if self.lights[usize::from(row)] > 0 => Damage::Light,
            Shot::Bullet | Shot::Rocket => Damage::Normal,
            Shot::Flame => Damage::Fire,
            Shot::Ice => Damage::Ice,
            Shot::Air => Damage::Air,
        };
        self.humans[by].ready = self.tick + interval;
        let tenths = self.felt(n, points, damage);
        self.hurt(n, tenths, "shot", Some(by));
        let tick = self.tick;
        let target = &mut self.demons[n];
        let (living, p) = (target.health > 0, target.p);
        match shot {
            Shot::Flame if living && !target.is(Trait::Fire) => target.burns = tick + SECOND,
            Shot::Ice if living && !target.is(Trait::Frost) => {
                target.slow = tick + SLOW;
                let number = target.number;
                event!(self.log, tick, "slow", d(number), tick + SLOW);
            }
            Shot::Rocket => {
                for other in 0..self.demons.len() {
                    let demon = &self.demons[other];
                    let near = demon.row.abs_diff(row) <= 1 && (demon.p - p).abs() <= CELL;
                    if other != n && near && demon.health > 0 && !demon.is(Trait::Flying) {
                        let tenths = self.felt(other, points, damage);
                        self.hurt(other, tenths, "splash", Some(by));
                    }
                }
            }
            _ => {}
        }
    }

    fn explode(&mut self, by: usize, blast: Blast) {
        let Soldier { x, y, .. } = self.humans[by];
        let points = self.humans[by].table().damage;
        for n in 0..self.demons.len() {
            let demon = &self.demons[n];
            let rows = i32::from(demon.row.abs_diff(y));
            let columns = (demon.cell() - i32::from(x)).abs();
            let reached = match blast {
                Blast::Row => rows == 0,
                Blast::Around if self.rules == Rules::Repo => rows + columns <= 1,
                Blast::Around => rows <= 1 && columns <= 1,
            };
            if reached && demon.health > 0 && !demon.is(Trait::Flying) && !self.sheltered(demon) {
                let tenths = self.felt(n, points, Damage::Blast);
                self.hurt(n, tenths, "blast", Some(by));
            }
        }
        self.leave(by);
        event!(self.log, self.tick, "gone", h(by));
    }

    /// Removes human unit `n` from the field.
    fn leave(&mut self, n: usize) {
        let soldier = &mut self.humans[n];
        soldier.health = soldier.health.min(0);
        self.grid[usize::from(soldier.y)][usize::from(soldier.x)] = None;
        self.lights[usize::from(soldier.y)] -= u8::from(soldier.table().duty == Duty::Lights);
    }

    fn pulse(&mut self, by: usize) {
        let soldier = &mut self.humans[by];
        soldier.ready = self.tick + i32::from(soldier.table().interval) / TICK;
        if self.rules == Rules::Repo {
            return;
        }
        for demon in &mut self.demons {
            let defended = demon.armed && (demon.is(Trait::Shield) || demon.is(Trait::Machine));
            let near = demon.row == soldier.y && (demon.cell() - i32::from(soldier.x)).abs() <= PULSE;
            if defended && near && demon.health > 0 {
                demon.armed = false;
                event!(self.log, self.tick, "pulse", h(by), d(demon.number));
            }
        }
    }

    fn summon(&mut self) {
        for n in 0..self.demons.len() {
            let demon = &mut self.demons[n];
            if demon.health <= 0 || demon.summons != self.tick || !demon.is(Trait::Summoning) {
                continue;
            }
            demon.summons += SUMMON;
            let (by, p) = (demon.number, (demon.p - CELL).max(1));
            let row = match self.rules {
                Rules::Paper => demon.row,
                Rules::Repo if demon.row == ROWS as u8 - 1 => demon.row - 1,
                Rules::Repo => demon.row + 1,
            };
            let new = self.appear(SUMMONED, row, p, false);
            event!(self.log, self.tick, "summon", d(by), d(new), p);
        }
    }

    /// Executes the moves, jumps and attacks of the demons, in the order of their appearance.
    fn march(&mut self) {
        for n in 0..self.demons.len() {
            let demon = &mut self.demons[n];
            if demon.health <= 0 {
                continue;
            }
            let table = demon.table();
            let speed = if table.is == Trait::Machine && demon.awake { 3 } else { table.speed };
            let step = STRIDE * speed * if demon.slow > self.tick { 1 } else { 2 };
            let q = demon.p - step;
            let met = if table.is == Trait::Flying {
                None
            } else {
                let row = &self.grid[usize::from(demon.row)];
                let first = ((demon.p - 1) / CELL).min(COLUMNS as i32 - 1);
                let last = q.max(0) / CELL;
                let blocks = |&x: &i32| row[x as usize].is_some() && q < (x + 1) * CELL;
                (last..=first).rev().find(blocks).and_then(|x| row[x as usize].map(|unit| (x, usize::from(unit))))
            };
            let Some((x, unit)) = met else {
                demon.p = q;
                demon.before = NOBODY;
                continue;
            };
            let soldier = &mut self.humans[unit];
            let duty = soldier.table().duty;
            if table.is == Trait::Bouncing && demon.armed && duty != (Duty::Blocks { high: true }) {
                demon.armed = false;
                demon.p = x * CELL;
                event!(self.log, self.tick, "jump", d(demon.number), h(unit), demon.p);
                continue;
            }
            demon.p = demon.p.min((x + 1) * CELL);
            if usize::from(demon.before) != unit {
                demon.before = unit as u16;
                event!(self.log, self.tick, "stop", d(demon.number), h(unit), demon.p);
            }
            if self.tick < demon.ready {
                continue;
            }
            demon.ready = self.tick + SECOND;
            let points = if table.is == Trait::ShieldBreaker && matches!(duty, Duty::Blocks { .. }) {
                BREAKS
            } else {
                table.damage
            };
            soldier.health -= 10 * points;
            let left = soldier.health;
            event!(self.log, self.tick, "hit", d(demon.number), h(unit), 10 * points, left);
            if left <= 0 {
                self.leave(unit);
                event!(self.log, self.tick, "dead", h(unit));
            }
        }
    }

    fn human_cost(&self) -> u32 {
        self.humans.iter().filter(|s| s.health > 0).map(|s| human_cost(s.kind, self.rules)).sum()
    }

    /// Returns the total price of the plan's living demons.
    fn demon_cost(&self) -> u32 {
        self.demons.iter().filter(|demon| demon.paid).map(|demon| demon.table().cost).sum()
    }
}
