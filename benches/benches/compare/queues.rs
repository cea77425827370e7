//! Queues of single `u64`: ours and the others', behind one trait.

use chunkring::{Control, mpsc, spsc};
use std::num::NonZeroUsize;
use std::sync::Arc;

pub(crate) trait Sender: Send {
    /// Whether `item` was accepted.
    fn push(&mut self, item: u64) -> bool;
}

pub(crate) trait Receiver: Send {
    fn pop(&mut self) -> Option<u64>;
}

pub(crate) trait Queue: 'static {
    const NAME: &'static str;
    type Sender: Sender;
    type Receiver: Receiver;
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);
}

/// Does something for one type of queue after the other.
pub(crate) trait Visitor {
    fn visit<Q: Queue>(&mut self);
}

/// The same for queues that take several producers.
pub(crate) trait SharedVisitor {
    fn visit_shared<Q: Queue<Sender: Clone>>(&mut self);
}

impl<V: Visitor> SharedVisitor for V {
    fn visit_shared<Q: Queue<Sender: Clone>>(&mut self) {
        self.visit::<Q>();
    }
}

/// All queues: those for several producers are used by one as well.
pub(crate) fn visit_all(capacity: usize, visitor: &mut impl Visitor) {
    visitor.visit::<Chunkring>();
    visitor.visit::<Exact>();
    visitor.visit::<Preallocated>();
    visitor.visit::<Rtrb>();
    visitor.visit::<Ringbuf>();
    visitor.visit::<Gil>();
    visitor.visit::<Nexus>();
    visitor.visit::<Omango>();
    // These have their capacity in their type.
    match capacity {
        64 => visit_sized::<64>(visitor),
        256 => visit_sized::<256>(visitor),
        1_024 => visit_sized::<1_024>(visitor),
        2_048 => visit_sized::<2_048>(visitor),
        65_536 => visit_sized::<65_536>(visitor),
        _ => unreachable!("no suite has queues of {capacity} items"),
    }
    visit_shared(visitor);
}

fn visit_sized<const N: usize>(visitor: &mut impl Visitor) {
    visitor.visit::<Heapless<N>>();
    visitor.visit::<Quickring<N>>();
}

/// The queues that take several producers.
pub(crate) fn visit_shared(visitor: &mut impl SharedVisitor) {
    visitor.visit_shared::<ChunkringMpsc>();
    visitor.visit_shared::<ExactMpsc>();
    visitor.visit_shared::<PreallocatedMpsc>();
    visitor.visit_shared::<ArrayQueue>();
    visitor.visit_shared::<NexusMpsc>();
    visitor.visit_shared::<GilMpsc>();
    visitor.visit_shared::<CrossbeamChannel>();
    visitor.visit_shared::<Concurrent>();
    visitor.visit_shared::<ThingBuf>();
    visitor.visit_shared::<Flume>();
    visitor.visit_shared::<Kanal>();
    visitor.visit_shared::<Std>();
    visitor.visit_shared::<Tokio>();
}

/// Our ring as `bounded` makes it for a capacity: with a chunk more than that.
pub(crate) fn shape(capacity: usize) -> chunkring::Builder {
    chunkring::Builder::with_capacity(capacity)
}

/// Our ring of exactly the capacity, in chunks of the same length.
pub(crate) fn exact_shape(capacity: usize) -> chunkring::Builder {
    let chunk_len = chunk_len(capacity);
    chunkring::Builder::new(chunk_len, capacity / chunk_len)
}

fn chunk_len(capacity: usize) -> usize {
    let ring = spsc::bounded::<u64>(capacity).expect("the shape is possible");
    ring.0.control().chunk_len()
}

/// Both shapes in words, for a suite's title.
pub(crate) fn shapes(capacity: usize) -> String {
    let [own, exact] = [shape(capacity), exact_shape(capacity)]
        .map(|shape| shape.spsc::<u64>().expect("the shapes are possible"))
        .map(|ring| ring.0.control())
        .map(|control| format!("{} chunks of {}", control.chunks(), control.chunk_len()));
    format!("chunkring: {own}; exact: {exact}")
}

