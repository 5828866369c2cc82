//! Signatures of bundles, as `minisign -S -m BUNDLE` makes them (Ed25519), in the file `BUNDLE.minisig`. Who has the public key of a
//! bundle's maker knows that nobody changed it since, whatever sums were computed again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use minisign_verify::{PublicKey, Signature};

/// The file of a bundle's signature.
pub fn file_of(bundle: &Path) -> PathBuf {
    let mut name = bundle.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}

/// Checks the signature of a bundle with the public key in the file `key`; what the signer noted in it.
///
/// # Errors
/// The signature is missing, or is not of this bundle by this key.
pub fn check(bundle: &Path, key: &Path) -> anyhow::Result<String> {
    let text = |path: &Path| fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()));
    let public = PublicKey::decode(&text(key)?);
    let public = public.with_context(|| format!("{} is not a public key of minisign", key.display()))?;
    let path = file_of(bundle);
    let signature = Signature::decode(&text(&path).context("the bundle is not signed")?);
    let signature = signature.with_context(|| format!("{} is not a signature", path.display()))?;
    let bytes = fs::read(bundle).with_context(|| format!("{} cannot be read", bundle.display()))?;
    // Signatures over the file itself, as old versions make them, are as good as those over its hash.
    public.verify(&bytes, &signature, true).with_context(|| {
        format!("{} is not the signature of {} by the key in {}", path.display(), bundle.display(), key.display())
    })?;
    Ok(signature.trusted_comment().to_owned())
}
