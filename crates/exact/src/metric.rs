//! The metrics and the canonical score each one ranks by.

use mnno_simd::Kernels;

/// How two rows are compared.
///
/// Each metric ranks by a *canonical score* in f64, accumulated in one fixed order (see [`mnno_simd::Kernels`]), so
/// that the ranking does not depend on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `dot(q,b) / sqrt(dot(q,q) * dot(b,b))`, clamped to `[-1, 1]`; larger is nearer. A zero vector has no cosine.
    Cosine,
    /// `dot(q,b)`; larger is nearer.
    InnerProduct,
    /// Ranks by the sum of squared differences and reports its root; smaller is nearer.
    Euclidean,
    /// Ranks by the sum of squared differences and reports it as it is; smaller is nearer.
    SquaredEuclidean,
}

impl Metric {
    /// Every metric, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Cosine, Self::InnerProduct, Self::Euclidean, Self::SquaredEuclidean];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::InnerProduct => "ip",
            Self::Euclidean => "euclidean",
            Self::SquaredEuclidean => "l2",
        }
    }

    /// Whether a larger score means a nearer row (a similarity) or a smaller one does (a distance).
    pub fn larger_is_nearer(self) -> bool {
        matches!(self, Self::Cosine | Self::InnerProduct)
    }

    /// The score of a place in a list that no candidate fills: minus infinity for a similarity, infinity for a distance.
    pub fn worst(self) -> f64 {
        if self.larger_is_nearer() { f64::NEG_INFINITY } else { f64::INFINITY }
    }

    /// The value that a report shows for a canonical score: the root under [`Metric::Euclidean`], else the score.
    pub fn reported(self, canonical: f64) -> f64 {
        if self == Self::Euclidean { canonical.sqrt() } else { canonical }
    }

    /// A score turned so that larger is nearer.
    pub fn goodness(self, score: f64) -> f64 {
        if self.larger_is_nearer() { score } else { -score }
    }

    /// The inverse of [`Metric::goodness`].
    pub(crate) fn score_of(self, goodness: f64) -> f64 {
        self.goodness(goodness)
    }

    /// The canonical scores of `q` with `R` rows. `qq` and `bb` are `dot(q,q)` and each `dot(b,b)`; only the cosine
    /// uses them.
    ///
    /// # Panics
    /// If a length differs from that of `q`.
    pub fn scores<const R: usize>(
        self,
        kernels: Kernels,
        q: &[f32],
        rows: [&[f32]; R],
        qq: f64,
        bb: [f64; R],
    ) -> [f64; R] {
        match self {
            Self::Cosine => {
                let mut scores = kernels.dot_many(q, rows);
                for (score, bb) in scores.iter_mut().zip(bb) {
                    *score = cosine(*score, qq, bb);
                }
                scores
            }
            Self::InnerProduct => kernels.dot_many(q, rows),
            Self::Euclidean | Self::SquaredEuclidean => kernels.squared_euclidean_many(q, rows),
        }
    }
}

/// Written so, a row against itself gives exactly 1, and f32 data can neither overflow nor underflow it.
fn cosine(dot: f64, qq: f64, bb: f64) -> f64 {
    (dot / (qq * bb).sqrt()).clamp(-1.0, 1.0)
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}

/// A name that is no metric's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric '{0}': expected cosine, ip, euclidean or l2")]
pub struct UnknownMetric(pub String);
