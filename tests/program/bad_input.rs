//! What the program refuses: message, hint and exit code, word for word. Faults inside files are `fixtures/bad`.

use std::fs;

use crate::run::{Folder, noise, npy};

/// A sound x.npy and y.npy of 6 rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(12, 1));
    folder.npy("y.npy", 3, &noise(18, 2));
    folder
}

#[test]
fn unknown_flags_and_values_are_usage_errors() {
    let folder = folder();
    for arguments in [
        "compare x.npy y.npy --fast",
        "compare x.npy y.npy --metric cos",
        "compare x.npy y.npy -k -1",
        "compare x.npy y.npy --rows 5",
        "compare x.npy y.npy --preset collell2018 --self exclude",
        "compare x.npy y.npy --memory lots",
        "compare x.npy y.npy --threads 0",
        "compare x.npy y.npy --threads 1025",
        "compare x.npy y.npy --format hdf5",
        "knn x.npy",
        "knn x.npy --queries y.npy --self include -o out.npz",
        "knn x.npy --exclude-same-label -o out.npz",
        "knn x.npy --labels labels.txt -o out.npz",
        "knn x.npy -k 0 -o out.npz",
        "explore",
        "",
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments}: {run:?}");
        assert!(run.stderr.contains("error:") || run.stderr.contains("Usage:"), "{arguments}: {run:?}");
    }
}

#[test]
fn an_unknown_simd_tier_is_a_usage_error() {
    let run = folder().command("compare x.npy y.npy -k 2").env("MNNO_SIMD", "sse9").finish();
    run.fails_with(
        2,
        "error: MNNO_SIMD: unknown SIMD tier 'sse9': expected portable, avx2, avxvnni, avx512, avx512vnni or amx",
    );
}

