//! What commands print: one text or one JSON object on stdout.

use std::io::{self, Write};

use mnno::store::Rounding;
use serde::Serialize;

use super::failure::{Failure, code};
use super::inputs::Checked;

/// One input, as every result carries it.
#[derive(Debug, Serialize)]
pub(crate) struct InputReport {
    pub(crate) path: String,
    pub(crate) format: String,
    pub(crate) rows: usize,
    pub(crate) dims: usize,
    pub(crate) dtype: String,
    pub(crate) access: String,
    pub(crate) fingerprint: String,
    /// For types that f32 does not hold exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rounding: Option<RoundingReport>,
    /// Rows whose last neighbour and the best one left out have equal scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tied_at_k: Option<usize>,
}

/// What conversion to f32 did.
#[derive(Debug, Serialize)]
pub(crate) struct RoundingReport {
    pub(crate) rounded_values: u64,
    pub(crate) rows_made_equal: u64,
}

impl From<Rounding> for RoundingReport {
    fn from(r: Rounding) -> Self {
        Self { rounded_values: r.rounded_values, rows_made_equal: r.rows_made_equal }
    }
}

impl InputReport {
    pub(crate) fn new(input: &Checked) -> Self {
        let matrix = &input.matrix;
        Self {
            path: matrix.display_name().to_owned(),
            format: matrix.format().to_string(),
            rows: matrix.n(),
            dims: matrix.d(),
            dtype: matrix.element().to_string(),
            access: matrix.access().to_string(),
            fingerprint: matrix.fingerprint().to_string(),
            rounding: input.rounding.map(RoundingReport::from),
            tied_at_k: None,
        }
    }

    /// `path: 2000 x 50 f32, npy, used in place, xxh3:... (full)`.
    pub(crate) fn line(&self) -> String {
        let Self { path, format, rows, dims, dtype, access, fingerprint, .. } = self;
        let mut line = format!("{path}: {rows} x {dims} {dtype}, {format}, {access}, {fingerprint}");
        if let Some(r) = &self.rounding {
            line += &format!(
                "; {} values rounded to f32, {} distinct rows became equal",
                r.rounded_values, r.rows_made_equal
            );
        }
        line
    }
}

/// Lines of cells, each column as wide as its widest cell; the first column to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            if c == 0 {
                line += &format!("{cell:<0$}", widths[c]);
            } else {
                line += &format!("  {cell:>0$}", widths[c]);
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Writes a finished result to stdout. A reader that has gone away is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(code::CANNOT_WRITE, format!("standard output: {}", e.kind())))
        }
        _ => Ok(()),
    }
}

/// Writes a result to stdout as JSON.
pub(crate) fn print_json(result: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(result)
        .map_err(|e| Failure::new(code::CANNOT_WRITE, format!("standard output: {e}")))?;
    print(&(text + "\n"))
}

/// A remark on stderr.
pub(crate) fn note(text: &str) {
    // Nowhere is left to report that stderr cannot be written.
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// A name from a file, fit to be shown: control characters, which could move the cursor, are escaped.
pub(crate) fn shown(name: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(escaped).collect()
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
