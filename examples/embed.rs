//! The engine inside another program: two mapped files, their exact neighbour lists, their mNNO.
//!
//! `cargo run --release --example embed`

use mnno::store::{OpenOptions, open};
use mnno::{Metric, Search, measures};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let search = Search::new(Metric::Cosine, 10);
    let mut lists = Vec::new();
    for path in ["fixtures/words/glove50.npy", "fixtures/words/gloss384.npy"] {
        let matrix = &open(path, &OpenOptions::default())?[0];
        lists.push(search.self_join(matrix)?);
    }
    let overlap = measures::mnno(&lists[0], &lists[1])?;
    println!("mNNO at 10: {:.6} ± {:.6}", overlap.value(), overlap.std_error());
    Ok(())
}
