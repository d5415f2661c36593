// Entry point of the module transports: byte streams, and datagrams with and without DTLS.

export {
  type ByteStream,
  type GatewayClientTraits,
  type ReconfigurableListener,
  type ConnectionRefusal,
  type Listener,
  type PeerEndReceiver,
  receiveFrom,
  type StreamCredentials,
  type StreamReceiver,
} from './streams/byte-stream.ts'
export {
  ConnectionLimit,
  createDescriptorCounter,
  createSharedSlots,
  freeSharedSlots,
  setFreeDescriptors,
  type ConnectionSlots,
  countUsedSlots,
} from './limits/connection-limits.ts'
export { endOnException } from './streams/end-on-exception.ts'
export { HandshakeShares } from './tcp/handshake-shares.ts'
export { isSocketPath } from './tcp/connection-acceptor.ts'
export { ConnectionRate } from './limits/connection-rate.ts'
export { denyAddresses, lookUpAllowedAddresses, isForbiddenAddress } from './dial/address-guard.ts'
export { dial, type DialSettings } from './dial/dial.ts'
export { findDialFilesProblem } from './dial/dial-files.ts'
export type { Dial, DialFailure, DialHandlers, DialProblem, DialTarget } from './dial/dial-attempt.ts'
export { listenQuic, type QuicListenOptions } from './quic/quic.ts'
export { findQuicProblem } from './quic/quic-library.ts'
export { findQuicFilesProblem, type QuicCredentials, QuicFiles } from './quic/quic-credentials.ts'
export { listenTcp, type TcpListenOptions } from './tcp/tcp.ts'
export { listenTls, type TlsListenOptions } from './tcp/tls.ts'
export { findTlsFilesProblem, type TlsProblem, findUnreadableTlsFiles } from './certificates/tls-files.ts'
export { TlsUpgrade, type TlsUpgradeOptions, type TlsUpgradeResult } from './tcp/tls-upgrade.ts'
export {
  type IncomingSocket,
  listenWebSocket,
  WebSocketAcceptor,
  type WebSocketListenOptions,
  type WebSocketOptions,
} from './websocket/websocket.ts'
export type { PeerAddress, SecurePeer } from './udp/peer-address.ts'
export { openUdp, type UdpOptions, type UdpSocket } from './udp/udp-socket.ts'
export { openDtls, type DtlsSocket } from './dtls/dtls-socket.ts'
export { isLoopback } from './limits/loopback.ts'
export { describeListenError } from './describe-listen-error.ts'
export { type DtlsProblem, type DtlsSettings, findDtlsProblem } from './certificates/dtls-files.ts'
export type { PeerCertificate } from '../../lib/certificates/index.ts'
