//! The events of a whole log in the order of time, with memory for a part of it.

use core::cmp::Reverse;
use core::fmt;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use super::decode::{Decoder, Record};
use super::error::{DecodeError, Gap};
use super::event::{FIXED_HEAD, VARIABLE_HEAD};
use super::header::{EventLength, Header};
use super::raw::RawEvent;
use super::value::CapNo;

/// Bytes that are read at once where the log is looked through.
const PIECE: usize = 1 << 18;

/// Bytes of events from which on a run is long enough.
const RUN: u32 = 1 << 16;

/// Bytes in flight where nobody says otherwise: 256 MiB.
const LIMIT: usize = 256 << 20;

/// Headers that differ, of logs behind each other: each may take 256 KiB of memory, however short it is in the log.
const HEADERS: usize = 64;

/// Nanoseconds by which an event is dated back at most: a second. One that is further back was not; the clock was.
const DATED_BACK: u64 = 1_000_000_000;

/// The events of a log in the order of time.
///
/// In a log, blocks of different capabilities take turns, each with the events of some span of time;
/// a capability that does little writes its first block late. Within a capability, too, some events
/// are dated back. This puts all of it in order: events of the same time stay in the order of the log.
///
/// The log is read twice. The first time, by [`new`](Self::new), only notes are taken: 40 bytes for
/// each run of events, which is a block or 64 KiB of one. The second time, by [`next`](Self::next),
/// a run is read when its earliest event is due, and forgotten when its last one has been given. So
/// what is in memory is the notes and, for a point in time, the runs that hold events from before it
/// and after it: one or two for each capability in a usual log. [`limit`](Self::limit) bounds it. For
/// that, the input must be one in which one can go back: a file, and no pipe or socket.
///
/// ```
/// use ghc_eventlog::format::{BlockMarker, CapNo, END_MARKER, Event, EventsByTime, Header};
///
/// let mut log = Header::standard().encode();
/// for (cap, times) in [(0, [2, 5]), (1, [1, 4])] {
///     let (begin, end) = (times[0], times[1]);
///     log.extend(BlockMarker { begin, size: 24 + 20, end, cap: CapNo::new(cap) }.encode());
///     for time in times {
///         Event::GcStart.encode_to_vec(time, &mut log);
///     }
/// }
/// log.extend(END_MARKER);
///
/// let mut events = EventsByTime::new(std::io::Cursor::new(log))?;
/// let mut times = Vec::new();
/// while let Some(event) = events.next()? {
///     times.push((event.time, event.cap.unwrap().get()));
/// }
/// assert_eq!(times, [(1, 1), (2, 0), (4, 1), (5, 0)]);
/// assert_eq!(events.fault(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventsByTime<R> {
    input: R,
    /// Where in the input the log starts.
    base: u64,
    /// One at least; several, which differ, where several logs were found.
    headers: Vec<Header>,
    /// Runs that have not been read yet, the earliest one last.
    runs: Vec<Run>,
    /// Runs in flight. Those that are over are used again.
    loaded: Vec<Loaded>,
    free: Vec<usize>,
    /// The next event of each run in flight: its time and place in the log, and the run.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    in_flight: usize,
    most_in_flight: usize,
    limit: usize,
    fault: Option<DecodeError>,
}

/// Some events that follow each other in a block, or outside of all.
#[derive(Clone, Copy, Debug)]
struct Run {
    offset: u64,
    /// The earliest time.
    least: u64,
    /// The time that its capability had reached before it.
    reached: u64,
    len: u32,
    events: u32,
    cap: Option<CapNo>,
    /// The header that it is read by.
    header: u32,
}

/// An event of a run in memory: its time, its place in the bytes, and by how many nanoseconds it is dated back.
type Noted = (u64, u32, u32);

/// A run in memory.
#[derive(Debug, Default)]
struct Loaded {
    offset: u64,
    cap: Option<CapNo>,
    header: u32,
    bytes: Vec<u8>,
    /// All events, in the order of time.
    order: Vec<Noted>,
    /// How many of `order` have been given.
    given: usize,
}

impl Run {
    /// Bytes that it takes in memory.
    fn memory(&self) -> usize {
        self.len as usize + self.events as usize * size_of::<Noted>()
    }
}

