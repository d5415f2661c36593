// What main threads tell each other twice per second, on a connection of their own.

import { LinkFailure } from './link-failure.ts'
import { LinkBodyReader } from './link-frame-reader.ts'
import { linkFrameKinds, LinkFrameWriter } from './link-frames.ts'

/** Which server a node uses as a store, and its timeline: a promotion increases it. */
export interface StoreServer {
  readonly systemIdentifier: string
  readonly timeline: number
}

export interface Heartbeat {
  /** Time of the sender in ms since 1970, by its wall clock. */
  readonly wallClockMs: number
  readonly hasLease: boolean
  /** Version of the membership's rows that the sender knows; 0: none. */
  readonly version: number
  /** Time since the sender has received a heartbeat of the receiver, or has begun to expect one, in ms. */
  readonly silenceMs: number
  /** In the order of the configuration; undefined: not known. */
  readonly stores: readonly (StoreServer | undefined)[]
}

const maxHeartbeatBytes = 8_192
const maxIdentifierBytes = 255
const leaseFlag = 1
const maxSilenceMs = 4_294_967_295

/** Returns the frame. Later versions append fields. */
export function encodeHeartbeat({ wallClockMs, hasLease, version, silenceMs, stores }: Heartbeat): Buffer {
  const frame = new LinkFrameWriter(linkFrameKinds.heartbeat, maxHeartbeatBytes)
  frame.float64(wallClockMs).uint8(hasLease ? leaseFlag : 0)
  frame.uint48(version).uint32(Math.min(silenceMs, maxSilenceMs)).uint8(stores.length)
  for (const store of stores) frame.text(store?.systemIdentifier ?? '').uint32(store?.timeline ?? 0)
  return frame.end()
}

/** Reads the body of a heartbeat; fields of later versions are skipped. */
export function decodeHeartbeat(body: Buffer): Heartbeat {
  const reader = new LinkBodyReader(body)
  const wallClockMs = reader.float64()
  if (!Number.isFinite(wallClockMs)) throw new LinkFailure('bad-frame', 'a heartbeat has no valid time')
  const flags = reader.uint8()
  const version = reader.uint48()
  const silenceMs = reader.uint32()
  const stores = Array.from({ length: reader.uint8() }, (): StoreServer | undefined => {
    const systemIdentifier = reader.text(maxIdentifierBytes)
    const timeline = reader.uint32()
    return systemIdentifier === '' ? undefined : { systemIdentifier, timeline }
  })
  return { wallClockMs, hasLease: (flags & leaseFlag) !== 0, version, silenceMs, stores }
}
