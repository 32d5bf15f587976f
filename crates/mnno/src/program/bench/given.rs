//! Neighbours that are known from elsewhere, compared with ours.

use mnno::Neighbours;
use mnno::store::Matrix;
use serde::Serialize;

use super::truth::Scorer;
use super::{Asking, Setting};
use crate::program::failure::Failure;
use crate::program::report;

/// How given lists compare with ours.
#[derive(Serialize)]
pub(super) struct GivenReport {
    file: String,
    queries: usize,
    /// Queries whose given neighbours are different rows of the same scores.
    agreeing: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_disagreement: Option<Disagreement>,
}

/// The lists of a query, in its place among the queries, with the scores that are reported.
#[derive(Serialize)]
struct Disagreement {
    query: usize,
    given: Vec<u32>,
    given_scores: Vec<f64>,
    ours: Vec<u32>,
    our_scores: Vec<f64>,
}

/// Compares the first `k` numbers of each row of `given` with the exact lists; equal scores make neighbours equal.
pub(super) fn compare(
    given: &Matrix,
    exact: &Neighbours,
    setting: &Setting<'_>,
    asking: &Asking<'_>,
) -> Result<GivenReport, Failure> {
    let (name, k) = (given.display_name(), setting.k);
    let of_queries = "a truth has a row of neighbours for each query, nearest first";
    if given.n() != exact.n() {
        let (rows, queries) = (report::counted(given.n(), "row"), report::queries(exact.n()));
        return Err(Failure::bad_data(format!("{name}: {rows} for {queries}")).hint(of_queries));
    }
    if given.d() < k {
        return Err(Failure::bad_data(format!("{name}: {} columns for -k {k}", given.d())).hint(of_queries));
    }
    let lists = (0..given.n()).map(|i| ids(given, i, setting)).collect::<Result<Vec<_>, _>>()?;
    let (metric, base) = (setting.metric, &setting.base.matrix);
    let scorer = Scorer { kernels: setting.kernels, metric };
    let mut report = GivenReport { file: name.to_owned(), queries: given.n(), agreeing: 0, first_disagreement: None };
    asking.with_rows(|queries| {
        let mut scratch = Vec::new();
        for (i, ids) in lists.into_iter().enumerate() {
            let query = queries.row(i, &mut scratch);
            let scores: Vec<f64> = ids.iter().map(|&index| scorer.score(query, base, index)).collect();
            let mut different = ids.clone();
            different.sort_unstable();
            different.dedup();
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| metric.goodness(*b).total_cmp(&metric.goodness(*a)));
            if different.len() == k && sorted == exact.list_scores(i) {
                report.agreeing += 1;
            } else if report.first_disagreement.is_none() {
                let reported = |scores: &[f64]| scores.iter().map(|&score| metric.reported(score)).collect();
                report.first_disagreement = Some(Disagreement {
                    query: i,
                    given: ids,
                    given_scores: reported(&scores),
                    ours: exact.list(i).to_vec(),
                    our_scores: reported(exact.list_scores(i)),
                });
            }
        }
    });
    Ok(report)
}

/// The first `k` neighbours that are given for query `i`.
fn ids(given: &Matrix, i: usize, setting: &Setting<'_>) -> Result<Vec<u32>, Failure> {
    let (base, name) = (setting.base, given.display_name());
    let n = base.matrix.n();
    let id = |column| {
        let place = format!("{name}: row {}, column {column} (both from 0)", i + given.rows_offset());
        let Some(id) = given.whole_number(i, column) else {
            return Err(Failure::bad_data(format!("{place} is not a whole number"))
                .hint("a truth holds numbers of rows of the base, best as integers: npy, ivecs or ibin"));
        };
        u32::try_from(id).ok().filter(|&id| (id as usize) < n).ok_or_else(|| {
            Failure::bad_data(format!("{place} is {id}, but {} has {n} rows", base.name()))
                .hint("neighbours are numbers of rows of the base, from 0; with --rows A..B row A is number 0")
        })
    };
    (0..setting.k).map(id).collect()
}

impl GivenReport {
    /// `truth.npy agrees on 100 of 100 queries`.
    pub(super) fn text(&self) -> String {
        format!("{} agrees on {} of {}", self.file, self.agreeing, report::queries(self.queries))
    }

    /// What to warn of.
    pub(super) fn warning(&self) -> Option<String> {
        let Disagreement { query, given, given_scores, ours, our_scores } = self.first_disagreement.as_ref()?;
        let (theirs, mine) = (pairs(given, given_scores), pairs(ours, our_scores));
        Some(format!(
            "{}, whatever the order of equal scores. The first other list, query {query} (from 0): {theirs} is given, and {mine} \
             found. Another metric, other files or a truth made in lower precision may be why",
            self.text()
        ))
    }
}

/// `5 (0.25), 7 (0.5), ..`.
fn pairs(ids: &[u32], scores: &[f64]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = ids.iter().zip(scores).take(SHOWN).map(|(id, score)| format!("{id} ({score})")).collect();
    shown.join(", ") + if ids.len() > SHOWN { ", .." } else { "" }
}
