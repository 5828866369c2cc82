//! TLS: trusted certificates, and hints for connections that fail because of TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::error::ProtocolError;

use crate::error::Error;

/// Returns settings that trust the certificates in a file (PEM), and no others.
pub(crate) fn config_trusting(file: &Path) -> Result<Arc<ClientConfig>, Error> {
    let failed = |why: String| Error::Certificate { file: file.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))? {
        let certificate = certificate.map_err(|e| failed(e.to_string()))?;
        roots.add(certificate).map_err(|e| failed(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("it holds no certificate in PEM".into()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let trusting = versions.map_err(|e| failed(e.to_string()))?.with_root_certificates(roots);
    Ok(Arc::new(trusting.with_no_client_auth()))
}

/// Returns the remedy for a connection that failed because of TLS, for which a retry does not help.
pub(crate) fn failure_hint(e: &tungstenite::Error) -> Option<String> {
    match e {
        tungstenite::Error::Protocol(ProtocolError::HttparseError(_)) => {
            Some("its answer is not HTTP; if the server speaks TLS, use wss:// instead of ws://".into())
        }
        tungstenite::Error::Io(e) => of_rustls(e.get_ref()?.downcast_ref()?),
        _ => None,
    }
}

fn of_rustls(e: &rustls::Error) -> Option<String> {
    match e {
        rustls::Error::InvalidMessage(_) => Some("the server does not speak TLS: use ws:// instead of wss://".into()),
        rustls::Error::InvalidCertificate(why) => Some(match why {
            // An issuer may have the name of one that is trusted, and another key.
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                "its certificate is not trusted; if it is your own, name its file (PEM) \
                 with --ca or in SSL_CERT_FILE"
                    .into()
            }
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "its certificate is one for signing others; make one for a server: openssl req -x509 ... -addext \
                 basicConstraints=critical,CA:FALSE"
                    .into()
            }
            why => format!("its certificate is not valid: {why}"),
        }),
        _ => None,
    }
}
