//! What the profiler's events say of cost centres: time by ticks, live bytes by heap samples. Nothing here
//! prints.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ghc_eventlog::format::{CostCentreStack, Event, HeapBreakdown};

/// A cost centre, as the log defines it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CostCentre {
    pub(crate) label: String,
    pub(crate) module: String,
    pub(crate) source: String,
    pub(crate) is_caf: bool,
}

impl CostCentre {
    /// The cost centre that the event defines, with its number.
    pub(crate) fn defined_by(event: &Event<'_>) -> Option<(u32, Self)> {
        let Event::HeapProfCostCentre {
            cost_centre,
            label,
            module,
            location,
            flags,
        } = event
        else {
            return None;
        };
        let of = Self {
            label: label.as_str().to_owned(),
            module: module.as_str().to_owned(),
            source: location.as_str().to_owned(),
            is_caf: flags.is_caf(),
        };
        Some((*cost_centre, of))
    }
}

/// What was counted of each stack. Stacks are innermost first.
pub(crate) type Stacks = HashMap<Box<[u32]>, u64>;

/// The profile by cost centre that a log holds.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) cost_centres: BTreeMap<u32, CostCentre>,
    pub(crate) time: TimeProfile,
    pub(crate) heap: HeapProfile,
}

/// Where the program was when the clock ticked.
#[derive(Debug, Default)]
pub(crate) struct TimeProfile {
    /// Whether the log says that there is one.
    pub(crate) begun: bool,
    /// Nanoseconds between ticks, where the log tells.
    pub(crate) interval: Option<u64>,
    /// Each is one of one capability.
    pub(crate) ticks: u64,
    pub(crate) stacks: Stacks,
}

/// What was live.
#[derive(Debug, Default)]
pub(crate) struct HeapProfile {
    /// What the log says that samples are grouped by.
    pub(crate) breakdown: Option<HeapBreakdown>,
    pub(crate) samples: u64,
    /// Whether any of them is of a cost-centre stack.
    by_stack: bool,
    open: Option<HeapSample>,
    /// The first of those that hold the most.
    largest: HeapSample,
}

/// One sample of a heap profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeapSample {
    /// When it began.
    pub(crate) time: u64,
    pub(crate) bytes: u64,
    pub(crate) stacks: Stacks,
}

impl Profile {
    /// Takes in an event, in the order of the log.
    pub(crate) fn see(&mut self, time: u64, event: &Event<'_>) {
        self.cost_centres.extend(CostCentre::defined_by(event));
        match *event {
            Event::ProfBegin { tick_interval_ns } => {
                self.time.begun = true;
                self.time.interval = Some(tick_interval_ns);
            }
            Event::ProfSampleCostCentre { stack, .. } => {
                self.time.begun = true;
                self.time.ticks += 1;
                add(&mut self.time.stacks, stack, 1);
            }
            Event::HeapProfBegin { breakdown, .. } => self.heap.breakdown = Some(breakdown),
            Event::HeapProfSampleBegin { .. } => self.heap.begin(time),
            Event::HeapProfSampleCostCentre {
                residency, stack, ..
            } => self.heap.hold(time, residency, stack),
            Event::HeapProfSampleEnd { .. } => self.heap.end(),
            _ => {}
        }
    }
}

impl TimeProfile {
    /// Rows for people and programs, if there is such a profile.
    pub(crate) fn rows(&self) -> Option<Vec<Row>> {
        self.begun.then(|| rows(&self.stacks))
    }
}

impl HeapProfile {
    fn begin(&mut self, time: u64) {
        // GHC 8 told no ends.
        self.end();
        self.samples += 1;
        self.open = Some(HeapSample {
            time,
            ..HeapSample::default()
        });
    }

    fn hold(&mut self, time: u64, bytes: u64, stack: CostCentreStack<'_>) {
        if self.open.is_none() {
            // What was before is in another piece of the log.
            self.begin(time);
        }
        self.by_stack = true;
        if let Some(open) = &mut self.open {
            open.bytes = open.bytes.saturating_add(bytes);
            add(&mut open.stacks, stack, bytes);
        }
    }

