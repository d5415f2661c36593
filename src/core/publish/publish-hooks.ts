// Requests the hooks of plugins for a publication of a client.

import type { HookedClient, HookedPublication, PublicationSource } from '../model/publish-hook.ts'
import type { Connection } from '../model/connection.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import type { Parts } from '../state/parts.ts'
import type { HookEntry, HookQueue } from '../state/hooks/hook-queue.ts'
import type { Session } from '../state/sessions/session.ts'

/** Hooks see no topics of the broker itself. */
export function isHookedTopic(name: string): boolean {
  return name.charCodeAt(0) !== 36 || !(isBrokerTopic(name) || isSourceTopic(name))
}

/** The response is the input `publish-hook-result`. */
export function requestPublishHooks(
  state: Parts<'hooks' | 'nowMs' | 'outputs' | 'requests'>,
  queue: HookQueue,
  entry: HookEntry,
): void {
  const { connection, packet, target, delay } = entry
  const requestId = state.requests.add({ for: 'publish-hooks', queue, entry })
  const publication: HookedPublication = {
    client: createHookedClient(connection, queue.session),
    topic: target.name,
    payload: packet.chunk.subarray(packet.payloadStart, packet.frameEnd),
    qos: packet.qos,
    retain: packet.retain,
    dup: packet.dup,
    delaySeconds: delay === undefined ? 0 : Math.ceil((delay.dueAtMs - state.nowMs) / 1_000),
    properties: packet.properties,
    source: findSource(connection),
    depth: state.hooks.depth,
  }
  state.outputs.requests.push({ kind: 'publish-hooks', requestId, publication })
}

export function createHookedClient(connection: Connection, { clientId, identity }: Session): HookedClient {
  return { connection, clientId, username: identity.username, attributes: identity.attributes }
}

function findSource({ listener }: Connection): PublicationSource {
  if (listener.gateway !== undefined) return 'gateway'
  return listener.isInternal === true ? 'bridge' : 'mqtt'
}
