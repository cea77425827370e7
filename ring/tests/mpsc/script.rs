//! Any script of operations on a ring with up to three producers, driven by one thread, against a ring as its
//! documentation describes it: chunks that are queues of slots. A script is bytes, so that a fuzzer can
//! write it as well.

use chunkring::mpsc::{Consumer, Producer};
use chunkring::{Builder, Control, OwnedChunk, Policy, Pool, PopError, ReserveError, TakeError};
use std::collections::VecDeque;

/// Chunks that the rings can be given.
const MAX_CHUNKS: usize = 8;

/// The script: bytes, of which each operation takes what it needs.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn next(&mut self) -> Option<usize> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(usize::from(*byte))
    }

    /// A number below `bound`; 0 at the script's end.
    fn below(&mut self, bound: usize) -> usize {
        self.next().unwrap_or(0) % bound
    }

    fn policy(&mut self) -> Policy {
        match self.below(4) {
            0 | 1 => Policy::Refuse,
            2 => Policy::Overwrite,
            _ => Policy::Grow {
                max_chunks: 1 + self.below(MAX_CHUNKS),
            },
        }
    }
}

/// What there is in a slot that was claimed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slot {
    Pending,
    Unused,
    Item(usize),
}

/// A chunk in traffic.
#[derive(Debug)]
struct Chunk {
    seq: usize,
    len: usize,
    /// Those that were claimed.
    slots: Vec<Slot>,
    /// Whether no more will be.
    closed: bool,
}

impl Chunk {
    fn is_open(&self) -> bool {
        !self.closed && self.slots.len() < self.len
    }

    fn is_complete(&self) -> bool {
        !self.is_open() && !self.slots.contains(&Slot::Pending)
    }

    /// Slots that are claimed or never will be.
    fn used(&self) -> usize {
        if self.is_open() {
            self.slots.len()
        } else {
            self.len
        }
    }

    fn items(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().skip(from).filter_map(|slot| match slot {
            Slot::Item(number) => Some(*number),
            _ => None,
        })
    }
}

/// Slots of a grant.
#[derive(Clone, Copy, Debug)]
struct Claim {
    seq: usize,
    index: usize,
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    Full,
    Closed,
    TooLong,
}

#[derive(Debug)]
struct Model {
    chunk_len: usize,
    chunks: usize,
    policy: Policy,
    /// Chunks that the table has entries for, at most.
    entries: usize,
    next_seq: usize,
    /// The consumer's chunk, and the items in it that it knows of.
    held: Option<Chunk>,
    position: usize,
    limit: usize,
    /// How far in its chunk the consumer has said to be.
    told: usize,
    /// Those that the consumer has not taken, the newest last.
    queue: VecDeque<Chunk>,
    overwritten: usize,
    refused_full: usize,
    refused_closed: usize,
    consumer_gone: bool,
}

impl Model {
    fn newest(&mut self) -> Option<&mut Chunk> {
        self.queue.back_mut().or(self.held.as_mut())
    }

    fn in_traffic(&self) -> usize {
        self.queue.len() + usize::from(self.held.is_some())
    }

    fn most_chunks(&self) -> usize {
        match self.policy {
            Policy::Grow { max_chunks } => self.chunks.max(max_chunks),
            _ => self.chunks,
        }
    }

    fn free_slots(&mut self) -> usize {
        let rest = self
            .newest()
            .filter(|chunk| chunk.is_open())
            .map_or(0, |chunk| chunk.len - chunk.slots.len());
        rest + self.most_chunks().saturating_sub(self.in_traffic()) * self.chunk_len
    }

    fn seal(&mut self) {
        if let Some(chunk) = self.newest() {
            if !chunk.slots.is_empty() {
                chunk.closed = true;
            }
        }
    }

