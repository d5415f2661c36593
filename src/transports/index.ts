// The door of transports: streams of bytes.

export type {
  ByteStream,
  ChangingListener,
  DoorRefusal,
  Listener,
  PeerCertificate,
  StreamCredentials,
} from './byte-stream.ts'
export {
  ConnectionBudget,
  createDescriptorRoom,
  createSharedPlaces,
  freeSharedPlaces,
  setDescriptorRoom,
  type SharedPlaces,
  takenPlaces,
} from './connection-limits.ts'
export { ConnectionRate } from './connection-rate.ts'
export { denyAddresses, guardedLookup, isForbiddenAddress } from './address-guard.ts'
export { dial, type DialSettings } from './dial.ts'
export { problemOfDialFiles } from './dial-files.ts'
export type { Dial, DialFailure, DialHandlers, DialProblem, DialTarget } from './dial-attempt.ts'
export { listenQuic, type QuicListenOptions } from './quic.ts'
export { problemOfQuic } from './quic-library.ts'
export { problemOfQuicFiles, type QuicCredentials, QuicFiles } from './quic-credentials.ts'
export { listenTcp, type TcpListenOptions } from './tcp.ts'
export { listenTls, type TlsListenOptions } from './tls.ts'
export { problemOfTlsFiles, type TlsProblem } from './tls-files.ts'
export { TlsGate, type TlsGateOptions } from './tls-upgrade.ts'
export type { CertificateFiles, TlsSettings } from './tls-settings.ts'
export {
  type ArrivedSocket,
  listenWebSocket,
  WebSocketGate,
  type WebSocketListenOptions,
  type WebSocketOptions,
} from './websocket.ts'
export { whyNotListening } from './listen-error.ts'
