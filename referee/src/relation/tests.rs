use super::*;

#[track_caller]
fn near(got: Option<f64>, want: f64) {
    assert!(got.is_some_and(|got| (got - want).abs() < 1e-9), "{got:?} is not {want}");
}

#[test]
fn slopes_equal_hand_computed_values() {
    assert_eq!(slope(&[0.0, 1.0]), Some(1.0));
    // 0, 0, 1, 1: mean 1/2, positions -1.5 to 1.5: (0.75 + 0.25 + 0.25 + 0.75) / 5.
    near(slope(&[0.0, 0.0, 1.0, 1.0]), 0.4);
    assert_eq!((slope(&[1.0]), slope(&[])), (None, None));
}

#[test]
fn constant_numbers_have_no_correlation() {
    let flat = [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)];
    assert_eq!((pearson(&flat), spearman(&flat)), (None, None));
    assert_eq!((pearson(&[(1.0, 2.0)]), correlation_p(0.5, 2)), (None, None));
    assert_eq!(correlation_p(1.0, 5), Some(0.0));
}

#[test]
fn tied_numbers_share_the_mean_rank() {
    assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
}