    /// Claims slots, and says which; closes and overwrites chunks as the ring does. Where the ring was
    /// refused `memory`, there is no new chunk.
    fn claim(&mut self, count: usize, memory: bool) -> Result<Claim, Refusal> {
        if let Some(chunk) = self.newest().filter(|chunk| chunk.is_open()) {
            if chunk.len - chunk.slots.len() >= count {
                let index = chunk.slots.len();
                chunk.slots.resize(index + count, Slot::Pending);
                let seq = chunk.seq;
                return Ok(Claim { seq, index, count });
            }
        }
        if count > self.chunk_len {
            return Err(Refusal::TooLong);
        }
        if self.consumer_gone {
            self.refused_closed += count;
            return Err(Refusal::Closed);
        }
        if !memory || !self.make_room() {
            // The chunk that is the next to be overwritten makes room itself.
            if memory && self.policy == Policy::Overwrite && self.queue.len() == 1 {
                let newest = &mut self.queue[0];
                if newest.is_open() {
                    newest.closed = true;
                    return self.claim(count, memory);
                }
            }
            if self.in_traffic() <= 1 {
                if let Some(chunk) = self.newest() {
                    chunk.closed = true;
                }
            }
            self.refused_full += count;
            return Err(Refusal::Full);
        }
        if let Some(chunk) = self.newest() {
            chunk.closed = true;
        }
        self.queue.push_back(Chunk {
            seq: self.next_seq,
            len: self.chunk_len,
            slots: Vec::new(),
            closed: false,
        });
        self.next_seq += 1;
        self.claim(count, memory)
    }

    fn make_room(&mut self) -> bool {
        // The table has come round to the chunk that the consumer holds.
        let held_stands_there = |held: &Chunk| held.seq + self.entries == self.next_seq;
        if self.held.as_ref().is_some_and(held_stands_there)
            && !self.held.as_ref().is_some_and(Chunk::is_complete)
        {
            return false;
        }
        while self.in_traffic() >= self.most_chunks() {
            let held = self.in_traffic() - self.queue.len();
            if self.policy != Policy::Overwrite
                || held >= self.most_chunks()
                || !self.queue.front().is_some_and(Chunk::is_complete)
            {
                return false;
            }
            let oldest = self.queue.pop_front();
            self.overwritten += oldest.map_or(0, |chunk| chunk.items(0).count());
        }
        true
    }

    /// Answers a claim: so many items, the rest unused.
    fn answer(&mut self, claim: Claim, first: usize, items: usize) {
        if claim.count == 0 {
            return;
        }
        let chunk = self
            .queue
            .iter_mut()
            .chain(&mut self.held)
            .find(|chunk| chunk.seq == claim.seq)
            .expect("a claim keeps its chunk in the ring");
        for at in 0..claim.count {
            let slot = &mut chunk.slots[claim.index + at];
            assert_eq!(*slot, Slot::Pending);
            *slot = if at < items {
                Slot::Item(first + at)
            } else {
                Slot::Unused
            };
        }
    }

    /// The consumer looks for items. How many it has found side by side.
    fn look(&mut self) -> usize {
        loop {
            if let Some(chunk) = &self.held {
                while let Some(slot) = chunk.slots.get(self.limit) {
                    match slot {
                        Slot::Item(_) => {}
                        Slot::Unused if self.limit == self.position => self.position += 1,
                        _ => break,
                    }
                    self.limit += 1;
                }
                if self.limit != self.position {
                    return self.limit - self.position;
                }
                if self.limit < chunk.slots.len() || chunk.is_open() {
                    self.told = self.position;
                    return 0;
                }
                self.held = None;
            }
            let Some(next) = self.queue.pop_front() else {
                return 0;
            };
            self.held = Some(next);
            (self.position, self.limit, self.told) = (0, 0, 0);
        }
    }

    fn take(&mut self, count: usize) -> Vec<usize> {
        let Some(chunk) = &self.held else {
            return Vec::new();
        };
        let items = chunk.items(self.position).take(count).collect::<Vec<_>>();
        assert_eq!(items.len(), count);
        self.position += count;
        if self.position == chunk.len {
            self.held = None;
        }
        items
    }

    /// Items that the consumer can take one after the other.
    fn ready(&self) -> usize {
        let mut count = 0;
        let held = self.held.iter().map(|chunk| (chunk, self.position));
        for (chunk, from) in held.chain(self.queue.iter().map(|chunk| (chunk, 0))) {
            for slot in &chunk.slots[from..] {
                match slot {
                    Slot::Pending => return count,
                    Slot::Unused => {}
                    Slot::Item(_) => count += 1,
                }
            }
        }
        count
    }

    /// Slots that a producer counts.
    fn claimed(&self) -> usize {
        let held = self.held.as_ref().map_or(0, |held| held.used() - self.told);
        held + self.queue.iter().map(Chunk::used).sum::<usize>()
    }
}

