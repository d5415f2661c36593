// The connection to the broker of a client of MQTT-SN, as its CONNECT says.

import type { ConnectPacket, Will } from '../../protocol/index.ts'
import { type ClientInfoOverride, fillTemplate } from '../client-info.ts'
import type { SnRequest } from './packets.ts'

/** Above this a duration has a tenth of tolerance, else a half [6.14, table of tolerances]. */
export const shortDurationSeconds = 60
/** Messages of QoS 1 and 2 that the broker sends before the first of them is answered; they wait here in memory. */
const receiveMaximum = 16
const neverExpires = 0xffffffff

export function connectPacketOf(
  { flags, durationSeconds, clientId }: SnRequest & { type: 'connect' },
  {
    override,
    will,
    continuesSession,
  }: {
    readonly override: ClientInfoOverride
    readonly will: Will | undefined
    /** Also a clean one: only its will is another. */
    readonly continuesSession: boolean
  },
): ConnectPacket {
  const fill = (template: string | undefined): string | undefined =>
    template === undefined ? undefined : fillTemplate(template, clientId)
  const password = fill(override.password)
  return {
    type: 'connect',
    version: 5,
    clientId: fill(override.clientId) ?? clientId,
    cleanStart: flags.cleanSession && !continuesSession,
    keepAliveSeconds: durationSeconds,
    username: fill(override.username),
    password: password === undefined ? undefined : Buffer.from(password),
    will,
    properties: {
      // A clean session outlives its connection only while its will is changed.
      sessionExpiryIntervalSeconds: flags.cleanSession ? shortDurationSeconds : neverExpires,
      receiveMaximum,
    },
    isBridge: false,
  }
}
