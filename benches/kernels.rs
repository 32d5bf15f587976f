//! Times the kernels of every SIMD tier on one thread: block products, the scan of their results, packing, and scores in f64.
//!
//! Usage: `cargo bench --bench kernels`

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mnno_simd::{Cell, Element, Frame, GROUP, Kernels, Operand, Products, Side, TILE, Tile};

/// Rows and columns of a cell, as the search multiplies them while a row takes few tiles.
const ROWS: usize = 32;
const COLUMNS: usize = 256;

fn values(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("product");
    for kernels in Kernels::available() {
        for &element in kernels.elements() {
            for depth in [2, 8, 12] {
                let d = depth * TILE * element.per_word();
                // The columns of several cells, more than the first-level cache holds.
                let columns = vec![Tile([[0x0101_0101; TILE]; TILE]); COLUMNS / TILE * depth * 8];
                let rows = vec![Tile([[0x0101_0101; TILE]; TILE]); ROWS / TILE * depth];
                let mut out = vec![0; ROWS * COLUMNS];
                group.throughput(Throughput::Elements((ROWS * COLUMNS * d * 8) as u64));
                let id = BenchmarkId::new(format!("{} {element:?}", kernels.tier()), d);
                group.bench_function(id, |b| {
                    b.iter(|| {
                        for columns in columns.chunks(COLUMNS / TILE * depth) {
                            let out = Products { words: &mut out, stride: COLUMNS };
                            let rows = Operand::new(&rows, ROWS / TILE);
                            kernels.product(element, rows, Operand::new(columns, COLUMNS / TILE), out);
                        }
                    });
                });
            }
        }
    }
    group.finish();
}

fn scan(c: &mut Criterion) {
    let (ones, zeros) = (vec![1.0; COLUMNS], vec![0.0; COLUMNS]);
    let side = |n: usize| Side {
        step: &ones[..n],
        offset: &zeros[..n],
        residual: &zeros[..n],
        norm: &ones[..n],
        on_residual: &ones[..n],
        on_norm: &zeros[..n],
        group_residual: &zeros[..n / GROUP],
        group_norm: &ones[..n / GROUP],
    };
    let estimates: Vec<u32> = values(ROWS * COLUMNS, 1).iter().map(|v| v.to_bits()).collect();
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements((ROWS * COLUMNS) as u64));
    for kernels in Kernels::available() {
        let cell = Cell {
            element: Element::Float32,
            products: &estimates,
            stride: COLUMNS,
            rows: side(ROWS),
            columns: side(COLUMNS),
            first_row: 0,
            first_column: 0,
        };
        // A few hits per cell, as a search has once its thresholds are good.
        let thresholds = vec![0.999; COLUMNS];
        let (mut row_hits, mut column_hits) = (Vec::new(), Vec::new());
        group.bench_function(BenchmarkId::new("rows", kernels.tier()), |b| {
            b.iter(|| {
                row_hits.clear();
                kernels.scan(cell, &thresholds[..ROWS], &mut row_hits);
            });
        });
        group.bench_function(BenchmarkId::new("both", kernels.tier()), |b| {
            b.iter(|| {
                row_hits.clear();
                column_hits.clear();
                kernels.scan_both(cell, &thresholds[..ROWS], &thresholds, &mut row_hits, &mut column_hits);
            });
        });
    }
    group.finish();
}

fn rows(c: &mut Criterion) {
    let d = 768;
    let (x, centre) = (values(d, 2), vec![0.0; d]);
    let others: Vec<Vec<f32>> = (3..7).map(|seed| values(d, seed)).collect();
    let mut group = c.benchmark_group("row of 768 values");
    group.throughput(Throughput::Elements(d as u64));
    for kernels in Kernels::available() {
        for &element in kernels.elements() {
            let mut words = vec![0; d];
            let mut scratch = Vec::new();
            let frame = Frame { factor: 1.0, centre: &centre };
            group.bench_function(BenchmarkId::new(format!("pack {element:?}"), kernels.tier()), |b| {
                b.iter(|| kernels.quantise(element, black_box(&x), frame, &mut words, &mut scratch));
            });
        }
        let four: [&[f32]; 4] = std::array::from_fn(|i| others[i].as_slice());
        group.bench_function(BenchmarkId::new("score, a quarter of four", kernels.tier()), |b| {
            b.iter(|| kernels.dot_many(black_box(&x), four));
        });
    }
    group.finish();
}

criterion_group!(benches, products, scan, rows);
criterion_main!(benches);
