//! Queues that take and give several items at a time: 64 `u64`, or a record of bytes.

use std::mem::MaybeUninit;
use std::num::NonZeroUsize;

pub(crate) trait BatchSender: Send {
    /// Puts all of `items` in, or nothing.
    fn push_all(&mut self, items: &[u64]) -> bool;
}

pub(crate) trait BatchReceiver: Send {
    /// Takes out up to `most` items, which are seen in place; how many there were.
    fn take(&mut self, most: usize, see: impl FnMut(&[u64])) -> usize;
}

pub(crate) trait BatchQueue: 'static {
    const NAME: &'static str;
    type Sender: BatchSender;
    type Receiver: BatchReceiver;
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);
}

/// Does something for one type of queue after the other.
pub(crate) trait BatchVisitor {
    fn visit<Q: BatchQueue>(&mut self);
}

pub(crate) fn visit_batches(visitor: &mut impl BatchVisitor) {
    visitor.visit::<Chunkring>();
    visitor.visit::<Exact>();
    visitor.visit::<ChunkringMpsc>();
    visitor.visit::<Rtrb>();
    visitor.visit::<Ringbuf>();
    visitor.visit::<Gil>();
}

pub(crate) trait RecordSender: Send {
    /// Whether there was room for `record` and its length.
    fn write(&mut self, record: &[u8]) -> bool;
}

pub(crate) trait RecordReceiver: Send {
    /// Reads what is ready, in place; how many records. A record can be in two parts.
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize;
}

/// Before each record stands its length in two bytes, bbqueue's own or one like it.
pub(crate) trait RecordQueue: 'static {
    const NAME: &'static str;
    type Sender: RecordSender;
    type Receiver: RecordReceiver;
    fn new(bytes: usize) -> (Self::Sender, Self::Receiver);
}

/// Does something for one type of queue after the other.
pub(crate) trait RecordVisitor {
    fn visit<Q: RecordQueue>(&mut self);
}

pub(crate) fn visit_records(visitor: &mut impl RecordVisitor) {
    visitor.visit::<Chunkring>();
    visitor.visit::<ChunkringByOne>();
    visitor.visit::<Preallocated>();
    visitor.visit::<ChunkringMpsc>();
    visitor.visit::<Rtrb>();
    visitor.visit::<RtrbByOne>();
    visitor.visit::<Ringbuf>();
    visitor.visit::<RingbufByOne>();
    visitor.visit::<BbqueueByOne>();
}

/// Bytes of the length before a record.
const PREFIX: usize = 2;

fn prefix(record: &[u8]) -> [u8; PREFIX] {
    u16::try_from(record.len())
        .expect("records are short")
        .to_le_bytes()
}

/// Shows up to `most` of the records that begin in `front` and may go on in `back`; how many there were, and how
/// many bytes they took. What is ready are always whole records, since each is committed at once.
#[inline(always)]
fn walk(
    front: &[u8],
    back: &[u8],
    most: usize,
    mut see: impl FnMut(&[u8], &[u8]),
) -> (usize, usize) {
    let (mut records, mut at) = (0, 0);
    while records < most && at + PREFIX <= front.len() {
        let len = usize::from(u16::from_le_bytes([front[at], front[at + 1]]));
        let start = at + PREFIX;
        at = start + len;
        match front.get(start..at) {
            Some(record) => see(record, &[]),
            None => see(&front[start..], &back[..at - front.len()]),
        }
        records += 1;
    }
    while records < most && at < front.len() + back.len() {
        let byte = |at: usize| *front.get(at).unwrap_or_else(|| &back[at - front.len()]);
        let len = usize::from(u16::from_le_bytes([byte(at), byte(at + 1)]));
        let start = at + PREFIX - front.len();
        see(&back[start..start + len], &[]);
        at += PREFIX + len;
        records += 1;
    }
    (records, at)
}

/// Writes `bytes` to the slots from `at` on, counted over both slices.
///
/// # Safety
/// Both slices together are at least `at + bytes.len()` long.
#[inline(always)]
unsafe fn put(
    front: &mut [MaybeUninit<u8>],
    back: &mut [MaybeUninit<u8>],
    at: usize,
    bytes: &[u8],
) {
    let in_front = front.len().saturating_sub(at).min(bytes.len());
    let (first, second) = bytes.split_at(in_front);
    // SAFETY: `first` ends where `front` does at the latest, and is empty where `at` is beyond; the rest ends
    // where `back` does at the latest, as the caller promises. A slice that is borrowed as mutable is no part of
    // `bytes`.
    unsafe {
        let target = front.as_mut_ptr().wrapping_add(at).cast();
        first.as_ptr().copy_to_nonoverlapping(target, first.len());
        if !second.is_empty() {
            let target = back.as_mut_ptr().add((at + in_front) - front.len()).cast();
            second.as_ptr().copy_to_nonoverlapping(target, second.len());
        }
    }
}

