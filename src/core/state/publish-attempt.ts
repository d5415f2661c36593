// A PUBLISH on its way through the steps of handle-publish.ts.

import type { PublishPacket, Topic } from '../../protocol/index.ts'
import type { Connection } from '../model/connection.ts'
import type { PublishHookResult } from '../model/publish-hook.ts'
import type { Open } from './connection-state.ts'
import type { Due, HookEntry } from './hooks/hook-queue.ts'

/**
 * What the steps have found out. There is one object for all packets of a turn, one after the other: an object for each would cost a tenth
 * of the processor time at QoS 0. A packet that must wait passes all steps a second time.
 */
export class PublishAttempt {
  connection: Connection
  open: Open
  packet: PublishPacket
  /** The topic that the client named, or that of its alias. */
  named: Topic
  /** The client's topic: without `$delayed/` and the time. The client needs the right to publish to it. */
  topic: Topic
  /** The topic within the broker: rewritten, with the mount point. */
  target: Topic
  /** The client named `$delayed/...`. */
  isDelayed = false
  /** Undefined: the message is delivered at once, or its delay is invalid. */
  delay: Due | undefined = undefined
  /** The message is acknowledged, if at all, but not delivered. */
  isDenied = false
  /** Set after the hooks of plugins: the message is not given to them again. */
  hooked: HookEntry | undefined = undefined

  constructor(connection: Connection, open: Open, packet: PublishPacket, topic: Topic) {
    this.connection = connection
    this.open = open
    this.packet = packet
    this.named = topic
    this.topic = topic
    this.target = topic
  }

  begin(connection: Connection, open: Open, packet: PublishPacket, topic: Topic): void {
    this.connection = connection
    this.open = open
    this.packet = packet
    this.named = topic
    this.topic = topic
    this.target = topic
    this.isDelayed = false
    this.delay = undefined
    this.isDenied = false
    this.hooked = undefined
  }

  /** Continues after the hooks of plugins. */
  resume(entry: HookEntry, open: Open): void {
    this.begin(entry.connection, open, entry.packet, entry.named)
    this.topic = entry.topic
    this.target = entry.target
    this.isDelayed = entry.isDelayed
    this.delay = entry.delay
    this.isDenied = entry.isDenied
    this.hooked = entry
  }

  /** What a hook changed; undefined: nothing. */
  get change(): Extract<PublishHookResult, { action: 'change' }> | undefined {
    const result = this.hooked?.result
    return result?.action === 'change' ? result : undefined
  }
}

/** Returns whether the packet is a duplicate of a QoS 2 message whose packet identifier is in use ([MQTT-4.3.3-2]). */
export function isKnownQoS2({ open, packet }: PublishAttempt): boolean {
  return packet.qos === 2 && open.session.incoming.packetIds?.has(packet.packetId) === true
}
