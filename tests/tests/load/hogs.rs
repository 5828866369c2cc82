//! Clients that request too much, send invalid frames, or break the rules of WebSockets. They get an error or a close frame at once,
//! and all others play as before.

mod bounds;
mod fuzz;
mod kinds;
mod long;
mod mutate;
mod node;
mod soak;
mod sockets;