pub(crate) struct Chunkring;
pub(crate) struct Preallocated;
pub(crate) struct ChunkringByOne;
pub(crate) struct ChunkringMpsc;

/// Both of our rings have the same methods.
macro_rules! ours {
    ($module:ident, $queue:ident, $name:literal) => {
        impl BatchSender for chunkring::$module::Producer<u64> {
            #[inline(always)]
            fn push_all(&mut self, items: &[u64]) -> bool {
                self.push_whole_slice(items).is_ok()
            }
        }

        impl BatchReceiver for chunkring::$module::Consumer<u64> {
            #[inline(always)]
            fn take(&mut self, most: usize, mut see: impl FnMut(&[u64])) -> usize {
                let Ok(ready) = chunkring::$module::Consumer::read(self) else {
                    return 0;
                };
                let count = ready.len().min(most);
                see(&ready[..count]);
                ready.release(count);
                count
            }
        }

        impl BatchQueue for $queue {
            const NAME: &'static str = $name;
            type Sender = chunkring::$module::Producer<u64>;
            type Receiver = chunkring::$module::Consumer<u64>;

            fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
                crate::queues::shape(capacity).$module().unwrap()
            }
        }

        impl RecordSender for chunkring::$module::Producer<u8> {
            #[inline(always)]
            fn write(&mut self, record: &[u8]) -> bool {
                let Ok(mut grant) = self.reserve(PREFIX + record.len()) else {
                    return false;
                };
                grant.extend_from_slice(&prefix(record));
                grant.extend_from_slice(record);
                grant.commit_all();
                true
            }
        }

        impl RecordReceiver for chunkring::$module::Consumer<u8> {
            #[inline(always)]
            fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
                let Ok(ready) = chunkring::$module::Consumer::read(self) else {
                    return 0;
                };
                let (records, _) = walk(&ready, &[], usize::MAX, see);
                ready.release_all();
                records
            }
        }

        impl RecordQueue for $queue {
            const NAME: &'static str = $name;
            type Sender = chunkring::$module::Producer<u8>;
            type Receiver = chunkring::$module::Consumer<u8>;

            fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
                record_shape(bytes).$module().unwrap()
            }
        }
    };
}

ours!(spsc, Chunkring, "chunkring");
ours!(mpsc, ChunkringMpsc, "chunkring mpsc");

impl RecordQueue for Preallocated {
    const NAME: &'static str = "chunkring preallocated";
    type Sender = chunkring::spsc::Producer<u8>;
    type Receiver = chunkring::spsc::Consumer<u8>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        record_shape(bytes).preallocate(true).spsc().unwrap()
    }
}

/// Of exactly the capacity.
pub(crate) struct Exact;

impl BatchQueue for Exact {
    const NAME: &'static str = "chunkring exact";
    type Sender = chunkring::spsc::Producer<u64>;
    type Receiver = chunkring::spsc::Consumer<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        crate::queues::exact_shape(capacity).spsc().unwrap()
    }
}

/// Our shape for records: as `bounded` makes it.
pub(crate) fn record_shape(bytes: usize) -> chunkring::Builder {
    chunkring::Builder::with_capacity(bytes)
}

/// Takes one record at a time out of what would give several.
pub(crate) struct ByOne<R>(R);

impl RecordReceiver for ByOne<chunkring::spsc::Consumer<u8>> {
    #[inline(always)]
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
        let Ok(ready) = self.0.read() else {
            return 0;
        };
        let (records, bytes) = walk(&ready, &[], 1, see);
        ready.release(bytes);
        records
    }
}

impl RecordQueue for ChunkringByOne {
    const NAME: &'static str = "chunkring by one";
    type Sender = chunkring::spsc::Producer<u8>;
    type Receiver = ByOne<chunkring::spsc::Consumer<u8>>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        let (producer, consumer) = record_shape(bytes).spsc().unwrap();
        (producer, ByOne(consumer))
    }
}

pub(crate) struct Rtrb;
pub(crate) struct RtrbByOne;

impl BatchSender for rtrb::Producer<u64> {
    #[inline(always)]
    fn push_all(&mut self, items: &[u64]) -> bool {
        self.push_entire_slice(items).is_ok()
    }
}

