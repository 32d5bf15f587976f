//! Runs the program in a folder of its own, and makes small files for it.
#![allow(unreachable_pub)] // a test has no outside

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// What a run of the program did.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The JSON object on stdout of a run that succeeded.
    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    /// Checks that the run failed with a code, nothing on stdout and exactly these lines on stderr.
    pub fn fails_with(&self, code: i32, stderr: &str) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.trim_end()), (Some(code), "", stderr));
    }
}

/// A folder to run in, removed afterwards.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program here with arguments that are split at blanks.
    pub fn run(&self, arguments: &str) -> Run {
        self.command(arguments).finish()
    }

    pub fn command(&self, arguments: &str) -> Invocation {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mnno"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        Invocation(command)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("the folder is writable");
    }

    /// An f32 npy file of rows of `d` values.
    pub fn npy(&self, name: &str, d: usize, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.write(name, npy("<f4", &format!("({}, {d})", values.len() / d), &bytes));
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub struct Invocation(Command);

impl Invocation {
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// One more argument, blanks included.
    pub fn arg(mut self, argument: &str) -> Self {
        self.0.arg(argument);
        self
    }

    pub fn finish(mut self) -> Run {
        let output = self.0.output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub fn start(mut self) -> std::process::Child {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started")
    }
}

/// An npy file, version 1.0, C order.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = String::new();
    write!(header, "{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}").unwrap();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Seeded values in [-1, 1): the same in every run.
pub fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

/// The first array of an npy file written by the program: its shape and the bytes of its elements.
pub fn read_npy(path: &Path) -> (Vec<usize>, Vec<u8>) {
    parse_npy(&fs::read(path).unwrap())
}

pub fn parse_npy(bytes: &[u8]) -> (Vec<usize>, Vec<u8>) {
    let length = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    assert_eq!((10 + length) % 64, 0, "data begin at a multiple of 64");
    let shape = header.split(['(', ')']).nth(1).unwrap();
    let shape = shape.split(',').filter_map(|axis| axis.trim().parse().ok()).collect();
    (shape, bytes[10 + length..].to_vec())
}

pub fn i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)).collect()
}

pub fn f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
}
