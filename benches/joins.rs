//! Times whole self-joins on all threads, under every SIMD tier and filter.
//!
//! Usage: `cargo bench --bench joins`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mnno::{Filter, Kernels, Metric, Search, SliceRows};

/// Standard normal values: a sum of twelve uniform ones is close enough.
fn normal(n: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    (0..n).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect()
}

fn self_joins(c: &mut Criterion) {
    let n = 9251;
    for d in [128, 300, 2048] {
        let values = normal(n * d);
        let rows = SliceRows::new(&values, d);
        let mut group = c.benchmark_group(format!("self-join of {n} x {d}, cosine, k = 10"));
        group.sample_size(10);
        for kernels in Kernels::available() {
            for filter in Filter::available(kernels).into_iter().map(Some).chain([None]) {
                let name = filter.map_or("chosen".to_owned(), |f| f.to_string());
                let search = Search::new(Metric::Cosine, 10).kernels(kernels).filter(filter);
                group.bench_function(BenchmarkId::new(kernels.tier().name(), name), |b| {
                    b.iter(|| search.self_join(&rows).expect("finite rows that are not zero"));
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, self_joins);
criterion_main!(benches);
