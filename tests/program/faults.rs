//! What happens when the world changes under a running search: signals, other writers, a memory limit.
//!
//! Linux only: `/proc` tells when the program has come far enough.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::run::{Folder, noise};

/// A search that takes minutes unless something ends it.
fn long_search() -> (Folder, Child) {
    let folder = Folder::new();
    folder.npy("x.npy", 64, &noise(64 * 60_000, 5));
    let child = folder.command("knn x.npy -k 2000 --threads 1 -o out.npz").start();
    (folder, child)
}

/// Waits until a file in `/proc` of the child satisfies `ready`.
fn wait_until(child: &mut Child, file: &str, ready: impl Fn(&str) -> bool) {
    let path = format!("/proc/{}/{file}", child.id());
    let started = Instant::now();
    while !ready(&fs::read_to_string(&path).unwrap_or_default()) {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before it was ready");
        assert!(started.elapsed() < Duration::from_mins(1), "the program does not get ready");
        std::thread::yield_now();
    }
}

fn catches_sigint(status: &str) -> bool {
    let mask = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).map(str::trim);
    mask.and_then(|m| u64::from_str_radix(m, 16).ok()).is_some_and(|m| m & (1 << (2 - 1)) != 0)
}

fn maps_input(maps: &str) -> bool {
    maps.lines().any(|l| l.ends_with("/x.npy"))
}

/// The first thread sleeps while the others search: the files were checked, and the outputs tried, before.
fn searches(status: &str) -> bool {
    let value = |name| status.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
    value("Threads:").is_some_and(|n| n != "1") && value("State:").is_some_and(|state| state.starts_with('S'))
}

fn end(mut child: Child) -> (Option<i32>, String) {
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (status.code(), stderr)
}

/// Interrupts the child while its threads work: it ends in order and leaves nothing but x.npy.
fn interrupt(folder: &Folder, mut child: Child) {
    wait_until(&mut child, "status", |s| catches_sigint(s) && searches(s));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(end(child), (Some(130), "error: interrupted; nothing was written\n".to_owned()));
    assert_eq!(folder.names(), ["x.npy"]);
}

#[test]
fn an_interrupted_search_writes_nothing() {
    let (folder, child) = long_search();
    interrupt(&folder, child);
}

#[test]
fn interrupted_permutations_write_nothing() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(2 * 500, 5));
    let child = folder.command("compare x.npy x.npy --permutations 4000000000 --per-row out.csv").start();
    interrupt(&folder, child);
}

/// No system has room for a stack of that size.
#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(12, 5));
    for arguments in ["compare x.npy x.npy -k 2 --threads 3", "knn x.npy -k 2 --threads 3 -o out.npz"] {
        let run = folder.command(arguments).env("RUST_MIN_STACK", "100000000000000000").finish();
        run.fails_with(
            71,
            "error: cannot start 3 threads: Resource temporarily unavailable\n\
             hint: start fewer with --threads N, or raise the limits on memory and threads (ulimit)",
        );
    }
    assert_eq!(folder.names(), ["x.npy"]);
}

#[test]
fn a_killed_search_leaves_the_old_output() {
    let (folder, mut child) = long_search();
    folder.write("out.npz", "old");
    wait_until(&mut child, "status", searches);
    child.kill().unwrap();
    end(child);
    assert_eq!(fs::read(folder.path("out.npz")).unwrap(), b"old");
}

/// A file that changes while it is used gives no result.
#[test]
fn a_file_changed_while_mapped_gives_no_result() {
    let folder = Folder::new();
    folder.npy("x.npy", 64, &noise(64 * 12_000, 5));
    let mut child = folder.command("knn x.npy -k 10 --threads 1 -o out.npz").start();
    wait_until(&mut child, "maps", maps_input);
    OpenOptions::new().append(true).open(folder.path("x.npy")).unwrap().write_all(b"more").unwrap();
    let (code, stderr) = end(child);
    assert_eq!(code, Some(74), "{stderr}");
    assert!(
        stderr.starts_with("error: x.npy: ") && stderr.contains("3072128") && stderr.contains("3072132"),
        "{stderr}"
    );
    assert!(stderr.contains("hint: "), "{stderr}");
    assert_eq!(folder.names(), ["x.npy"]);
}

