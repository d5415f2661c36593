// Topics are interned: the same bytes give the same object, so that the way of a message needs no string.
//
//   bytes --hash--> bucket --compare bytes--> Topic { name, bytes, route }
//
// The table is bounded (`capacity`): when it is full the older half is forgotten. A forgotten topic that is still
// referred to stays valid; the next message to it makes a new object.

import type { TopicName } from './topic-names.ts'

/** What a router keeps with a topic so that it is found without a look-up. The protocol never looks inside. */
export interface TopicRoute {
  readonly isTopicRoute: true
}

export class Topic {
  readonly name: TopicName
  /** The name in UTF-8, without its length. Owned: no chunk is kept alive by it. */
  readonly bytes: Buffer
  /** The router's slot, see `TopicRoute`. */
  route: TopicRoute | undefined

  constructor(name: TopicName, bytes: Buffer) {
    this.name = name
    this.bytes = bytes
    this.route = undefined
  }
}
