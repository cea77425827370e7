//! GHC's run-time system as the writer of a log: `evl_ghc_writer`, which a Haskell program is started with, and
//! what can be done to its log while it runs.
//!
//! ```text
//! run-time system ──writer──▶ the process's log (process) ──▶ sinks, chunks, readers
//!        ▲                          ▲
//!        └── rts: flush, resize ── control, request: calls of the program
//! ```
//!
//! There is one log in a process. It begins with the first write, in the sink that the program has set before
//! or that the [`environment`] names, and ends with the process, whatever the run-time system stops and starts
//! meanwhile. A forked child has a log of its own.

mod control;
mod environment;
mod process;
mod request;
mod rts;
mod writer;
