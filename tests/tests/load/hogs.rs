//! Clients that ask for too much, say nonsense, or break the rules of WebSockets. They are told so at once or closed, and everybody
//! else plays as before.

mod bounds;
mod fuzz;
mod kinds;
mod mutate;
mod node;
mod soak;
mod sockets;
