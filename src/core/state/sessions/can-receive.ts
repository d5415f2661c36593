// Checks whether a session may receive a message. The check runs when a match plan is made, so that most messages need
// none. Queued messages are checked again, because permissions may have changed.

import type { Permissions } from '../../messages/identity.ts'
import { topicBelow } from '../../namespaces/mountpoint.ts'
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
  return permissions.canReceive(session.identity, topicBelow(broker.topics, session.mountpoint, topic))
}
