//! One write in, whole blocks out. Nothing here reads, writes or waits.

use std::mem;

use super::error::{SetAside, SetAsideReason};
use super::evidence::Evidence;
use super::mends::Mends;
use super::pieces::{Content, Contents, Pieces};
use crate::format::{
    BLOCK_MARKER, BlockMarker, CapNo, DecodeError, DecodeErrorKind, Decoder, END_MARKER, EventSize,
    Header, Record, events,
};

const HEADER_BEGIN: &[u8] = b"hdrb";

/// Makes one valid log of the writes of a run-time system.
///
/// A write is the header, or one or more whole blocks, or the end marker. What a
/// [`Mender`] changes:
///
/// - **Headers.** The first one is passed on. One that says the same again, after a stop and a
///   restart, is dropped, and with it the block marker that GHC 9.0 leaves in front of it. One that
///   says something else is set aside, and so is all that comes under it, until the first one comes
///   again: in one log there is room for one header only.
/// - **End markers** are withheld, as what comes after one is lost on readers. Where one lies
///   inside a block (GHC 9.2 and later) it is cut off and the block's size corrected. Whoever ends
///   the log writes [`END_MARKER`].
/// - **Events without a block marker** in front of them, which come after a write that was refused,
///   get one. Its times are the earliest and the latest of the events. Its capability is
///   that of the block that follows in the same write; otherwise the one where these threads were
///   last seen running, as far as earlier blocks tell; otherwise none, rather than a wrong one.
/// - **A write that does not parse** is set aside whole: an event of an undeclared type or across
///   the end of its block, a wrong size, bytes that belong to no block.
///
/// What is passed on is borrowed from the write but for a changed or added marker. If
/// the pieces of all writes are strung together and the end marker put behind them, the framing of
/// the log is valid by construction, provided that a header came. Payloads are not looked at.
///
/// Costs a walk over the events, and memory for a few thousand threads (about 100 KiB).
///
/// ```
/// use ghc_eventlog::format::{END_MARKER, Event, Header};
/// use ghc_eventlog::relay::Mender;
///
/// // Events that have lost their block marker.
/// let mut loose = Vec::new();
/// Event::GcStart.encode_to_vec(5, &mut loose);
/// Event::GcEnd.encode_to_vec(8, &mut loose);
///
/// let mut mender = Mender::new();
/// let mut log = Vec::new();
/// for write in [Header::standard().encode(), loose] {
///     for piece in mender.take(&write)? {
///         log.extend(piece.parts().concat());
///     }
/// }
/// log.extend(END_MARKER);
/// assert_eq!(log.len(), Header::standard().encoded_len() + 24 + 20 + 2);
/// assert_eq!(mender.mends().markers_added, 1);
/// # Ok::<(), ghc_eventlog::relay::SetAside>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mender {
    header: Option<Header>,
    /// Whether the header has come, and is not only known.
    begun: bool,
    /// Whether writes come under a header that is not the log's.
    other_header: bool,
    /// Whether the last thing that came was an end marker.
    ended: bool,
    block_limit: usize,
    evidence: Evidence,
    /// Where the events are, in the bodies of the last write's blocks, that tell more than that they were there.
    notable: Vec<u32>,
    mends: Mends,
}

/// What a write holds. Made without changing anything, so that a bad write leaves no trace.
#[derive(Default)]
struct Plan<'w> {
    stray_marker: bool,
    header: Option<FoundHeader<'w>>,
    loose: &'w [u8],
    loose_content: Content,
    blocks: &'w [u8],
    contents: Contents,
    cut_last: bool,
    ends: bool,
}

enum FoundHeader<'w> {
    First(Header, &'w [u8]),
    Repeated,
}

impl Default for Mender {
    fn default() -> Self {
        Self::new()
    }
}

impl Mender {
    /// A mender for a log from its first write on, which passes on blocks of any length.
    #[must_use]
    pub fn new() -> Self {
        Self::with_block_limit(u32::MAX as usize)
    }

    /// A mender that passes on at most `bytes` in one piece. A write with a header or block longer
    /// than that, a marker put in front counted, is set aside.
    ///
    /// ```
    /// use ghc_eventlog::format::Header;
    /// use ghc_eventlog::relay::{Mender, SetAsideReason};
    ///
    /// let header = Header::standard().encode();
    /// let aside = Mender::with_block_limit(1000).take(&header).unwrap_err();
    /// let too_long = SetAsideReason::BlockTooLong { size: header.len(), limit: 1000 };
    /// assert_eq!(aside.reason, too_long);
    /// ```
    #[must_use]
    pub fn with_block_limit(bytes: usize) -> Self {
        Self {
            header: None,
            begun: false,
            other_header: false,
            ended: false,
            block_limit: bytes.min(u32::MAX as usize),
            evidence: Evidence::new(),
            notable: Vec::new(),
            mends: Mends::default(),
        }
    }

