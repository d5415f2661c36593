import type { ConnectPacket, ProtocolVersion } from '../../src/protocol/index.ts'

/** A minimal CONNECT: clean start, no keep alive, user, will or properties. */
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
