//! TLS: trusted certificates, and hints for connections that fail because of TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::error::ProtocolError;

use crate::error::Error;

/// Returns TLS settings that trust only the certificates in a PEM file.
pub(crate) fn config_trusting(file: &Path) -> Result<Arc<ClientConfig>, Error> {
    let failed = |why: String| Error::Certificate { file: file.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))? {
        let certificate = certificate.map_err(|e| failed(e.to_string()))?;
        roots.add(certificate).map_err(|e| failed(e.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("expected at least one certificate in PEM, found none".into()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let trusting = versions.map_err(|e| failed(e.to_string()))?.with_root_certificates(roots);
    Ok(Arc::new(trusting.with_no_client_auth()))
}

/// Returns a remedy if a connection failed because of TLS, so that a retry would fail too; else `None`.
pub(crate) fn failure_hint(e: &tungstenite::Error) -> Option<String> {
    match e {
        tungstenite::Error::Protocol(ProtocolError::HttparseError(_)) => {
            Some("the server's answer is not HTTP; if the server speaks TLS, use wss:// instead of ws://".into())
        }
        tungstenite::Error::Io(e) => of_rustls(e.get_ref()?.downcast_ref()?),
        _ => None,
    }
}

fn of_rustls(e: &rustls::Error) -> Option<String> {
    match e {
        rustls::Error::InvalidMessage(_) => Some("the server does not speak TLS: use ws:// instead of wss://".into()),
        rustls::Error::InvalidCertificate(why) => Some(match why {
            // The issuer may have the name of a trusted issuer, but a different key.
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                "the server's certificate is not trusted; if the certificate is your own, pass its PEM file \
                 with --ca or SSL_CERT_FILE"
                    .into()
            }
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "expected the certificate of a server, got one of a CA; create one with: openssl req -x509 ... -addext \
                 basicConstraints=critical,CA:FALSE"
                    .into()
            }
            why => format!("the server's certificate is not valid: {why}"),
        }),
        _ => None,
    }
}
