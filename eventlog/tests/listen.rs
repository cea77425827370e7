//! A log that is served at a socket.

#![cfg(unix)]

mod written;

use ghc_eventlog::format::Event::GcStart;
use ghc_eventlog::{Address, AttachOptions, EventLog, ListenError, Sink};
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use written::Written;

/// As long as a loaded machine may take, where something must not take for ever.
fn in_time(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn patient() -> AttachOptions {
    AttachOptions::default().linger(Duration::from_secs(60))
}

fn serve(log: &EventLog, path: &Path) -> Result<ghc_eventlog::Listener, ListenError> {
    log.listen(Address::Unix(path.to_owned()), patient())
}

/// Connects, and waits until the log has taken the reader in.
fn connect(log: &EventLog, path: &Path) -> UnixStream {
    let before = log.statistics().readers.len();
    let stream = UnixStream::connect(path).unwrap();
    in_time("it is attached", || log.statistics().readers.len() > before);
    stream
}

fn rest(mut stream: impl Read) -> Vec<u8> {
    let mut content = Vec::new();
    stream.read_to_end(&mut content).unwrap();
    content
}

#[test]
fn whoever_connects_gets_a_whole_log() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let _unix = serve(&log, &path).unwrap();
    let free = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let tcp = log.listen(free, patient()).unwrap();
    let Address::Tcp(address) = *tcp.address() else {
        panic!("{tcp:?}");
    };
    let mut capability = log.capability().unwrap();
    capability.message("before");
    let first = connect(&log, &path);
    let second = connect(&log, &path);
    let third = TcpStream::connect(address).unwrap();
    in_time("it is attached", || log.statistics().readers.len() == 3);
    capability.message("to all");
    let readers = thread::scope(|scope| {
        let readers = [
            scope.spawn(|| rest(first)),
            scope.spawn(|| rest(second)),
            scope.spawn(|| rest(third)),
        ];
        drop(capability);
        log.stop().unwrap();
        readers.map(|reader| reader.join().unwrap())
    });
    for (index, content) in readers.iter().enumerate() {
        let written = Written::read(&format!("listen-{index}"), content);
        assert_eq!(written.messages(0), ["to all"]);
    }
    in_time("the name is removed", || !path.exists());
    in_time("nobody answers", || TcpStream::connect(address).is_err());
}

#[test]
fn a_path_that_nobody_could_connect_to_is_refused_with_its_length_and_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let most = if cfg!(any(target_os = "linux", target_os = "android")) {
        107
    } else {
        103
    };
    let path_of = |len: usize| {
        let name = len - directory.path().as_os_str().len() - 1;
        directory.path().join("s".repeat(name))
    };
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    for len in [most + 1, 120, 200, 256] {
        let refused = serve(&log, &path_of(len)).unwrap_err();
        let ListenError::Io(error) = refused else {
            panic!("{refused}");
        };
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let told = format!("the socket's path has {len} bytes: at most {most} are possible");
        assert!(error.to_string().ends_with(&told), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let longest = path_of(most);
    let _listener = serve(&log, &longest).unwrap();
    connect(&log, &longest);
}

#[test]
fn the_socket_is_this_users_alone_from_the_moment_that_it_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                if let Ok(found) = std::fs::symlink_metadata(&path) {
                    assert!(found.file_type().is_socket());
                    assert_eq!(found.permissions().mode() & 0o777, 0o600);
                    seen += 1;
                }
            }
            seen
        });
        for _ in 0..100 {
            let listener = serve(&log, &path).unwrap();
            thread::yield_now();
            drop(listener);
            assert!(!path.exists());
        }
        let listener = serve(&log, &path).unwrap();
        thread::sleep(Duration::from_millis(20));
        done.store(true, Ordering::Relaxed);
        assert!(looking.join().unwrap() > 0);
        drop(listener);
    });
    // And nothing is left beside it.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    log.stop().unwrap();
}

#[test]
fn a_socket_that_is_left_over_is_replaced_and_nothing_else_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let kind = |path| {
        let Err(ListenError::Io(error)) = serve(&log, path) else {
            panic!("it listens");
        };
        assert!(error.to_string().contains("log.sock"), "{error}");
        error.kind()
    };
    // Closed, and its name not removed: as after a SIGKILL.
    let other = UnixListener::bind(&path).unwrap();
    assert_eq!(kind(&path), io::ErrorKind::AddrInUse);
    drop(other);
    let listener = serve(&log, &path).unwrap();
    assert_eq!(kind(&path), io::ErrorKind::AddrInUse, "our own");
    connect(&log, &path);
    drop(listener);
    std::fs::write(&path, "a file").unwrap();
    assert_eq!(kind(&path), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
    let nowhere = directory.path().join("no/such/log.sock");
    assert_eq!(kind(&nowhere), io::ErrorKind::NotFound);
    log.stop().unwrap();
}

#[test]
fn a_name_that_another_socket_has_taken_over_is_left_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let first = serve(&log, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = serve(&log, &path).unwrap();
    drop(first);
    connect(&log, &path);
    drop(second);
    assert!(!path.exists());
    log.stop().unwrap();
}

