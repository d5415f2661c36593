// Live messages of the broker as a tree of topics. It grows within limits, and counts the topics and messages above them.

import { api, type Failure } from './api.ts'

export interface LiveMessage {
  /** Rises as they come. */
  readonly number: number
  readonly ts: number
  readonly topic: string
  readonly qos: number
  readonly retain: boolean
  readonly size: number
  readonly payload_base64: string
  readonly truncated: boolean
  readonly clientid: string
}

export interface TopicNode {
  readonly level: string
  readonly topic: string
  readonly children: Map<string, TopicNode>
  /** Of this topic itself. */
  messages: number
  last: LiveMessage | undefined
}

const maxNodes = 20_000
/** That are kept to be looked at. */
const maxMessages = 100
/** Characters of a line that is not whole yet. */
const maxLineCharacters = 1_048_576
/** Publishers that are counted. */
const maxPublishers = 10_000

type Line = Omit<LiveMessage, 'number'> | { readonly left_out: number } | { readonly heartbeat: number }

export class LiveTopics {
  readonly root: TopicNode = createNode('', '')
  /** The newest first. */
  messages: readonly LiveMessage[] = []
  /** Those of the topic that is followed, the newest first. */
  followed: readonly LiveMessage[] = []
  nodes = 0
  /** Messages that the broker omitted, and topics above the limit of the tree. */
  leftOut = 0
  received = 0
  /** Messages that came, by their publishers. */
  readonly publishers = new Map<string, number>()
  readonly startedAtMs = performance.now()
  readonly #ending = new AbortController()
  #followedTopic: string | undefined

  /** Keeps the messages of one topic apart, beginning with what is known of it. */
  follow(topic: string | undefined): void {
    this.#followedTopic = topic
    const known = this.messages.filter((message) => message.topic === topic)
    const last = topic === undefined ? undefined : this.#findNode(topic)?.last
    this.followed = known.length === 0 && last !== undefined ? [last] : known
  }

  stop(): void {
    this.#ending.abort()
  }

  /** Resolves when the stream ends: undefined where it was stopped. `onChange`: something has come. */
  async read(topic: string, onChange: () => void): Promise<Failure | undefined> {
    const { signal } = this.#ending
    const result = await api.watch_messages({ query: { topic } }, { signal })
    if (signal.aborted) return undefined
    if ('failure' in result) return result.failure
    const reader = result.reply.body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    try {
      for (;;) {
        const piece = await reader?.read()
        if (piece === undefined || piece.done) break
        const lines = (rest + piece.value).split('\n')
        rest = (lines.pop() ?? '').slice(0, maxLineCharacters)
        for (const line of lines) this.#take(JSON.parse(line) as Line)
        onChange()
      }
    } catch (error) {
      if (!signal.aborted) return { kind: 'unreachable', code: 0, status: 0, message: String(error) }
    }
    return undefined
  }

  #take(line: Line): void {
    if ('left_out' in line) this.leftOut += line.left_out
    if (!('topic' in line)) return
    this.received += 1
    const message = { ...line, number: this.received }
    this.messages = [message, ...this.messages.slice(0, maxMessages - 1)]
    if (line.topic === this.#followedTopic) this.followed = [message, ...this.followed.slice(0, maxMessages - 1)]
    this.#countPublisher(line.clientid)
    const node = this.#ensureNode(line.topic)
    if (node === undefined) {
      this.leftOut += 1
      return
    }
    node.messages += 1
    node.last = message
  }

  /** A retained message comes from the broker. */
  #countPublisher(clientId: string): void {
    const known = this.publishers.get(clientId)
    if (clientId !== '' && (known !== undefined || this.publishers.size < maxPublishers))
      this.publishers.set(clientId, (known ?? 0) + 1)
  }

  #findNode(topic: string): TopicNode | undefined {
    let place: TopicNode | undefined = this.root
    for (const level of topic.split('/')) place = place?.children.get(level)
    return place
  }

  /** undefined: the tree is full. */
  #ensureNode(topic: string): TopicNode | undefined {
    let place = this.root
    let path = ''
    for (const [depth, level] of topic.split('/').entries()) {
      path = depth === 0 ? level : `${path}/${level}`
      let next = place.children.get(level)
      if (next === undefined) {
        if (this.nodes >= maxNodes) return undefined
        next = createNode(level, path)
        place.children.set(level, next)
        this.nodes += 1
      }
      place = next
    }
    return place
  }
}

function createNode(level: string, topic: string): TopicNode {
  return { level, topic, children: new Map(), messages: 0, last: undefined }
}

/** Of this topic and all below it. */
export function countMessagesBelow(node: TopicNode): number {
  let sum = node.messages
  for (const child of node.children.values()) sum += countMessagesBelow(child)
  return sum
}
