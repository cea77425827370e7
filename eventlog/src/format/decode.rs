//! The streaming decoder: bytes in any split go in, framed records come out.

use super::block::{BLOCK_MARKER, BlockMarker, END_MARKER};
use super::error::{DecodeError, DecodeErrorKind, Gap};
use super::event::FIXED_HEAD;
use super::event_type::{EventSize, EventType};
use super::frame::{Frame, Place};
use super::header::{
    DATA_BEGIN, HEADER_BEGIN, HEADER_END, Header, TYPE_BEGIN, TYPE_END, TYPES_BEGIN, TYPES_END,
    check_len, check_type,
};
use super::raw::RawEvent;

/// A part of a log.
///
/// ```
/// use ghc_eventlog::format::Record;
///
/// assert!(matches!(Record::End, Record::End));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Record<'a> {
    /// The header. Comes first, and once (from a [lenient](Decoder::lenient) decoder also later, where
    /// another log begins).
    Header(&'a Header),
    /// A block starts. The events up to its end belong to its capability.
    BlockBegin {
        /// Where the marker starts, in bytes from the start of the log.
        offset: u64,
        /// The marker.
        marker: BlockMarker,
    },
    /// An event.
    Event(RawEvent<'a>),
    /// The end marker. Nothing comes after it.
    End,
    /// What could not be read, and has been left out. From a [lenient](Decoder::lenient) decoder only;
    /// what was before it in its block is all of that block.
    Skipped(Gap),
}

/// Decodes a log that comes in pieces.
///
/// Events that lie whole in a piece are borrowed from it; one that does not is put together in a
/// buffer of the decoder's own, which is all that it allocates besides the header: less than 128 KiB.
///
/// Framing is strict, as [`DecodeErrorKind`] lists, unless the decoder is made by
/// [`lenient`](Self::lenient). What it does not check: time may run backwards,
/// within a block too (GHC's garbage collector dates events back), and events may lie outside
/// blocks.
///
/// A log that was cut gives every whole record before the cut; [`finish`](Self::finish) tells of the
/// cut.
///
/// ```
/// use ghc_eventlog::format::{
///     BlockMarker, CapNo, Decoded, Decoder, END_MARKER, Event, Header, Record,
/// };
///
/// let event = Event::UserMessage { text: "hello" };
/// let size = (BlockMarker::LEN + event.encoded_len()) as u32;
/// let mut log = Header::standard().encode();
/// log.extend(BlockMarker { begin: 1, size, end: 3, cap: CapNo::new(0) }.encode());
/// event.encode_to_vec(2, &mut log);
/// log.extend(END_MARKER);
///
/// let mut messages = Vec::new();
/// let mut decoder = Decoder::new();
/// for mut piece in log.chunks(7) {
///     while let Some(record) = decoder.next(&mut piece)? {
///         if let Record::Event(raw) = record {
///             if let Decoded::Known(Event::UserMessage { text }) = raw.decode()? {
///                 messages.push((raw.time, text.to_owned()));
///             }
///         }
///     }
/// }
/// decoder.finish()?;
/// assert_eq!(messages, [(2, "hello".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    stage: Stage,
    header: Header,
    /// The type whose extra information comes next.
    declared: Option<EventType>,
    /// Whether `header` is whole.
    header_read: bool,
    place: Place,
    /// The start of a record that does not lie whole in a piece.
    carry: Vec<u8>,
    /// Whether `carry` was handed out, and goes with the next call.
    handed_out: bool,
    /// Whether events may be looked for in the input alone.
    plain: bool,
    /// What only a lenient decoder needs.
    lenient: Option<Box<Lenient>>,
    /// In a record of the header that is amiss: where, in bytes from its start.
    amiss: usize,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Begin,
    /// After `hdrb`.
    TypesBegin,
    /// At `etb\0` or at the end of the types.
    Types,
    /// After `etb\0`.
    TypeHead,
    /// Before a description of so many bytes, and the length of what follows it.
    Description {
        id: u16,
        size: EventSize,
        len: usize,
    },
    /// Before so many bytes of extra information, and `ete\0`.
    Extra {
        len: usize,
    },
    /// After the types.
    HeaderEnd,
    Data,
    Ended,
    /// After an error, before anything that can be read.
    Skipping,
    Failed(DecodeError),
}

