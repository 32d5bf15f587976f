//! Ratings and names with seeded faults: whatever the bytes, no panic, and nothing is read but finite ratings of two words.

use std::fs;

use mnno_store::{OpenOptions, open, read_ratings};

const MUTANTS: usize = 20_000;
const TEXTS: [&str; 5] = [
    "word1\tword2\tPOS\tSimLex999\nsun\tday\tN\t9\nsun\tsea\tN\t3\n",
    "\u{feff}Word 1,Word 2,Human (mean)\r\nsun,day,9\r\n\"sun\",sea,3.5\r\n",
    "WORDPAIR SEMANTIC\nsun#day 5\nsun#sea 2.5\n",
    "# Ratings\nsun-n day-n 50.000000\nsun-n sea-n 20.0\n",
    "id,word\n1,sun\n\"2,\",\"the \"\"sea\"\"\"\n",
];

/// xorshift64*.
fn next(state: &mut u64, below: usize) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) as usize % below
}

#[test]
fn mutants_are_read_or_refused() {
    const BYTES: &[u8] = b"\t,#\"\n\r -1.e\xef\xff\x00n";
    let folder = tempfile::tempdir().unwrap();
    let (path, matrix) = (folder.path().join("text"), folder.path().join("v.csv"));
    fs::write(&matrix, "1,2\n3,4\n").unwrap();
    let (path_text, matrix) = (path.to_str().unwrap(), matrix.to_str().unwrap());
    let mut state = 6;
    let (mut ratings_read, mut names_read) = (0, 0);
    for i in 0..MUTANTS {
        let mut bytes = TEXTS[i % TEXTS.len()].as_bytes().to_vec();
        for _ in 0..=next(&mut state, 3) {
            let at = next(&mut state, bytes.len());
            match next(&mut state, 3) {
                0 => bytes[at] = BYTES[next(&mut state, BYTES.len())],
                1 => bytes.insert(at, BYTES[next(&mut state, BYTES.len())]),
                _ => drop(bytes.splice(at..(at + 3).min(bytes.len()), b"\n".iter().copied())),
            }
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(ratings) = read_ratings(path_text, 1 << 16) {
            ratings_read += 1;
            assert!(!ratings.pairs().is_empty());
            let is_sound = |words: &[String; 2], value: f64| value.is_finite() && words.iter().all(|w| !w.is_empty());
            assert!(ratings.pairs().iter().all(|pair| is_sound(&pair.words, pair.value)), "{bytes:?}");
        }
        for names in [path_text.to_owned(), format!("{path_text}::word")] {
            let options = OpenOptions { names: Some(names), memory: 1 << 16, ..OpenOptions::default() };
            if let Ok(matrices) = open(matrix, &options) {
                names_read += 1;
                let names = matrices[0].names().expect("names were given");
                assert!(names.len() == 2 && names.iter().all(|name| !name.is_empty()), "{bytes:?}");
            }
        }
    }
    assert!(ratings_read > MUTANTS / 10 && names_read > MUTANTS / 10, "{ratings_read} and {names_read} are read");
}
