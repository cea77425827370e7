//! Any script of operations on a ring with several producers, against a ring as its documentation describes
//! it. Items are on the heap, so that AddressSanitizer sees one that is dropped twice, read after its end,
//! or never dropped: grants are forgotten while they are empty.
#![no_main]

#[path = "../../ring/tests/mpsc/script.rs"]
mod script;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    script::run(bytes, Box::new, |item| **item);
});