    fn end(&mut self) {
        if let Some(sample) = self.open.take() {
            if sample.bytes > self.largest.bytes {
                self.largest = sample;
            }
        }
    }

    /// The first of the samples that hold the most, if there are any by cost centre. One that the log's end
    /// cuts counts with what there is of it.
    pub(crate) fn largest(&self) -> Option<&HeapSample> {
        let by_cost_centre = self.breakdown == Some(HeapBreakdown::CostCentre);
        if !(self.by_stack || by_cost_centre && self.samples > 0) {
            return None;
        }
        match &self.open {
            Some(open) if open.bytes > self.largest.bytes => Some(open),
            _ => Some(&self.largest),
        }
    }
}

fn add(stacks: &mut Stacks, stack: CostCentreStack<'_>, more: u64) {
    let stack: Vec<u32> = stack.iter().collect();
    match stacks.get_mut(&stack[..]) {
        Some(sum) => *sum = sum.saturating_add(more),
        None => {
            stacks.insert(stack.into(), more);
        }
    }
}

/// What a cost centre has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// `None` for what is in no cost centre.
    pub(crate) id: Option<u32>,
    /// At the top of the stack.
    pub(crate) individual: u64,
    /// Anywhere in the stack. Where it is there several times it counts once.
    pub(crate) inherited: u64,
}

/// A row for each cost centre of the stacks, those that cost the most first.
pub(crate) fn rows(stacks: &Stacks) -> Vec<Row> {
    let mut sums: BTreeMap<Option<u32>, (u64, u64)> = BTreeMap::new();
    for (stack, sum) in stacks {
        let (individual, _) = sums.entry(stack.first().copied()).or_default();
        *individual = individual.saturating_add(*sum);
        let mut within: BTreeSet<Option<u32>> = stack.iter().copied().map(Some).collect();
        if within.is_empty() {
            within.insert(None);
        }
        for id in within {
            let (_, inherited) = sums.entry(id).or_default();
            *inherited = inherited.saturating_add(*sum);
        }
    }
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|(id, (individual, inherited))| Row {
            id,
            individual,
            inherited,
        })
        .collect();
    // The sort is stable: those that cost the same are in the order of their ids.
    rows.sort_by_key(|row| std::cmp::Reverse((row.individual, row.inherited)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inherited_counts_once_however_deep_a_recursion_is() {
        let stacks = Stacks::from([
            (Box::from([1, 2, 1, 3]), 5),
            (Box::from([2, 3]), 7),
            (Box::from([]), 1),
        ]);
        let row = |id, individual, inherited| Row {
            id,
            individual,
            inherited,
        };
        let wanted = [
            row(Some(2), 7, 12),
            row(Some(1), 5, 5),
            row(None, 1, 1),
            row(Some(3), 0, 12),
        ];
        assert_eq!(rows(&stacks), wanted);
    }

    #[test]
    fn the_largest_sample_is_told_whether_its_end_is_there_or_not() {
        let mut profile = Profile::default();
        assert!(profile.heap.largest().is_none());
        let begin = Event::HeapProfSampleBegin { era: 0 };
        let holds = |residency| Event::HeapProfSampleCostCentre {
            profile: 0,
            residency,
            stack: CostCentreStack::innermost(&[1]),
        };
        // The first one's beginning is missing, the second one's end.
        profile.see(1, &holds(10));
        profile.see(2, &Event::HeapProfSampleEnd { era: 0 });
        profile.see(3, &begin);
        profile.see(4, &holds(30));
        profile.see(5, &holds(3));
        profile.see(6, &begin);
        profile.see(7, &holds(20));
        let largest = profile.heap.largest().unwrap();
        assert_eq!((largest.time, largest.bytes), (3, 33));
        profile.see(8, &holds(20));
        let largest = profile.heap.largest().unwrap();
        assert_eq!((largest.time, largest.bytes), (6, 40));
        assert_eq!(profile.heap.samples, 3);
    }
}