impl<R: Read + Seek> EventsByTime<R> {
    /// Looks through the log that starts where `input` stands. Reads all of it.
    ///
    /// A log whose data is bad or cut somewhere gives the events before that; see
    /// [`fault`](Self::fault).
    ///
    /// # Errors
    /// [`ByTimeError::Decode`] if there is no whole header, [`ByTimeError::Io`] if `input` fails, or one cannot go
    /// back in it: then nothing has been read.
    pub fn new(input: R) -> Result<Self, ByTimeError> {
        Self::look_through(input, Decoder::new(), |_| ())
    }

    /// As [`new`](Self::new), but goes on after what is broken, as a [lenient](Decoder::lenient) decoder does: at the
    /// next block or log that can be read. Tells `skip` of each part that is left out, while it looks through the
    /// log; [`fault`](Self::fault) says what it was left for at the end, if anything. A log may hold several
    /// [headers](Self::headers) then.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and [`ByTimeError::Headers`] where there are more than 64 headers that differ.
    ///
    /// ```
    /// use ghc_eventlog::format::{BlockMarker, END_MARKER, Event, EventsByTime, Header};
    ///
    /// let mut block = BlockMarker { begin: 7, size: 24 + 10, end: 7, cap: None }.encode().to_vec();
    /// Event::GcStart.encode_to_vec(7, &mut block);
    /// let mut bad = block.clone();
    /// bad[25] = 0xfe; // A type that is not declared.
    /// let log = [&Header::standard().encode(), &bad[..], &block, &END_MARKER].concat();
    ///
    /// let strict = EventsByTime::new(std::io::Cursor::new(&log))?;
    /// assert!(strict.fault().is_some());
    /// let mut gaps = Vec::new();
    /// let mut events = EventsByTime::lenient(std::io::Cursor::new(&log), |gap| gaps.push(*gap))?;
    /// assert_eq!((gaps.len(), gaps[0].len, events.fault()), (1, 10, None));
    /// assert_eq!(events.next_time()?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lenient(input: R, skip: impl FnMut(&Gap)) -> Result<Self, ByTimeError> {
        Self::look_through(input, Decoder::lenient(), skip)
    }

    fn look_through(
        mut input: R,
        mut decoder: Decoder,
        mut skip: impl FnMut(&Gap),
    ) -> Result<Self, ByTimeError> {
        let base = input.stream_position().map_err(|error| {
            let text = format!(
                "the order of time asks for an input in which one can go back, as in a file; write it to one first: \
                 {error}"
            );
            ByTimeError::Io(io::Error::new(error.kind(), text))
        })?;
        let mut index = Index::default();
        let mut buffer = vec![0; PIECE];
        let fault = loop {
            let len = fill(&mut input, &mut buffer).map_err(ByTimeError::Io)?;
            if len == 0 {
                break decoder.finish().err();
            }
            match index.take(&mut decoder, &buffer[..len], &mut skip) {
                Ok(()) => {}
                Err(ByTimeError::Decode(error)) => break Some(error),
                Err(error) => return Err(error),
            }
        };
        let Index {
            mut runs, headers, ..
        } = index;
        if headers.is_empty() {
            let error = fault.expect("a log without a header does not end well");
            return Err(ByTimeError::Decode(error));
        }
        // Those at the end are next. Places differ, so nothing is equal.
        runs.sort_unstable_by_key(|run| Reverse((run.least, run.offset)));
        Ok(Self {
            input,
            base,
            headers,
            runs,
            loaded: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            in_flight: 0,
            most_in_flight: 0,
            limit: LIMIT,
            fault,
        })
    }

    /// Bounds the memory for runs in flight: their bytes in the log, and 16 more for each event. 256
    /// MiB where this is not called.
    ///
    /// ```
    /// use ghc_eventlog::format::{END_MARKER, EventsByTime, Header};
    ///
    /// let log = [Header::standard().encode(), END_MARKER.to_vec()].concat();
    /// let events = EventsByTime::new(std::io::Cursor::new(log))?.limit(1 << 20);
    /// assert_eq!(events.most_in_flight(), 0);
    /// # Ok::<(), ghc_eventlog::format::ByTimeError>(())
    /// ```
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The header of the log; the first one, where there are several.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.headers[0]
    }

    /// All headers. There is one, but where [`lenient`](Self::lenient) has found logs behind the first one that declare
    /// other types of events.
    ///
    /// ```
    /// use ghc_eventlog::format::{END_MARKER, EventsByTime, Header};
    ///
    /// let log = [Header::standard().encode(), END_MARKER.to_vec()].concat();
    /// let twice = log.repeat(2);
    /// let events = EventsByTime::lenient(std::io::Cursor::new(twice), |_| ())?;
    /// assert_eq!(events.headers(), [Header::standard().clone()]);
    /// # Ok::<(), ghc_eventlog::format::ByTimeError>(())
    /// ```
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// What is wrong with the log, if anything is: the events are those before it.
    /// [`DecodeErrorKind::Truncated`](super::DecodeErrorKind::Truncated) for a log without an end.
    #[must_use]
    pub const fn fault(&self) -> Option<&DecodeError> {
        self.fault.as_ref()
    }

    /// The most memory, in bytes, that runs in flight have taken so far.
    #[must_use]
    pub const fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// The next event; `None` after the last one. Offsets are counted from the start of the log.
    ///
    /// # Errors
    /// [`ByTimeError::Io`] if the input fails, or is no longer what it was. [`ByTimeError::Limit`] if
    /// more would have to be in flight than the [`limit`](Self::limit) allows; a call after that
    /// says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "what it gives is borrowed from it"
    )]
    pub fn next(&mut self) -> Result<Option<RawEvent<'_>>, ByTimeError> {
        Ok(self.next_placed()?.map(|(event, _)| event))
    }

    /// The next event, with the time, in nanoseconds, at which it comes in the log: the latest of its own and of those
    /// that come before it there in its capability. That is later than its own where it is dated back; a run-time
    /// system says so of the end of a garbage collection, behind the statistics of it. With that, events can be
    /// written again in the order that they had in their capability, for readers that do not sort or that sort by
    /// coarser times. What lies back by more than a second is not taken for dated back: there, the clock was.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    ///
    /// ```
    /// use ghc_eventlog::format::{BlockMarker, END_MARKER, Event, EventsByTime, Header};
    ///
    /// let mut log = Header::standard().encode();
    /// log.extend(BlockMarker { begin: 3, size: 24 + 20, end: 5, cap: None }.encode());
    /// Event::GcGlobalSync.encode_to_vec(5, &mut log);
    /// Event::GcEnd.encode_to_vec(3, &mut log);
    /// log.extend(END_MARKER);
    ///
    /// let mut events = EventsByTime::new(std::io::Cursor::new(log))?;
    /// let mut times = Vec::new();
    /// while let Some((event, place)) = events.next_placed()? {
    ///     times.push((event.time, place));
    /// }
    /// assert_eq!(times, [(3, 5), (5, 5)]);
    /// # Ok::<(), ghc_eventlog::format::ByTimeError>(())
    /// ```
    pub fn next_placed(&mut self) -> Result<Option<(RawEvent<'_>, u64)>, ByTimeError> {
        if self.next_time()?.is_none() {
            return Ok(None);
        }
        let Some(Reverse((time, offset, slot))) = self.due.pop() else {
            return Ok(None);
        };
        let run = &mut self.loaded[slot];
        let (_, _, back) = run.order[run.given];
        run.given += 1;
        if let Some(next) = run.due(slot) {
            self.due.push(next);
        } else {
            self.in_flight -= run.memory();
            self.free.push(slot);
        }
        let run = &self.loaded[slot];
        let header = &self.headers[run.header as usize];
        let bytes = &run.bytes[(offset - run.offset) as usize..];
        let (id, head, len) = frame(header, bytes).ok_or_else(changed)?;
        let bytes = &bytes[..len];
        let event = RawEvent {
            offset,
            cap: run.cap,
            id,
            time,
            payload: &bytes[head..],
            bytes,
            header,
        };
        Ok(Some((event, time + u64::from(back))))
    }

    /// The time of the event that is next, in nanoseconds; `None` after the last one.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    ///
    /// ```
    /// use ghc_eventlog::format::{END_MARKER, EventsByTime, Header};
    ///
    /// let log = [Header::standard().encode(), END_MARKER.to_vec()].concat();
    /// let mut events = EventsByTime::new(std::io::Cursor::new(log))?;
    /// assert_eq!(events.next_time()?, None);
    /// # Ok::<(), ghc_eventlog::format::ByTimeError>(())
    /// ```
    pub fn next_time(&mut self) -> Result<Option<u64>, ByTimeError> {
        // A run may hold events from its earliest one on, so it is read once that is due.
        while let Some(run) = self.runs.last() {
            match self.due.peek() {
                Some(Reverse((time, _, _))) if *time < run.least => break,
                _ => self.load(*run)?,
            }
        }
        Ok(self.due.peek().map(|Reverse((time, _, _))| *time))
    }

    fn load(&mut self, run: Run) -> Result<(), ByTimeError> {
        let needed = self.in_flight + run.memory();
        if needed > self.limit {
            let limit = self.limit;
            return Err(ByTimeError::Limit { needed, limit });
        }
        let slot = self.free.last().copied().unwrap_or(self.loaded.len());
        if slot == self.loaded.len() {
            self.loaded.push(Loaded::default());
            self.free.push(slot);
        }
        let loaded = &mut self.loaded[slot];
        loaded.offset = run.offset;
        loaded.cap = run.cap;
        loaded.header = run.header;
        loaded.given = 0;
        loaded.order.clear();
        loaded.bytes.clear();
        loaded.bytes.resize(run.len as usize, 0);
        self.input
            .seek(SeekFrom::Start(self.base + run.offset))
            .and_then(|_| self.input.read_exact(&mut loaded.bytes))
            .map_err(ByTimeError::Io)?;
        let header = &self.headers[run.header as usize];
        let mut at = 0;
        let mut reached = run.reached;
        while at < loaded.bytes.len() {
            let bytes = &loaded.bytes[at..];
            let (_, _, len) = frame(header, bytes).ok_or_else(changed)?;
            let time = time(bytes);
            reached = reach(reached, time);
            // A second at most.
            loaded
                .order
                .push((time, at as u32, (reached - time) as u32));
            at += len;
        }
        // Places differ, so nothing is equal.
        loaded.order.sort_unstable();
        if loaded.memory() != run.memory() || loaded.order[0].0 != run.least {
            return Err(changed());
        }
        self.due.extend(loaded.due(slot));
        self.free.pop();
        self.runs.pop();
        self.in_flight = needed;
        self.most_in_flight = self.most_in_flight.max(needed);
        Ok(())
    }
}

