//! Idle chunks are taken by whoever is first, the producer or one who trims, and by nobody else.

#![cfg(loom)]

mod in_order;

use chunkring::spsc::Producer;
use chunkring::{Builder, Control};
use in_order::Inbox;
use loom::thread;
use loom_tests::{Tracked, model};

/// A ring whose `chunks` chunks of one item are all idle.
fn idle(chunks: usize) -> (Producer<Tracked>, Inbox, Control<Tracked>) {
    let (mut producer, consumer) = Builder::new(1, chunks).max_chunks(chunks).spsc().unwrap();
    let control = producer.control();
    assert_eq!(in_order::push(&mut producer, 0, chunks), chunks);
    let mut inbox = Inbox::new(consumer);
    inbox.drain();
    assert_eq!(inbox.taken, chunks);
    (producer, inbox, control)
}

/// Everything is taken by now; no chunk is lost, and none is there twice.
fn ends_in_order(mut producer: Producer<Tracked>, mut inbox: Inbox, control: &Control<Tracked>) {
    inbox.drain();
    let room = producer.free_slots();
    assert_eq!(in_order::push(&mut producer, inbox.taken, room + 1), room);
    assert!(control.chunks_in_use() >= room);
    inbox.drain();
    control.trim();
    assert_eq!(control.chunks_in_use(), 0);
    assert_eq!(control.pool().used(), 0, "a chunk is lost");
}

