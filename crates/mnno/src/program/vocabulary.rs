//! Words of ratings, found among the names of rows.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use mnno::measures::{RatedPair, Unknown};
use mnno::store::{OpenOptions, Ratings, read_ratings};
use serde::Serialize;

use super::args::WordArgs;
use super::budget::Budget;
use super::failure::Failure;
use super::inputs::{self, Checked};
use super::progress::Interruption;
use super::report::{counted, note, shown};

/// What a rated pair takes beside its words: places of both, as they are and in lower case, and what is ranked.
const BYTES_PER_PAIR: u64 = 512;
/// Words that a hint shows of either side.
const SHOWN: usize = 3;

/// Word vectors, and ratings of pairs of them.
pub(crate) struct WordVectors {
    pub(crate) input: Checked,
    pub(crate) ratings: Vec<Ratings>,
    /// The pairs of each file of ratings, by rows.
    pub(crate) found: Vec<Found>,
}

impl WordVectors {
    /// Opens the files and looks the words up.
    pub(crate) fn open(args: &WordArgs, budget: &mut Budget, interruption: &Interruption) -> Result<Self, Failure> {
        let options = OpenOptions { names: args.names.clone(), ..inputs::open_options(&args.input, None) };
        let embeddings = std::slice::from_ref(&args.embeddings);
        let mut inputs = inputs::open_checked(embeddings, &options, budget, None, interruption)?;
        let (Some(input), true) = (inputs.pop(), inputs.is_empty()) else {
            return Err(Failure::usage("words are looked up in one matrix").hint("name one layer in place of ::*"));
        };
        let Some(names) = input.matrix.names() else {
            return Err(Failure::usage(format!("{}: the file has no row names to find words by", input.name()))
                .hint("name the rows with --names FILE, a line per row or a table with a header"));
        };
        let mut ratings = Vec::new();
        for argument in &args.ratings {
            let read = read_ratings(argument, budget.left())?;
            budget.take(read.held_bytes() + read.pairs().len() as u64 * BYTES_PER_PAIR, argument)?;
            read.remarks().iter().for_each(|remark| note(remark));
            ratings.push(read);
            interruption.check()?;
        }
        let vocabulary = Vocabulary::new(&ratings, names);
        vocabulary.tell_repeated(&input);
        let found = ratings.iter().map(|ratings| vocabulary.find(ratings, &input)).collect::<Result<Vec<_>, _>>()?;

        Ok(Self { input, ratings, found })
    }
}

#[derive(Serialize)]
pub(crate) struct RatingsReport {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    pairs: usize,
    /// Words that are known in lower case only.
    lower_cased: usize,
    fingerprint: String,
}

/// Where a word of the ratings stands among the names.
#[derive(Default)]
struct Place {
    first: Option<u32>,
    second: Option<u32>,
}

/// The rows of all words that are rated, as written and in lower case.
struct Vocabulary<'a>(HashMap<Cow<'a, str>, Place>);

/// The pairs of a file of ratings, by rows.
pub(crate) struct Found {
    pub(crate) pairs: Vec<RatedPair>,
    lower_cased: usize,
}

impl<'a> Vocabulary<'a> {
    fn new(ratings: &'a [Ratings], names: &[String]) -> Self {
        let mut places: HashMap<Cow<'a, str>, Place> = HashMap::new();
        for word in ratings.iter().flat_map(Ratings::pairs).flat_map(|pair| &pair.words) {
            places.entry(Cow::Borrowed(word)).or_default();
            places.entry(Cow::Owned(word.to_lowercase())).or_default();
        }
        for (row, name) in names.iter().enumerate() {
            if let Some(place) = places.get_mut(name.as_str()) {
                if place.first.is_none() {
                    place.first = Some(row as u32);
                } else {
                    place.second = place.second.or(Some(row as u32));
                }
            }
        }
        Self(places)
    }

    fn row(&self, word: &str) -> Option<u32> {
        self.0.get(word).and_then(|place| place.first)
    }

    /// A name that stands twice means its first row, which is not to happen in silence.
    fn tell_repeated(&self, input: &Checked) {
        let repeated = self.0.iter().filter_map(|(word, place)| Some((place.first?, place.second?, word)));
        let repeated: BTreeSet<_> = repeated.collect();
        if let Some((first, second, word)) = repeated.first() {
            let offset = input.matrix.rows_offset();
            note(&format!(
                "{}: {} of the ratings name several rows each, of which the first is used: rows {} and {} (from 0) are both '{}'",
                input.name(),
                counted(repeated.len(), "word"),
                *first as usize + offset,
                *second as usize + offset,
                shown(word)
            ));
        }
    }

