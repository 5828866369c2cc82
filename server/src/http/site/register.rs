//! Registration of owners: the form, its result with the token, and the revocation of a token.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Json};
use ludex_gym::compute::internal;
use ludex_pages::Page;
use ludex_pages::register::{RegisterPage, RegisteredPage, Revocation};
use ludex_protocol::{ErrorCode, Refusal};
use serde::Deserialize;
use serde_json::json;

use super::super::failed;
use super::form::entered;
use super::{Answer, App, address, errors, is_for_people, page as made, show};
use crate::auth::{self, AuthError, Scopes};
use crate::config::RegistrationMode;
use crate::registration::RegistrationError;
use crate::server_state::ServerState;

#[derive(Deserialize)]
struct Registration {
    #[serde(default)]
    owner: String,
    #[serde(default)]
    invitation: String,
}

#[derive(Deserialize)]
struct TokenForm {
    #[serde(default)]
    token: String,
}

pub(super) async fn page(State((shared, _)): App) -> Answer {
    show(Page::Register(form(&shared)))
}

/// Creates an owner and a token, and displays the token.
pub(super) async fn register(State((shared, peer)): App, request: Request) -> Answer {
    let Some(registrar) = &shared.registrar else { return errors::no_page() };
    let (headers, Registration { owner, invitation }) = match entered::<Registration>(request, &peer, &shared).await {
        Ok(entered) => entered,
        Err(refusal) => return *refusal,
    };
    let (owner, invitation) = (owner.trim().to_owned(), invitation.trim().to_owned());
    let is_person = is_for_people(&headers);
    let answer = match registrar.register(owner.clone(), invitation, peer.ip, shared.epoch_ms()).await {
        Ok(registered) if is_person => {
            let address = address(&shared, &headers);
            let (token, names) = (registered.secret, registered.names);
            made(StatusCode::CREATED, Page::Registered(RegisteredPage::new(owner, token, names, &address)))
        }
        Ok(registered) => {
            let (token, names, scopes) = (registered.secret, registered.names, Scopes::OPEN.names());
            let told = json!({ "owner": owner, "token": token, "names": names, "scopes": scopes });
            (StatusCode::CREATED, Json(told)).into_response()
        }
        Err(error) => {
            let (status, refusal) = refusal_of(&error);
            shared.metrics.count_refusal("registration", refusal.code.as_str());
            let wait = refusal.after_ms;
            let mut answer = match is_person {
                true => made(status, Page::Register(RegisterPage { owner, problem: refusal.message, ..form(&shared) })),
                false => failed(status, refusal),
            };
            let seconds = wait.map(|ms| HeaderValue::from(ms.get().div_ceil(1_000)));
            seconds.map(|seconds| answer.headers_mut().insert(header::RETRY_AFTER, seconds));
            answer
        }
    };
    unstored(answer)
}

/// Revokes a token, and closes its connections.
pub(super) async fn revoke(State((shared, peer)): App, request: Request) -> Answer {
    let (headers, TokenForm { token }) = match entered::<TokenForm>(request, &peer, &shared).await {
        Ok(entered) => entered,
        Err(refusal) => return *refusal,
    };
    let revoked = auth::revoke_token(&shared.store, token.trim(), shared.epoch_ms()).await;
    let (status, told) = match revoked {
        Ok(row) => {
            tracing::info!(owner = row.owner, token = row.hash.id(), ip = %peer.ip, "token revoked by its holder");
            shared.hub.sessions.close_void(|_, token| token == Some(row.hash));
            (StatusCode::OK, Ok(row.owner))
        }
        Err(AuthError::Unknown) => {
            let why = "expected a token of this server, got an unknown one";
            (StatusCode::UNAUTHORIZED, Err(Refusal::new(ErrorCode::Unauthorized, why).path("token")))
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, Err(failure(&error))),
    };
    unstored(match (told, is_for_people(&headers)) {
        (Ok(owner), false) => Json(json!({ "revoked": owner })).into_response(),
        (Err(refusal), false) => failed(status, refusal),
        (told, true) => {
            let revocation = match told {
                Ok(owner) => Revocation::Done { owner },
                Err(refusal) => Revocation::Refused { why: refusal.message },
            };
            made(status, Page::Register(RegisterPage { revocation: Some(revocation), ..form(&shared) }))
        }
    })
}

/// Returns the view of an empty form.
fn form(shared: &ServerState) -> RegisterPage {
    let registrar = shared.registrar.as_ref();
    RegisterPage {
        needs_invitation: registrar.is_some_and(|registrar| registrar.mode == RegistrationMode::Invite),
        per_hour: registrar.map_or(0, |registrar| registrar.per_hour),
        ..RegisterPage::default()
    }
}

/// Returns the HTTP status and the error object for a refused registration.
fn refusal_of(error: &RegistrationError) -> (StatusCode, Refusal) {
    let refusal = |code, path: &str| Refusal::new(code, error.to_string()).path(path);
    match error {
        RegistrationError::BadName { got } => {
            (StatusCode::UNPROCESSABLE_ENTITY, refusal(ErrorCode::BadField, "owner").got(got.as_str()))
        }
        RegistrationError::Taken { name } => {
            (StatusCode::CONFLICT, refusal(ErrorCode::Conflict, "owner").got(name.as_str()))
        }
        RegistrationError::NotInvited { .. } => {
            (StatusCode::UNAUTHORIZED, refusal(ErrorCode::Unauthorized, "invitation"))
        }
        RegistrationError::TooMany { wait, .. } => {
            let ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
            let refusal = Refusal::new(ErrorCode::RateLimited, error.to_string()).after_ms(ms);
            (StatusCode::TOO_MANY_REQUESTS, refusal)
        }
        RegistrationError::Full { .. } => (StatusCode::FORBIDDEN, Refusal::new(ErrorCode::Limit, error.to_string())),
        RegistrationError::Failed(error) => (StatusCode::INTERNAL_SERVER_ERROR, failure(error)),
    }
}

/// Logs a failure of the store or of the system, and returns the error for the visitor.
fn failure(error: &AuthError) -> Refusal {
    tracing::error!(%error, "registration or revocation failed");
    *internal()
}

/// Marks a response as one that no cache may store.
fn unstored(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
