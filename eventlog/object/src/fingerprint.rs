//! One number for the layout of all that host and object share.

/// The layout in words, from `layout.txt`: the one text that the fingerprints of both languages are made from. It
/// changes with every change of the tables.
///
/// ```
/// assert!(ghc_eventlog_object::LAYOUT.starts_with("cost_centre{id:u32"));
/// ```
pub const LAYOUT: &str = include_str!("../layout.txt");

/// What an object's note must say for the host to load it.
///
/// ```
/// use ghc_eventlog_object::{FINGERPRINT, LAYOUT, fingerprint};
///
/// assert_eq!(FINGERPRINT, fingerprint(LAYOUT.as_bytes()));
/// ```
pub const FINGERPRINT: u64 = fingerprint(LAYOUT.as_bytes());

/// The fingerprint of a text: FNV-1a of 64 bits.
///
/// ```
/// assert_eq!(ghc_eventlog_object::fingerprint(b""), 0xcbf2_9ce4_8422_2325);
/// assert_eq!(ghc_eventlog_object::fingerprint(b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
#[must_use]
pub const fn fingerprint(text: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut index = 0;
    while index < text.len() {
        hash = (hash ^ text[index] as u64).wrapping_mul(0x0100_0000_01b3);
        index += 1;
    }
    hash
}