impl BatchReceiver for rtrb::Consumer<u64> {
    #[inline(always)]
    fn take(&mut self, most: usize, mut see: impl FnMut(&[u64])) -> usize {
        // What it remembers to be there is enough, as a rule.
        let count = match self.cached_slots() {
            known if known >= most => most,
            _ => self.slots().min(most),
        };
        if count == 0 {
            return 0;
        }
        let chunk = self.read_chunk(count).expect("so many are there");
        let (front, back) = chunk.as_slices();
        see(front);
        see(back);
        chunk.commit_all();
        count
    }
}

impl BatchQueue for Rtrb {
    const NAME: &'static str = "rtrb";
    type Sender = rtrb::Producer<u64>;
    type Receiver = rtrb::Consumer<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(capacity)
    }
}

impl RecordSender for rtrb::Producer<u8> {
    #[inline(always)]
    fn write(&mut self, record: &[u8]) -> bool {
        let Ok(mut chunk) = self.write_chunk_uninit(PREFIX + record.len()) else {
            return false;
        };
        let (front, back) = chunk.as_mut_slices();
        // SAFETY: the chunk is as long as both together, and all of it is written before it is committed.
        unsafe {
            put(front, back, 0, &prefix(record));
            put(front, back, PREFIX, record);
            chunk.commit_all();
        }
        true
    }
}

impl RecordReceiver for rtrb::Consumer<u8> {
    #[inline(always)]
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
        let ready = self.slots();
        if ready == 0 {
            return 0;
        }
        let chunk = self.read_chunk(ready).expect("so many are there");
        let (front, back) = chunk.as_slices();
        let (records, _) = walk(front, back, usize::MAX, see);
        chunk.commit_all();
        records
    }
}

impl RecordReceiver for ByOne<rtrb::Consumer<u8>> {
    #[inline(always)]
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
        let len = match self.0.read_chunk(PREFIX) {
            Ok(chunk) => {
                let mut bytes = chunk.as_slices().0.iter().chain(chunk.as_slices().1);
                let mut next = || *bytes.next().expect("the chunk is as long");
                usize::from(u16::from_le_bytes([next(), next()]))
            }
            Err(_) => return 0,
        };
        let chunk = self
            .0
            .read_chunk(PREFIX + len)
            .expect("records are committed whole");
        let (front, back) = chunk.as_slices();
        let (records, _) = walk(front, back, 1, see);
        chunk.commit_all();
        records
    }
}

impl RecordQueue for Rtrb {
    const NAME: &'static str = "rtrb";
    type Sender = rtrb::Producer<u8>;
    type Receiver = rtrb::Consumer<u8>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(bytes)
    }
}

impl RecordQueue for RtrbByOne {
    const NAME: &'static str = "rtrb by one";
    type Sender = rtrb::Producer<u8>;
    type Receiver = ByOne<rtrb::Consumer<u8>>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        let (producer, consumer) = rtrb::RingBuffer::new(bytes);
        (producer, ByOne(consumer))
    }
}

pub(crate) struct Ringbuf;
pub(crate) struct RingbufByOne;

impl BatchSender for ringbuf::HeapProd<u64> {
    #[inline(always)]
    fn push_all(&mut self, items: &[u64]) -> bool {
        use ringbuf::traits::{Observer, Producer};
        self.vacant_len() >= items.len() && self.push_slice(items) == items.len()
    }
}

impl BatchReceiver for ringbuf::HeapCons<u64> {
    #[inline(always)]
    fn take(&mut self, most: usize, mut see: impl FnMut(&[u64])) -> usize {
        use ringbuf::traits::{Consumer, Raw};
        let (front, back) = self.as_slices();
        let front = &front[..front.len().min(most)];
        let back = &back[..back.len().min(most - front.len())];
        see(front);
        see(back);
        let count = front.len() + back.len();
        // SAFETY: so many are there, and `u64` need not be dropped.
        unsafe { self.advance_read_index(count) };
        count
    }
}

impl BatchQueue for Ringbuf {
    const NAME: &'static str = "ringbuf";
    type Sender = ringbuf::HeapProd<u64>;
    type Receiver = ringbuf::HeapCons<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        ringbuf::traits::Split::split(ringbuf::HeapRb::new(capacity))
    }
}

impl RecordSender for ringbuf::HeapProd<u8> {
    #[inline(always)]
    fn write(&mut self, record: &[u8]) -> bool {
        use ringbuf::traits::{Producer, Raw};
        let needed = PREFIX + record.len();
        let (front, back) = self.vacant_slices_mut();
        if front.len() + back.len() < needed {
            return false;
        }
        // SAFETY: there is room for both, and all of it is written before the index advances.
        unsafe {
            put(front, back, 0, &prefix(record));
            put(front, back, PREFIX, record);
            self.advance_write_index(needed);
        }
        true
    }
}

