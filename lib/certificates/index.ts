// Entry point of the module certificates: parts of X.509 certificates that Node does not show, for TLS, QUIC and DTLS.

export {
  sliceContent as contentBytes,
  readContent as contentOf,
  derTags,
  MalformedDer,
  type Part,
  parseParts as partsOf,
  readSequence as sequenceIn,
  readWhole as wholeOf,
} from './der.ts'
export { type PeerCertificate, toPeerCertificate } from './peer-certificate.ts'
