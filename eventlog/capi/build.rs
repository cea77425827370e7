//! What the linker is told of the shared library.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libghceventlog.so.0");
        // Threads of the library's own, and handlers for a fork, must not find themselves unloaded.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
