//! What commands print: one text or one JSON object on stdout.

use std::io::{self, Write};
use std::path::Path;

use mnno::store::output::Written;
use mnno::store::{Matrix, Rounding, plain};
use serde::{Deserialize, Serialize};

use super::failure::{Failure, code};
use super::inputs::Checked;

/// One input, as every result carries it.
#[derive(Debug, Serialize)]
pub(crate) struct InputReport {
    pub(crate) path: String,
    /// The parts in their order, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<String>>,
    pub(crate) format: String,
    pub(crate) rows: usize,
    pub(crate) dims: usize,
    pub(crate) dtype: String,
    pub(crate) access: String,
    pub(crate) fingerprint: String,
    /// The labels of its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<FileReport>,
    /// For types that f32 does not hold exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rounding: Option<RoundingReport>,
    /// Rows whose last neighbour and the best one left out have equal scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tied_at_k: Option<usize>,
    /// Rows whose names are not in every file, where files are joined by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_out: Option<usize>,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FileReport {
    pub(crate) path: String,
    pub(crate) fingerprint: String,
}

/// What conversion to f32 did.
#[derive(Debug, Serialize)]
pub(crate) struct RoundingReport {
    pub(crate) rounded_values: u64,
    /// None where memory did not suffice to count them.
    pub(crate) rows_made_equal: Option<u64>,
}

impl RoundingReport {
    /// `5 values rounded to f32, 2 distinct rows became equal`.
    pub(crate) fn text(&self) -> String {
        if self.rounded_values == 0 {
            return "f32 holds every value".to_owned();
        }
        let equal = match self.rows_made_equal {
            Some(rows) => format!("{rows} distinct rows became equal"),
            None => "rows that became equal not counted (--memory)".to_owned(),
        };
        format!("{} values rounded to f32, {equal}", self.rounded_values)
    }
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
            files: files(matrix),
            format: matrix.format().to_string(),
            rows: matrix.n(),
            dims: matrix.d(),
            dtype: matrix.element().to_string(),
            access: matrix.access().to_string(),
            fingerprint: matrix.fingerprint().to_string(),
            labels: matrix.label_file().map(|(path, fingerprint)| FileReport {
                path: path.display().to_string(),
                fingerprint: fingerprint.to_string(),
            }),
            rounding: input.check.rounding.map(RoundingReport::from),
            tied_at_k: None,
            left_out: None,
        }
    }

    /// `path: 2000 x 50 f32, npy, used in place, xxh3:... (full)`.
    pub(crate) fn line(&self) -> String {
        let Self { path, format, rows, dims, dtype, access, fingerprint, .. } = self;
        let mut line = format!("{path}: {rows} x {dims} {dtype}, {format}, {access}, {fingerprint}");
        if let Some(files) = &self.files {
            line += &format!("; {}", parts(files));
        }
        if let Some(FileReport { path, fingerprint }) = &self.labels {
            line += &format!("; labels of {path}, {fingerprint}");
        }
        if let Some(r) = &self.rounding {
            line += &format!("; {}", r.text());
        }
        line
    }
}

/// The inputs under the names that they have in a report: what they are, a line each.
pub(crate) fn inputs<'a>(named: impl Iterator<Item = (&'a str, &'a InputReport)>) -> String {
    let lines: Vec<String> = named.map(|(name, input)| format!("[{name}] {}\n", input.line())).collect();
    lines.concat()
}

/// Which of their rows a result is not of.
pub(crate) fn missing<'a>(named: impl Iterator<Item = (&'a str, &'a InputReport)>, dropped: usize) -> String {
    let mut text = String::new();
    for (name, input) in named {
        if let Some(left_out) = input.left_out.filter(|&count| count > 0) {
            text += &format!("[{name}] {} left out: not in every file under that name.\n", counted(left_out, "row"));
        }
    }
    if dropped > 0 {
        text += &format!("{} dropped from every file: zero in one of them.\n", counted(dropped, "row"));
    }
    text
}