#[test]
fn k_must_fit_the_rows() {
    let folder = folder();
    folder.run("compare x.npy y.npy -k 0").fails_with(2, "error: k is 0: an overlap needs at least one neighbour");
    folder.run("compare x.npy y.npy -k 6").fails_with(
        2,
        "error: k = 6 neighbours are more than the 5 candidates that each of 6 rows has\nhint: choose a smaller -k",
    );
    assert_eq!(folder.run("compare x.npy y.npy -k 6 --self include").code, Some(0));
    let run = folder.run("compare x.npy y.npy -k 7 --self include");
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn lists_must_fit_the_memory() {
    folder().run("knn x.npy -k 1000000000000 -o out.npz").fails_with(
        2,
        "error: a search for 1000000000000 neighbours of each row of x.npy needs 152.8T of memory, but 3.98G are left of \
         --memory 4G\nhint: choose a smaller -k or fewer --threads, or raise --memory",
    );
}

#[test]
fn files_must_have_the_same_rows_and_names() {
    let folder = folder();
    folder.npy("short.npy", 2, &noise(10, 3));
    folder.run("compare x.npy short.npy -k 2").fails_with(
        65,
        "error: short.npy: 5 rows, but x.npy has 6: rows are paired by position\n\
         hint: --rows A..B takes the same range of every file",
    );
    folder.write("a.csv", "p,1,2\nq,3,4\nr,5,7\n");
    folder.write("b.csv", "p,1,2\nr,5,7\nq,3,4\n");
    folder.run("compare a.csv b.csv -k 1").fails_with(
        65,
        "error: b.csv: row 1 (from 0) is named 'r', but in a.csv it is 'q'\n\
         hint: --join name pairs rows of the same name, whatever their order",
    );
    folder.run("compare x.npy -k 2").fails_with(
        2,
        "error: compare needs two or more matrices, and was given one\n\
         hint: give a second file, or ::* to compare all layers of an array [n, layers, d]",
    );
}

#[test]
fn dimensions_of_queries_and_base_must_agree() {
    folder()
        .run("knn x.npy --queries y.npy -k 2 -o out.npz")
        .fails_with(65, "error: y.npy: rows have 3 dimensions, but those of x.npy have 2");
}

#[test]
fn bad_values_are_named_by_row_and_column() {
    let folder = folder();
    let mut bad = noise(12, 1);
    bad[7] = f32::NAN;
    folder.npy("bad.npy", 2, &bad);
    let hint = "hint: remove or replace such rows; 'mnno inspect' counts them and shows the first";
    for command in ["compare x.npy bad.npy -k 2", "knn bad.npy -k 2 -o out.npz", "knn x.npy --queries bad.npy -o o.npz"]
    {
        let run = folder.run(command);
        assert_eq!(run.code, Some(65), "{run:?}");
        assert!(run.stderr.starts_with("error: bad.npy: row 3, column 1 (both from 0) is NaN\n"), "{run:?}");
        assert!(run.stderr.contains(hint), "{run:?}");
    }
    // The row is that of the file, whatever range is used.
    let run = folder.run("compare x.npy bad.npy -k 2 --rows 2..6");
    assert!(run.stderr.starts_with("error: bad.npy: row 3, column 1 "), "{run:?}");
    bad[7] = 0.0;
    bad[6] = 0.0;
    folder.npy("bad.npy", 2, &bad);
    folder.run("compare x.npy bad.npy -k 2 --rows 1..6").fails_with(
        65,
        "error: bad.npy: row 3 (from 0) is a zero vector: it has no direction, so its cosine is undefined\n\
         hint: --zero drop leaves such rows out of every file; --metric euclidean needs no direction",
    );
    assert_eq!(folder.run("compare x.npy bad.npy -k 2 --metric euclidean").code, Some(0));
}

#[test]
fn values_beyond_f32_are_named() {
    let folder = folder();
    let bytes: Vec<u8> = [1.0, 2.0, 3.0, 1e300f64].iter().flat_map(|v| v.to_le_bytes()).collect();
    folder.write("big.npy", npy("<f8", "(2, 2)", &bytes));
    let run = folder.run("knn big.npy -k 1 -o out.npz");
    assert_eq!(run.code, Some(65), "{run:?}");
    assert!(
        run.stderr.starts_with("error: big.npy: row 1, column 1 (both from 0) is 1e300, beyond the range of f32"),
        "{run:?}"
    );
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    let run = folder.run("compare x.npy none.npy");
    assert_eq!((run.code, run.stdout.as_str()), (Some(66), ""), "{run:?}");
    assert!(run.stderr.starts_with("error: none.npy: "), "{run:?}");
    let hint = "hint: name a file, a folder of part files, or with @LIST a text file that lists them";
    folder.run("inspect dir").fails_with(66, &format!("error: dir: there is no file in this folder\n{hint}"));
    folder.write("parts.list", "\n\n");
    folder
        .run("inspect @parts.list")
        .fails_with(66, &format!("error: @parts.list: there is no file in this list\n{hint}"));
    folder.write("parts.list", "x.npy\nnone.npy\n");
    folder.run("inspect @parts.list").fails_with(
        66,
        "error: parts.list: line 2 names none.npy, which does not exist\n\
         hint: each line of a list is the path of a file, seen from the folder of the list",
    );
}

/// What stdout is sent to would be replaced by the result, and lost.
#[cfg(unix)]
#[test]
fn standard_output_is_no_output_file() {
    let folder = folder();
    for arguments in ["convert x.npy - --to npy", "knn x.npy -k 1 -o -"] {
        let run = folder.run(arguments);
        assert!(run.code == Some(2) && run.stderr.lines().count() == 1, "{run:?}");
    }
    let run = folder.run("convert x.npy /dev/stdout --to csv");
    assert_eq!((run.code, run.stdout.as_str()), (Some(73), ""), "{run:?}");
    assert!(run.stderr.starts_with("error: /dev/stdout: ") && run.stderr.contains("\nhint: "), "{run:?}");
    let line = format!("{} convert x.npy /dev/stdout --to csv > log", env!("CARGO_BIN_EXE_mnno"));
    folder.write("log", "kept until the shell empties it");
    let output = std::process::Command::new("sh").current_dir(folder.path("")).args(["-c", &line]).output().unwrap();
    assert_eq!((output.status.code(), fs::read(folder.path("log")).unwrap()), (Some(73), Vec::new()));
}

/// One line, even if the name of the file has a line break.
#[cfg(unix)]
#[test]
fn control_characters_of_file_names_are_escaped() {
    let folder = folder();
    folder.write("a\nb.npy", "no array");
    let program = env!("CARGO_BIN_EXE_mnno");
    let output = std::process::Command::new(program)
        .current_dir(folder.path(""))
        .args(["inspect", "a\nb.npy"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: a\\nb.npy: this is no npy file: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
}

#[cfg(unix)]
#[test]
fn pipes_are_refused_at_once() {
    let folder = folder();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe.npy")).status().unwrap();
    assert!(made.success());
    let run = folder.run("inspect pipe.npy");
    assert_eq!(run.code, Some(66), "{run:?}");
    assert!(run.stderr.starts_with("error: pipe.npy: "), "{run:?}");
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    for (arguments, output) in [
        ("knn x.npy -k 2 -o none/out.npz", "none/out.npz"),
        ("compare x.npy y.npy -k 2 --per-row none/rows.csv", "none/rows.csv"),
    ] {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(73), ""), "{arguments}: {run:?}");
        assert!(run.stderr.starts_with(&format!("error: {output}: ")), "{arguments}: {run:?}");
    }
    for (arguments, output) in
        [("knn x.npy -k 2 -o out.txt", "out.txt"), ("compare x.npy y.npy -k 2 --per-row rows.npy", "rows.npy")]
    {
        let run = folder.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments}: {run:?}");
        assert!(run.stderr.starts_with(&format!("error: {output}: ")), "{arguments}: {run:?}");
    }
    assert_eq!(folder.names(), ["x.npy", "y.npy"]);
}

