// All that happened in a story, as the clients remember it, found by what the oracles ask for.

import type { Actor } from './cast.ts'
import type { ClientSession } from './client-session.ts'
import type { StoryProfile } from './profiles.ts'
import type { Client, Publication, ReceivedMessage, World } from './world.ts'

/** Payloads are numbers of their publisher and padding: this is the number. */
export const numbered = (one: { payload: string | Buffer }): string => one.payload.toString().trimEnd()

export class History {
  readonly world: World
  readonly actors: readonly Actor[]
  readonly isCalm: boolean
  /** The broker died at least once. */
  readonly hasCrashed: boolean
  readonly publications: readonly Publication[]
  private readonly byPayload: ReadonlyMap<string, Publication>
  private readonly numbers: ReadonlyMap<Publication, number>
  private readonly dropped: ReadonlySet<string>
  private readonly modern: ReadonlySet<ReceivedMessage>
  private readonly kept: ReadonlySet<ReceivedMessage>

  constructor(world: World, actors: readonly Actor[], profile: StoryProfile) {
    this.world = world
    this.actors = actors
    this.isCalm = profile.name === 'calm'
    this.hasCrashed = profile.restarts
    this.publications = actors.flatMap(({ client }) => client.publications)
    this.byPayload = new Map(this.publications.map((publication) => [publication.payload.toString(), publication]))
    this.numbers = new Map(this.publications.map((publication, number) => [publication, number]))
    this.dropped = new Set(
      world
        .events('message-dropped')
        .map((event) => `${event.reason} ${event.clientId} ${event.message.payload().toString()}`),
    )
    this.kept = new Set(actors.flatMap(({ client }) => keptMessages(client)))
    this.modern = new Set(actors.flatMap(({ client }) => (client.version === 5 ? client.messages : [])))
  }

  fail(sentence: string): never {
    return this.world.stage.fail(sentence)
  }

  messagesOf(client: Client, session: ClientSession): ReceivedMessage[] {
    return client.messages.filter((message) => message.session === session.number)
  }

  publicationOf(message: ReceivedMessage): Publication | undefined {
    return message.payload === '' ? undefined : this.byPayload.get(message.payload)
  }

  /** Greater for what its publisher sent later. */
  numberOf(publication: Publication): number {
    return this.numbers.get(publication) ?? -1
  }

  /** The message came to a session that outlives its connection. */
  isKept(message: ReceivedMessage): boolean {
    return this.kept.has(message)
  }

  /** The message came to a client that knows properties. */
  isModern(message: ReceivedMessage): boolean {
    return this.modern.has(message)
  }

  /**
   * It may be missing: it has expired meanwhile, or one of the limits with a name was reached and the broker said so.
   * A session that is stored has one such limit, on disk; the queue in memory is the limit of the others.
   */
  isExcused(client: Client, publication: Publication): boolean {
    const expiry = publication.properties?.messageExpiryIntervalSeconds
    if (expiry !== undefined && publication.firstSentAtMs + expiry * 1_000 <= this.world.nowMs) return true
    const limit = (client.session?.expirySeconds ?? 0) > 0 ? 'storage-full' : 'queue-full'
    return this.dropped.has(`${limit} ${client.id} ${publication.payload.toString()}`)
  }
}

function keptMessages(client: Client): ReceivedMessage[] {
  return client.messages.filter((message) => (client.sessions[message.session - 1]?.expirySeconds ?? 0) > 0)
}
