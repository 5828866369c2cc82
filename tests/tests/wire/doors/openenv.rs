//! OpenEnv on the server's port.

mod client;
mod episodes;
mod messages;
mod routes;
mod sessions;
