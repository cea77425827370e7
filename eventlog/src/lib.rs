//! Writes and reads event logs in the format of GHC's run-time system, from and for Rust programs.
//!
//! An event log is a file of small time-stamped records: a thread started, ran, stopped, said
//! something. Haskell programs have written such logs for many years, and there are tools to look at
//! them, [ThreadScope](https://wiki.haskell.org/ThreadScope) first of all. This crate gives a Rust
//! program the same: threads log into buffers of their own, without a lock, and a collector thread
//! makes a log of it.
//!
//! # Writing
//!
//! ```
//! use ghc_eventlog::EventLog;
//! use ghc_eventlog::format::{Event, StopStatus, ThreadId};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("my.eventlog");
//! let log = EventLog::builder().file(&path)?;
//! std::thread::scope(|scope| {
//!     for number in 1..=2 {
//!         let mut capability = log.capability().unwrap();
//!         scope.spawn(move || {
//!             let thread = ThreadId(number);
//!             capability.emit(&Event::CreateThread { thread });
//!             capability.emit(&Event::RunThread { thread });
//!             capability.message("working");
//!             let status = StopStatus::Finished;
//!             capability.emit(&Event::StopThread { thread, status, info: 0 });
//!         });
//!     }
//! });
//! let statistics = log.stop()?;
//! let events: u64 = statistics.capabilities.iter().map(|buffer| buffer.events).sum();
//! assert_eq!(events, 8);
//! assert_eq!(statistics.lost().total(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`EventLog`] is the log, [`Capability`] is what one thread writes with. Data goes one way:
//!
//! ```text
//! emit ──> the capability's buffer ──┐                          ┌──> sink (a file, any `Write`, memory)
//! emit ──> the capability's buffer ──┼──> collector ──> blocks ─┼──> attached reader
//! emit ──> the shared buffer ────────┘                          └──> attached reader
//! ```
//!
//! While it runs a log can be [redirected](EventLog::set_sink) to another [`Sink`], with an exact
//! cut; any number of readers can be [attached](EventLog::attach), or connect to a
//! [socket](EventLog::listen). Whatever begins late is told first what it has to know: the
//! [sticky events](EventLog::emit_sticky).
//!
//! Besides GHC's events a log takes those of the program's own [types](format::UserEventType), once they
//! are [declared](Builder::declare).
//!
//! **What emitting costs.** Reading the time stamp counter, encoding the event into the buffer, and
//! three stores that publish and count it. No lock, no allocation, no I/O, and never a wait unless the
//! [`Policy`] says so; now and then a wake-up of the collector, which is a system call where the
//! collector sleeps. (Events of the *shared* buffer, which belong to no capability, take a lock that no
//! other thread wants at that moment. The first events after a [resize](EventLog::resize) take one to
//! get at the memory.)
//!
//! **What can be lost.** A buffer that is full drops the event, or older ones, as the [`Policy`] says;
//! an event that is emitted after the log was stopped is refused; a sink that will not take the last
//! blocks leaves them undelivered. All of it is counted, by buffer and cause, in [`Statistics`]; and
//! what a buffer has lost is told in the log itself, where it is missing, by an
//! [`EventsLost`](format::Event::EventsLost) event. (No event is too large: text is cut.) Nothing else
//! is lost while the process lives.
//!
//! # How a log ends
//!
//! | what happens | what is in the log |
//! |---|---|
//! | [`stop`](EventLog::stop), or the last handle is dropped (also while a panic unwinds) | every event that was emitted before, and the end; the sink is flushed. What a sink refuses is counted, and offered again by another `stop` |
//! | a thread ends, in whatever way | every event of its [`Capability`], which is dropped with the thread's data |
//! | `std::process::exit`, or `main` returns while a `static` or another thread has the handle | what the collector had written: all but the last flush interval, and all up to the last [`flush`](EventLog::flush). No end marker |
//! | `abort`, or a signal such as SIGKILL | as above; the last block may be cut. Readers get everything up to its last whole event |
//! | the machine goes down | what the operating system had written of the file; nothing is synced |
//! | `fork` | nothing of the child. There, [`flush`](EventLog::flush), [`stop`](EventLog::stop) and the like are errors, dropping the log does nothing, marking events as [sticky](Capability::emit_sticky) is refused, and events that are emitted stay in the child's copy of the buffers until they are full; then they are refused and counted at once, whatever the [policy](Policy). The parent's log goes on. In the child emitting to the *shared* buffer may wait for ever for a thread of the parent that was in the middle of that. [Chunks] stay with the parent. It can start a log of its own |
//!
//! An attached reader gets what the sink gets, as far as its queue has come.
//!
//! # Memory
//!
//! Each buffer is allocated when its capability is made ([512 KiB](Builder::buffer_size)), can be
//! [resized](EventLog::resize), and is freed when the capability is gone and its last event has been
//! written. A sink that refuses a block makes the collector keep a copy of that block, and where readers go on
//! meanwhile [8 MiB at most](Builder::sink_backlog), and a cut. What comes out of
//! the shared buffer is copied once on its way. Sticky events take
//! [64 MiB at most](Builder::sticky_limit), and the queue of a reader, or of a
//! [sink that has one](Sink::queued), [8 MiB](AttachOptions::queue). A log that is
//! [kept in memory](#keeping-it-in-memory) hands a filled chunk on without copying it, and the thread that
//! needs the next one allocates it where none has come back yet.
//!
//! # Order
//!
//! The events of a capability are in the log in the order in which they were emitted, and their time
//! stamps never decrease. Events of the shared buffer are there in the order in which their places were
//! taken, and their time stamps nearly so. Blocks of different capabilities alternate; readers sort by
//! time.
//!
//! **Without ceremony.** [`trace`] has macros that write to one log for the whole process, and sees to
//! each thread's capability by itself; with the feature `tracing` also a layer for `tracing-subscriber`.
//!
//! # Keeping it in memory
//!
//! A log need not leave the process. [`Builder::in_memory`] hands it to the program itself, as whole
//! blocks that are popped one [`Chunk`] at a time: the memory that the threads have written to, within
//! a budget. And [`Builder::flight_recorder`] keeps the newest part only, so many bytes or seconds,
//! until somebody asks for a [snapshot](EventLog::snapshot), a panic hook for example:
//!
//! ```
//! use ghc_eventlog::{EventLog, Keep};
//! use std::fs::File;
//! use std::time::Duration;
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("crash.eventlog");
//! let keep = Keep::bytes(16 << 20).newest(Duration::from_secs(10));
//! let log = EventLog::builder().flight_recorder(keep)?;
//! let recorder = log.clone();
//! let before = std::panic::take_hook();
//! std::panic::set_hook(Box::new(move |panic| {
//!     before(panic);
//!     let written = File::create(&path).map(|file| recorder.snapshot(file));
//!     eprintln!("the last ten seconds are in {}: {written:?}", path.display());
//! }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both are [sinks](Sink): a running log can be redirected to them and away from them.
//!
//! The budget is for what the collector has taken. The [buffers](Builder::buffer_size) come on top, and it is they that
//! bound a burst: one that threads fill faster than the collector comes loses events, counted as
//! [full](Lost::full), while the budget may be hardly used. [`Builder::buffer_size`] makes room for more, and
//! [`Policy::Grow`] lets a buffer grow to a bound before anything is lost.
//!
//! # Reading
//!
//! [`format::Decoder`] reads logs of GHC 6.12 to 9.12 and of this crate, in pieces of any size:
//!
//! ```
//! use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
//!
//! fn messages(mut log: &[u8]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
//!     let mut decoder = Decoder::new();
//!     let mut found = Vec::new();
//!     while let Some(record) = decoder.next(&mut log)? {
//!         if let Record::Event(event) = record {
//!             if let Decoded::Known(Event::UserMessage { text }) = event.decode()? {
//!                 found.push(text.to_owned());
//!             }
//!         }
//!     }
//!     decoder.finish()?;
//!     Ok(found)
//! }
//! # assert!(messages(b"no log").is_err());
//! ```

