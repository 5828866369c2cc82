//! The request `view`: one environment as seen from a seat, action names, and action ids of move
//! texts.

use ludex_env::batch::Layout;
use ludex_env::message_views::view_of;
use ludex_env::{DynBatch, DynState, DynView, Outcomes, Seat, ToMove, Viewer};
use ludex_protocol::message::{GymView, MatchView, ViewEnv, Viewed};
use ludex_protocol::spec::TensorSpec;
use ludex_protocol::{ErrorCode, Refusal, Tensor, Tensors};

use super::field;
use super::prompts::EnvPrompts;

/// Returns the reply to `view`. Any seat may be requested, since the gym plane hides nothing from
/// the owner of an environment. `prompts` is present if the request needs it.
pub(super) fn look(batch: &dyn DynBatch, prompts: Option<&EnvPrompts>, v: &ViewEnv) -> Result<Viewed, Box<Refusal>> {
    let i = v.i as usize;
    if i >= batch.count() {
        let error =
            Refusal::new(ErrorCode::BadField, format!("expected the index of an environment, got {i}")).path("i");
        return Err(Box::new(error.got(v.i).allowed(format!("0 to {}", batch.count() - 1))));
    }
    let state = batch.state(i).ok_or_else(|| {
        let message = "expected a running episode; reset the environment first";
        Box::new(Refusal::new(ErrorCode::EnvOver, message).path("i"))
    })?;
    let spec = batch.spec();
    let seat = match (v.seat, state.turn()) {
        (Some(seat), _) if seat >= spec.players => {
            let error =
                Refusal::new(ErrorCode::BadField, format!("expected a seat of the game, got {seat}")).path("seat");
            return Err(Box::new(error.got(seat).allowed(format!("0 to {}", spec.players - 1))));
        }
        (Some(seat), _) => seat as Seat,
        (None, ToMove::Seat(seat)) => seat,
        (None, ToMove::Simultaneous(seats)) => seats.iter().next().unwrap_or(0),
        (None, ToMove::Chance | ToMove::Over) => 0,
    };
    let who = Viewer::Seat(seat);
    let view = state.view(who);
    let asked = state.turn().seats().has(seat);
    let acts = batch.turn(i).seats().has(seat);
    let schema = if asked { state.schema(seat) } else { None };
    let phase = state.phase().map(str::to_owned);
    let mut seen = Viewed { phase, schema: schema.map(str::to_owned), ..Viewed::default() };
    for (at, wanted) in v.views.iter().enumerate() {
        let wrong = |message: String| Box::new(field("views", message).index(at));
        if v.views.iter().take(at).any(|before| before == wanted) {
            return Err(wrong(format!("expected each view once, got {wanted:?} twice")));
        }
        let lacks = |what: &str| wrong(format!("expected a view that {} has, got {what:?}", spec.game));
        match wanted {
            GymView::Struct => seen.structure = Some(view.value()),
            GymView::Text => seen.text = Some(view.text()),
            GymView::Tensor => {
                let array = spec.views.tensor.iter().flatten().next().ok_or_else(|| lacks("tensor"))?;
                seen.tensor = Some(filled(array, |out| state.tensor(who, out)));
            }
            GymView::Info => {
                let array = spec.views.info.iter().flatten().next().ok_or_else(|| lacks("info"))?;
                seen.info = Some(filled(array, |out| state.info(who, out)));
            }
            GymView::Picture => {
                seen.picture = view_of(&*state, who, &[MatchView::Picture], Layout::Ludex).picture;
            }
            GymView::Prompt if !acts => {
                return Err(wrong(format!("expected a seat that is to move for the view prompt, got {seat}")));
            }
            GymView::Prompt => seen.prompt = prompts.map(|prompts| prompts.prompt(batch, i, seat)).transpose()?,
            GymView::Returns => {
                return Err(wrong("expected a view other than returns, which are part of each batch".into()));
            }
        }
    }
    if let Some(ids) = &v.names {
        seen.names = Some(ids.iter().map(|&id| name(&*state, &*view, seat, id)).collect());
    }
    if let Some(texts) = &v.parse {
        let legal = if asked { state.legal_list(seat) } else { Vec::new() };
        seen.parsed = Some(texts.iter().map(|text| view.parse(seat, &legal, text)).collect());
    }
    if let (Some(answers), Some(prompts)) = (&v.answers, prompts) {
        if !acts {
            return Err(field("answers", format!("expected a seat that is to move, got {seat}")));
        }
        seen.answers = Some(prompts.read_all(batch, i, seat, answers)?);
    }
    Ok(seen)
}

fn filled((name, array): (&String, &TensorSpec), fill: impl FnOnce(&mut [u8])) -> Tensors {
    let mut b = vec![0; array.bytes()];
    fill(&mut b);
    Tensors::from([(name.clone(), Tensor { d: array.d, s: array.s.clone(), b })])
}

/// Returns the name of an action of `seat` or of a chance outcome. Empty if `id` is invalid.
fn name(state: &dyn DynState, view: &dyn DynView, seat: Seat, id: i64) -> String {
    let spec = state.spec();
    let Ok(id) = u32::try_from(id) else { return String::new() };
    if state.turn() == ToMove::Chance {
        let mut outcomes = Outcomes::new();
        state.chance(&mut outcomes);
        let exists = outcomes.items().iter().any(|&(outcome, _)| outcome == id);
        return if exists { state.outcome_text(id) } else { String::new() };
    }
    if id >= spec.actions { String::new() } else { view.action_text(seat, id) }
}
