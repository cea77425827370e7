//! The streaming decoder: bytes in any split go in, framed records come out.

use super::block::{BlockMarker, END_MARKER};
use super::error::{DecodeError, DecodeErrorKind};
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
    /// The header. Comes first, and once.
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
}

/// Decodes a log that comes in pieces.
///
/// Events that lie whole in a piece are borrowed from it; one that does not is put together in a
/// buffer of the decoder's own, which is all that it allocates besides the header: less than 128 KiB.
///
/// Framing is strict, as [`DecodeErrorKind`] lists. What it does not check: time may run backwards,
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
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Begin,
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
    Failed(DecodeError),
}

/// What a rare step has come to. What belongs to it is in the decoder.
enum Step {
    Nothing,
    Header,
    Block,
    Event { head: u8 },
    End,
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
        }
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
    /// has no meaning then.
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
            Step::Failed => Err(self.failure()),
        }
    }

    #[cold]
    fn take_back(&mut self) {
        self.carry.clear();
        self.handed_out = false;
        self.plain = matches!(self.stage, Stage::Data);
    }

    /// Everything but an event that lies whole in the input.
    #[cold]
    fn step(&mut self, input: &mut &[u8]) -> Step {
        let step = match self.stage {
            Stage::Data => self.step_data(input),
            Stage::Ended if input.is_empty() => Ok(Step::Nothing),
            Stage::Ended => Err(DecodeErrorKind::AfterEnd),
            Stage::Failed(_) => return Step::Failed,
            _ => self.step_header(input),
        };
        let step = step.unwrap_or_else(|kind| {
            self.stage = Stage::Failed(DecodeError {
                offset: self.place.offset,
                kind,
            });
            Step::Failed
        });
        self.plain = matches!(self.stage, Stage::Data) && self.carry.is_empty();
        step
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
            Stage::Types => 4,
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
                self.expect_tag(4, TYPES_BEGIN)?;
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
            self.place.offset += at as u64;
            return Err(DecodeErrorKind::Tag { expected, found });
        }
        Ok(())
    }

    /// Moves bytes to `carry` until those are `len`; false if there are not enough.
    fn fill(&mut self, input: &mut &[u8], len: usize) -> bool {
        let missing = len - self.carry.len();
        let (taken, rest) = input.split_at(missing.min(input.len()));
        self.carry.extend_from_slice(taken);
        *input = rest;
        self.carry.len() == len
    }

    /// Whether the log is over: to be called when there are no more bytes, after
    /// [`next`](Self::next) gave `None`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] if there was no end marker, with the offset at which the last
    /// whole record ended (0 within the header). The error of `next` if that has failed.
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
            Stage::Data => (self.place.offset, carried),
            _ => (0, self.place.offset + carried),
        };
        Err(DecodeError {
            offset,
            kind: DecodeErrorKind::Truncated { partial },
        })
    }
}
