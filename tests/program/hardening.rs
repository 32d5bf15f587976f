//! The promises about outputs, inputs and memory at the points where they are hardest to keep.
//!
//! Linux only, as `faults`: limits of the shell, links, pipes and `/proc`.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mnno::store::Format;

use crate::run::{Folder, Run, noise, npy};

/// Values whose conversion takes many seconds.
const MANY: u64 = 1 << 26;
const PROGRAM: &str = env!("CARGO_BIN_EXE_mnno");
const SAME_FILE: &str = "hint: choose another output; inputs are never overwritten";
const NO_FILE: &str = "this is not a regular file (a pipe, socket or device)\n\
                       hint: write the data to a file first: it is read more than once";

fn run_of(output: Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a line of the shell in `folder`, in which `mnno` is the program.
fn shell(folder: &Folder, line: &str) -> Run {
    let path = format!("{}:{}", Path::new(PROGRAM).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.current_dir(folder.path("")).env("PATH", path).args(["-c", line]).stdin(Stdio::null());
    run_of(command.output().unwrap())
}

/// Checks that nothing could be written, and that stderr is a line that begins so, and a hint or none, to the end.
fn refuses(run: &Run, begins: &str, ends: &str) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(73), ""), "{run:?}");
    let middle = run.stderr.strip_prefix(begins).and_then(|rest| rest.strip_suffix(ends));
    assert!(middle.is_some_and(|middle| middle.lines().skip(1).all(|line| line.starts_with("hint: "))), "{run:?}");
}

/// With an x.npy of 6 rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &noise(12, 1));
    folder
}

/// Every file here and in folders here with its content, links with where they lead.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            let link = fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes());
            all.insert(path.clone(), link.unwrap_or_else(|_| fs::read(path).unwrap()));
        }
    }
    all
}

/// A conversion of so many zeros to text, stopped by nothing but its end, when it has written the first of it.
fn conversion(values: u64) -> (Folder, Child) {
    const COLUMNS: u64 = 1024;
    let folder = Folder::new();
    folder.write("x.npy", npy("<f4", &format!("({}, {COLUMNS})", values / COLUMNS), &[]));
    let file = OpenOptions::new().write(true).open(folder.path("x.npy")).unwrap();
    file.set_len(file.metadata().unwrap().len() + 4 * values).unwrap();
    folder.write("out.csv", "old");
    let mut child = folder.command("convert x.npy out.csv").start();
    let started = Instant::now();
    // A temporary without content may also be one that only tries whether the folder takes files.
    let writes = |name: &String| is_temporary(name) && fs::metadata(folder.path(name)).is_ok_and(|m| m.len() > 0);
    while !folder.names().iter().any(writes) {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before it wrote");
        assert!(started.elapsed() < Duration::from_mins(1), "the program does not write");
        std::thread::yield_now();
    }
    (folder, child)
}

fn is_temporary(name: &str) -> bool {
    name.strip_prefix(".mnno-").is_some_and(|rest| rest.strip_suffix(".tmp").is_some())
}

/// How a conversion ends; whichever way, the old output is as it was.
fn end(folder: &Folder, child: Child) -> Run {
    let run = run_of(child.wait_with_output().unwrap());
    assert_eq!(fs::read(folder.path("out.csv")).unwrap(), b"old", "{run:?}");
    run
}

#[test]
fn a_conversion_that_is_ended_leaves_the_old_output() {
    let interrupted = "error: interrupted; nothing was written\n";
    for (signal, code, stderr) in
        [("KILL", None, ""), ("INT", Some(130), interrupted), ("TERM", Some(130), interrupted)]
    {
        let (folder, child) = conversion(MANY);
        assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
        let run = end(&folder, child);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (code, "", stderr), "{signal}");
        // A process that is killed cannot take its unfinished file away: it is hidden.
        let left = folder.names().into_iter().filter(|name| code.is_some() || !is_temporary(name));
        assert_eq!(left.collect::<Vec<_>>(), ["out.csv", "x.npy"], "{signal}");
    }
}

