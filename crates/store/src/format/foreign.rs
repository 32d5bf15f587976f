//! Files that are known not to be read, so that their owner is told what they are and not merely that they are wrong.

use std::path::Path;

use crate::{Format, StoreError};

/// A signature: where it stands, its bytes, what such a file is, and what to do with it.
type Signature = (usize, &'static [u8], &'static str, &'static str);

const AS_NPY: &str = "load it where it was made and save the vectors as npy: np.save(path, x.astype('float32'))";
const UNPACK: &str = "unpack it first: files are read from a memory map";

const SIGNATURES: [Signature; 14] = [
    (0, b"mnnoann\0", "an index of mnno", "name the vectors it was built from; mnno index search uses the index"),
    (0, b"MATLAB 7.3 MAT-file", "a MATLAB 7.3 file (HDF5)", "save it in MATLAB with save(file, '-v7')"),
    (
        0,
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file",
        "open it with h5py and save the dataset as npy: np.save(path, f['name'][:])",
    ),
    (512, b"\x89HDF\r\n\x1a\n", "an HDF5 file", "if MATLAB made it, save it there with save(file, '-v7')"),
    (0, b"ARROW1\0\0", "an Arrow file", "read it with pyarrow and save the vectors as npy: np.save(path, x)"),
    (0, b"\x1f\x8b\x08", "compressed with gzip", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (0, b"\xfd7zXZ\x00", "compressed with xz", UNPACK),
    (0, b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (0, b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (0, b"\x80\x02", "a Python pickle, which mnno never unpickles", AS_NPY),
    (0, b"\x80\x03", "a Python pickle, which mnno never unpickles", AS_NPY),
    (0, b"\x80\x04", "a Python pickle, which mnno never unpickles", AS_NPY),
    (0, b"\x80\x05", "a Python pickle, which mnno never unpickles", AS_NPY),
];

/// The number with which fastText begins its models.
const FASTTEXT_MODEL: &[u8] = &[0xba, 0x16, 0x4f, 0x2f];

/// An error for files of formats that are not read, `by_extension` being what the name says.
pub(crate) fn refuse(path: &Path, bytes: &[u8], by_extension: Option<Format>) -> Result<(), StoreError> {
    let foreign = |what, hint| Err(StoreError::Foreign { path: path.to_owned(), what, hint });
    // Two bytes may as well be a dimension: 640 begins as a pickle does.
    let binary = !matches!(by_extension, None | Some(Format::Csv | Format::Tsv | Format::Glove | Format::Word2vec));
    let long = |signature: &[u8]| signature.len() > 3 || !binary;
    let stands = |&(at, signature, ..): &Signature| {
        long(signature) && bytes.get(at..).is_some_and(|tail| tail.starts_with(signature))
    };
    if let Some(&(.., what, hint)) = SIGNATURES.iter().find(|signature| stands(signature)) {
        return foreign(what, hint);
    }
    // Text may begin so too; a Parquet file ends as it begins.
    if bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.len() > 8 {
        return foreign(
            "a Parquet file",
            "read it with pyarrow or pandas and save the vectors as npy: np.save(path, x)",
        );
    }
    if bytes.starts_with(b"BZh") && bytes.get(4..).is_some_and(|tail| tail.starts_with(b"1AY&SY")) {
        return foreign("compressed with bzip2", UNPACK);
    }
    if bytes.starts_with(FASTTEXT_MODEL) {
        return foreign("a fastText model", "use the .vec file that fastText writes beside it");
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if extension.eq_ignore_ascii_case("mat") && is_matlab_4(bytes) {
        return foreign(
            "a MATLAB 4 file",
            "save it in MATLAB with save(file, '-v7'), or load it with scipy and save npy",
        );
    }
    Ok(())
}

/// A MATLAB 4 matrix begins with a type of at most four digits, then rows, columns, a flag and the length of its name
/// (MAT-File Level 4, appendix of the `MathWorks` format description), in either byte order.
fn is_matlab_4(bytes: &[u8]) -> bool {
    let Some(words) = bytes.first_chunk::<20>() else { return false };
    [u32::from_le_bytes, u32::from_be_bytes].iter().any(|of| {
        let [kind, _, _, imaginary, name] = std::array::from_fn(|i| {
            let word = &words[4 * i..];
            of([word[0], word[1], word[2], word[3]])
        });
        kind < 5000 && imaginary <= 1 && (1..=64).contains(&name)
    })
}
