//! What the cells of a text are taken for: numbers, words, headings, or nothing at all.
//!
//! A row or a column must not be lost because a number is misspelt or missing: only what is clearly a word becomes a name
//! or a heading, and anything else is an error that names its cell.

use csv::ByteRecord;

use super::text::number;

/// Last words of headings that stand above names, in lower case.
const NAME_HEADINGS: [&str; 25] = [
    "name",
    "names",
    "id",
    "ids",
    "uid",
    "uuid",
    "word",
    "words",
    "token",
    "label",
    "key",
    "index",
    "idx",
    "file",
    "filename",
    "filepath",
    "path",
    "item",
    "row",
    "rownames",
    "url",
    "title",
    "date",
    "time",
    "timestamp",
];

/// Text that stands for a missing value, in lower case.
const MISSING: [&str; 27] = [
    "",
    "na",
    "n/a",
    "n.a.",
    "<na>",
    "#n/a",
    "nat",
    "none",
    "null",
    "nil",
    "missing",
    "undefined",
    "-",
    "--",
    "\u{2212}",
    "\u{2013}",
    "\u{2014}",
    "?",
    ".",
    "*",
    "#div/0!",
    "#ref!",
    "#value!",
    "#num!",
    "1.#ind",
    "1.#qnan",
    "-nan(ind)",
];

fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell.trim().to_lowercase().as_str())
}

/// Whether text begins as a number does and has no run of letters that makes a word of it: `0,5`, `5%`, `5kg`, `2..5`.
fn is_almost_number(text: &str) -> bool {
    const RUN: usize = 3;
    let text = text.trim();
    let unsigned = text.trim_start_matches(['+', '-', '\u{2212}', '.', ',', '<', '>', '~', '$', '€', '\'']);
    let run = text.split(|c: char| !c.is_alphabetic()).map(|run| run.chars().count()).max().unwrap_or(0);
    unsigned.starts_with(char::is_numeric) && run < RUN
}

/// Whether a cell is a name and not a number that is misspelt or missing. A list of numbers is a name, and so are long
/// digits and letters by turns, such as hashes.
pub(super) fn is_word(cell: &[u8]) -> bool {
    const SHORT: usize = 6;
    let text = String::from_utf8_lossy(cell);
    let has_letter = || text.chars().any(|c| c.is_alphabetic() && !matches!(c, 'e' | 'E' | 'd' | 'D'));
    let has_digit = || text.chars().any(char::is_numeric);
    let is_list =
        || text.split_whitespace().count() > 1 && text.split_whitespace().all(|part| number(part.as_bytes()).is_some());
    let is_long_id = || has_letter() && text.chars().count() > SHORT;
    let is_misspelt = || is_almost_number(&text) && !is_long_id();
    let looks_like_word = || (has_letter() || !has_digit()) && !is_misspelt();
    number(cell).is_none() && !is_missing(&text) && (is_list() || looks_like_word())
}

/// Whether a cell is a heading and not a number, misspelt or missing.
pub(crate) fn is_heading(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell);
    number(cell).is_none() && !is_missing(&text) && !is_almost_number(&text)
}

/// Whether a heading stands above names: none, or one whose last word says so, as in `image_id`, `userId` and `File Name`.
pub(crate) fn is_name_heading(cell: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(cell) else { return false };
    let text = text.trim();
    let mut last = String::new();
    let mut before_is_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && before_is_lower {
            last.clear();
        }
        if c.is_alphanumeric() {
            last.extend(c.to_lowercase());
        }
        before_is_lower = c.is_lowercase();
    }
    // pandas writes an index without a name so.
    text.is_empty() || text.eq_ignore_ascii_case("unnamed: 0") || NAME_HEADINGS.contains(&last.as_str())
}

/// Whether cells are the numbers from `start` on.
pub(super) fn counts<'a>(cells: impl IntoIterator<Item = &'a [u8]>, start: usize) -> bool {
    cells.into_iter().enumerate().all(|(i, cell)| number(cell).is_some_and(|v| v == (start + i) as f32))
}

/// Whether the first line is a header: headings only, of which the first may be empty; or, as pandas writes it, column
/// numbers beside a heading of names. A line of some numbers is data, so that a typing error in the first row is found.
pub(super) fn is_header(record: &ByteRecord) -> bool {
    let Some(first) = record.get(0) else { return false };
    if record.len() == 1 {
        return is_heading(first);
    }
    let others = || record.iter().skip(1);
    let is_first = is_heading(first) || first.is_empty();
    let numbered = || counts(others(), 0) || counts(others(), 1);
    is_first && others().all(is_heading) || is_name_heading(first) && numbered()
}

/// A column that may count up by one.
#[derive(Default)]
pub(super) struct Counting {
    /// The first number, while all that follow count on from it.
    pub(super) first: Option<i64>,
    rows: i64,
}

impl Counting {
    pub(super) fn next(&mut self, cell: &[u8]) {
        let value: Option<i64> = str::from_utf8(cell).ok().and_then(|cell| cell.trim().parse().ok());
        if self.rows == 0 {
            self.first = value;
        } else if value.is_none() || value != self.first.and_then(|first| first.checked_add(self.rows)) {
            self.first = None;
        }
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_lists_and_ids() {
        for name in [
            "cat",
            "new york",
            "40 115",
            "000123.jpg",
            "12/img_3.png",
            "été",
            "猫",
            "#",
            "\"",
            "rs12345",
            "3e25960a79dbc69b",
            "123e4567-e89b-12d3-a456-426614174000",
            "5th avenue",
            "(",
            "B-52",
        ] {
            assert!(is_word(name.as_bytes()), "{name}");
        }
        for cell in [
            "0,5",
            "5%",
            "1D0",
            "\u{2212}1",
            "1_000",
            "1'000",
            "5kg",
            "1.5a",
            "1.2.3",
            "10:30",
            "",
            "NA",
            "<NA>",
            "#N/A",
            "-",
            ".",
            "1.#IND",
            "-nan(ind)",
            "NaT",
            "7",
            "1e5",
            "nan",
            "inf",
        ] {
            assert!(!is_word(cell.as_bytes()), "{cell}");
        }
    }

    #[test]
    fn headings_of_names_end_with_a_word_for_them() {
        for heading in [
            "",
            "name",
            "ID",
            "image_id",
            "userId",
            "File Name",
            "img.name",
            "doc-id",
            "Unnamed: 0",
            "row",
            "id ",
            "uuid",
        ] {
            assert!(is_name_heading(heading.as_bytes()), "{heading}");
        }
        for heading in ["valid", "x", "a", "paid", "2019", "filenames of x", "name of"] {
            assert!(!is_name_heading(heading.as_bytes()), "{heading}");
        }
    }
}
