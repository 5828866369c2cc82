//! Small systems of linear equations.

/// Reduces rows to reduced echelon form with partial pivoting, and returns the pivot columns. Values below `tiny` count
/// as 0.
fn reduce(rows: &mut [Vec<f64>], columns: usize, tiny: f64) -> Vec<usize> {
    let mut pivots = Vec::new();
    for column in 0..columns {
        let at = pivots.len();
        let size = |row: &usize| rows[*row][column].abs();
        let Some(best) = (at..rows.len()).max_by(|a, b| size(a).total_cmp(&size(b))) else { break };
        if size(&best) <= tiny {
            continue;
        }
        rows.swap(at, best);
        let by = rows[at][column];
        rows[at].iter_mut().for_each(|x| *x /= by);
        let pivot = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != at) {
            let times = row[column];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= times * p);
        }
        pivots.push(column);
    }
    pivots
}

/// Returns the solution of `matrix x = right`; `None` if the matrix is singular.
pub(super) fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let n = matrix.len();
    let mut rows: Vec<Vec<f64>> = matrix.iter().zip(right).map(|(row, b)| [&row[..], &[*b]].concat()).collect();
    (reduce(&mut rows, n, 0.0).len() == n).then(|| rows.iter().map(|row| row[n]).collect())
}

/// Returns a basis of all `x` with `matrix x = 0`; each vector has a 1 where the others have 0.
pub(super) fn null_space(matrix: &[Vec<f64>], columns: usize, tiny: f64) -> Vec<Vec<f64>> {
    let mut rows = matrix.to_vec();
    let pivots = reduce(&mut rows, columns, tiny);
    let free = (0..columns).filter(|column| !pivots.contains(column));
    free.map(|column| {
        let mut x = vec![0.0; columns];
        x[column] = 1.0;
        pivots.iter().enumerate().for_each(|(row, &pivot)| x[pivot] = -rows[row][column]);
        x
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_systems_are_solved() {
        let matrix = [vec![0.0, 2.0], vec![1.0, 1.0]];
        assert_eq!(solve(&matrix, &[4.0, 5.0]), Some(vec![3.0, 2.0]));
        assert_eq!(solve(&[vec![1.0, 2.0], vec![2.0, 4.0]], &[1.0, 2.0]), None);
        assert_eq!(null_space(&[vec![1.0, 2.0, 3.0]], 3, 1e-12), [vec![-2.0, 1.0, 0.0], vec![-3.0, 0.0, 1.0]]);
        assert!(null_space(&matrix, 2, 1e-12).is_empty());
    }
}