/// One type of queue: its name, its halves, how it is made, and how items go in and come out. Attributes are the
/// sender's.
macro_rules! queue {
    (
        $(#[$of_sender:meta])* $queue:ident $(<const $n:ident>)?, $name:literal,
        new: |$capacity:pat_param| $new:expr,
        push: |$sender:ident: $sender_type:ty, $item:ident| $push:expr,
        pop: |$receiver:ident: $receiver_type:ty| $pop:expr
    ) => {
        pub(crate) struct $queue $(<const $n: usize>)?;

        const _: () = {
            pub(crate) struct Out $(<const $n: usize>)? ($receiver_type);
            $(#[$of_sender])*
            pub(crate) struct In $(<const $n: usize>)? ($sender_type);

            impl $(<const $n: usize>)? Sender for In $(<$n>)? {
                #[inline(always)]
                fn push(&mut self, $item: u64) -> bool {
                    let $sender = &mut self.0;
                    $push
                }
            }

            impl $(<const $n: usize>)? Receiver for Out $(<$n>)? {
                #[inline(always)]
                fn pop(&mut self) -> Option<u64> {
                    let $receiver = &mut self.0;
                    $pop
                }
            }

            impl $(<const $n: usize>)? Queue for $queue $(<$n>)? {
                const NAME: &'static str = $name;
                type Sender = In $(<$n>)?;
                type Receiver = Out $(<$n>)?;

                fn new($capacity: usize) -> (Self::Sender, Self::Receiver) {
                    let (sender, receiver) = $new;
                    (In(sender), Out(receiver))
                }
            }
        };
    };
}

/// Two handles of a queue that is used through a reference.
fn twice<T>(queue: T) -> (Arc<T>, Arc<T>) {
    let queue = Arc::new(queue);
    (Arc::clone(&queue), queue)
}

fn non_zero(capacity: usize) -> NonZeroUsize {
    NonZeroUsize::new(capacity).expect("no suite has queues without room")
}

/// Our rings: only the way in which they are made differs.
macro_rules! ours {
    ($queue:ident, $name:literal, $sender:ty, $receiver:ty, |$capacity:ident| $new:expr) => {
        pub(crate) struct $queue;

        impl Queue for $queue {
            const NAME: &'static str = $name;
            type Sender = $sender;
            type Receiver = $receiver;

            fn new($capacity: usize) -> (Self::Sender, Self::Receiver) {
                $new
            }
        }
    };
}

impl Sender for spsc::Producer<u64> {
    #[inline(always)]
    fn push(&mut self, item: u64) -> bool {
        spsc::Producer::push(self, item).is_ok()
    }
}

impl Receiver for spsc::Consumer<u64> {
    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        spsc::Consumer::pop(self).ok()
    }
}

/// A consumer, and a control that nobody uses while they both live.
impl Receiver for (spsc::Consumer<u64>, Control<u64>) {
    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        self.0.pop().ok()
    }
}

impl Sender for mpsc::Producer<u64> {
    #[inline(always)]
    fn push(&mut self, item: u64) -> bool {
        mpsc::Producer::push(self, item).is_ok()
    }
}

impl Receiver for mpsc::Consumer<u64> {
    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        mpsc::Consumer::pop(self).ok()
    }
}

ours!(
    Chunkring,
    "chunkring",
    spsc::Producer<u64>,
    spsc::Consumer<u64>,
    |capacity| shape(capacity).spsc().unwrap()
);
ours!(
    Exact,
    "chunkring exact",
    spsc::Producer<u64>,
    spsc::Consumer<u64>,
    |capacity| exact_shape(capacity).spsc().unwrap()
);
ours!(
    Preallocated,
    "chunkring preallocated",
    spsc::Producer<u64>,
    spsc::Consumer<u64>,
    |capacity| shape(capacity).preallocate(true).spsc().unwrap()
);
ours!(
    Controlled,
    "chunkring with a control",
    spsc::Producer<u64>,
    (spsc::Consumer<u64>, Control<u64>),
    |capacity| {
        let (producer, consumer) = shape(capacity).spsc().unwrap();
        let control = producer.control();
        (producer, (consumer, control))
    }
);
ours!(
    ChunkringMpsc,
    "chunkring mpsc",
    mpsc::Producer<u64>,
    mpsc::Consumer<u64>,
    |capacity| shape(capacity).mpsc().unwrap()
);
ours!(
    ExactMpsc,
    "chunkring mpsc exact",
    mpsc::Producer<u64>,
    mpsc::Consumer<u64>,
    |capacity| exact_shape(capacity).mpsc().unwrap()
);

ours!(
    PreallocatedMpsc,
    "chunkring mpsc preallocated",
    mpsc::Producer<u64>,
    mpsc::Consumer<u64>,
    |capacity| shape(capacity).preallocate(true).mpsc().unwrap()
);

queue!(Rtrb, "rtrb",
    new: |capacity| rtrb::RingBuffer::new(capacity),
    push: |ring: rtrb::Producer<u64>, item| ring.push(item).is_ok(),
    pop: |ring: rtrb::Consumer<u64>| ring.pop().ok());

queue!(Ringbuf, "ringbuf",
    new: |capacity| ringbuf::traits::Split::split(ringbuf::HeapRb::new(capacity)),
    push: |ring: ringbuf::HeapProd<u64>, item| {
        ringbuf::traits::Producer::try_push(ring, item).is_ok()
    },
    pop: |ring: ringbuf::HeapCons<u64>| ringbuf::traits::Consumer::try_pop(ring));

queue!(Gil, "gil",
    new: |capacity| gil::spsc::channel(non_zero(capacity)),
    push: |ring: gil::spsc::Sender<u64>, item| ring.try_send(item).is_ok(),
    pop: |ring: gil::spsc::Receiver<u64>| ring.try_recv());

