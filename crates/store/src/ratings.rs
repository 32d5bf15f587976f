//! Ratings of word pairs, as people gave them: `word1 word2 rating` in every line.

use csv::StringRecord;

use crate::bytes::{Io, Source};
use crate::error::{Need, shown};
use crate::format::headings::is_heading;
use crate::format::table::NAME_OVERHEAD;
use crate::names::place;
use crate::open::split;
use crate::{Fingerprint, StoreError, TextFault};

/// Parts of speech that MEN writes behind each word.
const PARTS_OF_SPEECH: [&str; 5] = ["-n", "-v", "-j", "-a", "-r"];

/// Two words and their rating.
#[derive(Clone, Debug, PartialEq)]
pub struct Rating {
    /// The words as the file has them.
    pub words: [String; 2],
    /// A finite number, on the scale of the file.
    pub value: f64,
}

/// The ratings of a file.
#[derive(Debug)]
pub struct Ratings {
    display_name: String,
    column: Option<String>,
    pairs: Vec<Rating>,
    remarks: Vec<String>,
    fingerprint: Fingerprint,
    held: u64,
}

impl Ratings {
    /// The argument that named the file.
    pub fn display_name(&self) -> &str {
        &self.display_name
    }

    /// The heading of the ratings, where the file has a header.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The pairs, in the order of the file; at least one.
    pub fn pairs(&self) -> &[Rating] {
        &self.pairs
    }

    /// What was taken otherwise than it is written; each names the file.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// A hash of the content of the file.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> u64 {
        self.held
    }
}

/// Reads `PATH[::COLUMN]`: lines of two words and a rating, separated by tabs, by commas or by blanks, or of a cell `word1#word2`
/// and a rating. A header is recognised by a heading above numbers; comments may precede it, in lines that begin with
/// `#`. COLUMN is the heading of a column, or without a header its number from 1; it is needed where several
/// columns hold numbers. Takes at most `budget` bytes of memory.
///
/// # Errors
/// [`StoreError::Text`] with what is wrong and where; a file that cannot be read, or does not fit the budget.
pub fn read_ratings(argument: &str, budget: u64) -> Result<Ratings, StoreError> {
    let (path, suffix) = split(argument);
    let wanted = (!suffix.is_empty()).then(|| suffix.join("::"));
    let source = Source::open(path, Io::Read, budget)?;
    let fault = |fault| StoreError::Text { path: path.to_owned(), fault };
    let text = source.text().map_err(|line| fault(TextFault::NotUtf8 { line }))?;
    if text.contains('\r') && !text.contains('\n') {
        return Err(fault(TextFault::OldLineEnds));
    }
    let cannot_read = |e: csv::Error| StoreError::CannotOpen { path: path.to_owned(), source: e.into() };
    let mut lines = lines(text);
    let first = lines.next().transpose().map_err(cannot_read)?.ok_or_else(|| fault(TextFault::NoRatings))?;
    let second = lines.next().transpose().map_err(cannot_read)?;
    let cells = first.cells.len();
    let columns = Columns::of(&first, second.as_ref(), &of_numbers(text, cells), wanted).map_err(fault)?;
    let column = columns.heading.clone();
    let first = columns.heading.is_none().then_some(first);
    let mut held = 0;
    let mut pairs = Vec::new();
    for line in first.into_iter().chain(second).map(Ok).chain(lines) {
        let rating = columns.rating(&line.map_err(cannot_read)?, cells).map_err(fault)?;
        held += size_of::<Rating>() as u64 + rating.words.iter().map(|w| NAME_OVERHEAD + w.len() as u64).sum::<u64>();
        let needed = held + source.bytes().len() as u64;
        if needed > budget {
            return Err(StoreError::OverBudget { file: argument.to_owned(), needed, need: Need::Ratings, budget });
        }
        pairs.push(rating);
    }
    if pairs.is_empty() {
        return Err(fault(TextFault::NoRatings));
    }
    let mut remarks = Vec::new();
    if cut_parts_of_speech(&mut pairs) {
        remarks.push(format!("{argument}: every word ends with a part of speech, as in sun-n, which was cut off"));
    }
    let fingerprint = Fingerprint::of(source.bytes());
    Ok(Ratings { display_name: argument.to_owned(), column, pairs, remarks, fingerprint, held })
}

/// A line that is neither empty nor a comment.
struct Line {
    /// From 1.
    number: usize,
    cells: StringRecord,
}

