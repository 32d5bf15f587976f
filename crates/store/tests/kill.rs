//! A writer that is killed, at whatever point, leaves the old file or the new one, whole.
//!
//! Each test runs itself again in a process of its own, the writer, which is told by [`JOB`] what to write. The system kills
//! it in the middle of a write, for going beyond a limit on the size of files (SIGXFSZ).
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use mnno_exact::SliceRows;
use mnno_store::output::{Lists, Prepared, Vectors, list_paths, prepare_lists, prepare_matrix};
use mnno_store::{Format, OpenOptions, open};

/// For the writer: a format or `lists`, what to do at the end, and the output.
const JOB: &str = "MNNO_TEST_JOB";
const SIGABRT: i32 = 6;
const SIGXFSZ: i32 = 25;
/// Names of lists, each of another layout.
const LISTS: [&str; 5] = ["out.npz", "out.npy", "out.ivecs", "out.ibin", "out.csv"];
/// Rows of the old content and of the new.
const ROWS: [usize; 2] = [3, 1024];
const COLUMNS: usize = 96;

/// Integers that every format holds: 96 KiB in the smallest.
fn prepare_vectors(format: Format, path: &Path, n: usize) -> Prepared {
    let values: Vec<f32> = (0..n * COLUMNS).map(|i| (i * 7 % 101) as f32).collect();
    let names: Vec<String> = (0..n).map(|i| format!("w{i}")).collect();
    let names = format.holds_names().then_some(&names[..]);
    let vectors = Vectors { rows: &SliceRows::new(&values, COLUMNS), names };
    prepare_matrix(vectors, format, path, 1 << 20, &()).unwrap()
}

/// Lists of 24 neighbours: 96 KiB in the smallest layout.
fn prepare_all_lists(path: &Path, n: usize) -> Prepared {
    let k = COLUMNS / 4;
    let indices: Vec<u32> = (0..n * k).map(|i| (i % n) as u32).collect();
    let scores: Vec<f64> = (0..n * k).map(|i| i as f64 / 3.0).collect();
    let lists = Lists { n, k, indices: &indices, scores: &scores, query_names: None, base_names: None };
    prepare_lists(&lists, path).unwrap()
}

/// What a test writes, in which process ever.
fn prepare(kind: &str, path: &Path, n: usize) -> Prepared {
    match kind {
        "lists" => prepare_all_lists(path, n),
        format => prepare_vectors(format.parse().unwrap(), path, n),
    }
}

/// Does the job, if this process is the writer.
fn is_writer() -> bool {
    let Ok(job) = std::env::var(JOB) else { return false };
    let [kind, end, path] = job.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{job}") };
    let path = Path::new(path);
    match end {
        "publish" => drop(prepare(kind, path, ROWS[1]).publish().unwrap()),
        "abort" => {
            let _prepared = prepare(kind, path, ROWS[1]);
            std::process::abort();
        }
        // The old content and the new in turns, until the process is killed.
        _ => {
            for &n in ROWS.iter().cycle() {
                prepare(kind, path, n).publish().unwrap();
            }
        }
    }
    true
}