    /// A mender for a log that has this header. Writes are taken also before it comes, and another one is set
    /// aside.
    ///
    /// ```
    /// use ghc_eventlog::format::Header;
    /// use ghc_eventlog::relay::Mender;
    ///
    /// let mut mender = Mender::under(Header::standard().clone());
    /// mender.take(&Header::standard().encode())?;
    /// assert_eq!(mender.mends().repeated_headers, 0);
    /// # Ok::<(), ghc_eventlog::relay::SetAside>(())
    /// ```
    #[must_use]
    pub fn under(header: Header) -> Self {
        Self {
            header: Some(header),
            ..Self::new()
        }
    }

    /// Whether the write begins with a header, with or without a marker in front of it.
    pub(crate) fn is_header(write: &[u8]) -> bool {
        begins_with_header(write, 0)
            || begins_with_marker(write) && begins_with_header(write, BlockMarker::LEN)
    }

    /// The blocks of a write as it would be passed on, for whoever only wants to know. Events without a marker
    /// are of no capability.
    ///
    /// # Errors
    /// If the write would be set aside.
    pub(crate) fn blocks_of<'w>(
        &self,
        write: &'w [u8],
    ) -> Result<impl Iterator<Item = (BlockMarker, &'w [u8])>, SetAside> {
        let plan = self.plan(write, &mut Vec::new())?;
        let loose = self.header.as_ref().filter(|_| !plan.loose.is_empty());
        let loose = loose.map(|header| (marker_for(plan.loose, None, header), plan.loose));
        let blocks = Pieces {
            blocks: plan.blocks,
            cut_last: plan.cut_last,
            contents: plan.contents,
            ..Pieces::default()
        };
        Ok(loose
            .into_iter()
            .chain(blocks.filter_map(|piece| piece.block())))
    }

    /// Takes one write, as the run-time system makes it, and gives what is to be passed on of it,
    /// in order. The counts are up to date at once, whatever is done with the pieces.
    ///
    /// Does not allocate, but for the header, for events without a marker, for a write of several blocks, and
    /// when a capability, or any thread, is seen for the first time.
    ///
    /// # Errors
    /// If the write is to be set aside. It is counted; the mender goes on with the next one as if it
    /// had not come.
    pub fn take<'w>(&mut self, write: &'w [u8]) -> Result<Pieces<'w>, SetAside> {
        self.mends.writes += 1;
        self.mends.bytes += write.len() as u64;
        let mut notable = mem::take(&mut self.notable);
        notable.clear();
        let planned = self.plan(write, &mut notable);
        self.notable = notable;
        match planned {
            Ok(plan) => Ok(self.carry_out(plan)),
            Err(aside) => {
                if aside.reason == SetAsideReason::OtherHeader {
                    self.other_header = true;
                }
                self.mends.writes_set_aside += 1;
                self.mends.bytes_set_aside += write.len() as u64;
                Err(aside)
            }
        }
    }

    /// The log's header, once it has come. Without one there is no log.
    ///
    /// ```
    /// assert!(ghc_eventlog::relay::Mender::new().header().is_none());
    /// ```
    #[must_use]
    pub const fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether the last thing to come was an end marker: the run-time system has ended its log. It
    /// may start it again.
    ///
    /// ```
    /// assert!(!ghc_eventlog::relay::Mender::new().has_ended());
    /// ```
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// What came of the writes so far.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::relay::Mender::new().mends().writes, 0);
    /// ```
    #[must_use]
    pub const fn mends(&self) -> &Mends {
        &self.mends
    }

    /// Where the events are, in the body of a block of the last write, that tell more than that they were there.
    pub(crate) fn notable(&self, of: Content) -> &[u32] {
        self.notable.get(of.notable()).unwrap_or_default()
    }

    fn plan<'w>(&self, write: &'w [u8], notable: &mut Vec<u32>) -> Result<Plan<'w>, SetAside> {
        let mut plan = Plan::default();
        if write.is_empty() {
            return Ok(plan);
        }
        let fault = |offset: usize, reason| SetAside {
            len: write.len(),
            offset: offset as u64,
            reason,
        };
        let check_limit = |offset, size| {
            if size > self.block_limit {
                let limit = self.block_limit;
                return Err(fault(offset, SetAsideReason::BlockTooLong { size, limit }));
            }
            Ok(())
        };

        let mut at = 0;
        if begins_with_marker(write) && begins_with_header(write, BlockMarker::LEN) {
            plan.stray_marker = true;
            at = BlockMarker::LEN;
        }
        if begins_with_header(write, at) {
            let (header, len) = parse_header(&write[at..]).map_err(|error| {
                fault(
                    at + error.offset as usize,
                    SetAsideReason::Header(error.kind),
                )
            })?;
            plan.header = Some(match &self.header {
                None => {
                    let size = header.size(BLOCK_MARKER);
                    if size != Some(EventSize::Fixed((BlockMarker::LEN - 10) as u16)) {
                        return Err(fault(at, SetAsideReason::BlockMarkers { size }));
                    }
                    check_limit(at, len)?;
                    FoundHeader::First(header, &write[at..at + len])
                }
                Some(first) if *first == header && self.begun => FoundHeader::Repeated,
                Some(first) if *first == header => {
                    check_limit(at, len)?;
                    FoundHeader::First(header, &write[at..at + len])
                }
                Some(_) => return Err(fault(at, SetAsideReason::OtherHeader)),
            });
            at += len;
        }
        let header = match (&plan.header, &self.header) {
            (Some(FoundHeader::First(header, _)), _) => header,
            (None, Some(_)) if self.other_header => {
                return Err(fault(0, SetAsideReason::UnderOtherHeader));
            }
            (_, Some(header)) => header,
            (_, None) => return Err(fault(0, SetAsideReason::NoHeader)),
        };

        let rest = &write[at..];
        if !begins_with_marker(rest) {
            let content = loose_events(rest, header, notable)
                .map_err(|error| SetAside::framing(error, at as u64, write.len()))?;
            let len = content.len;
            plan.loose = &rest[..len];
            plan.loose_content = content;
            if len > 0 {
                check_limit(at, BlockMarker::LEN + len)?;
            }
            at += len;
        }

        let first_block = at;
        let mut blocks_end = at;
        while at < write.len() {
            let rest = &write[at..];
            if rest == END_MARKER {
                plan.ends = true;
                break;
            }
            if plan.cut_last {
                return Err(fault(
                    at,
                    SetAsideReason::Framing(DecodeErrorKind::AfterEnd),
                ));
            }
            if !begins_with_marker(rest) {
                return Err(fault(at, SetAsideReason::AfterBlock));
            }
            let Some(marker) = rest.first_chunk().map(BlockMarker::from_bytes) else {
                let partial = rest.len() as u64;
                let kind = DecodeErrorKind::Truncated { partial };
                return Err(fault(at, SetAsideReason::Framing(kind)));
            };
            let size = marker.size;
            let Some(block) = rest.get(..size as usize) else {
                let left = rest.len();
                return Err(fault(at, SetAsideReason::BlockBeyondWrite { size, left }));
            };
            let Some(body) = block.get(BlockMarker::LEN..) else {
                let least = BlockMarker::LEN as u32;
                let kind = DecodeErrorKind::BlockTooShort { size, least };
                return Err(fault(at, SetAsideReason::Framing(kind)));
            };
            let walked = walk(body, header, notable).map_err(|error| {
                SetAside::framing(error, (at + BlockMarker::LEN) as u64, write.len())
            })?;
            check_limit(at, BlockMarker::LEN + walked.len)?;
            plan.cut_last = walked.len < body.len();
            plan.contents.push(walked);
            at += size as usize;
            blocks_end = at;
        }
        plan.blocks = &write[first_block..blocks_end];
        Ok(plan)
    }

    fn carry_out<'w>(&mut self, plan: Plan<'w>) -> Pieces<'w> {
        let mut pieces = Pieces {
            header: None,
            loose: None,
            loose_content: plan.loose_content,
            blocks: plan.blocks,
            contents: plan.contents,
            cut_last: plan.cut_last,
        };
        let mends = &mut self.mends;
        mends.stray_markers += u64::from(plan.stray_marker);
        match plan.header {
            Some(FoundHeader::First(header, bytes)) => {
                self.header = Some(header);
                self.begun = true;
                self.other_header = false;
                pieces.header = Some(bytes);
            }
            Some(FoundHeader::Repeated) => {
                mends.repeated_headers += 1;
                self.other_header = false;
                self.evidence.interrupted();
            }
            None => {}
        }
        let Some(header) = &self.header else {
            return pieces;
        };

        if !plan.loose.is_empty() {
            let cap = match pieces.first_cap() {
                Some(cap) => cap,
                None => self.evidence.whose(plan.loose, header),
            };
            let marker = marker_for(plan.loose, cap, header);
            if let Some(cap) = cap {
                let notable = self.notable.get(plan.loose_content.notable());
                let notable = notable.unwrap_or_default();
                self.evidence
                    .learn(cap, marker.end, plan.loose, header, notable);
            }
            mends.markers_added += 1;
            mends.markers_without_cap += u64::from(cap.is_none());
            pieces.loose = Some((marker.encode(), plan.loose));
        }
        let mut blocks = pieces.clone();
        while let Some(block) = blocks.next_block() {
            let notable = self.notable.get(blocks.contents.pop().notable());
            if let (Some(cap), Some(notable)) = (block.marker.cap, notable) {
                self.evidence
                    .learn(cap, block.marker.end, block.body, header, notable);
            }
        }

        for piece in pieces.clone() {
            if self.ended {
                mends.early_end_markers += 1;
                self.ended = false;
            }
            mends.blocks += u64::from(!piece.is_header());
            mends.bytes_passed += piece.len() as u64;
        }
        mends.end_markers_cut += u64::from(plan.cut_last);
        for _ in 0..u8::from(plan.cut_last) + u8::from(plan.ends) {
            mends.end_markers += 1;
            mends.early_end_markers += u64::from(self.ended);
            self.ended = true;
        }
        pieces
    }
}

