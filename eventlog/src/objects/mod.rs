//! Profiled objects: shared libraries that are loaded, profiled and unloaded while the program runs (feature
//! `objects`, Linux).
//!
//! An object is a shared library in Rust, C or C++ with *cost centres*: named places in its code. It is built
//! with the package `ghc-eventlog-object`, or with `eventlog_object.h`. A program, in C by `ghc-eventlog-capi`, loads it,
//! calls it, and unloads it again; a log has the cost centres' definitions, and samples say which of them each thread was in.
//!
//! ```no_run
//! use ghc_eventlog::EventLog;
//! use ghc_eventlog::objects::{LoadOptions, Objects, Unload};
//! use std::time::Duration;
//!
//! let log = EventLog::builder().file("my.eventlog")?;
//! let objects = Objects::with_log(&log);
//! // SAFETY: the object is one of ours, and keeps the contract of `load`.
//! let object = unsafe { objects.load("target/release/libsample_object.so", LoadOptions::new()) }?;
//! for cost_centre in objects.cost_centres().iter() {
//!     println!("{}: {}", cost_centre.id, cost_centre.label);
//! }
//! // SAFETY: this is the function's type.
//! let run = unsafe { object.symbol::<unsafe extern "C" fn(u64) -> u64>(c"sample_run") }?;
//! if let Some(entered) = object.enter() {
//!     // SAFETY: the function takes any number.
//!     unsafe { entered.get(&run)(1_000) };
//! }
//! match object.unload(Duration::from_secs(1))? {
//!     Unload::Unmapped => println!("nothing is left of it"),
//!     pinned => println!("{pinned}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Nothing runs before it is judged.** [`inspect`] reads a note in the file: version, way, sizes and
//!   fingerprint of the tables that both share, the symbols that it wants of the host, and what could run while
//!   the dynamic linker is still at work. What does not fit is refused with an error that says why.
//! - **What was judged is what is mapped**: a sealed copy in memory. A file that is replaced or overwritten
//!   changes nothing, and is a new object when it is loaded again. ([`LoadOptions::direct`] maps the file
//!   itself, for debuggers.)
//! - **Readers never follow a pointer into an object.** The [list](Registry::cost_centres) is a snapshot of copies; the
//!   [`stack`] of each thread holds numbers, which are never used twice.
//! - **Unloading drains, then proves.** No new calls; the open ones are waited for, or the object is [`Busy`],
//!   and goes on. In the end the dynamic linker is asked whether it is gone.
//!
//! # What dlclose does, and what becomes of it here
//!
//! | trap | outcome | proved by, in `eventlog/object/host/tests` |
//! |---|---|---|
//! | a call is open, or a thread is within a cost centre | [`Busy`]: loaded as before | `in_use::a_call_that_is_open_keeps_the_object_loaded_and_usable`, `in_use::a_cost_centre_that_is_not_left_keeps_the_object_loaded` |
//! | a thread unloads the object that it is within | [`Busy`], by its own call | `traps::a_thread_within_a_call_cannot_unload_under_itself` |
//! | a thread local with a destructor (also one of the standard library: `std::thread::spawn`), touched by a thread that lives | [`Pinned`](Unload::Pinned) by [`ThreadLocals`](PinReason::ThreadLocals); the destructor runs at the thread's end, and the first library that is closed after that takes the object with it | `traps::a_thread_local_pins_while_its_thread_lives` |
//! | the same, but the thread has ended | [`Unmapped`](Unload::Unmapped) | the same |
//! | a thread-specific key, as `std::thread::current()` makes one in an object: its destructor would be called when the thread ends, and be gone | the key is deleted first (what it holds is leaked), then [`Unmapped`](Unload::Unmapped) | `traps::a_thread_specific_key_is_deleted_before_its_destructor_goes` |
//! | a key that is made by a function that goes past the program (`tss_create`) | [`Pinned`](Unload::Pinned) by [`ThreadKeys`](PinReason::ThreadKeys), not closed | `traps::an_object_whose_keys_are_not_seen_is_not_closed` |
//! | a signal handler that is left behind | [`Pinned`](Unload::Pinned) by [`SignalHandler`](PinReason::SignalHandler), not closed | `traps::a_signal_handler_that_is_left_behind_pins` |
//! | a unique symbol, as C++ makes for a static variable of an inline function | [`Pinned`](Unload::Pinned) by [`UniqueSymbol`](PinReason::UniqueSymbol) | `traps::what_the_dynamic_linker_never_unmaps_is_pinned` |
//! | `-z nodelete` | [`Pinned`](Unload::Pinned) by [`NoDelete`](PinReason::NoDelete) | the same |
//! | somebody else has it open, or another library needs it | [`Pinned`](Unload::Pinned) by [`OpenElsewhere`](PinReason::OpenElsewhere), until that is closed | `traps::an_object_that_somebody_else_has_open_is_pinned` |
//! | functions for `atexit`, destructors of static variables | run when it is closed, then [`Unmapped`](Unload::Unmapped) | `traps::functions_for_the_exit_run_when_the_object_is_unloaded`, `in_use::fini_runs_and_then_what_the_object_has_registered_with_the_c_library` |
//! | panics that are caught in the object, printing | [`Unmapped`](Unload::Unmapped) | `traps::panics_and_printing_leave_nothing_behind` |
//! | memory that its static variables hold, such as the buffer of its `stdout`, 1 KiB | leaked each time, unless `fini` frees it | `traps::what_static_variables_hold_is_leaked_and_no_more` |
//! | a standard library that is shared (`-C prefer-dynamic`) | not loaded: [`SharedStd`](CheckError::SharedStd) | `bad_objects::a_standard_library_that_is_shared` |
//! | functions that the dynamic linker calls while it loads (ifunc), also where it fails then | not loaded: [`Resolvers`](CheckError::Resolvers) | `bad_objects::functions_that_would_be_called_before_it_is_loaded` |
//! | a file that is overwritten while it is loaded | nothing: a copy is loaded. [Directly](LoadOptions::direct) it is undefined | `reload::a_file_that_is_replaced_is_loaded_anew_and_the_old_object_goes_on` |
//! | the same path is loaded again | a new object. [Directly](LoadOptions::direct) the dynamic linker would give the old one: [`AlreadyLoaded`](LoadError::AlreadyLoaded) | `registering::what_is_there_already_is_not_loaded_directly_but_as_a_copy` |
//! | the process exits with objects loaded | destructors run, as in any program | `traps::a_process_may_exit_with_objects_loaded` |
//! | the process has forked, and the child exits | destructors run; the child waits for no thread of its parent's | `registering::a_forked_child_that_ends_waits_for_no_thread_of_its_parents` |
//! | a thread of the object that goes on, a callback that somebody has kept, a thread that has used the object and ends while it is unloaded | cannot be seen: the contract of [`load`](Objects::load) | nothing: it is undefined |
//!
//! A pinned object is out of the list, cannot be called, and costs its memory and a file descriptor.
//!
//! # Profiles
//!
//! A [`Profiler`] writes to a log which cost centres each thread is in, many times a second, and how much is
//! live of each stack of cost centres, as a [`ProfiledAllocator`] counts it. Definitions stay in the log and in
//! every later sink when an object is unloaded, and what it has allocated is told under its name for as long as
//! it is live. `eventlog stats` and `eventlog flamegraph` show it, as do the tools for profiles of Haskell
//! programs.
//!
//! What it does not see: time outside of cost centres; whether a thread works or waits; memory from other
//! allocators, as a Rust object has one of its own, unless it calls back the program for it; and what a cost
//! centre allocates deeper than [255 of them](stack::MAX_DEPTH), which counts for those.
//!
//! # Objects that no loader loads
//!
//! One that is linked into the program, or opened by an ordinary `dlopen`, registers itself by a constructor
//! (`register` of `object!`, or `EVL_SELF_REGISTER`), and takes itself out by a destructor: a Rust program has
//! cost centres of its own that way. Under a loader that does nothing, so an object is in the list once.
//!
//! Both run within `dlopen` and `dlclose`, which hold the dynamic linker's lock, and both may wait: for the list
//! of cost centres, for the sink of each log that has the [definitions](Registry::define_in) where its shared buffer is
//! half full, and the destructor for who [samples](Registry::sampling). So a sink of such a log, and whoever
//! samples, must not call what takes that lock (`dlopen`, `dlclose`, `dlsym`, the load of a [loader](Objects::load)), nor wait
//! for a thread that does: each would wait for the other for ever.
//!
//! # Exports
//!
//! Objects refer to symbols of this crate, so that an ordinary `dlopen` in another program fails. A loader
//! offers them to the dynamic linker by itself. A program that opens objects by an ordinary `dlopen` before it
//! has loaded one has to export them, by this line of a `build.rs`:
//!
//! ```
//! println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=evl_*");
//! ```
//!
//! This crate has a `pthread_key_create` and a `pthread_key_delete` in the place of the C library's, which they
//! call: so it knows whose keys there are.
//!
//! # Forks
//!
//! A forked child has the objects of its parent, may call them, and may exit. It must not load or unload objects,
//! nor open or close libraries that register themselves: what another thread has locked at the fork stays so.

mod attach;
mod check;
mod elf;
mod error;
mod exports;
mod heap;
mod image;
mod keys;
mod linker;
mod loader;
mod object;
mod profiler;
mod records;
mod registry;
pub mod stack;
mod unload;

pub use attach::{evl_object_attach, evl_object_detach};
pub use check::{CheckError, FileCostCentre, HostExports, ObjectInfo, inspect};
pub use error::{Busy, BusyReason, LoadError};
pub use heap::{LiveBytes, ProfiledAllocator};
pub use loader::{LoadOptions, Objects};
pub use object::{Entered, Object, OwnedEntered, Symbol, SymbolError};
pub use profiler::{Profiler, ProfilerBuilder, ProfilerError, ProfilerStatistics};
pub use registry::{
    CostCentreInfo, CostCentres, ObjectCostCentres, ObjectId, Registry, Sampling, registry,
};
pub use unload::{PinReason, Unload};