/// Reads up to `most` records.
#[inline(always)]
fn read_ringbuf(
    ring: &mut ringbuf::HeapCons<u8>,
    most: usize,
    see: impl FnMut(&[u8], &[u8]),
) -> usize {
    use ringbuf::traits::{Consumer, Raw};
    let (front, back) = ring.as_slices();
    let (records, bytes) = walk(front, back, most, see);
    if records > 0 {
        // SAFETY: the records were there, and bytes need not be dropped.
        unsafe { ring.advance_read_index(bytes) };
    }
    records
}

impl RecordReceiver for ringbuf::HeapCons<u8> {
    #[inline(always)]
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
        read_ringbuf(self, usize::MAX, see)
    }
}

impl RecordReceiver for ByOne<ringbuf::HeapCons<u8>> {
    #[inline(always)]
    fn read(&mut self, see: impl FnMut(&[u8], &[u8])) -> usize {
        read_ringbuf(&mut self.0, 1, see)
    }
}

impl RecordQueue for Ringbuf {
    const NAME: &'static str = "ringbuf";
    type Sender = ringbuf::HeapProd<u8>;
    type Receiver = ringbuf::HeapCons<u8>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        ringbuf::traits::Split::split(ringbuf::HeapRb::new(bytes))
    }
}

impl RecordQueue for RingbufByOne {
    const NAME: &'static str = "ringbuf by one";
    type Sender = ringbuf::HeapProd<u8>;
    type Receiver = ByOne<ringbuf::HeapCons<u8>>;

    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        let (producer, consumer) = ringbuf::traits::Split::split(ringbuf::HeapRb::new(bytes));
        (producer, ByOne(consumer))
    }
}

pub(crate) struct Gil;

impl BatchSender for gil::spsc::Sender<u64> {
    #[inline(always)]
    fn push_all(&mut self, items: &[u64]) -> bool {
        // The slots up to the end of its block: all capacities here are multiples of a batch.
        let room = self.write_buffer();
        if room.len() < items.len() {
            return false;
        }
        for (slot, item) in room.iter_mut().zip(items) {
            slot.write(*item);
        }
        // SAFETY: so many slots have just been written.
        unsafe { self.commit(items.len()) };
        true
    }
}

impl BatchReceiver for gil::spsc::Receiver<u64> {
    #[inline(always)]
    fn take(&mut self, most: usize, mut see: impl FnMut(&[u64])) -> usize {
        let mut guard = self.read_guard();
        let ready = guard.as_slice();
        let count = ready.len().min(most);
        see(&ready[..count]);
        guard.advance(count);
        count
    }
}

impl BatchQueue for Gil {
    const NAME: &'static str = "gil";
    type Sender = gil::spsc::Sender<u64>;
    type Receiver = gil::spsc::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        gil::spsc::channel(NonZeroUsize::new(capacity).expect("no suite has queues without room"))
    }
}

type Bbqueue = bbqueue::nicknames::YakiNiku;

pub(crate) struct BbqueueByOne;

impl RecordSender for bbqueue::prod_cons::framed::FramedProducer<&'static Bbqueue> {
    #[inline(always)]
    fn write(&mut self, record: &[u8]) -> bool {
        let len = u16::try_from(record.len()).expect("records are short");
        let Ok(mut grant) = self.grant(len) else {
            return false;
        };
        grant.copy_from_slice(record);
        grant.commit(len);
        true
    }
}

impl RecordReceiver for bbqueue::prod_cons::framed::FramedConsumer<&'static Bbqueue> {
    #[inline(always)]
    fn read(&mut self, mut see: impl FnMut(&[u8], &[u8])) -> usize {
        let Ok(grant) = bbqueue::prod_cons::framed::FramedConsumer::read(self) else {
            return 0;
        };
        see(&grant, &[]);
        grant.release();
        1
    }
}

impl RecordQueue for BbqueueByOne {
    const NAME: &'static str = "bbqueue by one";
    type Sender = bbqueue::prod_cons::framed::FramedProducer<&'static Bbqueue>;
    type Receiver = bbqueue::prod_cons::framed::FramedConsumer<&'static Bbqueue>;

    // Halves that borrow the queue are faster than those that count references for each grant. A sample leaks one.
    fn new(bytes: usize) -> (Self::Sender, Self::Receiver) {
        let storage = bbqueue::traits::storage::BoxedSlice::new(bytes);
        let queue: &'static Bbqueue = Box::leak(Box::new(Bbqueue::new_with_storage(storage)));
        (queue.framed_producer(), queue.framed_consumer())
    }
}
