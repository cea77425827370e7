//! Cost centres of the program itself, which registers them by a constructor.
#![cfg(target_os = "linux")]

use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use ghc_eventlog::objects::{registry, stack};
use ghc_eventlog::{EventLog, Previous, Sink, Start};
use ghc_eventlog_object::{object, scc};

object!("own", register);

/// Label and module of every cost centre that a log defines.
fn defined(mut log: &[u8]) -> Vec<(u32, String, String)> {
    let mut decoder = Decoder::new();
    let mut found = Vec::new();
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(event) = record else {
            continue;
        };
        if let Decoded::Known(Event::HeapProfCostCentre {
            cost_centre,
            label,
            module,
            ..
        }) = event.decode().unwrap()
        {
            found.push((
                cost_centre,
                label.as_str().to_owned(),
                module.as_str().to_owned(),
            ));
        }
    }
    found
}

#[test]
fn a_program_s_cost_centres_are_listed_entered_and_defined() {
    let list = registry().cost_centres();
    let own = list
        .objects()
        .find(|object| object.name() == "own")
        .unwrap();
    // Where the linker puts them is its own affair.
    let mut labels: Vec<&str> = own
        .cost_centres()
        .iter()
        .map(|cost_centre| &*cost_centre.label)
        .collect();
    labels.sort_unstable();
    assert_eq!(labels, ["inner", "outer"]);
    assert!(
        own.cost_centres()
            .iter()
            .all(|one| &*one.module == "objects_own")
    );

    scc!("outer");
    {
        scc!("inner");
        let ids: Vec<u32> = stack::current().ids().collect();
        let labels: Vec<&str> = ids
            .iter()
            .map(|id| &*list.get(*id).unwrap().label)
            .collect();
        assert_eq!(labels, ["inner", "outer"]);
        // The harness has other threads, but none is in a cost centre of this program.
        let mut seen = Vec::new();
        stack::each(|stack| seen.push(stack.ids().to_vec()));
        assert_eq!(seen, [ids]);
    }
    assert_eq!(stack::current().depth(), 1);

    let (sink, content) = Sink::memory();
    let log = EventLog::builder().sink(sink).unwrap();
    registry().define_in(&log);
    registry().define_in(&log);
    let (late, later) = Sink::memory();
    log.set_sink(late, Previous::Close, Start::Header).unwrap();
    log.stop().unwrap();
    let of_own = |bytes: &[u8]| -> Vec<String> {
        let mut labels: Vec<_> = defined(bytes)
            .into_iter()
            .map(|(_, label, _)| label)
            .collect();
        labels.sort_unstable();
        labels
    };
    assert_eq!(of_own(&content.bytes()), ["inner", "outer"]);
    assert_eq!(of_own(&later.bytes()), ["inner", "outer"]);
}
