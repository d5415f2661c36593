// Entry point of the module dtls: a DTLS 1.2 server (RFC 6347), independent of sockets: datagrams and times are passed in.

export { cipherSuites, parseCipherSuites } from './cipher-suites.ts'
export { ClientTrust } from './client-trust.ts'
export type { DtlsCertificate, DtlsCredentials } from './dtls-credentials.ts'
export { DtlsServer, type DtlsSession } from './dtls-server.ts'
