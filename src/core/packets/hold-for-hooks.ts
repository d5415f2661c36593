// Publications that wait for hooks of plugins. The steps before are done; those after it follow in the order of the packets.

import { pauseReading, readPauseReasons } from '../outgoing/read-pause-reasons.ts'
import { createHookedClient, isHookedTopic, requestPublishHooks } from '../publish/publish-hooks.ts'
import { HookQueue, type HookEntry } from '../state/hooks/hook-queue.ts'
import type { Parts } from '../state/parts.ts'
import { isKnownQoS2, type PublishAttempt } from '../state/publish-attempt.ts'

/** Returns true if the message waits: for a hook, or for an earlier message of the client that does. */
export function holdForHooks(
  state: Parts<'hooks' | 'nowMs' | 'outputs' | 'requests' | 'settings'>,
  attempt: PublishAttempt,
): boolean {
  const { connection, open } = attempt
  const isHooked = needsHook(state, attempt)
  if (!isHooked && open.hooking === undefined) return false
  open.hooking ??= new HookQueue(open.session, connection)
  const entry = createEntry(attempt)
  const queue = open.hooking
  queue.entries.push(entry)
  if (isHooked) requestPublishHooks(state, queue, entry)
  else entry.result = { action: 'pass' }
  const isEnough = queue.entries.length + connection.unacknowledgedPublishes >= state.settings.receiveMaximum
  if (isEnough || state.hooks.publish.isFull) pauseReading(state.outputs, connection, readPauseReasons.hooks)
  return true
}

/** A message that is denied, or a duplicate of one whose packet identifier is in use, is given to no hook. */
function needsHook({ hooks }: Parts<'hooks'>, attempt: PublishAttempt): boolean {
  const { connection, open, packet, target, isDenied } = attempt
  if (!hooks.publish.isActive || isDenied || !isHookedTopic(target.name)) return false
  if (isKnownQoS2(attempt) || (packet.qos === 2 && open.hooking?.hasQoS2(packet.packetId) === true)) return false
  return hooks.publish.matches(createHookedClient(connection, open.session), target.name)
}

function createEntry(attempt: PublishAttempt): HookEntry {
  const { connection, packet, named, topic, target, isDelayed, delay, isDenied } = attempt
  return { connection, packet, named, topic, target, isDelayed, delay, isDenied, result: undefined }
}