#[test]
fn an_output_is_never_an_input() {
    let folder = folder();
    let before = fs::read(folder.path("x.npy")).unwrap();
    fs::copy(folder.path("x.npy"), folder.path("out.indices.npy")).unwrap();
    fs::hard_link(folder.path("x.npy"), folder.path("link.csv")).unwrap();
    for arguments in ["knn out.indices.npy -k 2 -o out.npy", "compare x.npy y.npy -k 2 --per-row link.csv"] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(73), "{arguments}: {run:?}");
        assert!(run.stderr.contains("hint: choose another output; inputs are never overwritten"), "{run:?}");
    }
    assert_eq!(fs::read(folder.path("out.indices.npy")).unwrap(), before);
}

#[test]
fn labels_are_an_input_too() {
    let folder = folder();
    let labels = "a\nb\na\nb\na\nb\n";
    folder.write("labels.csv", labels);
    folder.run("knn x.npy -k 1 --labels labels.csv --exclude-same-label -o labels.csv").fails_with(
        73,
        "error: labels.csv: the output is the same file as the input labels.csv\n\
         hint: choose another output; inputs are never overwritten",
    );
    assert_eq!(fs::read_to_string(folder.path("labels.csv")).unwrap(), labels);
}

#[cfg(unix)]
#[test]
fn two_outputs_are_two_files() {
    let folder = folder();
    folder.write("out.indices.npy", "old");
    std::os::unix::fs::symlink("out.indices.npy", folder.path("out.scores.npy")).unwrap();
    folder.run("knn x.npy -k 1 -o out.npy").fails_with(
        73,
        "error: out.indices.npy: this is the same file as the other output, out.scores.npy\n\
         hint: remove the link, or give another output",
    );
    assert_eq!(fs::read_to_string(folder.path("out.indices.npy")).unwrap(), "old");
}

#[test]
fn an_array_without_layers_has_none_to_give() {
    let folder = folder();
    folder.write("z.npy", npy("<f4", "(3, 0, 4)", &[]));
    folder.run("inspect z.npy::*").fails_with(2, "error: z.npy: there is no layer 0 (from 0): the array has 0");
}

#[test]
fn labels_must_fit() {
    let folder = folder();
    folder.write("labels.txt", "a\nb\n");
    let run = folder.run("knn x.npy -k 1 --labels labels.txt --exclude-same-label -o out.npz");
    assert_eq!(run.code, Some(65), "{run:?}");
    assert!(run.stderr.contains("labels.txt") && run.stderr.contains('2') && run.stderr.contains('6'), "{run:?}");
}

#[test]
fn ranges_must_lie_in_the_file() {
    let run = folder().run("compare x.npy y.npy -k 1 --rows 0..7");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.starts_with("error: x.npy: ") && run.stderr.contains("0..7"), "{run:?}");
}