#[test]
fn a_file_that_grows_while_it_is_converted_gives_no_output() {
    let (folder, child) = conversion(1 << 24);
    OpenOptions::new().append(true).open(folder.path("x.npy")).unwrap().write_all(b"more").unwrap();
    end(&folder, child).fails_with(
        74,
        "error: x.npy: the file changed while it was in use: its size went from 67108992 to 67108996 bytes\n\
         hint: run again when nobody writes to it; --io read copies files into memory first",
    );
    assert_eq!(folder.names(), ["out.csv", "x.npy"]);
}

#[test]
fn a_file_truncated_while_it_is_converted_ends_the_program() {
    let (folder, child) = conversion(MANY);
    OpenOptions::new().write(true).open(folder.path("x.npy")).unwrap().set_len(0).unwrap();
    end(&folder, child).fails_with(
        74,
        "error: an input file was truncated or became unreadable while it was mapped\n\
         hint: run again; --io read copies files into memory first and is immune",
    );
}

#[test]
fn a_file_size_limit_fails_every_format_and_leaves_nothing() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..512 * 64).map(|i| (i % 101) as f32).collect();
    folder.npy("x.npy", 64, &values); // 32 KiB in the smallest format
    folder.write("out.csv", "old");
    for format in Format::ALL {
        for blocks in [0, 1, 24] {
            let run = shell(&folder, &format!("ulimit -f {blocks}; mnno convert x.npy out.csv --to {format}"));
            refuses(&run, "error: out.csv: ", "File too large\n");
            assert_eq!(fs::read(folder.path("out.csv")).unwrap(), b"old", "{format}");
            assert_eq!(folder.names(), ["out.csv", "x.npy"], "{format}");
        }
        assert_eq!(folder.run(&format!("convert x.npy new --to {format}")).code, Some(0), "{format}");
        fs::remove_file(folder.path("new")).unwrap();
    }
}

/// Each command with an output, of a name that begins with `out`.
fn writing(out: &str) -> [String; 3] {
    [
        format!("convert x.npy {out}.csv"),
        format!("knn x.npy -k 1 -o {out}.csv"),
        format!("compare x.npy x.npy -k 1 --per-row {out}.csv"),
    ]
}

#[test]
fn folders_that_take_no_files() {
    let folder = folder();
    // Not even root makes files there.
    let everywhere = ["/proc/mnno-out", "/sys/mnno-out"];
    for (out, arguments) in everywhere.into_iter().flat_map(|out| writing(out).map(|arguments| (out, arguments))) {
        refuses(&folder.run(&arguments), &format!("error: {out}.csv: "), "\n");
    }

    fs::create_dir(folder.path("shut")).unwrap();
    fs::set_permissions(folder.path("shut"), Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(folder.path(""), Permissions::from_mode(0o755)).unwrap();
    // Where anyone can start it.
    fs::copy(PROGRAM, folder.path("mnno")).unwrap();
    for arguments in writing("shut/out") {
        let mut command = Command::new(folder.path("mnno"));
        command.current_dir(folder.path("")).args(arguments.split_whitespace());
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(65534).gid(65534); // permissions do not bind root
        }
        let hint = "\nhint: the folder itself must be writable: outputs are written beside their place and renamed\n";
        refuses(&run_of(command.output().unwrap()), "error: shut/out.csv: ", hint);
    }
    assert!(fs::read_dir(folder.path("shut")).unwrap().next().is_none());
}

