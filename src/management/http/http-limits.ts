// Limits for one client of the API, in addition to `http_server`. They are not settings, because regular clients do not
// reach them.

const maxClientId = 65_535
const bytesOfEncodedByte = 3

/** The longest part of a path: a client ID with three characters per byte. */
export const maxPathPart = bytesOfEncodedByte * maxClientId
/** Longer headers are not parsed. */
export const maxAuthorizationBytes = 16_384
/**
 * Maximum bytes of the request line and all headers over HTTP: they are read and parsed before authentication. A client
 * ID that does not fit, percent-encoded, can be used over the control socket.
 */
export const maxHeaderBytes = 16_384
/**
 * The same for the control socket, which only the owner of the data directory can open: a client ID and a topic of
 * 65,535 bytes.
 */
export const maxSocketHeaderBytes = 524_288
/** Maximum headers of one request. */
export const maxHeaders = 100

/** Maximum connections; each may have the maximum of headers. */
export const maxConnections = 256
/** Maximum requests in progress on one connection. Regular clients wait for responses. */
export const maxPendingRequests = 16
/** Maximum requests that wait because of `http_server.limit_conn`. */
export const maxWaitingRequests = 1_024
/** For unauthenticated requests. */
export const maxOpenBodyBytes = 4_096

export const headersTimeoutMs = 10_000
/** Maximum time for a complete request. */
export const requestTimeoutMs = 60_000
/** The same for an upload, and for a response that takes long to create or download. */
export const longRequestTimeoutMs = 3_600_000
/** For a connection without any transfer: its client does not read the response. */
export const idleTimeoutMs = 120_000
export const keepAliveTimeoutMs = 65_000
/** Interval of checks of these timeouts. */
export const timeoutCheckMs = 2_000
/** For responses in progress when the node stops. */
export const closeGraceMs = 1_500
