//! Columns as JSON: nested lists of integers, and lists of objects with the same members.

use crate::json::text::{Sink, quote};

/// A column of records, one value per row: integers, lists of `width` integers, numbers (null unless finite), texts.
pub enum Column<'a> {
    Integers(&'a [i64]),
    Lists(&'a [i64], usize),
    Numbers(&'a [f64]),
    Texts(&'a [String]),
}

impl Column<'_> {
    /// The number of rows.
    pub fn rows(&self, all: usize) -> usize {
        match self {
            Column::Integers(values) => values.len(),
            Column::Lists(values, width) => values.len().checked_div(*width).unwrap_or(all),
            Column::Numbers(values) => values.len(),
            Column::Texts(values) => values.len(),
        }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Column::Integers(values) => out.int(values[row]),
            Column::Lists(values, width) => list(&values[row * width..(row + 1) * width], out),
            Column::Numbers(values) if values[row].is_finite() => out.put(format!("{:?}", values[row]).as_bytes()),
            Column::Numbers(_) => out.put(b"null"),
            Column::Texts(values) => quote(out, values[row].as_bytes()),
        }
    }
}

fn list(values: &[i64], out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, &value) in values.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.int(value);
    }
    out.push(b']');
}

/// Values in C order as nested lists; the product of `shape` is their number.
pub fn integers(values: &[i64], shape: &[usize], out: &mut Vec<u8>) {
    let [count, inner @ ..] = shape else {
        values.iter().for_each(|&value| out.int(value));
        return;
    };
    if inner.is_empty() {
        return list(values, out);
    }
    let width = inner.iter().product::<usize>();
    out.push(b'[');
    for i in 0..*count {
        if i > 0 {
            out.push(b',');
        }
        integers(&values[i * width..(i + 1) * width], inner, out);
    }
    out.push(b']');
}

/// One object per row; all columns have at least `rows` rows.
pub fn records(columns: &[(String, Column)], rows: usize) -> Vec<u8> {
    let mut out = vec![b'['];
    let heads: Vec<Vec<u8>> = columns
        .iter()
        .enumerate()
        .map(|(i, (name, _))| {
            let mut head = vec![if i == 0 { b'{' } else { b',' }];
            quote(&mut head, name.as_bytes());
            head.push(b':');
            head
        })
        .collect();
    for row in 0..rows {
        if row > 0 {
            out.push(b',');
        }
        for (head, (_, column)) in heads.iter().zip(columns) {
            out.put(head);
            column.write(row, &mut out);
        }
        out.push(b'}');
    }
    out.push(b']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(values: &[i64], shape: &[usize]) -> String {
        let mut out = Vec::new();
        integers(values, shape, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn integers_nest_by_shape() {
        assert_eq!(nested(&[1, -2, i64::MIN, 4], &[2, 1, 2]), "[[[1,-2]],[[-9223372036854775808,4]]]");
        assert_eq!(nested(&[], &[0, 3]), "[]");
        assert_eq!(nested(&[], &[2, 0, 4]), "[[],[]]");
        assert_eq!(nested(&[7], &[]), "7");
    }

    #[test]
    fn records_have_the_members_of_their_columns() {
        let names = ["a\"".to_string(), "b".to_string()];
        let columns = [
            ("n".to_string(), Column::Integers(&[1, 2])),
            ("list".to_string(), Column::Lists(&[3, 4, 5, 6], 2)),
            ("share".to_string(), Column::Numbers(&[0.1, f64::NAN])),
            ("name".to_string(), Column::Texts(&names)),
        ];
        let text = String::from_utf8(records(&columns, 2)).expect("UTF-8");
        assert_eq!(
            text,
            r#"[{"n":1,"list":[3,4],"share":0.1,"name":"a\""},{"n":2,"list":[5,6],"share":null,"name":"b"}]"#
        );
        assert_eq!(records(&columns, 0), b"[]");
    }
}
