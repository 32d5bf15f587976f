//! Do two sets of vectors describe the same neighbourhoods?
//!
//! This crate is the one to depend on: it re-exports the engine, the measures and the store.
//!
//! - **Rows in**: [`store::open`] maps a feature file; or implement [`Rows`] for vectors of your own, or wrap a slice in
//!   [`SliceRows`].
//! - **Lists out**: [`Search`] finds the exact `k` nearest rows, in the canonical order of a [`Metric`].
//! - **Approximate lists out**: [`hnsw::Index`] finds most of them, sooner.
//! - **Numbers**: [`measures::mnno`] compares two sets of lists.
//! - **Maps**: [`train::fit`] trains one from a space to another, [`train::Neighbourhoods`] tells whose neighbours it keeps.
//!
//! As a library nothing here prints, exits, installs a signal handler or starts a global thread pool. Turn the command
//! line's dependencies off with `default-features = false`.
//!
//! # Examples
//! ```
//! use mnno::{Metric, Search, SliceRows, measures};
//!
//! let text = [0.0, 0.0, 0.1, 0.0, 5.0, 5.0, 5.1, 5.0];
//! let images = [1.0, 1.1, 1.2, 1.0, 9.0, 9.3, 9.0, 9.0];
//! let search = Search::new(Metric::Euclidean, 1);
//! let a = search.self_join(&SliceRows::new(&text, 2))?;
//! let b = search.self_join(&SliceRows::new(&images, 2))?;
//! assert_eq!(measures::mnno(&a, &b)?.value(), 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub use mnno_exact::{
    Exclude, Filter, Kernels, Metric, NO_NEIGHBOUR, Neighbours, Observer, RowBlock, Rows, Search, SearchError, Side,
    SliceRows, Subset, Threads, Tier, Ties, Tiles, TopK, UnavailableTier, UnknownFilter, UnknownMetric,
};
pub use mnno_hnsw as hnsw;
pub use mnno_measures as measures;
pub use mnno_store as store;
pub use mnno_train as train;