/// What a lenient decoder remembers.
#[derive(Debug, Default)]
struct Lenient {
    /// Bytes that come before those of the input, from `next` on: they were taken, and are to be
    /// looked at once more.
    again: Vec<u8>,
    next: usize,
    /// Bytes in `carry` that are from the input.
    from_input: usize,
    /// Where the header starts.
    header_start: u64,
    /// What is being skipped, or was skipped last.
    gap: OpenGap,
    /// Bytes skipped, in gaps that are over.
    skipped: u64,
}

/// A gap whose end is not known.
#[derive(Debug)]
struct OpenGap {
    offset: u64,
    /// Where the block ends in which it starts.
    block_end: u64,
    reason: DecodeErrorKind,
}

impl Default for OpenGap {
    fn default() -> Self {
        Self {
            offset: 0,
            block_end: 0,
            reason: DecodeErrorKind::AfterEnd,
        }
    }
}

impl Lenient {
    fn is_drained(&self) -> bool {
        self.next == self.again.len()
    }
}

/// Where reading can go on.
enum Found {
    Header,
    Block,
    End,
}

/// What a rare step has come to. What belongs to it is in the decoder.
enum Step {
    Nothing,
    Header,
    Block,
    Event { head: u8 },
    End,
    Skipped { len: u64 },
    Failed,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder for a log from its first byte on.
    #[must_use]
    pub const fn new() -> Self {
        Self::at(Stage::Begin, Header::empty())
    }

    /// A decoder for blocks without a header, of a log whose header is known. It gives no
    /// [`Record::Header`], and offsets are counted from the first byte it gets.
    ///
    /// ```
    /// use ghc_eventlog::format::{Decoder, END_MARKER, Header, Record};
    ///
    /// let mut decoder = Decoder::after_header(Header::standard().clone());
    /// assert_eq!(decoder.next(&mut &END_MARKER[..])?, Some(Record::End));
    /// # Ok::<(), ghc_eventlog::format::DecodeError>(())
    /// ```
    #[must_use]
    pub fn after_header(header: Header) -> Self {
        let mut decoder = Self::at(Stage::Data, header);
        decoder.header_read = true;
        decoder.plain = true;
        decoder
    }

    const fn at(stage: Stage, header: Header) -> Self {
        Self {
            stage,
            header,
            declared: None,
            header_read: false,
            place: Place {
                offset: 0,
                block_end: 0,
                cap: None,
            },
            carry: Vec::new(),
            handed_out: false,
            plain: false,
            lenient: None,
            amiss: 0,
        }
    }

    /// A decoder that goes on after what is broken, for logs that were damaged.
    ///
    /// Where the framing breaks, it looks for the next place at which reading can go on: a block
    /// marker that can be one (its size is 256 MiB at most, and it ends after it begins, within 36
    /// years of the program's start), or the header of another log; just behind a broken block also
    /// the end marker. What it leaves out is a [`Record::Skipped`], and counted in
    /// [`skipped`](Self::skipped). [`next`](Self::next) never fails; [`finish`](Self::finish) tells the
    /// reason where nothing more was found. What it looks for may come about by chance in other data:
    /// about once in 500 MB that are random.
    ///
    /// ```
    /// use ghc_eventlog::format::{BlockMarker, Decoder, END_MARKER, Event, Header, Record};
    ///
    /// let mut log = Header::standard().encode();
    /// log.extend(b"no event at all");
    /// log.extend(BlockMarker { begin: 1, size: 34, end: 2, cap: None }.encode());
    /// Event::GcStart.encode_to_vec(1, &mut log);
    /// log.extend(END_MARKER);
    ///
    /// let mut decoder = Decoder::lenient();
    /// let (mut events, mut input) = (0, &log[..]);
    /// while let Some(record) = decoder.next(&mut input)? {
    ///     events += usize::from(matches!(record, Record::Event(_)));
    /// }
    /// decoder.finish()?;
    /// assert_eq!((events, decoder.skipped()), (1, 15));
    /// # Ok::<(), ghc_eventlog::format::DecodeError>(())
    /// ```
    #[must_use]
    pub fn lenient() -> Self {
        let mut decoder = Self::new();
        decoder.lenient = Some(Box::default());
        decoder
    }

