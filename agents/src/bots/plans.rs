//! Bots for plan games: tower defense, battle cards and elemental duel.

use std::sync::Arc;

use ludex_env::{Budget, Game, GameRef, MoveRequest, Stream};
use ludex_games::battle_cards::BattleCardsEngine;
use ludex_games::elemental_duel::ElementalDuelEngine;
use ludex_games::plan_game::{PlanEngine, PlanGame, Side, View};
use ludex_games::tower_defense::TowerDefenseEngine;
use ludex_protocol::{Move, Refusal};
use serde_json::Value;

use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::refusal::{bad_spec, does_not_play};
use crate::spec::{AgentEntry, AgentSpec, ArgDef, ArgKind};
use crate::typed_access::{params, view};

pub(crate) const BOTS: &[AgentEntry] = &[
    AgentEntry::new(
        "sound_plan",
        "tower_defense, battle_cards, elemental_duel: submits a fixed plan for each side",
        build,
    ),
    AgentEntry::new(
        "best_answer",
        "tower_defense, battle_cards, elemental_duel: plays the best of several random plans against the opponent's last plan",
        build,
    )
    .args(&[ArgDef::new("sims", SIMULATIONS, "plans to try").default("200")]),
    AgentEntry::new(
        "hill_climber",
        "tower_defense, battle_cards, elemental_duel: improves a plan against the opponent's last plan by hill climbing",
        build,
    )
    .args(&[ArgDef::new("sims", SIMULATIONS, "plans to try").default("2000")]),
];

const SIMULATIONS: ArgKind = ArgKind::Int { min: 1, max: 1_000_000 };
/// Divisor of the number of random plans: hill climbing with n trials starts after n / `FRESH` random plans.
const FRESH: u64 = 10;

/// Fixed plan of each side.
const TOWER_DEFENSE: [&str; 2] = [
    r#"{"humans": [
        {"name": "ShieldSoldier", "x": 4, "y": 0, "spawn_time": 0}, {"name": "AntiAirSoldier", "x": 0, "y": 0, "spawn_time": 0},
        {"name": "AntiAirSoldier", "x": 1, "y": 0, "spawn_time": 0}, {"name": "ShieldSoldier", "x": 4, "y": 1, "spawn_time": 0},
        {"name": "AntiAirSoldier", "x": 0, "y": 1, "spawn_time": 0}, {"name": "AntiAirSoldier", "x": 1, "y": 1, "spawn_time": 0},
        {"name": "ShieldSoldier", "x": 4, "y": 2, "spawn_time": 0}, {"name": "AntiAirSoldier", "x": 0, "y": 2, "spawn_time": 0},
        {"name": "AntiAirSoldier", "x": 1, "y": 2, "spawn_time": 0}, {"name": "ShieldSoldier", "x": 4, "y": 3, "spawn_time": 0},
        {"name": "AntiAirSoldier", "x": 0, "y": 3, "spawn_time": 0}, {"name": "AntiAirSoldier", "x": 1, "y": 3, "spawn_time": 0},
        {"name": "ShieldSoldier", "x": 4, "y": 4, "spawn_time": 0}, {"name": "AntiAirSoldier", "x": 0, "y": 4, "spawn_time": 0},
        {"name": "AntiAirSoldier", "x": 1, "y": 4, "spawn_time": 0}]}"#,
    r#"{"demons": [
        {"name": "GreatDemon", "y": 0, "spawn_time": 0}, {"name": "GreatDemon", "y": 4, "spawn_time": 0},
        {"name": "FlyingDemon", "y": 1, "spawn_time": 0}, {"name": "FlyingDemon", "y": 3, "spawn_time": 0},
        {"name": "GreatDemon", "y": 2, "spawn_time": 0}, {"name": "SpeedyDemon", "y": 2, "spawn_time": 4000},
        {"name": "BouncingDemon", "y": 0, "spawn_time": 3000}, {"name": "SpeedyDemon", "y": 4, "spawn_time": 4000},
        {"name": "NormalDemon", "y": 1, "spawn_time": 0}]}"#,
];
const BATTLE_CARDS: [&str; 2] = [
    r#"{"invaders": [{"name": "TideGuardian"}, {"name": "Phoenix"}, {"name": "LavaGolem"}, {"name": "TideLord"},
        {"name": "BanditLeader"}, {"name": "FireLizard"}]}"#,
    r#"{"defenders": [{"name": "Paladin"}, {"name": "EliteSoldier"}, {"name": "StoneWarrior"}, {"name": "MountainGiant"},
        {"name": "ForestSeer"}, {"name": "RockBeetle"}, {"name": "AncientTreant"}]}"#,
];
const ELEMENTAL_DUEL: [&str; 2] = [
    r#"{"invaders": [
        {"element": "Fire", "skills": ["flame_splash", "burst_flame_bomb", "magma_eruption"]},
        {"element": "Water", "skills": ["stream_pierce", "whirlpool_strangle", "tsunami_ending"]},
        {"element": "Dark", "skills": ["night_ambush", "soul_siphon", "final_announcment"]}]}"#,
    r#"{"defenders": [
        {"element": "Earth", "skills": ["granite_barrier", "earth_shock", "core_rebound"]},
        {"element": "Wood", "skills": ["poison_vine", "poison_vine", "parasitic_seed"]},
        {"element": "Light", "skills": ["angelic_sanctuary", "holy_glimmer", "divine_sword"]}]}"#,
];

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    match game.spec().game.as_str() {
        "tower_defense" => planner::<TowerDefenseEngine>(spec, game, TOWER_DEFENSE),
        "battle_cards" => planner::<BattleCardsEngine>(spec, game, BATTLE_CARDS),
        "elemental_duel" => planner::<ElementalDuelEngine>(spec, game, ELEMENTAL_DUEL),
        other => {
            let fits = "it plays tower_defense, battle_cards and elemental_duel";
            Err(does_not_play(spec.name(), other, "it is a bot for other games", fits))
        }
    }
}

