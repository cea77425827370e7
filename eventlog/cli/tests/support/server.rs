//! Serves bytes to whoever connects, in pieces of odd sizes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread::{self, JoinHandle};

/// What the server does once all has been sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Closes the connection.
    Close,
    /// Keeps it open until the other side closes it.
    Keep,
}

fn send<C: Read + Write>(mut connection: C, bytes: &[u8], then: Then) {
    for (at, piece) in pieces(bytes).enumerate() {
        // The other side may have seen enough.
        if connection.write_all(piece).is_err() {
            return;
        }
        // Now and then the other side has its turn.
        if at % 16 == 0 {
            thread::yield_now();
        }
    }
    if then == Then::Keep {
        // Ends when the other side is gone, by whatever way.
        let _ = connection.read(&mut [0]);
    }
}

/// The bytes in pieces of 1, 2, 3, ... 97 and again 1, 2, 3, ... bytes.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    (1..98).cycle().map_while(move |len: usize| {
        let (piece, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Serves at a port of this host; gives HOST:PORT. One connection.
pub(crate) fn tcp(bytes: Vec<u8>, then: Then) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = thread::spawn(move || send(listener.accept().unwrap().0, &bytes, then));
    (address, thread)
}

/// Serves at a socket of that path. One connection.
#[cfg(unix)]
pub(crate) fn unix(path: &Path, bytes: Vec<u8>, then: Then) -> JoinHandle<()> {
    let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
    thread::spawn(move || send(listener.accept().unwrap().0, &bytes, then))
}
