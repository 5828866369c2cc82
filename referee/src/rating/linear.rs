//! Small systems of linear equations.

use ndarray::{Array1, Array2, ArrayView1, Axis, Slice, concatenate};

/// Reduces rows to reduced echelon form with partial pivoting, and returns the pivot columns. Values up to `tiny` count
/// as 0.
fn reduce(rows: &mut Array2<f64>, columns: usize, tiny: f64) -> Vec<usize> {
    let mut pivots = Vec::new();
    for column in 0..columns {
        let at = pivots.len();
        let size = |row: &usize| rows[[*row, column]].abs();
        let Some(best) = (at..rows.nrows()).max_by(|a, b| size(a).total_cmp(&size(b))) else { break };
        if size(&best) <= tiny {
            continue;
        }
        let pivot = &rows.row(best) / rows[[best, column]];
        let other = rows.row(at).to_owned();
        rows.row_mut(best).assign(&other);
        rows.row_mut(at).assign(&pivot);
        for (_, mut row) in rows.outer_iter_mut().enumerate().filter(|(row, _)| *row != at) {
            let times = row[column];
            row.scaled_add(-times, &pivot);
        }
        pivots.push(column);
    }
    pivots
}

/// Returns a slice of a vector. Replaces the macro `s!` of `ndarray`, which contains unsafe code.
pub(super) fn part(vector: ArrayView1<'_, f64>, range: impl Into<Slice>) -> ArrayView1<'_, f64> {
    vector.slice_axis_move(Axis(0), range.into())
}

/// Returns the solution of `matrix x = right`; `None` if the matrix is singular.
pub(super) fn solve(matrix: &Array2<f64>, right: &Array1<f64>) -> Option<Array1<f64>> {
    let n = matrix.nrows();
    let mut rows = concatenate(Axis(1), &[matrix.view(), right.view().insert_axis(Axis(1))]).ok()?;
    (reduce(&mut rows, n, 0.0).len() == n).then(|| rows.column(n).to_owned())
}

/// Returns a basis of the solutions of `matrix x = 0`, one vector per row. Each vector has a 1 in a column in which all
/// other vectors have 0.
pub(super) fn null_space(mut matrix: Array2<f64>, tiny: f64) -> Array2<f64> {
    let columns = matrix.ncols();
    let pivots = reduce(&mut matrix, columns, tiny);
    let free: Vec<usize> = (0..columns).filter(|column| !pivots.contains(column)).collect();
    let mut basis = Array2::<f64>::zeros((free.len(), columns));
    for (mut x, &column) in basis.outer_iter_mut().zip(&free) {
        x[column] = 1.0;
        pivots.iter().enumerate().for_each(|(row, &pivot)| x[pivot] = -matrix[[row, column]]);
    }
    basis
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn small_linear_systems_are_solved() {
        let matrix = array![[0.0, 2.0], [1.0, 1.0]];
        assert_eq!(solve(&matrix, &array![4.0, 5.0]), Some(array![3.0, 2.0]));
        assert_eq!(solve(&array![[1.0, 2.0], [2.0, 4.0]], &array![1.0, 2.0]), None);
        assert_eq!(null_space(array![[1.0, 2.0, 3.0]], 1e-12), array![[-2.0, 1.0, 0.0], [-3.0, 0.0, 1.0]]);
        assert!(null_space(matrix, 1e-12).is_empty());
    }
}
