//! Bots for Hanabi: rule-based players, and a player that follows hint conventions.

mod convention;
mod rules;
mod table;

use std::sync::Arc;

use ludex_env::{GameRef, MoveRequest};
use ludex_games::hanabi::View;
use ludex_protocol::Refusal;

use self::table::{HanabiRules, HanabiTable};
use crate::agent::{Agent, MoveReply};
use crate::error::AgentError;
use crate::spec::{AgentEntry, AgentSpec};
use crate::typed_access::{params, require_game, view};

const GAME: &str = "hanabi";

pub(crate) const BOTS: &[AgentEntry] = &[
    bot("internal", "hanabi: plays known playable cards, hints and discards at random (Osawa 2015)"),
    bot("iggi", "hanabi: hints playable cards, discards the oldest card (Walton-Rivers et al. 2017)"),
    bot("piers", "hanabi: iggi with risky plays and hints about useless cards (Walton-Rivers et al. 2017)"),
    bot("conventions", "hanabi: a hint means to play the newest card that it touches; saves the last card of a kind"),
];

const fn bot(name: &'static str, doc: &'static str) -> AgentEntry {
    AgentEntry::new(name, doc, build)
}

fn build(spec: &AgentSpec, game: &GameRef) -> Result<Arc<dyn Agent>, Refusal> {
    require_game(GAME, spec, game)?;
    let style = match spec.name() {
        "internal" => Style::HanabiRules(rules::INTERNAL),
        "iggi" => Style::HanabiRules(rules::IGGI),
        "piers" => Style::HanabiRules(rules::PIERS),
        _ => Style::Conventions,
    };
    Ok(Arc::new(HanabiBot { rules: HanabiRules::new(&params(game)?), style }))
}

enum Style {
    /// Player that takes the action of the first rule that returns an action.
    HanabiRules(&'static [fn(&HanabiTable, &mut ludex_env::Stream) -> Option<table::BotAction>]),
    Conventions,
}

struct HanabiBot {
    rules: HanabiRules,
    style: Style,
}

impl Agent for HanabiBot {
    fn act(&self, ask: &MoveRequest<'_>) -> Result<MoveReply, AgentError> {
        let seen: View = view(ask)?;
        let table = HanabiTable::new(self.rules, ask.seat, &seen);
        let mut rng = ask.stream();
        let act = match self.style {
            Style::HanabiRules(list) => list.iter().find_map(|rule| rule(&table, &mut rng)),
            Style::Conventions => convention::act(&table, &seen, &mut rng),
        };
        // Some rule always applies to a valid view.
        Ok(MoveReply::id(act.map_or(ask.legal[0], |act| self.rules.id(ask.seat, act))))
    }
}