#[test]
fn what_a_killed_process_of_the_same_number_left_is_in_nobodys_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    for number in 0..20 {
        let name = format!(".{:x}-{number:x}", std::process::id());
        std::fs::create_dir(directory.path().join(name)).unwrap();
    }
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let _listener = serve(&log, &path).unwrap();
    connect(&log, &path);
    log.stop().unwrap();
}

#[test]
fn other_machines_are_served_only_where_that_is_said() {
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let everywhere = (Ipv4Addr::UNSPECIFIED, 0).into();
    let refused = log.listen(Address::Tcp(everywhere), patient()).unwrap_err();
    assert!(refused.to_string().starts_with("0.0.0.0:0 is no loopback"));
    let served = log.listen(Address::TcpAnywhere(everywhere), patient());
    drop(served.unwrap());
    log.stop().unwrap();
}

#[test]
fn a_reader_that_hangs_up_in_the_middle_disturbs_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    let listener = serve(&log, &path).unwrap();
    let mut capability = log.capability().unwrap();
    let stays = connect(&log, &path);
    let received = thread::spawn(move || rest(stays));
    let expected: Vec<_> = (0..2_000).map(|n: u32| n.to_string()).collect();
    let mut hung_up = 0;
    for (number, text) in expected.iter().enumerate() {
        if number % 100 == 0 {
            let mut goes = UnixStream::connect(&path).unwrap();
            goes.read_exact(&mut [0; 100]).unwrap();
            // With the rest unread.
            drop(goes);
            hung_up += 1;
        }
        capability.message(text);
        if number % 10 == 0 {
            log.flush().unwrap();
        }
    }
    // Nobody new is let in; who is there stays.
    drop(listener);
    UnixStream::connect(&path).unwrap_err();
    in_time("those that are gone are let go", || {
        capability.message("look again");
        log.flush().unwrap();
        log.statistics().readers.len() == 1
    });
    drop(capability);
    assert_eq!(hung_up, 20);
    assert_eq!(log.stop().unwrap().lost().total(), 0);
    let received = received.join().unwrap();
    for content in [content.bytes(), received] {
        let written = Written::read("listen-hung-up", &content);
        assert_eq!(written.messages(0)[..2_000], expected);
    }
}

#[test]
fn stop_waits_no_longer_than_told_for_a_reader_that_does_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let options = AttachOptions::default().linger(Duration::from_millis(50));
    let _listener = log.listen(Address::Unix(path.clone()), options).unwrap();
    let stream = connect(&log, &path);
    let mut capability = log.capability().unwrap();
    for _ in 0..100 {
        capability.message(&"x".repeat(60_000));
        log.flush().unwrap();
    }
    let statistics = log.stop().unwrap();
    assert!(statistics.former_readers.lost_events > 0);
    // Its thread ends, too, and closes the connection.
    let got = rest(stream);
    assert!(got.len() < 100 * 60_000);
    Written::read_prefix(&got, false);
}

#[test]
fn no_more_readers_are_served_than_was_said_and_those_beyond_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let address = Address::Unix(path.clone());
    let listener = log.listen(address, patient().readers(2)).unwrap();
    let first = connect(&log, &path);
    let second = connect(&log, &path);
    let beyond = UnixStream::connect(&path).unwrap();
    assert_eq!(rest(beyond), b"");
    assert_eq!(listener.refused(), 1);
    // A place that has become free is given away again.
    drop(first);
    in_time("the first has gone", || {
        log.message("for those who listen");
        log.flush().unwrap();
        log.statistics().readers.len() == 1
    });
    in_time("there is a place again", || {
        let mut third = UnixStream::connect(&path).unwrap();
        matches!(third.read(&mut [0; 4]), Ok(4))
    });
    log.stop().unwrap();
    assert!(rest(second).ends_with(&[0xff, 0xff]));
}

#[test]
fn a_log_that_was_stopped_is_not_served() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    log.stop().unwrap();
    assert!(matches!(serve(&log, &path), Err(ListenError::Stopped)));
    assert!(!path.exists());
}

#[test]
fn other_calls_go_on_while_stop_waits_for_readers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.sock");
    let log = EventLog::builder().sink(Sink::null()).unwrap();
    let _listener = serve(&log, &path).unwrap();
    let stream = connect(&log, &path);
    let mut capability = log.capability().unwrap();
    for _ in 0..100 {
        capability.message(&"x".repeat(60_000));
        log.flush().unwrap();
    }
    thread::scope(|scope| {
        let stop = scope.spawn(|| log.stop().unwrap());
        in_time("the log is stopped", || {
            capability.try_emit(&GcStart).is_err()
        });
        // This would wait as long as the reader may linger.
        let readers = log.statistics().readers;
        assert!(!stop.is_finished());
        assert!(readers.iter().any(|reader| reader.queued_bytes > 0));
        let read = Written::read("listen-late", &rest(stream));
        assert_eq!(read.messages(0).len(), 100);
        assert_eq!(stop.join().unwrap().former_readers.lost_events, 0);
    });
}
