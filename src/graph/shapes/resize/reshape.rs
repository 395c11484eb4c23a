//! The shape of a reshaped tensor whose operand has another size.

/// The shape that replaces `old_out` when `new_in` replaces `old_in`; none where it does not follow. Linear in
/// dimensions.
///
/// Dimensions of both sides fall into groups of the same product, in row-major order. A group that is merged into
/// one dimension has the product of its new sizes; a dimension that is split keeps its first parts, as the number
/// of groups or of attention heads stays, and the last part takes the change.
pub fn reshaped(old_in: &[i32], new_in: &[i32], old_out: &[i32]) -> Option<Vec<i32>> {
    let mut out = old_out.to_vec();
    let mut reads = old_in
        .iter()
        .zip(new_in)
        .filter(|(old, _)| **old != 1)
        .peekable();
    if old_in
        .iter()
        .zip(new_in)
        .any(|(old, new)| *old == 1 && *new != 1)
    {
        return None;
    }
    let mut writes = out.iter_mut().filter(|size| **size != 1).peekable();
    while reads.peek().is_some() || writes.peek().is_some() {
        let mut read = vec![reads.next()?];
        let mut written = vec![writes.next()?];
        loop {
            let old: i64 = product(read.iter().map(|(old, _)| **old))?;
            let to: i64 = product(written.iter().map(|size| **size))?;
            match old.cmp(&to) {
                std::cmp::Ordering::Less => read.push(reads.next()?),
                std::cmp::Ordering::Greater => written.push(writes.next()?),
                std::cmp::Ordering::Equal => break,
            }
        }
        resize_group(&read, &mut written)?;
    }
    Some(out)
}

fn resize_group(read: &[(&i32, &i32)], written: &mut [&mut i32]) -> Option<()> {
    let mut changed = read.iter().filter(|(old, new)| old != new);
    let Some((old, new)) = changed.next() else {
        return Some(());
    };
    let (old, new) = (**old, **new);
    let total = product(read.iter().map(|(_, new)| **new))?;
    if let [only] = written {
        **only = i32::try_from(total).ok()?;
        return Some(());
    }
    if changed.next().is_some() {
        return None;
    }
    let mut alike = written.iter_mut().filter(|size| ***size == old);
    if let (Some(size), None) = (alike.next(), alike.next()) {
        **size = new;
        return Some(());
    }
    let (last, first) = written.split_last_mut()?;
    let others = product(first.iter().map(|size| **size))?;
    if others < 1 || total % others != 0 {
        return None;
    }
    **last = i32::try_from(total / others).ok()?;
    Some(())
}

/// None where it is 0 or does not fit.
pub fn product(mut sizes: impl Iterator<Item = i32>) -> Option<i64> {
    let all = sizes.try_fold(1i64, |all, size| all.checked_mul(i64::from(size)))?;
    (all > 0).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input before and after, output before, and output expected after.
    type Case<'c> = (&'c [i32], &'c [i32], &'c [i32], Option<&'c [i32]>);

    #[test]
    fn groups_of_dimensions_follow() {
        let cases: [Case; 9] = [
            (&[1, 7, 7, 64], &[1, 4, 4, 32], &[1, 3136], Some(&[1, 512])),
            (&[1, 1, 1, 64], &[1, 1, 1, 32], &[1, 64], Some(&[1, 32])),
            (
                &[1, 14, 14, 192],
                &[1, 7, 7, 192],
                &[1, 196, 192],
                Some(&[1, 49, 192]),
            ),
            // Three attention heads, then 3 channel groups.
            (
                &[1, 49, 192],
                &[1, 49, 96],
                &[1, 49, 3, 64],
                Some(&[1, 49, 3, 32]),
            ),
            (&[1, 8, 8, 24], &[1, 8, 8, 16], &[1, 8, 8, 3, 8], None),
            (
                &[1, 49, 3, 64],
                &[1, 49, 3, 32],
                &[1, 49, 192],
                Some(&[1, 49, 96]),
            ),
            (&[6, 5], &[6, 5], &[5, 6], Some(&[5, 6])),
            (&[6, 5], &[6, 4], &[5, 6], Some(&[4, 6])),
            (&[1, 0, 5], &[1, 0, 4], &[0, 5], None),
        ];
        for (old_in, new_in, old_out, expected) in cases {
            let actual = reshaped(old_in, new_in, old_out);
            assert_eq!(actual.as_deref(), expected, "{old_in:?} -> {old_out:?}");
        }
    }
}
