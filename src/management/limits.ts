// What one client of the API may take, beyond what `http_server` says. They are no settings: nobody who uses the API
// comes near them.

const maxClientId = 65_535
const bytesOfEncodedByte = 3

/** The longest part of a path: a client id of which each byte is written as three. */
export const maxPathPart = bytesOfEncodedByte * maxClientId
/** Longer ones are not looked at. */
export const maxAuthorizationBytes = 16_384
/**
 * Maximum bytes of the request line and all headers over HTTP: they are read and parsed before sign-in. A client ID that
 * does not fit, percent-encoded, is reached over the control socket.
 */
export const maxHeaderBytes = 16_384
/** The same at the control socket, which only the owner of the data directory opens: a client ID and a topic of 65,535 bytes. */
export const maxSocketHeaderBytes = 524_288
/** Maximum headers of one request. */
export const maxHeaders = 100

/** Connections at one time; each may cost all that headers may have. */
export const maxConnections = 256
/** Requests of one connection that are not answered yet. More is not what a client does that waits for answers. */
export const maxPendingRequests = 16
/** Requests that wait because `http_server.limit_conn` are worked on. */
export const maxWaitingRequests = 1_024
/** Of a request that nobody has signed in for. */
export const maxOpenBodyBytes = 4_096

export const headersTimeoutMs = 10_000
/** Until all of a request has come. */
export const requestTimeoutMs = 60_000
/** The same of an upload, and of an answer that is worked on or downloaded without anything being sent meanwhile. */
export const longRequestTimeoutMs = 3_600_000
/** Of a connection on which nothing moves at all: its client does not take the answer. */
export const idleTimeoutMs = 120_000
export const keepAliveTimeoutMs = 65_000
/** How often those times are looked at. */
export const timeoutCheckMs = 2_000
/** For answers under way when the node stops. */
export const closeGraceMs = 1_500