impl Loaded {
    /// The next event, for the heap; `None` after the last one.
    fn due(&self, slot: usize) -> Option<Reverse<(u64, u64, usize)>> {
        let (time, at, _) = self.order.get(self.given)?;
        Some(Reverse((*time, self.offset + u64::from(*at), slot)))
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.order.len() * size_of::<Noted>()
    }
}

/// Notes about where runs are.
#[derive(Default)]
struct Index {
    headers: Vec<Header>,
    /// That of the events that come.
    header: usize,
    runs: Vec<Run>,
    /// Whether the next event may belong to the last run.
    open: bool,
    block_end: u64,
    /// The time that the capability of the last run has reached, and the others.
    reached: u64,
    others: HashMap<Option<CapNo>, u64>,
}

impl Index {
    fn take(
        &mut self,
        decoder: &mut Decoder,
        mut bytes: &[u8],
        skip: &mut impl FnMut(&Gap),
    ) -> Result<(), ByTimeError> {
        while let Some(record) = decoder.next(&mut bytes).map_err(ByTimeError::Decode)? {
            match record {
                Record::Header(header) => {
                    self.open = false;
                    // Of another log, whose times begin again.
                    self.reached = 0;
                    self.others.clear();
                    self.header(header)?;
                }
                Record::Skipped(gap) => {
                    self.open = false;
                    skip(&gap);
                }
                Record::BlockBegin { offset, marker } => {
                    self.open = false;
                    self.block_end = offset + u64::from(marker.size);
                }
                Record::Event(event) => self.event(&event),
                _ => self.open = false,
            }
        }
        Ok(())
    }