/// A rename does not cross file systems, so temporaries lie beside the output.
#[test]
fn outputs_on_another_file_system() {
    let folder = folder();
    let device = fs::metadata(folder.path("")).unwrap().dev();
    let is_other = |place: &&str| fs::metadata(place).is_ok_and(|other| other.dev() != device);
    let place = ["/dev/shm", env!("CARGO_TARGET_TMPDIR")].into_iter().find(is_other).expect("a second file system");
    let other = tempfile::tempdir_in(place).unwrap();
    let out = other.path().join("out").display().to_string();
    for (there, here) in writing(&out).iter().zip(writing("out")) {
        for arguments in [there, &here] {
            assert_eq!(folder.run(arguments).code, Some(0), "{arguments}");
        }
        let files = contents(other.path());
        assert_eq!(files[&other.path().join("out.csv")], fs::read(folder.path("out.csv")).unwrap(), "{there}");
        assert_eq!(files.len(), 1, "{there}");
    }
}

#[test]
fn an_output_that_is_a_link_stays_one() {
    let folder = folder();
    folder.run("convert x.npy direct.csv");
    fs::create_dir(folder.path("far")).unwrap();
    folder.write("far/target.csv", "old");
    symlink("far/target.csv", folder.path("link.csv")).unwrap();
    symlink("nothing.csv", folder.path("dangling.csv")).unwrap();
    let files = contents(&folder.path(""));

    folder.run("convert x.npy dangling.csv").fails_with(
        73,
        "error: dangling.csv: the symbolic link cannot be followed: No such file or directory\n\
         hint: remove the link, or give another output",
    );
    assert_eq!(contents(&folder.path("")), files);

    assert_eq!(folder.run("convert x.npy link.csv").code, Some(0));
    let mut expected = files;
    expected.insert(folder.path("far/target.csv"), fs::read(folder.path("direct.csv")).unwrap());
    assert_eq!(contents(&folder.path("")), expected);
}

#[test]
fn inputs_are_never_overwritten() {
    let folder = folder();
    fs::create_dir(folder.path("parts")).unwrap();
    folder.npy("parts/1.npy", 2, &noise(12, 2));
    folder.npy("parts/2.npy", 2, &noise(12, 3));
    folder.write("x.list", "x.npy\n");
    fs::hard_link(folder.path("x.npy"), folder.path("hard.npy")).unwrap();
    symlink("x.npy", folder.path("soft.npy")).unwrap();
    symlink("parts/2.npy", folder.path("part.npy")).unwrap();
    let files = contents(&folder.path(""));
    for (argument, out, input) in [
        ("x.npy", "x.npy", "is the same file as the input x.npy"),
        ("x.npy", "parts/../x.npy", "is the same file as the input x.npy"),
        ("x.npy", "soft.npy", "is the same file as the input x.npy"),
        ("x.npy", "hard.npy", "is the same file as the input x.npy"),
        ("soft.npy", "hard.npy", "is the same file as the input soft.npy"),
        ("parts", "parts/1.npy", "would become a part of the input parts"),
        ("parts", "parts/3.npy", "would become a part of the input parts"),
        ("parts", "part.npy", "is the same file as the input parts/2.npy"),
        ("@x.list", "x.list", "is the same file as the input x.list"),
        ("@x.list", "soft.npy", "is the same file as the input x.npy"),
    ] {
        let run = folder.run(&format!("convert {argument} {out} --to csv"));
        run.fails_with(73, &format!("error: {out}: the output {input}\n{SAME_FILE}"));
        assert_eq!(contents(&folder.path("")), files, "{argument} {out}");
    }
}