/// A process that runs `test` of this file as the writer, with files of `limit` (in the shell's blocks) at most.
fn writer(test: &str, job: &[&str; 2], path: &Path, limit: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -c 0; ulimit -f {limit}; exec \"$0\" --exact {test} --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(JOB, format!("{} {} {}", job[0], job[1], path.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// A folder with the old content, and what the old and the new one are.
struct Case {
    folder: tempfile::TempDir,
    kind: String,
    path: PathBuf,
    files: Vec<PathBuf>,
    contents: [Vec<Vec<u8>>; 2],
}

impl Case {
    fn new(kind: &str, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let files = if kind == "lists" { list_paths(&path).unwrap() } else { vec![path.clone()] };
        let contents = [ROWS[1], ROWS[0]].map(|n| {
            prepare(kind, &path, n).publish().unwrap();
            files.iter().map(|file| fs::read(file).unwrap()).collect()
        });
        let [new, old] = contents;
        Self { folder, kind: kind.to_owned(), path, files, contents: [old, new] }
    }

    /// The largest new file, in blocks of 512 bytes.
    fn blocks(&self) -> usize {
        self.contents[1].iter().map(Vec::len).max().unwrap().div_ceil(512)
    }

    /// The file is whole, the old one or the new one; which of them, by its bytes and to a reader.
    fn state_of(&self, file: usize) -> usize {
        let [old, new] = &self.contents;
        let bytes = fs::read(&self.files[file]).unwrap();
        let state = usize::from(bytes == new[file]);
        assert!(state == 1 || bytes == old[file], "{}: {} bytes", self.files[file].display(), bytes.len());
        let name = self.files[file].to_str().unwrap();
        let (arguments, format, rows) = match &self.kind[..] {
            "lists" if name.ends_with("npz") => (vec![format!("{name}::indices"), format!("{name}::scores")], None, 1),
            // A line for each place.
            "lists" if name.ends_with("csv") => (vec![name.to_owned()], None, COLUMNS / 4),
            "lists" => (vec![name.to_owned()], None, 1),
            kind => (vec![name.to_owned()], Some(kind.parse().unwrap()), 1),
        };
        for argument in arguments {
            let options = OpenOptions { format, ..OpenOptions::default() };
            assert_eq!(open(&argument, &options).unwrap()[0].n(), ROWS[state] * rows, "{argument}");
        }
        state
    }

    fn check(&self, state: usize, status: ExitStatus) {
        for file in 0..self.files.len() {
            assert_eq!(self.state_of(file), state, "{} of {}: {status}", self.files[file].display(), self.kind);
        }
        // A process that is killed cannot take its unfinished files away: they are hidden. Nothing else is left.
        let temporaries = self.other_files();
        assert!(state == 0 || temporaries.is_empty(), "{temporaries:?}");
        for temporary in temporaries {
            let name = temporary.file_name().unwrap().to_str().unwrap();
            assert!(name.strip_prefix(".mnno-").is_some_and(|rest| rest.strip_suffix(".tmp").is_some()), "{name}");
            fs::remove_file(temporary).unwrap();
        }
    }

    fn other_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| !self.files.contains(path)).collect()
    }

    /// Has the writer killed before it publishes, and in its writes of the first bytes, of the last and of some between; with
    /// room for all of them it ends in order.
    fn killed_at_each_step(&self, test: &str) {
        let aborted = writer(test, &[&self.kind, "abort"], &self.path, "unlimited").status().unwrap();
        assert_eq!(aborted.signal(), Some(SIGABRT), "{aborted}");
        self.check(0, aborted);

        let blocks = self.blocks();
        let mut ends = BTreeMap::<_, usize>::new();
        for limit in [0, 1, blocks / 4, blocks / 2, blocks - 1, blocks] {
            let status = writer(test, &[&self.kind, "publish"], &self.path, &limit.to_string()).status().unwrap();
            self.check(usize::from(status.success()), status);
            *ends.entry((status.code(), status.signal())).or_default() += 1;
        }
        let expected = BTreeMap::from([((None, Some(SIGXFSZ)), 5), ((Some(0), None), 1)]);
        assert_eq!(ends, expected, "{}", self.path.display());
    }
}

#[test]
fn vectors_are_old_or_new() {
    if is_writer() {
        return;
    }
    for format in Format::ALL {
        Case::new(format.name(), "out").killed_at_each_step("vectors_are_old_or_new");
    }
}

#[test]
fn lists_are_old_or_new() {
    if is_writer() {
        return;
    }
    for name in LISTS {
        Case::new("lists", name).killed_at_each_step("lists_are_old_or_new");
    }
}

/// Killed at any moment between two renames, or in one.
#[test]
fn renames_are_whole() {
    if is_writer() {
        return;
    }
    let case = Case::new("lists", "out.ivecs");
    for renames in 1..=20 {
        let mut child = writer("renames_are_whole", &["lists", "forever"], &case.path, "unlimited").spawn().unwrap();
        for file in (0..renames).map(|rename| rename % 2) {
            // A file that is open keeps its number, so that each rename shows.
            let before = File::open(&case.files[file]).unwrap();
            while fs::metadata(&case.files[file]).unwrap().ino() == before.metadata().unwrap().ino() {
                assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
                std::thread::yield_now();
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        (0..case.files.len()).for_each(|file| assert!(case.state_of(file) < 2));
        case.other_files().iter().for_each(|temporary| fs::remove_file(temporary).unwrap());
    }
}