struct Handle<T> {
    producer: Producer<T>,
    /// Slots of a grant that it has forgotten.
    forgotten: Option<Claim>,
}

/// A chunk that was taken out, with what must be in it.
type Owned<T> = (OwnedChunk<T>, Vec<usize>);

struct Run<T, M, N> {
    control: Control<T>,
    handles: Vec<Handle<T>>,
    consumer: Option<Consumer<T>>,
    model: Model,
    owned: Vec<Owned<T>>,
    made: usize,
    make: M,
    number: N,
    /// Whether memory may be refused.
    tight: bool,
}

/// Runs a script; tells how many items it has made. `make` is told an item's number, which `number` tells
/// again. Grants that are forgotten are empty, so that nothing is leaked.
pub(crate) fn run<T, M, N>(bytes: &[u8], make: M, number: N) -> usize
where
    M: FnMut(usize) -> T,
    N: Fn(&T) -> usize,
{
    let mut script = Script(bytes);
    let chunk_len = 1 + script.below(8);
    let chunks = 1 + script.below(5);
    let tight = script.below(4) == 0;
    let budget = if tight { 700 } else { usize::MAX };
    let origin = match script.below(3) {
        0 => 0,
        1 => usize::MAX - script.below(32),
        _ => u32::MAX as usize - script.below(32),
    };
    let pool = Pool::new(budget).unwrap();
    let policy = if tight {
        Policy::Refuse
    } else {
        script.policy()
    };
    let builder = Builder::new(chunk_len, chunks)
        .max_chunks(MAX_CHUNKS)
        .preallocate(script.below(4) == 0)
        .headroom(script.below(3))
        .policy(policy)
        .pool(&pool)
        .origin(origin);
    let Ok((producer, consumer)) = builder.mpsc::<T>() else {
        assert!(tight, "only the budget can refuse such a ring");
        return 0;
    };
    let mut run = Run {
        control: producer.control(),
        handles: vec![Handle {
            producer,
            forgotten: None,
        }],
        consumer: Some(consumer),
        model: Model {
            chunk_len: chunk_len.next_power_of_two(),
            chunks,
            policy,
            entries: 2 * MAX_CHUNKS,
            next_seq: 0,
            held: None,
            position: 0,
            limit: 0,
            told: 0,
            queue: VecDeque::new(),
            overwritten: 0,
            refused_full: 0,
            refused_closed: 0,
            consumer_gone: false,
        },
        owned: Vec::new(),
        made: 0,
        make,
        number,
        tight,
    };
    while let Some(operation) = script.next() {
        run.step(operation % 32, &mut script);
        run.check();
        assert!(pool.used() <= budget);
    }
    let Run {
        control,
        handles,
        consumer,
        owned,
        made,
        ..
    } = run;
    match script.0.len() + made % 3 {
        0 => drop((handles, consumer, control)),
        1 => drop((consumer, control, handles)),
        _ => drop((control, consumer, handles)),
    }
    drop(owned);
    pool.trim();
    assert_eq!(pool.used(), 0);
    made
}

