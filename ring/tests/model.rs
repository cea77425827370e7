//! Random scripts of all operations, against a queue that is obviously right.

mod witness;

use chunkring::spsc::{Consumer, Producer};
use chunkring::{
    Builder, Control, OwnedChunk, Policy, PopError, PushError, ReserveError, ResizeError, TakeError,
};
use proptest::prelude::*;
use std::collections::VecDeque;
use witness::{Ledger, Witness};

/// One step of a script. Numbers are cut down to what the shape makes interesting.
#[derive(Clone, Debug)]
enum Step {
    Push,
    /// Reserve, fill, and commit; either of the latter may be less than the former.
    Reserve {
        count: usize,
        fill: usize,
        commit: usize,
    },
    /// Reserve, fill, and drop the grant.
    Abandon {
        count: usize,
        fill: usize,
    },
    Seal,
    RequestSeal,
    SealIfRequested,
    /// Reserve more than a chunk holds.
    ReserveTooMuch {
        beyond: usize,
    },
    Pop,
    Read {
        release: usize,
    },
    /// Read, and drop the slice.
    Look,
    TakeChunk,
    /// Move so many items out of the oldest chunk that was taken out, and drop it.
    EmptyChunk {
        count: usize,
    },
    SetChunks(usize),
    SetChunkLen(usize),
    Resize(usize, usize),
    SetPolicy(Policy),
    /// Extend the producer by so many items, of which it drops those that are refused.
    Extend {
        count: usize,
    },
    Trim,
    DropProducer,
    DropConsumer,
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0..12_usize;
    prop_oneof![
        40 => Just(Step::Push),
        30 => (n.clone(), n.clone(), n.clone())
            .prop_map(|(count, fill, commit)| Step::Reserve { count, fill, commit }),
        5 => (n.clone(), n.clone()).prop_map(|(count, fill)| Step::Abandon { count, fill }),
        3 => prop_oneof![0..3_usize, Just(usize::MAX)]
            .prop_map(|beyond| Step::ReserveTooMuch { beyond }),
        40 => Just(Step::Pop),
        25 => n.clone().prop_map(|release| Step::Read { release }),
        5 => Just(Step::Look),
        8 => Just(Step::Seal),
        3 => Just(Step::RequestSeal),
        3 => Just(Step::SealIfRequested),
        12 => Just(Step::TakeChunk),
        5 => n.clone().prop_map(|count| Step::EmptyChunk { count }),
        5 => (1..8_usize).prop_map(Step::SetChunks),
        5 => (1..12_usize).prop_map(Step::SetChunkLen),
        3 => (1..12_usize, 1..8_usize).prop_map(|(len, chunks)| Step::Resize(len, chunks)),
        6 => policy().prop_map(Step::SetPolicy),
        5 => n.clone().prop_map(|count| Step::Extend { count }),
        3 => Just(Step::Trim),
        1 => Just(Step::DropProducer),
        1 => Just(Step::DropConsumer),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::Refuse),
        Just(Policy::Overwrite),
        (1..8_usize).prop_map(|max_chunks| Policy::Grow { max_chunks }),
    ]
}

fn origin() -> impl Strategy<Value = usize> {
    let near = |edge: usize| (0..40_usize).prop_map(move |back| edge - back);
    prop_oneof![
        Just(0),
        near(usize::MAX),
        near(isize::MAX as usize),
        near(u32::MAX as usize),
        any::<usize>(),
    ]
}

/// A chunk in traffic: what decides on room and on what can be read side by side.
#[derive(Debug, Default)]
struct ModelChunk {
    len: usize,
    /// Slots that cannot be used again, whether they held an item or not.
    gone: usize,
    /// Items put in.
    put: usize,
    /// Items taken out.
    taken: usize,
    /// Whether the consumer has found an item in it, so that it is not overwritten.
    held: bool,
    /// Items that the consumer's last look has told of.
    seen: usize,
    /// Whether it was closed by then.
    seen_closed: bool,
}

/// A ring as its documentation describes it.
#[derive(Debug)]
struct Model {
    chunk_len: usize,
    chunks: usize,
    traffic: VecDeque<ModelChunk>,
    items: VecDeque<usize>,
    /// Items of the oldest chunk that the consumer knows of and has not taken.
    found: usize,
    /// Whether the consumer knows that the oldest chunk is closed.
    found_closed: bool,
    seal_wanted: bool,
    policy: Policy,
    overwritable: bool,
    /// Items that were overwritten.
    overwritten: Vec<usize>,
    /// How many were refused for want of a chunk.
    refused_full: usize,
    /// How many were refused since the consumer was gone.
    refused_closed: usize,
}

