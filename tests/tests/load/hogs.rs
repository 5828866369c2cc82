//! Misbehaving clients that exceed limits, send invalid frames, or violate the WebSocket protocol. The server must
//! immediately answer with an error or a close frame, and serve all other clients normally.

mod bounds;
mod fuzz;
mod kinds;
mod long;
mod mutate;
mod node;
mod soak;
mod sockets;
mod unread;