impl<T, M, N> Run<T, M, N>
where
    M: FnMut(usize) -> T,
    N: Fn(&T) -> usize,
{
    fn step(&mut self, operation: usize, script: &mut Script<'_>) {
        let which = script.below(self.handles.len().max(1));
        match operation {
            0..=6 if !self.handles.is_empty() => self.push(which),
            7..=10 if !self.handles.is_empty() => self.reserve(which, script),
            11 if !self.handles.is_empty() => {
                let count = script.below(6);
                for _ in 0..count {
                    if !self.push_from_iterator(which) {
                        break;
                    }
                }
            }
            12..=16 => self.pop(),
            17..=19 => self.read(script),
            20 | 21 => self.take_chunk(),
            22 if !self.handles.is_empty() => {
                self.end_forgotten(which);
                self.handles[which].producer.seal();
                self.model.seal();
            }
            23 if self.consumer.is_some() => {
                self.consumer.as_ref().unwrap().seal();
                self.model.seal();
            }
            24 | 25 => self.resize(script),
            26 => self.control.trim(),
            27 if !self.tight => {
                let policy = script.policy();
                self.control.set_policy(policy).unwrap();
                self.model.policy = policy;
            }
            28 if (1..3).contains(&self.handles.len()) => {
                let producer = self.handles[which].producer.clone();
                self.handles.push(Handle {
                    producer,
                    forgotten: None,
                });
            }
            29 if self.handles.len() > 1 || (self.handles.len() == 1 && script.below(8) == 0) => {
                self.end_forgotten(which);
                drop(self.handles.swap_remove(which));
                if self.handles.is_empty() {
                    self.model.seal();
                }
            }
            30 if script.below(16) == 0 => {
                self.consumer = None;
                self.model.consumer_gone = true;
                self.model.told = self.model.position;
            }
            31 if !self.owned.is_empty() => {
                let (chunk, items) = self.owned.swap_remove(script.below(self.owned.len()));
                let taken = script.below(items.len() + 1);
                let mut rest = chunk.into_iter();
                let numbers = rest.by_ref().take(taken).map(|item| (self.number)(&item));
                assert!(numbers.eq(items[..taken].iter().copied()));
                assert_eq!(rest.len(), items.len() - taken);
            }
            _ => {}
        }
    }

    fn end_forgotten(&mut self, which: usize) {
        if let Some(claim) = self.handles[which].forgotten.take() {
            self.model.answer(claim, 0, 0);
        }
    }

    fn push(&mut self, which: usize) {
        self.end_forgotten(which);
        let item = (self.make)(self.made);
        let number = self.made;
        self.made += 1;
        match self.handles[which].producer.push(item) {
            Ok(()) => {
                let claim = self.model.claim(1, true).expect("it was pushed");
                self.model.answer(claim, number, 1);
            }
            Err(refused) => {
                let refusal = self.refusal(1, refused.is_closed());
                assert_eq!(refused.is_closed(), refusal == Refusal::Closed);
                assert_eq!((self.number)(&refused.into_inner()), number);
            }
        }
    }

    /// What the model says of a refused claim.
    fn refusal(&mut self, count: usize, closed: bool) -> Refusal {
        // A tight budget can refuse what the shape would allow.
        let memory = !self.tight || closed;
        self.model.claim(count, memory).expect_err("it was refused")
    }

    /// As `push_iter` of one item, which counts as no refusal.
    fn push_from_iterator(&mut self, which: usize) -> bool {
        self.end_forgotten(which);
        let number = self.made;
        let before = (self.model.refused_full, self.model.refused_closed);
        let make = &mut self.make;
        let mut items = std::iter::once(number).map(make);
        let pushed = self.handles[which].producer.push_iter(&mut items);
        if pushed == 1 {
            self.made += 1;
            let claim = self.model.claim(1, true).expect("it was pushed");
            self.model.answer(claim, number, 1);
        } else {
            self.refusal(1, self.consumer.is_none());
            (self.model.refused_full, self.model.refused_closed) = before;
        }
        pushed == 1
    }

    fn reserve(&mut self, which: usize, script: &mut Script<'_>) {
        self.end_forgotten(which);
        let count = match script.below(16) {
            0 => usize::MAX - script.below(3),
            _ => script.below(10),
        };
        let fill = script.below(count.min(16) + 1);
        let keep = script.below(fill + 1);
        let end = script.below(4);
        let chunk_len = self.model.chunk_len;
        let Handle {
            producer,
            forgotten,
        } = &mut self.handles[which];
        let error = match producer.reserve(count) {
            Ok(mut grant) => {
                let claim = match count {
                    0 => Claim {
                        seq: 0,
                        index: 0,
                        count,
                    },
                    _ => self.model.claim(count, true).expect("it was granted"),
                };
                assert_eq!(grant.len(), count);
                let fill = if end == 3 { 0 } else { fill };
                for _ in 0..fill {
                    assert!(grant.push((self.make)(self.made)).is_ok());
                    self.made += 1;
                }
                let first = self.made - fill;
                match end {
                    0 => {
                        drop(grant);
                        self.model.answer(claim, 0, 0);
                    }
                    3 => {
                        std::mem::forget(grant);
                        *forgotten = Some(claim).filter(|_| count > 0);
                    }
                    1 => {
                        grant.commit_all();
                        self.model.answer(claim, first, fill);
                    }
                    _ => {
                        grant.commit(keep);
                        self.model.answer(claim, first, keep);
                    }
                }
                return;
            }
            Err(error) => error,
        };
        match (error, self.refusal(count, error.is_closed())) {
            (ReserveError::Full, Refusal::Full) | (ReserveError::Closed, Refusal::Closed) => {}
            (error, Refusal::TooLong) => assert_eq!(
                error,
                ReserveError::TooLong {
                    requested: count,
                    chunk_len
                }
            ),
            other => panic!("reserve gave {other:?}"),
        }
    }

    fn nothing(&self) -> PopError {
        if self.handles.is_empty() {
            PopError::Closed
        } else {
            PopError::Empty
        }
    }

    fn pop(&mut self) {
        let nothing = self.nothing();
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let found = match self.model.limit - self.model.position {
            0 => self.model.look(),
            found => found,
        };
        match consumer.pop() {
            Ok(item) => assert_eq!(vec![(self.number)(&item)], self.model.take(1)),
            Err(error) => assert_eq!((error, found), (nothing, 0)),
        }
    }

    fn read(&mut self, script: &mut Script<'_>) {
        let nothing = self.nothing();
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let found = self.model.look();
        match consumer.read() {
            Ok(ready) => {
                assert_eq!(ready.len(), found);
                let numbers = ready.iter().map(&self.number).collect::<Vec<_>>();
                let count = script.below(found + 2).min(found);
                ready.release(count);
                assert_eq!(numbers[..count], self.model.take(count));
            }
            Err(error) => assert_eq!((error, found), (nothing, 0)),
        }
    }

    fn take_chunk(&mut self) {
        let nothing = TakeError::from(self.nothing());
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let found = self.model.look();
        let complete = self.model.held.as_ref().is_some_and(Chunk::is_complete);
        match consumer.take_chunk() {
            Ok(chunk) => {
                assert!(found > 0 && complete);
                let held = self.model.held.take().unwrap();
                let items = held.items(self.model.position).collect::<Vec<_>>();
                self.model.limit = self.model.position;
                assert_eq!(chunk.len(), items.len());
                self.owned.push((chunk, items));
            }
            Err(TakeError::Open) => assert!(found > 0 && !complete),
            Err(error) => assert_eq!((error, found), (nothing, 0)),
        }
    }

    fn resize(&mut self, script: &mut Script<'_>) {
        let (chunk_len, chunks) = (script.below(10), script.below(10));
        let possible = chunk_len > 0 && (1..=MAX_CHUNKS).contains(&chunks);
        assert_eq!(self.control.resize(chunk_len, chunks).is_ok(), possible);
        if possible {
            self.model.chunk_len = chunk_len.next_power_of_two();
            self.model.chunks = chunks;
        }
    }

    /// What both sides and the control say.
    fn check(&mut self) {
        let model = &mut self.model;
        let free = model.free_slots();
        let capacity = model.chunk_len * model.chunks;
        for Handle { producer, .. } in &self.handles {
            assert_eq!(producer.len(), model.claimed());
            assert_eq!(producer.is_empty(), model.claimed() == 0);
            assert_eq!(producer.free_slots(), free);
            assert_eq!(producer.is_full(), free == 0);
            assert_eq!(producer.capacity(), capacity);
            assert_eq!(producer.chunk_len(), model.chunk_len);
            assert_eq!(producer.is_closed(), self.consumer.is_none());
        }
        if let Some(consumer) = &self.consumer {
            let ready = model.ready();
            assert_eq!(consumer.len(), ready);
            assert_eq!(consumer.is_empty(), ready == 0);
            assert_eq!(consumer.is_full(), free == 0);
            assert_eq!(consumer.capacity(), capacity);
            assert_eq!(consumer.is_closed(), self.handles.is_empty());
        }
        let statistics = self.control.statistics();
        assert_eq!(
            (statistics.chunk_len, statistics.chunks),
            (model.chunk_len, model.chunks)
        );
        assert_eq!(statistics.policy, model.policy);
        assert_eq!(statistics.overwritten, model.overwritten);
        let refused = statistics.refused_full + statistics.refused_memory;
        assert!(self.tight || statistics.refused_memory == 0);
        assert_eq!(refused, model.refused_full);
        assert_eq!(statistics.refused_closed, model.refused_closed);
        if self.consumer.is_some() || !self.handles.is_empty() {
            let in_use = statistics.chunks_in_use;
            assert!(in_use >= model.in_traffic().min(MAX_CHUNKS));
            assert!(in_use <= MAX_CHUNKS);
        }
        for (chunk, items) in &self.owned {
            let numbers = chunk.iter().map(&self.number);
            assert!(numbers.eq(items.iter().copied()));
        }
    }
}