queue!(Nexus, "nexus-queue",
    new: |capacity| nexus_queue::spsc::ring_buffer(capacity),
    push: |ring: nexus_queue::spsc::Producer<u64>, item| ring.push(item).is_ok(),
    pop: |ring: nexus_queue::spsc::Consumer<u64>| ring.pop());

queue!(Omango, "omango",
    new: |capacity| omango::queue::spsc::bounded(capacity as u32),
    push: |ring: omango::queue::spsc::BSender<u64>, item| ring.try_send(item).is_ok(),
    pop: |ring: omango::queue::spsc::BReceiver<u64>| ring.try_recv().ok());

// Its halves borrow the queue. A sample leaks one: half a megabyte for the longest.
queue!(Heapless<const N>, "heapless",
    new: |_| Box::leak(Box::new(heapless::spsc::Queue::<u64, N>::new())).split(),
    push: |ring: heapless::spsc::Producer<'static, u64>, item| ring.enqueue(item).is_ok(),
    pop: |ring: heapless::spsc::Consumer<'static, u64>| ring.dequeue());

queue!(Quickring<const N>, "quickring",
    new: |_| quickring::RingBuffer::<u64, N>::new().split(),
    push: |ring: quickring::Producer<u64, N>, item| ring.push(item),
    pop: |ring: quickring::Consumer<u64, N>| ring.pop());

queue!(#[derive(Clone)] ArrayQueue, "ArrayQueue",
    new: |capacity| twice(crossbeam_queue::ArrayQueue::new(capacity)),
    push: |queue: Arc<crossbeam_queue::ArrayQueue<u64>>, item| queue.push(item).is_ok(),
    pop: |queue: Arc<crossbeam_queue::ArrayQueue<u64>>| queue.pop());

queue!(#[derive(Clone)] NexusMpsc, "nexus-queue mpsc",
    new: |capacity| nexus_queue::mpsc::ring_buffer(capacity),
    push: |ring: nexus_queue::mpsc::Producer<u64>, item| ring.push(item).is_ok(),
    pop: |ring: nexus_queue::mpsc::Consumer<u64>| ring.pop());

queue!(#[derive(Clone)] GilMpsc, "gil mpsc",
    new: |capacity| gil::mpsc::channel(non_zero(capacity)),
    push: |ring: gil::mpsc::Sender<u64>, item| ring.try_send(item).is_ok(),
    pop: |ring: gil::mpsc::Receiver<u64>| ring.try_recv());

queue!(#[derive(Clone)] CrossbeamChannel, "crossbeam-channel",
    new: |capacity| crossbeam_channel::bounded(capacity),
    push: |channel: crossbeam_channel::Sender<u64>, item| channel.try_send(item).is_ok(),
    pop: |channel: crossbeam_channel::Receiver<u64>| channel.try_recv().ok());

queue!(#[derive(Clone)] Concurrent, "concurrent-queue",
    new: |capacity| twice(concurrent_queue::ConcurrentQueue::bounded(capacity)),
    push: |queue: Arc<concurrent_queue::ConcurrentQueue<u64>>, item| queue.push(item).is_ok(),
    pop: |queue: Arc<concurrent_queue::ConcurrentQueue<u64>>| queue.pop().ok());

queue!(#[derive(Clone)] ThingBuf, "thingbuf",
    new: |capacity| twice(thingbuf::ThingBuf::new(capacity)),
    push: |queue: Arc<thingbuf::ThingBuf<u64>>, item| queue.push(item).is_ok(),
    pop: |queue: Arc<thingbuf::ThingBuf<u64>>| queue.pop());

queue!(#[derive(Clone)] Flume, "flume",
    new: |capacity| flume::bounded(capacity),
    push: |channel: flume::Sender<u64>, item| channel.try_send(item).is_ok(),
    pop: |channel: flume::Receiver<u64>| channel.try_recv().ok());

queue!(#[derive(Clone)] Kanal, "kanal",
    new: |capacity| kanal::bounded(capacity),
    push: |channel: kanal::Sender<u64>, item| matches!(channel.try_send(item), Ok(true)),
    pop: |channel: kanal::Receiver<u64>| channel.try_recv().ok().flatten());

queue!(#[derive(Clone)] Std, "std sync_channel",
    new: |capacity| std::sync::mpsc::sync_channel(capacity),
    push: |channel: std::sync::mpsc::SyncSender<u64>, item| channel.try_send(item).is_ok(),
    pop: |channel: std::sync::mpsc::Receiver<u64>| channel.try_recv().ok());

queue!(#[derive(Clone)] Tokio, "tokio",
    new: |capacity| tokio::sync::mpsc::channel(capacity),
    push: |channel: tokio::sync::mpsc::Sender<u64>, item| channel.try_send(item).is_ok(),
    pop: |channel: tokio::sync::mpsc::Receiver<u64>| channel.try_recv().ok());
