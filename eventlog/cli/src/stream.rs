//! Logs that are still being written: sockets on which they are served, and files that grow.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use ghc_eventlog::format::{DecodeError, DecodeErrorKind, Decoder};

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// Pieces that may wait to be looked at.
const WAITING: usize = 16;

/// How long a host may take to answer.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a file is looked at that has not grown.
const LOOK: Duration = Duration::from_millis(50);

/// What a shell tells of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// What comes of a log next.
#[derive(Debug)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// The other side has closed the connection, or a file that is not followed is over.
    End,
    /// Ctrl-C, or a request to terminate.
    Interrupted,
    /// The source cannot be read any more.
    Failed(io::Error),
}

/// What becomes of a file's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtEnd {
    /// More may be written: wait for it.
    Follow,
    /// It is the end.
    Stop,
}

/// A log's bytes, as they come. A thread of its own reads them, so that a signal is heard while it
/// waits.
#[derive(Debug)]
pub(crate) struct Stream {
    pieces: Receiver<Piece>,
}

impl Stream {
    /// Opens what that name leads to, and begins to read. Once only: from here on Ctrl-C is a
    /// [`Piece`]. A second one ends the process.
    pub(crate) fn open(name: &str, at_end: AtEnd) -> io::Result<Self> {
        let mut source = source(name, at_end)?;
        let (sender, pieces) = sync_channel(WAITING);
        listen(sender.clone())?;
        thread::Builder::new()
            .name("reader".into())
            .spawn(move || {
                loop {
                    let piece = read(&mut *source);
                    let last = !matches!(piece, Piece::Bytes(_));
                    // Nobody listens once the verb has ended.
                    if sender.send(piece).is_err() || last {
                        return;
                    }
                }
            })?;
        Ok(Self { pieces })
    }

    /// Waits for what comes next.
    pub(crate) fn next(&mut self) -> Piece {
        self.pieces.recv().unwrap_or(Piece::End)
    }

    /// What has come already; `None` if that is nothing.
    pub(crate) fn ready(&mut self) -> Option<Piece> {
        match self.pieces.try_recv() {
            Ok(piece) => Some(piece),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Piece::End),
        }
    }
}

/// Why what has come so far cannot become a log whatever comes next, though it is too short for the decoder to refuse it.
/// To be asked before more is waited for.
pub(crate) fn hopeless(decoder: &Decoder) -> Option<DecodeError> {
    let end = decoder.finish().err();
    end.filter(|error| matches!(error.kind, DecodeErrorKind::Beginning { .. }))
}

fn listen(sender: SyncSender<Piece>) -> io::Result<()> {
    let once = AtomicBool::new(false);
    let handle = move || {
        // Relaxed: nothing else is read because of it.
        if once.swap(true, Ordering::Relaxed) {
            process::exit(INTERRUPTED);
        }
        // Not on this thread, which must hear the second signal while the first one waits.
        let sender = sender.clone();
        let told = thread::Builder::new().spawn(move || drop(sender.send(Piece::Interrupted)));
        if told.is_err() {
            process::exit(INTERRUPTED);
        }
    };
    ctrlc::set_handler(handle).map_err(io::Error::other)
}

fn read(source: &mut dyn Read) -> Piece {
    let mut bytes = vec![0; PIECE];
    loop {
        match source.read(&mut bytes) {
            Ok(0) => return Piece::End,
            Ok(len) => {
                bytes.truncate(len);
                return Piece::Bytes(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Piece::Failed(error),
        }
    }
}

type Source = Box<dyn Read + Send>;

/// What a name leads to: standard input, what is there in the file system, or else a host.
fn source(name: &str, at_end: AtEnd) -> io::Result<Source> {
    if name == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let there = match fs::metadata(name) {
        Ok(there) => there,
        Err(error) => {
            let Some(address) = host_and_port(name) else {
                return Err(error);
            };
            return connect(address.map_err(io::Error::other)?);
        }
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if there.file_type().is_socket() {
            let socket = std::os::unix::net::UnixStream::connect(name)?;
            return Ok(Box::new(socket));
        }
    }
    let file = File::open(name)?;
    if at_end == AtEnd::Follow && there.is_file() {
        return Ok(Box::new(Growing { file, position: 0 }));
    }
    Ok(Box::new(file))
}

/// Host and port, if a name can be read so. An IPv6 address stands in brackets.
fn host_and_port(name: &str) -> Option<Result<(&str, u16), String>> {
    let (host, port) = name.rsplit_once(':')?;
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    if host.is_empty() || host.contains('/') || (bare.is_none() && host.contains(':')) {
        return None;
    }
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match port.parse() {
        Ok(port) => Ok((host, port)),
        Err(_) => Err(format!("no such file, and a port is at most {}", u16::MAX)),
    })
}

fn connect(address: (&str, u16)) -> io::Result<Source> {
    let mut failed = None;
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(socket) => return Ok(Box::new(socket)),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::Error::new(ErrorKind::NotFound, "the host has no address")))
}

/// A file that has no end, only a place where nothing is yet.
struct Growing {
    file: File,
    position: u64,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let len = self.file.read(buffer)?;
            self.position += len as u64;
            if len > 0 {
                return Ok(len);
            }
            let size = self.file.metadata()?.len();
            if size < self.position {
                let position = self.position;
                let text = format!("cut to {size} bytes after {position} were read");
                return Err(io::Error::other(text));
            }
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port() {
        assert_eq!(host_and_port("localhost:80"), Some(Ok(("localhost", 80))));
        assert_eq!(
            host_and_port("10.0.0.1:65535"),
            Some(Ok(("10.0.0.1", 65_535)))
        );
        assert_eq!(host_and_port("[::1]:9000"), Some(Ok(("::1", 9000))));
        for name in [
            "log", ":80", "host:", "host:+80", "::1:80", "a/b:80", "host:x",
        ] {
            assert_eq!(host_and_port(name), None, "{name}");
        }
        assert!(matches!(host_and_port("host:65536"), Some(Err(_))));
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        fs::write(&path, "hello").unwrap();
        let file = File::open(&path).unwrap();
        let mut growing = Growing { file, position: 0 };
        let mut buffer = [0; 10];
        assert_eq!(growing.read(&mut buffer).unwrap(), 5);
        fs::write(&path, "hi").unwrap();
        let error = growing.read(&mut buffer).unwrap_err();
        assert_eq!(error.to_string(), "cut to 2 bytes after 5 were read");
    }
}
