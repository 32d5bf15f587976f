//! Several files as one matrix, what they hold in memory, and reading that is interrupted.

mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use mnno_exact::Observer;
use mnno_store::{Access, ErrorKind, Matrix, OpenOptions, StoreError, open, open_with_observer};
use support::{in_memory, le, npy, values};

fn array(n: usize, d: usize, first: f32) -> Vec<u8> {
    let data: Vec<f32> = (0..n * d).map(|i| first + i as f32).collect();
    npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {d}), }}"), &le(&data))
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(folder.join(name), bytes).unwrap();
}

fn open_one(argument: &str, options: &OpenOptions) -> Result<Matrix, StoreError> {
    Ok(open(argument, options)?.remove(0))
}

/// Case E9 (ViCCo-Group/thingsvision#74) and I6 (rom1504/embedding-reader): eleven parts, 2 before 10, each dimension checked.
#[test]
fn e9_thingsvision_74_a_folder_of_parts_is_one_matrix_in_natural_order() {
    let folder = in_memory();
    for part in 0..11_u8 {
        write(folder.path(), &format!("part-{part}.npy"), array(usize::from(part % 3), 2, f32::from(part) * 100.0));
    }
    write(folder.path(), ".hidden", "no data");
    let argument = folder.path().to_str().unwrap();
    let matrix = open_one(argument, &OpenOptions::default()).unwrap();
    let expected: Vec<f32> =
        (0..11_u8).flat_map(|part| (0..part % 3 * 2).map(move |i| f32::from(part) * 100.0 + f32::from(i))).collect();
    for step in 1..12 {
        assert_eq!(values(&matrix, step), expected, "blocks of {step}");
    }
    assert_eq!((matrix.n(), matrix.d(), matrix.access()), (10, 2, Access::View));
    let names: Vec<_> = matrix.files().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let all: Vec<_> = (0..11).map(|part| format!("part-{part}.npy")).collect();
    assert_eq!(names, all);

    // Every range is a window on the whole, and says where a bad value is in its own file.
    for start in 0..10 {
        for end in start..10 {
            let options = OpenOptions { rows: Some(start..end), ..OpenOptions::default() };
            let part = open_one(argument, &options).unwrap();
            assert_eq!(values(&part, 3), expected[2 * start..2 * end], "{start}..{end}");
            assert_eq!((part.n(), part.rows_offset()), (end - start, start));
        }
    }
    write(folder.path(), "part-8.npy", array(2, 2, f32::NAN));
    let options = OpenOptions { rows: Some(1..9), ..OpenOptions::default() };
    let error = open_one(argument, &options).unwrap().check(0, &()).unwrap_err().to_string();
    assert!(error.ends_with("part-8.npy: row 0, column 0 (both from 0) is NaN"), "{error}");
}

#[test]
fn parts_that_do_not_belong_together_are_named() {
    let folder = in_memory();
    write(folder.path(), "0.npy", array(2, 3, 0.0));
    let refused = |name: &str, bytes: &[u8]| {
        write(folder.path(), name, bytes);
        let error = open_one(folder.path().to_str().unwrap(), &OpenOptions::default()).unwrap_err();
        fs::remove_file(folder.path().join(name)).unwrap();
        assert!(error.hint().is_some(), "{error}");
        error.to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let not_parts = "they are not parts of one matrix";
    assert_eq!(
        refused("1.npy", &array(2, 4, 0.0)),
        format!("1.npy: it has rows of 4 f32, but 0.npy has rows of 3 f32: {not_parts}")
    );
    let halves = npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 3), }", &[0; 6]);
    assert_eq!(
        refused("1.npy", &halves),
        format!("1.npy: it has rows of 3 f16, but 0.npy has rows of 3 f32: {not_parts}")
    );
    assert_eq!(
        refused("1.csv", b"a,1,2,3\nb,4,5,6\n"),
        format!("1.csv: it has row names, but 0.npy has no row names: {not_parts}")
    );
    assert_eq!(refused("README", b"what this is\n"), "README: unknown format: it begins with 77 68 61 74 20 74 68 69");
}

#[test]
fn names_and_labels_go_through_all_parts() {
    let folder = in_memory();
    write(folder.path(), "2.csv", "a,1\nb,2\n");
    write(folder.path(), "10.tsv", "c\t3\n");
    let labels = in_memory();
    write(labels.path(), "labels", "x\ny z\nw\n");
    let options =
        OpenOptions { rows: Some(1..3), labels: Some(labels.path().join("labels")), ..OpenOptions::default() };
    let matrix = open_one(folder.path().to_str().unwrap(), &options).unwrap();
    assert_eq!(matrix.names().unwrap(), ["b", "c"]);
    assert_eq!(matrix.labels().unwrap(), [vec!["y", "z"], vec!["w"]]);
    assert_eq!(values(&matrix, 2), [2.0, 3.0]);
}

