//! Items of every alignment and of restricted values.

use crate::kind::Make;
use chunkring::Builder;
use std::num::NonZeroU8;

/// Pushes, reserves and reads items of one type, and checks where they lie.
fn check<T: Copy + PartialEq + std::fmt::Debug>(a: T, b: T) {
    for (chunk_len, chunks) in [(1, 1), (1, 3), (3, 2), (8, 2)] {
        let (mut producer, mut consumer) = Builder::new(chunk_len, chunks).ring().unwrap();
        for _ in 0..3 * chunks {
            // Chunks begin on a boundary of 128 bytes at least.
            let mut grant = producer.reserve(chunk_len).unwrap();
            let address = grant.spare_mut().as_ptr() as usize;
            assert_eq!(address % align_of::<T>().max(128), 0);
            assert_eq!(grant.spare_mut().len(), chunk_len);
            grant.push(a).unwrap();
            while grant.push(b).is_ok() {}
            grant.commit_all();
            let ready = consumer.read().unwrap();
            assert_eq!(ready.as_ptr() as usize, address);
            assert_eq!(ready[0], a);
            assert!(ready[1..].iter().all(|item| *item == b));
            ready.release(1);
            for _ in 1..chunk_len {
                assert_eq!(consumer.pop(), Ok(b));
            }
        }
    }
}

macro_rules! aligned {
    ($($name:ident $align:literal),*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(align($align))]
            struct $name(u8);
        )*

        #[test]
        fn items_lie_as_aligned_as_they_ask_for() {
            $(check($name(1), $name(2));)*
            check(1_u8, 2);
            check([1_u8; 3], [2; 3]);
            check((1_u16, 2_u64), (3, 4));
            check(1_u128, u128::MAX);
        }
    };
}

aligned!(A2 2, A16 16, A64 64, A128 128, A256 256, A4096 4096);

#[test]
fn items_of_restricted_values_are_never_seen_before_they_are_written() {
    // Slots are `MaybeUninit` to the writer; unused ones are neither read nor dropped.
    static BYTE: u8 = 7;
    let (mut producer, mut consumer) = Builder::new(4, 2).ring::<&'static u8>().unwrap();
    let mut grant = producer.reserve(4).unwrap();
    assert_eq!(grant.spare_mut().len(), 4);
    grant.push(&BYTE).unwrap();
    grant.commit_all();
    assert_eq!(*consumer.read().unwrap(), [&BYTE]);
    drop(producer.reserve(3).unwrap());
    drop(producer);
    drop(consumer);

    check(NonZeroU8::MIN, NonZeroU8::MAX);
    check(true, false);
    check(Some(NonZeroU8::MIN), None);
    check('a', char::MAX);
}
