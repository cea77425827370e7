//! The buffer of events that belong to no capability. Any thread may write to it.
//!
//! It is a ring for several producers. A producer is used by one thread at a time, so there are some of
//! them, and a thread takes one that nobody is using just now: first the one that its number says, then
//! the next. Where all of them are being used, there are more from then on. So nobody waits for another
//! thread that is kept from running in the middle of an event.
//!
//! Where the processor has no atomic words of 64 bits, there is no such ring; then there is one producer,
//! and threads wait for each other.

use crate::chunk_record::Label;
use crate::clock::Clock;
use crate::counter::Counters;
use crate::error::EmitError;
use crate::format::{Encode, Header, Origin};
use crate::marks::{Marks, StickyId};
use crate::signals::Signals;
use crate::sticky::is_tracked;
use chunkring::{BuildError, Builder, ReserveError};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Instant;

#[cfg(target_has_atomic = "64")]
pub(crate) use chunkring::mpsc::{Consumer, Producer};
#[cfg(not(target_has_atomic = "64"))]
pub(crate) use chunkring::spsc::{Consumer, Producer};

/// The ring of a shared buffer.
pub(crate) fn ring(builder: &Builder) -> Result<(Producer<u8>, Consumer<u8>), BuildError> {
    #[cfg(target_has_atomic = "64")]
    return builder.mpsc();
    #[cfg(not(target_has_atomic = "64"))]
    return builder.spsc();
}

/// Producers that there are at first, and that come at a time.
const STRIPES: usize = if cfg!(target_has_atomic = "64") { 8 } else { 1 };

/// One producer, and what its events came to.
#[derive(Debug)]
struct Stripe {
    number: u32,
    writer: Mutex<Writer>,
    counters: Counters,
}

#[derive(Debug)]
struct Writer {
    producer: Producer<u8>,
    /// Bytes written since the collector was last woken.
    unannounced: usize,
}

/// All producers.
#[derive(Debug)]
pub(crate) struct Stripes {
    first: Segment,
    /// What further producers are made of.
    #[cfg(target_has_atomic = "64")]
    model: Mutex<Producer<u8>>,
}

#[derive(Debug)]
struct Segment {
    stripes: Box<[CachePadded<Stripe>]>,
    next: OnceLock<Box<Segment>>,
}

impl Segment {
    fn new(producers: impl Iterator<Item = Producer<u8>>, first: usize) -> Self {
        let stripe = |(index, producer)| {
            CachePadded::new(Stripe {
                number: (first + index) as u32,
                writer: Mutex::new(Writer {
                    producer,
                    unannounced: 0,
                }),
                counters: Counters::default(),
            })
        };
        Segment {
            stripes: producers.enumerate().map(stripe).collect(),
            next: OnceLock::new(),
        }
    }
}

impl Stripes {
    #[cfg(target_has_atomic = "64")]
    fn new(producer: Producer<u8>) -> Self {
        Stripes {
            first: Segment::new(iter::repeat_n(producer.clone(), STRIPES), 0),
            model: Mutex::new(producer),
        }
    }

    #[cfg(not(target_has_atomic = "64"))]
    fn new(producer: Producer<u8>) -> Self {
        Stripes {
            first: Segment::new(iter::once(producer), 0),
        }
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        iter::successors(Some(&self.first), |segment| Some(&**segment.next.get()?))
    }

    /// What became of each producer's events.
    pub(crate) fn counters(&self) -> impl Iterator<Item = &Counters> {
        let stripes = self.segments().flat_map(|segment| &segment.stripes);
        stripes.map(|stripe| &stripe.counters)
    }