fn planner<C: PlanEngine>(spec: &AgentSpec, game: &GameRef, sound: [&str; 2]) -> Result<Arc<dyn Agent>, Refusal> {
    let game = PlanGame::<C>::new(params(game)?).map_err(|e| bad_spec(e.to_string()))?;
    let style = match (spec.name(), spec.int("sims").unwrap_or(0)) {
        ("best_answer", sims) => PlanStyle::Draws(sims),
        ("hill_climber", sims) => PlanStyle::Climbs(sims),
        _ => PlanStyle::Fixed,
    };
    let fixed = |side: Side| {
        let document = serde_json::from_str(sound[side]).unwrap_or_default();
        // If the fixed plan is over budget, uses the example of the rules, which costs at most half the default budget.
        legal(&game, side, &document).unwrap_or_else(|| game.engine().example(side))
    };
    let sound = [fixed(0), fixed(1)];
    Ok(Arc::new(Planner { game, sound, style }))
}

/// Parses a document as a plan; `None` if the plan is invalid or breaks a rule.
fn legal<C: PlanEngine>(game: &PlanGame<C>, side: Side, document: &Value) -> Option<C::Plan> {
    let reading = game.engine().read(side, game.budgets()[side], document);
    reading.plan.filter(|_| reading.violations.is_empty() && document.is_object())
}

/// Method by which a plan is chosen.
#[derive(Clone, Copy)]
enum PlanStyle {
    /// Fixed plan of the side.
    Fixed,
    /// Best of this many random plans.
    Draws(u64),
    /// Best plan found by hill climbing with this many trials.
    Climbs(u64),
}

struct Planner<C: PlanEngine> {
    game: PlanGame<C>,
    sound: [C::Plan; 2],
    style: PlanStyle,
}

impl<C: PlanEngine> Planner<C> {
    /// Returns true if plan `own` wins against plan `other`, and the margin for `side`.
    fn worth(&self, side: Side, own: &C::Plan, other: &C::Plan) -> (bool, f64) {
        let plans = if side == 0 { [own, other] } else { [other, own] };
        let ended = self.game.engine().simulate(plans, self.game.budgets(), &mut ());
        (ended.winner == side, ended.value[side])
    }

    /// Returns the best plan against `other` that the style finds, starting with `first`. Also returns true if the
    /// search was cut short by the time limit.
    fn answer(
        &self,
        side: Side,
        first: C::Plan,
        other: &C::Plan,
        rng: &mut Stream,
        time: Budget<'_>,
    ) -> (C::Plan, bool) {
        let (sims, fresh) = match self.style {
            PlanStyle::Fixed => return (self.sound[side].clone(), false),
            PlanStyle::Draws(sims) => (sims, sims),
            PlanStyle::Climbs(sims) => (sims, sims / FRESH),
        };
        let (engine, budget) = (self.game.engine(), self.game.budgets()[side]);
        let mut best = (self.worth(side, &first, other), first);
        for n in 1..sims {
            if time.is_spent() {
                return (best.1, true);
            }
            let plan =
                if n <= fresh { engine.random(side, budget, rng) } else { engine.vary(side, budget, &best.1, rng) };
            let worth = self.worth(side, &plan, other);
            // Hill climbing also accepts plans of equal value.
            if worth > best.0 || n > fresh && worth == best.0 {
                best = (worth, plan);
            }
        }
        (best.1, false)
    }
}

impl<C: PlanEngine> Agent for Planner<C> {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let named = |side: &&str| seen.side.as_deref() == Some(*side);
        let side = C::SIDES.iter().position(named).unwrap_or(0);
        let theirs = seen.history.last().map(|round| &round.strategies[1 - (ask.seat & 1)]);
        let other = theirs.and_then(|document| legal(&self.game, 1 - side, document));
        let other = other.unwrap_or_else(|| self.sound[1 - side].clone());
        let own = seen.strategy.get(C::SIDES[side]).and_then(|own| legal(&self.game, side, &own.strategy));
        let first = own.unwrap_or_else(|| self.sound[side].clone());
        let (plan, cut) = self.answer(side, first, &other, &mut ask.stream(), ask.budget());
        let answer = MoveReply::new(Move::Document(self.game.engine().document(side, &plan)));
        Ok(if cut { answer.note("cut", true) } else { answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_plans_are_legal_at_default_budget() {
        fn check<C: PlanEngine>(sound: [&str; 2]) {
            let game = PlanGame::<C>::new(Default::default()).unwrap();
            for (side, plan) in sound.into_iter().enumerate() {
                let document: Value = serde_json::from_str(plan).unwrap();
                let reading = game.engine().read(side, game.budgets()[side], &document);
                assert_eq!(reading.violations, Vec::<&str>::new(), "{document}");
            }
        }
        check::<TowerDefenseEngine>(TOWER_DEFENSE);
        check::<BattleCardsEngine>(BATTLE_CARDS);
        check::<ElementalDuelEngine>(ELEMENTAL_DUEL);
    }
}