/// The parts that a matrix is read from, if there are several.
pub(crate) fn files(matrix: &Matrix) -> Option<Vec<String>> {
    let files: Vec<String> = matrix.files().map(|file| file.display().to_string()).collect();
    (files.len() > 1).then_some(files)
}

/// `12 files in this order: a/0.npy, a/1.npy, a/2.npy, .., a/11.npy`.
pub(crate) fn parts(files: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = match files {
        [first @ .., last] if first.len() > SHOWN => format!("{}, .., {last}", first[..SHOWN].join(", ")),
        _ => files.join(", "),
    };
    format!("{} files in this order: {shown}", files.len())
}

/// A file that a command wrote.
#[derive(Debug, Serialize)]
pub(crate) struct OutputReport {
    path: String,
    what: &'static str,
    shape: Vec<usize>,
    dtype: &'static str,
}

impl From<Written> for OutputReport {
    fn from(w: Written) -> Self {
        Self { path: w.path.display().to_string(), what: w.what, shape: w.shape, dtype: w.dtype }
    }
}

impl OutputReport {
    pub(crate) fn new(path: &Path, what: &'static str, shape: Vec<usize>, dtype: &'static str) -> Self {
        Self { path: path.display().to_string(), what, shape, dtype }
    }

    /// `wrote out.npy: vectors, 2000 x 50 f32`.
    pub(crate) fn line(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let space = if shape.is_empty() { "" } else { " " };
        format!("wrote {}: {}, {}{space}{}\n", self.path, self.what, shape.join(" x "), self.dtype)
    }
}

/// The end of a report on lists: places that no candidate fills, and the files written.
pub(crate) fn written(padded_places: usize, outputs: &[OutputReport]) -> String {
    let mut text = String::new();
    if padded_places > 0 {
        text += &format!("{} without a candidate: index -1 and the worst score.\n", counted(padded_places, "place"));
    }
    for output in outputs {
        text += &output.line();
    }
    text
}

/// `1 query`, `9251 queries`.
pub(crate) fn queries(count: usize) -> String {
    if count == 1 { "1 query".to_owned() } else { format!("{count} queries") }
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
            Err(Failure::new(code::CANNOT_WRITE, format!("standard output: {}", plain(&e))))
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

/// The remark on a graph whose lists are those of nearby clusters: exact ones would take `times` as long.
pub(crate) fn nearby_text(times: f64) -> String {
    format!("lists from nearby clusters, not exact: exact ones would take about {times:.1} times as long\n")
}

/// A name from a file, fit to be shown: control characters, which could move the cursor, are escaped.
pub(crate) fn shown(name: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(escaped).collect()
}

/// Bytes as `--memory` takes them: `1.5G`.
pub(crate) fn size(bytes: u64) -> String {
    let (shift, unit) = match bytes {
        ..0x400 => return format!("{bytes} bytes"),
        0x400..0x10_0000 => (10, "K"),
        0x10_0000..0x4000_0000 => (20, "M"),
        0x4000_0000..0x100_0000_0000 => (30, "G"),
        _ => (40, "T"),
    };
    let value = format!("{:.2}", bytes as f64 / (1_u64 << shift) as f64);
    format!("{}{unit}", value.trim_end_matches('0').trim_end_matches('.'))
}

/// A tie rule in words.
pub(crate) fn ties(rule: &str) -> String {
    if rule == "random" { "ties at random".to_owned() } else { format!("ties by {}", rule.replace('-', " ")) }
}

/// `3 rows tied across K: ..`, by the rule that chose their last neighbour.
pub(crate) fn tied(count: usize, what: &str, rule: &str) -> String {
    let chose = if rule == "random" { "the draw" } else { "the tie rule" };
    format!("{} tied across K: {chose} chose their last neighbour.", counted(count, what))
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