#[test]
fn pipes_are_refused_and_redirected_files_are_read() {
    let folder = folder();
    fs::create_dir(folder.path("parts")).unwrap();
    for pipe in ["pipe.npy", "parts/pipe.npy"] {
        assert!(Command::new("mkfifo").arg(folder.path(pipe)).status().unwrap().success());
    }
    for (arguments, file) in [
        ("inspect pipe.npy", "pipe.npy"),
        ("inspect @pipe.npy", "pipe.npy"),
        ("inspect parts", "parts/pipe.npy"),
        ("inspect x.npy --labels pipe.npy", "pipe.npy"),
        ("compare x.npy pipe.npy -k 1", "pipe.npy"),
        ("knn x.npy --queries pipe.npy -k 1 -o out.npz", "pipe.npy"),
        ("convert pipe.npy out.csv --io read", "pipe.npy"),
    ] {
        folder.run(arguments).fails_with(66, &format!("error: {file}: {NO_FILE}"));
    }
    shell(&folder, "cat x.npy | mnno inspect /dev/stdin").fails_with(66, &format!("error: /dev/stdin: {NO_FILE}"));
    let run = shell(&folder, "mnno inspect /dev/stdin < x.npy");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, folder.run("inspect x.npy").stdout.replace("x.npy", "/dev/stdin"));
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let folder = folder();
    for command in ["inspect x.npy", "compare x.npy x.npy -k 1", "knn x.npy -k 1 -o out.npz", "convert x.npy out.csv"] {
        for json in ["", " --json"] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let arguments = format!("{command}{json}");
            let mut program = Command::new(PROGRAM);
            program.current_dir(folder.path("")).args(arguments.split_whitespace()).stdout(writer);
            let run = run_of(program.output().unwrap());
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{arguments}");
        }
    }
    assert_eq!(folder.names(), ["out.csv", "out.npz", "x.npy"]);
    // A disk that is full is one.
    refuses(&shell(&folder, "mnno inspect x.npy > /dev/full"), "error: standard output: ", "\n");
}

/// Files that do not fit `--memory 64M`, in rows of a name where the format has names, the elements from another one on in
/// each row, and the end of a line of text. The values of text.csv do not fit either; those of words.txt would, but are few,
/// since nothing is read as slowly as text.
fn big_files(folder: &Folder) {
    let pool = noise(1 << 16, 9);
    let elements = |bytes: &dyn Fn(f32) -> Vec<u8>| pool.iter().flat_map(|&v| bytes(v)).collect::<Vec<u8>>();
    let [floats, halves, bytes, digits, short] = [
        elements(&|v| v.to_le_bytes().to_vec()),
        elements(&|v| half::f16::from_f32(v).to_le_bytes().to_vec()),
        elements(&|v| vec![v.to_le_bytes()[1]]),
        elements(&|v| format!("{v:+.17} ").into_bytes()),
        elements(&|v| format!("{:.1},", 9.0 * v.abs()).into_bytes()),
    ];
    let counts = [4500, 16384].map(u32::to_le_bytes).concat();
    for (file, mut content, (n, d), elements, after_name) in [
        ("f32.npy", npy("<f4", "(1125, 16384)", &[]), (1125, 16384), &floats, ""),
        ("f16.npy", npy("<f2", "(2250, 16384)", &[]), (2250, 16384), &halves, ""),
        ("u8.u8bin", counts, (4500, 16384), &bytes, ""),
        ("words.bin", b"1125 16384\n".to_vec(), (1125, 16384), &floats, " "),
        ("words.txt", Vec::new(), (900, 4096), &digits, " "),
        ("text.csv", Vec::new(), (900, 19000), &short, ""),
    ] {
        let width = elements.len() / pool.len();
        for row in 0..n {
            if !after_name.is_empty() {
                write!(content, "w{row}{after_name}").unwrap();
            }
            content.extend(&elements[7 * row * width..][..d * width]);
            if elements == &digits || elements == &short {
                *content.last_mut().unwrap() = b'\n'; // in place of the separator
            }
        }
        assert!(content.len() > 64 << 20, "{file}");
        folder.write(file, content);
    }
}