fn begins_with_marker(bytes: &[u8]) -> bool {
    bytes.starts_with(&BLOCK_MARKER.to_be_bytes())
}

fn begins_with_header(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at..)
        .is_some_and(|bytes| bytes.starts_with(HEADER_BEGIN))
}

/// The header at the start of these bytes, and its length.
fn parse_header(bytes: &[u8]) -> Result<(Header, usize), DecodeError> {
    let mut decoder = Decoder::new();
    let mut rest = bytes;
    if let Some(Record::Header(header)) = decoder.next(&mut rest)? {
        return Ok((header.clone(), bytes.len() - rest.len()));
    }
    let partial = bytes.len() as u64;
    Err(DecodeError {
        offset: 0,
        kind: DecodeErrorKind::Truncated { partial },
    })
}

/// The events in the body of a block, an end marker left out.
fn walk(body: &[u8], header: &Header, notable: &mut Vec<u32>) -> Result<Content, DecodeError> {
    let mut content = Content::after(notable);
    for event in events(body, header) {
        content.add(&event?, notable);
    }
    Ok(content)
}

/// The events before the first block marker.
fn loose_events(
    bytes: &[u8],
    header: &Header,
    notable: &mut Vec<u32>,
) -> Result<Content, DecodeError> {
    let mut content = Content::after(notable);
    for event in events(bytes, header) {
        match event {
            Ok(event) => content.add(&event, notable),
            Err(error) if matches!(error.kind, DecodeErrorKind::MarkerInsideBlock { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(content)
}

/// The header that the first write of a run-time system begins with, to start a log
/// [under it](crate::Builder::relayed).
///
/// # Errors
/// Why the write would be set aside if it was the first one.
///
/// ```
/// use ghc_eventlog::format::Header;
/// use ghc_eventlog::relay::{SetAsideReason, header_of};
///
/// let header = header_of(&Header::standard().encode())?;
/// assert_eq!(&header, Header::standard());
/// assert_eq!(header_of(b"rubbish").unwrap_err().reason, SetAsideReason::NoHeader);
/// # Ok::<(), ghc_eventlog::relay::SetAside>(())
/// ```
pub fn header_of(write: &[u8]) -> Result<Header, SetAside> {
    match Mender::new().plan(write, &mut Vec::new())?.header {
        Some(FoundHeader::First(header, _)) => Ok(header),
        Some(FoundHeader::Repeated) | None => Err(SetAside {
            len: write.len(),
            offset: 0,
            reason: SetAsideReason::NoHeader,
        }),
    }
}

fn marker_for(loose: &[u8], cap: Option<CapNo>, header: &Header) -> BlockMarker {
    let mut begin = u64::MAX;
    let mut end = 0;
    for event in events(loose, header).flatten() {
        begin = begin.min(event.time);
        end = end.max(event.time);
    }
    BlockMarker {
        begin,
        // The limit on blocks is the largest size.
        size: (BlockMarker::LEN + loose.len()) as u32,
        end,
        cap,
    }
}
