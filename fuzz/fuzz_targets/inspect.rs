//! Any bytes: whoever looks into the file of an object never panics, and what it tells is bounded by what the file has.

#![no_main]

use ghc_eventlog::objects::{HostExports, inspect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match inspect(bytes, &HostExports::complete()) {
        Ok(info) => {
            assert!(info.cost_centres.len() <= bytes.len() / 32);
            assert!(info.needed.len() <= bytes.len() / 16);
            assert!(!info.pins.iter().any(|pin| pin.to_string().is_empty()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
