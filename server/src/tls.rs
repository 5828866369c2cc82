//! TLS by certificate files.

use std::sync::Arc;

use anyhow::Context as _;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// What turns a TCP stream into a TLS stream.
///
/// # Errors
/// Files that cannot be read, hold no certificate or key, or do not belong together.
pub(crate) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let (cert, key) = (files.cert.display(), files.key.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("the certificate {cert} cannot be read"))?;
    anyhow::ensure!(!chain.is_empty(), "{cert} holds no certificate (PEM)");
    let secret =
        PrivateKeyDer::from_pem_file(&files.key).with_context(|| format!("the private key {key} cannot be read"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .with_context(|| format!("{cert} and {key} do not belong together"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
