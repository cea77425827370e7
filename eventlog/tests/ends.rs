//! What is in a log whose process ends, in each of the ways in which processes end. Each test runs
//! this program again as a child, in which `child` plays the part.

#![cfg(unix)]

mod written;

use ghc_eventlog::format::{Decoder, END_MARKER, Event};
use ghc_eventlog::{
    CapabilityError, EmitError, EventLog, NoChunk, Policy, Previous, Sink, Start, WhenFull,
};
use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use written::Written;

/// Where a child finds its part, and where it is to write.
const PART: &str = "EVENTLOG_ENDS_PART";
const PATH: &str = "EVENTLOG_ENDS_PATH";

fn spawn(part: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env(PART, part)
        .env(PATH, path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits for a child that must not hang.
fn wait(mut child: Child) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it hangs");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn play(part: &str) -> (ExitStatus, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let status = wait(spawn(part, &path));
    (status, std::fs::read(path).unwrap())
}

#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let path = PathBuf::from(std::env::var_os(PATH).unwrap());
    match &*part {
        "exit" => {
            let _log = two_flushed_and_one_not(&path);
            std::process::exit(7);
        }
        "abort" => {
            let _log = two_flushed_and_one_not(&path);
            std::process::abort();
        }
        "unwind" => {
            let _log = two_flushed_and_one_not(&path);
            panic!("the log is dropped");
        }
        "kill" => emit_for_ever(&path),
        "fork" => fork_and_go_on(&path),
        "fork-wait" => fork_and_fill_buffers(&path),
        "fork-chunks" => fork_and_drop_chunks(&path),
        other => panic!("no part: {other}"),
    }
}

/// A log that has been given three messages.
fn two_flushed_and_one_not(path: &Path) -> EventLog {
    let log = EventLog::builder()
        .flush_interval(Duration::MAX)
        .file(path)
        .unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("one");
    capability.message("two");
    log.flush().unwrap();
    capability.message("three");
    log
}

/// The log has what was flushed, and may have what was emitted after that.
fn assert_flushed(log: &[u8]) {
    let read = Written::read_prefix(log, false);
    let messages = read.messages(0);
    let all = ["one", "two", "three"];
    assert!(messages == all || messages == all[..2], "{messages:?}");
}

#[test]
fn exit_and_abort_keep_what_was_flushed() {
    let (status, log) = play("exit");
    assert_eq!(status.code(), Some(7));
    assert!(Written::is_cut(&log));
    assert_flushed(&log);
    let (status, log) = play("abort");
    assert_eq!(status.signal(), Some(6));
    assert_flushed(&log);
}

#[test]
fn a_panic_that_unwinds_ends_the_log() {
    let (status, log) = play("unwind");
    assert!(!status.success());
    let all = ["one", "two", "three"];
    assert_eq!(Written::read("ends-unwind", &log).messages(0), all);
}

fn emit_for_ever(path: &Path) {
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .file(path)
        .unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut capability = log.capability().unwrap();
            scope.spawn(move || {
                for number in 0_u64.. {
                    let text = format!("{number} {}", "x".repeat(number as usize % 500));
                    while capability
                        .try_emit(&Event::UserMessage { text: &text })
                        .is_err()
                    {
                        thread::yield_now();
                    }
                    thread::yield_now();
                }
            });
        }
        // Somebody flushes in the middle of everything.
        scope.spawn(|| {
            loop {
                log.flush().unwrap();
            }
        });
    });
}

#[test]
fn a_log_whose_process_is_killed_is_readable_to_its_last_whole_event() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let path = directory.path().join(format!("log-{round}"));
        let mut child = spawn("kill", &path);
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::metadata(&path).map_or(0, |found| found.len()) < 10_000 + 17_001 * round {
            assert!(Instant::now() < deadline, "it writes nothing");
            thread::sleep(Duration::from_micros(300));
        }
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let log = std::fs::read(&path).unwrap();
        let written = Written::read_prefix(&log, false);
        for cap in 0..2 {
            for (number, text) in written.messages(cap).into_iter().enumerate() {
                let expected = format!("{number} {}", "x".repeat(number % 500));
                assert_eq!(text, expected);
            }
        }
        // What is missing is told, with the place where it should be.
        let mut decoder = Decoder::new();
        let mut rest = &log[..];
        while decoder.next(&mut rest).unwrap().is_some() {}
        let error = decoder.finish().unwrap_err();
        assert!(error.offset <= log.len() as u64);
    }
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// A parent whose child does with the log what it can, while the collector is at work.
fn fork_and_go_on(path: &Path) {
    let (kept, _) = Sink::memory();
    let log = EventLog::builder()
        .flush_interval(Duration::from_millis(1))
        .sink(kept.clone())
        .unwrap();
    // With a buffer of its own, which would be written where it is dropped.
    let file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    log.set_sink(Sink::writer(file), Previous::Keep, Start::Header)
        .unwrap();
    let mut capability = log.capability().unwrap();
    let mut other = log.capability().unwrap();
    capability.message("before");
    for _ in 0..20 {
        other.message("busy");
        // SAFETY: the child only does what a child of a process with several threads may do with
        // glibc, whose allocator is made for it, and leaves by `_exit`.
        let process = unsafe { fork() };
        assert!(process >= 0);
        if process == 0 {
            capability.message("the child's");
            let fine = log.flush().is_err()
                && log.stop().is_err()
                && log
                    .set_sink(Sink::null(), Previous::Close, Start::Header)
                    .is_err()
                && log.statistics().events() == 0
                && matches!(log.capability(), Err(CapabilityError::Forked))
                && kept
                    .close()
                    .is_err_and(|e| e.kind() == ErrorKind::ResourceBusy);
            drop(capability);
            drop(log);
            // SAFETY: ends the process.
            unsafe { _exit(i32::from(!fine)) };
        }
        let mut status = 0;
        // SAFETY: `status` is there to be written.
        assert_eq!(unsafe { waitpid(process, &raw mut status, 0) }, process);
        assert_eq!(status, 0, "the child");
    }
    capability.message("after");
    log.stop().unwrap();
}

