//! What the environment says of the log: `EVENTLOG_SINK`, `EVENTLOG_MODE`, `EVENTLOG_BUDGET` and
//! `EVENTLOG_LISTEN`. A wrong value is told, and the default holds.

use std::ffi::{OsStr, OsString};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The least budget: that of a log's buffers.
pub(super) const LEAST_BUDGET: usize = 65_571;

/// The largest budget of a log's buffers; memory may be as large as it is.
const MOST_BUFFERS: usize = (u32::MAX as usize - 24) / 2;

/// What the log begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    /// `None` where nothing is said.
    pub(super) sink: Option<Place>,
    /// Bytes.
    pub(super) budget: Option<usize>,
    pub(super) listen: Option<Listen>,
}

/// Where the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the sink.
    File,
    /// In memory, chunk by chunk.
    Memory,
    /// In memory, the newest part; at the end in the sink, if there is one.
    Flight,
}

/// Where a log is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path(PathBuf),
    Output,
    Nowhere,
    Unix(PathBuf),
    Tcp(String),
}

/// Where a log is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listen {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Settings {
    /// What is said, and the complaints about what is said wrongly.
    pub(super) fn read(lookup: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let read = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let mut wrong = |name: &str, value: &OsStr, allowed: &str| {
            complaints.push(format!("{name}={}: {allowed}", value.to_string_lossy()));
        };
        let mode = read("EVENTLOG_MODE").map_or(Mode::File, |value| match value.as_bytes() {
            b"file" => Mode::File,
            b"memory" => Mode::Memory,
            b"flight" => Mode::Flight,
            _ => {
                wrong(
                    "EVENTLOG_MODE",
                    &value,
                    "must be file, memory or flight; file is taken",
                );
                Mode::File
            }
        });
        let sink = read("EVENTLOG_SINK").map(|value| {
            place(&value).unwrap_or_else(|| {
                let allowed =
                    "must be a path, -, none, unix:PATH or tcp:ADDRESS:PORT; nothing is written";
                wrong("EVENTLOG_SINK", &value, allowed);
                Place::Nowhere
            })
        });
        let budget = read("EVENTLOG_BUDGET").and_then(|value| {
            let most = match mode {
                Mode::File => MOST_BUFFERS,
                Mode::Memory | Mode::Flight => usize::MAX,
            };
            let bytes = value.to_str().and_then(bytes_of);
            let bytes = bytes.filter(|bytes| *bytes <= most);
            if bytes.is_none() {
                let allowed = format!(
                    "must be a number of bytes, or one with K, M or G behind it, from {LEAST_BUDGET} to {most}; \
                     the default is taken"
                );
                wrong("EVENTLOG_BUDGET", &value, &allowed);
            }
            bytes
        });
        let listen = read("EVENTLOG_LISTEN").and_then(|value| {
            let listen = listen(&value);
            if listen.is_none() {
                let allowed = "must be unix:PATH or tcp:ADDRESS:PORT; the log is not served";
                wrong("EVENTLOG_LISTEN", &value, allowed);
            }
            listen
        });
        let settings = Settings {
            mode,
            sink,
            budget,
            listen,
        };
        (settings, complaints)
    }
}

/// What follows `prefix`.
fn after<'v>(value: &'v OsStr, prefix: &str) -> Option<&'v OsStr> {
    let rest = value.as_bytes().strip_prefix(prefix.as_bytes())?;
    (!rest.is_empty()).then(|| OsStr::from_bytes(rest))
}

/// `None` where it begins as a socket's place does, and is none.
fn place(value: &OsStr) -> Option<Place> {
    if value == "-" {
        return Some(Place::Output);
    }
    if value == "none" {
        return Some(Place::Nowhere);
    }
    let bytes = value.as_bytes();
    if bytes.starts_with(b"unix:") {
        return after(value, "unix:").map(|path| Place::Unix(path.into()));
    }
    if bytes.starts_with(b"tcp:") {
        let address = after(value, "tcp:")?.to_str()?;
        let (name, port) = address.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        return (!name.is_empty()).then(|| Place::Tcp(address.to_owned()));
    }
    Some(Place::Path(value.into()))
}

fn listen(value: &OsStr) -> Option<Listen> {
    if let Some(path) = after(value, "unix:") {
        return Some(Listen::Unix(path.into()));
    }
    let address = after(value, "tcp:")?.to_str()?;
    let address = address.to_socket_addrs().ok()?.next()?;
    Some(Listen::Tcp(address))
}