    /// Bytes that a [lenient](Self::lenient) decoder has left out so far.
    ///
    /// ```
    /// assert_eq!(ghc_eventlog::format::Decoder::new().skipped(), 0);
    /// ```
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let Some(lenient) = &self.lenient else {
            return 0;
        };
        let open = match self.stage {
            Stage::Skipping => self.place.offset + self.carry.len() as u64 - lenient.gap.offset,
            _ => 0,
        };
        lenient.skipped + open
    }

    /// The header, once it has been read.
    ///
    /// ```
    /// assert!(ghc_eventlog::format::Decoder::new().header().is_none());
    /// ```
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header_read.then_some(&self.header)
    }

    /// The next record of the log, of which `input` is the next piece.
    ///
    /// Takes what it reads off the front of `input`. `None` means that all of `input` was taken and
    /// no further record is whole: go on with the next piece, or [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the log's framing is broken. All later calls give the same error; what is left of `input`
    /// has no meaning then. Never of a [lenient](Self::lenient) decoder.
    // Inlined, with all that is rare behind a call that gives a plain number: so a record stays in
    // registers. One that is put together in memory and moved costs more than all the rest.
    #[inline(always)]
    pub fn next<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Record<'s>>, DecodeError> {
        if self.handed_out {
            self.take_back();
        }
        if self.plain {
            match self.place.frame(&self.header, input) {
                Ok(Frame::Event { head, len }) => {
                    let (event, rest) = input.split_at(len);
                    *input = rest;
                    let event = self.place.pass_event(event, head, &self.header);
                    return Ok(Some(Record::Event(event)));
                }
                Ok(Frame::Need(_)) if input.is_empty() => return Ok(None),
                _ => {}
            }
        }
        match self.step(input) {
            Step::Nothing => Ok(None),
            Step::Header => Ok(Some(Record::Header(&self.header))),
            Step::Block => {
                let bytes = self.carry.first_chunk().expect("the marker was carried");
                let offset = self.place.offset - self.carry.len() as u64;
                Ok(Some(Record::BlockBegin {
                    offset,
                    marker: BlockMarker::from_bytes(bytes),
                }))
            }
            Step::Event { head } => {
                let head = usize::from(head);
                let event = self.place.pass_event(&self.carry, head, &self.header);
                Ok(Some(Record::Event(event)))
            }
            Step::End => Ok(Some(Record::End)),
            Step::Skipped { len } => Ok(Some(Record::Skipped(self.gap(len)))),
            Step::Failed => Err(self.failure()),
        }
    }

    #[cold]
    fn take_back(&mut self) {
        self.carry.clear();
        self.handed_out = false;
        self.plain = self.is_plain();
    }

    fn is_plain(&self) -> bool {
        matches!(self.stage, Stage::Data) && self.carry.is_empty() && self.has_drained()
    }

    /// Whether what comes next is in the input.
    fn has_drained(&self) -> bool {
        self.lenient
            .as_ref()
            .is_none_or(|lenient| lenient.is_drained())
    }

    #[cold]
    fn gap(&self, len: u64) -> Gap {
        match &self.lenient {
            Some(lenient) => Gap {
                offset: lenient.gap.offset,
                len,
                reason: lenient.gap.reason,
            },
            None => unreachable!("only a lenient decoder skips"),
        }
    }

    /// Everything but an event that lies whole in the input.
    #[cold]
    fn step(&mut self, input: &mut &[u8]) -> Step {
        loop {
            let step = match self.stage {
                Stage::Data => self.step_data(input),
                Stage::Ended if input.is_empty() && self.has_drained() => Ok(Step::Nothing),
                Stage::Ended => Err(DecodeErrorKind::AfterEnd),
                Stage::Skipping => Ok(self.step_skipping(input)),
                Stage::Failed(_) => return Step::Failed,
                _ => self.step_header(input),
            };
            let step = match step {
                Ok(step) => step,
                Err(reason) if self.lenient.is_some() => {
                    self.begin_gap(reason);
                    continue;
                }
                Err(kind) => {
                    self.stage = Stage::Failed(DecodeError {
                        offset: self.place.offset + self.amiss as u64,
                        kind,
                    });
                    Step::Failed
                }
            };
            self.plain = self.is_plain();
            return step;
        }
    }

    /// Turns from what cannot be read to what comes after it.
    fn begin_gap(&mut self, reason: DecodeErrorKind) {
        let amiss = core::mem::take(&mut self.amiss);
        let in_data = matches!(self.stage, Stage::Data | Stage::Ended);
        self.put_back();
        let Some(lenient) = &mut self.lenient else {
            return;
        };
        // What the header has up to here was read, and is no part of a record.
        lenient.next += amiss;
        lenient.gap = OpenGap {
            offset: if in_data {
                self.place.offset
            } else {
                lenient.header_start
            },
            block_end: self.place.block_end,
            reason,
        };
        self.place.offset += amiss as u64;
        self.stage = Stage::Skipping;
    }

    /// Lets the bytes of `carry` come once more.
    fn put_back(&mut self) {
        let Some(lenient) = &mut self.lenient else {
            return;
        };
        if self.carry.is_empty() || lenient.from_input == 0 {
            lenient.next -= self.carry.len();
        } else {
            // Some are from the input, so that nothing was left before it.
            core::mem::swap(&mut lenient.again, &mut self.carry);
            lenient.next = 0;
        }
        self.carry.clear();
    }

    /// Goes on to where something can be read.
    fn step_skipping(&mut self, input: &mut &[u8]) -> Step {
        let Some(block_end) = self.lenient.as_ref().map(|lenient| lenient.gap.block_end) else {
            return Step::Nothing;
        };
        let found = loop {
            if !self.fill(input, END_MARKER.len().max(self.carry.len())) {
                return Step::Nothing;
            }
            if self.place.offset == block_end && self.carry.starts_with(&END_MARKER) {
                break Found::End;
            }
            // Most places are ruled out by two bytes, so that few must wait for more.
            let may_be = [
                BLOCK_MARKER.to_be_bytes(),
                [HEADER_BEGIN[0], HEADER_BEGIN[1]],
            ];
            if may_be.iter().any(|start| self.carry.starts_with(start)) {
                if !self.fill(input, BlockMarker::LEN) {
                    return Step::Nothing;
                }
                if let Some(found) = self.find() {
                    break found;
                }
            }
            self.carry.remove(0);
            if let Some(lenient) = &mut self.lenient {
                lenient.from_input = lenient.from_input.min(self.carry.len());
            }
            self.place.offset += 1;
        };
        self.put_back();
        let offset = self.place.offset;
        self.place = Place {
            offset,
            block_end: 0,
            cap: None,
        };
        self.stage = match found {
            Found::Header => {
                self.header = Header::empty();
                self.header_read = false;
                self.declared = None;
                Stage::Begin
            }
            Found::Block | Found::End => Stage::Data,
        };
        let Some(lenient) = &mut self.lenient else {
            return Step::Nothing;
        };
        lenient.header_start = offset;
        let len = offset - lenient.gap.offset;
        lenient.skipped += len;
        Step::Skipped { len }
    }

    /// What `carry`, which is as long as a block marker, may be the start of.
    fn find(&self) -> Option<Found> {
        const LONGEST: u32 = 256 << 20;
        const LATEST: u64 = 1 << 60;
        if self.carry.starts_with(&HEADER_BEGIN) && self.carry[4..].starts_with(&TYPES_BEGIN) {
            return Some(Found::Header);
        }
        let least = match self.header.size(BLOCK_MARKER)? {
            EventSize::Fixed(payload) => FIXED_HEAD as u32 + u32::from(payload),
            EventSize::Variable => return None,
        };
        let bytes = self.carry.first_chunk()?;
        let BlockMarker {
            begin, size, end, ..
        } = BlockMarker::from_bytes(bytes);
        let is_one = self.header_read
            && bytes.starts_with(&BLOCK_MARKER.to_be_bytes())
            && (least..=LONGEST).contains(&size)
            && begin <= end
            && end < LATEST;
        is_one.then_some(Found::Block)
    }

    /// Takes the next record into `carry`, to be handed out from there.
    fn step_data(&mut self, input: &mut &[u8]) -> Result<Step, DecodeErrorKind> {
        loop {
            let step = match self.place.frame(&self.header, &self.carry)? {
                Frame::Need(len) if self.fill(input, len) => continue,
                Frame::Need(_) => return Ok(Step::Nothing),
                Frame::Event { head, .. } => Step::Event { head: head as u8 },
                Frame::Marker => {
                    self.place.pass_marker(&self.carry);
                    Step::Block
                }
                Frame::End => {
                    self.place.offset += END_MARKER.len() as u64;
                    self.stage = Stage::Ended;
                    Step::End
                }
            };
            self.handed_out = true;
            return Ok(step);
        }
    }

    fn step_header(&mut self, input: &mut &[u8]) -> Result<Step, DecodeErrorKind> {
        while let Some(next) = self.header_piece(self.stage, input)? {
            self.stage = next;
            if matches!(next, Stage::Data) {
                return Ok(Step::Header);
            }
        }
        Ok(Step::Nothing)
    }

    #[cold]
    fn failure(&self) -> DecodeError {
        match self.stage {
            Stage::Failed(error) => error,
            _ => unreachable!("no step fails without a record of it"),
        }
    }

    /// Reads what belongs to a stage of the header; gives the next stage if it is whole.
    fn header_piece(
        &mut self,
        stage: Stage,
        input: &mut &[u8],
    ) -> Result<Option<Stage>, DecodeErrorKind> {
        let want = match stage {
            Stage::Begin | Stage::TypesBegin | Stage::Types => 4,
            Stage::Description { len, .. } => len + 4,
            Stage::Extra { len } => len + 4,
            _ => 8,
        };
        check_len(self.place.offset + want as u64)?;
        if !self.fill(input, want) {
            return Ok(None);
        }
        let next = match stage {
            Stage::Begin => {
                self.expect_tag(0, HEADER_BEGIN)?;
                Stage::TypesBegin
            }
            Stage::TypesBegin => {
                self.expect_tag(0, TYPES_BEGIN)?;
                Stage::Types
            }
            Stage::Types if self.carry == TYPES_END => Stage::HeaderEnd,
            Stage::Types => {
                self.expect_tag(0, TYPE_BEGIN)?;
                Stage::TypeHead
            }
            Stage::TypeHead => {
                let [i0, i1, s0, s1, n0, n1, n2, n3] = self.array(0);
                let id = u16::from_be_bytes([i0, i1]);
                let size = EventSize::from_field(u16::from_be_bytes([s0, s1]));
                check_type(id, size)?;
                let len = u32::from_be_bytes([n0, n1, n2, n3]) as usize;
                Stage::Description { id, size, len }
            }
            Stage::Description { id, size, len } => {
                let description = String::from_utf8_lossy(&self.carry[..len]).into_owned();
                self.declared = Some(EventType::new(id, size, description));
                Stage::Extra {
                    len: u32::from_be_bytes(self.array(len)) as usize,
                }
            }
            Stage::Extra { len } => {
                self.expect_tag(len, TYPE_END)?;
                if let Some(mut declared) = self.declared.take() {
                    declared.extra = self.carry[..len].to_vec().into();
                    self.header.declare(declared)?;
                }
                Stage::Types
            }
            _ => {
                self.expect_tag(0, HEADER_END)?;
                self.expect_tag(4, DATA_BEGIN)?;
                self.header_read = true;
                // A header may have made it larger than events ever will.
                self.carry = Vec::new();
                Stage::Data
            }
        };
        self.place.offset += want as u64;
        self.carry.clear();
        Ok(Some(next))
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.carry[at..]
            .first_chunk()
            .expect("the piece of the header is whole")
    }

    fn expect_tag(&mut self, at: usize, expected: [u8; 4]) -> Result<(), DecodeErrorKind> {
        let found = self.array(at);
        if found != expected {
            self.amiss = at;
            return Err(DecodeErrorKind::Tag { expected, found });
        }
        Ok(())
    }

    /// Moves bytes to `carry` until those are `len`; false if there are not enough.
    fn fill(&mut self, input: &mut &[u8], len: usize) -> bool {
        if let Some(lenient) = &mut self.lenient {
            if self.carry.is_empty() {
                lenient.from_input = 0;
            }
            let again = &lenient.again[lenient.next..];
            let again = &again[..again.len().min(len - self.carry.len())];
            self.carry.extend_from_slice(again);
            lenient.next += again.len();
            lenient.from_input += input.len().min(len - self.carry.len());
        }
        let missing = len - self.carry.len();
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.carry.extend_from_slice(taken);
        *input = rest;
        self.carry.len() == len
    }

    /// What is wrong with less than a tag, which is not the start of the first one.
    #[cold]
    fn beginning(&self) -> DecodeErrorKind {
        let len = self.carry.len().min(3);
        let mut found = [0; 3];
        found[..len].copy_from_slice(&self.carry[..len]);
        DecodeErrorKind::Beginning { found, len }
    }

    /// Whether the log is over: to be called when there are no more bytes, after
    /// [`next`](Self::next) gave `None`.
    ///
    /// It takes nothing, so that it can also be asked whether what has come so far can become a log at all, before more
    /// is waited for: no later byte mends a [`DecodeErrorKind::Beginning`].
    ///
    /// # Errors
    /// [`DecodeErrorKind::Beginning`] if there are less than four bytes, and no log begins so.
    /// [`DecodeErrorKind::Truncated`] if there was no end marker, with the offset at which the last
    /// whole record ended (the start of the header within it). The error of `next` if that has failed. Of a
    /// [lenient](Self::lenient) decoder, what it has skipped to the end for.
    ///
    /// ```
    /// use ghc_eventlog::format::{Decoder, DecodeErrorKind};
    ///
    /// let mut decoder = Decoder::new();
    /// assert_eq!(decoder.next(&mut &b"hdrb"[..])?, None);
    /// let error = decoder.finish().unwrap_err();
    /// assert_eq!(error.kind, DecodeErrorKind::Truncated { partial: 4 });
    /// # Ok::<(), ghc_eventlog::format::DecodeError>(())
    /// ```
    pub fn finish(&self) -> Result<(), DecodeError> {
        let carried = if self.handed_out {
            0
        } else {
            self.carry.len() as u64
        };
        let (offset, partial) = match self.stage {
            Stage::Ended => return Ok(()),
            Stage::Failed(error) => return Err(error),
            Stage::Skipping => {
                let Gap { offset, reason, .. } = self.gap(0);
                return Err(DecodeError {
                    offset,
                    kind: reason,
                });
            }
            Stage::Data => (self.place.offset, carried),
            Stage::Begin if !HEADER_BEGIN.starts_with(&self.carry) => {
                return Err(DecodeError {
                    offset: self.place.offset,
                    kind: self.beginning(),
                });
            }
            _ => {
                let start = self.lenient.as_ref();
                let start = start.map_or(0, |lenient| lenient.header_start);
                (start, self.place.offset + carried - start)
            }
        };
        Err(DecodeError {
            offset,
            kind: DecodeErrorKind::Truncated { partial },
        })
    }
}