/// What a command holds beside mapped files stays within `--memory`: the system's limit on private memory is the same here,
/// the program's own and that of its threads included. Measured, mat takes most (50 MiB, of which 48 are the columns that
/// are gathered), and searches (54 MiB).
#[test]
fn memory_is_the_most_that_a_command_takes() {
    let folder = Folder::new();
    big_files(&folder);
    folder.npy("q.npy", 16384, &noise(3 * 16384, 8));
    let limit = "ulimit -c 0; ulimit -d 65536";
    for arguments in [
        "inspect f32.npy f16.npy u8.u8bin words.bin words.txt",
        "compare f32.npy words.bin -k 5 --permutations 99 --threads 2",
        "compare words.bin words.txt --join name -k 5 --permutations 99 --threads 2",
        "knn f16.npy --queries q.npy -k 5 -o out.npy --threads 2",
        "knn u8.u8bin --queries q.npy -k 5 -o out.npz --threads 2",
        "convert f32.npy out.mat",
        "convert f16.npy out.npy",
        "convert u8.u8bin out.mat",
        "convert words.bin out.bin",
        "convert words.txt out.mat",
        "convert words.txt out.csv",
        "convert text.csv out.npy",
    ] {
        let run = shell(&folder, &format!("{limit}; mnno {arguments} --memory 64M"));
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.stderr);
    }
    // The limit bites: read into memory, a file does not fit.
    let run = shell(&folder, &format!("{limit}; mnno inspect f32.npy --io read"));
    assert_ne!(run.code, Some(0));
}

/// A call, with the exit code that it ends with before it, and what it says on stderr.
const BAD_CALLS: &str = "\
$ 2 convert x.npy out
error: out: the extension names no format
hint: use .npy, .npz, .safetensors, .csv, .tsv, .fvecs, .bvecs, .ivecs, .fbin, .u8bin, .i8bin, .ibin, .mat, .txt (glove), \
.vec (word2vec) or .bin (word2vec binary), or name the format with --to
$ 2 convert x.npy out --to xyz
error: invalid value 'xyz' for '--to <FORMAT>'
  [possible values: npy, npz, safetensors, csv, tsv, fvecs, bvecs, ivecs, fbin, u8bin, i8bin, ibin, glove, word2vec, \
word2vec-binary, mat]

For more information, try '--help'.
$ 2 convert x.npy out.npy --memory 1M
error: invalid value '1M' for '--memory <SIZE>': expected at least 64M: the program itself takes some of it

For more information, try '--help'.
$ 2 convert x.npy::0 out.csv
error: x.npy: the array has shape (3, 2) and so no layers, but one was asked for
hint: leave the layer out
$ 73 convert twice.csv out.vec
error: out.vec: the word 'a' is on row 0 and again on row 1 (from 0)
hint: csv holds repeated names; npy holds none
$ 73 convert x.npy out.u8bin
error: out.u8bin: row 1, column 0 (both from 0) is -3.0, which u8 does not hold
hint: write a format of f32, such as npy or fbin
$ 73 convert x.npy none/out.npy
error: none/out.npy: the folder none does not exist
hint: create it: mkdir -p 'none'
$ 73 convert x.npy parts --to npy
error: parts: an output needs the name of a file, and this is a folder
hint: add a file name, as in parts/out.npy
$ 66 convert @none.list out.npy
error: none.list: No such file or directory
$ 65 convert parts out.npy
error: parts/2.npy: it has rows of 3 f32, but parts/1.npy has rows of 2 f32: they are not parts of one matrix
hint: parts have equal columns and types; @LIST names a text file that lists those to read
";

#[test]
fn bad_calls_say_what_is_wrong_and_leave_nothing() {
    let folder = Folder::new();
    folder.npy("x.npy", 2, &[1.0, 2.0, -3.0, 4.0, 5.0, 6.5]);
    folder.write("twice.csv", "a,1,2\na,3,4\nb,5,6\n");
    fs::create_dir(folder.path("parts")).unwrap();
    folder.npy("parts/1.npy", 2, &noise(4, 1));
    folder.npy("parts/2.npy", 3, &noise(6, 1));
    let files = contents(&folder.path(""));
    let calls: Vec<_> = BAD_CALLS.split("$ ").skip(1).collect();
    assert_eq!(calls.len(), 10);
    for call in calls {
        let (call, stderr) = call.split_once('\n').unwrap();
        let (code, arguments) = call.split_once(' ').unwrap();
        folder.run(arguments).fails_with(code.parse().unwrap(), stderr.trim_end());
    }
    assert_eq!(contents(&folder.path("")), files);
}