/// A number with a unit, of at least the least budget.
fn bytes_of(text: &str) -> Option<usize> {
    let (number, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        b'g' | b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
    (bytes >= LEAST_BUDGET).then_some(bytes)
}

/// The file that a process writes to: `%p` stands for its number. A child's has it at the end where it is not
/// asked for.
pub(super) fn path_of(path: &OsStr, process: u32, is_child: bool) -> PathBuf {
    let process = process.to_string();
    let mut named = Vec::new();
    let mut is_named = false;
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        match rest.strip_prefix(b"%p") {
            Some(behind) => {
                is_named = true;
                named.extend_from_slice(process.as_bytes());
                rest = behind;
            }
            None => {
                named.push(*byte);
                rest = after;
            }
        }
    }
    if is_child && !is_named {
        named.push(b'.');
        named.extend_from_slice(process.as_bytes());
    }
    OsString::from_vec(named).into()
}

/// The file that is written to where nothing is said: as GHC names it.
pub(super) fn default_path(program: Option<OsString>) -> OsString {
    let program = program.map(PathBuf::from);
    let name = program.as_deref().and_then(std::path::Path::file_name);
    let mut path = name.unwrap_or(OsStr::new("program")).to_owned();
    path.push(".eventlog");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::read(|name| {
            let found = values.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn nothing_said_is_the_default() {
        let (settings, complaints) = read(&[("EVENTLOG_SINK", "")]);
        let default = Settings {
            mode: Mode::File,
            sink: None,
            budget: None,
            listen: None,
        };
        assert_eq!((settings, complaints), (default, Vec::new()));
        assert_eq!(
            default_path(Some("/usr/bin/cat".into())),
            OsStr::new("cat.eventlog")
        );
    }

    #[test]
    fn what_is_said_holds() {
        let (settings, complaints) = read(&[
            ("EVENTLOG_MODE", "flight"),
            ("EVENTLOG_SINK", "unix:/tmp/x"),
            ("EVENTLOG_BUDGET", "3M"),
            ("EVENTLOG_LISTEN", "tcp:127.0.0.1:4711"),
        ]);
        assert!(complaints.is_empty());
        assert_eq!(settings.mode, Mode::Flight);
        assert_eq!(settings.sink, Some(Place::Unix("/tmp/x".into())));
        assert_eq!(settings.budget, Some(3 << 20));
        let address = ([127, 0, 0, 1], 4711).into();
        assert_eq!(settings.listen, Some(Listen::Tcp(address)));
        let sink = |value| read(&[("EVENTLOG_SINK", value)]).0.sink.unwrap();
        assert_eq!(sink("-"), Place::Output);
        assert_eq!(sink("none"), Place::Nowhere);
        assert_eq!(sink("tcp:here:1"), Place::Tcp("here:1".into()));
    }

    #[test]
    fn a_wrong_value_is_told_with_what_is_allowed() {
        let (settings, complaints) = read(&[
            ("EVENTLOG_MODE", "tape"),
            ("EVENTLOG_BUDGET", "12"),
            ("EVENTLOG_LISTEN", "/tmp/x"),
        ]);
        assert_eq!(settings, read(&[]).0);
        for sink in [
            "tcp:foo",
            "tcp:",
            "tcp::1",
            "tcp:foo:x",
            "tcp:foo:65536",
            "unix:",
        ] {
            let (settings, complaints) = read(&[("EVENTLOG_SINK", sink)]);
            assert_eq!(settings.sink, Some(Place::Nowhere));
            let allowed =
                "must be a path, -, none, unix:PATH or tcp:ADDRESS:PORT; nothing is written";
            assert_eq!(complaints, [format!("EVENTLOG_SINK={sink}: {allowed}")]);
        }
        assert_eq!(
            complaints,
            [
                "EVENTLOG_MODE=tape: must be file, memory or flight; file is taken",
                "EVENTLOG_BUDGET=12: must be a number of bytes, or one with K, M or G behind it, from 65571 to \
                 2147483635; the default is taken",
                "EVENTLOG_LISTEN=/tmp/x: must be unix:PATH or tcp:ADDRESS:PORT; the log is not served",
            ]
        );
        for budget in [
            "",
            "K",
            "-1",
            "1e9",
            "99999999999999999999",
            "9999999999999G",
        ] {
            assert_eq!(bytes_of(budget), None, "{budget}");
        }
        assert_eq!(bytes_of("64k"), None, "less than the least");
        assert_eq!(bytes_of("65571"), Some(65_571));
        let large = |mode| {
            read(&[("EVENTLOG_MODE", mode), ("EVENTLOG_BUDGET", "3G")])
                .0
                .budget
        };
        assert_eq!(large("memory"), usize::try_from(3_u64 << 30).ok());
        assert_eq!(large("file"), None, "no log takes that");
    }

    #[test]
    fn a_childs_file_has_its_number() {
        let path = |text: &str, is_child| path_of(OsStr::new(text), 12, is_child);
        assert_eq!(path("a.eventlog", false), PathBuf::from("a.eventlog"));
        assert_eq!(path("a.eventlog", true), PathBuf::from("a.eventlog.12"));
        assert_eq!(path("%p/a%p", true), PathBuf::from("12/a12"));
        assert_eq!(path("%p/a", false), PathBuf::from("12/a"));
    }
}
