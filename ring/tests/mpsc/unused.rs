//! Slots that were claimed and not used, or not answered: what they hold up, and for how long.

use crate::witness::{Ledger, assert_drop_panics};
use chunkring::{Builder, PopError, PushError, TakeError};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

#[test]
fn the_consumer_goes_past_every_slot_that_was_not_committed() {
    for chunk_len in [1, 2, 4, 16] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, 2).mpsc().unwrap();
        let mut next = 0;
        for round in 0..300 {
            let count = round % chunk_len + 1;
            let Ok(mut grant) = producer.reserve(count) else {
                assert!(consumer.pop().is_err() || chunk_len > 1);
                continue;
            };
            let keep = round * 7 % (count + 1);
            for number in next..next + count {
                grant.push(number).unwrap();
            }
            grant.commit(keep);
            assert_eq!(consumer.len(), keep);
            let taken = consumer.try_iter().collect::<Vec<_>>();
            assert!(taken.into_iter().eq(next..next + keep));
            next += keep;
            assert_eq!(consumer.read().unwrap_err(), PopError::Empty);
        }
        assert!(next > 50);
    }
}

#[test]
fn an_item_is_found_at_once_behind_however_many_unused_slots() {
    for before in [0, 1, 2, 62, 63, 64, 65, 100] {
        for unused in [1, 2, 62, 63, 64, 65, 127, 128, 129, 200] {
            for as_one in [false, true] {
                let (mut producer, mut consumer) = Builder::new(512, 1).mpsc().unwrap();
                for number in 0..before {
                    producer.push(number).unwrap();
                }
                let grants = if as_one { 1 } else { unused };
                for _ in 0..grants {
                    drop(producer.reserve(unused / grants).unwrap());
                }
                producer.push(before).unwrap();
                for number in 0..=before {
                    assert_eq!(consumer.pop(), Ok(number), "behind {unused}");
                }
                assert_eq!(consumer.pop(), Err(PopError::Empty));
            }
        }
    }
}

#[test]
fn a_slice_ends_at_an_unused_slot_and_the_next_begins_behind_it() {
    let (mut producer, mut consumer) = Builder::new(16, 1).mpsc().unwrap();
    for round in 0..3 {
        let mut grant = producer.reserve(4).unwrap();
        grant.extend_from_slice(&[round, round + 10, round + 20]);
        grant.commit(2);
    }
    assert_eq!(consumer.len(), 6);
    for round in 0..3 {
        let ready = consumer.read().unwrap();
        assert_eq!(*ready, [round, round + 10]);
        ready.release_all();
    }
}

#[test]
fn the_items_of_a_chunk_that_is_taken_out_lie_side_by_side_whatever_was_left_unused() {
    for taken in 0..5 {
        let ledger = Ledger::new();
        let builder = Builder::new(32, 2).headroom(8);
        let (mut producer, mut consumer) = builder.mpsc().unwrap();
        let mut committed = Vec::new();
        let mut made = 0;
        for (count, keep) in [(3, 2), (1, 0), (4, 4), (2, 0), (5, 1), (1, 1), (9, 3)] {
            let mut grant = producer.reserve(count).unwrap();
            for number in made..made + keep {
                grant.push(ledger.item()).unwrap();
                committed.push(number);
            }
            made += keep;
            grant.commit_all();
            let before = made;
            producer.push(ledger.item()).unwrap();
            committed.push(before);
            made += 1;
        }
        producer.seal();
        for number in &committed[..taken] {
            assert_eq!(consumer.pop().unwrap().number(), *number);
        }
        let chunk = consumer.take_chunk().unwrap();
        let numbers = chunk.iter().map(|item| item.number());
        assert!(numbers.eq(committed[taken..].iter().copied()));
        assert_eq!(consumer.pop().unwrap_err(), PopError::Empty);
        drop((producer, consumer));
        assert_eq!(ledger.total() as usize, taken);
        drop(chunk);
        ledger.assert_each_dropped_once(made);
    }
}

#[test]
fn a_header_adjoins_bytes_between_which_slots_were_left_unused() {
    let (mut producer, mut consumer) = Builder::new(16, 2).headroom(5).mpsc().unwrap();
    for word in [b"ab", b"cd"] {
        let mut grant = producer.reserve(5).unwrap();
        grant.extend_from_slice(word);
        grant.commit_all();
    }
    consumer.seal();
    let mut chunk = consumer.take_chunk().unwrap();
    assert_eq!(chunk.with_header(b"head:"), b"head:abcd");

    // Nothing was taken out, though the first slots were left unused.
    for looks in 0..3 {
        for _ in 0..2 {
            drop(producer.reserve(3).unwrap());
            producer.push_whole_slice(b"xyz").unwrap();
        }
        for _ in 0..looks {
            assert_eq!(*consumer.read().unwrap(), *b"xyz");
        }
        consumer.seal();
        let mut chunk = consumer.take_chunk().unwrap();
        assert_eq!(chunk.with_header(b"head:"), b"head:xyzxyz");
    }

    // Something was, and more slots are unused behind it.
    producer.push(b'a').unwrap();
    drop(producer.reserve(1).unwrap());
    producer.push(b'b').unwrap();
    assert_eq!(consumer.pop(), Ok(b'a'));
    consumer.seal();
    let mut chunk = consumer.take_chunk().unwrap();
    let header = catch_unwind(AssertUnwindSafe(|| chunk.with_header(b"h").to_vec()));
    assert!(header.is_err());
    assert_eq!(*chunk, *b"b");
}

