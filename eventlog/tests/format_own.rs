//! Logs with events that are not GHC's: other readers skip them, ours read them.

mod written;

use ghc_eventlog::format::{BlockMarker, CapNo, END_MARKER, Event, Header, LossCause};
use written::Written;

/// A log with one block of capability 0, which holds these bytes.
fn log(header: &Header, body: &[u8]) -> Vec<u8> {
    let mut log = header.encode();
    let marker = BlockMarker {
        begin: 1,
        size: (BlockMarker::LEN + body.len()) as u32,
        end: 9,
        cap: CapNo::new(0),
    };
    log.extend(marker.encode());
    log.extend(body);
    log.extend(END_MARKER);
    log
}

#[test]
fn a_loss_stands_among_the_events_of_its_capability() {
    let mut body = Vec::new();
    Event::UserMessage { text: "before" }.encode_to_vec(2, &mut body);
    for cause in LossCause::ALL {
        let lost = Event::EventsLost {
            cause: *cause,
            events: 1_000,
            bytes: 14_000,
        };
        lost.encode_to_vec(3, &mut body);
    }
    Event::UserMessage { text: "after" }.encode_to_vec(4, &mut body);
    let read = Written::read("own-loss", &log(Header::standard(), &body));
    let ids: Vec<u16> = read.events.iter().map(|event| event.id).collect();
    assert_eq!(ids, [19, 1024, 1024, 1024, 1024, 1024, 19]);
    assert_eq!(read.count(CapNo::new(0)), 7);
}
