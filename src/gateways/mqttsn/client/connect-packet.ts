// The connection of an MQTT-SN client to the broker, from its CONNECT.

import { createConnectPacket } from '../../../mqtt-client/index.ts'
import { type ConnectPacket, reasonCodes, type Will } from '../../../protocol/index.ts'
import { type ClientInfoOverride, overrideClientInfo } from '../../client-info.ts'
import { returnCodes, type SnRequest } from '../codec/sn-packets.ts'
import type { SnOutcome } from '../codec/sn-codec.ts'
import type { PredefinedTopics } from '../model/topic-ids.ts'
import { checkSn2Connect } from './sn2-connect.ts'

/** Above this duration the tolerance is a tenth, otherwise a half [6.14, table of tolerances]. */
const shortDurationSeconds = 60
const msPerSecond = 1_000
/** Maximum unacknowledged QoS 1 and 2 messages of the broker, which are in memory here. */
const receiveMaximum = 16
const willDelayIntervalSeconds = 60
const neverExpires = 0xffffffff
/** A sleep of 2.0 may be longer. */
const maxKeepAliveSeconds = 0xffff

/** Ends the connection without a will. */
export const goodbye = {
  type: 'disconnect',
  reasonCode: reasonCodes.normalDisconnection,
  properties: undefined,
} as const

/** Keeps a clean session for 60 seconds, so that a new connection can continue it. */
export const interruption = { ...goodbye, properties: { sessionExpiryIntervalSeconds: 60 } } as const

export function toConnectPacket(
  { flags, durationSeconds, clientId, options }: SnRequest & { type: 'connect' },
  {
    override,
    will,
    continuesSession,
  }: {
    readonly override: ClientInfoOverride
    readonly will: Will | undefined
    /** True also for a clean session if only the will changes. */
    readonly continuesSession: boolean
  },
): ConnectPacket {
  const sent = {
    clientId,
    username: options?.username,
    password: options?.password === undefined ? undefined : Buffer.from(options.password, 'base64'),
  }
  const { password, ...names } = overrideClientInfo(override, sent)
  return createConnectPacket({
    version: 5,
    ...names,
    cleanStart: (options?.startsClean ?? flags.cleanSession) && !continuesSession,
    keepAliveSeconds: Math.min(durationSeconds, maxKeepAliveSeconds),
    password: password === undefined ? undefined : Buffer.from(password),
    // The gateway publishes it itself if the client is lost. The delay is for a restart of the broker, after which a
    // sleeping client has its connection again.
    will: will === undefined || flags.cleanSession ? will : { ...will, properties: { willDelayIntervalSeconds } },
    properties: {
      sessionExpiryIntervalSeconds: options?.sessionExpirySeconds ?? (flags.cleanSession ? 0 : neverExpires),
      receiveMaximum,
    },
  })
}

/** Returns why CONNECT is refused before the broker sees it. */
export function findConnectRefusal(
  connect: SnRequest & { type: 'connect' },
  predefined: PredefinedTopics,
): SnOutcome | undefined {
  const { protocolId, clientId, options } = connect
  const reasonCode = checkSn2Connect(connect, predefined)
  const isValid = options === undefined ? protocolId === 1 && clientId !== '' : reasonCode === undefined
  return isValid ? undefined : { returnCode: returnCodes.notSupported, reasonCode }
}

/** CONNACK may have been lost: it is the same CONNECT. */
export function isRepeated(one: SnRequest & { type: 'connect' }, other: SnRequest & { type: 'connect' }): boolean {
  return (
    one.flags.will === other.flags.will &&
    one.flags.cleanSession === other.flags.cleanSession &&
    one.durationSeconds === other.durationSeconds
  )
}

/** [6.14; 2.0: 3.1.6-2, 4.14.2-1] Infinity for a duration of 0: no limit. */
export function computeLostAfterMs(durationSeconds: number, version: 1 | 2): number {
  const tolerance = version === 2 || durationSeconds <= shortDurationSeconds ? 1.5 : 1.1
  return durationSeconds === 0 ? Infinity : durationSeconds * tolerance * msPerSecond
}
