//! The counts of what a mender has seen and done.

/// What came of the writes so far. Counts only ever grow.
///
/// Everything the run-time system hands over is either passed on, dropped as one of the mends
/// counted here, or set aside:
///
/// ```
/// use ghc_eventlog::format::{END_MARKER, Header};
/// use ghc_eventlog::relay::Mender;
///
/// let mut mender = Mender::new();
/// mender.take(&Header::standard().encode())?;
/// mender.take(&END_MARKER)?;
/// assert!(mender.take(b"rubbish").is_err());
/// let mends = mender.mends();
/// assert_eq!((mends.writes, mends.end_markers), (3, 1));
/// assert_eq!((mends.writes_set_aside, mends.bytes_set_aside), (1, 7));
/// assert_eq!(mends.mended(), 0);
/// # Ok::<(), ghc_eventlog::relay::SetAside>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Mends {
    /// Writes that were taken, those set aside included.
    pub writes: u64,
    /// Bytes in these writes.
    pub bytes: u64,
    /// Blocks passed on. The header is none.
    pub blocks: u64,
    /// Bytes passed on, those of the header and of added markers included.
    pub bytes_passed: u64,
    /// Block markers before a header, dropped.
    pub stray_markers: u64,
    /// Headers that said again what the first one said, dropped.
    pub repeated_headers: u64,
    /// End markers, all of them withheld: the log's end is the last one's place.
    pub end_markers: u64,
    /// End markers after which something came, and which would have ended the log too early.
    pub early_end_markers: u64,
    /// End markers that lay inside a block, whose size was corrected (GHC 9.2 and later).
    pub end_markers_cut: u64,
    /// Block markers put in front of events that had none.
    pub markers_added: u64,
    /// How many of these name no capability, as nothing told which one it was.
    pub markers_without_cap: u64,
    /// Writes set aside.
    pub writes_set_aside: u64,
    /// Bytes in the writes set aside.
    pub bytes_set_aside: u64,
}

impl Mends {
    /// How often something had to be mended: 0 if the writes that were not set aside, strung
    /// together, are the log as they are.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::relay::Mends::default().mended(), 0);
    /// ```
    #[must_use]
    pub const fn mended(&self) -> u64 {
        self.stray_markers
            + self.repeated_headers
            + self.early_end_markers
            + self.end_markers_cut
            + self.markers_added
    }
}