    fn find(&self, ratings: &Ratings, input: &Checked) -> Result<Found, Failure> {
        let mut lower_cased = BTreeSet::new();
        let mut row_of = |word: &'_ String| {
            self.row(word).or_else(|| {
                let row = self.row(&word.to_lowercase())?;
                lower_cased.insert(word.clone());
                Some(row)
            })
        };
        let pairs: Vec<RatedPair> = ratings
            .pairs()
            .iter()
            .map(|pair| RatedPair { rows: pair.words.each_ref().map(&mut row_of), rating: pair.value })
            .collect();
        if !pairs.iter().any(RatedPair::is_known) {
            let some = |words: &mut dyn Iterator<Item = &String>| {
                let quoted: Vec<String> = words.take(SHOWN).map(|word| format!("'{}'", shown(word))).collect();
                quoted.join(", ")
            };
            let names = input.matrix.names().unwrap_or_default();
            return Err(Failure::bad_data(format!(
                "{}: none of its pairs has both words among the names of {}",
                ratings.display_name(),
                input.name()
            ))
            .hint(format!(
                "its words begin with {}, the names with {}: are these the words of the rows?",
                some(&mut ratings.pairs().iter().flat_map(|pair| &pair.words)),
                some(&mut names.iter())
            )));
        }
        Ok(Found { pairs, lower_cased: lower_cased.len() })
    }
}

/// `3 pairs dropped: zero vectors have no direction.`
pub(crate) fn without_direction(pairs: usize) -> String {
    format!("{} dropped: zero vectors have no direction.", counted(pairs, "pair"))
}

/// `row 2 (from 0), 'nil'`.
fn place(input: &Checked, row: usize) -> String {
    let name = input.matrix.names().map_or("", |names| &names[row]);
    format!("row {} (from 0), '{}'", row + input.matrix.rows_offset(), shown(name))
}

/// What to say of a row that a random map takes beyond f32.
pub(crate) fn overflow(input: &Checked, row: usize) -> Failure {
    Failure::bad_data(format!("{}: {}, is mapped to values beyond f32", input.name(), place(input, row)))
        .hint("scale the vectors down: divide all by one number")
}

/// Stops at a zero vector that the cosine of a pair would be of; `or_else` is what the command offers beside dropping pairs.
pub(crate) fn refuse_zero_vectors(
    pairs: &[RatedPair],
    unknown: Unknown<'_>,
    input: &Checked,
    or_else: &str,
) -> Result<(), Failure> {
    let fail = |what: String| {
        Failure::bad_data(format!("{}: {what}: it has no direction, so its cosine is undefined", input.name()))
            .hint(format!("--zero drop leaves out its pairs{or_else}"))
    };
    let is_compared = |pair: &&RatedPair| matches!(unknown, Unknown::Vector(_)) || !pair.rows.contains(&None);
    let rows = pairs.iter().filter(is_compared).flat_map(|pair| pair.rows).flatten();
    let zeros: BTreeSet<u32> = rows.filter(|&row| input.check.zero_rows.contains(row as usize)).collect();
    if let Some(&row) = zeros.first() {
        let also = if zeros.len() > 1 { format!(" (and {} more)", zeros.len() - 1) } else { String::new() };
        return Err(fail(format!("{}, is a zero vector{also}", place(input, row as usize))));
    }
    match unknown {
        Unknown::Vector(mean) if mean.iter().all(|&v| v == 0.0) => {
            Err(fail("the mean of all rows, for unknown words, is a zero vector".to_owned()))
        }
        _ => Ok(()),
    }
}

impl RatingsReport {
    pub(crate) fn new(ratings: &Ratings, found: &Found) -> Self {
        Self {
            path: ratings.display_name().to_owned(),
            column: ratings.column().map(str::to_owned),
            pairs: found.pairs.len(),
            lower_cased: found.lower_cased,
            fingerprint: ratings.fingerprint().to_string(),
        }
    }

    /// `WS-353.txt: 353 pairs, 27 words known in lower case only, xxh3:.. (full)`.
    pub(crate) fn line(&self) -> String {
        let column = self.column.as_ref().map_or(String::new(), |column| format!(", ratings '{}'", shown(column)));
        let lower_cased = match self.lower_cased {
            0 => String::new(),
            count => format!(", {} known in lower case only", counted(count, "word")),
        };
        format!("{}: {}{column}{lower_cased}, {}", self.path, counted(self.pairs, "pair"), self.fingerprint)
    }
}
