//! Columns, tensors and masks as arrays of `ndarray` (feature `ndarray`).
//!
//! An array borrows the packed bytes of the message. The bytes are copied only if they are misaligned for the element
//! type (rare in practice) or on big-endian machines.

use std::fmt;

use ndarray::{Array, Array2, ArrayView, CowArray, Dimension, IntoDimension, Ix2, IxDyn};

use crate::column::{Column, Element, unpack};
use crate::message::{Batch, Mask};
use crate::spec::Dtype;
use crate::tensor::{Tensor, TensorElement};

/// The error for an array request that does not match the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayError {
    /// The element type differs from the requested type.
    Dtype {
        /// Element type that the caller requested.
        expected: Dtype,
        /// Element type of the tensor.
        got: Dtype,
    },
    /// The number of elements does not match the shape.
    Shape {
        /// Shape that the caller requested.
        shape: Vec<usize>,
        /// Number of packed bytes.
        bytes: usize,
    },
    /// The message has no array with the requested name.
    Name {
        /// Name that the caller requested.
        name: String,
        /// Names of the message's arrays.
        allowed: Vec<String>,
    },
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ArrayError::Dtype { expected, got } => write!(f, "expected elements of type {expected:?}, got {got:?}"),
            ArrayError::Shape { shape, bytes } => write!(f, "expected an array of shape {shape:?}, got {bytes} bytes"),
            ArrayError::Name { name, allowed } => {
                let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
                write!(f, "expected the name of an array, got {name:?}; allowed: {allowed}")
            }
        }
    }
}

impl std::error::Error for ArrayError {}

/// Views packed little-endian bytes as an array.
fn view<T: Element, D: Dimension>(
    bytes: &[u8],
    shape: impl IntoDimension<Dim = D>,
) -> Result<CowArray<'_, T, D>, ArrayError> {
    let shape = shape.into_dimension();
    let error = || ArrayError::Shape { shape: shape.slice().to_vec(), bytes: bytes.len() };
    let elements = shape.slice().iter().try_fold(1usize, |n, &side| n.checked_mul(side));
    if elements.and_then(|n| n.checked_mul(T::SIZE)) != Some(bytes.len()) {
        return Err(error());
    }
    match bytemuck::try_cast_slice(bytes) {
        Ok(numbers) if cfg!(target_endian = "little") => {
            ArrayView::from_shape(shape.clone(), numbers).map(CowArray::from)
        }
        _ => Array::from_shape_vec(shape.clone(), unpack(bytes).collect()).map(CowArray::from),
    }
    .map_err(|_| error())
}

impl Tensor {
    /// Returns the elements as an array with the tensor's shape.
    ///
    /// # Errors
    /// Fails if the elements are not of type `T`, or their number does not match the shape.
    pub fn view<T: TensorElement>(&self) -> Result<CowArray<'_, T, IxDyn>, ArrayError> {
        if T::DTYPE != self.d {
            return Err(ArrayError::Dtype { expected: T::DTYPE, got: self.d });
        }
        let shape: Vec<usize> = self.s.iter().map(|&side| side as usize).collect();
        view(&self.b, shape)
    }
}

impl<T: Element> Column<T> {
    /// Returns the column as an array of shape `[rows, len / rows]`.
    ///
    /// # Errors
    /// Fails if `len` is not a multiple of `rows`.
    pub fn view_rows(&self, rows: usize) -> Result<CowArray<'_, T, Ix2>, ArrayError> {
        view(self.as_bytes(), (rows, self.len().checked_div(rows).unwrap_or(0)))
    }
}

impl Mask {
    /// Returns the mask as an array of shape `[rows, actions]`, true for legal actions. Accepts every mask encoding.
    ///
    /// `rows` is the number of environments; with `observer = all`, the number of environments times the number of
    /// players. `actions` is the game's number of action ids.
    ///
    /// # Errors
    /// Fails if the shape of the mask is not `[rows, actions]`.
    pub fn to_array(&self, rows: usize, actions: usize) -> Result<Array2<bool>, ArrayError> {
        let error = |bytes| ArrayError::Shape { shape: vec![rows, actions], bytes };
        match self {
            Mask::Dense(column) if column.len() == rows.saturating_mul(actions) => {
                Ok(column.view_rows(rows)?.mapv(|byte| byte != 0))
            }
            Mask::Dense(column) if column.len() == rows.saturating_mul(actions.div_ceil(8)) => {
                let bits = column.view_rows(rows)?;
                Ok(Array2::from_shape_fn((rows, actions), |(row, id)| bits[[row, id / 8]] >> (id % 8) & 1 == 1))
            }
            Mask::Dense(column) => Err(error(column.len())),
            Mask::Ids(ids) if ids.o.len() == rows + 1 => {
                let mut legal = Array2::from_elem((rows, actions), false);
                for row in 0..rows {
                    for id in ids.row(row) {
                        *legal.get_mut((row, id as usize)).ok_or_else(|| error(ids.a.as_bytes().len()))? = true;
                    }
                }
                Ok(legal)
            }
            Mask::Ids(ids) => Err(error(ids.a.as_bytes().len())),
        }
    }
}

