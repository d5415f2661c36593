// Checks whether a session may receive a message. The check runs when a match plan is made, so that most messages need
// none. Queued messages are checked again, because permissions may have changed.

import type { Permissions } from '../../messages/identity.ts'
import { removeMountpoint } from '../../namespaces/mountpoint.ts'
import type { Topic, TopicTable } from '../../../protocol/index.ts'
import type { Session } from './session.ts'

export function canReceive(
  broker: { readonly access: { readonly permissions: Permissions }; readonly topics: TopicTable },
  session: Session,
  topic: Topic,
): boolean {
  const { permissions } = broker.access
  if (permissions.allowsEverything || session.identity.isSuperuser) return true
  // The permissions are only partly known until the client connects. Its queue is checked then, so nothing is dropped
  // now.
  if (session.restored?.identityIsFromDisk === true) return true
  return permissions.canReceive(session.identity, removeMountpoint(broker.topics, session.mountpoint, topic))
}

const dollar = 36

/**
 * [MQTT-4.7.2-1] [MQTT5-4.7.2-1] Returns whether the topic begins with `$` for a client with a mount point whose filter begins with a
 * wildcard there. `wildcardStart` is where the first wildcard of the filter is, with the mount point.
 */
export function isHiddenBelowMountpoint(
  { mountpoint }: Session,
  { name }: Pick<Topic, 'name'>,
  wildcardStart: number,
): boolean {
  return wildcardStart > 0 && wildcardStart === mountpoint.length && name.charCodeAt(wildcardStart) === dollar
}
