//! Bytes by `std::io`: as far as they fit, and no further.

use crate::kind::Make;
use chunkring::Builder;
use std::io::{ErrorKind, Read, Write};
use std::thread;

#[test]
fn a_write_takes_what_fits_and_then_says_that_it_would_block() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring::<u8>().unwrap();
    assert_eq!(producer.write(b"hello world").unwrap(), 8);
    assert_eq!(
        producer.write(b"rld").unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    assert_eq!(producer.write(b"").unwrap(), 0);
    producer.flush().unwrap();

    let mut out = [0; 5];
    assert_eq!(Read::read(&mut consumer, &mut out).unwrap(), 5);
    assert_eq!(&out, b"hello");
    assert_eq!(producer.write(b"rld").unwrap(), 3);
    assert_eq!(Read::read(&mut consumer, &mut []).unwrap(), 0);
    let mut rest = [0; 8];
    assert_eq!(Read::read(&mut consumer, &mut rest).unwrap(), 6);
    assert_eq!(&rest[..6], b" world");
    let nothing = Read::read(&mut consumer, &mut rest).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
}

#[test]
fn the_end_of_one_half_is_the_end_of_the_file_or_a_broken_pipe() {
    let (mut producer, mut consumer) = Builder::new(4, 2).ring::<u8>().unwrap();
    producer.write_all(b"last").unwrap();
    drop(producer);
    let mut all = Vec::new();
    assert_eq!(consumer.read_to_end(&mut all).unwrap(), 4);
    assert_eq!(all, b"last");

    let (mut producer, consumer) = Builder::new(4, 2).ring::<u8>().unwrap();
    drop(consumer);
    assert_eq!(
        producer.write(b"x").unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
}

#[test]
fn bytes_arrive_in_order_whatever_the_lengths_of_writes_and_reads() {
    let (mut producer, mut consumer) = Builder::new(16, 3).ring::<u8>().unwrap();
    let text: Vec<u8> = (0..50_000_u32)
        .map(|number| (number * 31 % 251) as u8)
        .collect();
    let expected = text.clone();
    let writer = thread::spawn(move || {
        let mut rest = &text[..];
        let mut len = 1;
        while !rest.is_empty() {
            len = len % 40 + 1;
            match producer.write(&rest[..len.min(rest.len())]) {
                Ok(count) => rest = &rest[count..],
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    thread::yield_now();
                }
            }
        }
    });
    let mut all = Vec::new();
    let mut out = [0; 29];
    loop {
        match Read::read(&mut consumer, &mut out) {
            Ok(0) => break,
            Ok(count) => all.extend_from_slice(&out[..count]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                thread::yield_now();
            }
        }
    }
    writer.join().unwrap();
    assert_eq!(all, expected);
}
