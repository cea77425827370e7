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
//! emit ──> the capability's buffer ──┐
//! emit ──> the capability's buffer ──┼──> collector ──> blocks ──> sink (a file, any `Write`)
//! emit ──> the shared buffer ────────┘
//! ```
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
//! is lost while the process lives; one that ends without stopping its log loses what the collector has
//! not written yet.
//!
//! **Memory.** Each buffer is allocated when its capability is made
//! ([512 KiB](Builder::buffer_size)), can be [resized](EventLog::resize), and is freed when the
//! capability is gone and its last event has been written. A sink that refuses a block makes the
//! collector keep a copy of that block. What comes out of the shared buffer is copied once on its way.
//!
//! **Order.** The events of a capability are in the log in the order in which they were emitted, and
//! their time stamps never decrease. Events of the shared buffer are there in the order in which their
//! places were taken, and their time stamps nearly so. Blocks of different capabilities alternate;
//! readers sort by time.
//!
//! **Without ceremony.** [`trace`] has macros that write to one log for the whole process, and sees to
//! each thread's capability by itself; with the feature `tracing` also a layer for `tracing-subscriber`.
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
mod buffer;
mod buffer_reader;
mod capability;
mod chunk_record;
mod clock;
mod collector;
mod collector_lock;
mod counter;
mod delivery;
mod error;
pub mod format;
mod listen;
mod log;
mod marks;
mod outputs;
mod policy;
mod reader;
mod redirect;
mod registry;
pub mod relay;
mod room;
mod shared_buffer;
mod signals;
mod sink;
mod sizes;
mod statistics;
mod sticky;
mod stock;
pub mod trace;

pub use capability::Capability;
pub use clock::Clock;
pub use error::{
    AttachError, CapabilityError, EmitError, ListenError, ResizeError, SetSinkError, StartError,
    StopError,
};
pub use listen::{Address, Listener};
pub use log::{Builder, EventLog};
pub use marks::StickyId;
pub use policy::Policy;
pub use reader::{AttachOptions, ReaderId, ReaderStatistics};
pub use sink::{MemoryContent, Previous, Sink, Start};
pub use statistics::{BufferStatistics, Lost, Statistics};
