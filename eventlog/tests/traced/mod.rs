//! One traced run after the other, since a process has one installed log; and what its log then says.

#![allow(dead_code, reason = "no test file uses all of it")]

use crate::written::{Memory, Written};
use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use ghc_eventlog::{Builder, EventLog, Statistics, trace};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits for the other tests of this process.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // A test that has failed may have left its log.
    trace::uninstall();
    turn
}

/// What a log says, each capability for itself and then the shared buffer. Events are told as
/// `create 7`, `label 7 main`, `run 7`, `stop 7 Finished`, `runnable 7`, `message …`, `marker …`, and
/// others as they are printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) caps: Vec<Vec<String>>,
    pub(crate) shared: Vec<String>,
}

impl Said {
    /// Reads a complete log; leaves it for another checker, under that name.
    pub(crate) fn read(name: &str, content: &[u8]) -> Said {
        Written::read(&format!("trace-{name}"), content);
        let mut said = Said::default();
        let mut decoder = Decoder::new();
        let mut input = content;
        while let Some(record) = decoder.next(&mut input).expect("a valid log") {
            let Record::Event(raw) = record else { continue };
            let Decoded::Known(event) = raw.decode().expect("a readable event") else {
                panic!("an event of no known type");
            };
            let told = match event {
                Event::CreateThread { thread } => format!("create {thread}"),
                Event::ThreadLabel { thread, label } => format!("label {thread} {label}"),
                Event::RunThread { thread } => format!("run {thread}"),
                Event::StopThread { thread, status, .. } => format!("stop {thread} {status:?}"),
                Event::ThreadRunnable { thread } => format!("runnable {thread}"),
                Event::UserMessage { text } => format!("message {text}"),
                Event::UserMarker { name } => format!("marker {name}"),
                other => format!("{other:?}"),
            };
            match raw.cap {
                Some(cap) => {
                    let cap = usize::from(cap.get());
                    if said.caps.len() <= cap {
                        said.caps.resize(cap + 1, Vec::new());
                    }
                    said.caps[cap].push(told);
                }
                None if told.starts_with('m') => said.shared.push(told),
                // What describes the process and the capabilities.
                None => {}
            }
        }
        said
    }

    /// Messages and markers of one capability.
    pub(crate) fn texts(&self, cap: usize) -> Vec<&str> {
        self.caps[cap]
            .iter()
            .filter(|event| event.starts_with('m'))
            .map(String::as_str)
            .collect()
    }
}

/// Runs `run` with a log installed, and tells what it says and counts. Its buffers hold all that these tests write, so
/// that nothing is lost however late the collector comes.
pub(crate) fn traced(name: &str, run: impl FnOnce()) -> (Said, Statistics) {
    traced_with(name, EventLog::builder().buffer_size(4 << 20), run)
}

/// As `traced`, with a log that is built as told.
pub(crate) fn traced_with(name: &str, builder: Builder, run: impl FnOnce()) -> (Said, Statistics) {
    let _turn = turn();
    let memory = Memory::default();
    trace::install(builder.start(memory.clone()).unwrap()).unwrap();
    run();
    let statistics = trace::uninstall().expect("installed").stop().unwrap();
    (Said::read(name, &memory.content()), statistics)
}

/// Runs `run` on a thread of its own, of that name, to its very end: its locals are gone then.
pub(crate) fn on_thread<R: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> R + Send + 'static,
) -> R {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(run).unwrap().join().unwrap()
}