mod attach;
mod block;
mod block_store;
mod buffer;
mod buffer_reader;
mod buffers;
mod capability;
mod chunk_record;
mod chunks;
mod clock;
mod collector;
mod collector_lock;
mod copied;
mod counter;
mod delivery;
mod error;
mod flight_recorder;
pub mod format;
mod intake;
mod listen;
mod log;
mod marks;
mod missed;
#[cfg(all(feature = "objects", target_os = "linux"))]
pub mod objects;
mod outputs;
mod policy;
mod queued_sink;
mod reader;
mod redirect;
mod registry;
pub mod relay;
mod relayed;
mod room;
mod shared_buffer;
mod signals;
mod sink;
mod sizes;
mod source;
mod statistics;
mod sticky;
mod stock;
mod thread_table;
pub mod trace;
mod user_writer;
mod write_memory;

pub use block_store::WhenFull;
pub use capability::Capability;
pub use chunks::{Chunk, Chunks, NoChunk};
pub use clock::Clock;
pub use error::{
    AttachError, BufferError, CapabilityError, EmitError, ListenError, ResizeError, SetSinkError,
    StartError, StopError,
};
pub use flight_recorder::{Keep, SnapshotError};
pub use intake::BlockWriter;
pub use listen::{Address, Listener};
pub use log::{Builder, EventLog};
pub use marks::StickyId;
pub use policy::Policy;
pub use reader::{AttachOptions, ReaderFailure, ReaderId, ReaderStatistics};
pub use sink::{MemoryContent, Previous, Sink, Start};
pub use statistics::{BufferStatistics, Lost, Statistics};
