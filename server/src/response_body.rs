//! Body of a response, with its entity tag and its compressed form.

use std::io::Write as _;

use axum::body::Bytes;
use axum::http::HeaderValue;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Minimum size of a body that is compressed, in bytes.
const SMALL: usize = 1_024;

/// Body of a response. Cloning it shares its bytes.
#[derive(Clone, Debug)]
pub(crate) struct ResponseBody {
    pub bytes: Bytes,
    /// Body in gzip, if this form is smaller than `bytes`.
    pub gzip: Option<Bytes>,
    /// Weak entity tag: a hash of the bytes.
    pub tag: HeaderValue,
}

impl ResponseBody {
    /// Creates a document. If `bytes` has at least [`SMALL`] bytes, also compresses it with `level`.
    pub fn new(bytes: impl Into<Bytes>, level: Option<Compression>) -> Self {
        let bytes = bytes.into();
        let hash = foldhash::quality::FixedState::default();
        let tag = format!("W/\"{:016x}\"", std::hash::BuildHasher::hash_one(&hash, &bytes));
        let gzip = level.filter(|_| bytes.len() >= SMALL).and_then(|level| compressed(&bytes, level));
        ResponseBody { bytes, gzip, tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"\"")) }
    }

    /// Returns the memory that the document takes, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }
}

fn compressed(bytes: &[u8], level: Compression) -> Option<Bytes> {
    let mut out = GzEncoder::new(Vec::new(), level);
    out.write_all(bytes).ok()?;
    let gzip = out.finish().ok()?;
    (gzip.len() < bytes.len()).then(|| gzip.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn large_text_is_compressed_without_loss() {
        let text = "a page of text ".repeat(200);
        let document = ResponseBody::new(text.clone(), Some(Compression::fast()));
        let gzip = document.gzip.clone().unwrap();
        assert!(gzip.len() < text.len() && document.size() == gzip.len() + text.len());
        let mut back = String::new();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut back).unwrap();
        assert_eq!(back, text);
        assert!(ResponseBody::new(text, None).gzip.is_none());
        assert!(ResponseBody::new("small", Some(Compression::fast())).gzip.is_none());
    }

    #[test]
    fn entity_tag_depends_only_on_the_uncompressed_bytes() {
        let tag = |text: &'static str, level| ResponseBody::new(text, level).tag;
        assert_eq!(tag("a", None), tag("a", Some(Compression::best())));
        assert_ne!(tag("a", None), tag("b", None));
    }
}
