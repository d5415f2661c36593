// Records packets and events of selected clients. Payloads and passwords are not recorded. If there are no traces, there is no
// tracer, and a turn checks that only once.

import {
  type BrokerEvent,
  findClientId,
  type Connection,
  headBits,
  isOfNamespace,
  type Message,
  toNamespacedName,
  toNamespacePrefix,
  type SendList,
  sendKinds,
} from '../../core/index.ts'
import { matchesFilter, type Packet } from '../../protocol/index.ts'
import type { TraceLine, TraceTarget } from '../messages/messages.ts'

/** Maximum number of lines of one trace per second. Further lines are dropped, and their number is recorded. */
const maxLinesPerSecond = 1_000
const secondMs = 1_000

/** Writes a line to the trace of that name. */
export type PostTrace = (name: string, line: TraceLine) => void

interface RunningTrace {
  readonly target: TraceTarget
  secondEndsAtMs: number
  /** Number of lines in that second, including dropped lines. */
  lines: number
}

export class Tracer {
  readonly #traces: readonly RunningTrace[]
  readonly #post: PostTrace

  /** `targets`: the clients to trace, at least one. */
  constructor(targets: readonly TraceTarget[], post: PostTrace) {
    this.#traces = targets.map((target) => ({ target, secondEndsAtMs: 0, lines: 0 }))
    this.#post = post
  }

  /** Records a received packet. Called before the packet is handled. */
  recordPacket(connection: Connection, packet: Packet, nowMs: number): void {
    const clientId = packet.type === 'connect' ? packet.clientId : findClientId(connection)
    const topic = packet.type === 'publish' ? packet.topic?.name : undefined
    const line = { what: 'received', packet: packet.type, clientid: clientId, address: connection.peerAddress, topic }
    if (packet.type !== 'publish') return this.#write({ ...line, ...toPacketIdField(packet) }, nowMs)
    const { qos, retain, frameEnd, payloadStart } = packet
    this.#write({ ...line, qos, retain, bytes: frameEnd - payloadStart }, nowMs)
  }

  /** Records packets that are being sent. */
  recordSends(sends: SendList, nowMs: number): void {
    for (let index = 0; index < sends.length; index++) {
      const connection = sends.getConnection(index)
      const head = sends.head[index]
      const what = sends.what[index]
      const line = { what: 'sent', clientid: findClientId(connection), address: connection.peerAddress }
      const packetid = headBits.packetId(head)
      if (headBits.kind(head) === sendKinds.publish) {
        const { topic, payloadBytes: bytes } = what as Message
        this.#write({ ...line, packet: 'publish', topic: topic.name, qos: headBits.qos(head), bytes, packetid }, nowMs)
      } else if (what === undefined) {
        this.#write({ ...line, packet: namesOfKinds[headBits.kind(head)], packetid }, nowMs)
      } else {
        this.#write({ ...line, packet: (what as Packet).type }, nowMs)
      }
    }
  }

  recordEvent(event: BrokerEvent, nowMs: number): void {
    if (event.event === 'command-done') return
    const address = 'connection' in event ? event.connection.peerAddress : undefined
    const topic = 'message' in event ? event.message.topic.name : 'filter' in event ? event.filter : undefined
    const reason = 'reason' in event ? event.reason : undefined
    const why = 'text' in event ? event.text : undefined
    this.#write({ what: event.event, clientid: event.clientId, address, topic, reason, why }, nowMs)
  }

  #write(line: TraceLine, nowMs: number): void {
    for (const trace of this.#traces) {
      if (matchesTarget(trace.target, line) && this.#canWrite(trace, nowMs))
        this.#post(trace.target.name, { at: new Date(nowMs).toISOString(), ...line })
    }
  }

  #canWrite(trace: RunningTrace, nowMs: number): boolean {
    if (nowMs >= trace.secondEndsAtMs) {
      const lines = trace.lines - maxLinesPerSecond
      trace.secondEndsAtMs = nowMs + secondMs
      trace.lines = 0
      if (lines > 0) this.#post(trace.target.name, { at: new Date(nowMs).toISOString(), what: 'left-out', lines })
    }
    trace.lines += 1
    return trace.lines <= maxLinesPerSecond
  }
}

const namesOfKinds: readonly string[] = ['publish', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'packet']

function toPacketIdField(packet: Packet): { packetid?: number } {
  return 'packetId' in packet ? { packetid: packet.packetId } : {}
}

function matchesTarget({ type, value, namespace }: TraceTarget, line: TraceLine): boolean {
  const { clientid } = line
  if (namespace !== undefined && !(typeof clientid === 'string' && isOfNamespace(clientid, namespace))) return false
  if (type === 'clientid') return clientid === toNamespacedName(namespace, value)
  if (type === 'ip_address') return line['address'] === value
  const topic = toClientTopic(line, namespace)
  return typeof topic === 'string' && (topic === value || matchesFilter(value, topic))
}

/** Returns the topic as the clients of the namespace know it. A received packet has this topic; later events have the topic inside the broker. */
function toClientTopic({ topic }: TraceLine, namespace: string | undefined): TraceLine[string] {
  const prefix = toNamespacePrefix(namespace)
  return typeof topic === 'string' && topic.startsWith(prefix) ? topic.slice(prefix.length) : topic
}
