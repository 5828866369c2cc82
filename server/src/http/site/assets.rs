//! Script and style sheets of the pages.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header;
use flate2::Compression;
use ludex_pages::assets::{CURVES, SCRIPT, STYLE};

use super::{Answer, errors, send};
use crate::response_body::ResponseBody;

pub(super) async fn file(path: Result<Path<String>, PathRejection>) -> Answer {
    // Compressed at the first request.
    static FILES: LazyLock<[ResponseBody; 3]> = LazyLock::new(|| {
        [SCRIPT, STYLE, CURVES.as_bytes()].map(|bytes| ResponseBody::new(bytes, Some(Compression::best())))
    });
    let [script, style, curves] = &*FILES;
    let (kind, document) = match path.as_ref().map(|Path(file)| file.as_str()) {
        Ok("app.js") => ("text/javascript; charset=utf-8", script),
        Ok("app.css") => ("text/css; charset=utf-8", style),
        Ok("curves.css") => ("text/css; charset=utf-8", curves),
        _ => return errors::no_page(),
    };
    let kept = "public, max-age=31536000, immutable";
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    send(headers, document.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_size_is_limited() {
        use std::io::Write as _;
        let size = |bytes: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap().len()
        };
        let (script, style) = (size(SCRIPT), size(STYLE));
        assert!(script + style < 100_000, "{script} + {style} bytes compressed");
    }
}