/// The lines of a text behind its comments, in cells: separated by tabs if the first line has any, by commas if that makes
/// three cells of it, or two where it or the next begins with `word1#word2`; else by blanks.
fn lines(text: &str) -> Box<dyn Iterator<Item = csv::Result<Line>> + '_> {
    let is_comment = |line: &str| line.trim().is_empty() || line.starts_with('#');
    let skipped = text.lines().take_while(|line| is_comment(line)).count();
    let rest = text.split_inclusive('\n').skip(skipped).map(str::len).sum::<usize>();
    let text = &text[text.len() - rest..];
    let first = text.lines().next().unwrap_or_default();
    let commas = first.matches(',').count();
    let is_joined = |line: &str| line.split_once(',').is_some_and(|(words, _)| words.contains('#'));
    if !first.contains('\t') && (commas > 1 || commas == 1 && text.lines().take(2).any(is_joined)) {
        let mut reader = csv::ReaderBuilder::new();
        reader.has_headers(false).flexible(true).trim(csv::Trim::All);
        let lines = reader.from_reader(text.as_bytes()).into_records().map(move |cells| {
            let cells = cells?;
            let line = cells.position().map_or(0, |position| position.line() as usize);
            Ok(Line { number: skipped + line, cells })
        });
        // Nothing but blanks is an empty line here too.
        return Box::new(lines.filter(|line| !line.as_ref().is_ok_and(|line| line.cells.iter().eq([""]))));
    }
    let by_tabs = first.contains('\t');
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Box::new(lines.map(move |(i, line)| {
        let cells = if by_tabs { line.split('\t').map(str::trim).collect() } else { line.split_whitespace().collect() };
        Ok(Line { number: skipped + i + 1, cells })
    }))
}

/// The columns that hold a number in any line but the first, which may be a header.
fn of_numbers(text: &str, columns: usize) -> Vec<bool> {
    let mut numbers = vec![false; columns];
    for line in lines(text).skip(1).flatten() {
        for (found, cell) in numbers.iter_mut().zip(&line.cells) {
            *found |= is_number(cell);
        }
    }
    numbers
}

/// Where words and ratings stand in a line.
struct Columns {
    /// One cell holds both words: `word1#word2`.
    joined: bool,
    rating: usize,
    /// Of the ratings, in a text with a header.
    heading: Option<String>,
}

impl Columns {
    /// Told by the first two lines, the columns of the others that hold numbers, and the column asked for.
    fn of(first: &Line, second: Option<&Line>, numbers: &[bool], wanted: Option<String>) -> Result<Self, TextFault> {
        let has_number = |column: usize| first.cells.get(column).is_some_and(|cell| numbers[column] || is_number(cell));
        let joined =
            has_number(1) && [Some(first), second].iter().flatten().any(|line| pair_of(&line.cells[0]).is_some());
        let words = if joined { 1 } else { 2 };
        if first.cells.len() <= words {
            return Err(TextFault::TooFewCells { line: first.number, cells: first.cells.len() });
        }
        let is_above_numbers = |column: usize| is_heading(first.cells[column].as_bytes()) && numbers[column];
        let has_header = (words..first.cells.len()).any(is_above_numbers);
        let name = |column: usize| {
            if has_header { first.cells[column].to_owned() } else { (column + 1).to_string() }
        };
        let all = words..first.cells.len();
        let rating = if let Some(wanted) = wanted {
            words + place(all.map(name), wanted)?
        } else {
            let of_numbers: Vec<usize> = all.filter(|&column| has_number(column)).collect();
            match of_numbers[..] {
                // Whatever stands there is then refused as no number.
                [] => words,
                [column] => column,
                _ => {
                    let columns = of_numbers.iter().map(|&column| shown(&name(column))).collect();
                    return Err(TextFault::SeveralColumns { columns });
                }
            }
        };
        Ok(Self { joined, rating, heading: has_header.then(|| name(rating)) })
    }

    fn rating(&self, line: &Line, expected: usize) -> Result<Rating, TextFault> {
        let Line { number, cells } = line;
        if cells.iter().any(|cell| cell.contains('\n')) {
            return Err(TextFault::LineBreak { line: *number });
        }
        if cells.len() != expected {
            return Err(TextFault::Ragged { line: *number, cells: cells.len(), expected });
        }
        let words = if self.joined { pair_of(&cells[0]) } else { Some([&cells[0], &cells[1]]) };
        let words = words.filter(|words| words.iter().all(|word| !word.is_empty()));
        let words = words.ok_or(TextFault::NoWord { line: *number })?.map(str::to_owned);
        let cell = &cells[self.rating];
        match cell.parse() {
            Ok(value) if f64::is_finite(value) => Ok(Rating { words, value }),
            _ => Err(TextFault::NoNumber { line: *number, cell: shown(cell) }),
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// The two words of a cell `word1#word2`.
fn pair_of(cell: &str) -> Option<[&str; 2]> {
    let (one, other) = cell.split_once('#')?;
    (!one.is_empty() && !other.is_empty()).then_some([one, other])
}

/// Cuts the part of speech off every word, if all have one; returns whether they had.
fn cut_parts_of_speech(pairs: &mut [Rating]) -> bool {
    let without = |word: &str| {
        let cut = PARTS_OF_SPEECH.iter().find_map(|part| word.strip_suffix(part))?;
        (!cut.is_empty()).then(|| cut.to_owned())
    };
    let all_have = pairs.iter().flat_map(|pair| &pair.words).all(|word| without(word).is_some());
    if all_have {
        for word in pairs.iter_mut().flat_map(|pair| &mut pair.words) {
            *word = without(word).unwrap_or_default();
        }
    }
    all_have
}
