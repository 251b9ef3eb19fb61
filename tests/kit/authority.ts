/**
 * A certificate authority for tests: https on loopback under any name.
 *
 * @module
 */
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

const DAY_MS = 86_400_000;

/** Certificates that only clients with `ca` accept. */
export interface Authority {
  /** PEM. */
  ca: string;
  /** A server's certificate and key in PEM. */
  certify(hostname: string): Promise<{ cert: string; key: string }>;
}

/** Makes a new authority. */
export async function createAuthority(): Promise<Authority> {
  const notBefore = new Date(Date.now() - DAY_MS);
  const notAfter = new Date(Date.now() + DAY_MS);
  const keys = await generateKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=Test authority",
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    ca: root.toString("pem"),
    async certify(hostname) {
      const { publicKey, privateKey } = await generateKeys();
      const certificate = await X509CertificateGenerator.create({
        serialNumber: "02",
        subject: `CN=${hostname}`,
        issuer: root.subject,
        notBefore,
        notAfter,
        publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new SubjectAlternativeNameExtension([
            { type: "dns", value: hostname },
          ]),
        ],
      });
      const pkcs8 = await crypto.subtle.exportKey("pkcs8", privateKey);
      return {
        cert: certificate.toString("pem"),
        key: PemConverter.encode(pkcs8, "PRIVATE KEY"),
      };
    },
  };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(ALGORITHM, true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
}