#[test]
fn idle_chunks_are_reclaimed_or_trimmed() {
    model("idle_chunks_are_reclaimed_or_trimmed", 88, || {
        let (mut producer, mut inbox, control) = idle(2);
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        assert_eq!(in_order::push(&mut producer, 2, 2), 2);
        inbox.look(1);
        trimmer.join().unwrap();
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn two_trim_at_once() {
    model("two_trim_at_once", 21, || {
        let (producer, inbox, control) = idle(2);
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        control.set_chunks(1).unwrap();
        trimmer.join().unwrap();
        assert_eq!(control.pool().used(), 0);
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn a_chunk_is_trimmed_once_it_was_read() {
    model("a_chunk_is_trimmed_once_it_was_read", 5, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let receiver = thread::spawn(move || {
            let mut inbox = Inbox::new(consumer);
            inbox.look(2);
            inbox
        });
        control.trim();
        let inbox = receiver.join().unwrap();
        assert_eq!(inbox.taken, 2);
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn all_three_at_once() {
    model("all_three_at_once", 410, || {
        let (mut producer, consumer) = Builder::new(1, 1).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        producer.push(Tracked::new(0)).unwrap();
        let sender = thread::spawn(move || {
            let pushed = 1 + in_order::push(&mut producer, 1, 2);
            (producer, pushed)
        });
        let trimmer = thread::spawn({
            let control = control.clone();
            move || control.trim()
        });
        let mut inbox = Inbox::new(consumer);
        inbox.look(2);
        let (producer, pushed) = sender.join().unwrap();
        trimmer.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, pushed);
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn fewer_chunks_while_some_are_idle() {
    model("fewer_chunks_while_some_are_idle", 350, || {
        let (mut producer, mut inbox, control) = idle(2);
        let setter = thread::spawn({
            let control = control.clone();
            move || control.set_chunks(1).unwrap()
        });
        let pushed = in_order::push(&mut producer, 2, 2);
        assert!(pushed >= 1);
        inbox.look(2);
        setter.join().unwrap();
        assert_eq!(inbox.taken, 2 + pushed);
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn a_third_idle_chunk_leaves_the_table() {
    model("a_third_idle_chunk_leaves_the_table", 12, || {
        let (mut producer, consumer) = Builder::new(1, 4).max_chunks(4).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 4), 4);
        let receiver = thread::spawn(move || {
            let mut inbox = Inbox::new(consumer);
            inbox.look(4);
            inbox
        });
        let pushed = in_order::push(&mut producer, 4, 1);
        let mut inbox = receiver.join().unwrap();
        inbox.drain();
        assert_eq!(inbox.taken, 4 + pushed);
        // One chunk may be in the pool, and one more has been freed.
        assert!(control.chunks_in_use() <= 3);
        ends_in_order(producer, inbox, &control);
    });
}

#[test]
fn no_more_chunks_are_counted_than_there_are() {
    model("no_more_chunks_are_counted_than_there_are", 3, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        // So that every entry of the table has had a chunk.
        for number in 0..2 {
            producer.push(Tracked::new(number)).unwrap();
            drop(consumer.pop().unwrap());
            control.trim();
        }
        producer.push(Tracked::new(2)).unwrap();
        let receiver = thread::spawn(move || {
            let control = consumer.control();
            drop(consumer.pop().unwrap());
            control.trim();
            consumer
        });
        // The count's own order: what was trimmed had been given back before.
        assert!(control.chunks_in_use() <= 1);
        receiver.join().unwrap();
        assert_eq!(control.chunks_in_use(), 0);
    });
}

#[test]
fn a_chunk_taken_out_is_not_counted() {
    model("a_chunk_taken_out_is_not_counted", 3, || {
        let (mut producer, mut consumer) = Builder::new(1, 1).max_chunks(1).spsc().unwrap();
        let control = producer.control();
        producer.push(Tracked::new(0)).unwrap();
        let receiver = thread::spawn(move || {
            let chunk = consumer.take_chunk().unwrap();
            (consumer, chunk)
        });
        if producer.free_slots() == 1 {
            assert_eq!(control.chunks_in_use(), 0);
        }
        drop(receiver.join().unwrap());
    });
}

#[test]
fn idle_chunks_behind_an_empty_entry_are_found() {
    model("idle_chunks_behind_an_empty_entry_are_found", 13, || {
        let (mut producer, consumer) = Builder::new(1, 2).max_chunks(2).spsc().unwrap();
        let control = producer.control();
        assert_eq!(in_order::push(&mut producer, 0, 2), 2);
        let mut inbox = Inbox::new(consumer);
        let chunk = inbox.consumer.take_chunk().unwrap();
        inbox.taken = 1;
        inbox.pop().unwrap();
        let owner = thread::spawn(move || drop(chunk));
        control.trim();
        assert_eq!(control.chunks_in_use(), 0);
        owner.join().unwrap();
        control.pool().trim();
        assert_eq!(control.pool().used(), 0, "an idle chunk was not found");
        drop(producer);
    });
}

#[test]
fn two_idle_chunks_circulate() {
    model("two_idle_chunks_circulate", 1, || {
        let (producer, _inbox, control) = idle(4);
        assert_eq!(control.chunks_in_use(), 2);
        control.pool().trim();
        let two = control.pool().used();
        drop((producer, _inbox));
        let (_producer, _inbox, control) = idle(4);
        // One more waits in the pool, which has a single place under loom; the fourth is freed.
        assert_eq!(control.pool().used(), two / 2 * 3);
        let setter = thread::spawn({
            let control = control.clone();
            move || control.set_chunks(3).unwrap()
        });
        let _ = control.chunks_in_use();
        setter.join().unwrap();
        assert_eq!(control.chunks_in_use(), 1, "the oldest was one too many");
    });
}

#[test]
fn a_chunk_that_is_used_again_and_again_stays_in_the_table() {
    model(
        "a_chunk_that_is_used_again_and_again_stays_in_the_table",
        1,
        || {
            // More than two, so that there could be too many.
            let (mut producer, consumer) = Builder::new(1, 4).max_chunks(4).spsc().unwrap();
            let control = producer.control();
            let mut inbox = Inbox::new(consumer);
            for number in 0..5 {
                assert_eq!(in_order::push(&mut producer, number, 1), 1);
                inbox.pop().unwrap();
                assert_eq!(control.chunks_in_use(), 1, "after item {number}");
            }
        },
    );
}
