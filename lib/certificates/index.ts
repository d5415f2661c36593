// Entry point of the module certificates: parts of X.509 certificates that Node does not show, for TLS, QUIC and DTLS.

export {
  sliceContent,
  readContent,
  derTags,
  MalformedDer,
  type Part,
  parseParts,
  readSequence,
  readWhole,
} from './der.ts'
export { type PeerCertificate, toPeerCertificate } from './peer-certificate.ts'
