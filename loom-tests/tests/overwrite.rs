//! A ring that overwrites: what the consumer has begun to read is never taken away from it, what it has
//! missed is counted, and every item is dropped once.

#![cfg(loom)]

use chunkring::spsc::{Consumer, Producer};
use chunkring::{Builder, Control, Policy};
use loom::thread;
use loom_tests::{Tracked, model};

fn overwriting(chunk_len: usize, chunks: usize) -> Builder {
    Builder::new(chunk_len, chunks)
        .max_chunks(chunks)
        .policy(Policy::Overwrite)
}

/// Pushes numbers; tells how many were accepted. A refused one is not tried again.
fn push(producer: &mut Producer<Tracked>, numbers: std::ops::Range<usize>) -> usize {
    numbers
        .filter(|number| producer.push(Tracked::new(*number)).is_ok())
        .count()
}

/// What a consumer has got, always newer than what it had got before.
struct Inbox {
    consumer: Consumer<Tracked>,
    taken: usize,
    newest: Option<usize>,
}

impl Inbox {
    fn new(consumer: Consumer<Tracked>) -> Self {
        Inbox {
            consumer,
            taken: 0,
            newest: None,
        }
    }

    fn note(&mut self, number: usize) {
        assert!(self.newest < Some(number), "an item came late");
        self.newest = Some(number);
        self.taken += 1;
    }

    /// Looks so many times for one item.
    fn look(&mut self, times: usize) {
        for _ in 0..times {
            if let Ok(item) = self.consumer.pop() {
                self.note(item.value());
            }
        }
    }

    fn drain(&mut self) {
        while let Ok(item) = self.consumer.pop() {
            self.note(item.value());
        }
    }

    /// Takes the oldest chunk out, if it is complete.
    fn take_chunk(&mut self) {
        if let Ok(chunk) = self.consumer.take_chunk() {
            for item in chunk {
                self.note(item.value());
            }
        }
    }
}

/// Everything that was accepted was taken or overwritten, and nothing is left.
fn assert_all_told(producer: &Producer<Tracked>, inbox: &mut Inbox, accepted: usize) {
    inbox.drain();
    let statistics = producer.control().statistics();
    assert_eq!(inbox.taken + statistics.overwritten, accepted);
    assert!(producer.is_empty() && inbox.consumer.is_empty());
}

fn assert_no_memory(control: &Control<Tracked>) {
    control.trim();
    assert_eq!((control.chunks_in_use(), control.pool().used()), (0, 0));
}

/// One item beforehand and `more` while the consumer does something.
fn overwrite_while(ring: &Builder, more: usize, act: impl FnOnce(&mut Inbox)) {
    let (mut producer, consumer) = ring.spsc().unwrap();
    let control = producer.control();
    producer.push(Tracked::new(0)).unwrap();
    let sender = thread::spawn(move || {
        let accepted = 1 + push(&mut producer, 1..1 + more);
        (producer, accepted)
    });
    let mut inbox = Inbox::new(consumer);
    act(&mut inbox);
    let (producer, accepted) = sender.join().unwrap();
    assert!(control.chunks_in_use() <= control.chunks());
    assert_all_told(&producer, &mut inbox, accepted);
    drop((producer, inbox));
    assert_no_memory(&control);
}

#[test]
fn an_item_is_read_or_counted() {
    model("an_item_is_read_or_counted", 1600, || {
        overwrite_while(&overwriting(1, 2), 2, |inbox| inbox.look(2));
    });
}

#[test]
fn the_only_chunk_is_read_or_overwritten() {
    model("the_only_chunk_is_read_or_overwritten", 2100, || {
        overwrite_while(&overwriting(1, 1), 2, |inbox| inbox.look(2));
    });
}

#[test]
fn the_only_chunk_of_two_slots_is_read_or_overwritten() {
    model(
        "the_only_chunk_of_two_slots_is_read_or_overwritten",
        1400,
        || {
            overwrite_while(&overwriting(2, 1), 3, |inbox| inbox.look(2));
        },
    );
}

#[test]
fn a_chunk_is_taken_out_or_overwritten() {
    model("a_chunk_is_taken_out_or_overwritten", 1500, || {
        overwrite_while(&overwriting(1, 2), 3, |inbox| {
            inbox.take_chunk();
        });
    });
}

#[test]
fn a_chunk_of_two_is_taken_out_or_overwritten() {
    model("a_chunk_of_two_is_taken_out_or_overwritten", 3000, || {
        overwrite_while(&overwriting(2, 2), 5, |inbox| {
            inbox.look(1);
            inbox.take_chunk();
        });
    });
}

