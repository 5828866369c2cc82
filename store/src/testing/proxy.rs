//! DatabaseProxy that loses the replies of a database.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// DatabaseProxy between a client and a server, which can cut the connections.
pub struct DatabaseProxy {
    port: u16,
    cut: Arc<Mutex<Option<Vec<u8>>>>,
}

impl DatabaseProxy {
    /// Starts a proxy on a free port, whose threads end with their connections.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let cut = Arc::new(Mutex::new(None::<Vec<u8>>));
        let shared = cut.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let cut = shared.clone();
                let (from, to) = (client.try_clone(), upstream.try_clone());
                std::thread::spawn(move || {
                    forward(client, upstream, |bytes| {
                        let mut wanted = cut.lock();
                        let found =
                            wanted.as_ref().is_some_and(|text: &Vec<u8>| bytes.windows(text.len()).any(|w| w == text));
                        if found {
                            *wanted = None;
                        }
                        found
                    })
                });
                if let (Ok(from), Ok(to)) = (from, to) {
                    std::thread::spawn(move || forward(to, from, |_| false));
                }
            }
        });
        DatabaseProxy { port, cut }
    }

    /// Returns the port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes on the next message with `text` to the server, but closes the connection before the reply.
    pub fn cut_after(&self, text: &str) {
        *self.cut.lock() = Some(text.as_bytes().to_vec());
    }

    /// Returns true once the connection was cut.
    pub fn has_cut(&self) -> bool {
        self.cut.lock().is_none()
    }
}

/// Passes on bytes until one side closes, or until `cut` returns true for the bytes just passed on.
fn forward(mut from: TcpStream, mut to: TcpStream, cut: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let is_cut = cut(&bytes[..count]);
        if is_cut {
            // The client sees the end first, so that it cannot get the reply.
            let _ = from.shutdown(Shutdown::Both);
        }
        if to.write_all(&bytes[..count]).is_err() || is_cut {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Write));
}
