//! What a shared object links against so that a program with an event log can load it, profile it and unload it again.
//!
//! Such an object carries *cost centres*: named places in its code. The host (see `ghc_eventlog::objects`) reads an
//! ELF note of the object before any of its code runs, loads it, numbers its cost centres and defines them in the log.
//! While a thread is within a cost centre, samples of that thread say so.
//!
//! ```
//! use ghc_eventlog_object::{object, scc};
//!
//! object!("greeter");
//!
//! #[unsafe(no_mangle)]
//! pub extern "C" fn greet(times: u32) -> u32 {
//!     scc!("greet");
//!     (0..times)
//!         .map(|_| {
//!             scc!("greet once");
//!             1
//!         })
//!         .sum()
//! }
//! // Without a host nothing is entered, and nothing is missing.
//! assert_eq!(greet(3), 3);
//! # // An executable that is no host lacks what a host exports.
//! # #[unsafe(no_mangle)]
//! # static evl_way_prof_abi1: u8 = 1;
//! ```
//!
//! The object is a `cdylib` with this crate inside. Other crates within it use [`scc!`] as well; [`object!`] stands in
//! one place of each library. C and C++ have the same in `eventlog_object.h`.
//!
//! The crate is `no_std`, allocates nothing and has no dependency.
//!
//! # What an object may do
//!
//! - Code of the object runs while the host is in a call to it. Threads that it starts, and what it registers elsewhere
//!   (signal handlers, callbacks), must be gone when its `fini` function returns: the host unmaps the code after that.
//! - It is built with its own copy of the standard library, not with `-C prefer-dynamic`.
//! - A thread local with a destructor, or `std::thread::current()`, can keep it mapped; `ghc_eventlog::objects`
//!   says when.
#![no_std]

mod fingerprint;
mod macros;
mod note;
mod scope;
mod table;

pub use fingerprint::{FINGERPRINT, LAYOUT, fingerprint};
pub use note::{NOTE_NAME, NOTE_TYPE, Note, NoteContent, WAY_PROFILED};
pub use scope::Scope;
pub use table::{ABI_MAJOR, ABI_MINOR, CAF, CostCentre, Host, HostSlot, Object, Require};

#[doc(hidden)]
pub use table::HOST;