#[test]
fn what_is_held_stays_while_the_table_comes_round() {
    model(
        "what_is_held_stays_while_the_table_comes_round",
        300,
        || {
            let (mut producer, consumer) = overwriting(2, 2).spsc().unwrap();
            assert_eq!(push(&mut producer, 0..2), 2);
            let mut inbox = Inbox::new(consumer);
            inbox.look(1);
            assert_eq!(inbox.consumer.len(), 1);
            let sender = thread::spawn(move || {
                let accepted = 2 + push(&mut producer, 2..7);
                (producer, accepted)
            });
            inbox.look(1);
            assert_eq!(inbox.newest, Some(1), "it was held");
            inbox.look(1);
            let (producer, accepted) = sender.join().unwrap();
            assert_eq!(accepted, 7, "the consumer stood in the way");
            assert_all_told(&producer, &mut inbox, accepted);
        },
    );
}

#[test]
fn the_end_of_a_held_chunk_is_its_own() {
    model("the_end_of_a_held_chunk_is_its_own", 300, || {
        let (mut producer, consumer) = overwriting(2, 2).spsc().unwrap();
        assert_eq!(push(&mut producer, 0..1), 1);
        let mut inbox = Inbox::new(consumer);
        drop(inbox.consumer.read().unwrap());
        let sender = thread::spawn(move || {
            producer.seal();
            let accepted = 1 + push(&mut producer, 1..6);
            (producer, accepted)
        });
        inbox.look(1);
        assert_eq!(inbox.newest, Some(0), "it was held");
        inbox.look(1);
        let (producer, accepted) = sender.join().unwrap();
        assert_eq!(accepted, 6);
        assert_all_told(&producer, &mut inbox, accepted);
    });
}