impl Model {
    fn most_chunks(&self) -> usize {
        match self.policy {
            Policy::Grow { max_chunks } => self.chunks.max(max_chunks),
            _ => self.chunks,
        }
    }

    /// Drops the oldest chunks that are not being read until one more fits; says whether it does.
    fn overwrite(&mut self) -> bool {
        while self.traffic.len() >= self.most_chunks() {
            let held = self.traffic.front().is_some_and(|chunk| chunk.held);
            if self.policy != Policy::Overwrite || held && self.chunks == 1 {
                return false;
            }
            let kept = if held {
                self.traffic[0].put - self.traffic[0].taken
            } else {
                0
            };
            let chunk = self.traffic.remove(usize::from(held)).expect("it is there");
            self.overwritten
                .extend(self.items.drain(kept..kept + chunk.put));
        }
        true
    }

    fn rest(&self) -> usize {
        self.traffic
            .back()
            .map_or(0, |chunk| chunk.len - chunk.gone)
    }

    fn free_slots(&self) -> usize {
        self.rest() + self.most_chunks().saturating_sub(self.traffic.len()) * self.chunk_len
    }

    /// Closes the chunk that is being filled, but for one in which there is nothing.
    fn seal(&mut self) {
        if let Some(last) = self.traffic.back_mut() {
            if last.put > 0 {
                last.gone = last.len;
            }
        }
    }

    /// Whether `count` slots side by side can be had. Closes chunks as the ring does.
    fn make_room(&mut self, count: usize, consumer_gone: bool) -> Result<(), Refusal> {
        if count <= self.rest() {
            return Ok(());
        }
        let refusal = if count > self.chunk_len {
            return Err(Refusal::TooLong);
        } else if consumer_gone {
            self.refused_closed += count;
            Some(Refusal::Closed)
        } else if !self.overwrite() {
            self.refused_full += count;
            Some(Refusal::Full)
        } else {
            None
        };
        let only = self.traffic.len() == 1;
        if let Some(last) = self.traffic.back_mut() {
            if refusal.is_none() || (refusal == Some(Refusal::Full) && only) {
                last.gone = last.len;
            }
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None => {
                self.traffic.push_back(ModelChunk {
                    len: self.chunk_len,
                    ..ModelChunk::default()
                });
                Ok(())
            }
        }
    }

    fn put(&mut self, items: impl IntoIterator<Item = usize>) {
        for item in items {
            let chunk = self.traffic.back_mut().expect("room was made");
            chunk.gone += 1;
            chunk.put += 1;
            self.items.push_back(item);
        }
    }

    /// The consumer looks for items: chunks that were closed after their last item had been taken
    /// go back, and what there is in the oldest chunk is known, and in the others, too, as long as they
    /// cannot be overwritten.
    fn look(&mut self) -> usize {
        while let Some(chunk) = self.traffic.front() {
            if chunk.gone < chunk.len || chunk.taken < chunk.put {
                break;
            }
            self.traffic.pop_front();
        }
        if let Some(oldest) = self.traffic.front_mut() {
            oldest.held |= oldest.put > 0;
        }
        if !self.overwritable {
            for chunk in &mut self.traffic {
                chunk.seen = chunk.put;
                chunk.seen_closed = chunk.gone == chunk.len;
            }
        }
        let oldest = self.traffic.front();
        self.found = oldest.map_or(0, |chunk| chunk.put - chunk.taken);
        self.found_closed = oldest.is_some_and(|chunk| chunk.gone == chunk.len);
        self.found
    }

    /// What the last look has told of the chunk that is the oldest by now, where that is something.
    fn recall(&mut self) {
        while let (0, Some(oldest)) = (self.found, self.traffic.front()) {
            self.found = oldest.seen.saturating_sub(oldest.taken);
            self.found_closed = oldest.seen_closed;
            if self.found > 0 || !oldest.seen_closed {
                break;
            }
            self.traffic.pop_front();
        }
    }

    /// As [`look`](Self::look), but where something is known to be there already.
    fn look_if_needed(&mut self) -> usize {
        self.recall();
        if self.found == 0 {
            self.look()
        } else {
            self.found
        }
    }

    /// As [`look`](Self::look), but where all that the oldest chunk will ever have is known already.
    fn look_for_all(&mut self) -> usize {
        self.recall();
        if self.found > 0 && self.found_closed {
            self.found
        } else {
            self.look()
        }
    }