#[test]
fn a_list_names_parts_seen_from_its_own_folder() {
    let folder = in_memory();
    fs::create_dir(folder.path().join("in")).unwrap();
    write(folder.path(), "in/a.npy", array(1, 1, 1.0));
    write(folder.path(), "in/b.npy", array(1, 1, 2.0));
    let absolute = folder.path().join("in/a.npy");
    write(folder.path(), "in/all", format!("  b.npy \r\n\n{}\nb.npy", absolute.display()));
    let argument = format!("@{}", folder.path().join("in/all").display());
    assert_eq!(values(&open_one(&argument, &OpenOptions::default()).unwrap(), 2), [2.0, 1.0, 2.0]);
    // A file whose name begins with the sign is that file.
    let odd = folder.path().join("@odd.csv");
    fs::write(&odd, "5\n").unwrap();
    assert_eq!(values(&open_one(odd.to_str().unwrap(), &OpenOptions::default()).unwrap(), 1), [5.0]);
    write(folder.path(), "latin1", b"caf\xe9.npy\n");
    let error = open_one(&format!("@{}/latin1", folder.path().display()), &OpenOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("latin1: the list of files is not UTF-8"), "{error}");
}

/// What parts hold counts together, so that many small ones are no way around the budget.
#[test]
fn the_budget_is_that_of_all_parts() {
    let folder = in_memory();
    for part in 0..4 {
        write(folder.path(), &format!("{part}.csv"), "1,2,3,4,5,6\n".repeat(100));
    }
    let argument = folder.path().to_str().unwrap();
    let with = |memory| open_one(argument, &OpenOptions { memory, ..OpenOptions::default() });
    // Each part takes 1 KiB beside its values, or 8 bytes for each of its 100 rows.
    let all = with(30_000).unwrap();
    assert_eq!((all.held_bytes(), all.access()), (4 * (2400 + 1024), Access::InMemory));
    let less = with(4 * (800 + 1024)).unwrap();
    assert_eq!((less.held_bytes(), less.access()), (4 * (800 + 1024), Access::ConvertedPerBlock));
    assert_eq!(values(&less, 7), values(&all, 7));
    let error = with(3 * (800 + 1024) + 799).unwrap_err();
    assert!(matches!(error, StoreError::OverBudget { needed: 800, budget: 799, .. }), "{error}");
}

/// A quotation mark that is not closed makes one record of the rest of the file, which must not be gathered in memory.
#[test]
fn a_record_without_an_end_is_refused() {
    let folder = in_memory();
    write(folder.path(), "x.csv", format!("a,1\nb,2\n\"c,3\n{}", "d,4\n".repeat(1 << 18)));
    let options = OpenOptions { memory: 1 << 20, ..OpenOptions::default() };
    let error = open_one(folder.path().join("x.csv").to_str().unwrap(), &options).unwrap_err();
    assert!(error.to_string().ends_with("x.csv: the record on line 3 goes on for more than 32768 bytes"), "{error}");
    assert!(error.hint().unwrap().contains("quotation mark"));
}

/// Gives up at the given question.
struct GivesUp(AtomicUsize);

impl Observer for GivesUp {
    fn cancelled(&self) -> bool {
        self.0.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

#[test]
fn reading_can_be_interrupted_at_any_stage() {
    let folder = in_memory();
    write(folder.path(), "x.csv", "1,2\n".repeat(5000));
    let lines: Vec<String> = (0..5000).map(|i| format!("w{i} 1 2\n")).collect();
    write(folder.path(), "x.txt", lines.concat());
    for (name, at_least) in [("x.csv", 10), ("x.txt", 5)] {
        let path = folder.path().join(name);
        let mut interrupted = 0;
        loop {
            let observer = GivesUp(AtomicUsize::new(interrupted + 1));
            match open_with_observer(path.to_str().unwrap(), &OpenOptions::default(), &observer) {
                Ok(matrices) => {
                    let observer = GivesUp(AtomicUsize::new(1));
                    assert!(matches!(matrices[0].check(0, &observer), Err(StoreError::Interrupted)));
                    assert!(matches!(matrices[0].summary(&GivesUp(AtomicUsize::new(1))), Err(StoreError::Interrupted)));
                    break;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}"),
            }
            interrupted += 1;
        }
        assert!(interrupted >= at_least, "{name}: {interrupted}");
    }
}
