import type { ConnectPacket, ProtocolVersion } from '../../src/protocol/index.ts'

/** A CONNECT that says no more than it must: clean start, no keep alive, no user, no will, no properties. */
export function plainConnect(
  version: ProtocolVersion,
  clientId: string,
  parts: Partial<ConnectPacket> = {},
): ConnectPacket {
  return {
    type: 'connect',
    version,
    clientId,
    cleanStart: true,
    keepAliveSeconds: 0,
    username: undefined,
    password: undefined,
    will: undefined,
    properties: undefined,
    isBridge: false,
    ...parts,
  }
}
