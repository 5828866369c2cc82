//! TLS with certificate files.

use std::sync::Arc;

use anyhow::Context as _;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// Returns an acceptor that turns TCP streams into TLS streams.
///
/// # Errors
///
/// Files that cannot be read, contain no certificate or key, or do not match.
pub(crate) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("reading the certificate {cert} failed"))?;
    anyhow::ensure!(!chain.is_empty(), "expected a PEM certificate in {cert}");
    let secret =
        PrivateKeyDer::from_pem_file(&files.key).with_context(|| format!("reading the private key {key} failed"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .with_context(|| format!("certificate {cert} and key {key} do not match"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