    /// The consumer takes items that it has found. The chunk goes back with its last one, but where
    /// it was closed after the look.
    fn take(&mut self, count: usize) -> Vec<usize> {
        if count > 0 {
            self.found -= count;
            let oldest = self.traffic.front_mut().expect("items are there");
            oldest.taken += count;
            let used = if self.found_closed {
                oldest.put
            } else {
                oldest.len
            };
            if oldest.taken == used {
                self.traffic.pop_front();
            }
        }
        self.items.drain(..count).collect()
    }

    /// The consumer takes the oldest chunk out, with the items that are in it; `None` where it is
    /// still being filled.
    fn take_chunk(&mut self) -> Option<(usize, Vec<usize>)> {
        if !self.found_closed {
            return None;
        }
        self.found = 0;
        let chunk = self.traffic.pop_front().expect("a closed chunk was found");
        let items = self.items.drain(..chunk.put - chunk.taken).collect();
        Some((chunk.len, items))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    Full,
    Closed,
    TooLong,
}

/// A chunk that was taken out, with what must be in it.
struct Held {
    chunk: OwnedChunk<Witness>,
    len: usize,
    items: Vec<usize>,
}

/// Bytes of a chunk of so many slots.
fn chunk_bytes(len: usize) -> usize {
    128 + len * size_of::<Witness>()
}

fn check_settings(control: &Control<Witness>, model: &Model, held: &[Held], trimmed: bool) {
    assert_eq!(control.chunks(), model.chunks);
    assert_eq!(control.chunk_len(), model.chunk_len);
    assert_eq!(control.max_chunks(), 16);
    let in_use = control.chunks_in_use();
    let statistics = control.statistics();
    assert_eq!(
        (
            statistics.chunk_len,
            statistics.chunks,
            statistics.policy,
            statistics.chunks_in_use,
            statistics.pool_used,
        ),
        (
            model.chunk_len,
            model.chunks,
            model.policy,
            in_use,
            control.pool().used(),
        )
    );
    assert_eq!(
        (
            statistics.overwritten,
            statistics.refused_full,
            statistics.refused_closed,
            statistics.refused_memory,
        ),
        (
            model.overwritten.len(),
            model.refused_full,
            model.refused_closed,
            0,
        )
    );
    assert!(in_use >= model.traffic.len());
    assert!(in_use <= model.chunks.max(model.traffic.len()));
    let least = model.traffic.iter().map(|chunk| chunk_bytes(chunk.len));
    let least = least.chain(held.iter().map(|held| chunk_bytes(held.len)));
    let least = least.sum::<usize>();
    let used = control.pool().used();
    assert!(used >= least);
    if trimmed {
        assert_eq!((in_use, used), (model.traffic.len(), least));
    }
    for held in held {
        assert!(
            held.chunk
                .iter()
                .map(Witness::number)
                .eq(held.items.iter().copied())
        );
    }
}

/// What a script has established about the halves that are left.
fn check_counts(
    producer: Option<&Producer<Witness>>,
    consumer: Option<&Consumer<Witness>>,
    model: &Model,
) {
    let capacity = model.chunk_len * model.chunks;
    // After a shrink there may be more in the ring than it is to have.
    let in_traffic = model.traffic.iter().map(|chunk| chunk.len).sum();
    if let Some(consumer) = consumer {
        assert_eq!(consumer.len(), model.items.len());
        assert_eq!(consumer.is_empty(), model.items.is_empty());
        assert_eq!(consumer.is_full(), model.free_slots() == 0);
        assert_eq!(consumer.is_closed(), producer.is_none());
        assert_eq!(consumer.capacity(), capacity);
    }
    if let Some(producer) = producer {
        // Of the oldest chunk, the producer may still count what has been taken.
        let exact = model.items.len();
        let stale = model.traffic.front().map_or(0, |chunk| chunk.taken);
        let len = producer.len();
        assert!(
            (exact..=exact + stale).contains(&len),
            "{len} of {exact} + {stale}"
        );
        assert!(len <= capacity.max(in_traffic));
        assert_eq!(producer.is_empty(), len == 0);
        assert_eq!(producer.free_slots(), model.free_slots());
        assert_eq!(producer.is_full(), model.free_slots() == 0);
        assert_eq!(producer.is_closed(), consumer.is_none());
        assert_eq!(producer.capacity(), capacity);
    }
}

fn run(builder: &Builder, mut model: Model, steps: &[Step]) {
    let ledger = Ledger::new();
    let mut made = 0;
    let (producer, consumer) = builder.spsc().unwrap();
    let control = producer.control();
    let (mut producer, mut consumer) = (Some(producer), Some(consumer));
    let mut held = Vec::<Held>::new();
    for step in steps {
        let consumer_gone = consumer.is_none();
        let nothing = if producer.is_some() {
            PopError::Empty
        } else {
            PopError::Closed
        };
        match (step, &mut producer, &mut consumer) {
            (Step::Push, Some(producer), _) => {
                let number = made;
                made += 1;
                let result = producer.push(ledger.item());
                // A push closes nothing: it comes to the next chunk only at the end of one.
                match (result, model.make_room(1, consumer_gone)) {
                    (Ok(()), Ok(())) => model.put([number]),
                    (Err(PushError::Full(item)), Err(Refusal::Full))
                    | (Err(PushError::Closed(item)), Err(Refusal::Closed)) => {
                        assert_eq!(item.number(), number);
                    }
                    other => panic!("push gave {other:?}"),
                }
            }
            (
                &Step::Reserve {
                    count,
                    fill,
                    commit,
                },
                Some(producer),
                _,
            ) => {
                let chunk_len = model.chunk_len;
                match (
                    producer.reserve(count),
                    model.make_room(count, consumer_gone),
                ) {
                    (Ok(mut grant), Ok(())) => {
                        let fill = fill.min(count);
                        let commit = commit.min(fill);
                        for _ in 0..fill {
                            grant.push(ledger.item()).unwrap();
                        }
                        assert_eq!((grant.len(), grant.filled()), (count, fill));
                        grant.commit(commit);
                        model.put(made..made + commit);
                        let drops = ledger.drops();
                        assert!(drops[made..made + commit].iter().all(|drops| *drops == 0));
                        assert!(drops[made + commit..].iter().all(|drops| *drops == 1));
                        made += fill;
                    }
                    (Err(ReserveError::Full), Err(Refusal::Full))
                    | (Err(ReserveError::Closed), Err(Refusal::Closed)) => {}
                    (Err(error), Err(Refusal::TooLong)) => assert_eq!(
                        error,
                        ReserveError::TooLong {
                            requested: count,
                            chunk_len
                        }
                    ),
                    other => panic!("reserve gave {other:?}"),
                }
            }
            (&Step::Abandon { count, fill }, Some(producer), _) => {
                let room = model.make_room(count, consumer_gone);
                let grant = producer.reserve(count);
                assert_eq!(grant.is_ok(), room.is_ok());
                if let Ok(mut grant) = grant {
                    for _ in 0..fill.min(count) {
                        grant.push(ledger.item()).unwrap();
                        made += 1;
                    }
                }
            }
            (&Step::ReserveTooMuch { beyond }, Some(producer), _) => {
                let longest = model.chunk_len.max(model.rest());
                let requested = (longest + 1).saturating_add(beyond);
                let chunk_len = model.chunk_len;
                let refused = producer.reserve(requested).unwrap_err();
                assert_eq!(
                    refused,
                    ReserveError::TooLong {
                        requested,
                        chunk_len
                    }
                );
            }
            (Step::Pop, _, Some(consumer)) => match (consumer.pop(), model.look_if_needed()) {
                (Ok(item), 1..) => assert_eq!(vec![item.number()], model.take(1)),
                (Err(error), 0) => {
                    assert_eq!(error, nothing);
                    let len = producer.as_ref().map_or(0, Producer::len);
                    assert_eq!(len, 0, "the consumer has said that it found nothing");
                }
                other => panic!("pop gave {other:?}"),
            },
            (&Step::Read { release }, _, Some(consumer)) => {
                match (consumer.read(), model.look_for_all()) {
                    (Ok(slice), ready @ 1..) => {
                        assert_eq!(slice.len(), ready);
                        let expected = model.items.iter().take(ready).copied();
                        assert!(slice.iter().map(Witness::number).eq(expected));
                        let count = release.min(ready);
                        slice.release(count);
                        let drops = ledger.drops();
                        assert!(model.take(count).iter().all(|number| drops[*number] == 1));
                    }
                    (Err(error), 0) => assert_eq!(error, nothing),
                    other => panic!("read gave {other:?}"),
                }
            }
            (Step::Look, _, Some(consumer)) => {
                let ready = consumer.read().map_or(0, |slice| slice.len());
                assert_eq!(ready, model.look_for_all());
            }
            (Step::Seal, Some(producer), _) => {
                producer.seal();
                model.seal();
            }
            (Step::RequestSeal, _, Some(consumer)) => {
                consumer.request_seal();
                model.seal_wanted = true;
            }
            (Step::SealIfRequested, Some(producer), _) => {
                let wanted = std::mem::take(&mut model.seal_wanted);
                assert_eq!(producer.seal_if_requested(), wanted);
                if wanted {
                    model.seal();
                }
            }
            (Step::TakeChunk, _, Some(consumer)) => match (consumer.take_chunk(), model.look()) {
                (Ok(chunk), 1..) => {
                    let (len, items) = model.take_chunk().expect("the chunk is complete");
                    assert_eq!(chunk.len(), items.len());
                    held.push(Held { chunk, len, items });
                }
                (Err(TakeError::Open), 1..) => assert_eq!(model.take_chunk(), None),
                (Err(error), 0) => assert_eq!(error, TakeError::from(nothing)),
                other => panic!("take_chunk gave {other:?}"),
            },
            (&Step::EmptyChunk { count }, ..) if !held.is_empty() => {
                let Held { chunk, items, .. } = held.remove(0);
                let mut taken = chunk.into_iter();
                let moved = taken.by_ref().take(count).map(|item| item.number());
                assert!(moved.eq(items.iter().copied().take(count)));
                assert_eq!(taken.len(), items.len().saturating_sub(count));
                drop(taken);
                let drops = ledger.drops();
                assert!(items.iter().all(|number| drops[*number] == 1));
            }
            (&Step::SetChunks(chunks), ..) => {
                control.set_chunks(chunks).unwrap();
                model.chunks = chunks;
            }
            (&Step::SetChunkLen(len), ..) => {
                control.set_chunk_len(len).unwrap();
                model.chunk_len = len;
            }
            (&Step::Resize(len, chunks), ..) => {
                control.resize(len, chunks).unwrap();
                (model.chunk_len, model.chunks) = (len, chunks);
            }
            (&Step::SetPolicy(policy), ..) => match control.set_policy(policy) {
                Ok(()) => model.policy = policy,
                Err(error) => {
                    assert_eq!(
                        (error, policy),
                        (ResizeError::NotOverwritable, Policy::Overwrite)
                    );
                    assert!(!model.overwritable);
                }
            },
            (&Step::Extend { count }, Some(producer), _) => {
                producer.extend((0..count).map(|_| ledger.item()));
                for number in made..made + count {
                    if model.make_room(1, consumer_gone).is_ok() {
                        model.put([number]);
                    }
                }
                made += count;
            }
            (Step::Trim, ..) => control.trim(),
            (Step::DropProducer, Some(_), _) => {
                producer = None;
                model.seal();
            }
            (Step::DropConsumer, ..) => consumer = None,
            _ => {}
        }
        check_counts(producer.as_ref(), consumer.as_ref(), &model);
        let drops = ledger.drops();
        if producer.is_some() || consumer.is_some() {
            assert!(model.items.iter().all(|number| drops[*number] == 0));
            assert!(model.overwritten.iter().all(|number| drops[*number] == 1));
            check_settings(&control, &model, &held, matches!(step, Step::Trim));
        }
    }
    let keep_control = steps.len() % 2 == 0;
    let control = keep_control.then_some(control);
    drop(producer);
    drop(consumer);
    let drops = ledger.drops();
    for Held { chunk, items, .. } in held {
        assert!(items.iter().all(|number| drops[*number] == 0));
        drop(chunk);
    }
    if let Some(control) = control {
        control.trim();
        assert_eq!((control.pool().used(), control.chunks_in_use()), (0, 0));
    }
    ledger.assert_each_dropped_once(made);
}

proptest! {
    #![proptest_config(ProptestConfig {
        // More than by default, unless the environment says how many.
        cases: std::env::var_os("PROPTEST_CASES")
            .map_or(500, |_| ProptestConfig::default().cases),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_script_goes_as_documented_and_every_item_is_dropped_once(
        chunk_len in 1..10_usize,
        chunks in 1..6_usize,
        preallocate in any::<bool>(),
        policy in policy(),
        overwritable in any::<bool>(),
        origin in origin(),
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let builder = Builder::new(chunk_len, chunks)
            .preallocate(preallocate)
            .policy(policy)
            .overwritable(overwritable)
            .origin(origin);
        let model = Model {
            chunk_len,
            chunks,
            traffic: VecDeque::new(),
            items: VecDeque::new(),
            found: 0,
            found_closed: false,
            seal_wanted: false,
            policy,
            overwritable: overwritable || policy == Policy::Overwrite,
            overwritten: Vec::new(),
            refused_full: 0,
            refused_closed: 0,
        };
        run(&builder, model, &steps);
    }
}
