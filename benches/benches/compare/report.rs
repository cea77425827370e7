//! Medians, spreads and ratios, as tables.

use crate::suites::{Suite, Unit};

/// How far apart the cores were during a sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Near,
    Far,
    /// On one core, where it does not matter.
    One,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Near => "near",
            Place::Far => "far",
            Place::One => "one core",
        }
    }
}

/// One run of one queue: nanoseconds an item, by result.
pub(crate) struct Sample {
    pub(crate) row: usize,
    pub(crate) round: usize,
    pub(crate) place: Place,
    pub(crate) nanoseconds: Vec<f64>,
}

/// A queue's samples of one result in one place, in the suite's unit, by round.
struct Line<'a> {
    queue: &'a str,
    values: Vec<(usize, f64)>,
}

impl Line<'_> {
    fn sorted(&self) -> Vec<f64> {
        let mut values: Vec<_> = self.values.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// How many times as fast as the baseline this is: the median over the rounds in which both were measured.
    fn ratio(&self, baseline: &Line<'_>, unit: Unit) -> Option<f64> {
        let mut ratios = Vec::new();
        for (round, value) in &self.values {
            let other = baseline.values.iter().find(|(other, _)| other == round);
            match (other, unit) {
                (Some((_, other)), Unit::Nanoseconds) => ratios.push(other / value),
                (Some((_, other)), Unit::MillionsPerSecond) => ratios.push(value / other),
                (None, _) => {}
            }
        }
        ratios.sort_by(f64::total_cmp);
        median(&ratios)
    }
}

/// The middle of sorted numbers, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> Option<f64> {
    let high = *sorted.get(sorted.len() / 2)?;
    let low = sorted[(sorted.len() - 1) / 2];
    Some((low + high) / 2.0)
}

/// Prints a table for each result and place, the best queue first.
pub(crate) fn print(suite: &Suite, samples: &[Sample]) {
    println!("\n## {}\n{}", suite.name, suite.about);
    for (index, result) in suite.results.iter().enumerate() {
        for place in [Place::Near, Place::Far, Place::One] {
            let mut lines: Vec<_> = suite
                .rows
                .iter()
                .enumerate()
                .map(|(row, queue)| {
                    let here = samples
                        .iter()
                        .filter(|sample| sample.row == row && sample.place == place);
                    let values = here.map(|sample| {
                        let nanoseconds = sample.nanoseconds[index];
                        let value = match suite.unit {
                            Unit::Nanoseconds => nanoseconds,
                            Unit::MillionsPerSecond => 1_000.0 / nanoseconds,
                        };
                        (sample.round, value)
                    });
                    Line {
                        queue: queue.queue,
                        values: values.collect(),
                    }
                })
                .filter(|line| !line.values.is_empty())
                .collect();
            if lines.is_empty() {
                continue;
            }
            lines.sort_by(|a, b| {
                let by_size = median(&a.sorted())
                    .partial_cmp(&median(&b.sorted()))
                    .expect("times are numbers");
                match suite.unit {
                    Unit::Nanoseconds => by_size,
                    Unit::MillionsPerSecond => by_size.reverse(),
                }
            });
            let unit = match suite.unit {
                Unit::Nanoseconds => "ns",
                Unit::MillionsPerSecond => "M/s",
            };
            let title = [*result, place.name(), unit].join(" ");
            table(title.trim(), &lines, suite);
        }
    }
}

fn table(title: &str, lines: &[Line<'_>], suite: &Suite) {
    print!("\n| {title:<30} |   median |      min |      max |   n |");
    for baseline in suite.baselines {
        print!(" vs {baseline} |");
    }
    print!("\n|---|---:|---:|---:|---:|");
    println!("{}", "---:|".repeat(suite.baselines.len()));
    for line in lines {
        let sorted = line.sorted();
        let (Some(middle), [min, ..], [.., max]) = (median(&sorted), &sorted[..], &sorted[..])
        else {
            continue;
        };
        print!(
            "| {:<30} | {middle:>8.2} | {min:>8.2} | {max:>8.2} | {:>3} |",
            line.queue,
            sorted.len()
        );
        for baseline in suite.baselines {
            let other = lines.iter().find(|other| other.queue == *baseline);
            let width = baseline.len() + 3;
            match other.and_then(|other| line.ratio(other, suite.unit)) {
                Some(ratio) => print!(" {ratio:>width$.2} |"),
                None => print!(" {:>width$} |", "-"),
            }
        }
        println!();
    }
}