impl Batch {
    /// Returns the observation `name` of all rows. The shape is `[rows]`, or `[rows, players]` with `observer = all`,
    /// followed by the shape in the game's [`TensorSpec`](crate::spec::TensorSpec).
    ///
    /// # Errors
    /// Fails if the batch has no observation `name`, or if the elements are not of type `T`.
    pub fn observation<T: TensorElement>(&self, name: &str) -> Result<CowArray<'_, T, IxDyn>, ArrayError> {
        let tensor = self.obs.as_ref().and_then(|obs| obs.get(name));
        let allowed = || self.obs.iter().flatten().map(|(name, _)| name.clone()).collect();
        tensor.ok_or_else(|| ArrayError::Name { name: name.to_owned(), allowed: allowed() })?.view()
    }

    /// Returns the rewards as an array of shape `[rows, players]`.
    ///
    /// # Errors
    /// Fails if `reward` does not have one number per row and player.
    pub fn rewards(&self) -> Result<CowArray<'_, f32, Ix2>, ArrayError> {
        self.reward.view_rows(self.to_move.len())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ndarray::array;

    use super::*;
    use crate::message::Ragged;

    fn batch() -> Batch {
        let board = Tensor::from_slice(&[2, 1, 3], &[0.5f32, 1.0, 2.0, -1.0, 0.0, 3.5]);
        Batch {
            to_move: [0, 1].into(),
            obs: Some(BTreeMap::from([("board".to_owned(), board)])),
            reward: [1.0, -1.0, 0.0, 0.5].into(),
            ..Batch::default()
        }
    }

    #[test]
    fn tensor_view_has_shape_and_elements() {
        let tensor = Tensor::from_slice(&[2, 3], &[1i16, 2, 3, 4, 5, -6]);
        assert_eq!(tensor.view::<i16>().unwrap(), array![[1, 2, 3], [4, 5, -6]].into_dyn());
    }

    #[test]
    fn tensor_view_borrows_aligned_bytes() {
        let tensor = Tensor::from_slice(&[4], &[1u8, 2, 3, 4]);
        assert_eq!(tensor.view::<u8>().unwrap().as_ptr(), tensor.b.as_ptr());
    }

    #[test]
    fn tensor_view_copies_unaligned_bytes() {
        let bytes = [1u8, 2, 3, 4, 5, 6, 7, 8, 9];
        for from in 0..=1 {
            let bytes = &bytes[from..from + 8];
            assert_eq!(view::<i32, _>(bytes, 2).unwrap().to_vec(), unpack::<i32>(bytes).collect::<Vec<_>>());
        }
    }

    #[test]
    fn tensor_view_refuses_wrong_element_type() {
        let tensor = Tensor::from_slice(&[1], &[1u8]);
        let error = tensor.view::<f32>().unwrap_err();
        assert_eq!(error, ArrayError::Dtype { expected: Dtype::F4, got: Dtype::U1 });
        assert_eq!(error.to_string(), "expected elements of type F4, got U1");
    }

    #[test]
    fn tensor_view_refuses_wrong_number_of_elements() {
        for shape in [vec![3], vec![u32::MAX; 4]] {
            let tensor = Tensor { d: Dtype::U1, s: shape.clone(), b: vec![1, 2] };
            assert!(matches!(tensor.view::<u8>(), Err(ArrayError::Shape { bytes: 2, .. })), "{shape:?}");
        }
    }

    #[test]
    fn observation_shape_starts_with_rows() {
        assert_eq!(batch().observation::<f32>("board").unwrap().shape(), [2, 1, 3]);
    }

    #[test]
    fn unknown_observation_error_lists_array_names() {
        let error = batch().observation::<f32>("bord").unwrap_err();
        assert_eq!(error.to_string(), "expected the name of an array, got \"bord\"; allowed: board");
    }

    #[test]
    fn rewards_have_shape_rows_by_seats() {
        assert_eq!(batch().rewards().unwrap(), array![[1.0, -1.0], [0.0, 0.5]]);
    }

    #[test]
    fn mask_encodings_give_equal_arrays() {
        let expected = Array2::from_shape_fn((2, 10), |(row, id)| (id + row) % 3 == 0);
        let bytes = expected.iter().map(|&legal| u8::from(legal)).collect();
        let bits = [0b0100_1001, 0b10, 0b0010_0100, 0b1];
        let ids = Ragged { o: [0, 4, 7].into(), a: [0, 3, 6, 9, 2, 5, 8].into() };
        for mask in [Mask::Dense(bytes), Mask::Dense(bits.into()), Mask::Ids(ids)] {
            assert_eq!(mask.to_array(2, 10).unwrap(), expected, "{mask:?}");
        }
    }

    #[test]
    fn mask_refuses_wrong_number_of_rows_or_actions() {
        let ids = Ragged { o: [0, 1].into(), a: [7].into() };
        for (mask, rows, actions) in
            [(Mask::Dense([1, 0, 1].into()), 2, 2), (Mask::Ids(ids.clone()), 2, 8), (Mask::Ids(ids), 1, 7)]
        {
            assert!(matches!(mask.to_array(rows, actions), Err(ArrayError::Shape { .. })), "{mask:?}");
        }
    }
}