#[test]
fn a_chunk_that_is_used_again_forgets_its_hole() {
    model("a_chunk_that_is_used_again_forgets_its_hole", 600, || {
        let (mut producer, consumer) = overwriting(2, 1).spsc().unwrap();
        assert_eq!(push(&mut producer, 0..1), 1);
        producer.seal();
        assert_eq!(push(&mut producer, 1..2), 1, "nobody reads it");
        let sender = thread::spawn(move || {
            let accepted = 2 + push(&mut producer, 2..4);
            (producer, accepted)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (producer, accepted) = sender.join().unwrap();
        assert_all_told(&producer, &mut inbox, accepted);
    });
}

#[test]
fn a_record_that_does_not_fit_overwrites() {
    model("a_record_that_does_not_fit_overwrites", 3000, || {
        let (mut producer, consumer) = overwriting(2, 1).spsc().unwrap();
        assert_eq!(push(&mut producer, 0..1), 1);
        let sender = thread::spawn(move || {
            let mut accepted = 1;
            for record in [1, 3] {
                if let Ok(mut grant) = producer.reserve(2) {
                    grant.push(Tracked::new(record)).unwrap();
                    grant.push(Tracked::new(record + 1)).unwrap();
                    grant.commit_all();
                    accepted += 2;
                }
            }
            (producer, accepted)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (producer, accepted) = sender.join().unwrap();
        assert_all_told(&producer, &mut inbox, accepted);
    });
}

#[test]
fn a_consumer_that_ends_leaves_the_rest_to_the_ring() {
    model(
        "a_consumer_that_ends_leaves_the_rest_to_the_ring",
        2400,
        || {
            let (mut producer, consumer) = overwriting(2, 2).spsc().unwrap();
            let control = producer.control();
            producer.push(Tracked::new(0)).unwrap();
            let sender = thread::spawn(move || {
                push(&mut producer, 1..5);
                drop(producer);
            });
            let mut inbox = Inbox::new(consumer);
            inbox.look(1);
            drop(inbox);
            sender.join().unwrap();
            assert_no_memory(&control);
        },
    );
}

#[test]
fn a_producer_that_ends_leaves_the_rest_to_the_consumer() {
    model(
        "a_producer_that_ends_leaves_the_rest_to_the_consumer",
        4200,
        || {
            let (mut producer, consumer) = overwriting(1, 2).spsc().unwrap();
            let control = producer.control();
            producer.push(Tracked::new(0)).unwrap();
            let sender = thread::spawn(move || {
                assert_eq!(push(&mut producer, 1..3), 2);
                drop(producer);
            });
            let mut inbox = Inbox::new(consumer);
            loop {
                match inbox.consumer.pop() {
                    Ok(item) => inbox.note(item.value()),
                    Err(nothing) if nothing.is_closed() => break,
                    Err(_) => thread::yield_now(),
                }
            }
            assert_eq!(inbox.newest, Some(2), "the newest one is never overwritten");
            assert_eq!(inbox.taken + control.statistics().overwritten, 3);
            sender.join().unwrap();
            drop(inbox);
            assert_no_memory(&control);
        },
    );
}

#[test]
fn both_halves_end_while_a_chunk_is_held() {
    model("both_halves_end_while_a_chunk_is_held", 4, || {
        let (mut producer, consumer) = overwriting(2, 2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(push(&mut producer, 0..1), 1);
        let mut inbox = Inbox::new(consumer);
        inbox.look(1);
        assert_eq!(push(&mut producer, 1..7), 6);
        let ender = thread::spawn(move || drop(inbox));
        drop(producer);
        ender.join().unwrap();
        assert_no_memory(&control);
    });
}

#[test]
fn counts_are_true_while_chunks_are_overwritten() {
    model("counts_are_true_while_chunks_are_overwritten", 7500, || {
        let (mut producer, consumer) = overwriting(1, 2).spsc().unwrap();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            assert_eq!(push(&mut producer, 1..3), 2);
            assert!((1..=3).contains(&producer.len()));
            producer
        });
        let mut inbox = Inbox::new(consumer);
        let known = inbox.consumer.len();
        assert!((1..=2).contains(&known), "{known} of two");
        inbox.look(1);
        assert!(inbox.consumer.len() <= 2);
        let mut producer = sender.join().unwrap();
        assert_eq!(inbox.consumer.len(), producer.len());
        assert_eq!(inbox.consumer.is_full(), producer.is_full());
        assert_all_told(&producer, &mut inbox, 3);
        push(&mut producer, 3..5);
        assert!(inbox.consumer.is_full() && producer.is_full());
    });
}

#[test]
fn holes_do_not_count_while_chunks_are_overwritten() {
    model(
        "holes_do_not_count_while_chunks_are_overwritten",
        3400,
        || {
            let (mut producer, consumer) = overwriting(2, 2).spsc().unwrap();
            push(&mut producer, 0..1);
            producer.seal();
            let sender = thread::spawn(move || {
                push(&mut producer, 1..2);
                producer.seal();
                push(&mut producer, 2..3);
                producer
            });
            let mut inbox = Inbox::new(consumer);
            let known = inbox.consumer.len();
            assert!((1..=2).contains(&known), "{known} of two");
            inbox.look(1);
            let producer = sender.join().unwrap();
            assert_eq!(inbox.consumer.len(), producer.len());
            assert_all_told(&producer, &mut inbox, 3);
        },
    );
}

#[test]
fn chunks_of_another_length_are_overwritten_too() {
    model("chunks_of_another_length_are_overwritten_too", 3600, || {
        let ring = overwriting(1, 2);
        let (mut producer, consumer) = ring.spsc().unwrap();
        let control = producer.control();
        push(&mut producer, 0..2);
        control.set_chunk_len(2).unwrap();
        let sender = thread::spawn(move || {
            let accepted = 2 + push(&mut producer, 2..5);
            (producer, accepted)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (producer, accepted) = sender.join().unwrap();
        assert_eq!(accepted, 5);
        assert_all_told(&producer, &mut inbox, accepted);
        drop((producer, inbox));
        assert_no_memory(&control);
    });
}

#[test]
fn a_smaller_ring_overwrites_what_no_longer_fits() {
    model("a_smaller_ring_overwrites_what_no_longer_fits", 340, || {
        let (mut producer, consumer) = overwriting(1, 3).spsc().unwrap();
        let control = producer.control();
        push(&mut producer, 0..3);
        control.set_chunks(1).unwrap();
        let sender = thread::spawn(move || {
            let accepted = 3 + push(&mut producer, 3..4);
            (producer, accepted)
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (producer, accepted) = sender.join().unwrap();
        assert_all_told(&producer, &mut inbox, accepted);
        drop((producer, inbox));
        assert_no_memory(&control);
    });
}

#[test]
fn where_there_always_is_an_item_one_is_found() {
    model("where_there_always_is_an_item_one_is_found", 6000, || {
        let (mut producer, mut consumer) = overwriting(1, 2).spsc().unwrap();
        assert_eq!(push(&mut producer, 0..2), 2);
        let sender = thread::spawn(move || {
            assert_eq!(push(&mut producer, 2..4), 2);
            producer
        });
        assert!(!consumer.is_empty());
        consumer.pop().expect("an item is always there");
        sender.join().unwrap();
    });
}

#[test]
fn a_look_at_nothing_holds_nothing() {
    // The other half has nothing to do meanwhile, so plain loads leave one execution.
    model("a_look_at_nothing_holds_nothing", 1, || {
        let (mut producer, mut consumer) = overwriting(1, 1).spsc().unwrap();
        // A chunk in which there is nothing.
        drop(producer.reserve(1).unwrap());
        let reader = thread::spawn(move || {
            assert!(consumer.pop().is_err());
            consumer
        });
        assert!(!producer.is_full() && producer.is_empty());
        let mut consumer = reader.join().unwrap();
        assert_eq!(push(&mut producer, 0..3), 3, "nobody reads it");
        assert_eq!(consumer.pop().unwrap().value(), 2);
    });
}
