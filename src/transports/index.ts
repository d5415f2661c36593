// Entry point of the module transports: byte streams.

export {
  type ByteStream,
  type GatewayClientTraits,
  type ReconfigurableListener,
  type ConnectionRefusal,
  type Listener,
  type PeerCertificate,
  receiveFrom,
  type StreamCredentials,
  type StreamReceiver,
} from './byte-stream.ts'
export {
  ConnectionLimit,
  createDescriptorCounter,
  createSharedSlots,
  freeSharedSlots,
  setFreeDescriptors,
  type ConnectionSlots,
  usedSlots,
} from './connection-limits.ts'
export { isSocketPath } from './connection-acceptor.ts'
export { ConnectionRate } from './connection-rate.ts'
export { denyAddresses, safeLookup, isForbiddenAddress } from './address-guard.ts'
export { dial, type DialSettings } from './dial.ts'
export { problemOfDialFiles } from './dial-files.ts'
export type { Dial, DialFailure, DialHandlers, DialProblem, DialTarget } from './dial-attempt.ts'
export { listenQuic, type QuicListenOptions } from './quic.ts'
export { problemOfQuic } from './quic-library.ts'
export { problemOfQuicFiles, type QuicCredentials, QuicFiles } from './quic-credentials.ts'
export { listenTcp, type TcpListenOptions } from './tcp.ts'
export { listenTls, type TlsListenOptions } from './tls.ts'
export { problemOfTlsFiles, type TlsProblem, unreadableTlsFiles } from './tls-files.ts'
export { TlsUpgrade, type TlsUpgradeOptions } from './tls-upgrade.ts'
export type { CertificateFiles, TlsSettings } from './tls-settings.ts'
export {
  type IncomingSocket,
  listenWebSocket,
  WebSocketAcceptor,
  type WebSocketListenOptions,
  type WebSocketOptions,
} from './websocket.ts'
export { openUdp, type UdpOptions, type UdpSocket } from './udp.ts'
export { listenErrorText } from './listen-error.ts'
export { DtlsServer, type DtlsSession } from './dtls/dtls-server.ts'
export { type DtlsSettings, loadDtlsCredentials, problemOfDtls } from './dtls/dtls-files.ts'
export { fileStampOf } from './tls-files.ts'
