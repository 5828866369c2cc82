//! Signatures of bundles, as created by `minisign -S -m BUNDLE` (Ed25519), in the file `BUNDLE.minisig`. With the
//! author's public key, a signature proves that a bundle was not changed, even if its checksums were recomputed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use minisign_verify::{PublicKey, Signature};

/// Returns the path of a bundle's signature.
pub fn file_of(bundle: &Path) -> PathBuf {
    let mut name = bundle.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

/// Verifies the signature of a bundle with the public key in the file `key` and returns the signer's trusted comment.
///
/// # Errors
/// Returns an error if the signature is missing, or if it does not match the bundle and the key.
pub fn check(bundle: &Path, key: &Path) -> anyhow::Result<String> {
    let text = |path: &Path| fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()));
    let public = PublicKey::decode(&text(key)?);
    let public = public.with_context(|| format!("{} is not a minisign public key", key.display()))?;
    let path = file_of(bundle);
    let signature = Signature::decode(&text(&path).context("the bundle is not signed")?);
    let signature = signature.with_context(|| format!("{} is not a minisign signature", path.display()))?;
    let bytes = fs::read(bundle).with_context(|| format!("{} cannot be read", bundle.display()))?;
    // Also accept the legacy format, which signs the file instead of its hash.
    public.verify(&bytes, &signature, true).with_context(|| {
        format!("{} is not the signature of {} by the key in {}", path.display(), bundle.display(), key.display())
    })?;
    Ok(signature.trusted_comment().to_owned())
}
