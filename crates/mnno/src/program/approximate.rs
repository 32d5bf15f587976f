//! `compare --ann`: lists from an index, and what the exact lists of a sample of rows say about them.

use mnno::hnsw::{BuildOptions, Index, SearchOptions};
use mnno::{Exclude, Neighbours, Observer, Rows, Search, SearchError, Subset, Threads, measures};
use serde::Serialize;

/// Rows whose exact lists are looked at.
const SAMPLED: usize = 1000;
/// Of the normal distribution, for 95 %.
const Z: f64 = 1.96;

/// The exact lists of some rows of a space.
pub(crate) struct Sample {
    rows: Vec<u32>,
    /// `[rows]`
    exact: Neighbours,
}

/// What approximation does to the overlap of two spaces.
#[derive(Serialize)]
pub(crate) struct ApproximateReport {
    sampled_rows: usize,
    /// The share of the exact neighbours that the lists of each space hold, on the sample; equal scores count.
    recall: [f64; 2],
    /// mNNO of the sampled rows, by exact and by approximate lists.
    sample_exact: f64,
    sample_approximate: f64,
    /// mNNO of all rows by exact lists, estimated: the approximate value and the mean difference on the sample.
    exact_estimate: f64,
    exact_ci95: [f64; 2],
}

/// The lists of `rows` among each other, as `search` would find them but for what walks of `ef` miss, and exact ones of a
/// sample.
pub(crate) fn lists(
    search: Search<'_>,
    rows: &dyn Rows,
    ef: usize,
    exclude: Exclude<'_>,
    (threads, count_of_threads): (Threads<'_>, usize),
    (progress, interruption): (&dyn Observer, &dyn Observer),
) -> Result<(Neighbours, Sample), SearchError> {
    let (k, metric, ties) = (search.k(), search.metric(), search.tie_rule());
    let (build, budget) = (BuildOptions::default(), search.memory_limit());
    let needed = build.memory_beside(rows.n(), rows.d(), count_of_threads);
    let Some(memory) = budget.checked_sub(needed) else { return Err(SearchError::Memory { needed, budget }) };
    let build = BuildOptions { memory, ..build };
    let index = Index::build(rows, metric, build, threads, progress)?;
    let options = SearchOptions { ef, ties, exclude, threads, memory, observer: interruption, ..SearchOptions::new(k) };
    let lists = index.search(rows, rows, &options)?.lists;
    let n = rows.n();
    let count = SAMPLED.min(n);
    let sampled: Vec<u32> = (0..count).map(|i| (i * n / count) as u32).collect();
    let own: Vec<Vec<u32>> = sampled.iter().map(|&row| vec![row]).collect();
    let exclude = if matches!(exclude, Exclude::SameIndex) { Exclude::Ids(&own) } else { exclude };
    let exact = search.exclude(exclude).queries(rows, &Subset::new(rows, &sampled))?;
    Ok((lists, Sample { rows: sampled, exact }))
}

impl Sample {
    /// The share of the exact neighbours that `lists` hold.
    fn recall(&self, lists: &Neighbours) -> f64 {
        let found = lists.of_queries(&self.rows);
        measures::recall(&found, &self.exact).expect("as many lists, of one length").value()
    }
}

impl ApproximateReport {
    /// For two spaces whose approximate lists `a` and `b` overlap by `value`, with a sample of the same rows of each.
    pub(crate) fn new(a: &Neighbours, of_a: &Sample, b: &Neighbours, of_b: &Sample, value: f64) -> Self {
        let (n, k, sampled) = (a.n() as f64, a.k() as f64, of_a.rows.len());
        let share = |x: &[u32], y: &[u32]| x.iter().filter(|&index| y.contains(index)).count() as f64 / k;
        let (mut exact, mut approximate, mut squares) = (0.0, 0.0, 0.0);
        for (i, &row) in of_a.rows.iter().enumerate() {
            let of_exact = share(of_a.exact.list(i), of_b.exact.list(i));
            let of_approximate = share(a.list(row as usize), b.list(row as usize));
            exact += of_exact;
            approximate += of_approximate;
            squares += (of_exact - of_approximate).powi(2);
        }
        let count = sampled.max(1) as f64;
        let (exact, approximate) = (exact / count, approximate / count);
        let bias = exact - approximate;
        // Of a sample of all rows nothing is left to guess.
        let unseen = (1.0 - count / n.max(1.0)).max(0.0);
        let variance = (squares / count - bias * bias).max(0.0) * count / (count - 1.0).max(1.0);
        // Where few rows differ the spread says little: with none among m, up to 3 in m may (the rule of three), each by one
        // neighbour.
        let half = (Z * (variance / count * unseen).sqrt()).max(if unseen > 0.0 { 3.0 / (count * k) } else { 0.0 });
        let exact_estimate = value + bias;
        Self {
            sampled_rows: sampled,
            recall: [of_a.recall(a), of_b.recall(b)],
            sample_exact: exact,
            sample_approximate: approximate,
            exact_estimate,
            exact_ci95: [(exact_estimate - half).max(0.0), (exact_estimate + half).min(1.0)],
        }
    }

    /// `recall 0.981 and 0.975 ..`.
    pub(crate) fn text(&self) -> String {
        let [low, high] = self.exact_ci95;
        format!(
            "the table is of approximate lists, with recall {:.4} and {:.4} on {} sampled rows;\n  \
             by exact lists mNNO is about {:.6}, 95 % interval {low:.6} to {high:.6}\n  \
             (of the sampled rows alone {:.6} by approximate lists, {:.6} by exact ones)",
            self.recall[0],
            self.recall[1],
            self.sampled_rows,
            self.exact_estimate,
            self.sample_approximate,
            self.sample_exact
        )
    }
}
