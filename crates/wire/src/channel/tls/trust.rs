//! Which server a client accepts.
//!
//! Goal: the modes of the server's own client, `ssl-mode=REQUIRED`, `VERIFY_CA` and `VERIFY_IDENTITY`. Non-goals: client certificates,
//! revocation lists.

use crate::login::{Tls, Verification};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Each mode's configuration is shared by all its connections, so that TLS sessions are resumed and files are read once.
static CONFIGS: Mutex<Vec<(Tls, Arc<ClientConfig>)>> = Mutex::new(Vec::new());

/// The configuration of a mode other than [`Tls::Off`]. The error says which file cannot be used, and why.
pub(crate) fn config(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let mut configs = CONFIGS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, known)) = configs.iter().find(|(mode, _)| mode == tls) {
        return Ok(known.clone());
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier(tls, provider)?)
        .with_no_client_auth();
    let config = Arc::new(config);
    configs.push((tls.clone(), config.clone()));
    Ok(config)
}

fn verifier(
    tls: &Tls,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let Tls::Verified(Verification { issuers, identity }) = tls else {
        let issuer = None;
        return Ok(Arc::new(Lenient { issuer, provider }));
    };
    let trusted = match issuers {
        Some(file) => issuers_in(file)?,
        None => issuers_of_the_system()?,
    };
    let strict = WebPkiServerVerifier::builder_with_provider(Arc::new(trusted), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    if *identity {
        return Ok(strict);
    }
    let issuer = Some(strict);
    Ok(Arc::new(Lenient { issuer, provider }))
}

fn issuers_in(file: &Path) -> Result<RootCertStore, String> {
    let unusable = |cause: String| {
        format!(
            "the file of tls_ca, {}, cannot be used: {cause}",
            file.display()
        )
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(|read| read.collect::<Result<Vec<_>, _>>())
        .map_err(|error| unusable(error.to_string()))?;
    let mut trusted = RootCertStore::empty();
    for certificate in certificates {
        let added = trusted.add(certificate);
        added.map_err(|error| unusable(error.to_string()))?;
    }
    if trusted.is_empty() {
        Err(unusable("it holds no certificate in PEM".into()))
    } else {
        Ok(trusted)
    }
}

fn issuers_of_the_system() -> Result<RootCertStore, String> {
    let mut trusted = RootCertStore::empty();
    // Some distributions ship certificates that no verifier accepts: they are left out.
    trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted.is_empty() {
        Err(
            "this machine has no trusted certificates to verify the server with: install them (Debian: ca-certificates), or name the issuer's with `tls_ca=FILE`".into(),
        )
    } else {
        Ok(trusted)
    }
}

/// Accepts more than the usual verifier.
#[derive(Debug)]
struct Lenient {
    /// Verifies everything but the host's name. None: any certificate and any signature is accepted, since some servers make
    /// certificates for themselves that no verifier accepts.
    issuer: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issuer) = &self.issuer else {
            return Ok(ServerCertVerified::assertion());
        };
        match issuer.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is compared last, so everything else was right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.issuer {
            Some(issuer) => issuer.verify_tls12_signature(message, certificate, signed),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.issuer {
            Some(issuer) => issuer.verify_tls13_signature(message, certificate, signed),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
