//! The two samples, loaded into a program that has a log, called, and unloaded.
#![cfg(target_os = "linux")]

mod support;

use ghc_eventlog::format::{Decoded, Decoder, Event, Record};
use ghc_eventlog::objects::{Objects, Unload, registry};
use ghc_eventlog::{EventLog, Previous, Sink, Start};
use std::time::Duration;

#[derive(Debug, PartialEq)]
enum Told {
    Defined(u32, String, String),
    Marker(String),
}

fn told(mut log: &[u8]) -> Vec<Told> {
    let mut decoder = Decoder::new();
    let mut told = Vec::new();
    while let Some(record) = decoder.next(&mut log).unwrap() {
        let Record::Event(event) = record else {
            continue;
        };
        match event.decode().unwrap() {
            Decoded::Known(Event::HeapProfCostCentre {
                cost_centre,
                label,
                module,
                ..
            }) => {
                told.push(Told::Defined(
                    cost_centre,
                    label.as_str().into(),
                    module.as_str().into(),
                ));
            }
            Decoded::Known(Event::UserMarker { name }) => told.push(Told::Marker(name.into())),
            _ => {}
        }
    }
    told
}

#[test]
fn a_sample_is_loaded_called_defined_and_unloaded_without_a_trace() {
    for (path, name, module) in [
        (support::rust_sample(), "sample", "sample_object"),
        (support::c_sample(), "sample_c", "sample"),
    ] {
        let (sink, content) = Sink::memory();
        let log = EventLog::builder().sink(sink).unwrap();
        let objects = Objects::with_log(&log);

        let object = support::load(&path);
        assert_eq!(object.name(), name);
        assert_eq!(objects.loaded().len(), 1);
        assert!(object.is_mapped());
        assert!(!support::mapped_objects().is_empty());
        let list = objects.cost_centres();
        let labels: Vec<&str> = list.iter().map(|one| &*one.label).collect();
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["hold", "round", "run"]);
        assert!(
            list.iter()
                .all(|one| &*one.module == module && !one.srcloc.is_empty())
        );
        let in_file: Vec<&str> = object
            .info()
            .cost_centres
            .iter()
            .map(|one| &*one.label)
            .collect();
        assert_eq!(in_file, labels);
        assert_eq!(object.info().name, name);

        let expected = (0..10).fold(0_u64, |sum, round| sum.wrapping_mul(3) ^ round);
        assert_eq!(support::run(&object, 10), expected);

        let other = object.clone();
        assert_eq!(object.unload(Duration::ZERO).unwrap(), Unload::Unmapped);
        assert!(other.enter().is_none());
        assert!(!other.is_mapped());
        assert_eq!(
            other.clone().unload(Duration::ZERO).unwrap(),
            Unload::Unmapped
        );
        assert!(objects.loaded().is_empty());
        assert!(registry().cost_centres().is_empty());
        assert!(support::mapped_objects().is_empty());
        // A list from before is still whole.
        assert_eq!(list.len(), 3);

        // Who comes late is told of what is gone, too: samples may speak of it.
        let (late, later) = Sink::memory();
        log.set_sink(late, Previous::Close, Start::Header).unwrap();
        log.stop().unwrap();
        let id = other.id();
        let defined = list
            .iter()
            .map(|one| Told::Defined(one.id, (&*one.label).into(), module.into()));
        let mut expected: Vec<Told> = defined.collect();
        assert_eq!(told(&later.bytes()), expected);
        expected.push(Told::Marker(format!(
            "object {id} loaded: {name}, 3 cost centres"
        )));
        expected.push(Told::Marker(format!("object {id} unloaded: {name}")));
        assert_eq!(told(&content.bytes()), expected);
    }
}
