//! The C interface of [`ghc_eventlog`]: event logs in GHC's format for programs in C, in C++, and in
//! whatever calls C.
//!
//! It is a static and a shared library, and has no Rust interface. What its functions promise stands in
//! `include/eventlog.h`, and how a program uses it in `README.md`.
//!
//! **Every handle is a number** that names an object in a table; one that is null, stale, of another
//! kind or of a parent process is an error, and never followed. **No panic crosses the border**: it is an
//! error like any other. Pointers are what C says they are; each `unsafe` block names the sentence of the
//! header that it leans on.

mod callback;
mod capability;
mod chunk;
mod code;
mod config;
mod emit;
mod fork;
mod ghc;
mod handle;
#[cfg(test)]
mod layout;
mod log;
mod object;
mod objects;
mod reader;
mod signals;
mod sink;
mod sized;
mod statistics;
mod sticky;
mod stream;
mod text;
mod user_type;
mod within;
