//! The ELF note by which a host judges an object before any code of it runs.

use crate::fingerprint::FINGERPRINT;
use crate::table::{ABI_MAJOR, ABI_MINOR, CostCentre, Object};
use core::mem::size_of;

/// Owner of the note, with its NUL.
pub const NOTE_NAME: [u8; 4] = *b"EVL\0";

/// Type of the note: `EVL1`.
pub const NOTE_TYPE: u32 = 0x4556_4c31;

/// The way in which an object is built: it has cost centres. GHC calls a build with or without them a way.
pub const WAY_PROFILED: u32 = 1;

/// A whole note, in the section `.note.evl`.
///
/// ```
/// use ghc_eventlog_object::{FINGERPRINT, Note, WAY_PROFILED};
///
/// let note = Note::new(WAY_PROFILED);
/// assert_eq!(note.content.fingerprint(), FINGERPRINT);
/// assert_eq!(note.content_size, 24);
/// ```
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note {
    /// Bytes of the name.
    pub name_size: u32,
    /// Bytes of the content.
    pub content_size: u32,
    /// [`NOTE_TYPE`].
    pub kind: u32,
    /// [`NOTE_NAME`].
    pub name: [u8; 4],
    /// What it says.
    pub content: NoteContent,
}

impl Note {
    /// The note of an object that is built in that way.
    ///
    /// ```
    /// let note = ghc_eventlog_object::Note::new(0);
    /// assert_eq!(note.content.way, 0);
    /// ```
    #[must_use]
    pub const fn new(way: u32) -> Self {
        Note {
            name_size: NOTE_NAME.len() as u32,
            content_size: size_of::<NoteContent>() as u32,
            kind: NOTE_TYPE,
            name: NOTE_NAME,
            content: NoteContent {
                abi_major: ABI_MAJOR,
                abi_minor: ABI_MINOR,
                way,
                cost_centre_size: size_of::<CostCentre>() as u32,
                object_size: size_of::<Object>() as u32,
                fingerprint_low: FINGERPRINT as u32,
                fingerprint_high: (FINGERPRINT >> 32) as u32,
            },
        }
    }
}

/// What a note says, in the byte order of the machine. Fields may be appended.
///
/// ```
/// use ghc_eventlog_object::{ABI_MAJOR, Note, WAY_PROFILED};
///
/// let content = Note::new(WAY_PROFILED).content;
/// assert_eq!((content.abi_major, content.way), (ABI_MAJOR, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NoteContent {
    /// The object's [`ABI_MAJOR`].
    pub abi_major: u16,
    /// The object's [`ABI_MINOR`].
    pub abi_minor: u16,
    /// [`WAY_PROFILED`], or 0.
    pub way: u32,
    /// Bytes of a [`CostCentre`].
    pub cost_centre_size: u32,
    /// Bytes of an [`Object`].
    pub object_size: u32,
    /// Of the [`FINGERPRINT`], the lower half. Notes are aligned to four bytes.
    pub fingerprint_low: u32,
    /// Of the [`FINGERPRINT`], the upper half.
    pub fingerprint_high: u32,
}

impl NoteContent {
    /// The layout's fingerprint.
    ///
    /// ```
    /// use ghc_eventlog_object::{FINGERPRINT, Note};
    /// assert_eq!(Note::new(0).content.fingerprint(), FINGERPRINT);
    /// ```
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        (self.fingerprint_high as u64) << 32 | self.fingerprint_low as u64
    }

    /// The content that these bytes of a little-endian note are: at least 24; what follows is of a later version.
    ///
    /// ```
    /// use ghc_eventlog_object::{NoteContent, WAY_PROFILED};
    ///
    /// let mut bytes = [0; 24];
    /// bytes[4] = 1;
    /// assert_eq!(NoteContent::from_little_endian(&bytes).unwrap().way, WAY_PROFILED);
    /// assert!(NoteContent::from_little_endian(&bytes[1..]).is_none());
    /// ```
    #[must_use]
    pub fn from_little_endian(bytes: &[u8]) -> Option<Self> {
        let words = bytes.get(..size_of::<NoteContent>())?;
        let word = |index: usize| {
            let at = 4 * index;
            u32::from_le_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]])
        };
        Some(NoteContent {
            abi_major: word(0) as u16,
            abi_minor: (word(0) >> 16) as u16,
            way: word(1),
            cost_centre_size: word(2),
            object_size: word(3),
            fingerprint_low: word(4),
            fingerprint_high: word(5),
        })
    }
}