    fn header(&mut self, header: &Header) -> Result<(), ByTimeError> {
        let known = self.headers.iter().position(|known| known == header);
        self.header = known.unwrap_or(self.headers.len());
        if known.is_none() {
            if self.headers.len() == HEADERS {
                return Err(ByTimeError::Headers { limit: HEADERS });
            }
            self.headers.push(header.clone());
        }
        Ok(())
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        let len = event.bytes().len() as u32;
        // After the end of its block an event belongs to none.
        self.open &= self.runs.last().is_some_and(|run| {
            run.len < RUN && (run.offset < self.block_end) == (event.offset < self.block_end)
        });
        if let (true, Some(run)) = (self.open, self.runs.last_mut()) {
            run.len += len;
            run.events += 1;
            run.least = run.least.min(event.time);
            self.reached = reach(self.reached, event.time);
            return;
        }
        self.open = true;
        if let Some(last) = self.runs.last() {
            self.others.insert(last.cap, self.reached);
        }
        let reached = self.others.get(&event.cap).copied().unwrap_or(0);
        self.reached = reach(reached, event.time);
        self.runs.push(Run {
            offset: event.offset,
            least: event.time,
            reached,
            len,
            events: 1,
            cap: event.cap,
            header: self.header as u32,
        });
    }
}

