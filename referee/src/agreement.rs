//! Agreement of labelers beyond chance: Cohen's kappa for a pair, Krippendorff's alpha for any number of labelers.

use std::collections::BTreeMap;

/// Returns Cohen's kappa of two labelers from the pairs of labels that they gave to the same units:
/// `(p - e) / (1 - e)`, with the share `p` of equal pairs, and the share `e` that is expected if both label
/// independently with their own frequencies.
///
/// `None` without pairs, and if both labelers gave one and the same label to all units, so that `e` is 1.
///
/// Source: J. Cohen, *A coefficient of agreement for nominal scales*, Educational and Psychological Measurement 20
/// (1960), 37-46.
pub fn cohen_kappa<T: Ord>(pairs: &[(T, T)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mut counts: BTreeMap<&T, [f64; 2]> = BTreeMap::new();
    for (a, b) in pairs {
        counts.entry(a).or_default()[0] += 1.0;
        counts.entry(b).or_default()[1] += 1.0;
    }
    let equal = pairs.iter().filter(|(a, b)| a == b).count() as f64;
    // Whole numbers, so that a lack of variation is exact.
    let expected: f64 = counts.values().map(|[a, b]| a * b).sum();
    (expected < n * n).then(|| (equal * n - expected) / (n * n - expected))
}

/// Returns Krippendorff's alpha for nominal labels: `1 - o / e`, with the observed and the expected disagreement of the
/// labels of one unit. `units` has the labels of each unit, from any number of labelers; units with fewer than two
/// labels do not count.
///
/// With `m` labels in a unit, each ordered pair of its labels counts `1 / (m - 1)`. For the coincidences `c(a, b)`, their
/// sums `n(a)` and the number `n` of labels, `o` is the share of coincidences with different labels, and
/// `e = sum n(a) n(b) / (n (n - 1))` over different labels.
///
/// `None` without units, and if all labels are equal.
///
/// Source: K. Krippendorff, *Computing Krippendorff's alpha-reliability*, University of Pennsylvania (2011).
pub fn krippendorff_alpha<T: Ord>(units: &[Vec<T>]) -> Option<f64> {
    let mut totals: BTreeMap<&T, f64> = BTreeMap::new();
    let (mut n, mut differing) = (0.0, 0.0);
    for unit in units.iter().filter(|unit| unit.len() > 1) {
        let mut counts: BTreeMap<&T, f64> = BTreeMap::new();
        unit.iter().for_each(|label| *counts.entry(label).or_default() += 1.0);
        let m = unit.len() as f64;
        differing += (m * m - counts.values().map(|count| count * count).sum::<f64>()) / (m - 1.0);
        n += m;
        counts.into_iter().for_each(|(label, count)| *totals.entry(label).or_default() += count);
    }
    let expected = n * n - totals.values().map(|total| total * total).sum::<f64>();
    (expected > 0.0).then(|| 1.0 - (n - 1.0) * differing / expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() < 5e-4), "expected {expected}, got {found:?}");
    }

    /// Returns pairs of labels from a square table of their numbers.
    fn pairs<const N: usize>(table: [[usize; N]; N]) -> Vec<(usize, usize)> {
        let cells = (0..N).flat_map(|a| (0..N).map(move |b| (a, b)));
        cells.flat_map(|(a, b)| vec![(a, b); table[a][b]]).collect()
    }

    #[test]
    fn kappa_equals_published_examples() {
        // Cohen 1960: two judges, 200 units, three categories, p = 0.70, e = 0.41.
        near(cohen_kappa(&pairs([[88, 14, 18], [10, 40, 10], [2, 6, 12]])), 0.492);
        // Two readers of 50 grant proposals: p = 0.7, e = 0.5.
        near(cohen_kappa(&pairs([[20, 5], [10, 15]])), 0.4);
        // Equal shares of agreement, 0.6, with different margins.
        near(cohen_kappa(&pairs([[45, 15], [25, 15]])), 0.1304);
        near(cohen_kappa(&pairs([[25, 35], [5, 35]])), 0.2593);
    }

    #[test]
    fn alpha_equals_published_examples() {
        // Krippendorff 2011, section C: four observers, twelve units, missing values.
        let observers = [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ];
        let unit = |k: usize| observers.iter().map(|own| own[k]).filter(|label| *label > 0).collect::<Vec<u8>>();
        near(krippendorff_alpha(&(0..12).map(unit).collect::<Vec<_>>()), 0.743);
        // Section A: two observers, ten units, binary.
        let (a, b) = ([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]);
        near(krippendorff_alpha(&a.iter().zip(b).map(|(a, b)| vec![*a, b]).collect::<Vec<_>>()), 0.095);
        // Section B: two observers, twelve units, nominal.
        let units = "aabbdcccedda".chars().zip("babbbccceddd".chars()).map(|(a, b)| vec![a, b]);
        near(krippendorff_alpha(&units.collect::<Vec<_>>()), 0.692);
    }

    #[test]
    fn agreement_without_variation_is_undefined() {
        assert_eq!(cohen_kappa::<u8>(&[]), None);
        assert_eq!(cohen_kappa(&[(1, 1), (1, 1)]), None);
        assert_eq!(krippendorff_alpha::<u8>(&[]), None);
        assert_eq!(krippendorff_alpha(&[vec![1, 1], vec![1, 1], vec![2]]), None);
        assert_eq!(cohen_kappa(&[(1, 2), (1, 2)]), Some(0.0));
        assert_eq!(cohen_kappa(&[(1, 1), (2, 2)]), Some(1.0));
        assert_eq!(krippendorff_alpha(&[vec![1, 1], vec![2, 2, 2]]), Some(1.0));
    }
}