    /// A producer that nobody uses.
    fn take(&self) -> (&Stripe, MutexGuard<'_, Writer>) {
        let start = thread_number();
        let mut segment = &self.first;
        loop {
            for index in 0..STRIPES {
                let stripe = &*segment.stripes[(start + index) % STRIPES];
                match stripe.writer.try_lock() {
                    Ok(writer) => return (stripe, writer),
                    // A writer that panicked has dropped its grant, so the ring is whole.
                    Err(TryLockError::Poisoned(poisoned)) => {
                        return (stripe, poisoned.into_inner());
                    }
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            match self.after(segment) {
                Some(next) => segment = next,
                None => {
                    let stripe = &*segment.stripes[start % STRIPES];
                    return (stripe, lock(&stripe.writer));
                }
            }
        }
    }

    /// The producers after these; made where there are none yet.
    #[cfg(target_has_atomic = "64")]
    fn after<'a>(&'a self, segment: &'a Segment) -> Option<&'a Segment> {
        if let Some(next) = segment.next.get() {
            return Some(next);
        }
        // Held meanwhile: see `wait_for_writers`.
        let model = lock(&self.model);
        Some(segment.next.get_or_init(|| {
            let first = segment
                .stripes
                .last()
                .map_or(0, |last| last.number as usize + 1);
            Box::new(Segment::new(iter::repeat_n(model.clone(), STRIPES), first))
        }))
    }

    /// No further producer can be made.
    #[cfg(not(target_has_atomic = "64"))]
    fn after<'a>(&'a self, _: &'a Segment) -> Option<&'a Segment> {
        None
    }
}

/// Locks what is whole whoever has panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number for this thread, so that threads begin to look at different places.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<Option<usize>> = const { Cell::new(None) };
    }
    NUMBER.with(|number| {
        number.get().unwrap_or_else(|| {
            // Relaxed: numbers that are the same do no harm.
            let new = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(new));
            new
        })
    })
}

#[derive(Debug)]
pub(crate) struct SharedBuffer {
    stripes: Arc<Stripes>,
    clock: Clock,
    signals: Arc<Signals>,
    /// The log's, for the types that it declares.
    header: Arc<Header>,
}

impl SharedBuffer {
    pub(crate) fn new(
        producer: Producer<u8>,
        clock: Clock,
        signals: Arc<Signals>,
        header: Arc<Header>,
    ) -> Self {
        SharedBuffer {
            stripes: Arc::new(Stripes::new(producer)),
            clock,
            signals,
            header,
        }
    }

    /// What the other half of the buffer is to know of the writers.
    pub(crate) fn stripes(&self) -> Arc<Stripes> {
        Arc::clone(&self.stripes)
    }

    /// Counts the event as lost where the log does not declare its type.
    #[inline]
    fn check_type(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        let Origin::User(event) = event.origin() else {
            return Ok(());
        };
        if self.header.user_type(event.id()) == Some(event.event_type()) {
            return Ok(());
        }
        // With the stripe in hand: it is this thread's.
        let (stripe, _writer) = self.stripes.take();
        stripe.counters.miss_declaration();
        Err(EmitError::Undeclared { id: event.id() })
    }

    /// Waits for no other writer; for room as the policy says.
    pub(crate) fn emit(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        self.check_type(event)?;
        // Who may not wait after all is told so by the second look, which counts.
        if let Some(outcome) = self.try_emit(event, self.signals.is_waited()) {
            return outcome;
        }
        self.wait_to_emit(event)
    }

    /// One try, unless the log has been stopped; `None` where there is no room and that is not to be
    /// counted, since `more` tries follow.
    fn try_emit(
        &self,
        event: &(impl Encode + ?Sized),
        more: bool,
    ) -> Option<Result<(), EmitError>> {
        let (stripe, mut writer) = self.stripes.take();
        if self.signals.is_stopped() {
            stripe.counters.stop();
            return Some(Err(EmitError::Stopped));
        }
        match self.put(stripe, &mut writer, event, is_tracked(event.id())) {
            Ok(_) => Some(Ok(())),
            Err(ReserveError::Full) if more => None,
            Err(refused) => Some(Err(self.count(stripe, event, refused))),
        }
    }

    /// Tries again and again, asleep in between, as long as the policy allows. Keeps no producer from
    /// others meanwhile.
    #[cold]
    fn wait_to_emit(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        let signals = &self.signals;
        let Some(limit) = signals.may_wait() else {
            return self.try_emit(event, false).unwrap_or(Err(EmitError::Full));
        };
        let outcome = signals.room.wait(Instant::now() + limit, || {
            signals.wake_collector();
            // Somebody may have changed the policy.
            self.try_emit(event, signals.is_waited())
        });
        outcome
            .or_else(|| self.try_emit(event, false))
            .unwrap_or(Err(EmitError::Full))
    }