#[test]
fn a_forked_child_writes_nothing_and_does_not_hang() {
    let (status, log) = play("fork");
    assert!(status.success(), "{status}");
    let written = Written::read("ends-fork", &log);
    assert_eq!(written.messages(0), ["before", "after"]);
    assert_eq!(written.messages(1).len(), 20);
}

/// A parent whose child fills the buffers, where events wait for room.
fn fork_and_fill_buffers(path: &Path) {
    let log = EventLog::builder()
        .policy(Policy::Wait {
            limit: Duration::from_secs(3_600),
        })
        .file(path)
        .unwrap();
    let mut capability = log.capability().unwrap();
    capability.message("before");
    log.flush().unwrap();
    // SAFETY: as above.
    let process = unsafe { fork() };
    assert!(process >= 0);
    if process == 0 {
        let text = "x".repeat(10_000);
        let event = Event::UserMessage { text: &text };
        let fill = |emit: &mut dyn FnMut() -> Result<(), EmitError>| {
            let outcomes: Vec<_> = (0..300).map(|_| emit()).collect();
            let taken = outcomes
                .iter()
                .take_while(|outcome| outcome.is_ok())
                .count();
            let full = |outcome: &Result<(), EmitError>| *outcome == Err(EmitError::Full);
            taken > 10 && taken < 290 && outcomes[taken..].iter().all(full)
        };
        let fine = fill(&mut || capability.try_emit(&event))
            && fill(&mut || log.try_emit(&event))
            && capability.emit_sticky(&event) == Err(EmitError::Stopped)
            && log.emit_sticky(&event) == Err(EmitError::Stopped);
        // SAFETY: ends the process.
        unsafe { _exit(i32::from(!fine)) };
    }
    let mut status = 0;
    // SAFETY: `status` is there to be written.
    assert_eq!(unsafe { waitpid(process, &raw mut status, 0) }, process);
    assert_eq!(status, 0, "the child");
    capability.message("after");
    log.stop().unwrap();
}

/// A parent whose children drop a chunk, while another thread has the locks of memory again and again.
fn fork_and_drop_chunks(path: &Path) {
    let (log, chunks) = EventLog::builder()
        .flush_interval(Duration::MAX)
        .in_memory(1 << 20, WhenFull::DropNewest)
        .unwrap();
    log.message("before");
    log.flush().unwrap();
    let mut chunk = Some(chunks.chunk().unwrap());
    log.message("left");
    log.flush().unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let busy = thread::spawn({
        let (chunks, done) = (chunks.clone(), Arc::clone(&done));
        move || {
            while !done.load(Ordering::Relaxed) {
                assert!(chunks.used() > 0 && chunks.len() == 1);
            }
        }
    });
    for _ in 0..100 {
        // SAFETY: as above.
        let process = unsafe { fork() };
        assert!(process >= 0);
        if process == 0 {
            let bytes = chunk.take();
            let mut fine = bytes.is_some_and(|bytes| bytes.ends_with(b"before"));
            fine &= chunks.chunk().unwrap_err() == NoChunk::Finished
                && chunks.wait_chunk(Duration::MAX).unwrap_err() == NoChunk::Finished
                && (chunks.len(), chunks.used()) == (0, 0)
                && chunks.header().starts_with(b"hdrb");
            drop((chunks, log));
            // SAFETY: ends the process.
            unsafe { _exit(i32::from(!fine)) };
        }
        let mut status = 0;
        // SAFETY: `status` is there to be written.
        assert_eq!(unsafe { waitpid(process, &raw mut status, 0) }, process);
        assert_eq!(status, 0, "the child");
    }
    done.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    drop(chunk);
    log.stop().unwrap();
    let mut bytes = chunks.header();
    while let Ok(chunk) = chunks.chunk() {
        bytes.extend_from_slice(&chunk);
    }
    bytes.extend(END_MARKER);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_forked_child_may_read_and_drop_a_chunk_and_has_no_others() {
    let (status, log) = play("fork-chunks");
    assert!(status.success(), "{status}");
    assert!(log.windows(4).any(|bytes| bytes == b"left"));
}

#[test]
fn a_forked_child_does_not_wait_for_room_that_nobody_makes() {
    let (status, log) = play("fork-wait");
    assert!(status.success(), "{status}");
    let written = Written::read("ends-fork-wait", &log);
    assert_eq!(written.messages(0), ["before", "after"]);
}