#[test]
fn a_chunk_with_an_unanswered_slot_is_open_however_full_it_is() {
    let (mut slow, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
    let mut producer = slow.clone();
    producer.push(0).unwrap();
    let grant = slow.reserve(1).unwrap();
    producer.push_partial_slice(&[2, 3, 4]);
    assert_eq!(consumer.take_chunk().unwrap_err(), TakeError::Open);
    assert_eq!(consumer.len(), 1, "what comes behind the slot waits for it");
    drop(grant);
    assert_eq!(consumer.len(), 4);
    assert_eq!(*consumer.take_chunk().unwrap(), [0, 2, 3]);
}

#[test]
fn a_slow_grant_holds_up_what_was_claimed_behind_it_and_nothing_else() {
    let (mut slow, mut consumer) = Builder::new(4, 3).mpsc().unwrap();
    let mut fast = slow.clone();
    fast.push("before").unwrap();
    let mut grant = slow.reserve(2).unwrap();
    for _ in 0..9 {
        fast.push("behind").unwrap();
    }
    assert_eq!(fast.push("full"), Err(PushError::Full("full")));
    assert_eq!(consumer.pop(), Ok("before"));
    for _ in 0..3 {
        assert_eq!(consumer.pop(), Err(PopError::Empty));
        assert_eq!(consumer.read().unwrap_err(), PopError::Empty);
        assert!(consumer.is_empty());
        // Both sides say at once how it is, and nobody waits.
        assert_eq!(fast.push("full"), Err(PushError::Full("full")));
    }
    grant.push("slow").unwrap();
    grant.commit_all();
    assert_eq!(consumer.pop(), Ok("slow"));
    assert_eq!(consumer.try_iter().count(), 9);
}

#[test]
fn a_panic_while_a_grant_is_filled_jams_neither_the_others_nor_the_consumer() {
    let ledger = Ledger::new();
    let (mut failing, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
    let mut other = failing.clone();
    for round in 0..20 {
        let thread_ledger = ledger.clone();
        failing = thread::spawn(move || {
            let panic = catch_unwind(AssertUnwindSafe(|| {
                let mut grant = failing.reserve(2).unwrap();
                grant.push(thread_ledger.item()).unwrap();
                panic!("the writer fails half way");
            }));
            assert!(panic.is_err());
            failing
        })
        .join()
        .unwrap();
        other.push(ledger.item()).unwrap();
        assert_eq!(consumer.pop().unwrap().number(), 2 * round + 1);
        ledger.assert_each_dropped_once(2 * round + 2);
    }
}

#[test]
fn a_panic_of_the_iterator_leaves_its_slot_unused_and_jams_nothing() {
    let (mut producer, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
    for round in 0..10 {
        let mut items = (0..3).map(|number| {
            assert!(number < 2, "the third fails");
            round + number
        });
        let pushed = catch_unwind(AssertUnwindSafe(|| producer.push_iter(&mut items)));
        assert!(pushed.is_err());
        producer.push(7).unwrap();
        assert!(consumer.try_iter().eq([round, round + 1, 7]));
    }
}

#[test]
fn every_item_of_a_grant_is_dropped_once_when_a_drop_panics_and_others_go_on() {
    for keep in 0..3 {
        let ledger = Ledger::panicking_at(&[3]);
        let (mut producer, mut consumer) = Builder::new(8, 1).mpsc().unwrap();
        let mut other = producer.clone();
        let mut grant = producer.reserve(6).unwrap();
        (0..5).for_each(|_| grant.push(ledger.item()).unwrap());
        assert_drop_panics(|| grant.commit(keep));
        other.push(ledger.item()).unwrap();
        let numbers = consumer.try_iter().map(|item| item.number());
        assert!(numbers.eq((0..keep).chain([5])));
        ledger.assert_each_dropped_once(6);
    }
}

/// An item that owns nothing, so that a leak checker has nothing to find where it is forgotten.
struct Counted<'a>(&'a Cell<u32>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_forgotten_grant_leaks_what_it_holds_and_is_given_up_at_its_producers_next_call() {
    for next_call in 0..5 {
        let drops = [const { Cell::new(0) }; 4];
        {
            let (mut producer, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
            let mut other = producer.clone();
            let mut grant = producer.reserve(3).unwrap();
            assert!(grant.push(Counted(&drops[0])).is_ok());
            assert!(grant.push(Counted(&drops[1])).is_ok());
            std::mem::forget(grant);
            assert!(other.push(Counted(&drops[2])).is_ok());
            assert!(consumer.pop().is_err(), "the slots are not answered");
            match next_call {
                0 => drop(producer),
                1 => assert!(producer.push(Counted(&drops[3])).is_ok()),
                2 => drop(producer.reserve(1).unwrap()),
                3 => producer.seal(),
                _ => drop(producer.reserve(0).unwrap()),
            }
            assert!(std::ptr::eq(consumer.pop().ok().unwrap().0, &drops[2]));
            while consumer.pop().is_ok() {}
        }
        let last = u32::from(next_call == 1);
        assert_eq!(drops.map(Cell::into_inner), [0, 0, 1, last]);
    }
}

#[test]
fn forgotten_grants_in_every_chunk_are_given_up_by_the_end_of_their_producers() {
    let (producer, mut consumer) = Builder::new(2, 3).mpsc().unwrap();
    let mut handles = (0..3).map(|_| producer.clone()).collect::<Vec<_>>();
    for (number, handle) in handles.iter_mut().enumerate() {
        std::mem::forget(handle.reserve(1).unwrap());
        producer.clone().push(number).unwrap();
    }
    assert!(producer.clone().push(9).unwrap_err().is_full());
    assert_eq!(consumer.pop(), Err(PopError::Empty));
    for (number, handle) in handles.into_iter().enumerate() {
        drop(handle);
        assert_eq!(consumer.pop(), Ok(number));
    }
    drop(producer);
    assert_eq!(consumer.pop(), Err(PopError::Closed));
}

#[test]
fn slots_of_a_producer_that_was_forgotten_with_its_grant_are_given_up_on_demand() {
    for behind in 0..6 {
        let ledger = Ledger::new();
        let (mut producer, mut consumer) = Builder::new(4, 2).mpsc().unwrap();
        producer.push(ledger.item()).unwrap();
        let mut lost = producer.clone();
        std::mem::forget(lost.reserve(2).unwrap());
        std::mem::forget(lost);
        for _ in 0..behind {
            // One that does not fit.
            let _ = producer.push(ledger.item());
        }
        let made = 1 + behind;
        assert_eq!(consumer.pop().unwrap().number(), 0);
        assert!(consumer.pop().unwrap_err().is_empty());
        // SAFETY: no producer is in a call, and the grant is forgotten.
        assert_eq!(unsafe { consumer.skip_unanswered() }, 2);
        let numbers = consumer.try_iter().map(|item| item.number());
        assert!(numbers.eq(1..made.min(6)));
        // SAFETY: as above.
        assert_eq!(unsafe { consumer.skip_unanswered() }, 0);
        for _ in 0..20 {
            producer.push(ledger.item()).unwrap();
            drop(consumer.pop().unwrap());
        }
        ledger.assert_each_dropped_once(made + 20);
        // The forgotten producer still counts: its memory is kept reachable, for a leak checker.
        KEPT.lock().unwrap().push(Box::new((producer, consumer)));
    }
}

static KEPT: std::sync::Mutex<Vec<Box<dyn Send>>> = std::sync::Mutex::new(Vec::new());

trait Send: std::marker::Send {}
impl<T: std::marker::Send> Send for T {}

#[test]
fn a_chunk_in_which_everything_was_left_unused_comes_back_at_the_next_look() {
    let (mut producer, mut consumer) = Builder::new(4, 1).mpsc().unwrap();
    for round in 0..30 {
        drop(producer.reserve(4).unwrap());
        assert_eq!(producer.push(1), Err(PushError::Full(1)));
        let found = match round % 3 {
            0 => consumer.pop().map(drop).map_err(TakeError::from),
            1 => consumer.read().map(drop).map_err(TakeError::from),
            _ => consumer.take_chunk().map(drop),
        };
        assert_eq!(found, Err(TakeError::Empty));
        assert_eq!((producer.free_slots(), producer.len()), (4, 0));
        producer.push(1).unwrap();
        assert_eq!(consumer.pop(), Ok(1));
        producer.seal();
        assert!(consumer.pop().is_err());
    }
}

#[test]
fn a_longer_reservation_than_the_rest_closes_a_chunk_of_which_nothing_was_used() {
    for chunks in [1, 3] {
        let (mut producer, mut consumer) = Builder::new(4, chunks).mpsc().unwrap();
        let control = producer.control();
        drop(producer.reserve(1).unwrap());
        control.set_chunk_len(8).unwrap();
        if chunks == 1 {
            assert!(producer.reserve(8).unwrap_err().is_full());
            assert_eq!(consumer.pop(), Err(PopError::Empty), "it goes back");
        }
        producer
            .push_whole_slice(&[1, 2, 3, 4, 5, 6, 7, 8])
            .unwrap();
        control.set_chunk_len(2).unwrap();
        assert_eq!(consumer.take_chunk().unwrap().len(), 8);
        assert!(producer.reserve(3).unwrap_err().is_too_long());
    }
}
