//! `--memory 64M` holds against what files can make a program gather: under a limit of 64 MiB of private memory each of these
//! ends in order, with an answer or a refusal, where a list that nobody counted would abort.
//!
//! Linux only: elsewhere the limit is none.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::run::{Folder, Run, noise, npy};

/// Runs with `--memory 64M`, within 64 MiB of private memory.
fn limited(folder: &Folder, arguments: &str) -> Run {
    let program = env!("CARGO_BIN_EXE_mnno");
    let line = format!("ulimit -d 65536; exec {program} {arguments} --memory 64M");
    let mut command = Command::new("sh");
    let output = command.current_dir(folder.path("")).args(["-c", &line]).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// An npy of zeros that takes no room on the disk.
fn zeros(folder: &Folder, name: &str, descr: &str, shape: &[u64]) {
    let size = if descr == "<f8" { 8 } else { 4 };
    let axes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let header = npy(descr, &format!("({})", axes.join(", ")), &[]);
    let mut file = File::create(folder.path(name)).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(header.len() as u64 + size * shape.iter().product::<u64>()).unwrap();
}

#[test]
fn zero_rows_take_a_bit_each() {
    let folder = Folder::new();
    zeros(&folder, "z.npy", "<f4", &[11_000_000, 1]);
    assert_eq!(limited(&folder, "convert z.npy out.npy").code, Some(0));
    let run = limited(&folder, "knn z.npy -k 1 -o out.npz");
    assert!(run.stderr.starts_with("error: z.npy: row 0 (from 0) is a zero vector (and 10999999 more)"), "{run:?}");
}

#[test]
fn rows_that_are_too_wide_are_refused() {
    let folder = Folder::new();
    zeros(&folder, "wide.npy", "<f8", &[2, 20_000_000]);
    for arguments in ["inspect wide.npy", "convert wide.npy out.fbin", "compare wide.npy wide.npy -k 1"] {
        limited(&folder, arguments).fails_with(
            2,
            "error: wide.npy: a row of 20000000 columns needs 610.35M of memory, but 48M are left of --memory 64M\n\
             hint: raise --memory",
        );
    }
}

#[test]
fn results_of_many_pairs_are_refused() {
    let folder = Folder::new();
    folder.write("layers.npy", npy("<f4", "(3, 500, 1)", &noise_bytes(1500)));
    let run = limited(&folder, "compare layers.npy::* -k 1 --permutations 0 --metric euclidean");
    assert_eq!((run.code, run.stderr.lines().count()), (Some(2), 2), "{run:?}");
    assert!(run.stderr.starts_with("error: keeping the results of all pairs needs 122"), "{run:?}");
}

/// The stacks of 8 threads are a quarter of the limit. A pool of threads for each search, or for each pair, goes beyond it:
/// a pool that is dropped does not wait for its threads to end.
#[test]
fn threads_are_started_once() {
    let folder = Folder::new();
    folder.write("layers.npy", npy("<f4", "(3, 100, 1)", &noise_bytes(300)));
    let run = limited(&folder, "compare layers.npy::* -k 1 --permutations 1 --metric euclidean --threads 8");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

fn noise_bytes(count: usize) -> Vec<u8> {
    noise(count, 3).iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn labels_are_counted() {
    let folder = Folder::new();
    zeros(&folder, "x.npy", "<f4", &[700_000, 1]);
    folder.write("labels", "a\n".repeat(700_000));
    let run = limited(&folder, "inspect x.npy --labels labels");
    assert_eq!((run.code, run.stdout.as_str()), (Some(65), ""), "{run:?}");
    assert!(run.stderr.starts_with("error: labels: needs ") && run.stderr.contains(" for its labels, but "), "{run:?}");
}

#[test]
fn lists_of_parts_are_short() {
    let folder = Folder::new();
    folder.npy("one.npy", 1, &[1.0]);
    folder.write("few", "one.npy\n".repeat(60_000));
    limited(&folder, "inspect @few").fails_with(
        65,
        "error: @few: there are more than 50000 part files\n\
         hint: join them into fewer files: mnno convert reads several folders or lists one by one",
    );
    folder.write("many", "one.npy\n".repeat(10_000_000));
    assert_eq!(limited(&folder, "inspect @many").code, Some(65));
}

#[test]
fn text_without_line_ends_is_not_copied() {
    let folder = Folder::new();
    for (name, begin) in [("a.txt", "w 1\nx "), ("b.txt", ""), ("c.vec", ""), ("d.csv", "1,2\n")] {
        let mut bytes = begin.as_bytes().to_vec();
        bytes.resize(100 << 20, 0xff);
        folder.write(name, bytes);
        let run = limited(&folder, &format!("inspect {name}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(65), ""), "{run:?}");
        assert!(run.stderr.starts_with(&format!("error: {name}: ")) && run.stderr.len() < 500, "{run:?}");
    }
    folder.write("cells.csv", ",".repeat(2_900_000));
    let run = limited(&folder, "inspect cells.csv");
    assert!(run.code == Some(65) && run.stderr.contains("goes on for more than"), "{run:?}");
}