/// The time that a capability has reached with an event of that time.
const fn reach(reached: u64, time: u64) -> u64 {
    match reached.saturating_sub(time) {
        1..=DATED_BACK => reached,
        _ => time,
    }
}

/// Id, bytes before the payload and bytes in all of the event at the start of `bytes`; `None` if
/// there is no whole one.
fn frame(header: &Header, bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let id = u16::from_be_bytes(*bytes.first_chunk()?);
    let (head, len) = match header.event_length(id) {
        EventLength::UNDECLARED => return None,
        EventLength::VARIABLE => {
            let [.., high, low] = *bytes.first_chunk::<VARIABLE_HEAD>()?;
            let payload = u16::from_be_bytes([high, low]);
            (VARIABLE_HEAD, VARIABLE_HEAD + usize::from(payload))
        }
        EventLength(len) => (FIXED_HEAD, len as usize),
    };
    (len <= bytes.len()).then_some((id, head, len))
}

/// The time of a framed event.
fn time(bytes: &[u8]) -> u64 {
    let [_, _, time @ ..] = *bytes
        .first_chunk::<FIXED_HEAD>()
        .expect("a framed event has a head");
    u64::from_be_bytes(time)
}

fn changed() -> ByTimeError {
    let text = "the log has changed since it was looked through";
    ByTimeError::Io(io::Error::new(ErrorKind::InvalidData, text))
}

/// Reads once, whatever signals come.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Why the events of a log cannot be put in the order of time.
///
/// ```
/// use ghc_eventlog::format::{ByTimeError, EventsByTime};
///
/// let error = EventsByTime::new(std::io::Cursor::new(b"no log")).unwrap_err();
/// assert!(matches!(error, ByTimeError::Decode(_)));
/// let error = ByTimeError::Limit { needed: 300, limit: 200 };
/// assert_eq!(error.to_string(), "300 bytes would have to be in memory at once, the limit is 200");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ByTimeError {
    /// The input cannot be read.
    Io(io::Error),
    /// It is no log: there is no whole header.
    Decode(DecodeError),
    /// Too many events overlap in time.
    Limit {
        /// Bytes that would have to be in flight.
        needed: usize,
        /// Bytes that may be.
        limit: usize,
    },
    /// There are logs behind each other, whose headers differ, and more of them than are kept apart.
    Headers {
        /// Headers that may be.
        limit: usize,
    },
}

impl fmt::Display for ByTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
            Self::Limit { needed, limit } => write!(
                f,
                "{needed} bytes would have to be in memory at once, the limit is {limit}"
            ),
            Self::Headers { limit } => write!(
                f,
                "there are logs behind each other with more than {limit} headers that differ"
            ),
        }
    }
}

impl core::error::Error for ByTimeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Decode(error) => Some(error),
            Self::Limit { .. } | Self::Headers { .. } => None,
        }
    }
}
