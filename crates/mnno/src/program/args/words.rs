//! The flags of `mnno words`, and those that `mnno experiment untrained` shares with it.

use clap::{Args, ValueEnum};

use super::{Input, ZeroRule};

#[derive(Debug, Args)]
pub(crate) struct Words {
    #[command(flatten)]
    pub(crate) vectors: WordArgs,
    /// Similarity of two words; both without it
    #[arg(long, value_enum)]
    pub(crate) similarity: Option<SimilarityRule>,
    /// What becomes of a pair with a word that has no row
    #[arg(long, value_enum, default_value_t)]
    pub(crate) unknown: UnknownRule,
    /// Zero vectors under cosine, which have no direction: refuse them, or drop their pairs
    #[arg(long, value_enum, default_value_t)]
    pub(crate) zero: ZeroRule,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Word vectors and ratings of pairs.
#[derive(Debug, Args)]
pub(crate) struct WordArgs {
    /// Word vectors, in a file with row names or with --names: PATH[::NAME][::LAYER], a folder of parts, or @LIST (see mnno --help)
    #[arg(value_name = "EMBEDDINGS")]
    pub(crate) embeddings: String,
    /// Ratings of word pairs, PATH[::COLUMN]: lines of word1 word2 rating, or word1#word2 rating, separated by tabs, commas or
    /// blanks; COLUMN names the ratings where several columns hold numbers
    #[arg(required = true, value_name = "RATINGS")]
    pub(crate) ratings: Vec<String>,
    /// Words of the rows, PATH[::COLUMN]: a line per row, or a table with a header, of its first column or of COLUMN
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<String>,
    #[command(flatten)]
    pub(crate) input: Input,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimilarityRule {
    /// The cosine
    Cosine,
    /// 1 / (1 + Euclidean distance)
    Euclidean,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnknownRule {
    /// It is dropped
    #[default]
    Drop,
    /// The word gets the mean of all rows
    Mean,
    /// Its similarity is 0
    Zero,
}
