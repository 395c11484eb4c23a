//! Layers that move, join, cut out, resize or sum up values.

use std::collections::HashSet;

use super::super::message::Attribute::{Integer, Integers, Text};
use super::super::network::{Blob, Sides, with_batch};
use super::{ABSENT, Converter, position, product, scaled, with_batch_axis};

/// Operations of `Reduction` by number.
const REDUCTIONS: &[&str] = &[
    "ReduceSum",
    "ReduceL1",
    "ReduceSumSquare",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
];

/// Orders of `Permute` by number, for two, three and four sides: the sides of the result, the innermost first.
const ORDERS: [&str; 3] = [
    "WH HW",
    "WHC HWC WCH CWH HCW CHW",
    "WHDC HWDC WDHC DWHC HDWC DHWC WHCD HWCD WCHD CWHD HCWD CHWD WDCH DWCH WCDH CWDH DCWH CDWH HDCW DHCW HCDW CHDW DCHW \
     CDHW",
];

impl Converter<'_, '_> {
    /// The last two dimensions swapped.
    pub(super) fn transposed(&mut self, x: &Blob) -> Option<Blob> {
        let mut sides = x.sides.clone()?;
        let n = i64::try_from(sides.len()).ok()?;
        let mut perm: Vec<i64> = (0..=n).collect();
        let last = sides.len().checked_sub(1)?;
        let before = last.checked_sub(1)?;
        sides.swap(before, last);
        perm.swap(before.checked_add(1)?, last.checked_add(1)?);
        let value = self.node("Transpose", &[&x.value], &[("perm", Integers(&perm))]);
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn concatenated(&mut self, inputs: &[Blob]) -> Option<Blob> {
        let axis = self.axis(0);
        let values: Vec<&str> = inputs.iter().map(|blob| &*blob.value).collect();
        let value = self.node("Concat", &values, &[("axis", Integer(axis))]);
        let sides = || {
            let mut sides = inputs.first()?.sides.clone()?;
            let at = position(axis, sides.len())?;
            let mut parts = inputs.iter().map(|blob| blob.side(at));
            let sum = parts.try_fold(0_i64, |sum, part| sum.checked_add(part?));
            *sides.get_mut(at)? = sum.unwrap_or(0);
            Some(sides)
        };
        let sides = sides();
        Some(Blob::new(value, sides))
    }

    pub(super) fn slice(&mut self, x: &Blob) -> Option<Vec<Blob>> {
        let layer = self.layer;
        let axis = self.axis(1);
        let sides = x.sides.as_ref()?;
        let at = position(axis, sides.len())?;
        let stated = layer.wholes(0).unwrap_or_default();
        let n = layer.n_outputs;
        let whole = x.side(at);
        let mut left = whole;
        let mut parts = Vec::with_capacity(n);
        for place in 0..n {
            // The rest is divided among the parts whose sizes are left out.
            let n_left = i64::try_from(n.saturating_sub(place)).ok()?;
            let part = match stated.get(place).copied().unwrap_or(ABSENT) {
                ABSENT => left?.checked_div(n_left)?,
                part => part,
            };
            left = left.and_then(|left| left.checked_sub(part));
            parts.push(part);
        }
        let sizes = self.integers(&parts);
        let attributes = [("axis", Integer(axis))];
        let values = self
            .network
            .nodes(layer, "Split", &[&x.value, &sizes], &attributes, n);
        let blob = |(value, part): (String, i64)| {
            let mut sides = sides.clone();
            *sides.get_mut(at)? = part;
            Some(Blob::new(value, Some(sides)))
        };
        values.into_iter().zip(parts).map(blob).collect()
    }

    pub(super) fn cropped(&mut self, x: &Blob, n_inputs: usize) -> Option<Blob> {
        let layer = self.layer;
        // A second blob would say the size.
        (n_inputs == 1).then_some(())?;
        let sides = x.sides.as_ref()?;
        let rank = sides.len();
        let (starts, ends, axes) = match layer.sides(9) {
            Some(starts) => {
                let ends = layer.sides(10)?;
                let all = || (0..rank).map(i64::try_from).collect::<Result<Vec<_>, _>>();
                let axes = layer.sides(11);
                (starts, ends, axes.or_else(|| all().ok())?)
            }
            None => {
                // By names of sides, of which the outermost that a blob has come first.
                let offsets = [2, 1, 0].map(|id| layer.whole(id, 0));
                let sizes = [5, 4, 3].map(|id| layer.whole(id, 0));
                let behind = [8, 7, 6].map(|id| layer.whole(id, 0));
                let skipped = 3_usize.checked_sub(rank)?;
                let each = offsets.into_iter().zip(sizes).zip(behind).skip(skipped);
                let end = |((offset, size), behind): ((i64, i64), i64)| match size {
                    0 | ABSENT if behind > 0 => behind.saturating_neg(),
                    0 | ABSENT => ABSENT,
                    size => offset.saturating_add(size),
                };
                let ends = each.map(end).collect();
                let starts = offsets.into_iter().skip(skipped).collect();
                let axes = (0..rank).map(i64::try_from).collect::<Result<Vec<_>, _>>();
                (starts, ends, axes.ok()?)
            }
        };
        let axes: Vec<i64> = axes.into_iter().map(with_batch_axis).collect();
        let ends: Vec<i64> = (ends.into_iter())
            .map(|end| if end == ABSENT { i64::MAX } else { end })
            .collect();
        let mut cropped = sides.clone();
        for ((&axis, &start), &end) in axes.iter().zip(&starts).zip(&ends) {
            let side = cropped.get_mut(position(axis, rank)?)?;
            let bound = |at: i64| {
                if at < 0 {
                    side.saturating_add(at).max(0)
                } else {
                    at.min(*side)
                }
            };
            *side = if *side > 0 {
                bound(end).saturating_sub(bound(start))
            } else {
                0
            };
        }
        let [starts, ends, axes] = [&starts, &ends, &axes].map(|list| self.integers(list));
        let value = self.node("Slice", &[&x.value, &starts, &ends, &axes], &[]);
        Some(Blob::new(value, Some(cropped)))
    }

    pub(super) fn with_other_rank(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let is_more = layer.kind == "ExpandDims";
        let axes = layer.sides(3)?;
        let mut sides = x.sides.clone()?;
        let mut places = Vec::new();
        for axis in axes {
            let rank = sides
                .len()
                .checked_add(usize::from(is_more))
                .filter(|rank| *rank <= 8)?;
            let at = position(with_batch_axis(axis), rank)?;
            if is_more {
                sides.insert(at, 1);
            } else {
                sides.remove(at);
            }
            // One axis at a time, since each says a place among those that are left.
            places.push(i64::try_from(at).ok()?.checked_add(1)?);
        }
        let mut value = x.value.clone();
        for place in places {
            let axis = self.integers(&[place]);
            let op_type = if is_more { "Unsqueeze" } else { "Squeeze" };
            value = self.node(op_type, &[&value, &axis], &[]);
        }
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn resized(&mut self, x: &Blob, n_inputs: usize) -> Option<Blob> {
        let layer = self.layer;
        (n_inputs == 1 && layer.whole(5, 0) == 0).then_some(())?;
        let mode = *["nearest", "linear", "cubic"]
            .get(usize::try_from(layer.whole(0, 0).checked_sub(1)?).ok()?)?;
        let sides = x.sides.as_ref()?;
        let outer = sides.len().checked_sub(2)?;
        let sizes = [3, 4].map(|id| layer.whole(id, 0));
        let scales = [1, 2].map(|id| layer.float(id, 1.0));
        let attributes = [("mode", Text(mode))];
        if sizes.iter().all(|&size| size > 0) {
            let channels: Sides = sides.iter().take(outer).copied().collect();
            channels.iter().all(|&side| side > 0).then_some(())?;
            let resized = [&*channels, &sizes].concat();
            let shape = self.integers(&with_batch(&resized));
            let value = self.node("Resize", &[&x.value, "", "", &shape], &attributes);
            return Some(Blob::new(value, Some(resized)));
        }
        let ones = vec![1.0; outer.checked_add(1)?];
        let all = self.network.floats(layer, &[&*ones, &scales].concat());
        let value = self.node("Resize", &[&x.value, "", &all], &attributes);
        let mut resized = sides.clone();
        for (side, scale) in resized.iter_mut().skip(outer).zip(scales) {
            *side = scaled(*side, scale).unwrap_or(0);
        }
        Some(Blob::new(value, Some(resized)))
    }

    pub(super) fn padded(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let sides = x.sides.as_ref()?;
        let mode =
            *["constant", "edge", "reflect"].get(usize::try_from(layer.whole(4, 0)).ok()?)?;
        // By side, from the outermost of three on.
        let pairs = [[7, 8], [0, 1], [2, 3]].map(|pair| pair.map(|id| layer.whole(id, 0)));
        let skipped = 3_usize.checked_sub(sides.len())?;
        let pairs: Vec<[i64; 2]> = pairs.into_iter().skip(skipped).collect();
        let before = pairs.iter().map(|[before, _]| *before);
        let behind = pairs.iter().map(|[_, behind]| *behind);
        let pads: Vec<i64> = [0]
            .into_iter()
            .chain(before)
            .chain([0])
            .chain(behind)
            .collect();
        let pads = self.integers(&pads);
        let value = self.node("Pad", &[&x.value, &pads], &[("mode", Text(mode))]);
        let side = |(side, [before, behind]): (&i64, &[i64; 2])| {
            if *side > 0 {
                side.saturating_add(*before).saturating_add(*behind)
            } else {
                0
            }
        };
        let sides = sides.iter().zip(&pairs).map(side).collect();
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn permuted(&mut self, x: &Blob) -> Option<Blob> {
        let sides = x.sides.as_ref()?;
        let rank = sides.len();
        if rank == 1 {
            return Some(x.clone());
        }
        let orders = ORDERS.get(rank.checked_sub(2)?)?;
        let order = usize::try_from(self.layer.whole(0, 0)).ok()?;
        let order = orders.split_whitespace().nth(order)?;
        let names = if rank == 2 {
            "HW"
        } else if rank == 3 {
            "CHW"
        } else {
            "CDHW"
        };
        let places: Vec<usize> = (order.chars().rev())
            .map(|name| names.find(name))
            .collect::<Option<_>>()?;
        let perm = places
            .iter()
            .map(|&place| i64::try_from(place.checked_add(1)?).ok());
        let perm: Vec<i64> = [Some(0)].into_iter().chain(perm).collect::<Option<_>>()?;
        let value = self.node("Transpose", &[&x.value], &[("perm", Integers(&perm))]);
        let sides: Option<Sides> = places
            .iter()
            .map(|&place| sides.get(place).copied())
            .collect();
        Some(Blob::new(value, sides))
    }

    pub(super) fn shuffled_pixels(&mut self, x: &Blob) -> Option<Blob> {
        let factor = self.layer.whole(0, 1);
        let mode = if self.layer.whole(1, 0) == 0 {
            "CRD"
        } else {
            "DCR"
        };
        let attributes = [("blocksize", Integer(factor)), ("mode", Text(mode))];
        let value = self.node("DepthToSpace", &[&x.value], &attributes);
        let sides = x.sides.as_ref().and_then(|sides| {
            let [c, h, w] = *sides.as_slice() else {
                return None;
            };
            let block = factor.checked_mul(factor)?;
            Some(vec![
                c.checked_div(block)?,
                h.checked_mul(factor)?,
                w.checked_mul(factor)?,
            ])
        });
        Some(Blob::new(value, sides))
    }

    pub(super) fn reorganised(&mut self, x: &Blob) -> Option<Blob> {
        let stride = self.layer.whole(0, 1);
        let value = self.node(
            "SpaceToDepth",
            &[&x.value],
            &[("blocksize", Integer(stride))],
        );
        let sides = x.sides.as_ref().and_then(|sides| {
            let [c, h, w] = *sides.as_slice() else {
                return None;
            };
            let block = stride.checked_mul(stride)?;
            Some(vec![
                c.checked_mul(block)?,
                h.checked_div(stride)?,
                w.checked_div(stride)?,
            ])
        });
        Some(Blob::new(value, sides))
    }

    pub(super) fn reduced(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let op_type = REDUCTIONS.get(usize::try_from(layer.whole(0, 0)).ok()?)?;
        let keeps = layer.whole(4, 0) != 0;
        let sides = x.sides.as_ref()?;
        let named = layer.sides(3);
        let all = layer.whole(1, 1) != 0 || named.is_none();
        let axes: Vec<i64> = match named.filter(|_| !all) {
            Some(named) => named.into_iter().map(with_batch_axis).collect(),
            None => (1..=i64::try_from(sides.len()).ok()?).collect(),
        };
        let places = axes.iter().map(|&axis| position(axis, sides.len()));
        let places: HashSet<usize> = places.collect::<Option<_>>()?;
        let list = self.integers(&axes);
        let is_one = places.len() == sides.len();
        // A blob has one side at least.
        let attributes = [("keepdims", Integer(i64::from(keeps || is_one)))];
        let mut value = self.node(op_type, &[&x.value, &list], &attributes);
        if is_one && !keeps {
            value = self.node("Flatten", &[&value], &[("axis", Integer(1))]);
            return Some(Blob::new(value, Some(vec![1])));
        }
        let each = sides.iter().enumerate();
        let kept = each.filter_map(|(at, &side)| {
            if places.contains(&at) {
                keeps.then_some(1)
            } else {
                Some(side)
            }
        });
        Some(Blob::new(value, Some(kept.collect())))
    }

    pub(super) fn reshaped(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let stated = [2, 11, 1, 0].map(|id| layer.whole(id, ABSENT));
        let of_input = |at: usize| {
            // Width is the innermost side of any blob, height the one before it, channels the outermost.
            let rank = x.rank()?;
            match at {
                0 => x.side(0),
                3 => x.width(),
                2 => x.side(rank.checked_sub(2)?),
                _ => x.side(rank.checked_sub(3)?),
            }
        };
        let mut sides = Vec::new();
        for (at, side) in stated.into_iter().enumerate() {
            match side {
                ABSENT => {}
                0 => sides.push(of_input(at)?),
                side => sides.push(side),
            }
        }
        (!sides.is_empty() && sides.iter().all(|&side| side >= -1)).then_some(())?;
        let shape = self.integers(&with_batch(&sides));
        let value = self.node("Reshape", &[&x.value, &shape], &[]);
        let n = x.sides.as_deref().and_then(product).filter(|&n| n > 0);
        let mut others = sides.iter().copied().filter(|&side| side > 0);
        let others = others.try_fold(1_i64, i64::checked_mul);
        for side in sides.iter_mut().filter(|side| **side < 0) {
            *side = n.and_then(|n| n.checked_div(others?)).unwrap_or(0);
        }
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn shuffled_channels(&mut self, x: &Blob) -> Option<Blob> {
        let [c, h, w] = *x.sides.as_deref()? else {
            return None;
        };
        let group = self.layer.whole(0, 1);
        let of_group = c.checked_div(group)?;
        (of_group > 0 && h > 0 && w > 0).then_some(())?;
        let [n, m] = match self.layer.whole(1, 0) {
            0 => [group, of_group],
            _ => [of_group, group],
        };
        let apart = self.integers(&[1, n, m, h, w]);
        let together = self.integers(&[1, c, h, w]);
        let value = self.node("Reshape", &[&x.value, &apart], &[]);
        let perm = [("perm", Integers(&[0, 2, 1, 3, 4]))];
        let value = self.node("Transpose", &[&value], &perm);
        let value = self.node("Reshape", &[&value, &together], &[]);
        Some(Blob::new(value, x.sides.clone()))
    }

    pub(super) fn tiled(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let sides = x.sides.as_ref()?;
        let repeats = match layer.sides(2) {
            Some(repeats) => repeats,
            None => {
                let mut repeats = vec![1; sides.len()];
                *repeats.get_mut(position(self.axis(0), sides.len())?)? = layer.whole(1, 1);
                repeats
            }
        };
        // Further repeats make further sides, before the others.
        let n_more = repeats.len().checked_sub(sides.len())?;
        (n_more <= 4).then_some(())?;
        let sides = [vec![1; n_more], sides.clone()].concat();
        let shape = self.integers(&with_batch(&sides));
        let value = match n_more {
            0 => x.value.clone(),
            _ => self.node("Reshape", &[&x.value, &shape], &[]),
        };
        let list = self.integers(&with_batch(&repeats));
        let value = self.node("Tile", &[&value, &list], &[]);
        let tiled = sides.iter().zip(&repeats);
        let tiled = tiled.map(|(side, n)| side.checked_mul(*n).unwrap_or(0));
        Some(Blob::new(value, Some(tiled.collect())))
    }
}
