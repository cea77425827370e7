//! Aligned columns.

use std::io::{self, Write};

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Writes rows, of which the first one is the head, with two spaces between columns.
pub(crate) fn write(
    out: &mut dyn Write,
    columns: &[Align],
    rows: &[Vec<String>],
) -> io::Result<()> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for ((cell, align), width) in row.iter().zip(columns).zip(&widths) {
            line.push_str("  ");
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
