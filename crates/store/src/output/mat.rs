//! A matrix as a variable of a MATLAB 5 file (MAT-File Format, Level 5, The `MathWorks`).

/// What stands before the numbers of a file with one variable, an `[n, d]` matrix of singles, little-endian, which follow
/// column by column; the bytes of padding behind them. None if the variable is larger than MATLAB reads.
pub(super) fn header(name: &str, n: usize, d: usize) -> Option<(Vec<u8>, usize)> {
    const MATRIX: u32 = 14;
    const SINGLE_CLASS: u32 = 7;
    const INT8: u32 = 1;
    const INT32: u32 = 5;
    const UINT32: u32 = 6;
    const SINGLE: u32 = 7;
    let [rows, columns] = [n, d].map(|dim| i32::try_from(dim).ok());
    let (rows, columns) = (rows?, columns?);
    let bytes = n.checked_mul(d)?.checked_mul(4)?;
    let padding = bytes.next_multiple_of(8) - bytes;

    let mut content = Vec::new();
    let part = |content: &mut Vec<u8>, kind: u32, data: &[u8]| {
        content.extend(kind.to_le_bytes());
        content.extend((data.len() as u32).to_le_bytes());
        content.extend(data);
        content.resize(content.len().next_multiple_of(8), 0);
    };
    part(&mut content, UINT32, &[SINGLE_CLASS.to_le_bytes(), [0; 4]].concat());
    part(&mut content, INT32, &[rows.to_le_bytes(), columns.to_le_bytes()].concat());
    part(&mut content, INT8, name.as_bytes());
    content.extend(SINGLE.to_le_bytes());
    content.extend(u32::try_from(bytes).ok()?.to_le_bytes());
    let length = i32::try_from(content.len() + bytes + padding).ok()?;

    let mut header = format!("{:<124}", "MATLAB 5.0 MAT-file, written by mnno").into_bytes();
    header.extend([0x00, 0x01]);
    header.extend(b"IM");
    header.extend(MATRIX.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend(content);
    Some((header, padding))
}