    /// As [`emit`](Self::emit), also after the log has been stopped; never waits for room.
    pub(crate) fn emit_last(&self, event: &(impl Encode + ?Sized)) -> Result<(), EmitError> {
        let (stripe, mut writer) = self.stripes.take();
        let outcome = self.put(stripe, &mut writer, event, is_tracked(event.id()));
        // Counted with the stripe in hand: it is this thread's.
        outcome
            .map(drop)
            .map_err(|refused| self.count(stripe, event, refused))
    }

    /// As [`emit`](Self::emit), and marks the event as one to be replayed. Never waits for room: the
    /// collector waits for the marks.
    pub(crate) fn emit_sticky(
        &self,
        event: &(impl Encode + ?Sized),
        marks: &mut Marks,
    ) -> Result<StickyId, EmitError> {
        self.check_type(event)?;
        let (stripe, mut writer) = self.stripes.take();
        if self.signals.is_stopped() {
            stripe.counters.stop();
            return Err(EmitError::Stopped);
        }
        let time = self
            .put(stripe, &mut writer, event, true)
            .map_err(|refused| self.count(stripe, event, refused))?;
        if is_tracked(event.id()) {
            return Ok(marks.number());
        }
        Ok(marks.add(None, time, event))
    }

    /// Stamps, encodes and commits one event; tells the collector of it where it is `tracked`, and the
    /// caller its time.
    fn put(
        &self,
        stripe: &Stripe,
        writer: &mut Writer,
        event: &(impl Encode + ?Sized),
        tracked: bool,
    ) -> Result<u64, ReserveError> {
        let len = event.encoded_len();
        let mut grant = writer.producer.reserve(Label::LEN + len)?;
        // After the place is taken, so that the events' times are nearly in order.
        let time = self.clock.now();
        let label = Label {
            writer: stripe.number,
            tracked,
            len: len as u32,
            taken: stripe.counters.taken(),
            refused: stripe.counters.refused(),
        };
        grant.extend_from_slice(&label.encode());
        let written = event.encode(time, grant.spare_mut());
        // SAFETY: `encode` has written the first `written` bytes of the slots it was given.
        unsafe { grant.assume_filled(written) };
        grant.commit_all();
        stripe.counters.take(written);
        writer.unannounced += Label::LEN + written;
        // Of an eighth, as far as others may have written as much.
        if writer.unannounced >= writer.producer.capacity() / (8 * STRIPES) {
            writer.unannounced = 0;
            self.signals.wake_collector();
        }
        Ok(time)
    }

    /// Counts an event that was not taken in.
    #[cold]
    fn count(
        &self,
        stripe: &Stripe,
        event: &(impl Encode + ?Sized),
        refused: ReserveError,
    ) -> EmitError {
        match refused {
            ReserveError::Full => {
                stripe.counters.refuse(event.encoded_len());
                self.signals.wake_collector();
                EmitError::Full
            }
            ReserveError::TooLong { .. } => unreachable!("a chunk takes the longest event"),
            // The log's end takes the buffer's other half with it.
            ReserveError::Closed => {
                stripe.counters.stop();
                EmitError::Stopped
            }
        }
    }

    /// Waits until no writer that has begun is left. After the log has been stopped, none begins: it
    /// would find a producer that was taken here before, and with it that the log has been stopped.
    pub(crate) fn wait_for_writers(&self) {
        // Whoever makes more producers does so before this, and they are seen below, or after it.
        #[cfg(target_has_atomic = "64")]
        drop(lock(&self.stripes.model));
        for segment in self.stripes.segments() {
            for stripe in &segment.stripes {
                drop(lock(&stripe.writer));
            }
        }
    }

    /// Whether the buffer ought to be drained before events that should not be lost: whether less than
    /// half of it is free. As it has two chunks at least, one of them is free otherwise, which has room
    /// for the longest event.
    pub(crate) fn wants_draining(&self) -> bool {
        let (_, writer) = self.stripes.take();
        let producer = &writer.producer;
        producer.free_slots() < producer.capacity() / 2
    }
}
