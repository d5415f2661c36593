// Every named packet.

import { messagePackets } from './named-message-packets.ts'
import type { NamedPacket } from './named-packet.ts'
import { sessionPackets } from './named-session-packets.ts'

export const namedPackets: readonly NamedPacket[] = [...sessionPackets, ...messagePackets]
