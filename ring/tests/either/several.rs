//! Several items in one call: as many as fit, or all of them or none.

use crate::kind::Make;
use chunkring::{Builder, ReserveError, TooFewItems};

/// Shapes in which slices end before, at and behind chunk ends.
fn shapes() -> impl Iterator<Item = (usize, usize)> {
    (1..=5).flat_map(|chunk_len| (1..=4).map(move |chunks| (chunk_len, chunks)))
}

#[test]
fn slices_of_every_length_go_in_and_out_as_far_as_they_fit() {
    for (chunk_len, chunks) in shapes() {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).ring::<u32>().unwrap();
        let (mut next_in, mut next_out) = (0, 0);
        for round in 0..60 {
            let wanted = round % 23;
            let items: Vec<u32> = (next_in..).take(wanted).collect();
            let free = producer.free_slots();
            let put = producer.push_partial_slice(&items);
            assert_eq!(put, wanted.min(free), "{chunks} chunks of {chunk_len}");
            next_in += put as u32;

            let ready = consumer.len();
            let mut out = vec![u32::MAX; round % 7];
            let taken = consumer.pop_partial_slice(&mut out);
            assert_eq!(taken, out.len().min(ready));
            for (index, item) in out.into_iter().enumerate() {
                let there = index < taken;
                assert_eq!(item, if there { next_out } else { u32::MAX });
                next_out += u32::from(there);
            }
        }
    }
}

#[test]
fn a_partial_slice_leaves_no_slot_unused() {
    let (mut producer, mut consumer) = Builder::new(4, 3).ring().unwrap();
    for _ in 0..3 {
        assert_eq!(producer.push_partial_slice(&[1, 2, 3]), 3);
    }
    assert_eq!(
        producer.push_partial_slice(&[4; 9]),
        3,
        "twelve fit into three chunks of four"
    );
    assert_eq!(
        consumer.try_iter().collect::<Vec<_>>(),
        [1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 4, 4]
    );
}

#[test]
fn a_whole_slice_goes_in_side_by_side_or_not_at_all() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring().unwrap();
    producer.push_whole_slice(&[1, 2, 3]).unwrap();
    producer.push_whole_slice(&[4, 5]).unwrap();
    assert_eq!(
        producer.push_whole_slice(&[6, 7, 8]),
        Err(ReserveError::Full)
    );
    assert_eq!(
        producer.push_whole_slice(&[0; 5]),
        Err(ReserveError::TooLong {
            requested: 5,
            chunk_len: 4
        })
    );
    producer.push_whole_slice(&[6, 7]).unwrap();
    producer.push_whole_slice(&[]).unwrap();
    assert_eq!(*consumer.read().unwrap(), [1, 2, 3]);
    consumer.read().unwrap().release_all();
    assert_eq!(*consumer.read().unwrap(), [4, 5, 6, 7]);
}

#[test]
fn a_whole_slice_comes_out_of_several_chunks_or_not_at_all() {
    let (mut producer, mut consumer) = Builder::new(2, 3).ring().unwrap();
    producer.push_partial_slice(&[1, 2, 3, 4, 5]);
    let mut out = [0; 6];
    let refused = consumer.pop_whole_slice(&mut out);
    assert_eq!(
        refused,
        Err(TooFewItems {
            requested: 6,
            there: 5
        })
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "6 items were asked for, and 5 are there"
    );
    assert_eq!((consumer.len(), out), (5, [0; 6]));
    consumer.pop_whole_slice(&mut out[..5]).unwrap();
    assert_eq!(out, [1, 2, 3, 4, 5, 0]);
    consumer.pop_whole_slice(&mut []).unwrap();
}

#[test]
fn an_iterator_loses_no_item_that_does_not_fit() {
    let (mut producer, mut consumer) = Builder::new(3, 2).ring().unwrap();
    let mut words = (0..20).map(|number| number.to_string());
    let mut all = Vec::new();
    loop {
        let count = producer.push_iter(&mut words);
        if count == 0 {
            break;
        }
        assert_eq!(consumer.try_iter().size_hint(), (count, None));
        all.extend(consumer.try_iter());
    }
    assert_eq!(
        all,
        (0..20).map(|number| number.to_string()).collect::<Vec<_>>()
    );
}

#[test]
fn a_closed_ring_takes_nothing_more_and_gives_what_is_left() {
    let (mut producer, mut consumer) = Builder::new(2, 2).ring().unwrap();
    assert_eq!(producer.push_partial_slice(&[1, 2, 3]), 3);
    drop(producer);
    assert_eq!(consumer.try_iter().collect::<Vec<_>>(), [1, 2, 3]);

    let (mut producer, consumer) = Builder::new(2, 2).ring().unwrap();
    drop(consumer);
    assert_eq!(producer.push_partial_slice(&[1]), 0);
    assert_eq!(producer.push_iter(&mut [1].into_iter()), 0);
    assert_eq!(producer.push_whole_slice(&[1]), Err(ReserveError::Closed));
}
