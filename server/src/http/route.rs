//! Template of a request's route, such as `/games/{id}`, for metrics: a path itself could have any number of values.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;

use super::Answer;

/// Name for all requests without a route.
pub(super) const OTHER: &str = "other";

/// Template of the route of a request, as an extension of the response.
#[derive(Clone)]
pub(super) struct Route(String);

impl Route {
    pub fn new(template: &str) -> Self {
        Route(template.to_owned())
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Attaches the template of the route to the response.
pub(super) async fn attach(request: Request, next: Next) -> Answer {
    let matched = request.extensions().get::<MatchedPath>().map(|path| Route::new(path.as_str()));
    let mut answer = next.run(request).await;
    if let Some(route) = matched {
        answer.extensions_mut().insert(route);
    }
    answer
}