/// A truncation under the map ends the program with one line, not a core dump.
#[test]
fn a_file_truncated_while_mapped_ends_the_program() {
    let (folder, mut child) = long_search();
    wait_until(&mut child, "status", searches);
    OpenOptions::new().write(true).open(folder.path("x.npy")).unwrap().set_len(0).unwrap();
    let (code, stderr) = end(child);
    assert_eq!(code, Some(74), "{stderr}");
    assert!(stderr.starts_with("error: an input file was truncated") && stderr.contains("--io read"), "{stderr}");
    assert_eq!(folder.names(), ["x.npy"]);
}

/// Runs in `folder` under a limit on private memory, which maps of files do not count towards.
fn run_limited(folder: &Folder, kilobytes: u32, arguments: &str) -> (Option<i32>, String) {
    run_under(folder, &format!("ulimit -d {kilobytes}"), arguments)
}

fn run_under(folder: &Folder, limit: &str, arguments: &str) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_mnno");
    let output = std::process::Command::new("sh")
        .current_dir(folder.path(""))
        .args(["-c", &format!("{limit}; exec {program} {arguments}")])
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A limit on the size of files fails the write; it neither kills the program nor leaves a temporary file.
#[test]
fn a_file_size_limit_is_an_error() {
    let folder = Folder::new();
    folder.npy("x.npy", 4, &noise(4 * 2000, 5));
    for out in ["out.npz", "out.npy", "out.csv"] {
        let (code, stderr) = run_under(&folder, "ulimit -f 8", &format!("knn x.npy -k 20 -o {out}"));
        assert_eq!(code, Some(73), "{out}: {stderr}");
        assert!(stderr.starts_with("error: out.") && stderr.lines().count() == 1, "{out}: {stderr}");
        assert_eq!(folder.names(), ["x.npy"], "{out}");
    }
}

/// Beside the mapped files the main job on 9,251 words takes less than 200 MB.
#[test]
#[ignore = "needs MNNO_DATA"]
fn the_main_job_stays_below_200_megabytes() {
    let [a, b] =
        ["glove50_f32.npy", "gloss_minilm_f32.npy"].map(|f| crate::real_data::data(&format!("wn_nouns_10k/{f}")));
    let (code, stderr) = run_limited(&Folder::new(), 200_000, &format!("compare {a} {b} --rows 0..9251"));
    assert_eq!(code, Some(0), "{stderr}");
}

/// Cases E1, E2 and E3 (facebookresearch/faiss#2662, #1326, #2610): f32 and f16 files larger than the memory allowed are
/// searched from the map.
#[test]
fn e1_faiss_2662_files_larger_than_the_memory_are_searched() {
    let (n, d) = (110_000, 256);
    let folder = Folder::new();
    let values = noise(n * d, 6);
    folder.npy("x.npy", d, &values);
    let halves: Vec<u8> = values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect();
    folder.write("h.npy", crate::run::npy("<f2", &format!("({n}, {d})"), &halves));
    drop(values);
    folder.npy("q.npy", d, &noise(3 * d, 7));
    let limit = 90 << 10; // 90 MiB, for files of 107 and 54 MiB
    for base in ["x.npy", "h.npy"] {
        let (code, stderr) =
            run_limited(&folder, limit, &format!("knn {base} --queries q.npy -o {base}.npz --threads 2"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{base}");
    }
    // The limit bites: read into memory, the f32 file does not fit.
    let (code, _) = run_limited(&folder, limit, "knn x.npy --queries q.npy -o out.npz --threads 2 --io read");
    assert_ne!(code, Some(0));
}
