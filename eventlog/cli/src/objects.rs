//! `eventlog objects`: what profiled objects carry, and whether a program would load them.

use std::fs;
use std::io::{self, Write};

use ghc_eventlog::objects::{HostExports, ObjectInfo, inspect};

use crate::args::ObjectsArgs;
use crate::outcome::{Outcome, complain};
use crate::table::{self, Align};
use crate::units::{counted, size};

pub(crate) fn run(args: &ObjectsArgs, out: &mut dyn Write) -> io::Result<Outcome> {
    let host = HostExports::complete().with(args.export.iter().cloned());
    let mut outcome = Outcome::Good;
    for (index, path) in args.files.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let name = path.display().to_string();
        let told = match fs::read(path) {
            Ok(bytes) => tell(&name, &bytes, &host, out)?,
            Err(error) => {
                complain(&name, &error);
                Outcome::Failed
            }
        };
        outcome = outcome.max(told);
    }
    Ok(outcome)
}

/// Tells of one file.
fn tell(name: &str, bytes: &[u8], host: &HostExports, out: &mut dyn Write) -> io::Result<Outcome> {
    writeln!(out, "{name}")?;
    match inspect(bytes, host) {
        Ok(info) => {
            describe(&info, out)?;
            writeln!(out, "\n  It would be loaded.")?;
            Ok(Outcome::Good)
        }
        Err(error) => {
            writeln!(out, "  It would not be loaded: {error}.")?;
            Ok(Outcome::Bad)
        }
    }
}

fn describe(info: &ObjectInfo, out: &mut dyn Write) -> io::Result<()> {
    let (major, minor) = info.abi;
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let pins: Vec<String> = info.pins.iter().map(ToString::to_string).collect();
    let build_id = info.build_id.iter().flatten();
    let build_id: String = build_id.map(|byte| format!("{byte:02x}")).collect();
    let constructors = counted(info.constructors, "function", "functions");
    let rows = [
        ("Name", info.name.clone()),
        ("Tables", format!("version {major}.{minor}")),
        (
            "Build",
            if build_id.is_empty() {
                "unknown".to_owned()
            } else {
                build_id
            },
        ),
        ("Memory", size(info.memory)),
        ("Needs", list(&info.needed)),
        ("Runs when loaded", constructors),
        (
            "Registers itself",
            (if info.registers_itself { "yes" } else { "no" }).to_owned(),
        ),
        (
            "May stay mapped",
            if pins.is_empty() {
                "no".to_owned()
            } else {
                pins.join("; ")
            },
        ),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(what, value)| vec![what.to_owned(), value])
        .collect();
    table::write(out, &[Align::Left, Align::Left], &rows)?;
    writeln!(out)?;
    if info.cost_centres.is_empty() {
        return writeln!(out, "  No cost centres.");
    }
    let head = ["Cost centre", "Module", "Source"]
        .map(str::to_owned)
        .to_vec();
    let centre = |centre: &ghc_eventlog::objects::FileCostCentre| {
        vec![
            centre.label.clone(),
            centre.module.clone(),
            centre.srcloc.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = [head]
        .into_iter()
        .chain(info.cost_centres.iter().map(centre))
        .collect();
    table::write(out, &[Align::Left; 3], &rows)
}
